// Wherry: the EXIF values that describe a photograph.
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryImaging

@Suite struct PhotoTests {
    /// A TIFF structure with a main, an EXIF, and a GPS directory.
    struct Block {
        var isLittle = true
        var main: [Field] = [
            .text(0x010F, "Acme"), .text(0x0110, "Acme One  "), .short(0x0112, 6),
        ]
        var details: [Field] = [
            .text(0x9003, "2024:05:01 12:34:56"), .text(0x9011, "+02:00"),
        ]
        var places: [Field] = [
            .text(1, "N"), .rationals(2, [(48, 1), (51, 1), (2_988, 100)]), .text(3, "W"),
            .rationals(4, [(2, 1), (17, 1), (402, 10)]), .byte(5, 1),
            .rationals(6, [(355, 10)]),
        ]

        struct Field {
            let tag: Int
            let type: Int
            let count: Int
            /// The value in big endian, in units of `unit` bytes.
            var value: [UInt8]
            let unit: Int

            static func text(_ tag: Int, _ text: String) -> Field {
                Field(
                    tag: tag, type: 2, count: text.utf8.count + 1, value: Array(text.utf8) + [0],
                    unit: 1)
            }
            static func raw(_ tag: Int, _ bytes: [UInt8]) -> Field {
                Field(tag: tag, type: 2, count: bytes.count, value: bytes, unit: 1)
            }
            static func byte(_ tag: Int, _ value: UInt8) -> Field {
                Field(tag: tag, type: 1, count: 1, value: [value], unit: 1)
            }
            static func short(_ tag: Int, _ value: Int) -> Field {
                Field(tag: tag, type: 3, count: 1, value: big(value, 2), unit: 2)
            }
            static func rationals(_ tag: Int, _ values: [(Int, Int)]) -> Field {
                Field(
                    tag: tag, type: 5, count: values.count,
                    value: values.flatMap { big($0.0, 4) + big($0.1, 4) }, unit: 4)
            }
        }

        static func big(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }

        private func number(_ value: Int, _ count: Int) -> [UInt8] {
            isLittle ? Self.big(value, count).reversed() : Self.big(value, count)
        }

        var bytes: [UInt8] {
            var all = Array((isLittle ? "II" : "MM").utf8) + number(42, 2) + number(8, 4)
            var lengths = [main.count + 2, details.count, places.count].map { 2 + 12 * $0 + 4 }
            let starts = [8, 8 + lengths[0], 8 + lengths[0] + lengths[1]]
            var values: [UInt8] = []
            let valuesStart = starts[2] + lengths.removeLast()
            func pointer(_ tag: Int, _ target: Int) -> Field {
                Field(tag: tag, type: 4, count: 1, value: Self.big(target, 4), unit: 4)
            }
            let linked = main + [pointer(0x8769, starts[1]), pointer(0x8825, starts[2])]
            for fields in [linked, details, places] {
                all += number(fields.count, 2)
                for field in fields {
                    var value: [UInt8] = []
                    for at in stride(from: 0, to: field.value.count, by: field.unit) {
                        let unit = Array(field.value[at..<at + field.unit])
                        value += isLittle ? unit.reversed() : unit
                    }
                    all += number(field.tag, 2) + number(field.type, 2) + number(field.count, 4)
                    if value.count <= 4 {
                        all += value + [UInt8](repeating: 0, count: 4 - value.count)
                    } else {
                        all += number(valuesStart + values.count, 4)
                        values += value
                    }
                }
                all += number(0, 4)
            }
            return all + values
        }
    }

