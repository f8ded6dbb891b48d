// Wherry: indents, compacts, and colors JSON.
// SPDX-License-Identifier: Apache-2.0

import WherryAsync

/// Changes the white space of JSON text. Every token stays as the server wrote it: all digits of
/// numbers, repeated names, and escapes.
struct JSONText {
    private enum Layout {
        /// Without white space.
        case compact
        /// Indented by two spaces, and colored on a terminal with colors.
        case indented(Terminal)
    }

    /// The tokens that may follow.
    private enum Expected {
        case value, valueOrEnd, name, nameOrEnd, colon, commaOrEnd, nothing
    }

    /// Deeper nesting is not laid out: its indentation would be much larger than the text.
    private static let mostDepth = 512

    private let text: [UInt8]
    private let layout: Layout
    private var position = 0
    /// The opening brackets that are not closed yet.
    private var open: [UInt8] = []
    private var result: [UInt8] = []

    /// Returns indented JSON with a final line break. Returns anything else unchanged.
    static func lines(_ bytes: Bytes, on terminal: Terminal) -> Bytes {
        guard let lines = laidOut(bytes, .indented(terminal)) else { return bytes }
        return Bytes(lines + [UInt8(ascii: "\n")])
    }

    /// Returns JSON on one line; `nil` if the bytes are not JSON.
    static func line(_ bytes: Bytes) -> String? {
        laidOut(bytes, .compact).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func laidOut(_ bytes: Bytes, _ layout: Layout) -> [UInt8]? {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var printer = JSONText(bytes.array, layout)
        return printer.run() ? printer.result : nil
    }

    private init(_ text: [UInt8], _ layout: Layout) {
        self.text = text
        self.layout = layout
        result.reserveCapacity(text.count)
        // A byte order mark is not part of the value.
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    private var byte: UInt8? { position < text.count ? text[position] : nil }

    /// - Returns: Whether the text is one JSON value (RFC 8259).
    private mutating func run() -> Bool {
        var expected = Expected.value
        while true {
            while let byte, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
            guard let byte else { return expected == .nothing }
            guard let next = take(byte, expected) else { return false }
            expected = next
        }
    }

    /// Copies a token. Returns what may follow; `nil` if the token is not valid here.
    private mutating func take(_ byte: UInt8, _ expected: Expected) -> Expected? {
        switch (expected, byte) {
        case (.valueOrEnd, UInt8(ascii: "]")), (.nameOrEnd, UInt8(ascii: "}")),
            (.commaOrEnd, UInt8(ascii: "]")), (.commaOrEnd, UInt8(ascii: "}")):
            return close(byte, isEmpty: expected != .commaOrEnd)
        case (.commaOrEnd, UInt8(ascii: ",")):
            position += 1
            result.append(byte)
            breakLine()
            return open.last == UInt8(ascii: "{") ? .name : .value
        case (.colon, UInt8(ascii: ":")):
            position += 1
            result.append(byte)
            if case .indented = layout { result.append(UInt8(ascii: " ")) }
            return .value
        case (.name, UInt8(ascii: "\"")), (.nameOrEnd, UInt8(ascii: "\"")):
            if expected == .nameOrEnd { breakLine() }
            return copy(string(), .blue) ? .colon : nil
        case (.value, _), (.valueOrEnd, _):
            if expected == .valueOrEnd { breakLine() }
            return value(byte)
        default: return nil
        }
    }

    private var afterValue: Expected { open.isEmpty ? .nothing : .commaOrEnd }

    private mutating func value(_ byte: UInt8) -> Expected? {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard open.count < Self.mostDepth else { return nil }
            open.append(byte)
            position += 1
            result.append(byte)
            return byte == UInt8(ascii: "{") ? .nameOrEnd : .valueOrEnd
        case UInt8(ascii: "\""): return copy(string(), .green) ? afterValue : nil
        case UInt8(ascii: "t"): return copy(word("true"), .yellow) ? afterValue : nil
        case UInt8(ascii: "f"): return copy(word("false"), .yellow) ? afterValue : nil
        case UInt8(ascii: "n"): return copy(word("null"), .yellow) ? afterValue : nil
        default: return copy(number(), .cyan) ? afterValue : nil
        }
    }

    private mutating func close(_ bracket: UInt8, isEmpty: Bool) -> Expected? {
        // The code of a closing bracket is that of the opening one plus 2.
        guard open.last == bracket - 2 else { return nil }
        open.removeLast()
        if !isEmpty { breakLine() }
        position += 1
        result.append(bracket)
        return afterValue
    }

    private mutating func breakLine() {
        guard case .indented = layout else { return }
        result.append(UInt8(ascii: "\n"))
        result.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * open.count))
    }

    /// Copies the token that ends before `end`, and moves there.
    ///
    /// - Returns: Whether there is a token.
    private mutating func copy(_ end: Int?, _ colour: Terminal.Colour) -> Bool {
        guard let end else { return false }
        let token = text[position..<end]
        position = end
        guard case .indented(let terminal) = layout else {
            result.append(contentsOf: token)
            return true
        }
        let visible = Self.visible(String(decoding: token, as: UTF8.self))
        result.append(contentsOf: terminal.paint(visible, colour).utf8)
        return true
    }
}

// MARK: - Tokens

extension JSONText {
    /// The end of the string at the position; `nil` if it is not valid.
    private func string() -> Int? {
        var index = position + 1
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "\""): return index + 1
            case 0..<0x20: return nil
            case UInt8(ascii: "\\"):
                guard index + 1 < text.count else { return nil }
                switch text[index + 1] {
                case UInt8(ascii: "u"):
                    let digits = text[(index + 2)...].prefix(4)
                    guard digits.count == 4, digits.allSatisfy(Self.isHexDigit) else { return nil }
                    index += 6
                case let letter where "\"\\/bfnrt".utf8.contains(letter): index += 2
                default: return nil
                }
            default: index += 1
            }
        }
        return nil
    }

    private func word(_ word: StaticString) -> Int? {
        let bytes = Array(word.description.utf8)
        return text[position...].starts(with: bytes) ? position + bytes.count : nil
    }

    private func number() -> Int? {
        var index = position
        func isNext(_ set: String) -> Bool { index < text.count && set.utf8.contains(text[index]) }
        func skipDigits() -> Bool {
            let start = index
            while isNext("0123456789") { index += 1 }
            return index > start
        }
        if isNext("-") { index += 1 }
        if isNext("0") {
            index += 1
        } else {
            guard skipDigits() else { return nil }
        }
        if isNext(".") {
            index += 1
            guard skipDigits() else { return nil }
        }
        if isNext("eE") {
            index += 1
            if isNext("+-") { index += 1 }
            guard skipDigits() else { return nil }
        }
        return index
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }

    /// Escapes control characters that some terminals obey: C1, and those that change the direction.
    private static func visible(_ token: String) -> String {
        guard token.unicodeScalars.contains(where: isSteering) else { return token }
        var escaped = ""
        for scalar in token.unicodeScalars {
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
