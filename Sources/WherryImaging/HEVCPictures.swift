// Wherry: the sizes of coded HEVC pictures.
// SPDX-License-Identifier: Apache-2.0

/// The largest picture size of a coded image, and how often it is decoded.
struct CodedPictures {
    var width = 0
    var height = 0
    /// The pictures that a decoder decodes, of which it may show only one.
    var count = 0
    /// Whether the size is known, instead of only that it is not larger.
    var isExact = true

    /// The largest number of units in an item. A picture has up to 600 slices (H.265, table A.8).
    static let mostUnits = 1000

    mutating func add(width: Int, height: Int) {
        self.width = max(self.width, width)
        self.height = max(self.height, height)
    }
}

/// HEVC (ITU-T H.265) as HEIC files contain it: NAL units, each after its length.
enum HEVCPictures {
    private static let sequenceParameters = 33

    /// Reads the parameter sets of an hvcC property (ISO 14496-15, 8.3.2).
    static func read(
        configuration range: Range<Int>, of input: ImageInput, into pictures: inout CodedPictures
    ) throws(ImagingError) {
        var cursor = HEIFLayout.Cursor(input, range)
        try cursor.skip(21)
        // libheif expects lengths of four bytes.
        guard try cursor.number(1) & 3 == 3 else { throw HEIFLayout.unsupported }
        for _ in 0..<(try cursor.number(1)) {
            _ = try cursor.number(1)
            for _ in 0..<(try cursor.number(2)) {
                let count = try cursor.number(2)
                try readUnit(cursor.at..<cursor.at + count, of: input, into: &pictures)
                try cursor.skip(count)
            }
        }
    }

    /// Reads the data of an item.
    static func read(
        data range: Range<Int>, of input: ImageInput, into pictures: inout CodedPictures
    ) throws(ImagingError) {
        var cursor = HEIFLayout.Cursor(input, range)
        var units = 0
        while cursor.left > 0 {
            let count = try cursor.number(4)
            units += 1
            guard units <= CodedPictures.mostUnits else { throw HEIFLayout.unsupported }
            try readUnit(cursor.at..<cursor.at + count, of: input, into: &pictures)
            try cursor.skip(count)
        }
    }

    private static func readUnit(
        _ range: Range<Int>, of input: ImageInput, into pictures: inout CodedPictures
    ) throws(ImagingError) {
        guard range.upperBound <= input.count else { throw ImageInput.ended }
        guard range.count > 2 else { return }
        let header = try input.u16(at: range.lowerBound)
        // Decoders ignore other layers.
        guard header >> 3 & 63 == 0 else { return }
        // Some decoders search for start codes, which no valid unit contains.
        guard !input.hasStartCode(in: range) else { throw HEIFLayout.damaged }
        let type = header >> 9 & 63
        if type == sequenceParameters {
            let most = min(range.upperBound, range.lowerBound + 512)
            var bits = BitReader(unescaped(try input.copy(range.lowerBound + 2..<most)))
            try readSequence(&bits, into: &pictures)
        } else if type < 32, try input.byte(at: range.lowerBound + 2) & 0x80 != 0 {
            pictures.count += 1  // the first slice of a picture
        }
    }

    /// Reads a sequence parameter set up to the size (7.3.2.2).
    private static func readSequence(
        _ bits: inout BitReader, into pictures: inout CodedPictures
    ) throws(ImagingError) {
        try bits.skip(4)
        let subLayers = try bits.number(3)
        try bits.skip(1 + 88 + 8)
        var present: [(profile: Bool, level: Bool)] = []
        for _ in 0..<subLayers { present.append((try bits.flag(), try bits.flag())) }
        if subLayers > 0 { try bits.skip(2 * (8 - subLayers)) }
        for one in present { try bits.skip((one.profile ? 88 : 0) + (one.level ? 8 : 0)) }
        _ = try bits.exponential()
        if try bits.exponential() == 3 { try bits.skip(1) }
        pictures.add(width: try bits.exponential(), height: try bits.exponential())
    }

    /// Removes the bytes that prevent start codes (7.4.2).
    private static func unescaped(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var zeros = 0
        for byte in bytes {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            result.append(byte)
        }
        return result
    }
}
