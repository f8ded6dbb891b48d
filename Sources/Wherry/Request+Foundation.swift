// Wherry: requests from URLs, data and values that encode themselves.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension Request {
    /// A request for a URL; a relative one is joined with the client's base URL.
    public init(_ url: URL, method: String? = nil) {
        self.init(url.absoluteString, method: method)
    }

    /// A request with a value as its JSON body.
    ///
    /// - Throws: `bad_parameters` for what JSON cannot say, such as a number that is not finite.
    public init(
        _ url: String, method: String? = nil, json value: some Encodable,
        encoder: JSONEncoder = JSONEncoder()
    ) throws(WherryError) {
        self.init(url, method: method)
        try setJSON(value, encoder: encoder)
    }

    /// Makes a value the JSON body, in place of the body before.
    ///
    /// - Throws: `bad_parameters` for what JSON cannot say, such as a number that is not finite.
    public mutating func setJSON(
        _ value: some Encodable, encoder: JSONEncoder = JSONEncoder()
    ) throws(WherryError) {
        do {
            body = .json(Bytes(try encoder.encode(value)))
        } catch {
            throw WherryError(
                .badParameters, "A value cannot be encoded as JSON: \(Self.reason(of: error))")
        }
    }

    /// Makes a value the body, as a property list of type `application/x-plist`.
    ///
    /// - Throws: `bad_parameters` for what a property list cannot say, such as a lone number.
    public mutating func setPropertyList(
        _ value: some Encodable, encoder: PropertyListEncoder = PropertyListEncoder()
    ) throws(WherryError) {
        do {
            body = .bytes(Bytes(try encoder.encode(value)), contentType: "application/x-plist")
        } catch {
            throw WherryError(
                .badParameters,
                "A value cannot be encoded as a property list: \(Self.reason(of: error))")
        }
    }

    private static func reason(of error: any Error) -> String {
        guard case EncodingError.invalidValue(let value, let context) = error else {
            return "\(error)"
        }
        let path = context.codingPath.map(\.stringValue).joined(separator: "/")
        return path.isEmpty ? "\(value)" : "\(value) at \(path)"
    }
}

extension Request.Body {
    /// A body of bytes; without a type no Content-Type is sent.
    public static func data(_ data: Data, contentType: String? = nil) -> Request.Body {
        .bytes(Bytes(data), contentType: contentType)
    }
}
