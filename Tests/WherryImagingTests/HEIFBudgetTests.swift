// Wherry: tests of the limits for HEIC and AVIF images
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryImaging

@Suite struct HEIFBudgetTests {
    private typealias Item = RawHEIF.Item

    /// Returns the reason why a file is refused.
    private func reason(
        _ file: [UInt8], _ change: (inout Compression) -> Void = { _ in }
    ) -> String? {
        var options = Compression()
        change(&options)
        do {
            try HEIFBudget.check(Bytes(file), Limits(options))
            return nil
        } catch {
            return error.reason
        }
    }

    private func av1(
        _ declared: Int, coded: Int, properties: [[UInt8]] = [], references: [(String, [Int])] = []
    ) -> Item {
        Item(
            type: "av01", data: RawHEIF.sequence(coded, coded) + RawHEIF.frame,
            properties: [RawHEIF.size(declared, declared), RawHEIF.av1C()] + properties,
            references: references.map { (type: $0.0, to: $0.1) })
    }

    private func hevc(_ declared: Int, set: Int, data: Int? = nil) -> Item {
        let inner = data.map { RawHEIF.units(RawHEIF.parameters($0, $0)) } ?? []
        return Item(
            type: "hvc1", data: inner + RawHEIF.units(RawHEIF.slice),
            properties: [
                RawHEIF.size(declared, declared), RawHEIF.hvcC(RawHEIF.parameters(set, set)),
            ])
    }

    private func grid(_ side: Int, columns: Int, rows: Int, of tiles: [Int]) -> Item {
        Item(
            type: "grid", data: RawHEIF.grid(side, side, columns: columns, rows: rows),
            properties: [RawHEIF.size(side, side)], references: [("dimg", tiles)], isInHeader: true)
    }

    @Test("SEC-R9 I3 pictures of at most a block more than declared are decoded")
    func sizes() {
        for coded in [100, 128, 164] {
            #expect(reason(RawHEIF.file([av1(100, coded: coded)])) == nil)
            #expect(reason(RawHEIF.file([hevc(100, set: coded)])) == nil)
            #expect(reason(RawHEIF.file([hevc(100, set: 100, data: coded)])) == nil)
        }
        for coded in [165, 12_000, 65_536] {
            #expect(reason(RawHEIF.file([av1(100, coded: coded)])) == "too_large")
            #expect(reason(RawHEIF.file([hevc(100, set: coded)])) == "too_large")
            #expect(reason(RawHEIF.file([hevc(100, set: 100, data: coded)])) == "too_large")
        }
    }

    @Test("SEC-R9 I3 the declared size is limited before it is cropped")
    func limits() {
        let crop = RawHEIF.box(
            "clap", [64, 1, 64, 1, 0, 1, 0, 1].flatMap { RawHEIF.number($0, 4) })
        let file = RawHEIF.file([av1(1000, coded: 1000, properties: [crop])])
        #expect(reason(file) { $0.maxPixels = 1_000_000 } == nil)
        #expect(reason(file) { $0.maxPixels = 999_999 } == "too_large")
        #expect(reason(file) { $0.maxMemory = 8_999_999 } == "memory_limit")
    }

    @Test("SEC-R9 I3 all sequence headers count")
    func headers() {
        let size = RawHEIF.size(64, 64)
        let small = RawHEIF.sequence(64, 64)
        let large = RawHEIF.sequence(9000, 9000)
        let frame = RawHEIF.frame
        for data in [large + small + frame, small + frame + [0, 0, 0] + large + frame] {
            let item = Item(type: "av01", data: data, properties: [size, RawHEIF.av1C(small)])
            #expect(reason(RawHEIF.file([item])) == "too_large")
        }
        let configured = Item(
            type: "av01", data: frame, properties: [size, RawHEIF.av1C(), RawHEIF.av1C(large)])
        #expect(reason(RawHEIF.file([configured])) == "too_large")
        var header = Item(
            type: "av01", data: large + frame, properties: [size, RawHEIF.av1C(small)])
        header.isInHeader = true
        #expect(reason(RawHEIF.file([header])) == "too_large")
    }

    @Test("SEC-R9 I3 a frame may have a size of its own, up to twice the declared one")
    func ownSizes() {
        func file(bits: Int, ownSize: Bool) -> [UInt8] {
            RawHEIF.file([
                Item(
                    type: "av01",
                    data: RawHEIF.movingSequence(100, 100, bits: bits)
                        + RawHEIF.movingFrame(ownSize: ownSize),
                    properties: [RawHEIF.size(100, 100), RawHEIF.av1C()])
            ])
        }
        #expect(reason(file(bits: 16, ownSize: false)) == nil)
        #expect(reason(file(bits: 16, ownSize: true)) == "too_large")
        #expect(reason(file(bits: 7, ownSize: true)) == nil)
        #expect(reason(file(bits: 8, ownSize: true)) { $0.maxMemory = 500_000 } == "memory_limit")
    }

