// Wherry: number of connections of a download.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Decides how many connections a download may have.
package struct SegmentGrowth: Hashable, Sendable {
    /// The number of connections wanted now.
    package private(set) var wanted: Int
    /// The maximum number of connections for the rest of the run.
    package private(set) var limit: Int
    /// Whether connections are added while they help. Otherwise `limit` connections are wanted from
    /// the start.
    let isAutomatic: Bool
    /// The minimum time to measure the speed over, in nanoseconds.
    private(set) var window: Int64 = 250_000_000
    private var begunAt: Instant?
    private var received: Int64 = 0
    /// The speed before the last connections were added, in bytes per second.
    private var speedBefore: Double?
    private var wantedBefore = 1
    /// Whether the last connections did not help.
    private(set) var isSettled = false

    private static let second = 1_000_000_000.0
    private static let enough: Int64 = 2 << 20
    private static let longest: Int64 = 2_000_000_000

    /// - Parameters:
    ///   - segments: The value of `DownloadPolicy.segments`.
    ///   - most: The maximum number of connections if `segments` is 0.
    package init(segments: Int, most: Int) {
        isAutomatic = segments <= 0
        limit = max(1, isAutomatic ? most : segments)
        wanted = isAutomatic ? 1 : limit
    }

    /// Starts measuring with the first response, `latency` nanoseconds after its request.
    package mutating func begin(latency: Int64, now: Instant) {
        // Several round trips, so that a connection has reached its full speed.
        window = min(max(250_000_000, latency.multipliedSaturating(by: 4)), 2_000_000_000)
        speedBefore = nil
        isSettled = false
        if isAutomatic { wanted = 1 }
        restart(now)
    }

    /// Starts a new measurement because another response has begun.
    package mutating func restart(_ now: Instant) {
        begunAt = now
        received = 0
    }

    /// Records received bytes.
    ///
    /// - Parameter missing: The number of missing bytes of the file.
    /// - Returns: Whether more connections are wanted now.
    package mutating func note(_ count: Int64, missing: Int64, now: Instant) -> Bool {
        guard isAutomatic, !isSettled, wanted < limit, let begunAt else { return false }
        received &+= count
        let elapsed = now.since(begunAt)
        // Bytes arrive in large pieces, so a few of them are not enough to measure a speed.
        guard elapsed >= window, received >= Self.enough || elapsed >= Self.longest else {
            return false
        }
        let speed = Double(received) * Self.second / Double(elapsed)
        restart(now)
        if let before = speedBefore, speed < 1.15 * before {
            // The connections added last finish their segments and are not replaced.
            isSettled = true
            wanted = wantedBefore
            return false
        }
        // An almost complete file is not worth another connection.
        guard missing > 8 << 20, Double(missing) > 2 * speed else { return false }
        speedBefore = speed
        wantedBefore = wanted
        wanted = min(limit, wanted * 2)
        return true
    }

    /// Lowers the limit by one, after a connection was refused or received next to nothing (DR16).
    package mutating func lower() {
        limit = max(1, limit - 1)
        wanted = min(wanted, limit)
    }

    /// Limits the download to one connection, because the server sends no ranges.
    package mutating func stayAlone() {
        limit = 1
        wanted = 1
    }

    /// Continues with the current connections, because no other one is free. Tries again later.
    package mutating func waitForFree(having count: Int) {
        guard isAutomatic else { return lower() }
        wanted = max(1, count)
        speedBefore = nil
        window = 2_000_000_000
    }
}
