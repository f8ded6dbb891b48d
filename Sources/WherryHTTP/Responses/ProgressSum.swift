// Wherry: the combined progress of several transfers.
// SPDX-License-Identifier: Apache-2.0

/// The sum of the progress of several transfers. Each part can be replaced, so that of many
/// transfers only those with new progress are read again.
package struct ProgressSum: Sendable {
    // 128 bits, so that any value that was added can be subtracted again.
    private var completed: Int128 = 0
    private var decoded: Int128 = 0
    private var total: Int128 = 0
    private var resumedAt: Int128 = 0
    private var wire: Int128 = 0
    private var speed: Int128 = 0
    private var count = 0
    /// The number of parts with unknown total, and with known speed.
    private var unknownTotals = 0
    private var knownSpeeds = 0

    package init() {}

    package mutating func add(_ part: Progress) { change(part, by: 1) }

    /// Subtracts a part that was added with exactly these values.
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

    /// The sum. Its total is unknown if that of any part is, or without parts. The remaining time
    /// is estimated from the combined speed.
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
    /// Creates the sum of several parts; see ``ProgressSum``.
    package init(sumOf parts: [Progress]) {
        var sum = ProgressSum()
        for part in parts { sum.add(part) }
        self = sum.progress
    }
}
