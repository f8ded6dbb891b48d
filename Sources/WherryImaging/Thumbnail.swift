// Wherry: tiny gray copies of images.
// SPDX-License-Identifier: Apache-2.0

/// Resizes a gray image, row by row, to a few pixels, with the result of Pillow 13.
///
/// There are two passes, one along each axis, and the first one rounds to 8 bits. Their order affects
/// the result. If the height shrinks by more than twice as many pixels as the width, Pillow resizes
/// columns first. Holds only the sums of the second axis.
struct Thumbnail {
    let width: Int
    let height: Int
    private let across: FixedPointWeights
    private let down: FixedPointWeights
    /// Whether the columns are resized first.
    private let isColumnsFirst: Bool
    /// The number of sums in a row.
    private let lane: Int
    private var sums: [Int32]
    /// The row to add, resized if rows come first.
    private var line: [UInt8]
    /// The first output row that still needs source rows.
    private var open = 0
    private var next = 0

    /// - Throws: `memory_limit` if the sums need more than `maxMemory` bytes.
    init(
        of source: (width: Int, height: Int), width: Int, height: Int, maxMemory: Int
    ) throws(ImagingError) {
        self.width = width
        self.height = height
        across = FixedPointWeights(from: source.width, to: width)
        down = FixedPointWeights(from: source.height, to: height)
        let fewerRows = source.height - height
        isColumnsFirst = fewerRows > 0 && fewerRows > 2 * (source.width - width)
        lane = isColumnsFirst ? source.width : width
        let needed = lane * height * MemoryLayout<Int32>.stride
        guard needed <= maxMemory else { throw .memoryLimit(needed: needed, allowed: maxMemory) }
        sums = [Int32](repeating: FixedPointWeights.half, count: lane * height)
        line = [UInt8](repeating: 0, count: isColumnsFirst ? 0 : width)
    }

    /// Adds the next row of the source.
    mutating func add(_ row: UnsafePointer<UInt8>) {
        if isColumnsFirst { return add(resized: row) }
        line.withUnsafeMutableBufferPointer { across.resize(row, into: $0.baseAddress!) }
        line.withUnsafeBufferPointer { add(resized: $0.baseAddress!) }
    }

    private mutating func add(resized row: UnsafePointer<UInt8>) {
        while open < height, down.end(of: open) <= next { open += 1 }
        sums.withUnsafeMutableBufferPointer { all in
            var y = open
            while y < height, down.first[y] <= next {
                let weight = down.values[y * down.taps + next - down.first[y]]
                let out = all.baseAddress! + y * lane
                for x in 0..<lane { out[x] &+= Int32(row[x]) &* weight }
                y += 1
            }
        }
        next += 1
    }

    /// The resized image, after the last row was added.
    var pixels: [UInt8] {
        let bytes = sums.map(FixedPointWeights.byte)
        guard isColumnsFirst else { return bytes }
        var pixels = [UInt8](repeating: 0, count: width * height)
        bytes.withUnsafeBufferPointer { from in
            pixels.withUnsafeMutableBufferPointer { to in
                for y in 0..<height {
                    across.resize(from.baseAddress! + y * lane, into: to.baseAddress! + y * width)
                }
            }
        }
        return pixels
    }
}
