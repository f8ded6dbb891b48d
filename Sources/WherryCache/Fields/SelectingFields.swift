// Wherry: the request headers that select a variant.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// The values of the request headers that the response's Vary names (RFC 9111, section 4.1).
///
/// Two requests select the same variant if these are equal. Possible secrets are stored as keyed
/// digests.
package struct SelectingFields: Hashable, Sendable {
    /// A header; the value is `nil` if the request does not have it.
    package struct Field: Hashable, Sendable {
        package let name: String
        package let value: String?

        package init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// The headers, sorted by name.
    package let fields: [Field]

    package init(fields: [Field]) { self.fields = fields }

    /// Takes the values of headers from a request.
    ///
    /// - Parameters:
    ///   - names: Sorted lower-case names, as ``VaryField`` returns them.
    ///   - secret: The key of the digests.
    package init(_ names: [String], of request: Headers, secret: VarySecret) {
        fields = names.map { name in
            let lines = request.values(name)
            guard !lines.isEmpty else { return Field(name: name, value: nil) }
            let value = Self.normalized(lines, of: name)
            return Field(
                name: name,
                value: Self.harmless.contains(name) ? value : secret.digest(value, of: name))
        }
    }

    /// Headers that do not identify a user.
    private static let harmless: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "content-type",
        "prefer", "user-agent", "x-requested-with",
    ]

    /// Headers with a single value, in which a comma has no special meaning.
    private static let singletons: Set<String> = [
        "authorization", "cookie", "date", "from", "host", "if-modified-since", "if-range",
        "if-unmodified-since", "origin", "referer", "user-agent",
    ]

    /// Joins the lines in a normalized form that is equal for equal meanings. Ignores white space
    /// around commas and empty members. Ignores case if the header's definition does, and order if
    /// each member has a weight.
    private static func normalized(_ lines: [String], of name: String) -> String {
        if singletons.contains(name) { return lines.joined(separator: ", ").trimmingFieldSpace }
        var members = lines.flatMap { Self.members(of: $0) }
        switch name {
        case "accept-charset", "accept-encoding": members = members.map { $0.lowercased() }.sorted()
        // Languages of equal weight are often preferred in their order (RFC 9110, section 12.5.4).
        case "accept-language": members = members.map { $0.lowercased() }
        default: break
        }
        return members.joined(separator: ",")
    }

    /// Returns the members of a list; commas in quoted strings do not separate members.
    private static func members(of line: String) -> [String] {
        var members: [String] = []
        var member: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in Array(line.utf8) + [0x2C] {
            if byte == 0x22 && !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && byte == 0x5C && !isEscaped
            if byte != 0x2C || isQuoted {
                member.append(byte)
                continue
            }
            let text = String(decoding: member, as: UTF8.self).trimmingFieldSpace
            if !text.isEmpty { members.append(text) }
            member = []
        }
        // An unterminated quote: the added terminator is part of the last member.
        if !member.isEmpty { members.append(String(decoding: member, as: UTF8.self)) }
        return members
    }
}

/// The key for digests of secret request values, which distinguish the values without storing them.
package final class VarySecret: Sendable {
    private let inner: [UInt8]
    private let outer: [UInt8]

    /// - Parameter key: The random bytes of a storage directory, at most 64.
    package init(key: [UInt8]) {
        let padded = key.prefix(64) + Array(repeating: 0, count: max(0, 64 - key.count))
        inner = padded.map { $0 ^ 0x36 }
        outer = padded.map { $0 ^ 0x5C }
    }

    /// Returns HMAC-SHA-256 (RFC 2104) of a header's name and value, as hexadecimal digits.
    package func digest(_ value: String, of name: String) -> String {
        Hex.encode(digest(Array(value.utf8), of: name))
    }

    /// Returns HMAC-SHA-256 of a name and value as bytes.
    package func digest(_ value: [UInt8], of name: String) -> [UInt8] {
        let message = inner + name.utf8 + [0] + value
        return Digest.hash(of: outer + Digest.hash(of: message, .sha256), .sha256)
    }
}
