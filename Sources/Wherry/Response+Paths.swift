// Wherry: decoding a part of a response.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension JSON {
    /// Decodes the value at a path as `type`; an optional type decodes to `nil` if there is no
    /// value.
    ///
    /// - Parameters:
    ///   - path: As in ``/WherryHTTP/JSON/value(at:)``; "" is the value itself.
    ///   - mapping: The mapping from JSON to the fields; applied to each element of an array.
    ///     Without a mapping, the JSON names are those of the type's properties.
    /// - Throws: `bad_json_body` if it does not decode as `type`.
    public func decode<Value: Decodable>(
        _ type: Value.Type, at path: String = "", mapping: ItemMapping? = nil,
        decoder: JSONDecoder = JSONDecoder()
    ) throws(WherryError) -> Value {
        let found = value(at: path) ?? .null
        let mapped = mapping.map { found.mapped(by: $0) } ?? found
        do {
            return try decoder.decode(type, from: Data(try mapped.printed()))
        } catch {
            let place = path.isEmpty ? "" : " at \"\(path)\""
            throw WherryError(
                .badJSONBody,
                "Could not decode the JSON value\(place) as \(type): \(Response.reason(of: error))")
        }
    }

    private func mapped(by mapping: ItemMapping) -> JSON {
        if case .array(let elements) = self {
            return .array(elements.map { .object(mapping.record(of: $0)) })
        }
        return isNull ? self : .object(mapping.record(of: self))
    }
}

extension Response {
    /// Decodes the value at a path of the JSON body as `type`; see
    /// ``/WherryHTTP/JSON/decode(_:at:mapping:decoder:)``.
    public func decode<Value: Decodable>(
        _ type: Value.Type, at path: String, mapping: ItemMapping? = nil,
        decoder: JSONDecoder = JSONDecoder()
    ) throws(WherryError) -> Value {
        do throws(WherryError) {
            return try json().decode(type, at: path, mapping: mapping, decoder: decoder)
        } catch {
            throw error.with {
                $0.httpStatus = status
                $0.response = self
            }
        }
    }
}
