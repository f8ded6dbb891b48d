// Wherry: rows shrunk by an integer.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs

/// The averages of squares of pixels without alpha, as a JPEG decoder scales. Holds one row of sums.
final class BoxRows: RowSource {
    var pixels: cimage_pixels { source.pixels }
    let width: Int
    let height: Int
    private let source: any RowSource
    /// The side of a square. Those at the right and at the bottom may be smaller.
    private let side: Int
    private let line: RowMemory
    private var sums: [Int]
    private var next = 0

    init(_ source: any RowSource, side: Int) throws(ImagingError) {
        precondition(side > 0 && !source.hasAlpha)
        self.source = source
        self.side = side
        width = (source.width + side - 1) / side
        height = (source.height + side - 1) / side
        line = try RowMemory(source.rowBytes)
        sums = Array(repeating: 0, count: width * source.bytesPerPixel)
    }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        let end = min(height, next + count)
        for y in next..<end {
            let lines = min(side, source.height - y * side)
            for _ in 0..<lines {
                guard try source.read(into: line.base, stride: line.count, count: 1) == 1 else {
                    throw .truncated("The image has fewer rows than its header declares.")
                }
                add()
            }
            store(rows + (y - next) * stride, lines)
        }
        defer { next = end }
        return end - next
    }

    private func add() {
        let size = bytesPerPixel
        let bytes = line.bytes
        sums.withUnsafeMutableBufferPointer { sums in
            for x in 0..<width {
                for column in x * side..<min(source.width, (x + 1) * side) {
                    for c in 0..<size { sums[x * size + c] += Int(bytes[column * size + c]) }
                }
            }
        }
    }

    /// Writes the averages as bytes, and clears the sums.
    private func store(_ row: UnsafeMutableRawPointer, _ lines: Int) {
        let size = bytesPerPixel
        let out = row.assumingMemoryBound(to: UInt8.self)
        sums.withUnsafeMutableBufferPointer { sums in
            for x in 0..<width {
                let area = lines * min(side, source.width - x * side)
                for c in 0..<size {
                    out[x * size + c] = UInt8((sums[x * size + c] + area / 2) / area)
                    sums[x * size + c] = 0
                }
            }
        }
    }
}
