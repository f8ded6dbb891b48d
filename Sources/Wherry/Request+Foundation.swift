// Wherry: requests from Foundation and Encodable values.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension Request {
    /// Creates a request for a URL; a relative URL is resolved against the client's base URL.
    public init(_ url: URL, method: String? = nil) {
        self.init(url.absoluteString, method: method)
    }

    /// Creates a request with a value as its JSON body.
    ///
    /// - Throws: `bad_parameters` for values that JSON cannot represent, such as a non-finite
    ///   number.
    public init(
        _ url: String, method: String? = nil, json value: some Encodable,
        encoder: JSONEncoder = JSONEncoder()
    ) throws(WherryError) {
        self.init(url, method: method)
        try setJSON(value, encoder: encoder)
    }

    /// Sets a value as the JSON body.
    ///
    /// - Throws: `bad_parameters` for values that JSON cannot represent, such as a non-finite
    ///   number.
    public mutating func setJSON(
        _ value: some Encodable, encoder: JSONEncoder = JSONEncoder()
    ) throws(WherryError) {
        do {
            body = .json(Bytes(try encoder.encode(value)))
        } catch {
            throw WherryError(
                .badParameters, "Could not encode a value as JSON: \(Self.reason(of: error))")
        }
    }

    /// Sets a value as the body, as a property list of type `application/x-plist`.
    ///
    /// - Throws: `bad_parameters` for values that a property list cannot represent, such as a
    ///   single number.
    public mutating func setPropertyList(
        _ value: some Encodable, encoder: PropertyListEncoder = PropertyListEncoder()
    ) throws(WherryError) {
        do {
            body = .bytes(Bytes(try encoder.encode(value)), contentType: "application/x-plist")
        } catch {
            throw WherryError(
                .badParameters,
                "Could not encode a value as a property list: \(Self.reason(of: error))")
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
    /// Returns a body of bytes. Without a content type, no Content-Type header is sent.
    public static func data(_ data: Data, contentType: String? = nil) -> Request.Body {
        .bytes(Bytes(data), contentType: contentType)
    }
}
