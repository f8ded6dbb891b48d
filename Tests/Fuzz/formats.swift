// Wherry: fuzz target of WebP, GIF, HEIC, and AVIF files; scripts/fuzz builds and runs it
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

@testable import WherryImaging

/// scripts/fuzz writes the seeds.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?
) -> CInt { 0 }

/// Inspects, decodes, and compresses a file. The library that decodes it is not instrumented. An error
/// is a valid result.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let input = FuzzInput(data, count), input.bytes.count >= 12 else { return 0 }
    var file = input.bytes
    if input.choice & 64 != 0 {
        file.replaceSubrange(4..<8, with: "ftyp".utf8)
        file.replaceSubrange(8..<12, with: (input.choice & 2 == 0 ? "avif" : "heic").utf8)
    } else if input.choice & 1 == 0 {
        file.replaceSubrange(0..<6, with: "GIF89a".utf8)
    } else {
        file.replaceSubrange(0..<4, with: "RIFF".utf8)
        file.replaceSubrange(8..<12, with: "WEBP".utf8)
        if input.choice & 2 == 0 {
            let size = UInt32(file.count - 8)
            for place in 0..<4 {
                file[4 + place] = UInt8(truncatingIfNeeded: size >> (8 * place))
            }
        }
    }
    let source = ImageSource.bytes(Bytes(file))
    var options = Compression(quality: 0.8)
    options.maxPixels = 1 << 18
    options.maxMemory = 8 << 20
    options.deadline = nil
    options.animated = .first
    options.orientation = input.choice & 4 == 0 ? .keep : .apply
    options.metadata = input.choice & 8 == 0 ? .all : .noGPS
    if input.choice & 16 != 0 { options.maxWidth = 7 }
    if input.choice & 32 != 0 { options.edits.texts = [.artist: "Ada", .make: ""] }
    let info = try? ImageInfo(inspecting: source)
    let decoded = try? ImageDecoder.decode(source, options)
    if let decoded {
        guard let info else { fatalError("an image was decoded that cannot be inspected") }
        let size = options.orientation == .apply ? info.uprightSize : (info.width, info.height)
        if options.maxWidth == nil {
            demand(size == (decoded.width, decoded.height), "\(size) was told")
        }
    }
    guard let made = try? ImageEncoder.encode(source, options) else { return 0 }
    demand(decoded != nil, "an image was encoded that cannot be decoded")
    guard let again = try? ImageInfo(inspecting: .bytes(made.bytes)) else {
        fatalError("What was made cannot be read")
    }
    demand((again.width, again.height) == (made.width, made.height), "the size is wrong")
    if !options.edits.isEmpty {
        demand(again.photo.artist == "Ada" && again.photo.make == nil, "an edit is missing")
    }
    return 0
}
