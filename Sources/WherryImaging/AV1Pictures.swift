// Wherry: the sizes of coded AV1 pictures.
// SPDX-License-Identifier: Apache-2.0

/// AV1 as AVIF files contain it: a sequence of OBUs (AV1 specification, section 5).
struct AV1Pictures {
    private enum Unit {
        static let sequence = 1
        static let frameHeader = 3
        static let frame = 6
    }

    /// What a frame header depends on.
    private struct Sequence {
        var isReduced = false
        /// Bits of a frame's time; `nil` if frames have none.
        var timeBits: Int?
        /// Bits of a frame's number; 0 if frames have none.
        var idBits = 0
        var screenContent = 2
        var integerMotion = 2
        /// The largest size that a frame can have instead of the usual one.
        var largest = (width: 0, height: 0)
    }

    private var sequence: Sequence?

    /// Reads the units after the header of an av1C property.
    mutating func read(
        configuration range: Range<Int>, of input: ImageInput, into pictures: inout CodedPictures
    ) throws(ImagingError) {
        guard range.count >= 4 else { throw HEIFLayout.damaged }
        try read(range.dropFirst(4), of: input, into: &pictures)
    }

    /// Reads units.
    mutating func read(
        _ range: Range<Int>, of input: ImageInput, into pictures: inout CodedPictures
    ) throws(ImagingError) {
        var at = range.lowerBound
        var units = 0
        while at < range.upperBound {
            let header = try input.byte(at: at)
            at += 1
            if header == 0 { continue }  // padding, which libaom skips
            units += 1
            guard units <= CodedPictures.mostUnits else { throw HEIFLayout.unsupported }
            if header & 4 != 0 { at += 1 }
            let count = header & 2 == 0 ? range.upperBound - at : try Self.size(&at, input)
            guard count >= 0, count <= range.upperBound - at else { throw ImageInput.ended }
            let most = min(at + count, at + 1024)
            switch Int(header >> 3 & 15) {
            case Unit.sequence:
                var bits = BitReader(try input.copy(at..<most))
                try readSequence(&bits, into: &pictures)
            case Unit.frame, Unit.frameHeader:
                pictures.count += 1
                if let sequence, !sequence.isReduced {
                    var bits = BitReader(try input.copy(at..<most))
                    if try Self.hasOwnSize(&bits, sequence) {
                        pictures.isExact = false
                        pictures.add(
                            width: sequence.largest.width, height: sequence.largest.height)
                    }
                }
            default: break
            }
            at += count
        }
    }

    /// Reads a number in LEB128 coding (4.10.5).
    private static func size(
        _ at: inout Int, _ input: ImageInput
    ) throws(ImagingError) -> Int {
        var value = 0
        for shift in stride(from: 0, to: 56, by: 7) {
            let byte = Int(try input.byte(at: at))
            at += 1
            value |= (byte & 127) << shift
            if byte < 128 { return value }
        }
        throw HEIFLayout.damaged
    }

    /// Reads a sequence header (5.5) as far as frame headers depend on it.
    private mutating func readSequence(
        _ bits: inout BitReader, into pictures: inout CodedPictures
    ) throws(ImagingError) {
        var found = Sequence()
        try bits.skip(4)
        found.isReduced = try bits.flag()
        if found.isReduced {
            try bits.skip(5)
        } else {
            try Self.readTimes(&bits, into: &found)
        }
        let widthBits = try bits.number(4) + 1
        let heightBits = try bits.number(4) + 1
        pictures.add(
            width: try bits.number(widthBits) + 1, height: try bits.number(heightBits) + 1)
        found.largest = (1 << widthBits, 1 << heightBits)
        if !found.isReduced {
            if try bits.flag() { found.idBits = try bits.number(4) + 2 + bits.number(3) + 1 }
            try bits.skip(3 + 4)
            if try bits.flag() { try bits.skip(2) }
            found.screenContent = try bits.flag() ? 2 : bits.number(1)
            if found.screenContent > 0 {
                found.integerMotion = try bits.flag() ? 2 : bits.number(1)
            }
        }
        sequence = found
    }

    /// Reads the times and operating points of a sequence header.
    private static func readTimes(
        _ bits: inout BitReader, into found: inout Sequence
    ) throws(ImagingError) {
        var delayBits: Int?
        if try bits.flag() {
            try bits.skip(64)
            let isEqual = try bits.flag()
            if isEqual { _ = try bits.exponential() }
            if try bits.flag() {
                delayBits = try bits.number(5) + 1
                try bits.skip(32 + 5)
                let timeBits = try bits.number(5) + 1
                found.timeBits = isEqual ? nil : timeBits
            }
        }
        let hasDelay = try bits.flag()
        for _ in 0..<(try bits.number(5) + 1) {
            try bits.skip(12)
            if try bits.number(5) > 7 { try bits.skip(1) }
            if let delayBits, try bits.flag() { try bits.skip(2 * delayBits + 1) }
            if hasDelay, try bits.flag() { try bits.skip(4) }
        }
    }

    /// Reads a frame header (5.9.2) up to the flag that the frame has a size of its own.
    private static func hasOwnSize(
        _ bits: inout BitReader, _ sequence: Sequence
    ) throws(ImagingError) -> Bool {
        if try bits.flag() { return false }  // shows a frame that has been decoded
        let type = try bits.number(2)
        let isShown = try bits.flag()
        if isShown {
            if let timeBits = sequence.timeBits { try bits.skip(timeBits) }
        } else {
            try bits.skip(1)
        }
        let isSwitch = type == 3
        if !isSwitch, type != 0 || !isShown { try bits.skip(1) }
        try bits.skip(1)
        let screenContent =
            sequence.screenContent == 2 ? try bits.number(1) : sequence.screenContent
        if screenContent > 0, sequence.integerMotion == 2 { try bits.skip(1) }
        try bits.skip(sequence.idBits)
        return isSwitch ? true : try bits.flag()
    }
}
