// Wherry: joining a server and a path to a URL.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherryTransport

/// Joins the server and path of an endpoint to an absolute URL (O1).
public enum ServerAddress {
    /// Joins a server, in any common notation, and a path.
    ///
    /// `example.org`, `example.org/`, `http://example.org`, `http://example.org/` and
    /// `//example.org` are the same server; `https://example.org` stays https. The default scheme
    /// is http. The server may contain a port and a path. Trailing slashes are removed, and the
    /// path gets a leading slash; an empty path adds nothing.
    ///
    /// - Throws: `bad_url` for an empty server, another scheme, and a server with a query or a
    ///   fragment. Other errors in the name are detected when sending.
    public static func join(_ server: String, _ path: String) throws(WherryError) -> String {
        var address = server[...]
        let scheme: String
        if let rest = dropping("https://", from: address) {
            (scheme, address) = ("https://", rest)
        } else if let rest = dropping("http://", from: address) {
            (scheme, address) = ("http://", rest)
        } else if let rest = dropping("//", from: address) {
            (scheme, address) = ("http://", rest)
        } else {
            scheme = "http://"
        }
        while address.utf8.last == UInt8(ascii: "/") { address.removeLast() }
        let bytes = address.utf8
        guard let first = bytes.first, first != UInt8(ascii: "/"), first != UInt8(ascii: ":") else {
            throw WherryError(.badURL, "The server \(quoted(server)) has no host name")
        }
        // Another scheme, or "http:" with a single slash.
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
            let next = bytes.index(after: colon)
            guard next == bytes.endIndex || bytes[next] != UInt8(ascii: "/") else {
                throw WherryError(
                    .badURL,
                    "The server \(quoted(server)) is not valid. Use a host name, or a URL with http:// or https://."
                )
            }
        }
        guard !bytes.contains(where: { "?#".utf8.contains($0) }) else {
            throw WherryError(
                .badURL,
                "The server \(quoted(server)) has a query or a fragment. Remove it."
            )
        }
        let slash = path.isEmpty || path.utf8.first == UInt8(ascii: "/") ? "" : "/"
        return "\(scheme)\(address)\(slash)\(path)"
    }

    /// Returns the text after a prefix, compared case-insensitively.
    private static func dropping(_ prefix: String, from text: Substring) -> Substring? {
        let bytes = text.utf8
        guard bytes.count >= prefix.utf8.count,
            zip(bytes, prefix.utf8).allSatisfy({ ($0 | 0x20) == ($1 | 0x20) })
        else { return nil }
        return text[bytes.index(bytes.startIndex, offsetBy: prefix.utf8.count)...]
    }

    private static func quoted(_ server: String) -> String {
        FieldRules.quoted(HTTPURL.redacted(server).utf8)
    }
}
