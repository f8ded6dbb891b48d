// Wherry: Swift wrappers of the C codecs.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
import Glibc
internal import WherrySystem

/// The limits for one image.
struct Limits {
    let maxPixels: Int
    let maxMemory: Int
    /// In nanoseconds of CLOCK_MONOTONIC.
    let deadline: Int64

    static let maxScans: UInt32 = 100

    init(_ compression: Compression) {
        maxPixels = compression.maxPixels
        maxMemory = compression.maxMemory
        if let time = compression.deadline?.components {
            let whole = time.seconds.multipliedReportingOverflow(by: 1_000_000_000)
            let span = whole.overflow ? Int64.max : whole.partialValue
            deadline =
                SystemClock.shared.now().advanced(by: span)
                .advanced(by: time.attoseconds / 1_000_000_000).nanoseconds
        } else {
            deadline = .max
        }
    }

    /// The strictest of several limits, which must not be empty.
    init(strictest all: [Limits]) {
        maxPixels = all.lazy.map(\.maxPixels).min() ?? 0
        maxMemory = all.lazy.map(\.maxMemory).min() ?? 0
        deadline = all.lazy.map(\.deadline).min() ?? 0
    }

    var codec: cimage_limits {
        cimage_limits(
            max_pixels: UInt64(maxPixels), max_side: UInt32(PixelBuffer.longestSide),
            max_scans: Self.maxScans, max_memory: UInt64(maxMemory), deadline_ns: deadline)
    }

    func judge(_ width: Int, _ height: Int) throws(ImagingError) {
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        let side = PixelBuffer.longestSide
        guard width <= side, height <= side, !overflow, pixels <= maxPixels else {
            throw ImagingError(
                .limit, "too_large",
                "The image has \(width)x\(height) pixels. The limits are \(maxPixels) pixels in all and "
                    + "\(side) per side.")
        }
    }

    func checkDeadline() throws(ImagingError) {
        guard deadline == .max || SystemClock.shared.now().nanoseconds < deadline else {
            throw Self.late
        }
    }

    static var tooManyScans: ImagingError {
        ImagingError(.limit, "too_many_scans", "The JPEG has more than \(maxScans) scans.")
    }

    static var late: ImagingError {
        ImagingError(
            .limit, "deadline", "The deadline for this image has passed. Raise the deadline.")
    }
}

/// A source of image rows, from top to bottom, a band at a time.
protocol RowSource: AnyObject {
    var pixels: cimage_pixels { get }
    var width: Int { get }
    var height: Int { get }
    /// Writes at most `count` rows and returns their number; 0 only after the last row.
    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int
}

extension RowSource {
    var bytesPerPixel: Int { cimage_pixel_bytes(pixels) }
    var rowBytes: Int { width * bytesPerPixel }
    var hasAlpha: Bool { pixels == CIMAGE_RGBA8 || pixels == CIMAGE_BGRA8 }

    /// Fills `rows`; returns `false` if the image has fewer rows left.
    func readAll(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Bool {
        var done = 0
        while done < count {
            let got = try read(into: rows + done * stride, stride: stride, count: count - done)
            if got == 0 { return false }
            done += got
        }
        return true
    }
}

/// A malloc buffer for a few rows.
final class RowMemory {
    let base: UnsafeMutableRawPointer
    let count: Int

    init(_ count: Int) throws(ImagingError) {
        guard let base = malloc(max(count, 1)) else { throw .noMemory }
        self.base = base
        self.count = count
    }

    /// Copies `bytes`.
    convenience init(copying bytes: [UInt8]) throws(ImagingError) {
        try self.init(bytes.count)
        bytes.withUnsafeBytes { from in
            if let start = from.baseAddress { memcpy(base, start, from.count) }
        }
    }

    /// The memory as bytes.
    var bytes: UnsafePointer<UInt8> { UnsafePointer(base.assumingMemoryBound(to: UInt8.self)) }

