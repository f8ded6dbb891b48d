// Wherry: tests of changes of metadata.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

@Suite struct MetadataEditTests {
    private static let texts: [MetadataField: String] = [
        .copyright: "© 2026 Ada", .artist: "Ada Lovelace", .description: "Line 1\nLine 2 é",
        .software: "Engine 1.0", .takenAt: "2026-11-28T20:15:30+01:00", .make: "Acme & Sons",
        .model: "X",
    ]

    private func edits(_ texts: [MetadataField: String], decimals: Int? = nil) -> MetadataEdits {
        var edits = MetadataEdits()
        edits.texts = texts
        edits.locationDecimals = decimals
        return edits
    }

    private func compression(
        _ texts: [MetadataField: String] = [:], decimals: Int? = nil,
        _ metadata: Compression.Metadata = .all, quality: Double = 1
    ) -> Compression {
        var compression = Compression(quality: quality)
        compression.metadata = metadata
        compression.edits = edits(texts, decimals: decimals)
        return compression
    }

    private func photo(_ image: EncodedImage) throws -> PhotoInfo {
        try ImageInfo(inspecting: .bytes(image.bytes)).photo
    }

    /// A JPEG with a block, or with other segments.
    private func jpeg(_ block: [UInt8], width: Int = 64) throws -> [UInt8] {
        let segment = Pictures.segment(0xE1, Array("Exif\0\0".utf8) + block)
        return Pictures.inserting(segment, into: try Pictures.jpeg(width))
    }

    private func check(_ photo: PhotoInfo) {
        #expect(photo.copyright == "© 2026 Ada" && photo.artist == "Ada Lovelace")
        #expect(photo.description == "Line 1\nLine 2 é" && photo.software == "Engine 1.0")
        #expect(photo.takenAt == "2026-11-28T20:15:30+01:00")
        #expect(photo.make == "Acme & Sons" && photo.model == "X")
    }

    @Test("I6 a block with a directory in its header is not edited")
    func directoryInHeader() throws {
        // The GPS directory starts at byte 2, so that the number 42 of the header is its number of
        // entries, and has a time at byte 28. After its removal, the header said 3.
        var exif: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1]
        exif += [0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]
        exif += [0, 7, 0, 5, 0, 0, 0, 3, 0, 0, 0, 60] + [UInt8](repeating: 0, count: 48)
        let places = try #require(EXIF(exif))
        #expect(places.edited(edits([.takenAt: ""])) == nil)
        #expect(places.edited(edits([:], decimals: 1))?.hasGPS == false)

