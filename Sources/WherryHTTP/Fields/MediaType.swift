// Wherry: media types, such as `text/html; charset=utf-8`.
// SPDX-License-Identifier: Apache-2.0

/// A media type with its parameters (RFC 9110, section 8.3.1).
package struct MediaType: Hashable, Sendable {
    /// A `name=value`, with the name in lower case and the value unquoted.
    package struct Parameter: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    /// `text` of `text/html`, in lower case.
    package let type: String
    /// `html` of `text/html`, in lower case.
    package let subtype: String
    /// The parameters in order.
    package let parameters: [Parameter]

    /// `text/html`: in lower case and without parameters.
    package var essence: String { "\(type)/\(subtype)" }

    /// The value of the first parameter with a lower-case name, or `nil`.
    package subscript(name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    /// The charset parameter in lower case, or `nil`.
    package var charset: String? { self["charset"]?.lowercased() }

    /// Whether the body is JSON: `application/json`, `text/json` or any `+json` subtype.
    package var isJSON: Bool { subtype == "json" || subtype.hasSuffix("+json") }

    /// Parses a media type; `nil` if malformed.
    ///
    /// Allows white space around semicolons and empty parameters (`a/b;;c=d`), as in the RFC, but
    /// no white space around the slash or the equals sign. Bytes from 0x80 on in a quoted value are
    /// UTF-8; invalid sequences become U+FFFD.
    package init?(_ bytes: some Collection<UInt8>) {
        var scanner = FieldScanner(bytes)
        scanner.skipSpace()
        guard let type = scanner.token(), scanner.skip(0x2F), let subtype = scanner.token() else {
            return nil
        }
        var parameters: [Parameter] = []
        scanner.skipSpace()
        while scanner.skip(0x3B) {
            scanner.skipSpace()
            guard let name = scanner.token() else { continue }
            guard scanner.skip(0x3D), let value = scanner.tokenOrQuoted() else { return nil }
            parameters.append(Parameter(name: name.lowercased(), value: value))
            scanner.skipSpace()
        }
        guard scanner.isAtEnd else { return nil }
        self.type = type.lowercased()
        self.subtype = subtype.lowercased()
        self.parameters = parameters
    }

    /// Parses text; see ``init(_:)-(Collection)``.
    package init?(_ text: String) { self.init(text.utf8) }
}
