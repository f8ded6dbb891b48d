// Wherry: HTTP headers.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// An ordered list of headers. Names are case-insensitive and keep their case.
public struct Headers: Sendable, Hashable {
    /// A header. In a request, a `nil` value suppresses the client's header of that name.
    public struct Field: Sendable, Hashable {
        /// The name as written; compared case-insensitively.
        public var name: String
        /// `nil` suppresses the header.
        public var value: String?

        /// Creates a header. It is validated when used.
        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// All headers in order, including repeated ones.
    public private(set) var fields: [Field] = []

    /// Creates empty headers.
    public init() {}

    package init(fields: [Field]) { self.fields = fields }

    /// Whether there are no headers.
    public var isEmpty: Bool { fields.isEmpty }
    /// The number of headers, including repeated ones.
    public var count: Int { fields.count }

    /// The value of the first header with a name. Setting replaces all of them; setting `nil`
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

    /// Returns the values of all headers with a name, in order.
    public func values(_ name: String) -> [String] {
        fields.compactMap { Self.areEqual($0.name, name) ? $0.value : nil }
    }

    /// Returns whether there is a header with a name (case-insensitive).
    public func contains(_ name: String) -> Bool {
        fields.contains { Self.areEqual($0.name, name) }
    }

    /// Appends a header, even if the name exists.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Replaces all headers of that name by one in the position of the first, or appends it.
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

    /// Adds a header in addition to those of the same name. Replaces a suppressed one.
    package mutating func add(_ name: String, _ value: String) {
        fields.removeAll { $0.value == nil && Self.areEqual($0.name, name) }
        append(name, value)
    }

    /// Suppresses, in a request, the client's or built-in header of that name.
    public mutating func suppress(_ name: String) { set(name, nil) }

    /// Removes all headers of that name (case-insensitive).
    public mutating func remove(_ name: String) {
        fields.removeAll { Self.areEqual($0.name, name) }
    }

    /// Removes all headers.
    public mutating func removeAll() { fields.removeAll() }

    /// Compares ASCII names case-insensitively (RFC 9110, section 5.1).
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
    /// Creates headers in order; repeated names are kept.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }
}

extension Headers {
    /// Rejects a suppressed `Host`, and a second one, since servers and proxies disagree on which
    /// of two applies.
    package func checkHost() throws(WherryError) {
        var count = 0
        for field in fields where Headers.areEqual(field.name, "Host") {
            count += 1
            guard field.value != nil else {
                throw WherryError(
                    .badHeader,
                    "The header Host cannot be left out. Set a host, or remove the header.")
            }
        }
        guard count > 1 else { return }
        throw WherryError(
            .badHeader, "The header Host cannot be sent twice. Set only one value.")
    }
}
