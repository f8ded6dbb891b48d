// Wherry: construction of queries and forms.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

extension Request {
    /// Adds query text such as "a+b&q=%E4", which is sent as written.
    ///
    /// Escapes only bytes that are invalid in a query: spaces, control characters, quotation marks,
    /// `#`, `<`, `>`, and all non-ASCII bytes. An empty text adds nothing.
    public mutating func addQuery(_ text: String) {
        guard !text.isEmpty else { return }
        query += text.split(separator: "&", omittingEmptySubsequences: false).map { piece in
            let sides = piece.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            var pair = Pair(
                Self.unescaped(sides[0]), sides.count > 1 ? Self.unescaped(sides[1]) : "")
            pair.written = Self.escapingUnsafe(piece)
            return pair
        }
    }

    /// Adds a form field. Form fields are sent before other parts, in the order in which they were
    /// added.
    package mutating func addField(_ name: String, _ value: String) {
        switch body {
        case .form(var pairs):
            body = .none
            pairs.append(Pair(name, value))
            body = .form(pairs)
        case .multipart(var parts):
            body = .none
            // Servers such as S3 ignore fields after a file.
            parts.insert(Self.formField(name, value), at: parts.prefix { $0.isFormField }.count)
            body = .multipart(parts)
        default: body = .form([Pair(name, value)])
        }
    }

    /// Adds a part. The body becomes multipart/form-data, and its form fields become parts.
    package mutating func addPart(_ part: Part) {
        var parts: [Part] = []
        switch body {
        case .multipart(let known): parts = known
        case .form(let pairs): parts = pairs.map { Self.formField($0.name, $0.value) }
        default: break
        }
        body = .none
        parts.append(part)
        body = .multipart(parts)
    }

    /// Sets a header of the last added part; `nil` removes it. Form fields have no headers.
    package mutating func setPartHeader(_ name: String, _ value: String?) throws(WherryError) {
        guard case .multipart(var parts) = body, let last = parts.last, !last.isFormField else {
            throw WherryError(
                .wrongState,
                "Could not set the part header \(name): the request has no part. Add one first.")
        }
        try Multipart.check(nil, [Headers.Field(name: name, value: value)])
        body = .none
        parts[parts.count - 1].headers[name] = value
        body = .multipart(parts)
    }

    private static func formField(_ name: String, _ value: String) -> Part {
        var part = Part.field(name, value)
        part.isFormField = true
        return part
    }

    /// Decodes a name or value of a query as in a form: `+` is a space.
    private static func unescaped(_ text: Substring) -> String {
        let bytes = text.utf8.map { $0 == 0x2B ? 0x20 : $0 }
        return String(decoding: PercentCoding.decode(bytes) ?? bytes, as: UTF8.self)
    }

    private static func escapingUnsafe(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0...0x20, 0x22, 0x23, 0x3C, 0x3E, 0x7F...0xFF:
                PercentCoding.append(byte, to: &bytes)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
