// Wherry: code shared by the fuzz targets of JPEG and PNG
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

@testable import WherryImaging

/// Inspects, compresses, decodes, previews, hashes, and compares a file, as the first bytes of `data` select. An error is a
/// valid result; output must be an image of the reported size.
///
/// - Parameter mend: repairs the bytes so that they pass the first checks.
func fuzz(
    _ data: UnsafePointer<UInt8>?, _ count: Int, mend: (inout [UInt8]) -> Void
) -> CInt {
    guard let data, count > 4 else { return 0 }
    let head = (0..<4).map { data[$0] }
    var file = Array(UnsafeBufferPointer(start: data + 4, count: count - 4))
    mend(&file)
    let source = ImageSource.bytes(Bytes(file))
    _ = try? ImageInfo(inspecting: source)
    var options = Compression(quality: Double(head[0] & 63) / 63)
    options.format = [.keep, .jpeg, .png, .keep][Int(head[0] >> 6)]
    if head[1] & 1 != 0 { options.maxWidth = 1 + Int(head[2]) }
    if head[1] & 2 != 0 { options.maxHeight = 1 + Int(head[2]) * 3 }
    if head[1] & 4 != 0 { options.maxBytes = 200 + Int(head[3]) * 40 }
    options.metadata = [.none, .icc, .noGPS, .all][Int(head[1] >> 3 & 3)]
    options.orientation = head[1] & 32 != 0 ? .keep : .apply
    options.progressive = head[1] & 64 != 0
    options.optimize = head[1] & 128 != 0 ? true : nil
    options.neverLarger = head[3] & 1 != 0
    options.pngEffort = head[3] & 2 != 0 ? .best : .fast
    options.subsampling = [.automatic, .s444, .s422, .s420][Int(head[3] >> 2 & 3)]
    options.resizeMode = [.fit, .crop, .pad, .fit][Int(head[3] >> 4 & 3)]
    if head[0] & 32 != 0 { options.sharpen = min(500, Int(head[2]) * 2) }
    options.smallest = head[3] & 64 != 0
    if head[3] & 128 != 0 { options.targetSSIM = 0.5 + Double(head[2]) / 512 }
    let edits = head[2] ^ head[3]
    if edits & 1 != 0 {
        options.edits.texts = [
            .artist: "Ada", .takenAt: edits & 2 != 0 ? "" : "2024-05-01T12:34:56",
        ]
        if edits & 4 != 0 { options.edits.texts[.make] = "" }
        if edits & 8 != 0 { options.edits.locationDecimals = Int(edits >> 5) % 7 }
    }
    options.maxPixels = 1 << 18
    options.maxMemory = 8 << 20
    options.deadline = nil
    let decoded = try? ImageDecoder.decode(source, options)
    let formats: [PixelFormat?] = [nil] + PixelFormat.allCases
    let previews = PreviewDecoder(as: formats[Int(head[2]) % formats.count], options)
    let step = 1 + Int(head[2]) * 3
    for start in stride(from: 0, to: file.count, by: step) {
        let piece = Bytes(file[start..<min(file.count, start + step)])
        // The orientation of a PNG may follow its pixels.
        guard let preview = try? previews.decode([piece]), let decoded,
            file[0] == 0xFF || options.orientation == .keep
        else { continue }
        if preview.pixels.width != decoded.width || preview.pixels.height != decoded.height {
            fatalError("a preview has another size than the image")
        }
    }
    _ = try? ImageHash.hashes(of: source, ImageHash.Kind.allCases, options)
    var small = options
    small.maxWidth = 1 + Int(head[3] >> 2)
    small.maxHeight = 9
    let several = try? ImageEncoder.encode(source, [options, small, options])
    guard let made = try? ImageEncoder.encode(source, options) else { return 0 }
    if options.maxBytes == nil, let several,
        several[0].width != made.width || several[2].height != made.height
    {
        fatalError("one of several images has \(several[0].width)x\(several[2].height) pixels")
    }
    _ = try? ImageComparison(source, .bytes(made.bytes), options)
    if edits & 1 != 0 {
        let photo = try? ImageInfo(inspecting: .bytes(made.bytes)).photo
        guard photo?.artist == "Ada", edits & 2 == 0 || photo?.takenAt == nil,
            edits & 4 == 0 || photo?.make == nil
        else { fatalError("An edit is missing") }
    }
    // A file copied unchanged was not decoded, and may be damaged inside.
    if made.way == .untouched || made.way == .stripped { return 0 }
    var plain = Compression()
    plain.orientation = .keep
    do {
        let again = try ImageDecoder.decode(.bytes(made.bytes), plain)
        guard again.width == made.width, again.height == made.height else {
            fatalError("\(again.width)x\(again.height) was made, \(made.width)x\(made.height) told")
        }
    } catch {
        fatalError("What was made cannot be read: \(error)")
    }
    return 0
}

/// Small images of all kinds as initial inputs.
func pictureSeeds(_ format: ImageFormat) -> [[UInt8]] {
    var seeds: [[UInt8]] = []
    for pixels in PixelFormat.allCases {
        for (width, height) in [(1, 1), (17, 9), (48, 32)] {
            let bytes = (0..<width * height * pixels.bytesPerPixel).map {
                UInt8(truncatingIfNeeded: $0 * 7 ^ $0 >> 4)
            }
            for variant in 0..<3 {
                var options = Compression(quality: [0.3, 0.8, 1][variant])
                options.format = format
                options.progressive = variant == 1
                options.subsampling = variant == 2 ? .s444 : .automatic
                guard
                    let buffer = try? PixelBuffer(
                        copying: bytes, format: pixels, width: width, height: height),
                    let made = try? ImageEncoder.encode(.pixels(buffer), options)
                else { continue }
                let number = seeds.count
                let head = [UInt8(number * 37 & 255), UInt8(number * 59 & 255), 9, 40]
                seeds.append(head + Array(made.bytes))
                // The second byte keeps all metadata, and the last two select edits.
                let editing = [head[0], head[1] | 24, UInt8(number), ~UInt8(number)]
                seeds.append(editing + withMetadata(Array(made.bytes), format))
                if format == .png {
                    let size = pixels.bytesPerPixel
                    let colorType = size == 1 ? 0 : size == 3 ? 2 : 6
                    seeds.append(head + RawPNG.interlaced(buffer, colorType: colorType))
                }
            }
        }
    }
    return seeds
}

private func withMetadata(_ file: [UInt8], _ format: ImageFormat) -> [UInt8] {
    if format == .jpeg {
        let packet = Array("http://ns.adobe.com/xap/1.0/\0\(MetadataSeed.xmp)".utf8)
        return file[..<2] + JPEGMetadataFilter.exifSegment(MetadataSeed.exif)
            + JPEGMetadataFilter.segment(0xE1, packet)
            + JPEGMetadataFilter.segment(0xED, MetadataSeed.photoshop) + file[2...]
    }
    return file[..<33] + PNGLayout.chunk("eXIf", MetadataSeed.exif)
        + XMP(Array(MetadataSeed.xmp.utf8)).chunk
        + PNGLayout.chunk("tEXt", Array("Author\0Ada".utf8))
        + PNGLayout.chunk("tIME", [7, 232, 5, 1, 12, 34, 56]) + file[33...]
}
