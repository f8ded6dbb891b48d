// Wherry: acceptance tests of images inspected and compressed without an upload
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

private struct PictureCase: Decodable, Sendable {
    let name: String
    let pixels: String
    let size: [Int]
    let steps: [Step]
    let sha256: String

    struct Step: Decodable, Sendable {
        let quality: Double?
        let format: String?
        let max_width: Int?
        let max_height: Int?
        let max_bytes: Int?
        let background: UInt32?
        let progressive: Bool?
        let optimize: Bool?
        let subsampling: Int?

        var compression: Compression {
            var made = Compression(quality: quality ?? 1)
            made.format = format.map { $0 == "png" ? .png : .jpeg }
            made.maxWidth = max_width
            made.maxHeight = max_height
            made.maxBytes = max_bytes
            if let background { made.background = background }
            made.isProgressive = progressive ?? false
            made.optimizes = optimize
            switch subsampling {
            case 420: made.subsampling = .s420
            case 444: made.subsampling = .s444
            default: break
            }
            return made
        }
    }

    func image() throws -> Image {
        let orders: [String: (Image.PixelOrder, Int)] = [
            "gray8": (.gray8, 1), "rgb8": (.rgb8, 3), "rgba8": (.rgba8, 4), "bgra8": (.bgra8, 4),
        ]
        let (order, channels) = try #require(orders[pixels])
        var bytes: [UInt8] = []
        for y in 0..<size[1] {
            for x in 0..<size[0] {
                for c in 0..<channels {
                    bytes.append(UInt8(truncatingIfNeeded: 3 * x + 5 * y + 40 * c + ((x * y) >> 4)))
                }
            }
        }
        return try .pixels(bytes, order, width: size[0], height: size[1])
    }
}

private struct BadPicture: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let reason: String
    let head: String
    let again: String?
    let times: Int?
    let tail: String?

    var testDescription: String { name }

    func bytes() throws -> Bytes {
        let parts = [head] + Array(repeating: again ?? "", count: times ?? 0) + [tail ?? ""]
        return Bytes(try #require(Hex.decode(parts.joined())))
    }
}

@Suite struct ImageTests {
    private func compressed(_ image: Image, quality: Double = 1) throws -> CompressedImage {
        var compression = Compression(quality: quality)
        compression.format = .jpeg
        return try image.compressed(compression)
    }

    private func sha256(_ bytes: Bytes) -> String {
        var digest = Digest(.sha256)
        digest.update(Array(bytes))
        return Hex.encode(digest.finalize())
    }

    private func pixels(_ width: Int, _ height: Int) throws -> Image {
        try PictureCase(
            name: "", pixels: "rgb8", size: [width, height], steps: [], sha256: ""
        ).image()
    }

    @Test("U8 equal options give equal bytes in every language")
    func table() throws {
        for one in try scenarios("pictures.json", of: PictureCase.self) {
            var image = try one.image()
            for step in one.steps { image = try image.compressed(step.compression).image }
            let made = try image.compressed().bytes
            #expect(sha256(made) == one.sha256, "\(one.name)")
        }
    }

    @Test("SEC-R8 SEC-R9 unreadable images are each refused with their reason")
    func badPictures() throws {
        for one in try scenarios("bad-pictures.json", of: BadPicture.self) {
            let image = Image.bytes(try one.bytes())
            let error = #expect(throws: WherryError.self, "\(one.name)") {
                try compressed(image, quality: 0.5)
            }
            #expect(error?.reason == one.reason, "\(one.name)")
            #expect(error?.code == .image)
        }
    }

    @Test("U7 compress produces the same bytes as an upload, and an upload reports the same")
    func sameAsUpload() async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope)
        let image = try compressed(pixels(300, 200)).image
        var compression = Compression(quality: 0.5)
        compression.maxWidth = 150
        let made = try image.compressed(compression)
        var request = Request("echo", method: "POST")
        request.add(.image("photo", image, compression))
        let parts = try #require(try await client.echo(request).parts)
        #expect(parts.map(\.sha256) == [sha256(made.bytes)])

        let upload = try client.upload([image], to: "echo", name: "p", compression: compression)
        _ = try await upload.value
        let told = try #require(upload.images.first)
        #expect(told.width == 150 && told.height == 100 && told.quality == 50)
        #expect(told.encodedBytes == Int64(made.bytes.count))
        #expect(told.originalBytes == Int64(try #require(image.info().byteCount)))
    }

    @Test("U18 an image reports its properties before decoding")
    func info() throws {
        let image = try compressed(pixels(120, 80)).image
        let info = try image.info()
        #expect(info.format == .jpeg && info.width == 120 && info.height == 80)
        #expect(info.uprightSize == (120, 80) && info.orientation == 1)
        #expect(info.components == 3 && info.bitDepth == 8)
        #expect(info.pixelBytes == 120 * 80 * 3)
        #expect(!info.hasAlpha && !info.hasColors && !info.hasEXIF && !info.hasPlaces)
        #expect(!info.isAnimated && !info.isProgressive)
        #expect(try pixels(4, 4).info().format == nil)
        let missing = #expect(throws: WherryError.self) { try Image.file("/nowhere/a.jpg").info() }
        #expect(missing?.code == .file)
    }

    @Test("U19 a 12 megapixel photo is compressed to 200 KB with a longest side of 1280")
    func twelveMegapixels() throws {
        let (width, height) = (4000, 3000)
        let noise = [UInt8](unsafeUninitializedCapacity: width * height) { bytes, count in
            var state: UInt32 = 1
            for index in bytes.indices {
                state = state &* 1_664_525 &+ 1_013_904_223
                bytes[index] = UInt8(truncatingIfNeeded: state >> 26) &+ UInt8(index >> 10 & 127)
            }
            count = bytes.count
        }
        let photograph = try Image.pixels(noise, .gray8, width: width, height: height)
            .compressed(Compression(quality: 0.95)).image
        #expect(try #require(photograph.info().byteCount) > 1_000_000)
        var compression = Compression()
        compression.maxWidth = 1280
        compression.maxHeight = 1280
        compression.maxBytes = 200_000
        let made = try photograph.compressed(compression)
        #expect(made.bytes.count <= 200_000 && made.width == 1280 && made.height == 960)
    }

    @Test("U19 the steps of compression are reported")
    func ways() throws {
        let jpeg = try compressed(pixels(400, 300), quality: 0.85)
        #expect(jpeg.originalByteCount == nil && jpeg.quality == 85)
        #expect(try jpeg.image.compressed().way == .untouched)
        let half = try jpeg.image.compressed(Compression(quality: 0.5))
        #expect(half.way == .recoded && half.quality == 50)
        #expect(half.originalByteCount == jpeg.bytes.count && half.bytes.count < jpeg.bytes.count)
        var small = Compression(quality: 0.5)
        small.maxHeight = 90
        small.optimizes = false
        let little = try jpeg.image.compressed(small)
        #expect(little.way == .streamed && little.width == 120 && little.height == 90)
        small.maxBytes = 2000
        #expect(try jpeg.image.compressed(small).bytes.count <= 2000)
        small.maxBytes = 0
        let error = #expect(throws: WherryError.self) { try jpeg.image.compressed(small) }
        #expect(error?.code == .argument)
    }
}
