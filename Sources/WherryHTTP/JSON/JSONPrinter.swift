// Wherry: printing JSON.
// SPDX-License-Identifier: Apache-2.0

/// The layout of JSON text.
public enum JSONStyle: Sendable, Hashable {
    /// No spaces, names in order, `5.0` for a double.
    case compact
    /// The output of Apple's NSJSONSerialization with sorted keys, on which identifiers depend: two
    /// spaces per level, ` : `, `/` as `\/`, `5` for the double 5, names sorted by bytes, and a
    /// blank line in an empty array or object.
    case pretty
}

extension JSON {
    /// Returns the JSON text in UTF-8.
    ///
    /// Fails with `bad_parameters` for NaN, infinities and more than 512 levels.
    package func printed(_ style: JSONStyle = .compact) throws(JSONError) -> [UInt8] {
        var printer = JSONPrinter(style: style)
        try printer.value(self)
        return printer.text
    }

    /// The number as ``JSONStyle/pretty`` prints it, or `nil` if it is not a finite number.
    package var numberText: String? {
        switch self {
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .double(let value): value.isFinite ? JSONPrinter.shortest(value) : nil
        default: nil
        }
    }
}

/// A printer for one JSON text.
struct JSONPrinter {
    let style: JSONStyle
    private(set) var text: [UInt8] = []
    private var depth = 0

    init(style: JSONStyle) { self.style = style }

    /// Returns the shortest text that parses to the same double, without a trailing `.0`.
    static func shortest(_ value: Double) -> String {
        let text = value.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    mutating func value(_ value: JSON) throws(JSONError) {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .integer(let value): append(String(value))
        case .unsigned(let value): append(String(value))
        case .double(let value):
            guard value.isFinite else {
                throw .value("JSON cannot represent the number \(value).")
            }
            append(style == .pretty ? JSONPrinter.shortest(value) : value.description)
        case .string(let value): string(value)
        case .array(let elements): try array(elements)
        case .object(let object): try members(object)
        }
    }

    private mutating func array(_ elements: [JSON]) throws(JSONError) {
        try open(0x5B)
        for (place, element) in elements.enumerated() {
            separate(place)
            try value(element)
        }
        close(0x5D)
    }

    private mutating func members(_ object: JSONObject) throws(JSONError) {
        try open(0x7B)
        if style == .pretty {
            for (place, member) in object.sortedByName.enumerated() {
                separate(place)
                string(member.name)
                append(" : ")
                try value(member.value)
            }
        } else {
            for place in 0..<object.count {
                separate(place)
                let member = object[place]
                string(member.name)
                text.append(0x3A)
                try value(member.value)
            }
        }
        close(0x7D)
    }

    private mutating func open(_ bracket: UInt8) throws(JSONError) {
        guard depth < JSONLimits.depth else {
            throw .value("Arrays and objects are nested more than \(JSONLimits.depth) deep.")
        }
        depth += 1
        text.append(bracket)
        if style == .pretty { text.append(0x0A) }
    }

    private mutating func separate(_ place: Int) {
        if place > 0 { append(style == .pretty ? ",\n" : ",") }
        if style == .pretty { indent() }
    }

    private mutating func close(_ bracket: UInt8) {
        depth -= 1
        if style == .pretty {
            text.append(0x0A)
            indent()
        }
        text.append(bracket)
    }

    private mutating func indent() {
        text.append(contentsOf: repeatElement(0x20, count: depth * 2))
    }

    private mutating func append(_ plain: String) { text.append(contentsOf: plain.utf8) }

    private mutating func string(_ value: String) {
        text.append(0x22)
        let bytes = value.utf8.span
        if needsEscapes(bytes) {
            for index in 0..<bytes.count { escape(bytes[index]) }
        } else {
            text.append(contentsOf: value.utf8)
        }
        text.append(0x22)
    }

    private func needsEscapes(_ bytes: Span<UInt8>) -> Bool {
        for index in 0..<bytes.count {
            let byte = bytes[index]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x2F && style == .pretty {
                return true
            }
        }
        return false
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case 0x22: append("\\\"")
        case 0x5C: append("\\\\")
        case 0x2F where style == .pretty: append("\\/")
        case 0x08: append("\\b")
        case 0x0C: append("\\f")
        case 0x0A: append("\\n")
        case 0x0D: append("\\r")
        case 0x09: append("\\t")
        case 0..<0x10: append("\\u000" + String(byte, radix: 16))
        case 0x10..<0x20: append("\\u00" + String(byte, radix: 16))
        default: text.append(byte)
        }
    }
}
