// Wherry: indents and colors JSON.
// SPDX-License-Identifier: Apache-2.0

import Wherry

/// Indents JSON by two spaces, keeps the order of names, and colors it on a terminal with colors.
struct JSONText {
    private let terminal: Terminal
    private var text = ""

    /// Returns indented JSON with a final line break. Returns anything else unchanged.
    static func lines(_ bytes: Bytes, on terminal: Terminal) -> Bytes {
        guard !bytes.isEmpty, let value = try? JSON.parse(body: bytes) else { return bytes }
        var printer = JSONText(terminal: terminal)
        printer.add(value, 0)
        return Bytes(printer.text + "\n")
    }

    private init(terminal: Terminal) { self.terminal = terminal }

    private mutating func add(_ value: JSON, _ depth: Int) {
        switch value {
        case .array(let elements):
            list("[", "]", elements, depth) { printer, element in printer.add(element, depth + 1) }
        case .object(let object):
            list("{", "}", object, depth) { printer, member in
                printer.text += printer.terminal.paint(Self.quoted(member.name), .blue) + ": "
                printer.add(member.value, depth + 1)
            }
        case .string(let string): text += terminal.paint(Self.quoted(string), .green)
        case .null, .bool: text += terminal.paint(value.description, .yellow)
        case .integer, .unsigned, .double: text += terminal.paint(value.description, .cyan)
        }
    }

    private mutating func list<Element>(
        _ opening: String, _ closing: String, _ elements: some Collection<Element>, _ depth: Int,
        _ add: (inout JSONText, Element) -> Void
    ) {
        text += opening
        var isFirst = true
        for element in elements {
            text += (isFirst ? "\n" : ",\n") + String(repeating: "  ", count: depth + 1)
            add(&self, element)
            isFirst = false
        }
        if !isFirst { text += "\n" + String(repeating: "  ", count: depth) }
        text += closing
    }

    /// Also escapes C1 control characters, which some terminals obey.
    private static func quoted(_ string: String) -> String {
        let text = JSON.string(string).description
        guard text.unicodeScalars.contains(where: isSteering) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if isSteering(scalar) {
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func isSteering(_ scalar: Unicode.Scalar) -> Bool {
        (0x7F...0x9F).contains(scalar.value) || (0x202A...0x202E).contains(scalar.value)
            || (0x2066...0x2069).contains(scalar.value)
    }
}
