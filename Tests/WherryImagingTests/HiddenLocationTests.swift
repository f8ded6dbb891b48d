// Wherry: tests of locations in parts of a file that few programs write.
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryImaging

struct HiddenLocationTests {
    /// Returns the file as it is sent without locations, and with locations rounded to one decimal.
    private func sent(_ file: [UInt8]) throws -> [[UInt8]] {
        var noGPS = Compression()
        noGPS.metadata = .noGPS
        var rounded = Compression()
        rounded.metadata = .all
        rounded.edits.locationDecimals = 1
        return try [noGPS, rounded].map {
            try ImageEncoder.encode(.array(file), $0).bytes.array
        }
    }

    private func resource(_ id: UInt16, _ data: [UInt8]) -> [UInt8] {
        Array("8BIM".utf8) + [UInt8(id >> 8), UInt8(id & 255), 0, 0]
            + [0, 0, 0, UInt8(data.count)] + data + (data.count % 2 == 1 ? [0] : [])
    }

    @Test("I6 copies of EXIF and XMP in the resources of Photoshop are removed with the locations")
    func photoshop() throws {
        let resources =
            resource(0x0422, Array("copy of EXIF".utf8)) + resource(0x03ED, [1, 2, 3])
            + resource(0x0424, Array("copy of XMP".utf8))
        let app13 = Pictures.segment(0xED, Array("Photoshop 3.0\0".utf8) + resources)
        for bytes in try sent(Pictures.inserting(app13, into: Pictures.jpeg())) {
            #expect(!bytes.contains("copy of") && bytes.contains("8BIM\u{3}"))
        }
    }

    @Test(
        "I6 texts of a PNG that hold locations are removed with them",
        arguments: [
            "XML:com.adobe.xmp", "exif:GPSLatitude", "RAW PROFILE TYPE exif", "Longitude",
        ])
    func texts(keyword: String) throws {
        let chunks =
            PNGLayout.chunk("tEXt", Array("\(keyword)\0GPS 52.1".utf8))
            + PNGLayout.chunk("tEXt", Array("Comment\0hello".utf8))
            + PNGLayout.chunk(
                "zTXt", Array("\(keyword)\0\0".utf8) + RawPNG.zlib(Array("GPS 52.1".utf8)))
        let png = Pictures.inserting(
            chunks: chunks, into: try Pictures.png(Pictures.pattern(.rgb8, 12, 10)))
        for bytes in try sent(png) {
            #expect(!bytes.contains("52.1") && !bytes.contains(keyword))
            #expect(bytes.contains("hello"))
        }
    }

