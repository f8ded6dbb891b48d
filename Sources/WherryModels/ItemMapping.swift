// Wherry: mapping a server's JSON to the fields of an item.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP

/// A mapping from a server's JSON to the fields of an item: their paths and types (O7).
///
///     let book = ItemMapping([
///         .init("title", .text),
///         .init("year", at: "published/year", .integer),
///         .init("authors", at: "people", .array(of: .item(ItemMapping([.init("name", .text)])))),
///     ])
///     let record = book.record(of: try response.json())
///
/// Fields that are missing, null or not convertible are left out of the record, so that earlier
/// values stay. ``strictRecord(of:)`` throws for them instead.
public struct ItemMapping: Sendable {
    /// The type of a field, which determines its conversion.
    ///
    /// Numbers and text are converted to each other if nothing is lost: `"12"` is the integer 12,
    /// and 12 is the text `"12"`; `"12 apples"` and 1.5 are not integers. All 64 bits of an integer
    /// are exact.
    public indirect enum FieldType: Sendable {
        /// Any value except null, unchanged.
        case value
        /// Text, or a number as digits.
        case text
        /// A number without a fraction, or text that contains one: `Int64` and `UInt64`.
        case integer
        /// A number, or text that contains one.
        case number
        /// A bool. A number is true unless it is 0; text is true if it begins with y, Y, t, T or 1.
        case bool
        /// An object with its own mapping. Empty text and an empty array count as missing, since
        /// some servers send them instead of an object.
        case item(ItemMapping)
        /// An array of elements of the type. One element of another type drops the whole array.
        /// Empty text counts as missing.
        case array(of: FieldType)
    }

    /// One field of an item.
    public struct Field: Sendable {
        /// The name in the record.
        public var name: String
        /// The path in the JSON, as in ``WherryHTTP/JSON/value(at:)``.
        public var path: String
        /// The type.
        public var type: FieldType

        /// Creates a field; the path defaults to the name.
        public init(_ name: String, at path: String? = nil, _ type: FieldType) {
            self.name = name
            self.path = path ?? JSONPath.escaped(name)
            self.type = type
        }
    }

    /// The reason why a field is not in the record.
    public struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// The kind of problem.
        public enum Kind: String, Sendable, Hashable {
            /// The value is missing.
            case missing
            /// The value is null.
            case null
            /// The value cannot be converted.
            case wrongType = "wrong_type"
        }
        /// The path in the JSON: `people/0/name`.
        public var path: String
        /// The kind of problem.
        public var kind: Kind

