// Wherry: members of a JSON object that should be of one kind.
// SPDX-License-Identifier: Apache-2.0

extension JSONObject {
    /// The text of a name; `nil` if it is missing or no text.
    func text(_ name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    /// The whole number of a name; `nil` if it is missing or none that 64 bits hold.
    func integer(_ name: String) -> Int64? {
        if case .integer(let value)? = self[name] { value } else { nil }
    }

    /// The number of a name, whole or not; `nil` if it is missing or none.
    func number(_ name: String) -> Double? {
        switch self[name] {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// Whether the name is there and true.
    func flag(_ name: String) -> Bool { self[name] == .bool(true) }

    /// The object of a name; `nil` if it is missing or none.
    func object(_ name: String) -> JSONObject? {
        if case .object(let object)? = self[name] { object } else { nil }
    }

    /// The array of a name; empty if it is missing or none.
    func list(_ name: String) -> [JSON] {
        if case .array(let list)? = self[name] { list } else { [] }
    }

    /// Sets a text; `nil` leaves the name out.
    mutating func set(_ name: String, _ value: String?) { self[name] = value.map { .string($0) } }
    /// Sets a number; `nil` leaves the name out.
    mutating func set(_ name: String, _ value: Int64?) { self[name] = value.map { .integer($0) } }
}
