// Wherry: bytes per second over the last five seconds.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Turns counts and times into a speed (DR28). Pauses are left out by starting anew.
package struct SpeedMeter: Sendable {
    private static let window: Int64 = 5_000_000_000
    /// What a server announces may be any number: more than this is not told from it.
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

    /// `nil` before there are two samples.
    package var bytesPerSecond: Int64? {
        guard let first = samples.first, let last = samples.last else { return nil }
        let span = last.time.since(first.time)
        guard span > 0 else { return nil }
        return Int64(min(Double(last.bytes &- first.bytes) / (Double(span) / 1e9), Self.most))
    }

    /// The time for the rest at the present speed; `nil` if the speed is unknown or 0.
    package func remaining(_ bytes: Int64) -> Duration? {
        guard let speed = bytesPerSecond, speed > 0 else { return nil }
        return .milliseconds(Int64(min(Double(max(0, bytes)) / Double(speed) * 1000, Self.most)))
    }
}
