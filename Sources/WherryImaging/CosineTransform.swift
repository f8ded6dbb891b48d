// Wherry: the discrete cosine transform of 32 numbers.
// SPDX-License-Identifier: Apache-2.0

/// The discrete cosine transform (DCT-II, not normalized) of 32 numbers.
///
/// It rounds each step as SciPy does: a Fourier transform of half the length in steps of 2, 4, and 4,
/// with the same order of operations. The results are equal in every bit. The bits of a perceptual
/// hash depend on this: in symmetric images, half of the coefficients are zero but for rounding.
enum CosineTransform {
    static let length = 32

    /// cos(k pi / 64) for k in 1...31, each as SciPy rounds it.
    private static let cosines: [Double] = [
        0.9987954562051724, 0.9951847266721969, 0.989176509964781, 0.9807852804032304,
        0.970031253194544, 0.9569403357322088, 0.9415440651830208, 0.9238795325112867,
        0.9039892931234433, 0.881921264348355, 0.8577286100002721, 0.8314696123025452,
        0.8032075314806449, 0.773010453362737, 0.7409511253549591, 0.7071067811865475,
        0.6715589548470183, 0.6343932841636455, 0.5956993044924332, 0.5555702330196022,
        0.5141027441932217, 0.47139673682599753, 0.42755509343028203, 0.38268343236508967,
        0.33688985339221994, 0.2902846772544623, 0.24298017990326393, 0.19509032201612825,
        0.14673047445536164, 0.09801714032956049, 0.04906767432741799,
    ]

    /// A factor on the unit circle.
    private struct Turn {
        let cos: Double
        let sin: Double
    }

    /// The turns by k pi / 16 for k in 1...7, each as SciPy rounds it.
    private static let turns = [
        Turn(cos: 0.9807852804032304, sin: 0.19509032201612825),
        Turn(cos: 0.9238795325112867, sin: 0.3826834323650898),
        Turn(cos: 0.8314696123025452, sin: 0.5555702330196022),
        Turn(cos: 0.7071067811865475, sin: 0.7071067811865476),
        Turn(cos: 0.5555702330196022, sin: 0.8314696123025452),
        Turn(cos: 0.3826834323650898, sin: 0.9238795325112867),
        Turn(cos: 0.19509032201612825, sin: 0.9807852804032304),
    ]

    /// Returns the transform of `input`, which has 32 numbers.
    static func transform(_ input: [Double]) -> [Double] {
        precondition(input.count == length, "the transform has 32 numbers")
        var values = input
        values[0] *= 2
        values[31] *= 2
        for k in stride(from: 1, to: 31, by: 2) {
            (values[k], values[k + 1]) = (values[k + 1] + values[k], values[k + 1] - values[k])
        }
        values = quarters(quarters4(halves(values)))
        for k in 1..<16 {
            let (low, high) = (values[k], values[32 - k])
            let sum = cosines[k - 1] * high + cosines[31 - k] * low
            let difference = cosines[k - 1] * low - cosines[31 - k] * high
            values[k] = 0.5 * (sum + difference)
            values[32 - k] = 0.5 * (sum - difference)
        }
        values[16] *= cosines[15]
        return values
    }

    /// Splits the spectrum of 32 real numbers into those of the even and the odd numbers.
    private static func halves(_ from: [Double]) -> [Double] {
        var to = [Double](repeating: 0, count: length)
        to[0] = from[0] + from[31]
        to[16] = from[0] - from[31]
        for i in stride(from: 2, to: 16, by: 2) {
            let mirrored = 32 - i
            to[i - 1] = from[i - 1] + from[mirrored - 1]
            to[i] = from[i] - from[mirrored]
            let real = from[i - 1] - from[mirrored - 1]
            let imaginary = from[i] + from[mirrored]
            let turn = turns[i / 2 - 1]
            to[16 + i] = turn.cos * imaginary + turn.sin * real
            to[16 + i - 1] = turn.cos * real - turn.sin * imaginary
        }
        to[15] = 2 * from[15]
        to[31] = -2 * from[16]
        return to
    }

    /// Splits each of two spectra of 16 numbers into four of 4 numbers.
    private static func quarters4(_ from: [Double]) -> [Double] {
        var to = [Double](repeating: 0, count: length)
        for k in 0..<2 {
            let at = 16 * k
            let out = 4 * k
            func put(_ part: Int, _ index: Int, _ value: Double) {
                to[out + 8 * part + index] = value
            }
            let ends = butterfly(from[at], from[at + 15], from[at + 7], from[at + 8])
            for part in 0..<4 { put(part, 0, ends[part]) }

            let real2 = from[at + 1] + from[at + 13]
            let real1 = from[at + 1] - from[at + 13]
            let imaginary1 = from[at + 2] + from[at + 14]
            let imaginary2 = from[at + 2] - from[at + 14]
            let real3 = from[at + 9] + from[at + 5]
            let imaginary4 = from[at + 9] - from[at + 5]
            let imaginary3 = from[at + 10] - from[at + 6]
            let real4 = from[at + 10] + from[at + 6]
            put(0, 1, real2 + real3)
            put(0, 2, imaginary2 + imaginary3)
            let rotated = [
                (real1 - real4, imaginary1 + imaginary4), (real2 - real3, imaginary2 - imaginary3),
                (real1 + real4, imaginary1 - imaginary4),
            ]
            for (index, (real, imaginary)) in rotated.enumerated() {
                let turn = turns[2 * index + 1]
                put(index + 1, 2, turn.cos * imaginary + turn.sin * real)
                put(index + 1, 1, turn.cos * real - turn.sin * imaginary)
            }

            let root = 1.414213562373095048801688724209698079
            let imaginarySum = from[at + 12] + from[at + 4]
            let imaginaryDifference = from[at + 12] - from[at + 4]
            let realSum = from[at + 3] + from[at + 11]
            let realDifference = from[at + 3] - from[at + 11]
            put(0, 3, realSum + realSum)
            put(1, 3, root * (realDifference - imaginarySum))
            put(2, 3, imaginaryDifference + imaginaryDifference)
            put(3, 3, -root * (realDifference + imaginarySum))
        }
        return to
    }

    /// Turns eight spectra of 4 numbers into numbers.
    private static func quarters(_ from: [Double]) -> [Double] {
        var to = [Double](repeating: 0, count: length)
        for k in 0..<8 {
            let at = 4 * k
            let four = butterfly(from[at], from[at + 3], from[at + 1], from[at + 2])
            for part in 0..<4 { to[k + 8 * part] = four[part] }
        }
        return to
    }

    /// The real numbers of a spectrum with a first, a middle, and a complex value.
    private static func butterfly(
        _ first: Double, _ middle: Double, _ real: Double, _ imaginary: Double
    ) -> [Double] {
        let sum = first + middle
        let difference = first - middle
        return [
            sum + 2 * real, difference - 2 * imaginary, sum - 2 * real, difference + 2 * imaginary,
        ]
    }
}
