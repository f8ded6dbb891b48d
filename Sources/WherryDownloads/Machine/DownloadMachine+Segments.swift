// Wherry: parallel connections of one download.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The properties `attempt`, `asked` and `body` describe the first connection. Additional
/// connections receive other segments of the missing bytes in parallel. When the first connection
/// finishes or fails, another one takes its place, so a download fails only with its last
/// connection (DR16).
extension DownloadMachine {
    /// The connection limit is lowered if a connection receives less than this, in bytes.
    private static let gain: Int64 = 65_536
    /// A segment is shared with an idle connection if it needs longer than this, in seconds.
    private static let slow = 2.0

    /// Whether several connections may receive this file. Only a strong validator proves that the
    /// segments belong to the same file.
    private var isDivisible: Bool {
        isResumable && !isWholeOnly && validator != nil && facts?.total != nil
    }

    /// Returns the missing bytes, and which of them a connection receives already.
    private func chunks() -> [SegmentPlan.Chunk] {
        guard let total = facts?.total else { return [] }
        var asked = segments.filter { $0.body == nil }.map(\.rest)
        if state == .requesting, let range = self.asked {
            asked.append(range.first..<(range.end ?? total))
        }
        var coming = segments.compactMap { $0.body?.rest }
        if state == .receiving, let rest = body?.rest { coming.append(rest) }
        var covered = have
        for range in asked + coming { covered.insert(range) }
        let taken = coming.compactMap { rest -> SegmentPlan.Chunk? in
            // Bytes that another connection has requested are not shared again.
            guard !asked.contains(where: { $0.contains(rest.lowerBound) }) else { return nil }
            let end = asked.map(\.lowerBound).filter(rest.contains).min() ?? rest.upperBound
            return rest.isEmpty ? nil : SegmentPlan.Chunk(rest.lowerBound..<end, isTaken: true)
        }
        return covered.gaps(below: total).map { SegmentPlan.Chunk($0, isTaken: false) } + taken
    }

    /// Claims the missing bytes of a segment whose response has begun. Shortens the connection that
    /// would have received them, so that it ends where the segment begins.
    ///
    /// The other connection continues until then, because the response may still be unusable.
    mutating func cut(for asked: AskedRange, end: Int64) -> Range<Int64>? {
        let missing = have.gaps(below: end).first { $0.upperBound > asked.first }
        guard let start = missing.map({ max($0.lowerBound, asked.first) }), start < end else {
            return nil
        }
        if state == .receiving, body?.rest?.contains(start) == true { body?.end = start }
        for index in segments.indices where segments[index].body?.rest?.contains(start) == true {
            segments[index].body?.end = start
        }
        return start..<end
    }

    /// Opens as many connections as are wanted and have bytes to receive.
    mutating func divide() -> [DownloadAction] {
        guard state == .receiving || state == .requesting else { return [] }
        let count = growth.wanted - 1 - segments.count
        var actions: [DownloadAction] = []
        if count > 0, isDivisible {
            for share in SegmentPlan.shares(of: chunks(), for: count) { actions += open(share) }
        }
        takeBack()
        return actions
    }

    private mutating func open(_ share: Range<Int64>) -> [DownloadAction] {
        var asked = AskedRange(
            first: share.lowerBound, end: share.upperBound, validator: validator)
        asked.condition = askedCondition
        let segment = Segment(attempt: nextAttempt(), asked: asked)
        segments.append(segment)
        return [
            .sendSegment(DownloadRequest(attempt: segment.attempt, range: asked, source: source))
        ]
    }

    /// Gives unclaimed bytes back to the connection that was shortened at that point, while it can
    /// still receive more.
    private mutating func takeBack() {
        for chunk in chunks() where !chunk.isTaken {
            if let grown = body?.extended(over: chunk.range) { body = grown }
            for index in segments.indices {
                if let grown = segments[index].body?.extended(over: chunk.range) {
                    segments[index].body = grown
                }
            }
        }
    }

    /// Records received bytes, and opens more connections if they may help.
    mutating func grow(by count: Int64, now: Instant) -> [DownloadAction] {
        guard state == .receiving || state == .requesting, isDivisible, let total = facts?.total,
            growth.note(count, missing: total - have.count, now: now)
        else { return [] }
        return divide()
    }

