// Wherry: wherry.h, section 13: images.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryImaging
import WherryRequests
import WherrySystem

/// An image of the C interface.
struct ImageValue: BoxedValue {
    static var kind: HandleKind { .image }

    var source: ImageSource
    var fileName: String?
    /// The properties of a result of `wherry_image_compress`.
    var encoded: EncodedImage?
    /// The owner of borrowed pixels.
    var lender: LentMemory?
}

extension Compression: BoxedValue {
    static var kind: HandleKind { .compression }
}

/// Returns an image part, with the default compression for NULL.
func part(
    _ name: String, _ image: OpaquePointer?, _ compression: OpaquePointer?
) throws(WherryError) -> Request.Part {
    let image = try Handles.change(image, ImageValue.self) { $0 }
    return Request.Part(
        name: name, content: .image(image.source, try compressionValue(compression)),
        fileName: image.fileName)
}

/// Returns the compression of a handle; quality 1 for NULL.
func compressionValue(_ compression: OpaquePointer?) throws(WherryError) -> Compression {
    guard compression != nil else { return Compression() }
    return try Handles.change(compression, Compression.self) { $0 }
}

@_cdecl("wherry_image_recognise") @implementation
public func wherry_image_recognise(
    _ bytes: UnsafeRawPointer?, _ count: Int
) -> wherry_image_format {
    value(WHERRY_IMAGE_KEEP) { () throws(WherryError) in
        let head = try buffer(bytes, count).prefix(ImageFormat.headCount)
        let format = ImageFormat.recognise(head)
        return wherry_image_format(UInt32((format ?? .keep).rawValue))
    }
}

@_cdecl("wherry_image_new_file") @implementation
public func wherry_image_new_file(
    _ path: UnsafePointer<CChar>?, _ out_image: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_image)
        try Handles.give(Box(ImageValue(source: image(WherryABI.path(path, "path")))), to: out)
    }
}

/// Returns an image from an existing file.
func image(_ path: String) throws(WherryError) -> ImageSource {
    do {
        try File.checkReadable(path)
    } catch {
        throw WherryError(error)
    }
    return .file(path: path)
}

@_cdecl("wherry_image_new_bytes") @implementation
public func wherry_image_new_bytes(
    _ bytes: UnsafeRawPointer?, _ count: Int, _ out_image: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_image)
        let copy = try WherryABI.bytes(bytes, count)
        try Handles.give(Box(ImageValue(source: .bytes(copy))), to: out)
    }
}

@_cdecl("wherry_image_new_pixels") @implementation
public func wherry_image_new_pixels(
    _ bytes: UnsafeRawPointer?, _ count: Int, _ format: wherry_pixel_format, _ width: Int32,
    _ height: Int32, _ stride_bytes: Int, _ out_image: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_image)
        let copy = try WherryABI.bytes(bytes, count)
        guard let owner = copy.storage else {
            throw WherryError(.badArgument, "The pixel buffer is empty")
        }
        let pixels = try raw(
            UnsafeRawBufferPointer(start: copy.lent, count: copy.count), owner, format,
            width, height, stride_bytes)
        try Handles.give(Box(ImageValue(source: .pixels(pixels))), to: out)
    }
}

@_cdecl("wherry_image_new_pixels_lent") @implementation
public func wherry_image_new_pixels_lent(
    _ bytes: UnsafeRawPointer?, _ count: Int, _ format: wherry_pixel_format, _ width: Int32,
    _ height: Int32, _ stride_bytes: Int, _ out_image: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_image)
        let lender = LentMemory()
        let pixels = try raw(
            try buffer(bytes, count), lender, format, width, height, stride_bytes)
        try Handles.give(Box(ImageValue(source: .pixels(pixels), lender: lender)), to: out)
    }
}

func pixelFormat(_ format: wherry_pixel_format) throws(WherryError) -> PixelFormat {
    guard let format = UInt8(exactly: format.rawValue).flatMap({ PixelFormat(rawValue: $0) })
    else {
        throw WherryError(
            .badValue,
            "Unknown pixel format \(format.rawValue). Pass a constant of wherry_pixel_format.")
    }
    return format
}

/// Returns raw pixels that `owner` keeps alive.
private func raw(
    _ bytes: UnsafeRawBufferPointer, _ owner: any AnyObject & Sendable,
    _ format: wherry_pixel_format, _ width: Int32, _ height: Int32, _ stride: Int
) throws(WherryError) -> PixelBuffer {
    let format = try pixelFormat(format)
    do throws(ImagingError) {
        return try PixelBuffer(
            borrowing: bytes, owner: owner, format: format, width: Int(width),
            height: Int(height), stride: stride)
    } catch {
        throw WherryError(.badArgument, error.message)
    }
}

