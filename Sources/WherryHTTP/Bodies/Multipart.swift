// Wherry: multipart form bodies.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Builds a `multipart/form-data` body (RFC 7578) part by part.
///
/// The result is a list of segments for a `SegmentedBody`, which opens the files and knows the
/// exact length; no file is read here.
package struct Multipart: Sendable {
    /// The naming of several parts with the same name (U3).
    package enum NameStyle: String, Sendable {
        /// `photo0`, `photo1`; even a single part is numbered.
        case index
        /// `photo`, `photo`.
        case `repeat`
        /// `photo[]`, `photo[]`.
        case brackets

        /// Returns the name of the part with a zero-based index.
        package func name(_ base: String, index: Int) -> String {
            switch self {
            case .index: "\(base)\(index)"
            case .repeat: base
            case .brackets: base + "[]"
            }
        }
    }

    /// The separator of the parts: a word and 128 random bits, so that no content can contain it.
    package let boundary: String
    /// Whether to send non-ASCII file names a second time as `filename*`. RFC 7578 (section 4.2)
    /// advises against it, but some servers read it. Default: false.
    package var usesExtendedNames = false
    private var segments: [BodySegment] = []
    /// Bytes that are not yet part of a segment.
    private var pending: [UInt8] = []
    private var count = 0

    /// The characters that a boundary may contain (RFC 2046, section 5.1.1).
    private static let boundaryBytes = Set(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'()+_,-./:=? ".utf8)
    /// Contents above this size become separate segments and are not copied.
    private static let copied = 16_384

    /// Creates a form without parts. Fails if the system has no random bytes.
    package init() throws(WherryError) {
        do {
            self.init(boundary: "wherry-" + (try SystemRandom.hex(byteCount: 16)))
        } catch {
            throw WherryError(error)
        }
    }

    init(boundary: String) { self.boundary = boundary }

    /// Creates a form without parts. Uses the boundary of the caller's Content-Type, so that the
    /// header and the body agree, or else a random one.
    ///
    /// - Throws: `bad_header` for a boundary that RFC 2046 (section 5.1.1) does not allow.
    package init(contentType: String?) throws(WherryError) {
        guard let type = contentType.flatMap({ MediaType($0) }),
            type.essence == "multipart/form-data",
            let boundary = type["boundary"]
        else {
            try self.init()
            return
        }
        guard 1...70 ~= boundary.utf8.count, boundary.last != " ",
            boundary.utf8.allSatisfy({ Self.boundaryBytes.contains($0) })
        else {
            throw WherryError(
                .badHeader,
                "Could not build the form: the boundary in its Content-Type is not valid. Use 1 to 70 "
                    + "letters, digits, and characters of '()+_,-./:=?, or leave the boundary out.")
        }
        self.init(boundary: boundary)
    }

    /// Whether there are no parts.
    package var isEmpty: Bool { count == 0 }

    /// The Content-Type of the body.
    package var contentType: String { "multipart/form-data; boundary=" + boundary }

    /// Returns the file name of an image by its index in a request created at that time (U4):
    /// `<milliseconds since 1970><index>.<extension>`, unique for each index.
    package static func fileName(milliseconds: Int64, index: Int, extension ending: String)
        -> String
    {
        "\(milliseconds)\(index).\(ending)"
    }

    // MARK: Parts

    /// Adds a text field with its value unchanged.
    package mutating func addField(_ name: String, _ value: String) {
        begin(name, fileName: nil)
        end(Bytes(value))
    }

    /// Adds flattened fields; a `nil` value becomes an empty one (U9).
    package mutating func addFields(_ fields: [(name: String, value: String?)]) {
        for field in fields { addField(field.name, field.value ?? "") }
    }

    /// Adds bytes: as a file if a file name is given, otherwise as a field.
    ///
    /// - Parameters:
    ///   - contentType: Default (`nil`): guessed from the file name; none for a field.
    ///   - headers: Further headers of the part.
    ///
    /// Fails with `bad_header` for a type or header that would break the headers of the part.
    package mutating func addBytes(
        _ name: String, _ bytes: Bytes, fileName: String? = nil, contentType: String? = nil,
        headers: [Headers.Field] = []
    ) throws(WherryError) {
        let type = contentType ?? fileName.map { FileTypes.type(of: $0) }
        try Self.check(type, headers)
        begin(name, fileName: fileName, type: type, headers: headers)
        end(bytes)
    }

    /// Adds a file, which is opened when the body is created.
    ///
    /// - Parameters:
    ///   - fileName: Default (`nil`): the last component of the path. "" sends none.
    ///   - contentType: Default (`nil`): guessed from the extension of the file name, or else of
    ///     the path; `application/octet-stream` if both are unknown.
    ///
    /// Fails like `addBytes`.
    package mutating func addFile(
        _ name: String, path: String, fileName: String? = nil, contentType: String? = nil,
        headers: [Headers.Field] = []
    ) throws(WherryError) {
        var type = contentType ?? FileTypes.type(of: fileName ?? path)
        if contentType == nil && type == FileTypes.unknown { type = FileTypes.type(of: path) }
        let shown = fileName ?? FileTypes.name(of: path)
        try Self.check(type, headers)
        begin(name, fileName: shown.isEmpty ? nil : shown, type: type, headers: headers)
        flush()
        segments.append(.file(path: path))
        pending += "\r\n".utf8
    }

    /// Adds a file of known length that the caller writes during the transfer. Fails like
    /// `addBytes`.
    package mutating func addStream(
        _ name: String, _ stream: StreamedBody, length: Int64, fileName: String? = nil,
        contentType: String? = nil, headers: [Headers.Field] = []
    ) throws(WherryError) {
        let type = contentType ?? fileName.map { FileTypes.type(of: $0) }
        try Self.check(type, headers)
        begin(name, fileName: fileName, type: type, headers: headers)
        flush()
        segments.append(.stream(stream, length: length))
        pending += "\r\n".utf8
    }

    /// Returns the complete body. A form without parts is only the closing line.
    package func finished() -> [BodySegment] {
        var copy = self
        copy.pending += "--\(boundary)--\r\n".utf8
        copy.flush()
        return copy.segments
    }

    // MARK: Writing

    /// Validates what a caller passes for the headers of a part.
    package static func check(
        _ type: String?, _ headers: [Headers.Field]
    ) throws(WherryError) {
        if let type, let violation = FieldRules.violation(mediaType: type.utf8) {
            throw WherryError(.badHeader, violation.message)
        }
        for field in headers {
            try Headers.check(field.name, field.value)
            for taken in ["content-disposition", "content-type"]
            where Headers.areEqual(field.name, taken) {
                throw WherryError(
                    .badHeader,
                    "The header \(taken) of a part cannot be set as an extra header. Use the name, file name, or content type of the part."
                )
            }
        }
    }

    private mutating func begin(
        _ name: String, fileName: String?, type: String? = nil, headers: [Headers.Field] = []
    ) {
        count += 1
        pending += "--\(boundary)\r\nContent-Disposition: form-data; name=\"".utf8
        Self.escape(name.utf8, to: &pending)
        pending.append(0x22)
        if let fileName {
            pending += "; filename=\"".utf8
            // File names may contain bytes that are not UTF-8; they are sent unchanged.
            Self.escape(PathText.bytes(fileName), to: &pending)
            pending.append(0x22)
            // An extended name must be UTF-8, so other bytes cannot be expressed.
            let isText = !PathText.hasRawBytes(fileName)
            if usesExtendedNames && isText && !fileName.utf8.allSatisfy({ $0 < 0x80 }) {
                pending += "; filename*=UTF-8''".utf8
                Self.escapeExtended(fileName, to: &pending)
            }
        }
        if let type { pending += "\r\nContent-Type: \(type)".utf8 }
        for field in headers { pending += "\r\n\(field.name): \(field.value ?? "")".utf8 }
        pending += "\r\n\r\n".utf8
    }

    private mutating func end(_ bytes: Bytes) {
        if bytes.count <= Self.copied {
            pending += bytes
        } else {
            flush()
            segments.append(.bytes(bytes))
        }
        pending += "\r\n".utf8
    }

    private mutating func flush() {
        guard !pending.isEmpty else { return }
        segments.append(.bytes(Bytes(pending)))
        pending = []
    }

    /// Escapes quotes, line ends and NUL like browsers (WHATWG HTML, multipart form data); keeps
    /// everything else.
    private static func escape(_ text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        for byte in text {
            switch byte {
            case 0x00, 0x0A, 0x0D, 0x22: PercentCoding.append(byte, to: &bytes)
            default: bytes.append(byte)
            }
        }
    }

    /// Escapes everything except `attr-char` (RFC 8187, section 3.2.1).
    private static func escapeExtended(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x21, 0x23, 0x24, 0x26, 0x2B, 0x2D, 0x2E,
                0x5E, 0x5F, 0x60, 0x7C, 0x7E:
                bytes.append(byte)
            default: PercentCoding.append(byte, to: &bytes)
            }
        }
    }
}
