// Wherry: how far several transfers have come together.
// SPDX-License-Identifier: Apache-2.0

/// The sum of what several transfers have to tell, in which each can be exchanged for what it tells
/// now: of very many only those that move have to be looked at again.
package struct ProgressSum: Sendable {
    // Wide enough that what was added can be taken out again, whatever it was.
    private var completed: Int128 = 0
    private var decoded: Int128 = 0
    private var total: Int128 = 0
    private var resumedAt: Int128 = 0
    private var wire: Int128 = 0
    private var speed: Int128 = 0
    private var count = 0
    /// How many do not know their total, and how many know their speed.
    private var unknownTotals = 0
    private var knownSpeeds = 0

    package init() {}

    package mutating func add(_ part: Progress) { change(part, by: 1) }

    /// Takes out what was added just so.
    package mutating func remove(_ part: Progress) { change(part, by: -1) }

    private mutating func change(_ part: Progress, by sign: Int) {
        let factor = Int128(sign)
        count += sign
        completed += factor * Int128(part.completed)
        decoded += factor * Int128(part.decoded)
        resumedAt += factor * Int128(part.resumedAt)
        wire += factor * Int128(part.wire)
        if let more = part.total { total += factor * Int128(more) } else { unknownTotals += sign }
        if let more = part.bytesPerSecond {
            speed += factor * Int128(more)
            knownSpeeds += sign
        }
    }

    /// The total is unknown if one of them is, or if there are none. The time left is what is missing
    /// at the speed of all together.
    package var progress: Progress {
        var progress = Progress()
        progress.completed = Int64(clamping: completed)
        progress.decodedCount = Int64(clamping: decoded)
        progress.resumedAt = Int64(clamping: resumedAt)
        progress.wire = Int64(clamping: wire)
        if count > 0, unknownTotals == 0 { progress.total = Int64(clamping: total) }
        if knownSpeeds > 0 { progress.bytesPerSecond = Int64(clamping: speed) }
        if let total = progress.total, let speed = progress.bytesPerSecond, speed > 0 {
            let seconds = Double(max(0, total - progress.completed)) / Double(speed)
            progress.remaining = .nanoseconds(Int64(min(seconds * 1e9, 9e18)))
        }
        return progress
    }
}

extension Progress {
    /// The sum of several, as ``ProgressSum`` has it.
    package init(sumOf parts: [Progress]) {
        var sum = ProgressSum()
        for part in parts { sum.add(part) }
        self = sum.progress
    }
}
