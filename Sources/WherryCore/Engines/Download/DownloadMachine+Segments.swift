// Wherry: several connections for one file
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The first connection is the one that the rest of the machine speaks of. Others bring shares of
/// what is missing beside it; when the first is through or lost, one of them takes its place. So a
/// file fails only where its last connection does (DR16).
extension DownloadMachine {
    /// A connection that brought less than this before it ended is no gain.
    private static let gain: Int64 = 65_536
    /// A share that takes longer than this is worth taking from its connection, in seconds.
    private static let slow = 2.0

    /// Whether pieces of this file may come over several connections: only a strong validator proves
    /// that they are pieces of one.
    private var isDivisible: Bool {
        isResumable && !isWholeOnly && validator != nil && facts?.total != nil
    }

    /// What is missing, and who brings it.
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
            // What was asked for elsewhere is not shared out once more.
            guard !asked.contains(where: { $0.contains(rest.lowerBound) }) else { return nil }
            let end = asked.map(\.lowerBound).filter(rest.contains).min() ?? rest.upperBound
            return rest.isEmpty ? nil : SegmentPlan.Chunk(rest.lowerBound..<end, isTaken: true)
        }
        return covered.gaps(below: total).map { SegmentPlan.Chunk($0, isTaken: false) } + taken
    }

    /// A piece has begun to come: what is missing of it, and whoever was on the way there ends where
    /// it begins.
    ///
    /// Not before: as long as it is not certain that there is an answer of use, the connection
    /// that brings those bytes anyhow goes on.
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

    /// Opens as many connections as are wanted and have something to bring.
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

    /// Gives what nobody brings back to the connection that was cut there, as long as it still
    /// has more to bring.
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

    /// Bytes were kept: perhaps more connections are worth while now.
    mutating func grow(by count: Int64, now: Instant) -> [DownloadAction] {
        guard state == .receiving || state == .requesting, isDivisible, let total = facts?.total,
            growth.note(count, missing: total - have.count, now: now)
        else { return [] }
        return divide()
    }

    // MARK: What a further connection tells

    /// The head of a further connection's answer, or of the first one's beside others; `nil` for
    /// any other.
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
            // What the others bring is of another file than this one. Perhaps it always will be, of
            // servers that do not agree: then one of them has to bring all of it.
            if index != nil { growth.stayAlone() }
            return [.stop] + restart(.changed)
        case .whole, .restart(.noValidator), .restart(.encoding), .complete:
            // One answer with the whole is of use, pieces are not (DR6).
            growth.stayAlone()
            if case .whole = verdict { isWholeOnly = true }
            return [.stopSegment(attempt)] + lose(attempt, kept: 0)
        case .restart, .retry, .fail:
            return [.stopSegment(attempt)] + lose(attempt, kept: 0)
        }
    }

    /// A further connection is through.
    ///
    /// - Parameter error: `nil` if it ended as it should.
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
            // The first connection may have been asked for what this one has brought meanwhile, and
            // not have answered yet. There is nothing to wait for.
            segments = []
            return [.stop] + finishBytes(total)
        }
        // A piece that is shorter than asked for, again and again, is no gain either.
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

    /// A connection is of no use any more: others have brought what it was to bring.
    private mutating func drop(_ attempt: Int) -> [DownloadAction] {
        if attempt == self.attempt { return goOnElsewhere() }
        segments.removeAll { $0.attempt == attempt }
        return divide()
    }

    /// A connection broke, or what it brought is of no use; the others go on.
    private mutating func lose(_ attempt: Int, kept: Int64) -> [DownloadAction] {
        if attempt == self.attempt { return loseFirst(kept: kept) ?? [] }
        segments.removeAll { $0.attempt == attempt }
        if kept < Self.gain { growth.lower() }
        return divide()
    }

    /// The first connection broke: another one takes its place. `nil` if there is none.
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

    /// The first connection has brought its share: on with another.
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

    // MARK: The end game

    private struct Relief {
        /// Whose share it was.
        let attempt: Int
        let share: Range<Int64>
        let actions: [DownloadAction]
    }

    /// What to take from the connection that would be last by far: half of its rest, and all of it
    /// where that is too little to share. Without it one slow connection holds the whole file.
    ///
    /// - Parameter speed: of the connection that has nothing more to do.
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
        // Not if somebody is on the way already.
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

    // MARK: The end

    /// Ends what further connections do.
    mutating func stopSegments() -> [DownloadAction] {
        guard !segments.isEmpty else { return [] }
        segments = []
        return [.stop]
    }
}

extension SegmentBody {
    /// The body with its end moved over a run that nobody brings; `nil` where it does not lie at its
    /// end, or is not on its way.
    fileprivate func extended(over gap: Range<Int64>) -> SegmentBody? {
        // Once all was there its exchange may have been broken off.
        guard let end, end == gap.lowerBound, reach > end, position < end else { return nil }
        var grown = self
        grown.end = min(gap.upperBound, reach)
        return grown
    }
}
