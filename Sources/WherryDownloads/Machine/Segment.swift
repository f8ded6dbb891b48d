// Wherry: segment of a download on one connection.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The body of a response in progress, and its position in the file.
package struct SegmentBody: Hashable, Sendable {
    /// The file offset of the next byte.
    package private(set) var position: Int64
    /// The first byte that is wanted.
    package let wantedFrom: Int64
    /// One past the last byte that is wanted; `nil` while the length is unknown. Decreases when
    /// another connection takes over some of the remaining bytes.
    package var end: Int64?
    /// One past the last byte that the response carries; `.max` while the length is unknown.
    let reach: Int64
    /// When the body began.
    let since: Instant
    /// The number of received bytes that were wanted.
    private(set) var kept: Int64 = 0

    init(position: Int64, wantedFrom: Int64, end: Int64?, since: Instant) {
        self.position = position
        self.wantedFrom = wantedFrom
        self.end = end
        reach = end ?? .max
        self.since = since
    }

    /// The range still to receive; `nil` if the end is unknown.
    var rest: Range<Int64>? {
        guard let end else { return nil }
        let start = max(position, wantedFrom)
        return start < end ? start..<end : end..<end
    }

    /// Whether every wanted byte has arrived.
    package var isWhole: Bool { end.map { position >= $0 } ?? false }
    /// Whether another connection receives the bytes that follow.
    package var isCut: Bool { end.map { $0 < reach } ?? false }

    /// Accounts for received bytes.
    ///
    /// - Returns: The position of the bytes. Bytes beyond the end are not wanted.
    mutating func take(_ count: Int) -> Placement {
        var placement = Placement()
        let (after, overflow) = position.addingReportingOverflow(Int64(count))
        guard count > 0, !overflow else { return placement }
        let first = max(position, min(wantedFrom, after))
        let last = max(first, min(after, end ?? after))
        placement.skip = Int(first - position)
        placement.count = Int(last - first)
        placement.offset = first
        position = after
        kept &+= Int64(placement.count)
        return placement
    }

    /// Returns the average speed, in bytes per second.
    func speed(_ now: Instant) -> Double {
        Double(kept) * 1_000_000_000 / Double(max(1, now.since(since)))
    }

    /// Returns the time that the remaining bytes take, in seconds; `nil` while the speed is
    /// unknown.
    func secondsLeft(_ now: Instant) -> Double? {
        guard let rest, now.since(since) >= 500_000_000 else { return nil }
        return Double(rest.count) / max(1, speed(now))
    }
}

/// A segment of the file on an additional connection.
struct Segment: Hashable, Sendable {
    /// The attempt number of the request.
    let attempt: Int
    let asked: AskedRange
    /// The body; `nil` until the response has begun.
    var body: SegmentBody?

    /// The range still to receive.
    var rest: Range<Int64> { body?.rest ?? asked.first..<(asked.end ?? asked.first) }
}
