// Wherry: tests of image orientation, color profiles and locations.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

struct MetadataTests {
    @Test("U18 an image's type is detected by its first bytes")
    func recognise() {
        #expect(ImageFormat.recognise([0xFF, 0xD8]) == .jpeg)
        #expect(ImageFormat.recognise([0x89]) == .png)
        #expect(ImageFormat.recognise(Array("GIF89a".utf8)) == .gif)
        #expect(ImageFormat.recognise(Array("II*\0".utf8)) == .tiff)
        #expect(ImageFormat.recognise(Array("MM\0*".utf8)) == .tiff)
        #expect(ImageFormat.recognise(Array("RIFF\u{1}\u{2}\u{3}\u{4}WEBPVP8 ".utf8)) == .webp)
        #expect(ImageFormat.recognise(Array("RIFF\u{1}\u{2}\u{3}\u{4}WAVE".utf8)) == nil)
        #expect(ImageFormat.recognise(Array("RIFF".utf8)) == nil)
        func branded(_ brands: String, _ rest: String = "") -> ImageFormat? {
            let box = RawHEIF.box(
                "ftyp", Array((brands.prefix(4) + "0000" + brands.dropFirst(4)).utf8))
            return ImageFormat.recognise(box + Array(rest.utf8))
        }
        #expect(branded("heicmif1heicavif") == .heic)
        #expect(branded("avifmif1heic") == .avif)
        #expect(branded("mif1mif1miafMA1Bavif") == .avif)
        #expect(branded("msf1avisheic") == .avif)
        #expect(branded("mif1heic", "avif") == .heic)
        #expect(branded("mif1miaf", "avif") == .heic)
        #expect(branded("mp42avif") == nil)
        #expect(ImageFormat.recognise([]) == nil)
        #expect(ImageFormat.recognise([0]) == nil)
    }

    @Test("U5 SJNetwork's type words give its extensions and types")
    func typeNames() {
        for word in ["png", "PNG"] {
            #expect(ImageTypeName(word).format == .png)
            #expect(ImageTypeName(word).fileExtension == "png")
        }
        for word in ["jpg", "JPG", nil, "gif", "Png", "Jpeg"] {
            #expect(ImageTypeName(word).format == .jpeg)
            #expect(ImageTypeName(word).fileExtension == "jpg")
            #expect(ImageTypeName(word).mediaType == "image/jpeg")
            #expect(ImageTypeName(word).compatibleMediaType == "image/jpg")
        }
        for word in ["jpeg", "JPEG"] {
            #expect(ImageTypeName(word).fileExtension == "jpeg")
            #expect(ImageTypeName(word).compatibleMediaType == "image/jpeg")
        }
    }

    @Test("the header has size, components, and other properties")
    func inspect() throws {
        var jpeg = try Pictures.jpeg(64, 48)
        jpeg = Pictures.inserting(Pictures.exifSegment(orientation: 6), into: jpeg)
        let info = try ImageInfo(inspecting: .array(jpeg))
        #expect(info.format == .jpeg)
        #expect((info.width, info.height) == (64, 48))
        #expect(info.uprightSize == (48, 64))
        #expect(info.orientation == 6)
        #expect(info.hasEXIF && info.hasGPS && !info.hasICC && !info.isAnimated)
        #expect(info.byteCount == jpeg.count)

        let png = try Pictures.png(Pictures.pattern(.rgba8, 9, 7))
        let other = try ImageInfo(inspecting: .array(png))
        #expect(other.format == .png && other.hasAlpha && other.components == 4)
        #expect(try ImageInfo(inspecting: .pixels(Pictures.pattern(.gray8, 3, 2))).format == .keep)
    }

    @Test("U20 all eight orientations become upright", arguments: 1...8, [true, false])
    func orientations(orientation: Int, little: Bool) throws {
        let upright = try Pictures.pattern(.rgb8, 48, 32)
        let stored = try Self.stored(upright, orientation)
        let exif = Pictures.exif(orientation: orientation, gps: true, little: little)

        let png = Pictures.inserting(
            chunks: PNGLayout.chunk("eXIf", exif), into: try Pictures.png(stored))
        let sentPNG = try ImageEncoder.encode(.array(png), Compression())
        #expect((sentPNG.width, sentPNG.height) == (48, 32))
        #expect(try ImageDecoder.decode(.bytes(sentPNG.bytes)).packedBytes == upright.packedBytes)
        #expect(try ImageInfo(inspecting: .bytes(sentPNG.bytes)).orientation == 1)

        var options = Compression(quality: 0.95, type: "jpg")
        options.subsampling = .s444
        let plain = try ImageEncoder.encode(.pixels(stored), options).bytes.array
        let segment = Pictures.segment(0xE1, Array("Exif\0\0".utf8) + exif)
        let jpeg = Pictures.inserting(segment, into: plain)
        for quality in [0.9, 1] {
            for metadata in [Compression.Metadata.icc, .all, .noGPS] {
                var change = Compression(quality: quality)
                change.metadata = metadata
                let sent = try ImageEncoder.encode(.array(jpeg), change)
                #expect((sent.width, sent.height) == (48, 32))
                let info = try ImageInfo(inspecting: .bytes(sent.bytes))
                #expect((info.width, info.height, info.orientation) == (48, 32, 1))
                #expect(info.hasEXIF == (metadata != .icc))
                #expect(info.hasGPS == (metadata == .all))
                let after = try ImageDecoder.decode(.bytes(sent.bytes))
                #expect(psnr(upright, after) > 30)
            }
        }
    }

