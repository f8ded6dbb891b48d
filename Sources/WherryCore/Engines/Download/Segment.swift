// Wherry: one connection's share of a download
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A body under way: which bytes of the file it carries.
struct SegmentBody: Hashable, Sendable {
    /// Where the next byte that arrives belongs.
    private(set) var position: Int64
    /// The first byte that is wanted of it.
    let wantedFrom: Int64
    /// One past the last byte wanted; `nil` while the length is unknown. It comes nearer when
    /// another connection takes a share of the rest.
    var end: Int64?
    /// One past the last byte that is on its way; `.max` while the length is unknown.
    let reach: Int64
    /// When it began.
    let since: Instant
    /// How many of its bytes were wanted.
    private(set) var kept: Int64 = 0

    init(position: Int64, wantedFrom: Int64, end: Int64?, since: Instant) {
        self.position = position
        self.wantedFrom = wantedFrom
        self.end = end
        reach = end ?? .max
        self.since = since
    }

    /// What it has still to bring; `nil` where its end is unknown.
    var rest: Range<Int64>? {
        guard let end else { return nil }
        let start = max(position, wantedFrom)
        return start < end ? start..<end : end..<end
    }

    /// Whether all that is wanted of it has come.
    var isWhole: Bool { end.map { position >= $0 } ?? false }
    /// Whether another connection brings what follows.
    var isCut: Bool { end.map { $0 < reach } ?? false }

    /// Takes bytes as they arrive.
    ///
    /// - Returns: where they belong; none is wanted beyond the end.
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

    /// Bytes a second since it began.
    func speed(_ now: Instant) -> Double {
        Double(kept) * 1_000_000_000 / Double(max(1, now.since(since)))
    }

    /// How long its rest takes at its speed, in seconds; `nil` before there is a speed.
    func secondsLeft(_ now: Instant) -> Double? {
        guard let rest, now.since(since) >= 500_000_000 else { return nil }
        return Double(rest.count) / max(1, speed(now))
    }
}

/// A piece of the file that a further connection brings.
struct Segment: Hashable, Sendable {
    /// The number of its request.
    let attempt: Int
    let asked: AskedRange
    /// `nil` until its answer has begun.
    var body: SegmentBody?

    /// What it has still to bring.
    var rest: Range<Int64> { body?.rest ?? asked.first..<(asked.end ?? asked.first) }
}
