// Wherry: typed access to members of a JSON object.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP

extension JSONObject {
    /// Returns the string member of this name. `nil` if it is missing or not a string.
    func text(_ name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    /// Returns the integer member of this name. `nil` if it is missing or does not fit 64 bits.
    func integer(_ name: String) -> Int64? {
        if case .integer(let value)? = self[name] { value } else { nil }
    }

    /// Returns the number member of this name. `nil` if it is missing or not a number.
    func number(_ name: String) -> Double? {
        switch self[name] {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// Whether the member of this name is `true`.
    func flag(_ name: String) -> Bool { self[name] == .bool(true) }

    /// Returns the object member of this name. `nil` if it is missing or not an object.
    func object(_ name: String) -> JSONObject? {
        if case .object(let object)? = self[name] { object } else { nil }
    }

    /// Returns the array member of this name. Empty if it is missing or not an array.
    func list(_ name: String) -> [JSON] {
        if case .array(let list)? = self[name] { list } else { [] }
    }

    /// Sets a string member. `nil` removes the member.
    mutating func set(_ name: String, _ value: String?) { self[name] = value.map { .string($0) } }
    /// Sets an integer member. `nil` removes the member.
    mutating func set(_ name: String, _ value: Int64?) { self[name] = value.map { .integer($0) } }
}
