// Wherry: acceptance tests of images that fill a box
// SPDX-License-Identifier: Apache-2.0

import Testing
import Wherry
import WherrySystem

@Suite struct ThumbnailTests {
    /// Returns an image whose colors depend on the position.
    private func picture(_ width: Int, _ height: Int) throws -> Image {
        var bytes: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                bytes += [UInt8(x * 255 / width), UInt8(y * 255 / height), 90]
            }
        }
        return try .pixels(bytes, .rgb8, width: width, height: height)
    }

    private func box(
        _ mode: Compression.ResizeMode, _ width: Int, _ height: Int
    ) -> Compression {
        var compression = Compression(quality: 0.9)
        compression.resizeMode = mode
        compression.maxWidth = width
        compression.maxHeight = height
        return compression
    }

    @Test("I4 an image is fitted into, cropped to, or padded to a box, and never enlarged")
    func boxes() throws {
        let image = try picture(160, 120)
        let cases: [(Compression.ResizeMode, Int, Int, Int, Int)] = [
            (.fit, 64, 64, 64, 48), (.crop, 64, 64, 64, 64), (.pad, 64, 64, 64, 64),
            (.fit, 200, 300, 160, 120), (.crop, 200, 300, 80, 120), (.pad, 200, 300, 200, 300),
        ]
        for (mode, width, height, madeWidth, madeHeight) in cases {
            let settings = box(mode, width, height)
            #expect(settings.resizeMode == mode)
            let made = try image.compressed(settings)
            #expect(made.width == madeWidth && made.height == madeHeight)
        }
        #expect(Compression().resizeMode == .fit)
        var half = box(.pad, 64, 64)
        half.maxWidth = nil
        let error = #expect(throws: WherryError.self) { try image.compressed(half) }
        #expect(error?.code == .argument)
    }

    @Test("I4 the background of padding is white until it is set")
    func padding() throws {
        let image = try picture(160, 120)
        var settings = box(.pad, 64, 64)
        let white = try image.compressed(settings).image.decoded(as: .rgb8)
        #expect(white.bytes[..<3].allSatisfy { $0 >= 254 })
        settings.background = 0x00_00_FF
        let blue = try image.compressed(settings).image.decoded(as: .rgb8)
        #expect(blue.bytes[0] <= 2 && blue.bytes[1] <= 2 && blue.bytes[2] >= 252)
    }

    @Test("I4 several sizes come from one call")
    func several() throws {
        let jpeg = try picture(400, 300).compressed(Compression(quality: 0.95, type: "jpg")).image
        let settings = [box(.crop, 64, 64), box(.fit, 200, 200), Compression()]
        let made = try jpeg.compressed(settings)
        #expect(made.map(\.width) == [64, 200, 400] && made.map(\.height) == [64, 150, 300])
        #expect(made[2].way == .untouched)
        for (setting, image) in zip(settings, made) {
            let alone = try jpeg.compressed(setting)
            #expect(try image.image.compared(with: alone.image).ssim >= 0.98)
        }
        #expect(try jpeg.compressed([]).isEmpty)
    }

    @Test("I4 a thumbnail is sharpened, and an image that is not scaled stays as it is")
    func sharpening() throws {
        let image = try picture(160, 120)
        var settings = box(.fit, 64, 64)
        settings.format = .png
        let soft = try image.compressed(settings).image.decoded()
        settings.sharpen = 200
        #expect(settings.sharpen == 200)
        let sharp = try image.compressed(settings)
        #expect(try sharp.image.decoded().bytes != soft.bytes)
        #expect(try image.decoded(settings).bytes == (try sharp.image.decoded().bytes))
        let copies = try image.compressed([settings, Compression(quality: 1, type: "png")])
        #expect(copies[0].bytes == sharp.bytes)
        settings.maxWidth = 160
        settings.maxHeight = nil
        #expect(try image.compressed(settings).bytes == copies[1].bytes)
        settings.sharpen = 501
        let error = #expect(throws: WherryError.self) { try image.compressed(settings) }
        #expect(error?.code == .argument)
    }
}
