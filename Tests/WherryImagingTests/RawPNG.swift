// Wherry: PNG files that no encoder writes, also for the fuzz targets
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

@testable import WherryImaging

/// A small PNG encoder for kinds of PNG that Wherry never writes. Uses stored deflate blocks.
struct RawPNG {
    var width: Int
    var height: Int
    var depth: Int
    var colorType: Int
    var interlaced = false
    /// Chunks between IHDR and IDAT.
    var extra: [UInt8] = []
    /// The filter byte and samples of every row.
    var data: [UInt8]

    var file: [UInt8] {
        PNGLayout.signature + header + extra + PNGLayout.chunk("IDAT", Self.zlib(data))
            + PNGLayout.chunk("IEND", [])
    }

    var header: [UInt8] {
        let sides = [width, height].flatMap { side in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: side >> $0) }
        }
        return PNGLayout.chunk(
            "IHDR", sides + [UInt8(depth), UInt8(colorType), 0, 0, interlaced ? 1 : 0])
    }

    static func zlib(_ data: [UInt8]) -> [UInt8] {
        var a = 1
        var b = 0
        for byte in data {
            a = (a + Int(byte)) % 65521
            b = (b + a) % 65521
        }
        precondition(data.count < 65536)
        let n = data.count
        return [
            0x78, 0x01, 1, UInt8(n & 255), UInt8(n >> 8), UInt8(~n & 255), UInt8((~n >> 8) & 255),
        ]
            + data + [b >> 8, b, a >> 8, a].map { UInt8($0 & 255) }
    }

    /// Returns the file of an interlaced image with 8 bits per sample.
    static func interlaced(
        _ pixels: PixelBuffer, colorType: Int, extra: [UInt8] = []
    ) -> [UInt8] {
        let steps = [
            (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
            (0, 1, 1, 2),
        ]
        let size = pixels.format.bytesPerPixel
        var data: [UInt8] = []
        for (left, top, across, down) in steps where left < pixels.width {
            for y in stride(from: top, to: pixels.height, by: down) {
                let row = pixels.copyRow(y)
                data.append(0)
                for x in stride(from: left, to: pixels.width, by: across) {
                    data += row[x * size..<(x + 1) * size]
                }
            }
        }
        return RawPNG(
            width: pixels.width, height: pixels.height, depth: 8, colorType: colorType,
            interlaced: true, extra: extra, data: data
        ).file
    }
}
