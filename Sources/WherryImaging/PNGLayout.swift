// Wherry: the chunks of a PNG file.
// SPDX-License-Identifier: Apache-2.0

/// The chunks of a PNG file, found without decompressing.
struct PNGLayout {
    struct Chunk {
        let type: String
        /// From the length to the end of the CRC; adjacent IDAT chunks are merged.
        var range: Range<Int>
        /// The data of one chunk.
        var data: Range<Int> { range.lowerBound + 8..<range.upperBound - 4 }
    }

    private(set) var chunks: [Chunk] = []
    private(set) var width = 0
    private(set) var height = 0
    private(set) var bits = 0
    private(set) var colorType = 0
    private(set) var isInterlaced = false
    /// The offset after IEND; `nil` if the file is truncated.
    private(set) var end: Int?

    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    private static let mostChunks = 20_000

    /// Reads the chunk headers up to the end of the file. Requires a valid image header.
    init(_ input: ImageInput) throws(ImagingError) {
        guard input.count >= 33 else { throw ImageInput.ended }
        guard try input.copy(0..<8) == Self.signature, try input.u32(at: 8) == 13,
            try Self.name(input, 12) == "IHDR"
        else { throw .badImage("The data does not start with a PNG header.") }
        width = try input.u32(at: 16)
        height = try input.u32(at: 20)
        bits = Int(try input.byte(at: 24))
        colorType = Int(try input.byte(at: 25))
        isInterlaced = try input.byte(at: 28) != 0
        try Self.judgeHeader(input, bits: bits, colorType: colorType)
        guard width > 0, height > 0, width <= 0x7FFF_FFFF, height <= 0x7FFF_FFFF else {
            throw .badImage("The PNG header declares an invalid size of \(width)x\(height) pixels.")
        }
        var at = 8
        while end == nil, at + 12 <= input.count {
            let length = try input.u32(at: at)
            let type = try Self.name(input, at + 4)
            guard length <= 0x7FFF_FFFF else { throw .badImage("A PNG chunk is too long.") }
            let next = at + 12 + length
            guard next <= input.count else { return }
            if type == "IDAT", chunks.last?.type == "IDAT" {
                chunks[chunks.count - 1].range = chunks[chunks.count - 1].range.lowerBound..<next
            } else {
                guard chunks.count < Self.mostChunks else {
                    throw .badImage("The PNG file has more than \(Self.mostChunks) chunks.")
                }
                chunks.append(Chunk(type: type, range: at..<next))
            }
            if type == "IEND" { end = next }
            at = next
        }
    }

    /// Throws for an image header that decoders reject, so that such a file is not sent unchanged
    /// either.
    private static func judgeHeader(
        _ input: ImageInput, bits: Int, colorType: Int
    ) throws(ImagingError) {
        let depths: [Int] =
            switch colorType {
            case 0: [1, 2, 4, 8, 16]
            case 3: [1, 2, 4, 8]
            case 2, 4, 6: [8, 16]
            default: []
            }
        guard depths.contains(bits) else {
            throw .badImage(
                "The PNG header has color type \(colorType) with \(bits) bits, which PNG does not define."
            )
        }
        let methods = (
            try input.byte(at: 26), try input.byte(at: 27), try input.byte(at: 28)
        )
        guard methods.0 == 0, methods.1 == 0, methods.2 <= 1 else {
            throw .badImage("The PNG header has a coding method that PNG does not define.")
        }
        guard try input.u32(at: 29) == Int(crc32(input.copy(12..<29))) else {
            throw .badImage("The checksum of the PNG header is wrong.")
        }
    }

    func first(_ type: String) -> Chunk? { chunks.first { $0.type == type } }

    var hasImage: Bool { first("IDAT") != nil }
    var isAnimated: Bool { first("acTL") != nil }
    var hasAlpha: Bool { colorType & 4 != 0 || first("tRNS") != nil }

    var components: Int {
        switch colorType {
        case 0, 3: 1
        case 4: 2
        case 6: 4
        default: 3
        }
    }

    func exif(_ input: ImageInput) throws(ImagingError) -> EXIF? {
        guard let chunk = first("eXIf"), chunk.data.count <= 1 << 20 else { return nil }
        let bytes = try input.copy(chunk.data)
        // The prefix of JPEG, which some programs write in a PNG too.
        let prefix = Array("Exif\0\0".utf8)
        return EXIF(bytes.starts(with: prefix) ? Array(bytes.dropFirst(prefix.count)) : bytes)
    }

    /// Returns the XMP packet of the first XMP text chunk; `nil` if it cannot be read.
    func xmp(_ input: ImageInput) throws(ImagingError) -> XMP? {
        guard let chunk = try xmpChunk(input) else { return nil }
        return try XMP.text(chunk, input).map { XMP($0) }
    }

    /// Returns the first XMP text chunk. The others are never read: a file could have thousands.
    func xmpChunk(_ input: ImageInput) throws(ImagingError) -> Chunk? {
        for chunk in chunks where chunk.type == "iTXt" {
            if try input.copy(chunk.data.prefix(XMP.keyword.count)) == XMP.keyword { return chunk }
        }
        return nil
    }

    /// Returns a complete chunk.
    static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + data
        let crc = crc32(body)
        return bigEndian(UInt32(truncatingIfNeeded: data.count)) + body + bigEndian(crc)
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    private static let crcTable: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in
            value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1
        }
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF) { crcTable[Int(($0 ^ UInt32($1)) & 0xFF)] ^ $0 >> 8 }
    }

    private static func name(_ input: ImageInput, _ at: Int) throws(ImagingError) -> String {
        let bytes = try input.copy(at..<at + 4)
        let isLetter: (UInt8) -> Bool = { (65...90).contains($0) || (97...122).contains($0) }
        guard bytes.allSatisfy(isLetter) else { throw .badImage("A PNG chunk has no valid name.") }
        return String(decoding: bytes, as: UTF8.self)
    }
}
