// Wherry: parsing response headers.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// Collects the headers of a response in one block of memory, which is reused for the next
/// response. Notes the headers that decide how the body is read.
///
/// A small response has ten header lines, each with a separate call. So each line is inspected as
/// little as possible, and checks that can be made once at the end are made there.
struct HeadReader: ~Copyable {
    enum Step {
        case goesOn
        /// The final headers are complete: `makeHead` and the noted values are available.
        case isComplete
        /// The response is rejected; `failure` says why.
        case failed
    }

    /// The maximum number of headers, and of bytes in a line (SEC-R5).
    private static let maxFields = 256
    private static let maxLine = 16_384
    /// The maximum number of 1xx responses before the final one.
    private static let maxInterimHeads = 64

    /// Whether the position is between a status line and the empty line.
    private(set) var isInHead = false
    private(set) var status = 0
    /// 10, 11 or 20; 0 before a response.
    private(set) var version = 0
    private(set) var length: Int64?
    private(set) var isChunked = false
    private(set) var coding = ContentCoding.identity
    private(set) var failure: TransportError?

    private var isDone = false
    private var block = ByteBuffer()
    private var hasCookies = false
    private var lineCount = 0
    /// The informational responses so far, and the size of their headers.
    private var interim: [ResponseHead] = []
    private var interimBytes = 0
    /// The size limit for all headers of a response; informational responses count separately.
    private var limit = 0

    /// Prepares for another response.
    mutating func start(_ options: TransportOptions) {
        limit = Int(options.maxHeaderBytes)
        isInHead = false
        isDone = false
        version = 0
        if !interim.isEmpty { interim = [] }
        interimBytes = 0
        if failure != nil { failure = nil }
        block.trim(to: Self.maxLine)
    }

    /// Returns the complete final response headers; `nil` if out of memory.
    func makeHead() -> ResponseHead? {
        guard let fields = Bytes(copyingIfPossible: block.bytes) else { return nil }
        var head = ResponseHead(status: status, httpVersion: version, block: fields)
        if !interim.isEmpty { head.interim = interim }
        head.mayHaveCookies = hasCookies
        return head
    }

    /// Adds one line with its line end.
    mutating func add(_ line: UnsafeRawBufferPointer) -> Step {
        guard isInHead else {
            // Trailers follow the final response headers.
            return isDone ? .goesOn : startHead(line)
        }
        var end = line.count
        if end > 0 && line[end - 1] == 0x0A { end -= 1 }
        if end > 0 && line[end - 1] == 0x0D { end -= 1 }
        let text = UnsafeRawBufferPointer(rebasing: line[..<end])
        return end == 0 ? endHead() : addField(text)
    }

    private mutating func startHead(_ line: UnsafeRawBufferPointer) -> Step {
        isInHead = true
        block.removeAll()
        hasCookies = false
        lineCount = 0
        length = nil
        isChunked = false
        coding = .identity
        // "HTTP/1.1 200 OK", "HTTP/2 200": libcurl has checked the syntax.
        var space = 5
        while space < line.count && line[space] != 0x20 { space += 1 }
        version =
            line.count > 7 && line[5] == 0x32 ? 20 : line.count > 7 && line[7] == 0x30 ? 10 : 11
        status = 0
        for index in min(space + 1, line.count)..<min(space + 4, line.count)
        where line[index] >= 0x30 && line[index] <= 0x39 {
            status = status * 10 + Int(line[index] - 0x30)
        }
        guard line.count > 5, memcmp(line.baseAddress!, "HTTP/", 5) == 0, status >= 100 else {
            return fail(.badProtocol, "The response does not start with a status line")
        }
        guard status >= 200 || interim.count < Self.maxInterimHeads else {
            return fail(
                .headerTooLarge,
                "More than \(Self.maxInterimHeads) informational responses arrived before the final one"
            )
        }
        return .goesOn
    }

    private mutating func addField(_ text: UnsafeRawBufferPointer) -> Step {
        lineCount += 1
        if text.count > Self.maxLine || lineCount > Self.maxFields
            || block.count + text.count > limit
        {
            return fail(
                .headerTooLarge,
                "The response headers are too large (more than \(Self.maxFields) fields, \(Self.maxLine) bytes in a line, or \(limit) in total)"
            )
        }
        switch text[0] {
        case 0x20, 0x09:
            // A folded line (RFC 9112, section 5.2) continues the previous one.
            guard lineCount > 1 else {
                return fail(.badProtocol, "The first field of the response headers is folded")
            }
            block.dropLast()
        case 0x63, 0x43, 0x74, 0x54:  // c, t
            guard note(text) else { return .failed }
        case 0x73, 0x53:  // s
            if Self.value(of: text, "set-cookie") != nil { hasCookies = true }
        default: break
        }
        guard block.append(text), block.append("\n", 1) else {
            return fail(.noMemory, "Not enough memory for the response headers")
        }
        return .goesOn
    }

