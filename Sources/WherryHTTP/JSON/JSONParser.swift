// Wherry: the JSON parser.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension JSON {
    /// Parses exactly one value, strictly by RFC 8259: UTF-8 only, no comments, no lone surrogates.
    ///
    /// If a name is repeated in an object, the last value counts. Skips a byte order mark at the
    /// start (section 8.1). Rejects numbers too large for a double, because no value could print
    /// them again.
    package static func parse(
        _ text: Span<UInt8>, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSON {
        guard text.count <= limits.bytes else {
            throw JSONError(
                reason: "too_large", offset: limits.bytes,
                message: "JSON text of \(text.count) bytes is over the limit of \(limits.bytes).")
        }
        var parser = JSONParser()
        return try parser.document(text)
    }

    /// Parses bytes; see ``parse(_:limits:)-(Span)``.
    package static func parse(
        _ text: [UInt8], limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSON {
        try parse(text.span, limits: limits)
    }

    /// Parses text; see ``parse(_:limits:)-(Span)``.
    package static func parse(
        _ text: String, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSON {
        try parse(text.utf8.span, limits: limits)
    }

    /// Parses the body of a response like ``parse(_:limits:)-(Span)``, but treats an empty body and
    /// a single space as null.
    package static func parse(
        body: Bytes, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSON {
        if body.isEmpty || body.count == 1 && body[0] == 0x20 { return .null }
        return unsafe try body.withUnsafeBytes { buffer throws(JSONError) in
            // The memory is borrowed for this closure and only read.
            unsafe try parse(
                Span(_unsafeElements: buffer.bindMemory(to: UInt8.self)), limits: limits)
        }
    }
}

/// A parser for one text. Methods take the text as a parameter, since a span cannot be stored.
struct JSONParser {
    private var position = 0
    private var depth = 0
    /// A buffer for unescaped text, reused for its capacity.
    private var unescaped: [UInt8] = []

    mutating func document(_ text: Span<UInt8>) throws(JSONError) -> JSON {
        if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF { position = 3 }
        skipSpace(text)
        let value = try value(text)
        skipSpace(text)
        guard position == text.count else {
            throw .text("there is text after the value", at: position)
        }
        return value
    }

    private mutating func skipSpace(_ text: Span<UInt8>) {
        while position < text.count {
            let byte = text[position]
            guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else {
                return
            }
            position += 1
        }
    }

    private mutating func value(_ text: Span<UInt8>) throws(JSONError) -> JSON {
        guard position < text.count else { throw .text("a value is missing", at: position) }
        switch text[position] {
        case 0x22: return .string(try string(text))
        case 0x7B: return .object(try object(text))
        case 0x5B: return .array(try array(text))
        case 0x2D, 0x30...0x39: return try number(text)
        case 0x74: return try word("true", .bool(true), text)
        case 0x66: return try word("false", .bool(false), text)
        case 0x6E: return try word("null", .null, text)
        default: throw .text("there is no valid value", at: position)
        }
    }

    private mutating func word(
        _ word: StaticString, _ value: JSON, _ text: Span<UInt8>
    ) throws(JSONError) -> JSON {
        for expected in word.description.utf8 {
            guard position < text.count, text[position] == expected else {
                throw .text("there is no valid value", at: position)
            }
            position += 1
        }
        return value
    }

    private mutating func enter() throws(JSONError) {
        guard depth < JSONLimits.depth else {
            throw .text(
                "arrays and objects are nested more than \(JSONLimits.depth) deep", at: position)
        }
        // A thread of the caller may have a small stack.
        if depth & 7 == 7, ThreadStack.room < JSONLimits.stackReserve {
            throw .text(
                "arrays and objects are nested too deep for the stack of this thread", at: position)
        }
        depth += 1
        position += 1
    }

    private mutating func array(_ text: Span<UInt8>) throws(JSONError) -> [JSON] {
        try enter()
        var elements: [JSON] = []
        skipSpace(text)
        if position < text.count, text[position] == 0x5D {
            position += 1
            depth -= 1
            return elements
        }
        while true {
            elements.append(try value(text))
            skipSpace(text)
            guard position < text.count else { throw .text("an array is not closed", at: position) }
            switch text[position] {
            case 0x2C:
                position += 1
                skipSpace(text)
            case 0x5D:
                position += 1
                depth -= 1
                return elements
            default: throw .text("a comma or ] is missing", at: position)
            }
        }
    }

    private mutating func object(_ text: Span<UInt8>) throws(JSONError) -> JSONObject {
        try enter()
        var object = JSONObject()
        skipSpace(text)
        if position < text.count, text[position] == 0x7D {
            position += 1
            depth -= 1
            return object
        }
        while true {
            guard position < text.count else {
                throw .text("an object is not closed", at: position)
            }
            guard text[position] == 0x22 else { throw .text("a name is missing", at: position) }
            let name = try string(text)
            skipSpace(text)
            guard position < text.count, text[position] == 0x3A else {
                throw .text("a colon is missing", at: position)
            }
            position += 1
            skipSpace(text)
            object[name] = try value(text)
            skipSpace(text)
            guard position < text.count else {
                throw .text("an object is not closed", at: position)
            }
            switch text[position] {
            case 0x2C:
                position += 1
                skipSpace(text)
            case 0x7D:
                position += 1
                depth -= 1
                return object
            default: throw .text("a comma or } is missing", at: position)
            }
        }
    }
}

// MARK: - Text

extension JSONParser {
    private mutating func string(_ text: Span<UInt8>) throws(JSONError) -> String {
        let start = position + 1
        let end = endOfRun(from: start, text)
        if end < text.count, text[end] == 0x22 {
            position = end + 1
            return try plain(text, start, end)
        }
        return try escaped(text, start: start)
    }

    /// Returns the offset of the first byte in a string that is not literal, or of the end.
    private func endOfRun(from start: Int, _ text: Span<UInt8>) -> Int {
        var index = start
        while index < text.count {
            let byte = text[index]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 { break }
            index += 1
        }
        return index
    }

    private func plain(
        _ text: Span<UInt8>, _ start: Int, _ end: Int
    ) throws(JSONError) -> String {
        do throws(UTF8.ValidationError) {
            return String(copying: try UTF8Span(validating: text.extracting(start..<end)))
        } catch {
            throw .text("a string is not valid UTF-8", at: start + error.byteOffsets.lowerBound)
        }
    }

    /// Parses a string with escapes. Each run between escapes must be valid UTF-8.
    private mutating func escaped(_ text: Span<UInt8>, start: Int) throws(JSONError) -> String {
        unescaped.removeAll(keepingCapacity: true)
        position = start
        while true {
            let end = endOfRun(from: position, text)
            if end > position {
                unescaped.append(contentsOf: try plain(text, position, end).utf8)
                position = end
            }
            guard position < text.count else { throw .text("a string is not closed", at: position) }
            switch text[position] {
            case 0x22:
                position += 1
                return String(decoding: unescaped, as: UTF8.self)
            case 0x5C:
                try escape(text)
            default:
                throw .text("a string contains an unescaped control character", at: position)
            }
        }
    }

    private mutating func escape(_ text: Span<UInt8>) throws(JSONError) {
        guard position + 1 < text.count else {
            throw .text("a string is not closed", at: text.count)
        }
        switch text[position + 1] {
        case 0x22: unescaped.append(0x22)
        case 0x5C: unescaped.append(0x5C)
        case 0x2F: unescaped.append(0x2F)
        case 0x62: unescaped.append(0x08)
        case 0x66: unescaped.append(0x0C)
        case 0x6E: unescaped.append(0x0A)
        case 0x72: unescaped.append(0x0D)
        case 0x74: unescaped.append(0x09)
        case 0x75:
            let start = position
            var code = UInt32(try codeUnit(text))
            if code >> 11 == 0x1B {  // 0xD800...0xDFFF: a surrogate
                guard code < 0xDC00, position + 1 < text.count, text[position] == 0x5C,
                    text[position + 1] == 0x75
                else { throw .text("there is a lone surrogate", at: start) }
                let low = UInt32(try codeUnit(text))
                guard low >> 10 == 0x37 else { throw .text("there is a lone surrogate", at: start) }
                code = 0x10000 + ((code & 0x3FF) << 10 | (low & 0x3FF))
            }
            guard let scalar = Unicode.Scalar(code) else {
                throw .text("there is a lone surrogate", at: start)
            }
            unescaped.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            return
        default: throw .text("there is an unknown escape", at: position)
        }
        position += 2
    }

    /// Parses `\uXXXX`.
    private mutating func codeUnit(_ text: Span<UInt8>) throws(JSONError) -> UInt16 {
        guard text.count - position >= 6 else {
            throw .text("an escape is incomplete", at: text.count)
        }
        var unit: UInt16 = 0
        for index in (position + 2)..<(position + 6) {
            guard let digit = Hex.value(text[index]) else {
                throw .text("an escape lacks a hexadecimal digit", at: index)
            }
            unit = unit << 4 | UInt16(digit)
        }
        position += 6
        return unit
    }
}

// MARK: - Numbers

extension JSONParser {
    /// The powers of ten that a double represents exactly.
    private static let powers: [Double] = (0...22).map { power in
        (0..<power).reduce(1.0) { product, _ in product * 10 }
    }

    private mutating func number(_ text: Span<UInt8>) throws(JSONError) -> JSON {
        let start = position
        var digits = Decimal()
        let isNegative = text[position] == 0x2D
        if isNegative { position += 1 }
        if position < text.count, text[position] == 0x30 {
            position += 1
            if position < text.count, isDigit(text[position]) {
                throw .text("a number has a leading zero", at: position)
            }
        } else {
            try takeDigits(text, &digits, isFraction: false)
        }
        guard position < text.count, [0x2E, 0x65, 0x45].contains(text[position]) else {
            if !digits.isInexact {
                if !isNegative { return JSON(digits.mantissa) }
                if digits.mantissa == 0 { return .double(-0.0) }
                if digits.mantissa <= Int64.min.magnitude {
                    return .integer(Int64(truncatingIfNeeded: 0 &- digits.mantissa))
                }
            }
            return .double(try slowDouble(text, start))
        }
        if text[position] == 0x2E {
            position += 1
            try takeDigits(text, &digits, isFraction: true)
        }
        var exponent = 0
        if position < text.count, text[position] | 0x20 == 0x65 {
            exponent = try takeExponent(text)
        }
        // Clinger's fast path: both operands are exact, so rounding once gives the correct double.
        exponent += digits.exponent
        if !digits.isInexact, digits.mantissa <= 1 << 53, exponent.magnitude <= 22 {
            let power = JSONParser.powers[Int(exponent.magnitude)]
            let value = Double(digits.mantissa)
            let scaled = exponent < 0 ? value / power : value * power
            return .double(isNegative ? -scaled : scaled)
        }
        return .double(try slowDouble(text, start))
    }

    /// The parsed digits: `mantissa * 10^exponent`, unless there are too many.
    private struct Decimal {
        var mantissa: UInt64 = 0
        var exponent = 0
        var isInexact = false
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    private mutating func takeDigits(
        _ text: Span<UInt8>, _ digits: inout Decimal, isFraction: Bool
    ) throws(JSONError) {
        let start = position
        while position < text.count, isDigit(text[position]) {
            let (shifted, overflowed) = digits.mantissa.multipliedReportingOverflow(by: 10)
            let (sum, exceeded) = shifted.addingReportingOverflow(UInt64(text[position] - 0x30))
            if overflowed || exceeded { digits.isInexact = true }
            digits.mantissa = sum
            position += 1
        }
        guard position > start else { throw .text("a number lacks a digit", at: position) }
        if isFraction { digits.exponent = start - position }
    }

    /// Parses the exponent after `e`. Exponents above a million are capped, which does not change
    /// the result.
    private mutating func takeExponent(_ text: Span<UInt8>) throws(JSONError) -> Int {
        position += 1
        var isNegative = false
        if position < text.count, text[position] == 0x2B || text[position] == 0x2D {
            isNegative = text[position] == 0x2D
            position += 1
        }
        let start = position
        var exponent = 0
        while position < text.count, isDigit(text[position]) {
            if exponent < 1_000_000 { exponent = exponent * 10 + Int(text[position] - 0x30) }
            position += 1
        }
        guard position > start else { throw .text("a number lacks a digit", at: position) }
        return isNegative ? -exponent : exponent
    }

    /// Parses any number with the correctly rounding conversion of the standard library.
    private func slowDouble(_ text: Span<UInt8>, _ start: Int) throws(JSONError) -> Double {
        guard let value = Double(try plain(text, start, position)), value.isFinite else {
            throw .text("a number is too large", at: start)
        }
        return value
    }
}
