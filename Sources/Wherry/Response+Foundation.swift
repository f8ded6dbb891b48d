// Wherry: responses as Data and Decodable values.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import WherrySystem
import WherryTransport

extension Bytes {
    /// The bytes as Foundation's `Data`, which shares their memory.
    public var data: Data {
        guard let storage, let base = unsafe storage.base else { return Data() }
        return unsafe Data(
            bytesNoCopy: base, count: storage.count,
            deallocator: .custom { _, _ in withExtendedLifetime(storage) {} })
    }
}

extension Response {
    /// The body as Foundation's `Data`, which shares its memory.
    public var data: Data { body.data }

    /// Decodes the JSON body as `type`. An empty body, or one space, is null, so that an optional
    /// type decodes to `nil` (R12).
    ///
    /// - Throws: `bad_json_body` if it is not JSON or does not decode as `type`.
    public func decode<Value: Decodable>(
        _ type: Value.Type, decoder: JSONDecoder = JSONDecoder()
    ) throws(WherryError) -> Value {
        let isBlank = body.isEmpty || (body.count == 1 && body.first == 0x20)
        do {
            return try decoder.decode(type, from: isBlank ? Data("null".utf8) : data)
        } catch {
            throw WherryError(
                .badJSONBody,
                "Could not decode the response from \(HTTPURL.redacted(url)) as \(type): \(Self.reason(of: error))"
            ).with {
                $0.httpStatus = status
                $0.response = self
            }
        }
    }

    static func reason(of error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        let what: String
        let context: DecodingError.Context
        switch error {
        case .keyNotFound(let key, let place):
            (what, context) = ("\"\(key.stringValue)\" is missing", place)
        case .typeMismatch(let wanted, let place):
            (what, context) = ("\(wanted) was expected", place)
        case .valueNotFound(let wanted, let place): (what, context) = ("\(wanted) is null", place)
        case .dataCorrupted(let place): (what, context) = (place.debugDescription, place)
        @unknown default: return "\(error)"
        }
        let path = context.codingPath.map(\.stringValue).joined(separator: "/")
        return path.isEmpty ? what : "\(what) at \(path)"
    }
}