@_cdecl("wherry_image_free") @implementation
public func wherry_image_free(_ image: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in
        let box = try Handles.free(image, Box<ImageValue>.self)
        box?.with { $0.lender }?.takeBack()
    }
}

@_cdecl("wherry_image_inspect") @implementation
public func wherry_image_inspect(
    _ image: OpaquePointer?, _ out_info: UnsafeMutablePointer<wherry_image_info>?
) -> wherry_status {
    status { () throws(WherryError) in
        let value = try Handles.change(image, ImageValue.self) { $0 }
        try fill(out_info) { () throws(WherryError) in
            do throws(ImagingError) {
                return wherry_image_info(
                    try ImageInfo(inspecting: value.source), value.encoded)
            } catch {
                throw WherryError(error)
            }
        }
    }
}

@_cdecl("wherry_image_compress") @implementation
public func wherry_image_compress(
    _ image: OpaquePointer?, _ compression: OpaquePointer?,
    _ out_image: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_image)
        let value = try Handles.change(image, ImageValue.self) { $0 }
        let compression = try compressionValue(compression)
        let made: EncodedImage
        do throws(ImagingError) {
            made = try ImageEncoder.encode(value.source, compression)
        } catch {
            throw WherryError(error)
        }
        let result = ImageValue(
            source: .bytes(made.bytes), fileName: value.fileName, encoded: made)
        try Handles.give(Box(result), to: out)
    }
}

@_cdecl("wherry_image_compress_many") @implementation
public func wherry_image_compress_many(
    _ image: OpaquePointer?, _ compressions: UnsafePointer<OpaquePointer?>?, _ count: Int,
    _ out_images: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let value = try Handles.change(image, ImageValue.self) { $0 }
        guard count > 0 else { return }
        let out = try required(out_images)
        for index in 0..<count { out[index] = nil }
        guard let compressions else {
            throw WherryError(.badArgument, "The compressions are NULL")
        }
        var all: [Compression] = []
        for index in 0..<count { all.append(try compressionValue(compressions[index])) }
        let made: [EncodedImage]
        do throws(ImagingError) {
            made = try ImageEncoder.encode(value.source, all)
        } catch {
            throw WherryError(error)
        }
        for (index, image) in made.enumerated() {
            let result = ImageValue(
                source: .bytes(image.bytes), fileName: value.fileName, encoded: image)
            do throws(WherryError) {
                try Handles.give(Box(result), to: out + index)
            } catch {
                for given in 0..<index {
                    try Handles.free(out[given], Box<ImageValue>.self)
                    out[given] = nil
                }
                throw error
            }
        }
    }
}

@_cdecl("wherry_image_decode") @implementation
public func wherry_image_decode(
    _ image: OpaquePointer?, _ format: wherry_pixel_format, _ compression: OpaquePointer?,
    _ out_image: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_image)
        let value = try Handles.change(image, ImageValue.self) { $0 }
        let compression = try compressionValue(compression)
        let wanted = format == WHERRY_PIXELS_NONE ? nil : try pixelFormat(format)
        let pixels: PixelBuffer
        do throws(ImagingError) {
            pixels = try ImageDecoder.decode(value.source, as: wanted, compression)
        } catch {
            throw WherryError(error)
        }
        try Handles.give(
            Box(ImageValue(source: .pixels(pixels), fileName: value.fileName)), to: out)
    }
}

@_cdecl("wherry_image_pixels") @implementation
public func wherry_image_pixels(
    _ image: OpaquePointer?, _ out_format: UnsafeMutablePointer<wherry_pixel_format>?,
    _ out_stride: UnsafeMutablePointer<Int>?
) -> UnsafePointer<UInt8>? {
    out_format?.pointee = WHERRY_PIXELS_NONE
    out_stride?.pointee = 0
    return value(nil) { () throws(WherryError) in
        let value = try Handles.change(image, ImageValue.self) { $0 }
        guard case .pixels(let pixels) = value.source else { return nil }
        out_format?.pointee = wherry_pixel_format(UInt32(pixels.format.rawValue))
        out_stride?.pointee = pixels.stride
        return pixels.lent.assumingMemoryBound(to: UInt8.self)
    }
}

