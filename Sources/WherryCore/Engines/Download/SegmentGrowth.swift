// Wherry: how many connections a download may have
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Decides how many connections a download may have.
package struct SegmentGrowth: Hashable, Sendable {
    /// How many are wanted now.
    package private(set) var wanted: Int
    /// No more than these for the rest of the run.
    package private(set) var limit: Int
    /// More are added while they help; else `limit` are wanted from the beginning.
    let isAutomatic: Bool
    /// Over how long the speed is measured, in nanoseconds.
    private(set) var window: Int64 = 250_000_000
    private var begunAt: Instant?
    private var received: Int64 = 0
    /// In bytes per second, before the last ones were added.
    private var speedBefore: Double?
    private var wantedBefore = 1
    /// The last ones did not help.
    private(set) var isSettled = false

    private static let second = 1_000_000_000.0
    private static let enough: Int64 = 2 << 20
    private static let longest: Int64 = 2_000_000_000

    /// - Parameters:
    ///   - segments: as `DownloadPolicy.segments`.
    ///   - most: how many there may be of its own accord.
    package init(segments: Int, most: Int) {
        isAutomatic = segments <= 0
        limit = max(1, isAutomatic ? most : segments)
        wanted = isAutomatic ? 1 : limit
    }

    /// The first answer has begun, so long after it was asked for.
    package mutating func begin(latency: Int64, now: Instant) {
        // Several round trips, so that a connection has come up to its speed.
        window = min(max(250_000_000, latency.multipliedSaturating(by: 4)), 2_000_000_000)
        speedBefore = nil
        isSettled = false
        if isAutomatic { wanted = 1 }
        restart(now)
    }

    /// Another answer has begun: what was measured before does not count.
    package mutating func restart(_ now: Instant) {
        begunAt = now
        received = 0
    }

    /// Bytes were kept.
    ///
    /// - Parameter missing: how many the file lacks.
    /// - Returns: whether more are wanted now.
    package mutating func note(_ count: Int64, missing: Int64, now: Instant) -> Bool {
        guard isAutomatic, !isSettled, wanted < limit, let begunAt else { return false }
        received &+= count
        let elapsed = now.since(begunAt)
        // Bytes come in large pieces: of a few of them no speed can be told.
        guard elapsed >= window, received >= Self.enough || elapsed >= Self.longest else {
            return false
        }
        let speed = Double(received) * Self.second / Double(elapsed)
        restart(now)
        if let before = speedBefore, speed < 1.15 * before {
            // Those added last bring what they have begun, and are not followed by others.
            isSettled = true
            wanted = wantedBefore
            return false
        }
        // A file that is nearly there is not worth a connection.
        guard missing > 8 << 20, Double(missing) > 2 * speed else { return false }
        speedBefore = speed
        wantedBefore = wanted
        wanted = min(limit, wanted * 2)
        return true
    }

    /// One was refused, or brought next to nothing: one fewer from now on (DR16).
    package mutating func lower() {
        limit = max(1, limit - 1)
        wanted = min(wanted, limit)
    }

    /// The server serves no pieces.
    package mutating func stayAlone() {
        limit = 1
        wanted = 1
    }

    /// There was no connection to be had: on with those there are, and another look later.
    package mutating func waitForFree(having count: Int) {
        guard isAutomatic else { return lower() }
        wanted = max(1, count)
        speedBefore = nil
        window = 2_000_000_000
    }
}
