// Wherry: tests of decoding at the size of a compression.
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryImaging

@Suite struct DecodedSizeTests {
    private func options(
        _ mode: Compression.ResizeMode, _ width: Int?, _ height: Int?
    ) -> Compression {
        var options = Compression()
        options.resizeMode = mode
        options.maxWidth = width
        options.maxHeight = height
        options.format = .png
        return options
    }

    /// Returns the pixels of the image that an upload would send as a PNG.
    private func expected(
        _ source: ImageSource, _ options: Compression
    ) throws -> PixelBuffer {
        var plain = Compression()
        plain.orientation = options.orientation
        return try ImageDecoder.decode(
            .bytes(ImageEncoder.encode(source, options).bytes), plain)
    }

    private static let boxes: [(Compression.ResizeMode, Int?, Int?)] = [
        (.fit, 50, 50), (.fit, nil, 20), (.fit, 900, 900), (.crop, 33, 90), (.pad, 64, 64),
    ]

    @Test("I4 an image is decoded as it would be sent, in each orientation", arguments: 1...8)
    func sizes(orientation: Int) throws {
        let jpeg = ImageSource.array(
            Pictures.inserting(
                Pictures.exifSegment(orientation: orientation),
                into: try Pictures.jpeg(160, 100, quality: 0.95)))
        for (mode, width, height) in Self.boxes {
            for keeps in [false, true] {
                var options = options(mode, width, height)
                options.orientation = keeps ? .keep : .apply
                let found = try ImageDecoder.decode(jpeg, options)
                let wanted = try expected(jpeg, options)
                // Not compared inside the macro, which would look for the differences.
                let areEqual = found.packedBytes == wanted.packedBytes
                #expect(areEqual, "\(mode) \(orientation) \(keeps)")
                #expect((found.width, found.height) == (wanted.width, wanted.height))
            }
        }
    }

    @Test("I4 a PNG and pixels are decoded as they would be sent")
    func patterns() throws {
        let pattern = try Pictures.pattern(.rgba8, 61, 40)
        for (mode, width, height) in Self.boxes {
            let options = options(mode, width, height)
            for source in [.pixels(pattern), ImageSource.array(try Pictures.png(pattern))] {
                let found = try ImageDecoder.decode(source, options)
                let areEqual = try found.packedBytes == expected(source, options).packedBytes
                #expect(areEqual, "\(mode)")
            }
        }
    }

    @Test("I4 a small decoding needs the memory of the small image")
    func memory() throws {
        let jpeg = ImageSource.array(try Pictures.jpeg(1600, 1200, quality: 0.5))
        var options = options(.fit, 100, 100)
        options.maxMemory = 1 << 20
        #expect(try ImageDecoder.decode(jpeg, options).packedBytes.count == 100 * 75 * 3)
        options.maxWidth = nil
        options.maxHeight = nil
        #expect(throws: ImagingError.self) { try ImageDecoder.decode(jpeg, options) }
    }

    @Test("I4 padding of a decoded image has the background, and alpha until it is removed")
    func padding() throws {
        let clear = try Pictures.pattern(.rgba8, 20, 10)
        var options = options(.pad, 30, 30)
        #expect(try ImageDecoder.decode(.pixels(clear), options).copyRow(0)[..<4] == [0, 0, 0, 0])
        let white = try ImageDecoder.decode(.pixels(clear), as: .rgb8, options)
        #expect(white.copyRow(0)[..<3] == [255, 255, 255])
        options.background = 0x10_20_30
        let color = try ImageDecoder.decode(.pixels(clear), as: .bgra8, options)
        #expect(color.copyRow(0)[..<4] == [0x30, 0x20, 0x10, 255])
        options.maxHeight = nil
        #expect(throws: ImagingError.self) { try ImageDecoder.decode(.pixels(clear), options) }
    }
}

extension ImageDecoder {
    fileprivate static func decode(
        _ source: ImageSource, _ options: Compression
    ) throws -> PixelBuffer {
        try decode(source, as: nil, options)
    }
}
