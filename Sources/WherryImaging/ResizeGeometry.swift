// Wherry: the sizes and offsets of resizing, cropping, and padding.
// SPDX-License-Identifier: Apache-2.0

/// How an image fills the box of a compression, in pixels of the upright or of the stored image.
///
/// Cropping removes the same number of pixels on both sides, and padding adds the same number. An odd
/// pixel is removed or added at the right or at the bottom.
struct ResizeGeometry: Equatable {
    struct Size: Equatable {
        var width: Int
        var height: Int

        var swapped: Size { Size(width: height, height: width) }
    }

    /// The size of the image before.
    let source: Size
    /// The size that the complete image has after scaling, rounded up if it is cropped then.
    let scaled: Size
    /// The size of what is left of the image after scaling and cropping.
    let content: Size
    /// The size of the result: `content` and its padding.
    let target: Size

    /// Computes the geometry of an upright image. Without a limit, a side of the box has any length.
    init(
        _ width: Int, _ height: Int, in box: (width: Int, height: Int),
        _ mode: Compression.ResizeMode
    ) {
        source = Size(width: width, height: height)
        switch mode {
        case .fit, .pad:
            let (width, height) = Self.fit(width, height, box.width, box.height)
            content = Size(width: width, height: height)
            scaled = content
            target = mode == .pad ? Size(width: box.width, height: box.height) : content
        case .crop:
            (scaled, content) = Self.crop(source, Size(width: box.width, height: box.height))
            target = content
        }
    }

    private init(source: Size, scaled: Size, content: Size, target: Size) {
        self.source = source
        self.scaled = scaled
        self.content = content
        self.target = target
    }

    /// The same with width and height exchanged.
    var swapped: ResizeGeometry {
        ResizeGeometry(
            source: source.swapped, scaled: scaled.swapped, content: content.swapped,
            target: target.swapped)
    }

    /// Whether anything changes.
    var changes: Bool { target != source }
    var scales: Bool { scaled != source }
    var crops: Bool { content != scaled }
    var pads: Bool { target != content }

    /// Returns the largest size within the limits with the same aspect ratio; never enlarges.
    static func fit(
        _ width: Int, _ height: Int, _ maxWidth: Int, _ maxHeight: Int
    ) -> (Int, Int) {
        guard width > maxWidth || height > maxHeight else { return (width, height) }
        if isWider(width, height, maxWidth, maxHeight) {
            return (maxWidth, max(1, (height * maxWidth + width / 2) / width))
        }
        return (max(1, (width * maxHeight + height / 2) / height), maxHeight)
    }

    /// Returns the sizes of an image that covers the box, or of a smaller one with its aspect ratio.
    private static func crop(_ image: Size, _ box: Size) -> (scaled: Size, content: Size) {
        guard isWider(image.width, image.height, box.width, box.height) else {
            let (scaled, content) = crop(image.swapped, box.swapped)
            return (scaled.swapped, content.swapped)
        }
        // The height limits the scale, and columns are removed.
        if image.height > box.height {
            let width = (image.width * box.height + image.height - 1) / image.height
            return (Size(width: max(width, box.width), height: box.height), box)
        }
        let width = Double(image.height) * Double(box.width) / Double(box.height)
        return (
            image,
            Size(width: max(1, min(image.width, Int(width.rounded()))), height: image.height)
        )
    }

    /// Compares width/height with maxWidth/maxHeight without division and overflow.
    private static func isWider(
        _ width: Int, _ height: Int, _ maxWidth: Int, _ maxHeight: Int
    ) -> Bool {
        let byWidth = width.multipliedFullWidth(by: maxHeight)
        let byHeight = height.multipliedFullWidth(by: maxWidth)
        return (byWidth.high, byWidth.low) >= (byHeight.high, byHeight.low)
    }

    /// The pixels of the scaled image that become the content.
    ///
    /// - Parameter orientation: The EXIF orientation in which the scaled image is stored, and with
    ///   which it is turned upright afterwards.
    func center(orientation: Int) -> (columns: Range<Int>, rows: Range<Int>) {
        func middle(_ length: Int, of count: Int, isMirrored: Bool) -> Range<Int> {
            let extra = count - length
            let start = isMirrored ? extra - extra / 2 : extra / 2
            return start..<start + length
        }
        return (
            middle(
                content.width, of: scaled.width, isMirrored: [2, 3, 7, 8].contains(orientation)),
            middle(
                content.height, of: scaled.height, isMirrored: [3, 4, 6, 7].contains(orientation))
        )
    }

    /// A part of a row or column, in pixels of the decoded image.
    struct Span: Equatable {
        var start: Double
        var length: Double

        /// The complete side.
        static func all(_ length: Int) -> Span { Span(start: 0, length: Double(length)) }

        /// The pixels from which a filter makes `target` pixels.
        func pixels(for target: Int, of count: Int) -> Range<Int> {
            let reach = ResamplingWeights.lobes * max(1, length / Double(target))
            let low = max(0, Int((start - reach).rounded(.down)))
            let high = min(count, Int((start + length + reach).rounded(.up)))
            return low..<max(high, low + 1)
        }
    }

    /// The parts of a decoded image of any scale that become the content. The center stays the center.
    func region(of width: Int, _ height: Int) -> (columns: Span, rows: Span) {
        guard crops else { return (.all(width), .all(height)) }
        // One side is complete. The other one has the aspect ratio of the content.
        let (wide, high) = (Double(source.width), Double(source.height))
        let ratio = Double(content.width) / Double(content.height)
        let share = (columns: min(1, high * ratio / wide), rows: min(1, wide / ratio / high))
        func middle(_ length: Int, _ share: Double) -> Span {
            Span(start: Double(length) * (1 - share) / 2, length: Double(length) * share)
        }
        return (middle(width, share.columns), middle(height, share.rows))
    }
}
