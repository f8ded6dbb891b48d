// Wherry: JSON paths.
// SPDX-License-Identifier: Apache-2.0

/// A path such as `data/items/0/name`, split into steps.
///
/// Empty steps are skipped, so `""` is the root. In a name `~1` stands for `/` and `~0` for `~`
/// (RFC 6901); any other `~` is literal.
package struct JSONPath {
    let steps: [String]

    init(_ text: String) {
        steps = text.utf8.split(separator: 0x2F).map { step in
            step.contains(0x7E) ? JSONPath.unescaped(step) : String(Substring(step))
        }
    }

    /// Parses an array index: digits without a leading zero.
    static func index(_ step: String) -> Int? {
        let digits = step.utf8
        guard digits.count == 1 || digits.first != 0x30 else { return nil }
        return FieldScanner.number(digits).flatMap { Int(exactly: $0) }
    }

    /// Returns a name escaped as a step of a path.
    package static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == 0x2F || $0 == 0x7E }) else { return name }
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case 0x7E: bytes += [0x7E, 0x30]
            case 0x2F: bytes += [0x7E, 0x31]
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Joins two paths.
    package static func joined(_ first: String, _ second: String) -> String {
        first.isEmpty || second.isEmpty ? first + second : "\(first)/\(second)"
    }

    private static func unescaped(_ step: Substring.UTF8View) -> String {
        var bytes: [UInt8] = []
        var isAfterTilde = false
        for byte in step {
            if isAfterTilde {
                switch byte {
                case 0x30: bytes.append(0x7E)
                case 0x31: bytes.append(0x2F)
                default: bytes.append(contentsOf: byte == 0x7E ? [0x7E] : [0x7E, byte])
                }
                isAfterTilde = byte == 0x7E
            } else if byte == 0x7E {
                isAfterTilde = true
            } else {
                bytes.append(byte)
            }
        }
        if isAfterTilde { bytes.append(0x7E) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

// MARK: - Reading

extension JSON {
    /// Returns the value at a path such as `data/items/0/name`, or `nil` if there is none.
    ///
    /// A step is a name in an object or an index in an array. Empty steps are skipped, so `""` is
    /// the value itself. In a name `~1` stands for `/` and `~0` for `~`.
    public func value(at path: String) -> JSON? {
        var value = self
        for step in JSONPath(path).steps {
            switch value {
            case .object(let object):
                guard let member = object[step] else { return nil }
                value = member
            case .array(let elements):
                guard let index = JSONPath.index(step), elements.indices.contains(index) else {
                    return nil
                }
                value = elements[index]
            default:
                return nil
            }
        }
        return value
    }

    /// Returns the value at a path as a bool. A number is true unless it is 0; text is true if it
    /// starts with y, Y, t, T or 1. `nil` for anything else, or if missing.
    public func bool(at path: String = "") -> Bool? {
        switch value(at: path) {
        case .bool(let value): value
        case .integer(let value): value != 0
        case .unsigned(let value): value != 0
        case .double(let value): value != 0
        case .string(let text): text.utf8.first.map { "yYtT1".utf8.contains($0) } ?? false
        default: nil
        }
    }

    /// Returns the integer at a path: a number without a fraction, or text that contains one. A
    /// number with a point or an exponent must be below 2^53 to be exact. `nil` if it does not fit
    /// exactly, for anything else, or if missing.
    public func integer(at path: String = "") -> Int64? {
        switch value(at: path) {
        case .integer(let value): value
        case .unsigned(let value): Int64(exactly: value)
        case .double(let value): JSON.exact(value)
        case .string(let text): Int64(text) ?? JSON.number(text).flatMap(JSON.exact)
        default: nil
        }
    }

    /// Returns the non-negative integer at a path, up to `UInt64.max`; otherwise like
    /// ``integer(at:)``.
    public func unsigned(at path: String = "") -> UInt64? {
        switch value(at: path) {
        case .integer(let value): UInt64(exactly: value)
        case .unsigned(let value): value
        case .double(let value): JSON.exact(value).flatMap { UInt64(exactly: $0) }
        case .string(let text):
            UInt64(text) ?? JSON.number(text).flatMap(JSON.exact).flatMap { UInt64(exactly: $0) }
        default: nil
        }
    }

    /// Returns the number at a path: a number, or text that contains one. `nil` for anything else,
    /// or if missing.
    public func number(at path: String = "") -> Double? {
        switch value(at: path) {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .double(let value): value
        case .string(let text): JSON.number(text)
        default: nil
        }
    }

    /// Returns the text at a path: text, or a number as digits, with exact integers. `nil` for
    /// anything else, or if missing.
    public func text(at path: String = "") -> String? {
        let found = value(at: path)
        if case .string(let text) = found { return text }
        return found?.numberText
    }

    /// Returns the elements at a path; `nil` unless it is an array.
    public func array(at path: String = "") -> [JSON]? {
        if case .array(let elements) = value(at: path) { return elements }
        return nil
    }

    /// Returns the members at a path; `nil` unless it is an object.
    public func object(at path: String = "") -> JSONObject? {
        if case .object(let object) = value(at: path) { return object }
        return nil
    }

    /// Returns the number of elements or members at a path; 0 for anything else.
    public func count(at path: String = "") -> Int {
        switch value(at: path) {
        case .array(let elements): elements.count
        case .object(let object): object.count
        default: 0
        }
    }

    /// Returns the integer value of a number with a point or an exponent. From 2^53 on it may be
    /// inexact.
    private static func exact(_ value: Double) -> Int64? {
        abs(value) < 9_007_199_254_740_992 ? Int64(exactly: value) : nil
    }

    /// Parses a decimal number that is the whole text; no NaN, infinity or hexadecimal digits.
    private static func number(_ text: String) -> Double? {
        let isDecimal = text.utf8.allSatisfy { byte in
            byte >= 0x30 && byte <= 0x39 || "+-.eE".utf8.contains(byte)
        }
        guard isDecimal, let value = Double(text), value.isFinite else { return nil }
        return value
    }
}

// MARK: - Writing

extension JSON {
    /// Sets the value at a path, creating missing containers along it.
    ///
    /// A missing or null container becomes an object, or an array if the step is `-` or `0`. In an
    /// array, `-` and the index one past the end append.
    ///
    /// Fails with `bad_parameters` and changes nothing in these cases: a larger index; a text,
    /// number or bool on the path; a value that is NaN or infinite; more than 512 levels.
    package mutating func set(_ value: JSON, at path: String) throws(JSONError) {
        if case .double(let number) = value, !number.isFinite {
            throw .value("JSON cannot represent the number \(number).")
        }
        let steps = JSONPath(path).steps
        guard steps.count <= JSONLimits.depth,
            !value.isDeeper(than: JSONLimits.depth - steps.count)
        else {
            throw .value("Arrays and objects would be nested more than \(JSONLimits.depth) deep.")
        }
        try put(value, steps[...])
    }

    private mutating func put(_ value: JSON, _ steps: ArraySlice<String>) throws(JSONError) {
        guard let step = steps.first else {
            self = value
            return
        }
        let rest = steps.dropFirst()
        switch self {
        case .object(var object):
            self = .null  // `object` must be the only reference, or changing it would copy it
            defer { self = .object(object) }
            try JSON.put(value, step, rest, in: &object)
        case .array(var elements):
            self = .null
            defer { self = .array(elements) }
            try JSON.put(value, step, rest, in: &elements)
        case .null where step == "-" || step == "0":
            var elements: [JSON] = []
            try JSON.put(value, step, rest, in: &elements)
            self = .array(elements)
        case .null where JSONPath.index(step) != nil:
            throw .value(
                "Could not set the index \(step): there is no array yet. Set an array first.")
        case .null:
            var object = JSONObject()
            try JSON.put(value, step, rest, in: &object)
            self = .object(object)
        default:
            throw .value(
                "Could not set \(FieldRules.quoted(step.utf8)): a value of kind \(kind) has no members."
            )
        }
    }

    private static func put(
        _ value: JSON, _ step: String, _ rest: ArraySlice<String>, in object: inout JSONObject
    ) throws(JSONError) {
        if let place = object.place(of: step) {
            try object.update(at: place) { member throws(JSONError) in
                try member.put(value, rest)
            }
        } else {
            var member = JSON.null
            try member.put(value, rest)
            object[step] = member
        }
    }

    private static func put(
        _ value: JSON, _ step: String, _ rest: ArraySlice<String>, in elements: inout [JSON]
    ) throws(JSONError) {
        guard let index = step == "-" ? elements.count : JSONPath.index(step),
            index <= elements.count
        else {
            throw .value(
                "An array of \(elements.count) elements has no index \(FieldRules.quoted(step.utf8))."
            )
        }
        if index < elements.count {
            try elements[index].put(value, rest)
        } else {
            var element = JSON.null
            try element.put(value, rest)
            elements.append(element)
        }
    }
}
