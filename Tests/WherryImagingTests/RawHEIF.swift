// Wherry: HEIC and AVIF files without pixels, for tests
// SPDX-License-Identifier: Apache-2.0

/// Builds the boxes of a HEIC or AVIF file, and the headers of coded pictures.
enum RawHEIF {
    struct Item {
        var type: String
        var data: [UInt8] = []
        /// Complete boxes.
        var properties: [[UInt8]] = []
        var references: [(type: String, to: [Int])] = []
        var isInHeader = false
    }

    static func number(_ value: Int, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    static func box(_ type: String, _ content: [UInt8]...) -> [UInt8] {
        let joined = content.flatMap { $0 }
        return number(joined.count + 8, 4) + Array(type.utf8) + joined
    }

    static func size(_ width: Int, _ height: Int) -> [UInt8] {
        box("ispe", number(0, 4), number(width, 4), number(height, 4))
    }

    static func auxiliary(_ name: String) -> [UInt8] {
        box("auxC", number(0, 4), Array(name.utf8), [0])
    }

    /// The data of a grid.
    static func grid(_ width: Int, _ height: Int, columns: Int, rows: Int) -> [UInt8] {
        [0, 0, UInt8(rows - 1), UInt8(columns - 1)] + number(width, 2) + number(height, 2)
    }

    /// A file whose first item, number 1, is the primary one.
    ///
    /// - Parameter extra: A box of the header that occurs a second time.
    static func file(_ items: [Item], extra: String? = nil) -> [UInt8] {
        var properties: [UInt8] = []
        var associations: [UInt8] = []
        var entries: [UInt8] = []
        var references: [UInt8] = []
        var count = 0
        for (index, item) in items.enumerated() {
            let id = number(index + 1, 2)
            entries += box("infe", [2, 0, 0, 0], id, [0, 0], Array(item.type.utf8), [0])
            associations += id + [UInt8(item.properties.count)]
            for property in item.properties {
                properties += property
                count += 1
                associations += number(count, 2)
            }
            for (type, to) in item.references {
                references += box(type, id, number(to.count, 2), to.flatMap { number($0, 2) })
            }
        }
        let head = box("ftyp", Array("mif1".utf8), number(0, 4), Array("mif1heicavif".utf8))
        func meta(_ base: Int) -> [UInt8] {
            var places = [base, 0]
            var locations: [UInt8] = []
            for (index, item) in items.enumerated() {
                let place = item.isInHeader ? 1 : 0
                locations += number(index + 1, 2) + number(place, 2) + [0, 0, 0, 1]
                locations += number(places[place], 4) + number(item.data.count, 4)
                places[place] += item.data.count
            }
            let zero = number(0, 4)
            var boxes = [
                "hdlr": box(
                    "hdlr", zero, zero, Array("pict".utf8), [UInt8](repeating: 0, count: 13)),
                "pitm": box("pitm", zero, number(1, 2)),
                "iinf": box("iinf", zero, number(items.count, 2), entries),
                "iloc": box("iloc", [1, 0, 0, 0, 0x44, 0], number(items.count, 2), locations),
                "iref": box("iref", zero, references),
                "iprp": box(
                    "iprp", box("ipco", properties),
                    box("ipma", [0, 0, 0, 1], number(items.count, 4), associations)),
                "idat": box("idat", items.filter(\.isInHeader).flatMap(\.data)),
            ]
            if let extra, let twice = boxes[extra] { boxes[extra] = twice + twice }
            return box("meta", zero, boxes.keys.sorted().flatMap { boxes[$0] ?? [] })
        }
        let data = items.filter { !$0.isInHeader }.flatMap(\.data)
        return head + meta(head.count + meta(0).count + 8) + box("mdat", data)
    }

    // MARK: Coded pictures

    /// Packs bits; the last byte is filled with zeros.
    private static func packed(_ fields: [(value: Int, count: Int)]) -> [UInt8] {
        var bits: [UInt8] = []
        for (value, count) in fields {
            bits += (0..<count).reversed().map { UInt8(value >> $0 & 1) }
        }
        while bits.count % 8 != 0 { bits.append(0) }
        return stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(0) { $0 << 1 | $1 }
        }
    }