    deinit { free(base) }
}

/// Calls a codec function with a message buffer, and throws its status as an error.
func callCodec(
    _ input: ImageInput? = nil, errno code: () -> Int32 = { 0 },
    _ body: (cimage_message) -> cimage_status
) throws(ImagingError) {
    var status = CIMAGE_OK
    let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room -> String in
        room.initialize(repeating: 0)
        status = body(cimage_message(text: room.baseAddress, capacity: room.count))
        return status == CIMAGE_OK ? "" : String(cString: room.baseAddress!)
    }
    guard status != CIMAGE_OK else { return }
    let words = text.isEmpty ? "" : ": " + text
    switch status {
    case CIMAGE_TRUNCATED: throw .truncated("The image is truncated\(words).")
    case CIMAGE_UNSUPPORTED:
        throw ImagingError(
            .image, "unsupported_image", "This kind of image is not supported\(words).")
    case CIMAGE_NO_LIBRARY: throw ImagingError(.image, "unsupported_image", text + ".")
    case CIMAGE_TOO_LARGE:
        throw ImagingError(.limit, "too_large", "The image is too large\(words).")
    case CIMAGE_MEMORY_LIMIT:
        throw ImagingError(
            .limit, "memory_limit",
            "The image needs more memory than its limit allows\(words). Raise the limit.")
    case CIMAGE_NO_MEMORY: throw .noMemory
    case CIMAGE_SCANS: throw Limits.tooManyScans
    case CIMAGE_DEADLINE: throw Limits.late
    case CIMAGE_READ_FAILED: throw ImageInput.unreadable(code())
    case CIMAGE_OUTPUT_LIMIT:
        throw ImagingError(.limit, "does_not_fit", "The encoded image is too large.")
    case CIMAGE_ARGUMENT:
        throw .badParameters("The codec received invalid parameters\(words).")
    default: throw .badImage("The image is damaged\(words).")
    }
}

/// Decodes an encoded image to rows.
final class Decoder: RowSource {
    private(set) var header: cimage_header
    private(set) var pixels: cimage_pixels
    private(set) var width: Int
    private(set) var height: Int
    /// Whether 16-bit samples of a PNG become their high bytes instead of being rounded. Set it before
    /// `start`.
    var usesHighBytes = false
    private let handle: OpaquePointer
    private let image: OpenImage?  // owns what the handle reads; nil for a stream

    init(_ image: OpenImage, _ limits: Limits) throws(ImagingError) {
        self.image = image
        if case .library(let library) = image.layout {
            handle = try library.open(limits)
        } else {
            handle = try Self.open(image, limits)
        }
        header = cimage_decoder_header(handle)
        pixels = cimage_pixels(UInt32(bitPattern: header.natural))
        width = Int(header.width)
        height = Int(header.height)
        guard width == image.info.width, height == image.info.height else {
            throw .badImage("The image changed while it was read.")
        }
    }

    /// Opens a JPEG or PNG whose bytes `feed` adds. Until the progress has the header, the properties
    /// have no meaning.
    init(streaming format: ImageFormat, _ limits: Limits) throws(ImagingError) {
        var bounds = limits.codec
        var opened: OpaquePointer?
        try callCodec { message in
            format == .jpeg
                ? cimage_jpeg_open_stream(&bounds, &opened, message)
                : cimage_png_open_stream(&bounds, &opened, message)
        }
        guard let opened else { throw .noMemory }
        handle = opened
        image = nil
        header = cimage_decoder_header(handle)
        pixels = CIMAGE_RGB8
        width = 0
        height = 0
    }

    /// Decodes the next bytes of a stream, until the deadline of `limits`.
    func feed(
        _ bytes: UnsafeRawBufferPointer, _ limits: Limits
    ) throws(ImagingError) -> cimage_progress {
        var progress = cimage_progress()
        try callCodec { message in
            cimage_decoder_feed(
                handle, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count,
                limits.deadline, &progress, message)
        }
        if progress.has_header, width == 0 {
            header = cimage_decoder_header(handle)
            pixels = cimage_pixels(UInt32(bitPattern: header.natural))
            width = Int(header.width)
            height = Int(header.height)
        }
        return progress
    }

    /// Makes a stream return all rows from the first one, as its complete passes show them.
    func beginPass() throws(ImagingError) {
        try callCodec { cimage_decoder_begin_pass(handle, $0) }
    }

    deinit { cimage_decoder_free(handle) }

    /// Opens a JPEG or PNG.
    private static func open(
        _ image: OpenImage, _ limits: Limits
    ) throws(ImagingError) -> OpaquePointer {
        var source = image.input.codecInput
        var bounds = limits.codec
        var opened: OpaquePointer?
        let isJPEG = image.info.format == .jpeg
        var code: Int32 = 0
        try callCodec(errno: { code }) { message in
            isJPEG
                ? cimage_jpeg_open(&source, &bounds, &opened, &code, message)
                : cimage_png_open(&source, &bounds, &opened, &code, message)
        }
        guard let opened else { throw .noMemory }
        return opened
    }

