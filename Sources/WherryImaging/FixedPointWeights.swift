// Wherry: the integer Lanczos filter of Pillow.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The source samples of each output sample along one axis, with integer weights.
///
/// Pillow resizes 8-bit images with these weights, and perceptual hashes depend on the last bit.
/// `ResamplingWeights` is faster and more precise, but gives other results.
struct FixedPointWeights {
    /// Weights are multiples of 2^-22, so that a sum of 8-bit samples fits into 32 bits.
    private static let fractionBits: Int32 = 22

    /// The number of weights for each output; unused ones are zero.
    let taps: Int
    /// The first source sample of each output; never decreases.
    private(set) var first: [Int] = []
    /// The number of source samples of each output.
    private(set) var counts: [Int] = []
    /// `taps` weights for each output.
    private(set) var values: [Int32] = []

    init(from source: Int, to target: Int) {
        guard source != target else {
            // Pillow skips the filter; a weight of one does not change any sample either.
            taps = 1
            first = Array(0..<target)
            counts = [Int](repeating: 1, count: target)
            values = [Int32](repeating: 1 << Self.fractionBits, count: target)
            return
        }
        let step = Double(source) / Double(target)
        let scale = max(1, step)
        let reach = 3 * scale
        taps = Int(reach.rounded(.up)) * 2 + 1
        for output in 0..<target {
            let center = (Double(output) + 0.5) * step
            let low = max(0, Int(center - reach + 0.5))
            let high = min(source, Int(center + reach + 0.5))
            var weights = (0..<high - low).map {
                Self.lanczos((Double($0 + low) - center + 0.5) * (1 / scale))
            }
            let sum = weights.reduce(0, +)
            if sum != 0 { weights = weights.map { $0 / sum } }
            first.append(low)
            counts.append(weights.count)
            values.append(contentsOf: weights.lazy.map(Self.fixed))
            values.append(contentsOf: repeatElement(0, count: taps - weights.count))
        }
    }

    /// The end of the source samples of an output.
    func end(of output: Int) -> Int { first[output] + counts[output] }

    /// Writes the resized samples of one line.
    func resize(_ line: UnsafePointer<UInt8>, into out: UnsafeMutablePointer<UInt8>) {
        values.withUnsafeBufferPointer { all in
            for output in first.indices {
                let from = line + first[output]
                let weights = all.baseAddress! + output * taps
                var sum = Self.half
                for i in 0..<counts[output] { sum &+= Int32(from[i]) &* weights[i] }
                out[output] = Self.byte(sum)
            }
        }
    }

    /// The initial value of a sum, which makes `byte` round.
    static var half: Int32 { 1 << (fractionBits - 1) }

    /// Returns the byte of a weighted sum that started with `half`.
    @inline(__always)
    static func byte(_ sum: Int32) -> UInt8 {
        UInt8(truncatingIfNeeded: max(0, min(255, sum >> fractionBits)))
    }

    private static func fixed(_ weight: Double) -> Int32 {
        let scaled = weight * Double(1 << fractionBits)
        return Int32(weight < 0 ? scaled - 0.5 : scaled + 0.5)
    }

    private static func lanczos(_ x: Double) -> Double {
        x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0
    }

    private static func sinc(_ x: Double) -> Double {
        x == 0 ? 1 : sin(x * .pi) / (x * .pi)
    }
}