        exif[7] = 2
        let main = try #require(EXIF(exif))
        #expect(main.edited(edits([.make: "Acme"])) == nil)
    }

    @Test("I6 overlapping values are not overwritten endlessly")
    func overlappingValues() throws {
        // 900 entries, each of which claims the complete block as its value.
        var exif: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0x03, 0x84]
        for _ in 0..<900 { exif += [1, 0x0F, 0, 2, 0, 0x0D, 0, 0, 0, 0, 0x2B, 0] }
        exif += [0, 0, 0, 0] + [UInt8](repeating: 7, count: 900_000)
        let edited = try #require(EXIF(exif)?.edited(edits([.make: ""])))
        #expect(edited.isEmpty && edited.bytes[0x2B00..<0xD_2B00].allSatisfy { $0 == 0 })
    }

    // MARK: Ways

    @Test(
        "I6 texts are set however the image is made, and whatever metadata is kept",
        arguments: [Compression.Metadata.none, .icc, .noGPS, .all])
    func everyWay(metadata: Compression.Metadata) throws {
        let pixels = try Pictures.pattern(.rgb8, 64, 48)
        var upright = PhotoTests.Block()
        upright.main.removeLast()
        let sources: [(String, ImageSource)] = try [
            ("plain JPEG", .array(Pictures.jpeg())),
            ("JPEG", .array(jpeg(upright.bytes))),
            ("turned JPEG", .array(jpeg(PhotoTests.Block().bytes))),
            ("JPEG that cannot be turned", .array(jpeg(PhotoTests.Block().bytes, width: 61))),
            ("plain PNG", .array(Pictures.png(pixels))),
            (
                "PNG",
                .array(
                    Pictures.inserting(
                        chunks: PNGLayout.chunk("eXIf", PhotoTests.Block().bytes),
                        into: Pictures.png(pixels)))
            ),
            ("pixels", .pixels(pixels)),
        ]
        var ways: Set<EncodedImage.Way> = []
        for (name, source) in sources {
            for format in [ImageFormat.keep, .jpeg, .png] {
                for (quality, width) in [(1.0, nil), (0.5, nil), (0.9, 20)] as [(Double, Int?)] {
                    var change = compression(Self.texts, metadata, quality: quality)
                    change.format = format
                    change.maxWidth = width
                    change.neverLarger = false
                    change.subsampling = .s444
                    let made = try ImageEncoder.encode(source, change)
                    ways.insert(made.way)
                    check(try photo(made))
                    let info = try ImageInfo(inspecting: .bytes(made.bytes))
                    #expect(info.orientation == 1, "\(name) \(format)")
                    if metadata != .all { #expect(!info.hasGPS) }
                    #expect(try ImageDecoder.decode(.bytes(made.bytes)).width == made.width)
                    let both = try ImageEncoder.encode(source, [change, change])
                    #expect(both[0].bytes == both[1].bytes)
                    check(try photo(both[1]))
                }
            }
        }
        #expect(ways == [.stripped, .turned, .recoded, .streamed, .whole])
    }

    @Test("I6 the smaller original is sent with the edits")
    func neverLarger() throws {
        let original = try Pictures.jpeg(quality: 0.3)
        let made = try ImageEncoder.encode(
            .array(original), compression([.copyright: "Ada"], .icc, quality: 0.95))
        #expect(made.way == .stripped && made.quality == nil)
        #expect(try photo(made).copyright == "Ada")
        let pixels = try ImageDecoder.decode(.bytes(made.bytes)).packedBytes
        #expect(try pixels == ImageDecoder.decode(.array(original)).packedBytes)
    }

    @Test("I6 an image in which an edit changes nothing is sent unchanged")
    func noChange() throws {
        let plain = try Pictures.jpeg()
        let absent = try ImageEncoder.encode(
            .array(plain), compression([.artist: "", .takenAt: ""], decimals: 2))
        #expect(absent.way == .untouched && absent.bytes.array == plain)
        let file = try jpeg(PhotoTests.Block().bytes)
        var same = compression([.make: "Acme", .takenAt: "2024-05-01T12:34:56+02:00"])
        same.orientation = .keep
        #expect(try photo(ImageEncoder.encode(.array(file), same)).make == "Acme")
        #expect(try ImageEncoder.encode(.array(file), same).bytes.count == file.count)
    }

    @Test("I6 a kept orientation survives an edit")
    func keptOrientation() throws {
        for metadata in [Compression.Metadata.icc, .noGPS, .all] {
            var change = compression([.artist: "Ada"], metadata)
            change.orientation = .keep
            let made = try ImageEncoder.encode(.array(jpeg(PhotoTests.Block().bytes)), change)
            let info = try ImageInfo(inspecting: .bytes(made.bytes))
            #expect(info.orientation == 6 && info.photo.artist == "Ada")
        }
    }

    // MARK: EXIF

    /// The bytes of all values outside the main, EXIF, and GPS directories, by offset.
    private func values(_ exif: EXIF, without tags: Set<Int>) -> [Int: [UInt8]] {
        var found: [Int: [UInt8]] = [:]
        var directories = exif.walk().directories
        if let places = exif.directory(0x8825, in: exif.mainDirectory) {
            directories.append(places)
        }
        for directory in directories {
            for entry in exif.entries(directory) where !tags.contains(exif.u16(entry) ?? 0) {
                guard let tag = exif.u16(entry), let type = exif.u16(entry + 2),
                    let range = exif.value(tag, type: type, in: directory), range.count > 4
                else { continue }
                found[range.lowerBound] = Array(exif.bytes[range])
            }
        }
        return found
    }

    @Test("I6 all other values keep their bytes and offsets, in both byte orders")
    func otherValues() throws {
        for isLittle in [true, false] {
            var block = PhotoTests.Block()
            block.isLittle = isLittle
            // The notes of a camera maker, which contain offsets.
            block.details.append(.raw(0x927C, (0..<200).map { UInt8(truncatingIfNeeded: $0 * 7) }))
            block.main.append(.text(0x8298, "An old owner of the image"))
            let before = try #require(EXIF(block.bytes))
            let edited: Set<Int> = [
                0x8298, 0x013B, 0x010E, 0x0131, 0x9003, 0x9011, 0x9000, 0x010F, 0x0110,
            ]
            let after = try #require(before.edited(edits(Self.texts)))
            check(PhotoInfo(after))
            let old = values(before, without: edited)
            let new = values(after, without: edited)
            #expect(old.count == 4 && new == old)
            #expect(!after.bytes.contains("old owner"))
            #expect(PhotoInfo(after).position == PhotoInfo(before).position)
            #expect(after.orientation == 6)
            // Entries stay sorted by tag.
            for directory in after.walk().directories {
                let tags = after.entries(directory).compactMap { after.u16($0) }
                #expect(tags == tags.sorted())
            }
            // Shorter texts use the place of the old ones.
            let again = try #require(after.edited(edits([.copyright: "Ada", .model: "Y"])))
            #expect(again.bytes.count == after.bytes.count)
            #expect(PhotoInfo(again).copyright == "Ada" && PhotoInfo(again).model == "Y")
        }
    }

    @Test("I6 removed texts leave no byte in the file, and an empty block is removed")
    func removed() throws {
        for isLittle in [true, false] {
            var block = PhotoTests.Block()
            block.isLittle = isLittle
            block.main += [.text(0x013B, "Secret Person"), .raw(0x9C9D, Array("S\0e\0c\0".utf8))]
            block.details.append(.text(0x9004, "2024:05:01 12:34:57"))
            block.places += [.text(29, "2024:05:01")]
            let file = try jpeg(block.bytes)
            let made = try ImageEncoder.encode(
                .array(file), compression([.artist: "", .takenAt: "", .make: "", .model: ""]))
            let bytes = made.bytes.array
            for text in ["Secret", "S\0e\0c", "2024:05:01", "Acme", "+02:00"] {
                #expect(file.contains(text) && !bytes.contains(text), "\(text)")
            }
            let left = try photo(made)
            #expect(left.artist == nil && left.takenAt == nil && left.make == nil)
            #expect(left.position != nil && left.altitude == -35.5)
        }
        let fresh = try #require(EXIF(EXIF.empty)?.edited(edits(Self.texts)))
        let nothing = try #require(fresh.edited(edits(Self.texts.mapValues { _ in "" })))
        // The version of EXIF is left.
        #expect(PhotoInfo(nothing) == PhotoInfo() && !nothing.isEmpty)
        let file = try jpeg(#require(EXIF(EXIF.empty)?.edited(edits([.artist: "Ada"]))).bytes)
        let made = try ImageEncoder.encode(.array(file), compression([.artist: ""]))
        #expect(made.bytes.array == (try Pictures.jpeg()))
    }

    @Test("I6 a new time replaces the offset and the fraction of the old one")
    func time() throws {
        var block = PhotoTests.Block()
        block.details.append(.text(0x9291, "789456"))
        let exif = try #require(EXIF(block.bytes))
        let after = try #require(exif.edited(edits([.takenAt: "2020-02-29 23:59:59"])))
        #expect(PhotoInfo(after).takenAt == "2020-02-29T23:59:59")
        #expect(!after.bytes.contains("789456"))
        let zulu = try #require(exif.edited(edits([.takenAt: "2020-02-29T23:59:59Z"])))
        #expect(PhotoInfo(zulu).takenAt == "2020-02-29T23:59:59+00:00")
    }

    @Test("I6 values that another entry uses are not erased")
    func shared() throws {
        var bytes: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 2]
        for tag: UInt8 in [0x0F, 0x10] { bytes += [1, tag, 0, 2, 0, 0, 0, 6, 0, 0, 0, 38] }
        bytes += [0, 0, 0, 0] + Array("Shared".utf8)
        let exif = try #require(EXIF(bytes))
        #expect(PhotoInfo(exif).make == "Shared" && PhotoInfo(exif).model == "Shared")
        let after = try #require(exif.edited(edits([.make: ""])))
        #expect(PhotoInfo(after).make == nil && PhotoInfo(after).model == "Shared")
        let both = try #require(exif.edited(edits([.make: "First", .model: "Second"])))
        #expect(PhotoInfo(both).make == "First" && PhotoInfo(both).model == "Second")
        #expect(!both.bytes.contains("Shared"))
    }

    // MARK: Location

    @Test(
        "I6 a location is rounded, and what could tell it more precisely is removed",
        arguments: [
            (0, 49, -2), (1, 48.9, -2.3), (2, 48.86, -2.29), (3, 48.858, -2.294),
            (6, 48.8583, -2.2945),
        ] as [(Int, Double, Double)])
    func rounded(decimals: Int, latitude: Double, longitude: Double) throws {
        for isLittle in [true, false] {
            var block = PhotoTests.Block()
            block.isLittle = isLittle
            block.places += [.text(28, "At home"), .byte(30, 1)]
            let before = try #require(EXIF(block.bytes))
            let after = try #require(before.edited(edits([:], decimals: decimals)))
            let position = try #require(PhotoInfo(after).position)
            #expect(abs(position.latitude - latitude) < 1e-12)
            #expect(abs(position.longitude - longitude) < 1e-12)
            #expect(PhotoInfo(after).altitude == nil && PhotoInfo(after).make == "Acme")
            #expect(!after.bytes.contains("home"))
            // Neither the seconds nor the height are left as numbers.
            for number in [2_988, 402, 355] {
                let big: [UInt8] = [0, 0, UInt8(number >> 8), UInt8(number & 255)]
                let stored = Data(isLittle ? big.reversed() : big)
                #expect(Data(before.bytes).range(of: stored) != nil)
                #expect(Data(after.bytes).range(of: stored) == nil)
            }
            // Minutes and seconds are below 60, as in the files of cameras.
            let places = try #require(after.directory(0x8825, in: after.mainDirectory))
            let range = try #require(after.value(2, type: 5, in: places))
            let numbers = stride(from: range.lowerBound, to: range.upperBound, by: 4).map {
                after.u32($0) ?? 0
            }
            #expect(numbers[2] < 60 && numbers[4] < 60 * numbers[5])
            // Rounding twice changes nothing.
            #expect(after.edited(edits([:], decimals: decimals))?.bytes == after.bytes)
        }
    }

    @Test("I6 a location that cannot be rounded is removed")
    func unreadableLocation() throws {
        var block = PhotoTests.Block()
        block.places[1] = .rationals(2, [(48, 0), (51, 1), (2_988, 100)])
        let after = try #require(EXIF(block.bytes)?.edited(edits([:], decimals: 2)))
        #expect(!after.hasGPS && PhotoInfo(after).make == "Acme")
    }

    @Test("I6 rounding removes locations outside EXIF, and other rules still remove all of them")
    func otherLocations() throws {
        let packet = Self.packet(
            "exif:GPSLatitude=\"48,51.498N\" drone:GpsLongtitude=\"2.29\" dc:format=\"image/jpeg\"",
            "<exif:GPSAltitude>35/1</exif:GPSAltitude><dc:source>archive</dc:source>")
        let xmp = Pictures.segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0".utf8) + packet)
        let more = Pictures.segment(
            0xE1,
            Array("http://ns.adobe.com/xmp/extension/\0".utf8) + [UInt8](repeating: 1, count: 50))
        let exif = Pictures.segment(0xE1, Array("Exif\0\0".utf8) + PhotoTests.Block().bytes)
        let file = Pictures.inserting(exif + xmp + more, into: try Pictures.jpeg()) + exif
        var change = compression(decimals: 1)
        change.orientation = .keep
        let made = try ImageEncoder.encode(.array(file), change)
        let bytes = made.bytes.array
        #expect(try photo(made).position?.latitude == 48.9)
        #expect(bytes.contains("archive") && bytes.contains("image/jpeg"))
        for text in ["48,51", "GPSLatitude", "Longtitude", "GPSAltitude", "extension"] {
            #expect(!bytes.contains(text), "\(text)")
        }
        #expect(bytes.suffix(2) == [0xFF, 0xD9])
        for metadata in [Compression.Metadata.none, .icc, .noGPS] {
            change.metadata = metadata
            let stripped = try ImageEncoder.encode(.array(file), change)
            #expect(try !ImageInfo(inspecting: .bytes(stripped.bytes)).hasGPS)
            #expect(!stripped.bytes.array.contains("48,51"))
        }
        // A packet that cannot be read, or that still speaks of GPS, is removed.
        for text in ["<x GPSLatitude='48'", "<x>the GPS said 48.8583</x>"] {
            let odd = Pictures.segment(
                0xE1, Array("http://ns.adobe.com/xap/1.0/\0\(text)".utf8))
            let file = Pictures.inserting(odd, into: try Pictures.jpeg())
            let made = try ImageEncoder.encode(.array(file), change)
            #expect(made.bytes.array == (try Pictures.jpeg()))
        }
    }

    // NO_GPS looked for "GPS" in capital letters only, but drones write "GpsLatitude".
    @Test("I6 XMP with the location of a drone is removed if locations are")
    func drone() throws {
        let packet = Self.packet("drone:GpsLatitude=\"48.8583\"", "<dc:source>archive</dc:source>")
        let xmp = Pictures.segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0".utf8) + packet)
        let file = Pictures.inserting(xmp, into: try Pictures.jpeg())
        let stripped = try ImageEncoder.encode(.array(file), compression([:], .noGPS))
        #expect(!stripped.bytes.array.contains("48.8583"))
        let rounded = try ImageEncoder.encode(.array(file), compression(decimals: 2))
        #expect(!rounded.bytes.array.contains("48.8583") && rounded.bytes.array.contains("archive"))
    }

    // MARK: XMP and others

    /// An XMP packet with attributes and elements in its description.
    static func packet(_ attributes: String, _ elements: String) -> [UInt8] {
        Array(
            """
            <?xpacket begin="\u{FEFF}"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF \
            xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" \
            xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:exif="http://ns.adobe.com/exif/1.0/" \
            xmlns:q="http://ns.adobe.com/tiff/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" \
            xmlns:drone="http://www.dji.com/drone-dji/1.0/" \(attributes)>\(elements)\
            </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>
            """.utf8)
    }

    @Test("I6 XMP and IPTC of a file do not contradict the new texts")
    func contradictions() throws {
        func dataset(_ number: UInt8, _ text: String) -> [UInt8] {
            [0x1C, 2, number, 0, UInt8(text.utf8.count)] + Array(text.utf8)
        }
        func resource(_ id: UInt16, _ data: [UInt8]) -> [UInt8] {
            Array("8BIM".utf8) + [UInt8(id >> 8), UInt8(id & 255), 0, 0]
                + [0, 0, 0, UInt8(data.count)] + data + (data.count % 2 == 1 ? [0] : [])
        }
        let iptc = dataset(80, "Old Artist") + dataset(25, "keyword") + dataset(116, "Old Owner")
        let resources =
            resource(0x0404, iptc) + resource(0x0425, [UInt8](repeating: 5, count: 16))
            + resource(0x03ED, [1, 2, 3])
        let app13 = Pictures.segment(0xED, Array("Photoshop 3.0\0".utf8) + resources)
        let packet = Self.packet("q:Artist='Old Artist'", "<dc:source>archive</dc:source>")
        let xmp = Pictures.segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0".utf8) + packet)
        let file = Pictures.inserting(app13 + xmp, into: try Pictures.jpeg())
        for quality in [0.5, 1] {
            for metadata in [Compression.Metadata.noGPS, .all] {
                let made = try ImageEncoder.encode(
                    .array(file), compression([.artist: "Ada"], metadata, quality: quality))
                let bytes = made.bytes.array
                #expect(!bytes.contains("Old Artist") && bytes.contains("Old Owner"))
                #expect(bytes.contains("keyword") && bytes.contains("archive"))
                #expect(bytes.contains("8BIM\u{3}"))
                #expect(try photo(made).artist == "Ada")
                let layout = try JPEGLayout(ImageInput(made.bytes), whole: true)
                let segment = try #require(layout.segments.first { $0.code == 0xED })
                let left = try layout.payload(segment, ImageInput(made.bytes))
                let expected = dataset(25, "keyword") + dataset(116, "Old Owner")
                #expect(
                    left == Array("Photoshop 3.0\0".utf8) + resource(0x0404, expected)
                        + resource(0x03ED, [1, 2, 3]))
            }
        }
        // Resources that cannot be read are removed.
        let cut = Pictures.segment(
            0xED, Array("Photoshop 3.0\0".utf8) + resources.dropLast(5))
        let made = try ImageEncoder.encode(
            .array(Pictures.inserting(cut, into: try Pictures.jpeg())),
            compression([.artist: "Ada"]))
        #expect(!made.bytes.array.contains("8BIM"))
    }

    @Test("I6 texts of a PNG do not contradict the new ones")
    func pngTexts() throws {
        let packet = Self.packet("q:Artist='Old Artist'", "<dc:source>archive</dc:source>")
        let texts =
            PNGLayout.chunk("tEXt", Array("Author\0Old Artist".utf8))
            + PNGLayout.chunk("tEXt", Array("Comment\0stays".utf8))
            + PNGLayout.chunk("tEXt", Array("Raw profile type exif\0hidden".utf8))
            + PNGLayout.chunk("iTXt", XMP.keyword + [0, 0, 0, 0] + packet)
            + PNGLayout.chunk("tIME", [7, 230, 1, 1, 0, 0, 0])
        let plain = try Pictures.png(Pictures.pattern(.rgb8, 12, 10))
        let png = Pictures.inserting(chunks: texts, into: plain)
        for width in [nil, 5] {
            var change = compression([.artist: "Ada", .takenAt: ""])
            change.maxWidth = width
            let made = try ImageEncoder.encode(.array(png), change)
            let bytes = made.bytes.array
            #expect(bytes.contains("stays") && bytes.contains("archive"))
            for text in ["Old Artist", "hidden", "tIME"] { #expect(!bytes.contains(text)) }
            #expect(try photo(made).artist == "Ada")
        }
    }

    @Test("I6 a second EXIF block is removed, because it could contradict the first")
    func secondBlock() throws {
        var first = PhotoTests.Block()
        var second = PhotoTests.Block()
        first.main[1] = .text(0x0110, "First camera")
        second.main[1] = .text(0x0110, "Second camera")
        let segments = [first, second].flatMap {
            Pictures.segment(0xE1, Array("Exif\0\0".utf8) + $0.bytes)
        }
        let file = Pictures.inserting(segments, into: try Pictures.jpeg())
        let made = try ImageEncoder.encode(.array(file), compression([.artist: "Ada"]))
        #expect(made.bytes.array.contains("First camera"))
        #expect(!made.bytes.array.contains("Second camera"))
        let chunks = [first, second].flatMap { PNGLayout.chunk("eXIf", $0.bytes) }
        let png = Pictures.inserting(
            chunks: chunks, into: try Pictures.png(Pictures.pattern(.rgb8, 12, 10)))
        let other = try ImageEncoder.encode(.array(png), compression([.model: "First camera"]))
        #expect(!other.bytes.array.contains("Second camera"))
    }

    // MARK: Errors

    @Test("I6 a block that is too large for a JPEG is an error, and fits a PNG")
    func tooLarge() throws {
        let long = String(repeating: "é", count: 33_000)
        let error = failure {
            _ = try ImageEncoder.encode(
                .array(Pictures.jpeg()), compression([.description: long]))
        }
        #expect(error?.kind == .limit && error?.reason == "does_not_fit")
        #expect(error?.message.contains("at most 65527") == true, "\(error?.message ?? "")")
        #expect(error?.isOfImage == false)
        let pixels = try Pictures.pattern(.rgba8, 12, 10)
        let png = try ImageEncoder.encode(
            .pixels(pixels), compression([.description: long, .artist: "Ada"]))
        #expect(png.format == .png && png.bytes.array.contains("éééé"))
        #expect(try photo(png).artist == "Ada")
        #expect(try photo(png).description == String(repeating: "é", count: 500))
        let huge = compression([.description: String(repeating: "x", count: 1 << 20)])
        #expect(failure { _ = try ImageEncoder.encode(.pixels(pixels), huge) }?.kind == .limit)
        // The longest text that fits.
        let most = String(repeating: "x", count: MetadataRules.longestInJPEG - 34)
        let made = try ImageEncoder.encode(
            .array(Pictures.jpeg()), compression([.description: most]))
        #expect(try photo(made).description == String(repeating: "x", count: 1_000))
        #expect(Data(made.bytes.array).range(of: Data([0xFF, 0xE1, 0xFF, 0xFE])) != nil)
    }

    @Test(
        "I6 a text that a field cannot hold is refused",
        arguments: [
            (.copyright, "a\0b"), (.takenAt, "yesterday"), (.takenAt, "2024-02-30T00:00:00"),
            (.takenAt, "2024-05-01"), (.takenAt, "2024-05-01T12:34:56.789"),
            (.takenAt, "2024-05-01T12:34:56+24:00"), (.takenAt, "2024:05:01 12:34:56"),
            (.takenAt, " "), (.takenAt, "2023-02-29T00:00:00"),
        ] as [(MetadataField, String)])
    func invalid(field: MetadataField, text: String) throws {
        let error = failure { try compression([field: text]).validate() }
        #expect(error?.kind == .argument && error?.reason == "bad_parameters")
    }

    @Test("I6 the decimals of a location are from 0 to 6")
    func decimals() {
        for decimals in [-1, 7, Int.max, Int.min] {
            #expect(failure { try compression(decimals: decimals).validate() }?.kind == .argument)
        }
        #expect(failure { try compression(decimals: 6).validate() } == nil)
    }

    // MARK: Damage

    @Test("I6 mutated blocks, packets, and resources never crash, and the new texts are set")
    func mutated() throws {
        var generator = SystemRandomNumberGenerator()
        func damage(_ bytes: inout [UInt8], from start: Int) {
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let at = Int.random(in: start..<bytes.count, using: &generator)
                bytes[at] =
                    Bool.random(using: &generator)
                    ? .random(in: 0...255, using: &generator)
                    : [0, 1, 8, 0xFF][Int.random(in: 0..<4, using: &generator)]
            }
            if Int.random(in: 0..<8, using: &generator) == 0 {
                bytes = Array(bytes.prefix(.random(in: 0...bytes.count, using: &generator)))
            }
        }
        let wanted = edits(
            [.copyright: "Ada", .takenAt: "2024-05-01T12:34:56", .make: ""], decimals: 2)
        var change = Compression()
        change.edits = wanted
        for isLittle in [true, false] {
            var block = PhotoTests.Block()
            block.isLittle = isLittle
            block.main.append(.text(0x8298, "An old owner"))
            for metadata in [Compression.Metadata.noGPS, .all] {
                change.metadata = metadata
                let rules = MetadataRules(change, orientation: 6)
                for _ in 0..<2_500 {
                    var bytes = block.bytes
                    damage(&bytes, from: 2)
                    let made = try #require(try rules.exif(EXIF(bytes), for: .jpeg))
                    let exif = try #require(EXIF(made.bytes))
                    let photo = PhotoInfo(exif)
                    #expect(photo.copyright == "Ada" && photo.takenAt == "2024-05-01T12:34:56")
                    #expect(photo.make == nil)
                    if let position = photo.position {
                        let scaled = abs(position.latitude) * 100
                        #expect(abs(scaled - scaled.rounded()) < 1e-6)
                    }
                    // The main directory, which can fill a damaged block, moves twice.
                    #expect(made.bytes.count < 3 * block.bytes.count + 300)
                }
            }
        }
        let packet = Self.packet(
            "exif:GPSLatitude='48' q:Make='Old'", "<dc:rights><rdf:li>Old</rdf:li></dc:rights>")
        let resources =
            Array("Photoshop 3.0\08BIM".utf8) + [4, 4, 0, 0, 0, 0, 0, 16]
            + [0x1C, 2, 116, 0, 3] + Array("Old".utf8) + [0x1C, 2, 25, 0, 3] + Array("key".utf8)
        for _ in 0..<5_000 {
            var bytes = packet
            damage(&bytes, from: 0)
            if let rest = XMP.removing(wanted.removesProperty, from: bytes) {
                #expect(rest.count <= bytes.count)
            }
            bytes = resources
            damage(&bytes, from: 0)
            if let rest = PhotoshopResources.removing([116], from: bytes) {
                #expect(rest.count <= bytes.count + 1)
            }
        }
    }

    @Test("I6 a damaged block is replaced by one with only the new texts")
    func damagedBlock() throws {
        // The main directory claims more entries than the block has.
        var bytes = PhotoTests.Block().bytes
        bytes[8] = 0xFF
        let made = try ImageEncoder.encode(
            .array(jpeg(bytes)), compression([.artist: "Ada"]))
        #expect(try photo(made).artist == "Ada" && !made.bytes.array.contains("Acme"))
        let unknown = try ImageEncoder.encode(
            .array(jpeg(Array("nonsense".utf8))), compression([.artist: "Ada"]))
        #expect(try photo(unknown).artist == "Ada" && !unknown.bytes.array.contains("nonsense"))
    }
}