    /// Starts decoding in the header's natural format, or in `wanted`.
    func start(_ wanted: cimage_pixels? = nil, eighths: Int = 8) throws(ImagingError) {
        if let wanted { pixels = wanted }
        if usesHighBytes { cimage_decoder_use_high_bytes(handle) }
        var columns: UInt32 = 0
        var lines: UInt32 = 0
        try callCodec(errno: { cimage_decoder_errno(handle) }) { message in
            cimage_decoder_start(handle, pixels, Int32(eighths), &columns, &lines, message)
        }
        width = Int(columns)
        height = Int(lines)
    }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        var got: UInt32 = 0
        try callCodec(errno: { cimage_decoder_errno(handle) }) { message in
            cimage_decoder_read(
                handle, rows.assumingMemoryBound(to: UInt8.self), stride,
                UInt32(clamping: count), &got, message)
        }
        return Int(got)
    }

    /// The color profile of a PNG.
    var pngProfile: [UInt8]? {
        var count = 0
        guard let bytes = cimage_png_profile(handle, &count) else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// A way to transcode a JPEG without color conversion.
    enum Recoding {
        case planes
        case requantised
        case turned(orientation: Int)
    }

    /// Returns the image transcoded to another JPEG.
    func recode(
        _ recoding: Recoding, _ options: cimage_jpeg_options, segments: [UInt8]
    ) throws(ImagingError) -> Bytes {
        var options = options
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        try segments.withUnsafeBufferPointer { lent throws(ImagingError) in
            options.segments = lent.baseAddress
            options.segments_count = lent.count
            try callCodec(errno: { cimage_decoder_errno(handle) }) { message in
                switch recoding {
                case .planes:
                    cimage_jpeg_recode_planes(handle, &options, &bytes, &count, message)
                case .requantised:
                    cimage_jpeg_requantise(handle, &options, &bytes, &count, message)
                case .turned(let orientation):
                    cimage_jpeg_turn(
                        handle, Int32(orientation), &options, &bytes, &count, message)
                }
            }
        }
        return Bytes(ByteStorage(taking: bytes, count: count))
    }

    /// Returns whether the coefficients can be turned without loss: edges that move inside must end
    /// on whole blocks.
    func canTurn(_ orientation: Int) -> Bool { cimage_jpeg_can_turn(handle, Int32(orientation)) }

    /// Makes `options` use the quantization of this started JPEG. Valid as long as this decoder
    /// lives.
    func lendTables(to options: inout cimage_jpeg_options, transposed: Bool) {
        options.tables_from = handle
        options.transpose_tables = transposed
    }
}

/// What an encoder writes.
enum Encoder {
    enum Target {
        case jpeg(cimage_jpeg_options, segments: [UInt8])
        case png(cimage_png_options, profile: [UInt8], chunks: [UInt8])
    }
}

/// The encoder of the rows of one source.
final class RowEncoder {
    /// The maximum number of rows in a step.
    static let band = 16
    private let source: any RowSource
    private let handle: OpaquePointer
    private let memory: RowMemory
    /// The segments, profile, and chunks, to which the handle points.
    private let lent: [RowMemory]

    init(_ source: any RowSource, _ target: Encoder.Target) throws(ImagingError) {
        var opened: OpaquePointer?
        let (width, height) = (UInt32(source.width), UInt32(source.height))
        switch target {
        case .jpeg(var options, let segments):
            lent = [try RowMemory(copying: segments)]
            options.segments = lent[0].bytes
            options.segments_count = segments.count
            try callCodec { message in
                cimage_jpeg_begin(width, height, source.pixels, &options, &opened, message)
            }
        case .png(var options, let profile, let chunks):
            lent = [try RowMemory(copying: profile), try RowMemory(copying: chunks)]
            options.profile = lent[0].bytes
            options.profile_count = profile.count
            options.chunks = lent[1].bytes
            options.chunks_count = chunks.count
            try callCodec { message in
                cimage_png_begin(width, height, source.pixels, &options, &opened, message)
            }
        }
        guard let opened else { throw .noMemory }
        handle = opened
        self.source = source
        do throws(ImagingError) {
            memory = try RowMemory(source.rowBytes * Self.band)
        } catch {
            cimage_encoder_free(opened)
            throw error
        }
    }

    deinit { cimage_encoder_free(handle) }

    /// Encodes at most `most` rows, up to 16; returns `false` after the last one.
    func step(_ most: Int) throws(ImagingError) -> Bool {
        let stride = source.rowBytes
        let got = try source.read(into: memory.base, stride: stride, count: min(most, Self.band))
        guard got > 0 else { return false }
        try callCodec { message in
            cimage_encoder_write(
                handle, memory.base.assumingMemoryBound(to: UInt8.self), stride, UInt32(got),
                message)
        }
        return true
    }

    /// Returns the encoded image, after all rows.
    func finish() throws(ImagingError) -> Bytes {
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        try callCodec { cimage_encoder_finish(handle, &bytes, &count, $0) }
        return Bytes(ByteStorage(taking: bytes, count: count))
    }
}
