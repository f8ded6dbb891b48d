// Wherry: rows that several readers read.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
import Glibc

/// The rows of one source for several readers. Holds the rows between the slowest and the fastest reader.
final class SharedRows {
    private let source: any RowSource
    private let maxMemory: Int
    /// The bands that are in memory, from top to bottom. The last one may be incomplete.
    private var bands: [RowMemory] = []
    /// Released bands, to be filled again.
    private var free: [RowMemory] = []
    /// The number of bands that were released.
    private var released = 0
    /// The number of rows that were read from the source.
    private var filled = 0
    /// The next row of each reader; the height after the last one.
    private var positions: [Int] = []
    private static let band = 16

    init(_ source: any RowSource, maxMemory: Int) {
        self.source = source
        self.maxMemory = maxMemory
    }

    /// Adds a reader that starts at the first row. Add all readers before the first row is read.
    func reader() -> Reader {
        positions.append(0)
        return Reader(self, positions.count - 1)
    }

    final class Reader: RowSource {
        var pixels: cimage_pixels { shared.source.pixels }
        var width: Int { shared.source.width }
        var height: Int { shared.source.height }
        /// The number of rows that were read.
        var position: Int { shared.positions[index] }
        private let shared: SharedRows
        private let index: Int

        /// Skips the other rows.
        func finish() {
            shared.positions[index] = height
            shared.release()
        }

        fileprivate init(_ shared: SharedRows, _ index: Int) {
            self.shared = shared
            self.index = index
        }

        func read(
            into rows: UnsafeMutableRawPointer, stride: Int, count: Int
        ) throws(ImagingError) -> Int {
            try shared.read(index, into: rows, stride: stride, count: count)
        }
    }

    private func read(
        _ index: Int, into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        let position = positions[index]
        if position == filled {
            guard try fill() else { return 0 }
        }
        let band = position / Self.band
        // Rows of one band, so that they are contiguous.
        let end = min(position + count, filled, (band + 1) * Self.band)
        let rowBytes = source.rowBytes
        let first = bands[band - released].base + position % Self.band * rowBytes
        for y in 0..<end - position {
            memcpy(rows + y * stride, first + y * rowBytes, rowBytes)
        }
        positions[index] = end
        release()
        return end - position
    }

    /// Reads more rows from the source; returns `false` after the last one.
    private func fill() throws(ImagingError) -> Bool {
        let used = filled % Self.band
        let rowBytes = source.rowBytes
        if used == 0, bands.count == filled / Self.band - released { try addBand() }
        let got = try source.read(
            into: bands[bands.count - 1].base + used * rowBytes, stride: rowBytes,
            count: Self.band - used)
        filled += got
        return got > 0
    }

    private func addBand() throws(ImagingError) {
        if let band = free.popLast() {
            bands.append(band)
            return
        }
        let count = source.rowBytes * Self.band
        let needed = count * (bands.count + 1)
        guard needed <= max(maxMemory, count) else {
            throw .memoryLimit(needed: needed, allowed: maxMemory)
        }
        bands.append(try RowMemory(count))
    }

    private func release() {
        let slowest = positions.min() ?? filled
        while released < slowest / Self.band, !bands.isEmpty {
            free.append(bands.removeFirst())
            released += 1
        }
    }
}
