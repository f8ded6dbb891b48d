// Wherry: tests of formats that libraries of the system decode.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

struct LibraryFormatTests {
    /// A case of Tests/Scenarios/formats.json, which C and Python tests also use.
    private struct FormatCase: Decodable {
        let name: String
        let format: String
        let file: Data
        /// Of the upright image.
        let width: Int
        let height: Int
        let alpha: Bool
        let animated: Bool
        let tolerance: Int
        /// The upright image as RGBA.
        let pixels: Data

        var bytes: ImageSource { .array([UInt8](file)) }
    }
    private struct Table: Decodable { let cases: [FormatCase] }

    private func cases() throws -> [FormatCase] {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Scenarios/formats.json")
        return try JSONDecoder().decode(Table.self, from: Data(contentsOf: path)).cases
    }

    private func one(_ name: String) throws -> FormatCase {
        try #require(try cases().first { $0.name == name })
    }

    /// The largest difference between the bytes of two images; 256 if the sizes differ.
    private func difference(_ a: [UInt8], _ b: Data) -> Int {
        a.count == b.count ? zip(a, b).map { abs(Int($0) - Int($1)) }.max() ?? 0 : 256
    }

    private func reason(
        _ file: [UInt8], _ change: (inout Compression) -> Void = { _ in }
    ) -> String? {
        var options = Compression()
        change(&options)
        do {
            _ = try ImageDecoder.decode(.array(file), as: nil, options)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test("I3 the pixels are those of another program")
    func pixels() throws {
        let all = try cases()
        #expect(Set(all.map(\.format)) == ["webp", "avif", "heic", "gif"])
        for one in all {
            let info = try ImageInfo(inspecting: one.bytes)
            #expect(info.format.fileExtension == one.format, "\(one.name)")
            #expect(info.uprightSize == (one.width, one.height), "\(one.name)")
            #expect(info.isAnimated == one.animated && info.hasAlpha == one.alpha, "\(one.name)")
            #expect(info.byteCount == one.file.count, "\(one.name)")
            var options = Compression()
            options.animated = .first
            let decoded = try ImageDecoder.decode(one.bytes, as: .rgba8, options)
            let worst = difference(decoded.packedBytes, one.pixels)
            #expect(worst <= one.tolerance, "\(one.name): \(worst)")
        }
    }

    @Test("I3 an image becomes a PNG if it has alpha, and otherwise a JPEG")
    func encoding() throws {
        for one in try cases() {
            var options = Compression(quality: 0.9)
            options.animated = .first
            let kept = try ImageEncoder.encode(one.bytes, options)
            #expect(kept.format == (one.alpha ? .png : .jpeg), "\(one.name)")
            #expect(kept.originalByteCount == one.file.count)
            options.format = .png
            let png = try ImageEncoder.encode(one.bytes, options)
            let decoded = try ImageDecoder.decode(.bytes(png.bytes), as: .rgba8)
            #expect(difference(decoded.packedBytes, one.pixels) <= one.tolerance, "\(one.name)")
            options.maxWidth = 8
            #expect(try ImageEncoder.encode(one.bytes, options).width == 8, "\(one.name)")
        }
    }

    @Test("I3 the orientation in EXIF applies to a WebP, and is corrected in an AVIF")
    func orientation() throws {
        for (name, stored) in [("a turned WebP", 6), ("a turned AVIF", 1)] {
            let one = try one(name)
            let info = try ImageInfo(inspecting: one.bytes)
            #expect(info.orientation == stored && info.hasEXIF && info.photo.make == "Wherry")
            for metadata in [Compression.Metadata.all, .none] {
                for format in [ImageFormat.png, .jpeg] {
                    var options = Compression(quality: 1)
                    options.metadata = metadata
                    options.format = format
                    let made = try ImageEncoder.encode(one.bytes, options)
                    let result = try ImageInfo(inspecting: .bytes(made.bytes))
                    #expect(result.orientation == 1 && result.hasEXIF == (metadata == .all))
                    #expect(result.uprightSize == (one.width, one.height))
                }
            }
        }
    }

    @Test("I3 an animation is refused unless one frame is enough")
    func animations() throws {
        for one in try cases() where one.animated {
            let file = [UInt8](one.file)
            #expect(reason(file) == "animated")
            #expect(reason(file) { $0.animated = .first } == nil)
        }
    }

    @Test("I3 limits of pixels, memory, and time apply")
    func limits() throws {
        for one in try cases() {
            let file = [UInt8](one.file)
            func limited(_ change: (inout Compression) -> Void) -> String? {
                reason(file) {
                    $0.animated = .first
                    change(&$0)
                }
            }
            #expect(limited { $0.maxPixels = one.width * one.height - 1 } == "too_large")
            #expect(limited { $0.maxMemory = one.width * one.height } == "memory_limit")
            #expect(limited { $0.deadline = .nanoseconds(1) } == "deadline")
        }
    }

    @Test("I3 an image of any dimensions can be inspected, but not decoded")
    func inspection() throws {
        // 65535x1 pixels, with a frame of one pixel.
        let wide: [UInt8] =
            Array("GIF89a".utf8) + [0xFF, 0xFF, 1, 0, 0x80, 0, 0] + [0, 0, 0, 9, 9, 9]
            + [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B]
        let info = try ImageInfo(inspecting: .array(wide))
        #expect((info.width, info.height) == (65_535, 1))
        #expect(reason(wide) == "too_large")
    }

    @Test("I3 the first frame of an animated WebP is within the image")
    func frames() throws {
        let one = try one("an animated WebP")
        var file = [UInt8](one.file)
        let frame = try #require(
            (0..<file.count).first { file[$0...].starts(with: Array("ANMF".utf8)) })
        file[frame + 8] = 1
        #expect(reason(file) { $0.animated = .first } == "bad_image")
        #expect(reason(Array(file[..<(frame + 20)])) { $0.animated = .first } == "truncated")
    }

    @Test("I3 truncated and damaged files are errors")
    func damage() throws {
        // Metadata follow the pixels of a turned image.
        for one in try cases() where !one.animated && !one.name.contains("turned") {
            let file = [UInt8](one.file)
            for count in [13, file.count / 2, file.count - 8] {
                let reason = reason(Array(file[..<count]))
                #expect(
                    ["truncated", "bad_image", "unsupported_image"].contains(reason),
                    "\(one.name), \(count) bytes: \(reason ?? "none")")
            }
        }
        #expect(reason(Array("GIF89a\u{1}\0\u{1}\0\0\0\0;".utf8)) == "bad_image")
        #expect(reason(Array("GIF89a\u{1}\0\u{1}\0\0\0\0".utf8)) == "truncated")
    }
}