    private func photo(_ change: (inout Block) -> Void = { _ in }) throws -> PhotoInfo {
        var block = Block()
        change(&block)
        return PhotoInfo(try #require(EXIF(block.bytes)))
    }

    @Test("I6 JPEG and PNG report time, camera, and place, in both byte orders, without decoding")
    func complete() throws {
        for isLittle in [true, false] {
            var block = Block()
            block.isLittle = isLittle
            let segment = Pictures.segment(0xE1, Array("Exif\0\0".utf8) + block.bytes)
            // Only the header is read: the image data are missing.
            let jpeg = Pictures.inserting(segment, into: try Pictures.jpeg()).prefix(
                segment.count + 640)
            let chunk = PNGLayout.chunk("eXIf", block.bytes)
            let png = Pictures.inserting(
                chunks: chunk, into: try Pictures.png(Pictures.pattern(.rgb8, 9, 7)))
            for file in [Array(jpeg), png] {
                let info = try ImageInfo(inspecting: .array(file))
                #expect(info.photo.takenAt == "2024-05-01T12:34:56+02:00")
                #expect(info.photo.make == "Acme" && info.photo.model == "Acme One")
                let position = try #require(info.photo.position)
                #expect(abs(position.latitude - 48.8583) < 1e-9)
                #expect(abs(position.longitude + 2.2945) < 1e-9)
                #expect(info.photo.altitude == -35.5)
                #expect(info.orientation == 6 && info.hasGPS)
            }
        }
    }

    @Test("I6 an image without EXIF, and raw pixels, have no such values")
    func missing() throws {
        let pixels = try Pictures.pattern(.rgb8, 9, 7)
        for source in try [
            ImageSource.pixels(pixels), .array(Pictures.png(pixels)), .array(Pictures.jpeg()),
        ] {
            #expect(try ImageInfo(inspecting: source).photo == PhotoInfo())
        }
    }

    @Test(
        "I6 malformed times count as missing",
        arguments: [
            "0000:00:00 00:00:00", "    :  :     :  :  ", "2024:13:01 00:00:00",
            "2024:05:32 00:00:00", "2024:05:01 24:00:00", "2024:05:01 23:60:00",
            "2024:05:01T12:34:56", "2024-05-01 12:34:56", "2024:05:01", "2024:05:01 12:34:561", "",
        ])
    func badTime(_ time: String) throws {
        #expect(try photo { $0.details[0] = .text(0x9003, time) }.takenAt == nil)
    }

    @Test("I6 malformed offsets count as missing")
    func badOffset() throws {
        for offset in ["02:00", "+2:00", "+24:00", "+02:60", "Z", "", "+02:00 x"] {
            let found = try photo { $0.details[1] = .text(0x9011, offset) }
            #expect(found.takenAt == "2024-05-01T12:34:56", "\(offset)")
        }
    }

    @Test("I6 malformed places count as missing")
    func badPlaces() throws {
        func position(_ index: Int, _ field: Block.Field) throws -> PhotoInfo.Position? {
            try photo { $0.places[index] = field }.position
        }
        #expect(try position(0, .text(1, "X")) == nil)
        #expect(try position(0, .text(1, "")) == nil)
        #expect(try position(1, .rationals(2, [(48, 0), (1, 1), (1, 1)])) == nil)
        #expect(try position(1, .rationals(2, [(48, 1), (1, 1)])) == nil)
        #expect(try position(1, .rationals(2, [(91, 1), (0, 1), (0, 1)])) == nil)
        #expect(try position(3, .rationals(4, [(181, 1), (0, 1), (0, 1)])) == nil)
        #expect(try position(1, .text(2, "48.8")) == nil)
        #expect(try position(1, .rationals(2, [(90, 1), (0, 1), (0, 1)]))?.latitude == 90)
        #expect(try photo { $0.places[5] = .rationals(6, [(1, 0)]) }.altitude == nil)
        #expect(try photo { $0.places[4] = .byte(5, 0) }.altitude == 35.5)
        #expect(try photo { $0.places.remove(at: 4) }.altitude == 35.5)
    }

    @Test("I6 texts are trimmed, and those that are not UTF-8 are Latin-1")
    func texts() throws {
        func make(_ bytes: [UInt8]) throws -> String? {
            try photo { $0.main[0] = .raw(0x010F, bytes) }.make
        }
        #expect(try make(Array("  Acme  \0\0\0".utf8)) == "Acme")
        #expect(try make(Array("Acme\0hidden".utf8)) == "Acme")
        #expect(try make(Array("Größe".utf8)) == "Größe")
        #expect(try make([0x47, 0xF6, 0x42]) == "GöB")
        #expect(try make(Array("two\nlines".utf8)) == nil)
        #expect(try make(Array("    \0".utf8)) == nil)
        #expect(try make([0]) == nil)
        #expect(try make([]) == nil)
        #expect(try make([UInt8](repeating: 0x41, count: 5_000))?.count == 1_000)
    }

    @Test("I6 mutated blocks never crash")
    func mutated() throws {
        var generator = SystemRandomNumberGenerator()
        for isLittle in [true, false] {
            var block = Block()
            block.isLittle = isLittle
            let bytes = block.bytes
            for length in 0..<bytes.count {
                if let exif = EXIF(Array(bytes[..<length])) { _ = PhotoInfo(exif) }
            }
            for _ in 0..<20_000 {
                var changed = bytes
                for _ in 0..<Int.random(in: 1...6, using: &generator) {
                    let value = UInt8.random(in: 0...255, using: &generator)
                    let at = Int.random(in: 0..<bytes.count, using: &generator)
                    changed[at] = Bool.random(using: &generator) ? value : 0xFF
                }
                guard let exif = EXIF(changed) else { continue }
                let photo = PhotoInfo(exif)
                if let position = photo.position {
                    #expect(abs(position.latitude) <= 90 && abs(position.longitude) <= 180)
                }
            }
        }
    }
}
