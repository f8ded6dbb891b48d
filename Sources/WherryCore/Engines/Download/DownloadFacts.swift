// Wherry: what one generation of a download is bound to
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// What is known of the server's file since byte 0 of it was written (DR1). When any of it changes,
/// a new generation begins at byte 0.
package struct DownloadFacts: Hashable, Sendable {
    /// 1 for the first, one more each time the part was emptied.
    package var generation: UInt32 = 1
    /// The length of the whole; `nil` while unknown.
    package var total: Int64?
    package var validator: StrongValidator?
    /// The content coding in lower case; empty for none.
    package var encoding = ""
    /// The digest the caller asked for.
    package var expected: DownloadDigest?
    /// The best digest the server announced.
    package var announced: DownloadDigest?
    /// The name the file will get, where the answer decides about it.
    package var name: String?
    /// When the server changed the file, in seconds since 1970; `nil` if the file's time is to be
    /// that of its last byte here. Each answer says it anew, so no journal does.
    package var modified: Int64?

    package init() {}
}

/// Which URL a partial belongs to, kept as digests: a signed URL is a secret.
package struct DownloadIdentity: Hashable, Sendable {
    /// SHA-256 of the URL without its fragment.
    package let whole: [UInt8]
    /// The same without the query, which a new signature changes.
    package let withoutQuery: [UInt8]

    /// - Parameter url: the original, absolute URL, before any redirect.
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

/// The number of a download, the same for the same target in the same session.
package struct DownloadID: Hashable, Sendable, CustomStringConvertible {
    /// 16 bytes.
    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// The first half of SHA-256 over the session and the target.
    ///
    /// - Parameters:
    ///   - session: the name of a background session; empty in the foreground.
    ///   - target: the absolute path of the file to be. Where the answer decides about the name:
    ///     the directory's path with a slash at its end, and then `url`.
    package init(session: String = "", target: String, url: String = "") {
        let separator: [UInt8] = [0]
        let text = Array(session.utf8) + separator + Array(target.utf8)
        let input = url.isEmpty ? text : text + separator + Array(url.utf8)
        bytes = Array(Digest.hash(of: input, .sha256).prefix(16))
    }

    /// 32 hexadecimal digits.
    package var description: String { Hex.encode(bytes) }
    /// The 8 digits in the names of the part and its journal.
    package var short: String { Hex.encode(bytes.prefix(4)) }
    /// ``short`` and the digits of further names, used if the first name is taken.
    package var digits: [String] {
        stride(from: 0, to: bytes.count, by: 4).map { Hex.encode(bytes[$0..<min($0 + 4, bytes.count)]) }
    }
}
