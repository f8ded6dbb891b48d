// Wherry: the part of a request that chose among the variants of an answer.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The values that a request had in the fields which the answer's Vary names (RFC 9111, 4.1).
///
/// Two requests agree where these are equal. Values that may be secrets are kept as keyed digests.
package struct SelectingFields: Hashable, Sendable {
    /// One field; its value is `nil` where the request had none.
    package struct Field: Hashable, Sendable {
        package let name: String
        package let value: String?

        package init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// In the order of their names.
    package let fields: [Field]

    package init(fields: [Field]) { self.fields = fields }

    /// Takes the values of the named fields out of a request.
    ///
    /// - Parameters:
    ///   - names: lower case and sorted, as ``VaryField`` gives them.
    ///   - secret: the key of the digests.
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

    /// Fields that tell nothing about who asks.
    private static let harmless: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "content-type",
        "prefer", "user-agent", "x-requested-with",
    ]

    /// Fields that are one value, in which a comma is a byte like any other.
    private static let singletons: Set<String> = [
        "authorization", "cookie", "date", "from", "host", "if-modified-since", "if-range",
        "if-unmodified-since", "origin", "referer", "user-agent",
    ]

    /// The lines as one, in a form that is equal for what means the same: white space around
    /// commas and empty members never count, case where the field's definition says so, and order
    /// where every member has its own weight.
    private static func normalized(_ lines: [String], of name: String) -> String {
        if singletons.contains(name) { return lines.joined(separator: ", ").trimmingFieldSpace }
        var members = lines.flatMap { Self.members(of: $0) }
        switch name {
        case "accept-charset", "accept-encoding": members = members.map { $0.lowercased() }.sorted()
        // Languages of one weight are often taken in the order given (RFC 9110, section 12.5.4).
        case "accept-language": members = members.map { $0.lowercased() }
        default: break
        }
        return members.joined(separator: ",")
    }

    /// The members of a list; a comma inside of a quoted string does not part them.
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
        // A quote that is never closed: the end that was added is part of the last member.
        if !member.isEmpty { members.append(String(decoding: member, as: UTF8.self)) }
        return members
    }
}

/// The key under which secret values of requests are told apart without being kept.
package final class VarySecret: Sendable {
    private let inner: [UInt8]
    private let outer: [UInt8]

    /// - Parameter key: random bytes of one storage, at most 64.
    package init(key: [UInt8]) {
        let padded = key.prefix(64) + Array(repeating: 0, count: max(0, 64 - key.count))
        inner = padded.map { $0 ^ 0x36 }
        outer = padded.map { $0 ^ 0x5C }
    }

    /// HMAC-SHA-256 (RFC 2104) of the field's name and value, in hexadecimal digits.
    package func digest(_ value: String, of name: String) -> String {
        Hex.encode(digest(Array(value.utf8), of: name))
    }

    /// The same of bytes, and in bytes.
    package func digest(_ value: [UInt8], of name: String) -> [UInt8] {
        let message = inner + name.utf8 + [0] + value
        return Digest.hash(of: outer + Digest.hash(of: message, .sha256), .sha256)
    }
}
