// Wherry: header fields, in order, found whatever their case.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Header fields in order. Names are compared without regard to case, and keep theirs.
public struct Headers: Sendable, Hashable {
    /// One field. A request's field with a `nil` value suppresses the client's of that name.
    public struct Field: Sendable, Hashable {
        /// As it is written; compared without regard to case.
        public var name: String
        /// `nil` suppresses the field of that name.
        public var value: String?

        /// A field; it is checked when it is used.
        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// All fields in order, repeats included.
    public private(set) var fields: [Field] = []

    /// No fields.
    public init() {}

    package init(fields: [Field]) { self.fields = fields }

    /// Whether there is none.
    public var isEmpty: Bool { fields.isEmpty }
    /// How many there are, repeats included.
    public var count: Int { fields.count }

    /// The value of the first field of that name. Setting replaces all of them; setting `nil`
    /// removes them.
    public subscript(name: String) -> String? {
        get { fields.first { Self.areEqual($0.name, name) }?.value }
        set {
            guard let newValue else {
                remove(name)
                return
            }
            set(name, newValue)
        }
    }

    /// The values of all fields of that name, in order.
    public func values(_ name: String) -> [String] {
        fields.compactMap { Self.areEqual($0.name, name) ? $0.value : nil }
    }

    /// Whether there is a field of that name, whatever its case.
    public func contains(_ name: String) -> Bool {
        fields.contains { Self.areEqual($0.name, name) }
    }

    /// Adds a field after the others, whether or not there is one of that name.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Replaces every field of that name by one in the first one's place, or adds it.
    package mutating func set(_ name: String, _ value: String?) {
        guard let first = fields.firstIndex(where: { Self.areEqual($0.name, name) }) else {
            fields.append(Field(name: name, value: value))
            return
        }
        fields[first] = Field(name: name, value: value)
        var index = fields.count - 1
        while index > first {
            if Self.areEqual(fields[index].name, name) { fields.remove(at: index) }
            index -= 1
        }
    }

    /// Adds a field beside those of the same name. It replaces a suppressed one.
    package mutating func add(_ name: String, _ value: String) {
        fields.removeAll { $0.value == nil && Self.areEqual($0.name, name) }
        append(name, value)
    }

    /// Of a request: the client's field of that name, or the built-in one, is not sent.
    public mutating func suppress(_ name: String) { set(name, nil) }

    /// Removes every field of that name, whatever its case.
    public mutating func remove(_ name: String) {
        fields.removeAll { Self.areEqual($0.name, name) }
    }

    /// Removes every field.
    public mutating func removeAll() { fields.removeAll() }

    /// ASCII comparison without regard to case (RFC 9110 section 5.1).
    package static func areEqual(_ a: String, _ b: String) -> Bool {
        guard a.utf8.count == b.utf8.count else { return false }
        return zip(a.utf8, b.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }

    /// Checks a header that a caller sets, or removes with `nil` (SEC-U1, SEC-U11).
    package static func check(_ name: String, _ value: String?) throws(WherryError) {
        if value == nil, areEqual(name, "Host") { return }
        if let violation = FieldRules.violation(name: name, value: value ?? "") {
            throw WherryError(.badHeader, violation.message)
        }
    }
}

extension Headers: ExpressibleByDictionaryLiteral {
    /// Fields in the order given; of a name given twice both stay.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }
}