@_cdecl("wherry_image_bytes") @implementation
public func wherry_image_bytes(
    _ image: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<UInt8>? {
    out_count?.pointee = 0
    return value(nil) { () throws(WherryError) in
        let value = try Handles.change(image, ImageValue.self) { $0 }
        guard case .bytes(let bytes) = value.source, let base = bytes.lent else { return nil }
        out_count?.pointee = bytes.count
        return UnsafePointer(base.assumingMemoryBound(to: UInt8.self))
    }
}

extension wherry_image_info {
    fileprivate init(_ info: ImageInfo, _ encoded: EncodedImage?) {
        self.init()
        byte_count = info.byteCount.map { Int64($0) } ?? -1
        pixel_bytes = Int64(info.pixelBytes)
        original_bytes = encoded?.originalByteCount.map { Int64($0) } ?? -1
        format = Int32(info.format.rawValue)
        width = Int32(clamping: info.width)
        height = Int32(clamping: info.height)
        orientation = Int32(clamping: info.orientation)
        components = Int32(clamping: info.components)
        bit_depth = Int32(clamping: info.bitDepth)
        quality = Int32(clamping: encoded?.quality ?? 0)
        if let encoded { way = Int32(encoded.way.rawValue) + 1 }
        let known: [(Bool, wherry_image_flag)] = [
            (info.hasAlpha, WHERRY_IMAGE_HAS_ALPHA), (info.hasICC, WHERRY_IMAGE_HAS_ICC),
            (info.hasEXIF, WHERRY_IMAGE_HAS_EXIF), (info.hasGPS, WHERRY_IMAGE_HAS_GPS),
            (info.isAnimated, WHERRY_IMAGE_IS_ANIMATED),
            (info.isProgressive, WHERRY_IMAGE_IS_PROGRESSIVE),
        ]
        for (isSet, flag) in known where isSet { flags |= flag.rawValue }
    }
}

@_cdecl("wherry_image_set_file_name") @implementation
public func wherry_image_set_file_name(
    _ image: OpaquePointer?, _ file_name: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let name = optionalPath(file_name)
        try Handles.change(image, ImageValue.self) { $0.fileName = name }
    }
}

@_cdecl("wherry_compression_new") @implementation
public func wherry_compression_new(
    _ quality: Double, _ out_compression: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.give(Box(Compression(quality: quality)), to: required(out_compression))
    }
}

@_cdecl("wherry_compression_free") @implementation
public func wherry_compression_free(_ compression: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.free(compression, Box<Compression>.self) }
}

@_cdecl("wherry_compression_set_option") @implementation
public func wherry_compression_set_option(
    _ compression: OpaquePointer?, _ option: wherry_image_option, _ value: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.change(compression, Compression.self) { compression throws(WherryError) in
            try compression.set(option, value)
        }
    }
}

@_cdecl("wherry_compression_set_type") @implementation
public func wherry_compression_set_type(
    _ compression: OpaquePointer?, _ type: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let format = try ImageTypeName(optionalText(type, "type")).format
        try Handles.change(compression, Compression.self) { $0.format = format }
    }
}

extension Compression {
    fileprivate mutating func set(
        _ number: wherry_image_option, _ value: Int64
    ) throws(WherryError) {
        guard let option = ImageOption(rawValue: number.rawValue) else {
            throw WherryError(
                .badOption,
                "Unknown image option \(number.rawValue). Pass a constant of wherry_image_option.")
        }
        if option == .subsampling, ![0, 420, 422, 444].contains(value) {
            throw WherryError(
                .badValue, "The subsampling must be 0, 420, 422, or 444, not \(value)")
        }
        let range = option.range
        guard range.contains(value) else {
            let values =
                range.upperBound == .max
                ? "a value of \(range.lowerBound) or more"
                : "a value from \(range.lowerBound) to \(range.upperBound)"
            throw WherryError(
                .badValue, "The image option \(option.name) takes \(values), not \(value)")
        }
        setValid(option, value)
    }

    private mutating func setValid(_ option: ImageOption, _ value: Int64) {
        let limit = value == 0 ? nil : Int(value)
        let isOn = value == 1
        switch option {
        case .maxWidth: maxWidth = limit
        case .maxHeight: maxHeight = limit
        case .maxBytes: maxBytes = limit
        case .format: format = ImageFormat(rawValue: UInt8(value)) ?? .keep
        case .backgroundRGB: background = UInt32(value)
        case .metadata: metadata = Metadata(rawValue: UInt8(value)) ?? .icc
        case .keepOrientation: orientation = isOn ? .keep : .apply
        case .neverLarger: neverLarger = isOn
        case .optimize: optimize = value < 0 ? nil : isOn
        case .progressive: progressive = isOn
        case .subsampling:
            subsampling =
                switch value {
                case 420: .s420
                case 422: .s422
                case 444: .s444
                default: .automatic
                }
        case .bestFilter: pngEffort = isOn ? .best : .fast
        case .animated: animated = isOn ? .first : .refuse
        case .resizeMode: resizeMode = ResizeMode(rawValue: UInt8(value)) ?? .fit
        case .smallest: smallest = isOn
        case .targetSSIM: targetSSIM = value == 0 ? nil : Double(value) / 10_000
        case .sharpen: sharpen = Int(value)
        case .locationDecimals: edits.locationDecimals = value < 0 ? nil : Int(value)
        case .maxPixels: maxPixels = Int(value)
        case .maxMemoryBytes: maxMemory = Int(value)
        case .deadline: deadline = value == 0 ? nil : .milliseconds(value)
        }
    }
}
