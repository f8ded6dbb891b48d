// Wherry: the request fields that the transport itself writes.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc

/// Accept-Encoding and User-Agent as one entry of libcurl's list, in front of those of a request.
///
/// libcurl copies an entry as it stands, whatever number of lines it has, and looks only at the
/// name of its first one. A field that is given by an option of its own costs it two rounds of
/// formatting, letter by letter. Accept-Encoding is the first, since libcurl adds one of its own
/// where it finds none.
struct OwnFields: ~Copyable {
    struct Content {
        /// `nil` where the request has a field of that name.
        var decoding: ContentDecoding?
        /// "" sends none.
        var userAgent = ""
    }

    private let node: UnsafeMutablePointer<curl_slist>
    private var text: UnsafeMutablePointer<CChar>?
    /// What the text was made of.
    private var content = Content()

    init() {
        node = .allocate(capacity: 1)
        node.initialize(to: curl_slist(data: nil, next: nil))
    }

    deinit {
        node.deallocate()
        free(text)
    }

    /// Byte for byte.
    static func areSame(_ a: Content, _ b: Content) -> Bool {
        a.decoding == b.decoding && CurlEasy.areSame(a.userAgent, b.userAgent)
    }

    /// The list of these fields and those of the request, which must outlive its use. `nil` if
    /// there is no memory for it.
    mutating func head(
        _ content: Content, followedBy list: HeaderList
    ) -> UnsafeMutablePointer<curl_slist>? {
        if let text, Self.areSame(self.content, content) {
            node.pointee = curl_slist(data: text, next: list.head)
            return node
        }
        var lines: [String] = []
        if let decoding = content.decoding {
            lines.append("Accept-Encoding: \(decoding.fieldValue)")
        }
        if !content.userAgent.isEmpty { lines.append("User-Agent: \(content.userAgent)") }
        guard !lines.isEmpty else { return list.head }
        guard let made = strdup(lines.joined(separator: "\r\n")) else { return nil }
        free(text)
        text = made
        self.content = content
        node.pointee = curl_slist(data: made, next: list.head)
        return node
    }
}
