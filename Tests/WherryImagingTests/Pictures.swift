// Wherry: small generated images for the tests.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

/// Generated images and files.
enum Pictures {
    /// Returns a colorful image with smooth and sharp areas, different in each corner.
    static func pattern(_ format: PixelFormat, _ width: Int, _ height: Int) throws -> PixelBuffer {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(width * height * format.bytesPerPixel)
        for y in 0..<height {
            for x in 0..<width {
                let red = UInt8(x * 255 / max(1, width - 1))
                let green = UInt8(y * 255 / max(1, height - 1))
                let blue: UInt8 = (x / 8 + y / 8) % 2 == 0 ? 40 : 200
                switch format {
                case .gray8: bytes.append(UInt8((Int(red) + Int(green)) / 2))
                case .rgb8: bytes += [red, green, blue]
                case .rgba8: bytes += [red, green, blue, UInt8((x + y) % 256)]
                case .bgra8: bytes += [blue, green, red, UInt8((x + y) % 256)]
                }
            }
        }
        return try PixelBuffer(copying: bytes, format: format, width: width, height: height)
    }

    static func jpeg(
        _ width: Int = 64, _ height: Int = 48, quality: Double = 0.9,
        _ change: (inout Compression) -> Void = { _ in }
    ) throws -> [UInt8] {
        var options = Compression(quality: quality)
        options.format = .jpeg
        change(&options)
        return try ImageEncoder.encode(.pixels(pattern(.rgb8, width, height)), options).bytes.array
    }

    static func png(_ pixels: PixelBuffer) throws -> [UInt8] {
        var options = Compression()
        options.format = .png
        return try ImageEncoder.encode(.pixels(pixels), options).bytes.array
    }

    /// Inserts segments after SOI.
    static func inserting(_ segments: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
        Array(jpeg[..<2]) + segments + Array(jpeg[2...])
    }

    /// Inserts chunks after IHDR.
    static func inserting(chunks: [UInt8], into png: [UInt8]) -> [UInt8] {
        Array(png[..<33]) + chunks + Array(png[33...])
    }

    static func segment(_ code: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [0xFF, code, UInt8((payload.count + 2) >> 8), UInt8((payload.count + 2) & 255)] + payload
    }

    /// Returns an EXIF block with an orientation, a camera name, and optionally a location.
    static func exif(orientation: Int, gps: Bool, little: Bool = true) -> [UInt8] {
        func n16(_ v: Int) -> [UInt8] {
            little ? [UInt8(v & 255), UInt8(v >> 8)] : [UInt8(v >> 8), UInt8(v & 255)]
        }
        func n32(_ v: Int) -> [UInt8] {
            little ? n16(v & 0xFFFF) + n16(v >> 16) : n16(v >> 16) + n16(v & 0xFFFF)
        }
        let entries = gps ? 3 : 2
        let name = 8 + 2 + entries * 12 + 4
        let directory = name + 8
        let values = directory + 2 + 12 + 4
        var all = Array((little ? "II" : "MM").utf8) + n16(42) + n32(8) + n16(entries)
        all += n16(0x010F) + n16(2) + n32(8) + n32(name)
        all += n16(0x0112) + n16(3) + n32(1) + n16(orientation) + n16(0)
        if gps { all += n16(0x8825) + n16(4) + n32(1) + n32(directory) }
        all += n32(0) + Array("CamCam!\0".utf8)
        if gps {
            all += n16(1) + n16(2) + n16(5) + n32(3) + n32(values) + n32(0)
            all += (0..<3).flatMap { n32(4242 + $0) + n32(1) }
        }
        return all
    }

    static func exifSegment(orientation: Int, gps: Bool = true, little: Bool = true) -> [UInt8] {
        segment(
            0xE1,
            Array("Exif\0\0".utf8) + exif(orientation: orientation, gps: gps, little: little))
    }

    /// Creates a temporary file, which is deleted after `body`.
    static func withFile<R>(_ bytes: [UInt8], _ body: (String) throws -> R) throws -> R {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("wherry-\(UUID().uuidString)").path
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        return try body(path)
    }
}

extension ImageSource {
    static func array(_ bytes: [UInt8]) -> ImageSource { .bytes(Bytes(bytes)) }
}

extension [UInt8] {
    func contains(_ text: String) -> Bool {
        Data(self).range(of: Data(text.utf8)) != nil
    }
}

/// Returns the PSNR in decibels; infinite for equal images.
func psnr(_ a: PixelBuffer, _ b: PixelBuffer) -> Double {
    guard a.width == b.width, a.height == b.height, a.format == b.format else { return -1 }
    let sum = zip(a.packedBytes, b.packedBytes).reduce(0.0) {
        let difference = Double($1.0) - Double($1.1)
        return $0 + difference * difference
    }
    if sum == 0 { return .infinity }
    return 10 * log10(255 * 255 / (sum / Double(a.rowBytes * a.height)))
}

/// Returns the error of a call; nil if the call succeeds.
func failure(_ body: () throws -> Void) -> ImagingError? {
    do {
        try body()
        return nil
    } catch {
        return error as? ImagingError
    }
}
