// Wherry: the speed of a transfer over the last five seconds.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Computes a speed from byte counts and times (DR28). Call `restart` after a pause.
package struct SpeedMeter: Sendable {
    private static let window: Int64 = 5_000_000_000
    /// An upper bound, since a server may announce any length.
    private static let most = 9e15
    private var samples: [(time: Instant, bytes: Int64)] = []

    package init() {}

    package mutating func add(_ bytes: Int64, at time: Instant) {
        if let last = samples.last, bytes < last.bytes { samples.removeAll() }
        samples.append((time, bytes))
        while samples.count > 2, time.since(samples[1].time) >= Self.window {
            samples.removeFirst()
        }
    }

    package mutating func restart() { samples.removeAll() }

    /// The speed; `nil` before there are two samples.
    package var bytesPerSecond: Int64? {
        guard let first = samples.first, let last = samples.last else { return nil }
        let span = last.time.since(first.time)
        guard span > 0 else { return nil }
        return Int64(min(Double(last.bytes &- first.bytes) / (Double(span) / 1e9), Self.most))
    }

    /// Returns the time for the remaining bytes at the current speed; `nil` if the speed is unknown
    /// or 0.
    package func remaining(_ bytes: Int64) -> Duration? {
        guard let speed = bytesPerSecond, speed > 0 else { return nil }
        return .milliseconds(Int64(min(Double(max(0, bytes)) / Double(speed) * 1000, Self.most)))
    }
}
