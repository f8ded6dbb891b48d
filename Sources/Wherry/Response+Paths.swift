// Wherry: values from a place in an answer.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension JSON {
    /// The value at a path, decoded as `type`; an optional type is `nil` where nothing is.
    ///
    /// - Parameters:
    ///   - path: as in ``/WherryCore/JSON/value(at:)``; "" is the value itself.
    ///   - mapping: says where the fields stand and converts them; an array is mapped element by
    ///     element. Without one the names are those of the type.
    /// - Throws: `bad_json_body` if it is not what `type` wants.
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
                "The value\(place) is not the JSON of \(type): \(Response.reason(of: error))")
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
    /// The value at a path of the body's JSON, decoded as `type`; see
    /// ``/WherryCore/JSON/decode(_:at:mapping:decoder:)``.
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
