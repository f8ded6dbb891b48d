// Wherry: what an answer says about its own reuse.
// SPDX-License-Identifier: Apache-2.0

/// Cache-Control of an answer as a private cache reads it (RFC 9111, section 5.2.2).
///
/// `s-maxage` and `proxy-revalidate` are for shared caches, `no-transform` for those that change
/// bodies, and unknown directives for others: none of them is kept.
package struct ResponseCacheControl: Hashable, Sendable {
    /// Seconds; an argument that is no number is 0, so that the answer is stale (section 4.2.1).
    package var maxAge: Int64?
    package var noStore = false
    /// Without field names, or with names that cannot be left out.
    package var noCache = false
    /// Fields that `no-cache` names and that are left out of the cache instead (section 5.2.2.4).
    /// In lower case.
    package var noCacheFields: [String] = []
    package var mustRevalidate = false
    package var mustUnderstand = false
    package var isPublic = false
    package var isPrivate = false
    /// RFC 8246.
    package var isImmutable = false
    /// Seconds past the end of freshness (RFC 5861, section 3).
    package var staleWhileRevalidate: Int64?
    /// Seconds past the end of freshness (RFC 5861, section 4).
    package var staleIfError: Int64?

    /// Nothing said.
    package init() {}

    /// Reads the values of all lines of the field.
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

    /// Fields without which the rest could not be understood, reused or checked.
    private static let needed: Set<String> = [
        "age", "cache-control", "content-encoding", "content-length", "content-location",
        "content-range", "content-type", "date", "etag", "expires", "last-modified", "location",
        "vary",
    ]

    /// Whether an answer can be reused that is stored without the fields of these names, which are in
    /// lower case.
    package static func canBeLeftOut(_ names: [String]) -> Bool {
        names.allSatisfy { !needed.contains($0) }
    }
}
