// Wherry: a schema for JSON responses.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A schema for a JSON value (R26): which members it must have, with which types.
///
/// Write it as a value, `["name": .string, "friends": [["id": .number]]]`, or parse it from JSON
/// text, `{"name": "string", "friends": [{"id": "number"}]}`. Named members are required but may be
/// null; other members are allowed. The value itself and array elements may be null only if any
/// value is allowed.
public indirect enum JSONShape: Sendable, Hashable {
    /// Any value, including null.
    case any
    case string
    /// A number, with or without a fraction. `true` and `false` are not numbers.
    case number
    /// A number without a fraction, in any notation: 2, 2.0 and 2e3.
    case integer
    case bool
    /// An array whose elements all have this shape; may be empty.
    case array(of: JSONShape)
    /// An object with these members.
    case object(with: [String: JSONShape])

    /// Parses a shape from JSON: "any", "string", "number", "integer", "bool", "array" or "object";
    /// an array that is empty or contains the shape of its elements; or an object with the shapes
    /// of its members.
    ///
    /// - Throws: `bad_json`, and `bad_value` for JSON that is not a shape, which names the path.
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
                "Could not parse the JSON shape: \(Self.name(place)) is not a shape. Use \"any\", \"string\", \"number\", \"integer\", \"bool\", \"array\", \"object\", an array with the shape of its elements, or an object with the shapes of its members."
            )
        }
    }

    /// Returns a description of the first mismatch, such as "data/list/3/id is a string, not a
    /// number". `nil` if the value matches.
    ///
    /// Array elements are checked in order, and members in the order of their names.
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

    private static func name(_ path: String) -> String { path.isEmpty ? "the top level" : path }

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
    /// Creates an array whose elements have the given shape, or any values if no shape is given.
    /// Only the first shape is used.
    public init(arrayLiteral elements: JSONShape...) {
        self = .array(of: elements.first ?? .any)
    }

    /// Creates an object with these members. If a name is repeated, the last one is used.
    public init(dictionaryLiteral elements: (String, JSONShape)...) {
        self = .object(with: Dictionary(elements) { $1 })
    }
}
