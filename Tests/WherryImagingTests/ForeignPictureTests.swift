// Wherry: tests with unusual images from other programs.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

struct ForeignPictureTests {
    private struct Row: Decodable {
        let name: String
        let file: Data
        let rgba: Data
    }
    private struct Table: Decodable { let cases: [Row] }

    /// Returns a row of Tests/Scenarios/picture-colours.json.
    private func row(_ name: String) throws -> Row {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Scenarios/picture-colours.json")
        let rows = try JSONDecoder().decode(Table.self, from: Data(contentsOf: path)).cases
        return try #require(rows.first { $0.name == name })
    }

    /// Browsers do not support arithmetic coding. An earlier version sent such a file unchanged at
    /// quality 1, and rejected it at any other quality, although libjpeg can decode it.
    @Test(
        "an arithmetic-coded JPEG is never sent unchanged",
        arguments: ["sequential", "progressive"])
    func arithmetic(how: String) throws {
        let row = try row("JPEG arithmetic \(how) to jpeg")
        let file = [UInt8](row.file)
        let made = try ImageEncoder.encode(.array(file), Compression())
        #expect(made.way == .turned)
        let frames = made.bytes.array.indices.filter {
            made.bytes.array[$0...].starts(with: [0xFF, 0xC0])
                || made.bytes.array[$0...].starts(with: [0xFF, 0xC2])
        }
        #expect(frames.count == 1)
        #expect(
            try ImageDecoder.decode(.bytes(made.bytes), as: .rgba8).packedBytes == [UInt8](row.rgba)
        )
        // The original is smaller than any Huffman-coded copy, but is not sent anyway.
        let smaller = try ImageEncoder.encode(.array(file), Compression(quality: 0.95))
        #expect(smaller.way == .recoded || smaller.way == .streamed || smaller.way == .whole)
        var limited = Compression()
        limited.maxWidth = 12
        #expect(try ImageEncoder.encode(.array(file), limited).width == 12)
    }

    /// An earlier version failed because of libjpeg's warning, although every browser shows the
    /// image.
    @Test("bytes between JPEG segments are accepted, and kept only with all metadata")
    func extraneous() throws {
        let plain = try Pictures.jpeg(40, 30)
        let second = try #require(
            plain[2...].indices.dropFirst(2).first { plain[$0] == 0xFF && plain[$0 + 1] == 0xDB })
        let padded =
            Array(plain[..<second]) + Array("secret".utf8) + [0, 0xFF, 0] + Array(plain[second...])
        let half = try ImageEncoder.encode(.array(padded), Compression(quality: 0.5))
        #expect(
            half.bytes.array
                == (try ImageEncoder.encode(.array(plain), Compression(quality: 0.5)).bytes.array))
        #expect(try ImageEncoder.encode(.array(padded), Compression()).bytes.array == plain)
        var all = Compression()
        all.metadata = .all
        #expect(try ImageEncoder.encode(.array(padded), all).bytes.array == padded)
    }

    @Test("the default image of an animated PNG is decoded on request")
    func animated() throws {
        let still = try Pictures.png(Pictures.pattern(.rgb8, 8, 6))
        let moving = Pictures.inserting(
            chunks: PNGLayout.chunk("acTL", [0, 0, 0, 2, 0, 0, 0, 0]), into: still)
        var options = Compression(quality: 0.9)
        options.format = .jpeg
        #expect(
            failure { _ = try ImageEncoder.encode(.array(moving), options) }?.reason == "animated")
        options.animated = .first
        let made = try ImageEncoder.encode(.array(moving), options)
        #expect(made.bytes.array == (try ImageEncoder.encode(.array(still), options).bytes.array))
        options.format = .keep
        options.maxWidth = 4
        let small = try ImageEncoder.encode(.array(moving), options)
        #expect(try !ImageInfo(inspecting: .bytes(small.bytes)).isAnimated)
        #expect(try ImageDecoder.decode(.array(moving), options).width == 4)
        options.maxWidth = nil
        #expect(try ImageDecoder.decode(.array(moving), options).width == 8)
        #expect(try ImageEncoder.encode(.array(moving), options).bytes.array == moving)
    }

    private static func xmp(_ orientation: Int, _ more: String = "") -> [UInt8] {
        Array(
            "<rdf:Description xmlns:tiff='http://ns.adobe.com/tiff/1.0/' tiff:Orientation='\(orientation)'\(more)/>"
                .utf8)
    }

    private static func xmpSegment(_ packet: [UInt8]) -> [UInt8] {
        Pictures.segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0".utf8) + packet)
    }

    @Test("U20 the orientation of XMP counts if EXIF has none, and never twice", arguments: 1...8)
    func xmpOrientation(orientation: Int) throws {
        let plain = try Pictures.jpeg(40, 30)
        let file = Pictures.inserting(Self.xmpSegment(Self.xmp(orientation)), into: plain)
        let info = try ImageInfo(inspecting: .array(file))
        #expect(info.orientation == orientation)
        var options = Compression()
        options.metadata = .all
        let upright = try ImageEncoder.encode(.array(file), options).bytes
        let after = try ImageInfo(inspecting: .bytes(upright))
        #expect(after.orientation == 1 && after.width == info.uprightSize.width)
        #expect(upright.array.contains("tiff:Orientation='1'"))
        // With `.keep`, the orientation is kept even if the XMP packet is removed.
        options.orientation = .keep
        options.metadata = .icc
        let kept = try ImageEncoder.encode(.array(file), options).bytes
        #expect(try ImageInfo(inspecting: .bytes(kept)).orientation == orientation)
        #expect(!kept.array.contains("tiff"))
        let both = Pictures.inserting(Pictures.exifSegment(orientation: 3), into: file)
        #expect(try ImageInfo(inspecting: .array(both)).orientation == 3)
    }

    /// The EXIF block has a camera name but no orientation. The XMP packet with the orientation is
    /// removed because it contains the location.
    @Test(
        "U20 an XMP orientation moves to EXIF if the packet is removed", arguments: [true, false])
    func movedOrientation(little: Bool) throws {
        func n16(_ v: Int) -> [UInt8] { little ? [UInt8(v), 0] : [0, UInt8(v)] }
        func n32(_ v: Int) -> [UInt8] { little ? [UInt8(v), 0, 0, 0] : [0, 0, 0, UInt8(v)] }
        var block = Array((little ? "II" : "MM").utf8) + n16(42) + n32(8) + n16(1)
        block += n16(1) + n16(2) + n32(4) + Array("Cam!".utf8) + n32(0)
        // Tag 1 comes before the orientation tag, whose number is higher.
        let exif = Pictures.segment(0xE1, Array("Exif\0\0".utf8) + block)
        let packet = Self.xmpSegment(Self.xmp(6, " exif:GPSLatitude='1'"))
        let file = Pictures.inserting(exif + packet, into: try Pictures.jpeg(40, 30))
        var options = Compression()
        options.metadata = .noGPS
        options.orientation = .keep
        let kept = try ImageEncoder.encode(.array(file), options).bytes
        #expect(!kept.array.contains("GPS") && kept.array.contains("Cam!"))
        #expect(try ImageInfo(inspecting: .bytes(kept)).orientation == 6)
    }

    @Test("invalid XMP is harmless")
    func nonsense() {
        for text in [
            "", "tiff:Orientation", "tiff:Orientation=", "tiff:Orientation='",
            "tiff:Orientation='9'",
            "tiff:Orientation='12'", "tiff:Orientation>3", "=\"http://ns.adobe.com/tiff/1.0/\"",
            "http://ns.adobe.com/tiff/1.0/",
        ] {
            #expect(XMP(Array(text.utf8)).orientation == nil, "\(text)")
        }
        #expect(XMP(Array("tiff:Orientation = '9' tiff:Orientation>\n 5 <".utf8)).orientation == 5)
    }

    /// An earlier version sent such a file unchanged at quality 1, and no program could open it.
    @Test("a PNG with an invalid header is refused even if it would be sent unchanged")
    func invalidHeader() throws {
        let good = RawPNG(width: 2, height: 2, depth: 8, colorType: 0, data: [0, 1, 2, 0, 3, 4])
        #expect(failure { _ = try ImageEncoder.encode(.array(good.file), Compression()) } == nil)
        for (depth, type) in [(3, 0), (16, 3), (1, 2), (4, 4), (8, 1), (8, 5), (0, 0)] {
            var bad = good
            bad.depth = depth
            bad.colorType = type
            let error = failure { _ = try ImageEncoder.encode(.array(bad.file), Compression()) }
            #expect(error?.reason == "bad_image", "\(depth) bits of type \(type)")
        }
        for at in 16..<33 {
            var bad = good.file
            bad[at] ^= 0x40
            #expect(
                failure { _ = try ImageEncoder.encode(.array(bad), Compression()) } != nil, "\(at)")
        }
    }
}
