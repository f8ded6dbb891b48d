// Wherry: perceptual hashes of images.
// SPDX-License-Identifier: Apache-2.0

/// A perceptual hash of 64 bits: similar images have hashes that differ in few bits.
package struct ImageHash: Hashable, Sendable, CustomStringConvertible {
    /// A way to compute a hash. The numbers are those of the C interface.
    package enum Kind: UInt32, CaseIterable, Hashable, Sendable {
        /// Whether each of 9x8 gray pixels is darker than its right neighbor.
        case difference = 1
        /// Whether each of the 64 lowest frequencies of 32x32 gray pixels exceeds their median.
        case perceptual = 2
    }

    /// The bits, row by row; the top left one is the most significant bit.
    package let bits: UInt64

    package init(bits: UInt64) { self.bits = bits }

    /// The number of bits in which two hashes differ, 0...64.
    package func distance(to other: ImageHash) -> Int { (bits ^ other.bits).nonzeroBitCount }

    /// 16 hexadecimal digits in lower case.
    package var description: String {
        let digits = String(bits, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension ImageHash {
    /// Returns the hashes of an image, one for each of `kinds`. Decodes the image once.
    ///
    /// Equal to `dhash` and `phash` of the Python package imagehash 4.3 with Pillow 13, except that
    /// the image is turned upright first, and that 16-bit gray images are not clipped. Alpha is
    /// ignored. Of an animation, hashes one frame.
    ///
    /// - Parameter compression: Only `orientation`, `maxPixels`, `maxMemory` and `deadline` apply.
    package static func hashes(
        of source: ImageSource, _ kinds: [Kind], _ compression: Compression = Compression()
    ) throws(ImagingError) -> [ImageHash] {
        try compression.validate()
        let limits = Limits(compression)
        return try DecodedRows.reading(source, compression, limits, as: .gray8) {
            rows throws(ImagingError) in
            try hashes(of: rows, kinds, limits)
        }
    }

    private static func hashes(
        of rows: any RowSource, _ kinds: [Kind], _ limits: Limits
    ) throws(ImagingError) -> [ImageHash] {
        var thumbnails: [Thumbnail] = []
        for kind in kinds {
            let size = kind.thumbnailSize
            thumbnails.append(
                try Thumbnail(
                    of: (rows.width, rows.height), width: size.width, height: size.height,
                    maxMemory: limits.maxMemory))
        }
        let stride = rows.rowBytes
        let band = 16
        let memory = try RowMemory(stride * band)
        var done = 0
        while done < rows.height {
            try limits.checkDeadline()
            let got = try rows.read(into: memory.base, stride: stride, count: band)
            guard got > 0 else {
                throw .truncated("The image has fewer rows than its header declares.")
            }
            for y in 0..<got {
                let row = (memory.base + y * stride).assumingMemoryBound(to: UInt8.self)
                for index in thumbnails.indices { thumbnails[index].add(row) }
            }
            done += got
        }
        return zip(kinds, thumbnails).map { $0.hash(of: $1.pixels) }
    }
}

extension ImageHash.Kind {
    fileprivate var thumbnailSize: (width: Int, height: Int) {
        switch self {
        case .difference: (9, 8)
        case .perceptual: (CosineTransform.length, CosineTransform.length)
        }
    }

    fileprivate func hash(of thumbnail: [UInt8]) -> ImageHash {
        switch self {
        case .difference: Self.differences(thumbnail)
        case .perceptual: Self.frequencies(thumbnail)
        }
    }

    private static func differences(_ pixels: [UInt8]) -> ImageHash {
        var bits: UInt64 = 0
        for y in 0..<8 {
            for x in 0..<8 {
                bits = bits << 1 | (pixels[y * 9 + x + 1] > pixels[y * 9 + x] ? 1 : 0)
            }
        }
        return ImageHash(bits: bits)
    }

    private static func frequencies(_ pixels: [UInt8]) -> ImageHash {
        let length = CosineTransform.length
        // First each column, then each row; of both only the lowest eight frequencies are needed.
        let columns = (0..<length).map { x in
            CosineTransform.transform((0..<length).map { Double(pixels[$0 * length + x]) })
        }
        let lowest = (0..<8).flatMap { y in
            CosineTransform.transform(columns.map { $0[y] }).prefix(8)
        }
        let sorted = lowest.sorted()
        let median = (sorted[31] + sorted[32]) / 2
        return ImageHash(bits: lowest.reduce(0) { $0 << 1 | ($1 > median ? 1 : 0) })
    }
}