        /// "people/0/name: wrong_type".
        public var description: String { "\(path): \(kind.rawValue)" }
    }

    /// The fields in order. If a name occurs twice, the last field that is found wins.
    public var fields: [Field] {
        didSet { depth = Self.depth(of: fields) }
    }
    /// The nesting depth of mappings; 1 for a flat one.
    package private(set) var depth: Int

    /// Creates a mapping of the fields of `base`, then `fields`, as for a class and its superclass.
    public init(_ fields: [Field] = [], extending base: ItemMapping? = nil) {
        self.fields = (base?.fields ?? []) + fields
        depth = Self.depth(of: self.fields)
    }

    /// Computes the nesting depth. Nested mappings store theirs, since one mapping may occur in
    /// many places.
    private static func depth(of fields: [Field]) -> Int {
        1 + (fields.lazy.map { $0.type.depth }.max() ?? 0)
    }

    /// Returns the record. Fields that are missing, null or of a wrong type keep their value in
    /// `record`.
    public func record(of json: JSON, updating record: JSONObject = [:]) -> JSONObject {
        var record = record
        var problems: [Problem] = []
        read(json, at: "", into: &record, &problems)
        return record
    }

    /// Returns the problems at every depth; empty if all fields are in the record.
    public func problems(in json: JSON) -> [Problem] {
        var record = JSONObject()
        var problems: [Problem] = []
        read(json, at: "", into: &record, &problems)
        return problems
    }

    /// Returns the record of JSON, which must contain every field.
    ///
    /// - Throws: `bad_json_body`, which names the first problems.
    public func strictRecord(of json: JSON) throws(WherryError) -> JSONObject {
        var record = JSONObject()
        var problems: [Problem] = []
        read(json, at: "", into: &record, &problems)
        guard problems.isEmpty else {
            let named = problems.prefix(5).map(\.description).joined(separator: ", ")
            let more = problems.count > 5 ? ", and \(problems.count - 5) more" : ""
            throw WherryError(
                .badJSONBody, "The JSON lacks valid fields of the item: \(named)\(more)")
        }
        return record
    }

    // MARK: Conversion

    private func read(
        _ json: JSON, at place: String, into record: inout JSONObject,
        _ problems: inout [Problem]
    ) {
        for field in fields {
            let path = JSONPath.joined(place, field.path)
            guard let found = json.value(at: field.path) else {
                problems.append(Problem(path: path, kind: .missing))
                continue
            }
            switch field.type.converted(found, at: path, &problems) {
            case .value(let value): record[field.name] = value
            case .nothing: break
            case .problem(let kind): problems.append(Problem(path: path, kind: kind))
            }
        }
    }

    fileprivate func record(
        of json: JSON, at place: String, _ problems: inout [Problem]
    ) -> JSONObject {
        var record = JSONObject()
        read(json, at: place, into: &record, &problems)
        return record
    }
}

/// The result of a conversion.
private enum Converted {
    case value(JSON)
    /// An empty value that some servers send for a missing one.
    case nothing
    case problem(ItemMapping.Problem.Kind)
}

extension ItemMapping.FieldType {
    fileprivate var depth: Int {
        switch self {
        case .item(let mapping): mapping.depth
        case .array(let type): type.depth
        default: 0
        }
    }

    fileprivate func converted(
        _ json: JSON, at place: String, _ problems: inout [ItemMapping.Problem]
    ) -> Converted {
        if json.isNull { return .problem(.null) }
        let value: JSON?
        switch self {
        case .value: value = json
        case .text: value = json.text().map { .string($0) }
        case .integer: value = json.exactInteger
        case .number: value = json.exactInteger ?? json.number().map { .double($0) }
        case .bool: value = json.bool().map { .bool($0) }
        case .item(let mapping):
            if json.isEmptyStandIn { return .nothing }
            guard case .object = json else { return .problem(.wrongType) }
            value = .object(mapping.record(of: json, at: place, &problems))
        case .array(let type):
            if json == .string("") { return .nothing }
            guard case .array(let elements) = json else { return .problem(.wrongType) }
            value = type.converted(elements, at: place, &problems)
        }
        return value.map { .value($0) } ?? .problem(.wrongType)
    }

    /// Returns all elements converted, or `nil` if one cannot be converted.
    private func converted(
        _ elements: [JSON], at place: String, _ problems: inout [ItemMapping.Problem]
    ) -> JSON? {
        var values: [JSON] = []
        values.reserveCapacity(elements.count)
        let known = problems.count
        for (index, element) in elements.enumerated() {
            guard case .value(let value) = converted(element, at: "\(place)/\(index)", &problems)
            else {
                // Report the array instead of its elements.
                problems.removeSubrange(known...)
                return nil
            }
            values.append(value)
        }
        return .array(values)
    }
}

extension JSON {
    /// The value as an exact integer: a number without a fraction, or text that contains one.
    fileprivate var exactInteger: JSON? {
        if let signed = integer() { return .integer(signed) }
        return unsigned().map { .unsigned($0) }
    }

    /// Whether the value is one that some servers send instead of a missing object.
    fileprivate var isEmptyStandIn: Bool {
        switch self {
        case .string(let text): text.isEmpty
        case .array(let elements): elements.isEmpty
        default: false
        }
    }
}
