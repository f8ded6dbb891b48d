// Wherry: validation of methods and headers.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A method or header that must not be sent.
package struct FieldViolation: Error, Hashable, Sendable {
    /// The error reason: `bad_header` or `bad_method`.
    package let reason: String
    /// A sentence that names the invalid part, with unprintable bytes escaped. Never contains a
    /// header value, which may be a secret.
    package let message: String
}

/// Validates methods, header names and header values (RFC 9110, sections 5.1, 5.5 and 9.1).
///
/// The checks take bytes, since C callers may pass text that is not UTF-8. They return `nil` if
/// valid.
package enum FieldRules {
    /// Lower-case names of headers that only the library sets. A caller's value would break message
    /// framing or connection reuse.
    package static let reservedNames: Set<String> = [
        "connection", "content-length", "expect", "transfer-encoding",
    ]

    /// Checks a header that a caller wants to send: its name, that the name is not one of
    /// ``reservedNames``, and its value. The value of `Host` must be a host with an optional port.
    package static func violation(
        name: some Collection<UInt8>, value: some Collection<UInt8>
    ) -> FieldViolation? {
        if let violation = violation(name: name) { return violation }
        if isReserved(name) {
            return FieldViolation(
                reason: "bad_header",
                message: "Only the library sets the header \(quoted(name)). "
                    + (isNamed(name, "connection") ? OptionAdvice.keepAlive.text : "Leave it out."))
        }
        if let violation = violation(value: value, of: "the header field \(quoted(name))") {
            return violation
        }
        return isNamed(name, "host") ? violation(host: value) : nil
    }

    /// Checks the value of `Host` (RFC 9110, section 7.2): a name, an IPv4 address, or an IPv6
    /// address in brackets, and an optional port from 1 to 65535.
    ///
    /// Stricter than the grammar, which allows escapes and an empty host. Servers do not agree on
    /// what these mean.
    package static func violation(host value: some Collection<UInt8>) -> FieldViolation? {
        var rest = Array(value)[...]
        let isBracketed = rest.first == UInt8(ascii: "[")
        let end =
            isBracketed
            ? rest.firstIndex(of: UInt8(ascii: "]")).map { $0 + 1 }
            : rest.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
        guard let end else { return badHost }
        let host = rest[..<end]
        rest = rest[end...]
        if isBracketed {
            guard
                NetworkAddress(String(decoding: host.dropFirst().dropLast(), as: UTF8.self))?
                    .bytes.count == 16, !host.contains(UInt8(ascii: "%"))
            else { return badHost }
        } else {
            guard !host.isEmpty, host.count <= 255, host.allSatisfy(isHostByte) else {
                return badHost
            }
        }
        guard !rest.isEmpty else { return nil }
        guard rest.removeFirst() == UInt8(ascii: ":"), (1...5).contains(rest.count),
            rest.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = Int(String(decoding: rest, as: UTF8.self)), (1...65_535).contains(port)
        else { return badHost }
        return nil
    }

    private static var badHost: FieldViolation {
        FieldViolation(
            reason: "bad_header",
            message:
                "The header Host cannot be sent: its value is not a host, or a host and a port. Write it as example.org or example.org:8080, and an international name as xn--..."
        )
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }

    /// Compares a valid header name with lower-case letters.
    private static func isNamed(_ name: some Collection<UInt8>, _ letters: String) -> Bool {
        name.count == letters.utf8.count && name.elementsEqual(letters.utf8) { $0 | 0x20 == $1 }
    }

    /// Checks a header name: one or more token characters.
    package static func violation(name: some Collection<UInt8>) -> FieldViolation? {
        if name.isEmpty {
            return FieldViolation(reason: "bad_header", message: "A header field has no name.")
        }
        guard let (position, byte) = firstNonToken(in: name) else { return nil }
        return FieldViolation(
            reason: "bad_header",
            message:
                "The header name \(quoted(name)) has \(described(byte)) at position \(position).")
    }

    /// Checks a header value: no control character except the tab. Bytes from 0x80 on (obs-text)
    /// and an empty value are allowed.
    ///
    /// - Parameter owner: The owner of the value, for the message: "the user agent".
    package static func violation(
        value: some Collection<UInt8>, of owner: String
    ) -> FieldViolation? {
        guard let (position, byte) = value.enumerated().first(where: { isForbidden($0.element) })
        else { return nil }
        return FieldViolation(
            reason: "bad_header",
            message: "The value of \(owner) has \(described(byte)) at position \(position).")
    }

    /// Checks a method: one or more token characters. Rejects CONNECT, which requests a tunnel, and
    /// TRACE, which echoes credentials in the response body.
    package static func violation(method: some Collection<UInt8>) -> FieldViolation? {
        if method.isEmpty {
            return FieldViolation(reason: "bad_method", message: "The method is empty.")
        }
        guard let (position, byte) = firstNonToken(in: method) else {
            guard method.count == 5 || method.count == 7 else { return nil }
            let name = String(decoding: method, as: UTF8.self).uppercased()
            guard name == "CONNECT" || name == "TRACE" else { return nil }
            return FieldViolation(
                reason: "bad_method", message: "The method \(name) is not supported.")
        }
        return FieldViolation(
            reason: "bad_method",
            message: "The method \(quoted(method)) has \(described(byte)) at position \(position).")
    }

    /// Checks the media type of a body or a part, such as `text/plain; charset=utf-8`.
    package static func violation(mediaType: some Collection<UInt8>) -> FieldViolation? {
        if let violation = violation(value: mediaType, of: "the content type") { return violation }
        if MediaType(mediaType) != nil { return nil }
        return FieldViolation(
            reason: "bad_header",
            message:
                "The content type \(quoted(mediaType)) is not valid. Write it as type/subtype; name=value."
        )
    }

    /// Returns whether only the library may set the header (case-insensitive).
    package static func isReserved(_ name: some Collection<UInt8>) -> Bool {
        guard name.count <= 17 else { return false }
        return reservedNames.contains(String(decoding: name, as: UTF8.self).lowercased())
    }

    /// Returns whether the byte is a token character (RFC 9110, section 5.6.2).
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true  // digits and letters
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }

    /// Returns whether the bytes are one or more token characters.
    package static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(isTokenByte)
    }

    /// Returns the bytes quoted for a message: at most 64 bytes, with quotes, backslashes and
    /// everything except printable ASCII as `\x0A`.
    package static func quoted(_ bytes: some Collection<UInt8>) -> String {
        var text = "\""
        for byte in bytes.prefix(64) {
            if byte >= 0x20, byte < 0x7F, byte != 0x22, byte != 0x5C {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "\\x" + hex(byte)
            }
        }
        return text + (bytes.count > 64 ? "...\"" : "\"")
    }

    private static func isForbidden(_ byte: UInt8) -> Bool {
        byte < 0x20 && byte != 0x09 || byte == 0x7F
    }

    private static func firstNonToken(
        in bytes: some Collection<UInt8>
    ) -> (offset: Int, element: UInt8)? {
        bytes.enumerated().first { !isTokenByte($0.element) }
    }

    private static func described(_ byte: UInt8) -> String {
        switch byte {
        case 0x00: "a NUL byte"
        case 0x0A: "a line feed"
        case 0x0D: "a carriage return"
        case 0x20: "a space"
        default: "the byte 0x" + hex(byte)
        }
    }

    private static func hex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return digits.count == 1 ? "0" + digits : digits
    }
}

extension FieldRules {
    /// Checks text like ``violation(name:value:)``.
    package static func violation(name: String, value: String) -> FieldViolation? {
        violation(name: name.utf8, value: value.utf8)
    }

    /// Checks text like ``violation(value:of:)``.
    package static func violation(value: String, of owner: String) -> FieldViolation? {
        violation(value: value.utf8, of: owner)
    }

    /// Checks text like ``violation(method:)``.
    package static func violation(method: String) -> FieldViolation? {
        violation(method: method.utf8)
    }
}