    @Test("I6 XMP inside EXIF is removed with the locations, and with an edit")
    func nestedXMP() throws {
        let packet = Array("<x exif:GPSLatitude='52.1'/>".utf8)
        var block = Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 2]
        block += [0x01, 0x0F, 0, 2, 0, 0, 0, 8, 0, 0, 0, 38]
        block += [0x02, 0xBC, 0, 1, 0, 0, 0, UInt8(packet.count), 0, 0, 0, 46]
        block += [0, 0, 0, 0] + Array("CamCam!\0".utf8) + packet
        let jpeg = Pictures.inserting(
            JPEGMetadataFilter.exifSegment(block), into: try Pictures.jpeg())
        var edited = Compression()
        edited.metadata = .all
        edited.edits.texts = [.artist: "Ada"]
        let more = try ImageEncoder.encode(.array(jpeg), edited).bytes.array
        for bytes in try sent(jpeg) + [more] {
            #expect(!bytes.contains("52.1") && bytes.contains("CamCam!"))
            #expect(try ImageInfo(inspecting: .array(bytes)).hasEXIF)
        }
    }

    @Test("I6 XMP in UTF-16 is removed with the locations")
    func wideXMP() throws {
        var packet: [UInt8] = []
        for byte in "<x exif:GPSLatitude='52.1'/>".utf8 { packet += [0, byte] }
        let name = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
        let segment = Pictures.segment(0xE1, name + packet)
        for bytes in try sent(Pictures.inserting(segment, into: Pictures.jpeg())) {
            #expect(!bytes.contains("ns.adobe.com"))
        }
    }

    @Test("SEC-R12 bytes before the end of a JPEG are removed, like those between segments")
    func bytesBeforeEnd() throws {
        let plain = try Pictures.jpeg()
        let comment = Pictures.segment(0xFE, Array("hello".utf8))
        let hidden = Array("GPS 52.1".utf8)
        let jpeg = Array(plain.dropLast(2)) + comment + hidden + [0xFF, 0xD9]
        for metadata in [Compression.Metadata.none, .icc, .noGPS] {
            var options = Compression()
            options.metadata = metadata
            let bytes = try ImageEncoder.encode(.array(jpeg), options).bytes.array
            let kept = metadata == .noGPS ? comment : []
            #expect(bytes == plain.dropLast(2) + kept + [0xFF, 0xD9])
        }
    }

    @Test("I6 only the first XMP packet of a PNG is read")
    func firstPacket() throws {
        func chunk(_ packet: String) -> [UInt8] {
            PNGLayout.chunk("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0\(packet)".utf8))
        }
        let large = String(repeating: " ", count: 1 << 20)
        let turned = "<x xmlns:tiff='http://ns.adobe.com/tiff/1.0/' tiff:Orientation='6'/>"
        let plain = try Pictures.png(Pictures.pattern(.rgb8, 12, 10))
        func orientation(_ chunks: [UInt8]) throws -> Int {
            let png = Pictures.inserting(chunks: chunks, into: plain)
            return try ImageInfo(inspecting: .array(png)).orientation
        }
        #expect(try orientation(chunk(turned) + chunk(large)) == 6)
        // A file with thousands of large packets would take minutes otherwise.
        #expect(try orientation(chunk(large) + chunk(turned)) == 1)
    }

    @Test("I6 of an EXIF block that is too long for a JPEG, the orientation is kept")
    func longBlock() throws {
        let block = Pictures.exif(orientation: 6, gps: false) + [UInt8](repeating: 1, count: 70_000)
        let png = Pictures.inserting(
            chunks: PNGLayout.chunk("eXIf", block),
            into: try Pictures.png(Pictures.pattern(.rgb8, 12, 10)))
        var options = Compression(quality: 0.9, type: "jpg")
        options.orientation = .keep
        for metadata in [Compression.Metadata.none, .icc, .noGPS, .all] {
            options.metadata = metadata
            let made = try ImageEncoder.encode(.array(png), options)
            #expect(try ImageInfo(inspecting: .bytes(made.bytes)).orientation == 6)
        }
    }

    @Test("I6 EXIF of a PNG that cannot be read is kept with all metadata")
    func unreadableBlock() throws {
        let plain = try Pictures.png(Pictures.pattern(.rgb8, 12, 10))
        var options = Compression()
        options.metadata = .all
        let long = Pictures.exif(orientation: 1, gps: false) + [UInt8](repeating: 1, count: 1 << 20)
        for block in [Array("no EXIF".utf8), long] {
            let png = Pictures.inserting(chunks: PNGLayout.chunk("eXIf", block), into: plain)
            options.edits = MetadataEdits()
            #expect(try ImageEncoder.encode(.array(png), options).bytes.array == png)
            options.edits.texts = [.artist: "Ada"]
            let edited = try ImageEncoder.encode(.array(png), options).bytes
            #expect(try ImageInfo(inspecting: .bytes(edited)).photo.artist == "Ada")
            #expect(edited.count < plain.count + 200)
        }
        let prefixed = Array("Exif\0\0".utf8) + Pictures.exif(orientation: 6, gps: true)
        let png = Pictures.inserting(chunks: PNGLayout.chunk("eXIf", prefixed), into: plain)
        let info = try ImageInfo(inspecting: .array(png))
        #expect(info.orientation == 6 && info.hasGPS)
        for bytes in try sent(png) { #expect(try !ImageInfo(inspecting: .array(bytes)).hasGPS) }
    }

    @Test("I6 a long XMP packet that repeats a field is removed once, whatever its size")
    func longPacket() throws {
        let name = Array("http://ns.adobe.com/xmp/extension/\0".utf8)
        func part(_ text: [UInt8]) -> [UInt8] {
            Pictures.segment(0xE1, name + [UInt8](repeating: 0x30, count: 40) + text)
        }
        let plain = try Pictures.jpeg()
        var options = Compression()
        options.metadata = .all
        options.edits.texts = [.artist: "Ada"]
        let quiet = [UInt8](repeating: 0x20, count: 60_000)
        for (count, isKept) in [(2, true), (300, false)] {
            let parts = Array(repeatElement(part(quiet), count: count).joined())
            let made = try ImageEncoder.encode(
                .array(Pictures.inserting(parts, into: plain)), options)
            #expect(made.bytes.array.contains("xmp/extension") == isKept)
        }
        let speaking = part(Array("dc:creator".utf8))
        let made = try ImageEncoder.encode(
            .array(Pictures.inserting(part(quiet) + speaking, into: plain)), options)
        #expect(!made.bytes.array.contains("xmp/extension"))
    }
}
