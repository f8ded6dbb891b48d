// Wherry: Cache-Control of responses.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// Cache-Control of a response, for a private cache (RFC 9111, section 5.2.2).
///
/// Leaves out `s-maxage` and `proxy-revalidate`, which are for shared caches, `no-transform`, which
/// is for caches that change bodies, and unknown directives.
package struct ResponseCacheControl: Hashable, Sendable {
    /// Seconds; an invalid argument counts as 0, so that the response is stale (section 4.2.1).
    package var maxAge: Int64?
    package var noStore = false
    /// Whether `no-cache` has no header names, or names of headers that cannot be left out.
    package var noCache = false
    /// The headers that `no-cache` names, in lower case. They are not stored (section 5.2.2.4).
    package var noCacheFields: [String] = []
    package var mustRevalidate = false
    package var mustUnderstand = false
    package var isPublic = false
    package var isPrivate = false
    /// Whether the response never changes while fresh (RFC 8246).
    package var isImmutable = false
    /// Seconds after the end of freshness (RFC 5861, section 3).
    package var staleWhileRevalidate: Int64?
    /// Seconds after the end of freshness (RFC 5861, section 4).
    package var staleIfError: Int64?

    /// Creates empty directives.
    package init() {}

    /// Parses all lines of the header.
    package init(_ lines: [String]) {
        guard !lines.isEmpty else { return }
        let directives = CacheDirectives(lines)
        maxAge = directives["max-age"].map { $0.seconds ?? 0 }
        noStore = directives.contains("no-store")
        mustRevalidate = directives.contains("must-revalidate")
        mustUnderstand = directives.contains("must-understand")
        isPublic = directives.contains("public")
        isPrivate = directives.contains("private")
        isImmutable = directives.contains("immutable")
        staleWhileRevalidate = directives["stale-while-revalidate"]?.seconds
        staleIfError = directives["stale-if-error"]?.seconds
        for member in directives.members where member.name == "no-cache" {
            guard let names = Self.fieldNames(member.argument), Self.canBeLeftOut(names) else {
                noCache = true
                continue
            }
            noCacheFields += names
        }
    }

    private static func fieldNames(_ argument: CacheDirectives.Argument) -> [String]? {
        guard case .text(let text) = argument else { return nil }
        var names: [String] = []
        for part in text.split(separator: ",") {
            let name = part.utf8.drop { $0 == 0x20 || $0 == 0x09 }
            let trimmed = name.prefix { $0 != 0x20 && $0 != 0x09 }
            guard name.dropFirst(trimmed.count).allSatisfy({ $0 == 0x20 || $0 == 0x09 }) else {
                return nil
            }
            if trimmed.isEmpty { continue }
            guard FieldRules.isToken(trimmed) else { return nil }
            names.append(String(decoding: trimmed, as: UTF8.self).lowercased())
        }
        return names.isEmpty ? nil : names
    }

    /// Headers that are required to interpret, reuse or validate a response.
    private static let needed: Set<String> = [
        "age", "cache-control", "content-encoding", "content-length", "content-location",
        "content-range", "content-type", "date", "etag", "expires", "last-modified", "location",
        "vary",
    ]

    /// Returns whether a response is reusable without the headers of these lower-case names.
    package static func canBeLeftOut(_ names: [String]) -> Bool {
        names.allSatisfy { !needed.contains($0) }
    }
}