    private static func unit(_ type: Int, _ content: [UInt8]) -> [UInt8] {
        [UInt8(type << 3 | 2), UInt8(content.count)] + content
    }

    /// The sequence header of a still AV1 image.
    static func sequence(_ width: Int, _ height: Int) -> [UInt8] {
        unit(
            1,
            packed([
                (0, 3), (1, 1), (1, 1), (0, 5), (15, 4), (15, 4), (width - 1, 16), (height - 1, 16),
                (0, 16),
            ]))
    }

    /// The sequence header of AV1 frames with numbers and times, whose sizes have `bits` bits.
    static func movingSequence(_ width: Int, _ height: Int, bits: Int) -> [UInt8] {
        let times = [
            (1, 1), (1, 32), (1, 32), (0, 1),  // times, not at equal intervals
            (1, 1), (7, 5), (1, 32), (9, 5), (11, 5),  // decoder model
        ]
        let points = [(1, 1), (0, 5), (0, 12), (9, 5), (1, 1), (1, 1), (0, 17), (1, 1), (3, 4)]
        let sizes = [
            (bits - 1, 4), (bits - 1, 4), (width - 1, bits), (height - 1, bits),
            (1, 1), (3, 4), (2, 3),  // numbers of 8 bits
        ]
        let tools = [(0, 3), (0, 4), (1, 1), (0, 2), (1, 1), (1, 1), (0, 16)]
        return unit(1, packed([(0, 3), (0, 1), (0, 1)] + times + points + sizes + tools))
    }

    /// A frame of `movingSequence`, which may have a size of its own.
    static func movingFrame(ownSize: Bool) -> [UInt8] {
        unit(
            6,
            packed([
                (0, 1), (0, 2), (1, 1), (0, 12), (0, 1), (1, 1), (1, 1), (7, 8),
                (ownSize ? 1 : 0, 1), (0, 32),
            ]))
    }

    static let frame = unit(6, [0x10, 0x20, 0x30])

    static func av1C(_ units: [UInt8] = []) -> [UInt8] { box("av1C", [0x81, 0, 0, 0], units) }

    /// A sequence parameter set of HEVC with two sublayers.
    static func parameters(_ width: Int, _ height: Int) -> [UInt8] {
        func exponential(_ value: Int) -> [(Int, Int)] {
            let bits = Int.bitWidth - (value + 1).leadingZeroBitCount
            return [(0, bits - 1), (value + 1, bits)]
        }
        let levels = [(0, 4), (1, 3), (1, 1), (1, 8), (0, 32), (0x90, 24), (0, 24), (93, 8)]
        let layers = [(3, 2), (0, 14), (1, 32), (1, 32), (1, 24), (90, 8)]
        let sizes = exponential(0) + exponential(1) + exponential(width) + exponential(height)
        var escaped: [UInt8] = []
        for byte in packed(levels + layers + sizes + [(0, 32)]) {
            if byte <= 3, escaped.suffix(2) == [0, 0] { escaped.append(3) }
            escaped.append(byte)
        }
        return [33 << 1, 1] + escaped
    }

    /// The first slice of a picture.
    static let slice: [UInt8] = [20 << 1, 1, 0xAF, 0x12]

    /// NAL units with their lengths.
    static func units(_ units: [UInt8]...) -> [UInt8] {
        units.flatMap { number($0.count, 4) + $0 }
    }

    static func hvcC(_ set: [UInt8]) -> [UInt8] {
        box(
            "hvcC", [1], [UInt8](repeating: 0, count: 20), [3, 1, 33, 0, 1], number(set.count, 2),
            set)
    }
}
