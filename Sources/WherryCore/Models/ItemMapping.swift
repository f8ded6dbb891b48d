// Wherry: from the JSON of a server to the fields of an item.
// SPDX-License-Identifier: Apache-2.0

/// A table that says where the fields of an item stand in a server's JSON, and what they are (O7).
///
///     let book = ItemMapping([
///         .init("title", .text),
///         .init("year", at: "published/year", .integer),
///         .init("authors", at: "people", .array(of: .item(ItemMapping([.init("name", .text)])))),
///     ])
///     let record = book.record(of: try response.json())
///
/// A field that is missing or null, and one of a type that cannot be converted, is left out of the
/// record, so that what was there stays. ``strictRecord(of:)`` makes errors of them.
public struct ItemMapping: Sendable {
    /// What a field is, and thereby what is converted (O8).
    ///
    /// Numbers and texts become each other where nothing is lost: `"12"` is the integer 12, 12 the
    /// text `"12"`; `"12 apples"` and 1.5 are no integers. All 64 bits of an integer are exact.
    public indirect enum FieldType: Sendable {
        /// Whatever stands there, as it is, but no null.
        case value
        /// Text, or a number as digits.
        case text
        /// A number without fraction, or text that spells one: `Int64` and `UInt64`.
        case integer
        /// A number, or text that spells one.
        case number
        /// A bool, a number unless it is 0, or text: true if it begins with y, Y, t, T or 1.
        case bool
        /// An object with a table of its own. Empty text and an empty array, which some servers
        /// send for no object, count as missing.
        case item(ItemMapping)
        /// An array whose elements are all of that type. One that is not drops the whole array.
        /// Empty text counts as missing.
        case array(of: FieldType)
    }

    /// One field of an item.
    public struct Field: Sendable {
        /// Its name in the record.
        public var name: String
        /// Where it stands in the JSON, as in ``JSON/value(at:)``.
        public var path: String
        /// What it is.
        public var type: FieldType

        /// A field that stands at a path: by default at its own name.
        public init(_ name: String, at path: String? = nil, _ type: FieldType) {
            self.name = name
            self.path = path ?? JSONPath.escaped(name)
            self.type = type
        }
    }

    /// Why a field is not in the record.
    public struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// What was found at its place.
        public enum Kind: String, Sendable, Hashable {
            /// Nothing.
            case missing
            /// A null.
            case null
            /// Something that cannot be converted.
            case wrongType = "wrong_type"
        }
        /// Where it should be in the JSON: `people/0/name`.
        public var path: String
        /// What was found.
        public var kind: Kind

        /// "people/0/name: wrong_type".
        public var description: String { "\(path): \(kind.rawValue)" }
    }

    /// The fields in order. Of a name that comes twice the last one that is found counts.
    public var fields: [Field] {
        didSet { depth = Self.depth(of: fields) }
    }
    /// How deep tables lie in each other; 1 for a plain one.
    package private(set) var depth: Int

    /// A table of fields, after those of another one: what a class has of its superclass.
    public init(_ fields: [Field] = [], extending base: ItemMapping? = nil) {
        self.fields = (base?.fields ?? []) + fields
        depth = Self.depth(of: self.fields)
    }

    /// Each table inside knows its own, since one value may stand in many places.
    private static func depth(of fields: [Field]) -> Int {
        1 + (fields.lazy.map { $0.type.depth }.max() ?? 0)
    }

    /// The fields that are there, over a record from before: what is missing, null or of a wrong
    /// type stays as it was.
    public func record(of json: JSON, updating record: JSONObject = [:]) -> JSONObject {
        var record = record
        var problems: [Problem] = []
        read(json, at: "", into: &record, &problems)
        return record
    }

    /// What keeps fields out of the record, at every depth; empty if all are in it.
    public func problems(in json: JSON) -> [Problem] {
        var record = JSONObject()
        var problems: [Problem] = []
        read(json, at: "", into: &record, &problems)
        return problems
    }

    /// The record of JSON that has every field.
    ///
    /// - Throws: `bad_json_body`, naming the first problems.
    public func strictRecord(of json: JSON) throws(WherryError) -> JSONObject {
        var record = JSONObject()
        var problems: [Problem] = []
        read(json, at: "", into: &record, &problems)
        guard problems.isEmpty else {
            let named = problems.prefix(5).map(\.description).joined(separator: ", ")
            let more = problems.count > 5 ? ", and \(problems.count - 5) more" : ""
            throw WherryError(.badJSONBody, "The JSON lacks fields of the item: \(named)\(more)")
        }
        return record
    }

    // MARK: Walking

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

/// What became of a value that was to be converted.
private enum Converted {
    case value(JSON)
    /// What some servers send for nothing.
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

    /// All elements converted, or `nil` if one cannot be.
    private func converted(
        _ elements: [JSON], at place: String, _ problems: inout [ItemMapping.Problem]
    ) -> JSON? {
        var values: [JSON] = []
        values.reserveCapacity(elements.count)
        let known = problems.count
        for (index, element) in elements.enumerated() {
            guard case .value(let value) = converted(element, at: "\(place)/\(index)", &problems)
            else {
                // The whole array is the problem now.
                problems.removeSubrange(known...)
                return nil
            }
            values.append(value)
        }
        return .array(values)
    }
}

extension JSON {
    /// The value as an exact integer: a number without fraction, or text that spells one.
    fileprivate var exactInteger: JSON? {
        if let signed = integer() { return .integer(signed) }
        return unsigned().map { .unsigned($0) }
    }

    /// Whether it is what some servers send where there is no object.
    fileprivate var isEmptyStandIn: Bool {
        switch self {
        case .string(let text): text.isEmpty
        case .array(let elements): elements.isEmpty
        default: false
        }
    }
}
