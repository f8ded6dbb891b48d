// Wherry: what the JSON of an answer has to look like.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The shape that a JSON value has to have (R26): which members with which kinds of values.
///
/// Written as a value, `["name": .string, "friends": [["id": .number]]]`, or read from JSON text,
/// `{"name": "string", "friends": [{"id": "number"}]}`. A member that is named must be there, and its
/// value may be null; further members may be there. Elements of arrays, and the value as a whole,
/// are null only where anything will do.
public indirect enum JSONShape: Sendable, Hashable {
    /// Any value, null too.
    case any
    case string
    /// A number, whole or not. `true` and `false` are none.
    case number
    /// A number without a fraction, however it is written: 2, 2.0 and 2e3.
    case integer
    case bool
    /// An array all of whose elements have this shape; it may be empty.
    case array(of: JSONShape)
    /// An object that has these members.
    case object(with: [String: JSONShape])

    /// Reads the shape from JSON: "any", "string", "number", "integer", "bool", "array" and "object"
    /// as words, an array with the shape of its elements or with nothing, an object with those of its members.
    ///
    /// - Throws: `bad_json`, and `bad_value` for JSON that is no shape, which names the place.
    public init(parsing text: String) throws(WherryError) {
        try self.init(JSON(parsing: text), at: "")
    }

    init(_ json: JSON, at place: String) throws(WherryError) {
        switch json {
        case .string("any"): self = .any
        case .string("string"): self = .string
        case .string("number"): self = .number
        case .string("integer"): self = .integer
        case .string("bool"): self = .bool
        case .string("array"): self = .array(of: .any)
        case .string("object"): self = .object(with: [:])
        case .array(let elements) where elements.count < 2:
            let element = try elements.first.map { element throws(WherryError) in
                try JSONShape(element, at: JSONPath.joined(place, "0"))
            }
            self = .array(of: element ?? .any)
        case .object(let object):
            var members: [String: JSONShape] = [:]
            for member in object {
                let path = JSONPath.joined(place, JSONPath.escaped(member.name))
                members[member.name] = try JSONShape(member.value, at: path)
            }
            self = .object(with: members)
        default:
            throw WherryError(
                .badValue,
                "A shape is \"any\", \"string\", \"number\", \"integer\", \"bool\", \"array\" or \"object\", an array with the shape of its elements, or an object with those of its members; \(Self.name(place)) is none of them"
            )
        }
    }

    /// Where a value does not have the shape, in words for a person; `nil` where it does.
    ///
    /// The first place in the order of the value's elements and of the members' names: "data/list/3/id is
    /// a string, not a number".
    public func mismatch(in json: JSON) -> String? {
        var path: [String] = []
        guard let fault = fault(json, &path, mayBeNull: false) else { return nil }
        return "\(Self.name(path.map(JSONPath.escaped).joined(separator: "/"))) \(fault)"
    }

    private func fault(_ json: JSON, _ path: inout [String], mayBeNull: Bool) -> String? {
        if json.isNull, mayBeNull { return nil }
        switch (self, json) {
        case (.any, _), (.string, .string), (.bool, .bool): return nil
        case (.number, _) where json.kind == .number: return nil
        case (.integer, .integer), (.integer, .unsigned): return nil
        case (.integer, .double(let value)) where value == value.rounded(): return nil
        case (.integer, .double): return "is a number with a fraction, not an integer"
        case (.array(.any), .array): return nil
        case (.array(let shape), .array(let elements)):
            for (index, element) in elements.enumerated() {
                path.append("\(index)")
                if let fault = shape.fault(element, &path, mayBeNull: false) { return fault }
                path.removeLast()
            }
            return nil
        case (.object(let members), .object(let object)):
            for (name, shape) in members.sorted(by: { $0.key < $1.key }) {
                path.append(name)
                guard let value = object[name] else { return "is missing" }
                if let fault = shape.fault(value, &path, mayBeNull: true) { return fault }
                path.removeLast()
            }
            return nil
        default: return "is \(Self.article(json.kind)), not \(word)"
        }
    }

    private static func name(_ path: String) -> String { path.isEmpty ? "the whole" : path }

    private static func article(_ kind: JSON.Kind) -> String {
        switch kind {
        case .null: "null"
        case .bool: "a bool"
        case .number: "a number"
        case .text: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    private var word: String {
        switch self {
        case .any: "anything"
        case .string: "a string"
        case .number: "a number"
        case .integer: "an integer"
        case .bool: "a bool"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONShape: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    /// An array of the one shape; without one of whatever. Of several the first counts.
    public init(arrayLiteral elements: JSONShape...) {
        self = .array(of: elements.first ?? .any)
    }

    /// An object with these members; of a name that comes twice the last counts.
    public init(dictionaryLiteral elements: (String, JSONShape)...) {
        self = .object(with: Dictionary(elements) { $1 })
    }
}
