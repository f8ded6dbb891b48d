// Wherry: the stored form of URLs.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// Replaces secret values in the query of a URL with keyed digests (SEC-C10).
///
/// `?token=abc&page=2` becomes `?token=***<32 digits>&page=2`. Different secrets give different
/// texts. The text does not reveal the secret, because the key of the digests never leaves the
/// storage directory.
struct StoredURL: Sendable {
    let secrets: Secrets
    let secret: VarySecret

    private static let digits = 32

    /// Returns the stored form of a URL.
    ///
    /// - Parameter isListed: Whether the URL may come from a list of entries. Values that are
    ///   already digests are then kept, so that a listed URL finds its entry.
    func text(_ url: String, isListed: Bool = false) -> String {
        guard let mark = url.utf8.firstIndex(of: 0x3F) else { return url }
        let start = url.utf8.index(after: mark)
        let query = url[start...]
        var isChanged = false
        let pairs = query.split(separator: "&", omittingEmptySubsequences: false).map {
            pair -> String in
            guard let equals = pair.utf8.firstIndex(of: 0x3D) else { return String(pair) }
            let value = pair[pair.utf8.index(after: equals)...]
            guard !value.isEmpty, secrets.contains(pair[..<equals]),
                !(isListed && Self.isDigest(value))
            else { return String(pair) }
            isChanged = true
            let digest = secret.digest(String(value), of: "url").prefix(Self.digits)
            return "\(pair[...equals])\(Secrets.mask)\(digest)"
        }
        return isChanged ? url[..<start] + pairs.joined(separator: "&") : url
    }

    /// Returns whether a value has the form of a digest from ``text(_:isListed:)``.
    private static func isDigest(_ value: Substring) -> Bool {
        value.hasPrefix(Secrets.mask) && value.utf8.count == Secrets.mask.utf8.count + digits
            && Hex.isLowercase(String(value.dropFirst(Secrets.mask.count)))
    }
}
