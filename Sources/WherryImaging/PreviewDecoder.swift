// Wherry: decoding of images while their bytes arrive.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
package import WherrySystem

/// An incomplete image with the size of the complete one.
package struct DecodedPreview: Sendable {
    package let pixels: PixelBuffer
    /// The scans of a JPEG that are complete, or the last complete pass of a PNG, 1...6.
    package let pass: Int
}

/// Decodes an image while its bytes arrive: a progressive JPEG after each scan, an interlaced PNG after
/// each pass. Use it from one thread at a time.
///
/// Each scan is decoded once. Scans or passes that are complete at the same time give one preview. The
/// complete image gives none.
package final class PreviewDecoder {
    private enum State {
        /// The bytes up to the header are needed twice: by the codec, and for the orientation.
        /// -> opened, ended
        case beginning([UInt8])
        /// -> showing, ended
        case opened(Decoder, ImageFormat, [UInt8])
        /// -> ended
        case showing(Decoder, Pipeline)
        /// No further previews: the image is complete or damaged, or is shown only as a whole.
        case ended
    }

    private var state = State.beginning([])
    private let format: PixelFormat?
    private let compression: Compression
    private var progress = cimage_progress()
    /// The passes of the last preview.
    private var shown: UInt32 = 0

    /// - Parameters:
    ///   - format: The pixel format, as in ``ImageDecoder/decode(_:as:_:)``.
    ///   - compression: The properties that `decode` uses. Memory limits apply to the decoder and to
    ///     each preview, and the deadline applies to each call of ``decode(_:)``.
    package init(as format: PixelFormat? = nil, _ compression: Compression = Compression()) {
        self.format = format
        self.compression = compression
    }

    /// Whether no further previews follow.
    package var isEnded: Bool { if case .ended = state { true } else { false } }

    /// Decodes the next bytes. Returns a preview if a further scan or pass is complete.
    ///
    /// After an error, no further previews follow.
    package func decode(_ pieces: [Bytes]) throws(ImagingError) -> DecodedPreview? {
        do throws(ImagingError) {
            try compression.validate()
            let limits = Limits(compression)
            for piece in pieces { try feed(piece, limits) }
            return try preview(limits)
        } catch {
            state = .ended
            throw error
        }
    }

    private func feed(_ piece: Bytes, _ limits: Limits) throws(ImagingError) {
        switch state {
        case .beginning(var head):
            state = .ended
            guard Self.append(piece, to: &head) else { return }
            guard head.count >= Self.recognisable else {
                state = .beginning(head)
                return
            }
            guard let found = ImageFormat.recognise(Array(head.prefix(Self.recognisable))),
                found == .jpeg || found == .png
            else { return }
            let decoder = try Decoder(streaming: found, limits)
            progress = try Self.feed(decoder, Bytes(head), limits)
            try open(decoder, found, head, limits)
        case .opened(let decoder, let found, var head):
            state = .ended
            guard Self.append(piece, to: &head) else { return }
            progress = try Self.feed(decoder, piece, limits)
            try open(decoder, found, head, limits)
        case .showing(let decoder, _): progress = try Self.feed(decoder, piece, limits)
        case .ended: break
        }
    }

    /// The number of bytes by which formats are recognized.
    private static let recognisable = 12

    /// The largest header, with all metadata, of an image that has previews.
    private static let longestHead = 1 << 20

    /// Adds bytes to the header; `false` if it gets too long, or belongs to a PNG that is not
    /// interlaced. Bytes of pixels at the end of the piece do not count.
    private static func append(_ piece: Bytes, to head: inout [UInt8]) -> Bool {
        guard head.count <= longestHead else { return false }
        head += piece
        let interlacing = 28
        return head.first != 0x89 || head.count <= interlacing || head[interlacing] != 0
    }

    private static func feed(
        _ decoder: Decoder, _ piece: Bytes, _ limits: Limits
    ) throws(ImagingError) -> cimage_progress {
        try piece.withUnsafeBytes { bytes throws(ImagingError) in
            try decoder.feed(bytes, limits)
        }
    }

    /// Starts to decode if the header is complete.
    private func open(
        _ decoder: Decoder, _ found: ImageFormat, _ head: [UInt8], _ limits: Limits
    ) throws(ImagingError) {
        guard progress.has_header else {
            state = .opened(decoder, found, head)
            return
        }
        guard decoder.header.needs_whole else { return }
        let image = try OpenImage(ImageInput(Bytes(head)), whole: false)
        try image.checkFrames(compression.animated, wanted: "decode")
        let pipeline = ImageDecoder.pipeline(image.info, compression, limits)
        try ImageDecoder.start(decoder, pipeline, found)
        progress = try decoder.feed(UnsafeRawBufferPointer(start: nil, count: 0), limits)
        state = .showing(decoder, pipeline)
    }

    private func preview(_ limits: Limits) throws(ImagingError) -> DecodedPreview? {
        guard case .showing(let decoder, let pipeline) = state else { return nil }
        guard !progress.is_complete else {
            state = .ended
            return nil
        }
        guard progress.passes > shown else { return nil }
        shown = progress.passes
        try decoder.beginPass()
        let rows = try ImageDecoder.rows(decoder, pipeline)
        let pixels = try ImageDecoder.decode(rows, as: format, compression, limits)
        return DecodedPreview(pixels: pixels, pass: Int(shown))
    }
}