    @Test("SEC-R9 I3 tiles, overlays, and alpha count, but not depth and gain maps")
    func parts() {
        let tile = av1(64, coded: 64)
        let large = av1(64, coded: 9000)
        #expect(
            reason(RawHEIF.file([grid(120, columns: 2, rows: 2, of: [2, 2, 2, 2]), tile])) == nil)
        #expect(
            reason(RawHEIF.file([grid(64, columns: 1, rows: 1, of: [2]), large])) == "too_large")
        // Cameras also divide small images into tiles of 512x512 pixels.
        let camera = RawHEIF.file([grid(100, columns: 1, rows: 1, of: [2]), av1(512, coded: 512)])
        #expect(reason(camera) { $0.maxPixels = 10_000 } == nil)
        let honest = RawHEIF.file([grid(100, columns: 1, rows: 1, of: [2]), av1(5000, coded: 5000)])
        #expect(reason(honest) { $0.maxPixels = 10_000 } == "too_large")
        for type in ["grid", "iovl"] {
            var canvas = grid(9000, columns: 1, rows: 1, of: [2])
            canvas.type = type
            if type == "iovl" { canvas.data.insert(contentsOf: [0, 0, 0, 0, 0, 0], at: 2) }
            canvas.properties = [RawHEIF.size(64, 64)]
            #expect(reason(RawHEIF.file([canvas, tile])) == "too_large")
        }
        let kinds = [
            ("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", "too_large"),
            ("urn:mpeg:hevc:2015:auxid:1", "too_large"),
            ("urn:mpeg:hevc:2015:auxid:2", nil),
            ("urn:com:apple:photo:2020:aux:hdrgainmap", nil),
        ]
        for (name, wanted) in kinds {
            let other = av1(
                64, coded: 9000, properties: [RawHEIF.auxiliary(name)], references: [("auxl", [1])])
            #expect(reason(RawHEIF.file([tile, other])) == wanted, "\(name)")
        }
    }

    @Test("SEC-R9 I3 the number of decoded pictures is limited")
    func repetitions() {
        let tile = av1(512, coded: 512)
        let repeated = grid(512, columns: 200, rows: 200, of: [Int](repeating: 2, count: 40_000))
        #expect(reason(RawHEIF.file([repeated, tile])) == "too_large")
        let frames = Item(
            type: "av01",
            data: RawHEIF.sequence(512, 512) + [UInt8]([RawHEIF.frame].joined())
                + Array([[UInt8]](repeating: RawHEIF.frame, count: 100).joined()),
            properties: [RawHEIF.size(512, 512), RawHEIF.av1C()])
        #expect(reason(RawHEIF.file([frames])) == "too_large")
        let slices = Item(
            type: "hvc1",
            data: Array([[UInt8]](repeating: RawHEIF.units(RawHEIF.slice), count: 100).joined()),
            properties: [RawHEIF.size(512, 512), RawHEIF.hvcC(RawHEIF.parameters(512, 512))])
        #expect(reason(RawHEIF.file([slices])) == "too_large")
        // An item that consists of itself, and a tree with 100 items on each level.
        func identity(_ to: [Int]) -> Item {
            Item(
                type: "iovl", data: [UInt8](repeating: 0, count: 14),
                properties: [RawHEIF.size(8, 8)],
                references: [("dimg", to)])
        }
        #expect(reason(RawHEIF.file([identity([1])])) == "bad_image")
        let tree = (2...8).map { identity([Int](repeating: $0, count: 100)) }
        #expect(reason(RawHEIF.file(tree + [tile])) == "too_large")
    }

    @Test("SEC-R9 I3 files that parsers understand differently are refused")
    func structure() {
        let item = av1(64, coded: 64)
        let file = RawHEIF.file([item])
        #expect(reason(file) == nil)
        // Rubbish after the last box is ignored, as by libheif.
        #expect(reason(file + [0, 0, 0, 3, 1, 2, 3, 4]) == nil)
        for box in ["pitm", "iinf", "iloc", "iref", "iprp", "idat"] {
            #expect(reason(RawHEIF.file([item], extra: box)) == "unsupported_image", "\(box)")
        }
        #expect(reason(file + file) == "unsupported_image")
        #expect(reason(file + RawHEIF.box("mini")) == "unsupported_image")
        for type in ["jpeg", "avc1", "unci", "tili"] {
            var other = item
            other.type = type
            #expect(reason(RawHEIF.file([other])) == "unsupported_image")
        }
        var unsized = item
        unsized.properties.removeFirst()
        #expect(reason(RawHEIF.file([unsized])) == "unsupported_image")
        var empty = item
        empty.data = []
        #expect(reason(RawHEIF.file([empty])) == "unsupported_image")
        // Some decoders search for start codes instead of trusting the lengths.
        var hidden = hevc(64, set: 64)
        hidden.data = RawHEIF.units(RawHEIF.slice + [0, 0, 1] + RawHEIF.parameters(9000, 9000))
        #expect(reason(RawHEIF.file([hidden])) == "bad_image")
        for count in 0..<file.count {
            #expect(reason(Array(file[..<count])) != nil, "\(count) bytes")
        }
    }

    @Test("SEC-R11 I3 randomly changed headers end in a check, and never end the program")
    func changes() {
        var random = SystemRandomNumberGenerator()
        let files = [
            RawHEIF.file([
                grid(120, columns: 2, rows: 1, of: [2, 3]), av1(64, coded: 64), hevc(64, set: 64),
            ]),
            RawHEIF.file([
                av1(
                    64, coded: 64, properties: [RawHEIF.auxiliary("alpha")],
                    references: [("auxl", [1])])
            ]),
            RawHEIF.file([
                Item(
                    type: "av01",
                    data: RawHEIF.movingSequence(64, 64, bits: 9)
                        + RawHEIF.movingFrame(ownSize: true),
                    properties: [RawHEIF.size(64, 64), RawHEIF.av1C()])
            ]),
        ]
        for round in 0..<9000 {
            var file = files[round % 3]
            for _ in 0...(round % 5) {
                let at = Int.random(in: 0..<file.count, using: &random)
                file[at] =
                    [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &random)]
                    .randomElement(using: &random) ?? 0
            }
            _ = reason(file)
        }
    }
}
