// Wherry: a picture's pixels in memory.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Rows of pixels in memory, owned or borrowed.
///
/// The longest side is 65,500 pixels, what JPEG can hold.
package final class PixelBuffer: @unchecked Sendable {  // written only before it is shared
    package static let longestSide = 65_500

    package let format: PixelFormat
    package let width: Int
    package let height: Int
    /// Bytes from the start of one row to the start of the next; at least a row's length.
    package let stride: Int
    let base: UnsafeMutableRawPointer
    private let owner: (any AnyObject & Sendable)?

    /// Pixels that belong to `owner`, which is kept alive for as long as they are needed; a
    /// `LentMemory` may take them back.
    ///
    /// - Parameters:
    ///   - bytes: the rows, the first pixel first. The last row may end without padding.
    ///   - stride: bytes per row; 0 means rows without padding.
    /// - Throws: `bad_parameters` if the bytes do not hold that many pixels, or a side is
    ///   not in 1...65,500.
    package init(
        borrowing bytes: UnsafeRawBufferPointer, owner: any AnyObject & Sendable,
        format: PixelFormat, width: Int, height: Int, stride: Int = 0
    ) throws(ImagingError) {
        let layout = try Self.layout(format, width, height, stride)
        guard let base = bytes.baseAddress, bytes.count >= layout.needed else {
            throw .badParameters(
                "\(width)x\(height) pixels need \(layout.needed) bytes; there are \(bytes.count).")
        }
        self.format = format
        self.width = width
        self.height = height
        self.stride = layout.stride
        self.base = UnsafeMutableRawPointer(mutating: base)
        self.owner = owner
    }

    /// Runs `body`, which reads the rows; throws `taken_back` for lent ones that are gone.
    func reading<Result>(
        _ body: () throws(ImagingError) -> Result
    ) throws(ImagingError) -> Result {
        guard let lender = owner as? LentMemory else { return try body() }
        return try lender.reading(body)
    }

    /// A buffer with memory of its own, all zeros.
    ///
    /// - Throws: `memory_limit` if it would take more than `maxMemory` bytes, judged before
    ///   asking; `no_memory` if the system has none.
    package init(format: PixelFormat, width: Int, height: Int, maxMemory: Int) throws(ImagingError)
    {
        let layout = try Self.layout(format, width, height, 0)
        guard layout.needed <= maxMemory else {
            throw .memoryLimit(needed: layout.needed, allowed: maxMemory)
        }
        guard let base = calloc(height, layout.stride) else { throw .noMemory }
        self.format = format
        self.width = width
        self.height = height
        self.stride = layout.stride
        self.base = base
        self.owner = nil
    }

    /// A copy of `bytes`, given without padding or with `stride`.
    package convenience init(
        copying bytes: [UInt8], format: PixelFormat, width: Int, height: Int, stride: Int = 0
    ) throws(ImagingError) {
        let layout = try Self.layout(format, width, height, stride)
        guard bytes.count >= layout.needed else {
            throw .badParameters(
                "\(width)x\(height) pixels need \(layout.needed) bytes; there are \(bytes.count).")
        }
        try self.init(format: format, width: width, height: height, maxMemory: .max)
        bytes.withUnsafeBytes { from in
            for y in 0..<height {
                memcpy(row(y), from.baseAddress! + y * layout.stride, rowBytes)
            }
        }
    }

    deinit { if owner == nil { free(base) } }

    package var rowBytes: Int { width * format.bytesPerPixel }

    func row(_ y: Int) -> UnsafeMutableRawPointer { base + y * stride }

    /// The bytes of row `y`, copied.
    package func copyRow(_ y: Int) -> [UInt8] {
        precondition(y >= 0 && y < height, "a row outside of the picture")
        return Array(UnsafeRawBufferPointer(start: row(y), count: rowBytes))
    }

    /// The first row, for who keeps the buffer meanwhile.
    package var lent: UnsafeRawPointer { UnsafeRawPointer(base) }

    /// All rows, copied without padding.
    package var packedBytes: [UInt8] {
        var all: [UInt8] = []
        all.reserveCapacity(rowBytes * height)
        for y in 0..<height {
            all.append(contentsOf: UnsafeRawBufferPointer(start: row(y), count: rowBytes))
        }
        return all
    }

    private static func layout(
        _ format: PixelFormat, _ width: Int, _ height: Int, _ stride: Int
    ) throws(ImagingError) -> (stride: Int, needed: Int) {
        guard (1...longestSide).contains(width), (1...longestSide).contains(height) else {
            throw .badParameters(
                "A picture's sides are 1 to \(longestSide), not \(width)x\(height).")
        }
        let row = width * format.bytesPerPixel
        guard stride == 0 || stride >= row else {
            throw .badParameters("A row takes \(row) bytes; the stride is only \(stride).")
        }
        let step = stride == 0 ? row : stride
        let (before, overflow) = step.multipliedReportingOverflow(by: height - 1)
        let (needed, more) = before.addingReportingOverflow(row)
        guard !overflow, !more else { throw .badParameters("The stride \(stride) is too large.") }
        return (step, needed)
    }
}