    @Test("U7 at ratio 1 a JPEG is rotated losslessly if its edges allow it", arguments: 1...8)
    func turnedWithoutLoss(orientation: Int) throws {
        for (samples, progressive) in [
            (Compression.Subsampling.s420, false), (.s422, true), (.s444, false),
        ] {
            let plain = try Pictures.jpeg(64, 48, quality: 0.8) {
                $0.subsampling = samples
                $0.progressive = progressive
            }
            let jpeg = Pictures.inserting(
                Pictures.exifSegment(orientation: orientation), into: plain)
            let sent = try ImageEncoder.encode(.array(jpeg), Compression())
            #expect(sent.way == (orientation == 1 ? .stripped : .turned))
            #expect(sent.quality == nil)
            #expect(sent.bytes.count < plain.count + 700)
            #expect(try ImageInfo(inspecting: .bytes(sent.bytes)).isProgressive == progressive)
            let expected = try ImageDecoder.decode(.array(jpeg), as: .gray8)
            let seen = try ImageDecoder.decode(.bytes(sent.bytes), as: .gray8)
            // The coefficients are equal, but libjpeg rounds columns and rows differently.
            #expect(psnr(expected, seen) > 50)

            // After the inverse rotation, the coefficients equal the original ones.
            let inverse = [6: 8, 8: 6][orientation] ?? orientation
            let back = try ImageEncoder.encode(
                .array(
                    Pictures.inserting(
                        Pictures.exifSegment(orientation: inverse), into: sent.bytes.array)),
                Compression())
            #expect(
                try ImageDecoder.decode(.bytes(back.bytes)).packedBytes
                    == ImageDecoder.decode(.array(plain)).packedBytes)
        }
    }

    @Test("U7 a JPEG that cannot be rotated losslessly keeps its quantization", arguments: 2...8)
    func turnedWithItsTables(orientation: Int) throws {
        let plain = try Pictures.jpeg(61, 45, quality: 0.5)
        let jpeg = Pictures.inserting(Pictures.exifSegment(orientation: orientation), into: plain)
        let sent = try ImageEncoder.encode(.array(jpeg), Compression())
        #expect(sent.way == (orientation == 2 ? .streamed : orientation == 5 ? .turned : .whole))
        #expect(Double(sent.bytes.count) < Double(plain.count) * 1.4)
        let expected = try ImageDecoder.decode(.array(jpeg), as: .gray8)
        #expect(psnr(expected, try ImageDecoder.decode(.bytes(sent.bytes), as: .gray8)) > 32)
    }

    @Test("an orientation that is kept survives the stripping of EXIF", arguments: [0.6, 1])
    func keptOrientation(quality: Double) throws {
        let exif = Pictures.exifSegment(orientation: 8)
        let jpeg = Pictures.inserting(exif, into: try Pictures.jpeg(64, 48))
        var options = Compression(quality: quality)
        options.orientation = .keep
        let sent = try ImageEncoder.encode(.array(jpeg), options)
        let info = try ImageInfo(inspecting: .bytes(sent.bytes))
        #expect((info.width, info.height, info.orientation) == (64, 48, 8))
        #expect(!info.hasGPS)
        #expect(!sent.bytes.array.contains("CamCam"))

        let png = Pictures.inserting(
            chunks: PNGLayout.chunk("eXIf", Pictures.exif(orientation: 3, gps: true)),
            into: try Pictures.png(Pictures.pattern(.rgb8, 8, 8)))
        let sentPNG = try ImageEncoder.encode(.array(png), options)
        let infoPNG = try ImageInfo(inspecting: .bytes(sentPNG.bytes))
        #expect(infoPNG.orientation == 3 && !infoPNG.hasGPS)
    }

    @Test("U20 SEC-R12 metadata is removed without touching the coded image")
    func stripped() throws {
        let plain = try Pictures.jpeg()
        let profile = Self.profile("RGB ")
        let icc = JPEGMetadataFilter.profileSegments(profile)
        let rest =
            Pictures.exifSegment(orientation: 1)
            + Pictures.segment(
                0xE1, Array("http://ns.adobe.com/xap/1.0/\0<x exif:GPSLatitude=1/>".utf8))
            + Pictures.segment(0xED, Array("Photoshop 3.0\0caption".utf8))
            + Pictures.segment(0xFE, Array("a comment".utf8))
        let film = Array("ftypmp42 film with a place".utf8)
        let jpeg = Pictures.inserting(icc + rest, into: plain) + film

        func send(_ metadata: Compression.Metadata) throws -> EncodedImage {
            var options = Compression()
            options.metadata = metadata
            return try ImageEncoder.encode(.array(jpeg), options)
        }
        #expect(try send(.icc).bytes.array == Pictures.inserting(icc, into: plain))
        #expect(try send(.none).bytes.array == plain)
        #expect(try send(.none).way == .stripped)
        #expect(try send(.all).bytes.array == jpeg)
        #expect(try send(.all).way == .untouched)
        let noPlaces = try send(.noGPS).bytes.array
        let info = try ImageInfo(inspecting: .array(noPlaces))
        #expect(info.hasEXIF && !info.hasGPS && info.hasICC)
        #expect(noPlaces.contains("CamCam") && noPlaces.contains("a comment"))
        #expect(!noPlaces.contains("GPS") && !noPlaces.contains("film"))
        #expect(Data(noPlaces).range(of: Data([0x92, 0x10, 0, 0, 1, 0, 0, 0])) == nil)
    }

    @Test("PNG texts, times, and locations are removed, colors stay")
    func strippedPNG() throws {
        let plain = try Pictures.png(Pictures.pattern(.rgb8, 12, 10))
        let colours = PNGLayout.chunk("gAMA", [0, 0, 0xB1, 0x8F])
        let texts =
            PNGLayout.chunk("tEXt", Array("Comment\0secret".utf8))
            + PNGLayout.chunk("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0GPSLatitude".utf8))
            + PNGLayout.chunk("tIME", [7, 230, 1, 1, 0, 0, 0])
            + PNGLayout.chunk("eXIf", Pictures.exif(orientation: 1, gps: true))
        let png = Pictures.inserting(chunks: colours + texts, into: plain)
        let sent = try ImageEncoder.encode(.array(png), Compression())
        #expect(sent.bytes.array == Pictures.inserting(chunks: colours, into: plain))
        var options = Compression()
        options.metadata = .noGPS
        let places = try ImageEncoder.encode(.array(png), options).bytes.array
        #expect(places.contains("secret") && !places.contains("GPS"))
        #expect(try ImageInfo(inspecting: .array(places)).hasGPS == false)
        options.metadata = .all
        #expect(try ImageEncoder.encode(.array(png), options).bytes.array == png)
    }

    @Test("U20 a second EXIF block of a PNG is removed: only the first was checked")
    func secondBlock() throws {
        let first = PNGLayout.chunk("eXIf", Pictures.exif(orientation: 1, gps: false))
        let second = PNGLayout.chunk("eXIf", Pictures.exif(orientation: 1, gps: true))
        let plain = try Pictures.png(Pictures.pattern(.rgb8, 12, 10))
        var options = Compression()
        options.metadata = .noGPS
        let png = Pictures.inserting(chunks: first + second, into: plain)
        let sent = try ImageEncoder.encode(.array(png), options)
        #expect(sent.bytes.array == Pictures.inserting(chunks: first, into: plain))
        options.metadata = .all
        #expect(try ImageEncoder.encode(.array(png), options).bytes.array == png)
    }

    @Test("U20 an EXIF block full of GPS directories is removed, its orientation stays")
    func manyPlaces() throws {
        // 65,535 entries of 12 bytes, each of them a GPS directory. Removing them one by one would
        // move 25 GB of memory.
        var exif: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0xFF, 0xFF]
        exif += [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 3, 0, 0]
        for _ in 1..<65_535 { exif += [0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 8] }
        exif += [0, 0, 0, 0]
        let block = try #require(EXIF(exif))
        #expect(block.hasGPS && block.orientation == 3)
        #expect(block.withoutGPS() == nil)

        var options = Compression()
        options.metadata = .noGPS
        options.orientation = .keep
        let plain = try Pictures.png(Pictures.pattern(.rgb8, 12, 10))
        let png = Pictures.inserting(chunks: PNGLayout.chunk("eXIf", exif), into: plain)
        let info = try ImageInfo(
            inspecting: .bytes(ImageEncoder.encode(.array(png), options).bytes))
        #expect(info.hasEXIF && !info.hasGPS && info.orientation == 3)

        // The same in a JPEG, with as many entries as fit in a segment.
        let segment = Pictures.segment(
            0xE1, Array("Exif\0\0MM".utf8) + [0, 42, 0, 0, 0, 8, 0x14, 0x00] + exif[10..<61_450])
        let jpeg = Pictures.inserting(segment, into: try Pictures.jpeg())
        let sent = try ImageInfo(
            inspecting: .bytes(ImageEncoder.encode(.array(jpeg), options).bytes))
        #expect(sent.hasEXIF && !sent.hasGPS && sent.orientation == 3)
    }

    @Test("U20 an EXIF block with a directory in its header is removed")
    func directoryInHeader() throws {
        // The main directory starts at byte 2, so that the number 42 of the header is its number of
        // entries. The second entry is a GPS directory; without it, the header said 41.
        var exif: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 2]
        exif += [UInt8](repeating: 0, count: 600)
        exif.replaceSubrange(16..<28, with: [0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 2, 0])
        let block = try #require(EXIF(exif))
        #expect(block.hasGPS && block.withoutGPS() == nil)
    }

    @Test("U20 overlapping values in a GPS directory are not wiped endlessly")
    func overlappingValues() throws {
        // A GPS directory of 900 entries, each of which claims the complete block as its value.
        var exif: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1]
        exif += [0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 26, 0, 0, 0, 0] + [0x03, 0x84]
        for _ in 0..<900 { exif += [0, 1, 0, 1, 0, 0x10, 0, 0, 0, 0, 0x2B, 0] }
        exif += [UInt8](repeating: 7, count: 900_000)
        #expect(try #require(EXIF(exif)).withoutGPS() == nil)
    }

    @Test("U20 a color profile is kept when the image is re-encoded")
    func profiles() throws {
        let profile = Self.profile("RGB ")
        let jpeg = Pictures.inserting(
            JPEGMetadataFilter.profileSegments(profile), into: try Pictures.jpeg(quality: 1))
        var options = Compression(quality: 0.5)
        func profileAfter() throws -> [UInt8]? {
            let sent = try ImageEncoder.encode(.array(jpeg), options).bytes
            let input = ImageInput(sent)
            return try JPEGLayout(input, whole: true).profile(input)
        }
        #expect(try profileAfter() == profile)
        options.metadata = .none
        #expect(try profileAfter() == nil)

        // A profile for another color space would distort the colors.
        let wrong = Pictures.inserting(
            JPEGMetadataFilter.profileSegments(Self.profile("CMYK")),
            into: try Pictures.jpeg(quality: 1))
        let sent = try ImageEncoder.encode(.array(wrong), Compression(quality: 0.5))
        #expect(try !ImageInfo(inspecting: .bytes(sent.bytes)).hasICC)
    }

    @Test("invalid EXIF blocks are harmless")
    func nonsense() {
        var random = SystemRandomNumberGenerator()
        let sound = Pictures.exif(orientation: 5, gps: true)
        for _ in 0..<3_000 {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: 8..<bytes.count, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            guard let damaged = EXIF(bytes) else { continue }
            #expect((1...8).contains(damaged.orientation ?? 1))
            guard var exif = damaged.withoutGPS() else { continue }
            #expect(!exif.hasGPS)
            exif.setOrientation(1)
            #expect((exif.orientation ?? 1) == 1)
            #expect(exif.bytes.count == bytes.count)
        }
    }

    /// Returns the stored form of an upright image for an EXIF orientation.
    static func stored(_ upright: PixelBuffer, _ orientation: Int) throws -> PixelBuffer {
        let (w, h) = (upright.width, upright.height)
        let swaps = orientation >= 5
        let (sw, sh) = swaps ? (h, w) : (w, h)
        let from = upright.packedBytes
        var to = [UInt8](repeating: 0, count: from.count)
        for y in 0..<h {
            for x in 0..<w {
                // The position at which EXIF stores the upright pixel (x, y).
                let (sx, sy) =
                    switch orientation {
                    case 2: (w - 1 - x, y)
                    case 3: (w - 1 - x, h - 1 - y)
                    case 4: (x, h - 1 - y)
                    case 5: (y, x)
                    case 6: (y, w - 1 - x)
                    case 7: (h - 1 - y, w - 1 - x)
                    case 8: (h - 1 - y, x)
                    default: (x, y)
                    }
                for i in 0..<3 { to[(sy * sw + sx) * 3 + i] = from[(y * w + x) * 3 + i] }
            }
        }
        return try PixelBuffer(copying: to, format: .rgb8, width: sw, height: sh)
    }

    /// Returns data that superficially looks like an ICC profile.
    static func profile(_ space: String) -> [UInt8] {
        var bytes = [UInt8](repeating: 7, count: 3_000)
        bytes.replaceSubrange(0..<4, with: [0, 0, 0x0B, 0xB8])
        bytes.replaceSubrange(16..<20, with: Array(space.utf8))
        bytes.replaceSubrange(36..<40, with: Array("acsp".utf8))
        return bytes
    }
}