    // MARK: Additional connections

    /// Handles the response headers of an additional connection, or of the first one while there
    /// are others. Returns `nil` for any other response.
    mutating func segmentHead(_ head: DownloadHead, attempt: Int, now: Instant)
        -> [DownloadAction]?
    {
        let isFirst = attempt == self.attempt && state == .requesting && !segments.isEmpty
        let index = segments.firstIndex { $0.attempt == attempt && $0.body == nil }
        guard isFirst || index != nil, let facts = judgedFacts else { return nil }
        let asked = index.map { segments[$0].asked } ?? self.asked
        let verdict = ResumeRules.judge(head, asked: asked, facts: facts, have: have.count)
        switch verdict {
        case .piece(let start, let end):
            growth.restart(now)
            guard let asked, let share = cut(for: asked, end: min(end, asked.end ?? end)) else {
                return [.stopSegment(attempt)] + drop(attempt)
            }
            guard let index else { return accept(head, start: start, end: end, now: now) }
            segments[index].body = SegmentBody(
                position: start, wantedFrom: share.lowerBound, end: share.upperBound, since: now)
            return []
        case .whole(_, .changed?), .restart(.changed), .restart(.rangeNotSatisfiable):
            // The other connections receive a different file. Servers behind one name may disagree
            // permanently, so a single one has to send the whole file.
            if index != nil { growth.stayAlone() }
            return [.stop] + restart(.changed)
        case .whole, .restart(.noValidator), .restart(.encoding), .complete:
            // A response with the whole file is usable on one connection only (DR6).
            growth.stayAlone()
            if case .whole = verdict { isWholeOnly = true }
            return [.stopSegment(attempt)] + lose(attempt, kept: 0)
        case .restart, .retry, .fail:
            return [.stopSegment(attempt)] + lose(attempt, kept: 0)
        }
    }

    /// Handles the end of an additional connection.
    ///
    /// - Parameter error: The error; `nil` after a normal end.
    mutating func segmentEnded(_ error: DownloadError?, attempt: Int) -> [DownloadAction] {
        guard state == .receiving || state == .requesting,
            let index = segments.firstIndex(where: { $0.attempt == attempt })
        else { return [] }
        let segment = segments[index]
        guard segment.rest.isEmpty else {
            if error?.reason == .busy {
                segments.remove(at: index)
                growth.waitForFree(having: segments.count + 1)
                return divide()
            }
            return lose(attempt, kept: segment.body?.kept ?? 0)
        }
        segments.remove(at: index)
        if let total = facts?.total, have.firstGap(below: total) == nil {
            // The first connection may have requested bytes that this one has received in the
            // meantime. Do not wait for its response.
            segments = []
            return [.stop] + finishBytes(total)
        }
        // Segments that are repeatedly shorter than requested do not help either.
        if let body = segment.body, body.reach < segment.asked.end ?? body.reach,
            body.kept < Self.gain
        {
            growth.lower()
        }
        let actions = divide()
        guard actions.isEmpty, segments.count + 1 < growth.wanted,
            let relief = relief(speed: segment.body?.speed(seen ?? .never) ?? 0)
        else { return actions }
        if relief.attempt == self.attempt {
            return [.stopSegment(relief.attempt)] + send(relief.share)
        }
        return relief.actions + open(relief.share)
    }

    /// Ends a connection whose bytes have arrived over other connections.
    private mutating func drop(_ attempt: Int) -> [DownloadAction] {
        if attempt == self.attempt { return goOnElsewhere() }
        segments.removeAll { $0.attempt == attempt }
        return divide()
    }

    /// Handles the loss of a connection, or an unusable response. The other connections continue.
    private mutating func lose(_ attempt: Int, kept: Int64) -> [DownloadAction] {
        if attempt == self.attempt { return loseFirst(kept: kept) ?? [] }
        segments.removeAll { $0.attempt == attempt }
        if kept < Self.gain { growth.lower() }
        return divide()
    }

