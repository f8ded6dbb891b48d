// Wherry: properties of one generation of a download.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The properties of the server's file, known since byte 0 was written (DR1). If any of them
/// changes, a new generation begins at byte 0.
package struct DownloadFacts: Hashable, Sendable {
    /// 1 for the first generation; increases each time the partial file is emptied.
    package var generation: UInt32 = 1
    /// The length of the whole file; `nil` while unknown.
    package var total: Int64?
    package var validator: StrongValidator?
    /// The content coding in lower case; empty for none.
    package var encoding = ""
    /// The digest that the caller expects.
    package var expected: DownloadDigest?
    /// The strongest digest that the server sent.
    package var announced: DownloadDigest?
    /// The name of the finished file, if the response determines it.
    package var name: String?
    /// The file's last modification on the server, in seconds since 1970; `nil` to use the time of
    /// the last write. Not in the journal, because every response repeats it.
    package var modified: Int64?

    package init() {}
}

/// The URL that a partial file belongs to. Only digests are kept, because a signed URL is a secret.
package struct DownloadIdentity: Hashable, Sendable {
    /// The SHA-256 digest of the URL without its fragment.
    package let whole: [UInt8]
    /// The digest of the URL without its query, which a new signature changes.
    package let withoutQuery: [UInt8]

    /// - Parameter url: The original, absolute URL, before any redirect.
    package init(url: String) {
        let noFragment = url.prefix { $0 != "#" }
        self.init(whole: noFragment, withoutQuery: noFragment.prefix { $0 != "?" })
    }

    init(whole: some StringProtocol, withoutQuery: some StringProtocol) {
        self.whole = Digest.hash(of: String(whole), .sha256)
        self.withoutQuery = Digest.hash(of: String(withoutQuery), .sha256)
    }

    package init?(whole: [UInt8], withoutQuery: [UInt8]) {
        guard whole.count == 32, withoutQuery.count == 32 else { return nil }
        self.whole = whole
        self.withoutQuery = withoutQuery
    }
}

/// The identifier of a download, the same for the same target in the same session.
package struct DownloadID: Hashable, Sendable, CustomStringConvertible {
    /// 16 bytes.
    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Derives the identifier from the first half of SHA-256 over the session and the target.
    ///
    /// - Parameters:
    ///   - session: The name of a background session; empty in the foreground.
    ///   - target: The canonical path of the finished file. If the response determines the name: the
    ///     path of the directory with a trailing slash.
    ///   - url: The URL, if the response determines the name.
    package init(session: String = "", target: String, url: String = "") {
        let separator: [UInt8] = [0]
        let text = Array(session.utf8) + separator + Array(target.utf8)
        let input = url.isEmpty ? text : text + separator + Array(url.utf8)
        bytes = Array(Digest.hash(of: input, .sha256).prefix(16))
    }

    /// 32 hexadecimal digits.
    package var description: String { Hex.encode(bytes) }
    /// The 8 digits in the names of the partial file and its journal.
    package var short: String { Hex.encode(bytes.prefix(4)) }
    /// ``short``, followed by the digits for further names that are used if the first name is
    /// taken.
    package var digits: [String] {
        stride(from: 0, to: bytes.count, by: 4).map {
            Hex.encode(bytes[$0..<min($0 + 4, bytes.count)])
        }
    }
}

extension DownloadIdentity {
    /// Creates the identity of a download with a custom `Host`. Partial files of two hosts never
    /// mix.
    package init(url: String, ownHost: String?) {
        guard let ownHost else {
            self.init(url: url)
            return
        }
        // No URL contains a line feed, so this cannot equal the identity of another URL.
        let host = "\nHost: " + ownHost.asciiLowercased
        let plain = url.prefix { $0 != "#" }
        self.init(
            whole: plain + host, withoutQuery: plain.prefix { $0 != "?" } + host)
    }
}
