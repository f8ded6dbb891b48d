// Wherry: completes typed URLs.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherrySystem

enum Address {
    /// Returns the URL that was meant: with `http://` if it has no scheme, as in curl, and with bytes that
    /// are not UTF-8 escaped.
    ///
    /// - Throws: `ValidationError` for `http:` and `https:` without the two slashes.
    static func complete(_ text: String) throws(ValidationError) -> String {
        var url = ""
        for scalar in text.unicodeScalars {
            if (0xEF80...0xEFFF).contains(scalar.value) {
                url += "%" + String(scalar.value - 0xEF00, radix: 16, uppercase: true)
            } else {
                url.unicodeScalars.append(scalar)
            }
        }
        guard !url.isEmpty, !url.hasPrefix("/") else { return url }
        // Only a scheme at the start counts: the query may hold another URL.
        guard let (scheme, rest) = scheme(of: url) else { return "http://" + url }
        if rest.hasPrefix("//") { return url }
        if ["http", "https"].contains(scheme), !isPort(rest) {
            let place = rest.drop { $0 == "/" }
            throw ValidationError("It has no // after \(scheme):. Write \(scheme)://\(place)")
        }
        return "http://" + url
    }

    /// Completes each URL, and leaves the key of a cache entry as it is.
    static func completeUnlessKey(_ text: String) throws(ValidationError) -> String {
        EntryKey(text) == nil ? try complete(text) : text
    }

    /// Whether a word without a scheme looks like a URL: `example.org`, `localhost:8080/path`.
    static func isLikely(_ word: String) -> Bool {
        let host = word.prefix { !"/?#".contains($0) }
        return !host.isEmpty && (host.contains(".") || host.contains(":") || host == "localhost")
    }

    /// The lower-case scheme at the start of a URL, and what follows its colon.
    private static func scheme(of url: String) -> (String, Substring)? {
        let scheme = url.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) || "+-.".contains($0) }
        let rest = url[scheme.endIndex...]
        guard scheme.first?.isLetter ?? false, rest.first == ":" else { return nil }
        return (scheme.lowercased(), rest.dropFirst())
    }

    /// Whether what follows a colon is a port: in `http:8080/path`, "http" is the name of a host.
    private static func isPort(_ rest: Substring) -> Bool {
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        return !digits.isEmpty
            && (rest[digits.endIndex...].first.map { "/?#".contains($0) } ?? true)
    }
}