    /// Handles the empty line.
    private mutating func endHead() -> Step {
        isInHead = false
        let fields = block.bytes
        if let start = fields.baseAddress, fields.count > 0,
            memchr(start, 0, fields.count) != nil || memchr(start, 0x0D, fields.count) != nil
        {
            return fail(.badProtocol, "A field of the response headers contains a NUL or a bare CR")
        }
        guard status >= 200 else { return keepInterim(fields) }
        isDone = true
        return .isComplete
    }

    /// Stores the headers of an informational response; more follow. The limit applies to all of
    /// them together.
    private mutating func keepInterim(_ fields: UnsafeRawBufferPointer) -> Step {
        interimBytes += fields.count
        guard interimBytes <= limit else {
            return fail(
                .headerTooLarge,
                "The informational responses before the final one have more than \(limit) bytes of fields"
            )
        }
        guard let block = Bytes(copyingIfPossible: fields) else {
            return fail(.noMemory, "Not enough memory for the response headers")
        }
        interim.append(ResponseHead(status: status, httpVersion: version, block: block))
        return .goesOn
    }

    /// Notes the headers that decide how the body is read. Returns `false` to reject the response.
    private mutating func note(_ line: UnsafeRawBufferPointer) -> Bool {
        if let value = Self.value(of: line, "content-length") {
            // Different lengths indicate a smuggling attack or a broken server (RFC 9112, section
            // 6.3).
            guard let number = Self.number(value), length == nil || length == number else {
                let text = String(decoding: value, as: UTF8.self)
                let first = length.map { "\($0), \"\(text)\"" } ?? "\"\(text)\""
                _ = fail(
                    .badProtocol,
                    "The Content-Length of the response is not a single number: \(first)")
                return false
            }
            length = number
        } else if let value = Self.value(of: line, "content-encoding") {
            coding.add(value)
        } else if Self.value(of: line, "transfer-encoding") != nil {
            isChunked = true
        }
        return true
    }

    private static func value(
        of line: UnsafeRawBufferPointer, _ name: StaticString
    ) -> UnsafeRawBufferPointer? {
        guard line.count > name.utf8CodeUnitCount, line[name.utf8CodeUnitCount] == 0x3A else {
            return nil
        }
        guard let start = line.baseAddress?.assumingMemoryBound(to: CChar.self),
            name.withUTF8Buffer({ name in
                strncasecmp(
                    start, UnsafeRawPointer(name.baseAddress!).assumingMemoryBound(to: CChar.self),
                    name.count) == 0
            })
        else { return nil }
        var first = name.utf8CodeUnitCount + 1
        var end = line.count
        while first < end && (line[first] == 0x20 || line[first] == 0x09) { first += 1 }
        while end > first && (line[end - 1] == 0x20 || line[end - 1] == 0x09) { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: line[first..<end])
    }

    /// Parses decimal digits only; `nil` also on overflow.
    private static func number(_ digits: UnsafeRawBufferPointer) -> Int64? {
        guard digits.count > 0, digits.count < 19 else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard digit >= 0x30 && digit <= 0x39 else { return nil }
            number = number * 10 + Int64(digit - 0x30)
        }
        return number
    }

    private mutating func fail(_ kind: TransportError.Kind, _ message: String) -> Step {
        failure = TransportError(kind, message)
        return .failed
    }
}

/// The content encoding according to the headers of a response.
enum ContentCoding {
    case identity, gzip, deflate
    case brotli, zstd
    /// Unknown, or several encodings combined.
    case other

    /// Adds the encodings of another line.
    mutating func add(_ value: UnsafeRawBufferPointer) {
        for member in value.split(separator: 0x2C) {
            let name = String(decoding: member, as: UTF8.self)
                .split { $0 == " " || $0 == "\t" }.joined().lowercased()
            if name.isEmpty || name == "identity" { continue }
            guard case .identity = self else {
                self = .other
                return
            }
            self =
                switch name {
                case "gzip", "x-gzip": .gzip
                case "deflate": .deflate
                case "br": .brotli
                case "zstd": .zstd
                default: .other
                }
        }
    }
}
