// Wherry: the request headers of the transport.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc

/// Accept-Encoding and User-Agent as one entry in libcurl's list, before the headers of a request.
///
/// libcurl copies an entry unchanged, even if it has several lines, and checks only the name of the
/// first line. A header set by its own option would cost libcurl two rounds of formatting, byte by
/// byte. Accept-Encoding comes first, because libcurl adds its own if it finds none.
struct OwnFields: ~Copyable {
    struct Content {
        /// `nil` if the request has this header.
        var decoding: ContentDecoding?
        /// "" sends none.
        var userAgent = ""
    }

    private let node: UnsafeMutablePointer<curl_slist>
    private var text: UnsafeMutablePointer<CChar>?
    /// The values that the text was created from.
    private var content = Content()

    init() {
        node = .allocate(capacity: 1)
        node.initialize(to: curl_slist(data: nil, next: nil))
    }

    deinit {
        node.deallocate()
        free(text)
    }

    /// Compares bytes.
    static func areSame(_ a: Content, _ b: Content) -> Bool {
        a.decoding == b.decoding && CurlEasy.areSame(a.userAgent, b.userAgent)
    }

    /// Returns the list of these headers and those of the request, which must outlive its use.
    /// `nil` if out of memory.
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
