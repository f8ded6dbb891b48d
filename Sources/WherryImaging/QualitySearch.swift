// Wherry: the search for a JPEG quality.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Finds a JPEG quality with few encodings. Tries the quality that interpolation predicts.
struct QualitySearch {
    enum Goal {
        /// A quality with at most this many bytes, close to the highest one.
        case bytes(Int)
        /// A quality with at least this structural similarity, close to the lowest one.
        case ssim(Double)
    }

    /// The number of encodings after which a search ends.
    static let most = 5

    private struct Trial {
        let quality: Int
        /// The logarithm of what the goal measures. Almost a linear function of `position`.
        let value: Double

        var position: Double { QualitySearch.position(Double(quality)) }
    }

    private let goal: Goal
    private let range: ClosedRange<Int>
    /// The value that is wanted.
    private let wanted: Double
    /// The best trial with a lower quality than wanted, and the one with a higher quality.
    private var low: Trial?
    private var high: Trial?
    private var trials: [Trial] = []
    private let startsLow: Bool
    /// The number of encodings, at least one of which is left.
    private(set) var count: Int

    /// - Parameters:
    ///   - startsLow: Whether a search for bytes begins with the lowest quality.
    ///   - after: The number of encodings that earlier searches for the same image took. At least one
    ///     is left for this search.
    init(
        _ goal: Goal, in range: ClosedRange<Int>, startsLow: Bool = false, after earlier: Int = 0
    ) {
        self.goal = goal
        self.range = range
        self.startsLow = startsLow
        count = min(earlier, Self.most - 1)
        switch goal {
        case .bytes(let most): wanted = log(Double(max(1, most)))
        case .ssim(let ssim): wanted = Self.value(ofSSIM: ssim)
        }
    }

    /// The quality to encode next; `nil` after the last one.
    var next: Int? {
        guard count < Self.most else { return nil }
        let lowest = low.map { $0.quality + 1 } ?? range.lowerBound
        let highest = high.map { $0.quality - 1 } ?? range.upperBound
        guard lowest <= highest else { return nil }
        // The last trial must reach the goal, if none did before.
        switch goal {
        case .bytes where low == nil && count == Self.most - 1: return lowest
        case .ssim where high == nil && count == Self.most - 1: return highest
        default:
            // On an unusual curve, a trial must exclude a part of the range at least.
            let best = clamped(predicted, to: lowest...highest)
            // Before the last trial, prefer to reach the goal at all.
            guard count == Self.most - 2 else { return best }
            switch goal {
            case .bytes: return low == nil ? (best + lowest) / 2 : best
            case .ssim: return high == nil ? Self.middle(of: best, highest) : best
            }
        }
    }

    /// Moves a predicted quality into the range that is left, and away from its ends if it is wide.
    private func clamped(_ quality: Int, to left: ClosedRange<Int>) -> Int {
        var (lowest, highest) = (left.lowerBound, left.upperBound)
        let width = highest - lowest
        if trials.count > 1, width > 8 {
            switch goal {
            case .bytes:
                lowest += width / 6
                highest -= width / 6
            case .ssim:
                guard let low, let high else { break }
                let margin = (high.position - low.position) / 6
                lowest = max(lowest, Self.roundedUp(low.position + margin))
                highest = min(highest, Self.roundedUp(high.position - margin))
            }
        }
        return min(max(quality, lowest), highest)
    }

    private static func middle(of quality: Int, _ other: Int) -> Int {
        roundedUp((position(Double(quality)) + position(Double(other))) / 2)
    }

    /// Returns the lowest quality whose position is at least this one.
    private static func roundedUp(_ position: Double) -> Int {
        Int((min(100, max(1, quality(at: position))) - 1e-6).rounded(.up))
    }

    /// Records what an encoding measured; returns whether it reaches the goal better than all before.
    mutating func record(_ quality: Int, bytes: Int) -> Bool {
        let trial = Trial(quality: quality, value: log(Double(max(1, bytes))))
        let fits = trial.value <= wanted
        add(trial, isLow: fits)
        return fits
    }

    /// As for bytes.
    mutating func record(_ quality: Int, ssim: Double) -> Bool {
        let trial = Trial(quality: quality, value: Self.value(ofSSIM: ssim))
        let reaches = trial.value >= wanted
        add(trial, isLow: !reaches)
        return reaches
    }

    private mutating func add(_ trial: Trial, isLow: Bool) {
        count += 1
        trials.append(trial)
        if isLow { low = trial } else { high = trial }
    }

    private static func value(ofSSIM ssim: Double) -> Double { -log(max(1e-9, 1 - ssim)) }

    /// The position of a quality on a scale on which bytes and errors change evenly.
    private static func position(_ quality: Double) -> Double {
        // libjpeg's scale of the quantization tables, in percent. The addition is for steps of 1.
        let scale = quality < 50 ? 5000 / quality : 200 - 2 * quality
        return -log(scale + 5)
    }

    private static func quality(at position: Double) -> Double {
        let scale = exp(-position) - 5
        return scale > 100 ? 5000 / scale : (200 - scale) / 2
    }

    /// The change of the value with the position, in most photographs.
    private static let usualSlope = 0.8

    /// The longest step from a trial to a position outside the trials, for a similarity. A curve may be
    /// much steeper or flatter farther away.
    private static let longestStep = 0.75
    /// The step down from a trial that says nothing.
    private static let usualStep = 1.2

    /// Whether a trial says nothing about other qualities. A JPEG hardly changes if it is compressed with
    /// the tables that it was made with, and its similarity is far above those of the next qualities.
    private func isException(_ trial: Trial) -> Bool {
        if case .ssim = goal { trial.value > max(7, wanted + 0.5) } else { false }
    }

    private var predicted: Int {
        let telling = trials.filter { !isException($0) }
        var nearest = telling.sorted { abs($0.value - wanted) < abs($1.value - wanted) }
        // Interpolation is safer than extrapolation, but the curve is not straight near quality 100.
        if let low, let high, high.quality < 100, !isException(high) {
            nearest = [low, high].sorted { abs($0.value - wanted) < abs($1.value - wanted) }
        }
        let position: Double
        if let first = nearest.first {
            var slope = Self.usualSlope
            if nearest.count > 1 {
                let other = nearest[1]
                let rise = (other.value - first.value) / (other.position - first.position)
                // The curve is not straight near quality 100.
                if other.quality < 100 { slope = min(max(rise, 0.05), 3) }
            }
            var step = (wanted - first.value) / slope
            if case .ssim = goal { step = min(max(step, -Self.longestStep), Self.longestStep) }
            position = first.position + step
        } else if case .ssim = goal {
            if let high {
                position = high.position - Self.usualStep
            } else {
                // Quality 75 has an SSIM of about 0.96.
                position = Self.position(75) + (wanted - 3.2) / Self.usualSlope
            }
        } else {
            return startsLow ? range.lowerBound : range.upperBound  // it often fits
        }
        switch goal {
        case .bytes: return Int(min(100, max(1, Self.quality(at: position))))
        case .ssim: return Self.roundedUp(position)
        }
    }
}
