// Wherry: pixels in memory.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Rows of pixels in memory, owned or borrowed.
///
/// A side has at most 65,500 pixels, JPEG's limit.
package final class PixelBuffer: @unchecked Sendable {  // written only before it is shared
    package static let longestSide = 65_500

    package let format: PixelFormat
    package let width: Int
    package let height: Int
    /// The distance between the starts of two rows in bytes; at least the length of a row.
    package let stride: Int
    let base: UnsafeMutableRawPointer
    private let owner: (any AnyObject & Sendable)?

    /// Borrows pixels from `owner`, which stays alive as long as they are needed. A `LentMemory`
    /// may revoke them.
    ///
    /// - Parameters:
    ///   - bytes: The rows, starting with the first pixel. The last row may omit its padding.
    ///   - stride: Bytes per row; 0 means rows without padding.
    /// - Throws: `bad_parameters` if the bytes do not hold that many pixels, or a side is not in
    ///   1...65,500.
    package init(
        borrowing bytes: UnsafeRawBufferPointer, owner: any AnyObject & Sendable,
        format: PixelFormat, width: Int, height: Int, stride: Int = 0
    ) throws(ImagingError) {
        let layout = try Self.layout(format, width, height, stride)
        guard let base = bytes.baseAddress, bytes.count >= layout.needed else {
            throw .badParameters(
                "\(width)x\(height) pixels need \(layout.needed) bytes, but the buffer has \(bytes.count)."
            )
        }
        self.format = format
        self.width = width
        self.height = height
        self.stride = layout.stride
        self.base = UnsafeMutableRawPointer(mutating: base)
        self.owner = owner
    }

    /// Runs `body`, which reads the rows; throws `taken_back` if borrowed memory was revoked.
    func reading<Result>(
        _ body: () throws(ImagingError) -> Result
    ) throws(ImagingError) -> Result {
        guard let lender = owner as? LentMemory else { return try body() }
        return try lender.reading(body)
    }

    /// Allocates a buffer of zeros.
    ///
    /// - Throws: `memory_limit` if it would exceed `maxMemory` bytes, checked before the
    ///   allocation; `no_memory` if the allocation fails.
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

    /// Copies `bytes`, without padding or with `stride`.
    package convenience init(
        copying bytes: [UInt8], format: PixelFormat, width: Int, height: Int, stride: Int = 0
    ) throws(ImagingError) {
        let layout = try Self.layout(format, width, height, stride)
        guard bytes.count >= layout.needed else {
            throw .badParameters(
                "\(width)x\(height) pixels need \(layout.needed) bytes, but the buffer has \(bytes.count)."
            )
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

    /// Returns a copy of row `y`.
    package func copyRow(_ y: Int) -> [UInt8] {
        precondition(y >= 0 && y < height, "the row is out of range")
        return Array(UnsafeRawBufferPointer(start: row(y), count: rowBytes))
    }

    /// A pointer to the first row; keep the buffer alive while you use it.
    package var lent: UnsafeRawPointer { UnsafeRawPointer(base) }

    /// A copy of all rows without padding.
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
                "The sides of an image must be 1 to \(longestSide) pixels, not \(width)x\(height).")
        }
        let row = width * format.bytesPerPixel
        guard stride == 0 || stride >= row else {
            throw .badParameters("A row needs \(row) bytes, but the stride is only \(stride).")
        }
        let step = stride == 0 ? row : stride
        let (before, overflow) = step.multipliedReportingOverflow(by: height - 1)
        let (needed, more) = before.addingReportingOverflow(row)
        guard !overflow, !more else { throw .badParameters("The stride \(stride) is too large.") }
        return (step, needed)
    }
}
