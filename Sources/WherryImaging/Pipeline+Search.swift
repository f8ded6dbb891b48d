// Wherry: encoding for a size in bytes or a similarity.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
internal import WherrySystem

extension Pipeline {
    /// Below this quality a smaller image looks better than a coarser one.
    private static let leastQuality = 30
    /// Each round removes at least a tenth, so this is enough for any size.
    private static let mostRounds = 120

    /// The images of a search.
    private struct Found {
        let bytes: Bytes
        let quality: Int
    }

    /// Whether `rows` must be kept, because they are encoded more than once.
    var searches: Bool { compression.maxBytes != nil || targetSSIM != nil }

    /// The similarity to reach; `nil` for PNG.
    private var targetSSIM: Double? { format == .jpeg ? compression.targetSSIM : nil }

    /// Encodes rows with a low quality that reaches the target, and into the limit in bytes.
    ///
    /// - Parameter upright: Returns the upright rows of the final size, each time from the first one.
    func search(_ upright: () -> any RowSource) throws(ImagingError) -> Result {
        let kept = try KeptRows(finished(upright()), maxMemory: limits.maxMemory)
        var ceiling = compression.jpegQuality
        var encodings = 0
        if let target = targetSSIM {
            let found = try match(kept, target, ceiling, &encodings)
            guard found.bytes.count > compression.maxBytes ?? .max else {
                return Result(
                    bytes: found.bytes, width: kept.width, height: kept.height,
                    quality: found.quality, way: .whole, encodings: encodings)
            }
            ceiling = max(1, found.quality - 1)
        }
        guard let most = compression.maxBytes else {
            preconditionFailure("a search needs a goal")
        }
        return try fit(kept, upright, into: most, ceiling, &encodings)
    }

    private func write(_ rows: KeptRows, quality: Int) throws(ImagingError) -> Bytes {
        let encoder = try encoder(rows.reader(), quality: quality)
        while try encoder.step(RowEncoder.band) {}
        return try encoder.finish()
    }

    // MARK: Similarity

    /// Finds a low quality up to `ceiling` with the similarity; without one, uses `ceiling`.
    private func match(
        _ kept: KeptRows, _ target: Double, _ ceiling: Int, _ encodings: inout Int
    ) throws(ImagingError) -> Found {
        var search = QualitySearch(.ssim(target), in: 1...ceiling)
        var best: Found?
        var closest: Found?
        while let quality = search.next {
            let bytes = try write(kept, quality: quality)
            encodings += 1
            let ssim = try ImageComparison.ssim(kept.reader(), bytes, limits)
            let found = Found(bytes: bytes, quality: quality)
            if search.record(quality, ssim: ssim) { best = found }
            if quality == ceiling { closest = found }
        }
        guard let found = best ?? closest else {
            preconditionFailure("the last trial of a search is the ceiling")
        }
        return found
    }

    // MARK: Size limit

    /// Returns smaller rows. Those that are sharpened start from rows that were not.
    private func shrunk(
        _ kept: KeptRows, _ upright: () -> any RowSource, width: Int, height: Int
    ) throws(ImagingError) -> KeptRows {
        let source = compression.sharpen == 0 ? kept.reader() : try padded(upright())
        let rows = try ResampledRows(
            source, width: width, height: height, maxMemory: limits.maxMemory)
        return try KeptRows(sharpened(rows, isScaled: true), maxMemory: limits.maxMemory)
    }

    /// Finds the best quality that fits into `most` bytes, then ever smaller dimensions.
    private func fit(
        _ kept: KeptRows, _ upright: () -> any RowSource, into most: Int, _ ceiling: Int,
        _ encodings: inout Int
    ) throws(ImagingError) -> Result {
        let floor = format == .jpeg ? min(ceiling, Self.leastQuality) : ceiling
        var (width, height) = (kept.width, kept.height)
        let earlier = encodings
        for _ in 0..<Self.mostRounds {
            let isOriginal = width == kept.width && height == kept.height
            let current =
                isOriginal ? kept : try shrunk(kept, upright, width: width, height: height)
            var search = QualitySearch(
                .bytes(most), in: floor...ceiling, startsLow: !isOriginal,
                after: encodings - earlier)
            var best: Found?
            var smallest = Int.max
            while let quality = search.next {
                let bytes = try write(current, quality: quality)
                encodings += 1
                smallest = min(smallest, bytes.count)
                if search.record(quality, bytes: bytes.count) {
                    best = Found(bytes: bytes, quality: quality)
                }
            }
            if let best {
                return Result(
                    bytes: best.bytes, width: width, height: height,
                    quality: format == .jpeg ? best.quality : nil, way: .whole,
                    encodings: encodings)
            }
            if width == 1, height == 1 { break }
            let ratio = (Double(most) / Double(smallest)).squareRoot()
            // A smaller image takes more bytes per pixel.
            let factor = min(0.9, max(0.1, ratio * 0.95))
            width = max(1, Int(Double(width) * factor))
            height = max(
                1, Int((Double(kept.height) * Double(width) / Double(kept.width)).rounded()))
            height = min(height, kept.height)
        }
        throw ImagingError(
            .limit, "does_not_fit", "The image does not fit into \(most) bytes, including metadata."
        )
    }
}