    /// Replaces the lost first connection with another one. Returns `nil` if there is none.
    mutating func loseFirst(kept: Int64) -> [DownloadAction]? {
        guard !segments.isEmpty else { return nil }
        if kept < Self.gain { growth.lower() }
        promote()
        return divide()
    }

    private mutating func promote() {
        let segment = segments.remove(at: segments.firstIndex { $0.body != nil } ?? 0)
        attempt = segment.attempt
        asked = segment.asked
        body = segment.body
        state = body == nil ? .requesting : .receiving
    }

    /// Finds more work for the first connection, which has received its segment.
    mutating func goOnElsewhere() -> [DownloadAction] {
        let speed = body?.speed(seen ?? .never) ?? 0
        body = nil
        asked = nil
        guard !segments.isEmpty else { return send() }
        let isWanted = segments.count < growth.wanted
        if isWanted, let share = SegmentPlan.shares(of: chunks(), for: 1).first {
            return send(share)
        }
        if isWanted, let relief = relief(speed: speed) {
            return relief.actions + send(relief.share)
        }
        promote()
        takeBack()
        return []
    }

    // MARK: Slow last connection

    private struct Relief {
        /// The attempt that had the segment.
        let attempt: Int
        let share: Range<Int64>
        let actions: [DownloadAction]
    }

    /// Takes work from the connection that would finish last by far: half of its remaining bytes,
    /// or all of them if they are too few to share. Otherwise one slow connection would delay the
    /// whole file.
    ///
    /// - Parameter speed: The speed of the idle connection, in bytes per second.
    private mutating func relief(speed: Double) -> Relief? {
        guard let now = seen, isDivisible else { return nil }
        var rests = segments.compactMap { segment in
            segment.body.map { (attempt: segment.attempt, body: $0) }
        }
        if state == .receiving, let body { rests.append((attempt, body)) }
        let late = rests.compactMap { entry in
            entry.body.secondsLeft(now).map { (entry.attempt, entry.body, seconds: $0) }
        }
        guard let (victim, body, seconds) = late.max(by: { $0.seconds < $1.seconds }),
            seconds > Self.slow, let rest = body.rest
        else { return nil }
        // Another connection has already requested these bytes.
        guard let chunk = chunks().first(where: { $0.isTaken && $0.range == rest }) else {
            return nil
        }
        let shares = SegmentPlan.shares(of: [chunk], for: 1, minimum: SegmentPlan.smallMinimum)
        if let share = shares.first {
            return Relief(attempt: -1, share: share, actions: [])
        }
        guard speed > 2 * body.speed(now) else { return nil }
        segments.removeAll { $0.attempt == victim }
        return Relief(attempt: victim, share: rest, actions: [.stopSegment(victim)])
    }

    // MARK: End

    /// Stops all additional connections.
    mutating func stopSegments() -> [DownloadAction] {
        guard !segments.isEmpty else { return [] }
        segments = []
        return [.stop]
    }
}

extension SegmentBody {
    /// Returns the body with its end extended over unclaimed bytes. Returns `nil` if the bytes do
    /// not follow its end, or if it has already reached its end.
    fileprivate func extended(over gap: Range<Int64>) -> SegmentBody? {
        // Once the body has reached its end, the exchange may have been cancelled.
        guard let end, end == gap.lowerBound, reach > end, position < end else { return nil }
        var grown = self
        grown.end = min(gap.upperBound, reach)
        return grown
    }
}

/// The connections of the download.
extension DownloadMachine {
    package enum Place: Hashable, Sendable {
        case first
        /// An additional connection.
        case further
    }

    /// Returns which connection a request is for; `nil` if the request is no longer wanted.
    package func place(of attempt: Int) -> Place? {
        if state == .requesting, attempt == self.attempt { return .first }
        return segments.contains { $0.attempt == attempt && $0.body == nil } ? .further : nil
    }

    /// Returns the body that an attempt receives, once its response headers were accepted.
    package func body(of attempt: Int) -> SegmentBody? {
        if attempt == self.attempt { return state == .receiving || state == .held ? body : nil }
        return segments.first { $0.attempt == attempt }?.body
    }

    /// Whether a digest will show that the file is complete.
    package var hasDigest: Bool { policy.expected != nil || facts?.announced != nil }
}
