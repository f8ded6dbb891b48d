// Wherry: the life of one download, decided without thread, clock or socket
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Decides what a download does next.
///
/// Methods take an event and return the actions to carry out, in order. All of a machine's methods
/// are called one at a time. Every run ends with one `finish`, after which nothing is returned.
/// Bytes handed in count as written: the disk queue writes them before any later action, or says
/// ``diskFailed(_:)``.
package struct DownloadMachine: Sendable {
    enum State: Hashable, Sendable {
        /// Exits: requesting, verifying, paused, ending.
        case queued
        /// A request is out. Exits: receiving, requesting (again, for the whole), waiting,
        /// verifying, pausing, ending.
        case requesting
        /// The body arrives. Exits: requesting (next gap, or again), waiting, verifying, publishing,
        /// pausing, held, ending.
        case receiving
        /// Between attempts. Exits: requesting, pausing, ending.
        case waiting
        /// The journal becomes durable. Exits: paused, requesting, verifying, ending.
        case pausing
        /// Exits: requesting, verifying, ending.
        case paused
        /// Paused with the connection open. Exits: receiving, paused, ending.
        case held
        /// The finished part is read back. Exits: publishing, requesting (again), pausing, ending.
        case verifying
        /// The rename is under way, and no verb stops it. Exits: ended, ending.
        case publishing
        /// The part is let go of. Exit: ended.
        case ending(End)
        /// No exit.
        case ended(TransferState)
    }

    enum End: Hashable, Sendable {
        case failed(DownloadError)
        case cancelled
    }

    let policy: DownloadPolicy
    let identity: DownloadIdentity
    var state = State.queued
    /// Of the generation on disk; `nil` before the first byte of one was accepted.
    var facts: DownloadFacts?
    /// What is or will be in the part, of this generation.
    package internal(set) var have = ByteRanges()
    var generation: UInt32 = 1
    /// The number of the request in flight, and of the last one of all connections.
    var attempt = 0
    var lastAttempt = 0
    var asked: AskedRange?
    var body: SegmentBody?
    /// What further connections bring, beside the one that the three above speak of.
    var segments: [Segment] = []
    var growth: SegmentGrowth
    /// When something was last heard of the network.
    var seen: Instant?
    /// Set once the server has shown that it sends whole files only (DR6).
    var isWholeOnly = false
    /// How pieces are asked for: If-Match after If-Range has brought the whole.
    var condition = AskedRange.Condition.ifRange
    /// What an earlier run left is on the disk as it was. This run does not go on with it, and a
    /// later one may, as long as no new generation has begun.
    var leavesFound = false
    /// Where the bytes come from: 0 the URL itself, then its mirrors.
    var source = 0
    /// Of the mirror's file; the journal, which is about the URL's own, does not have it.
    var mirrorValidator: StrongValidator?
    var retriesLeft: Int
    var keptSinceRefill: Int64 = 0
    var restarts = 0
    var hasRestartedForChecksum = false
    /// A pause that is being carried out is to be followed by going on.
    var resumesAfterPause = false
    /// How the body ended while it was held: `nil` inside for well.
    var endWhileHeld: DownloadError??
    var isComplete = false
    /// The pause came while the finished part was read back.
    var wasVerifying = false
    /// The digests of the finished file, as far as they were computed.
    package internal(set) var found: [DigestAlgorithm: [UInt8]] = [:]
    var checkpoints = CheckpointPace()
    var reported = TransferState.queued
    var random: SplitMix

    /// - Parameters:
    ///   - identity: of the original URL.
    ///   - seed: any random number; waits are drawn from it.
    package init(policy: DownloadPolicy, identity: DownloadIdentity, seed: UInt64) {
        self.policy = policy
        self.identity = identity
        retriesLeft = max(0, policy.retries)
        growth = SegmentGrowth(segments: policy.segments, most: policy.mostSegments)
        random = SplitMix(state: seed)
    }

    // MARK: What can be asked at any time

    /// The length of the whole; `nil` while unknown.
    package var total: Int64? { facts?.total }
    /// Goes up each time progress goes back to 0.
    package var currentGeneration: UInt32 { generation }
    /// How many bytes of the file are there.
    package var completed: Int64 { have.count }
    /// The state callers see.
    package var visibleState: TransferState {
        switch state {
        case .queued: .queued
        case .requesting, .receiving, .publishing: .running
        case .waiting: .waiting
        // On the way from one to the other, nothing new is said.
        case .pausing, .ending: reported
        case .paused, .held: .paused
        case .verifying: .verifying
        case .ended(let state): state
        }
    }
    /// What proves that pieces are of the file that bytes come from now.
    var validator: StrongValidator? { facts?.validator ?? mirrorValidator }
    /// What answers are judged by.
    var judgedFacts: DownloadFacts? {
        guard var facts else { return nil }
        facts.validator = validator
        return facts
    }
    /// Whether what is there could be gone on with by a later run.
    package internal(set) var isResumable = false

    // MARK: The start

    /// The part is open, with what an earlier run left in it.
    ///
    /// - Parameters:
    ///   - record: its journal; `nil` if there is none of use.
    ///   - defect: why a journal that was there is of no use.
    package mutating func start(_ record: JournalRecord?, defect: Journal.Defect? = nil)
        -> [DownloadAction]
    {
        guard state == .queued else { return [] }
        var actions: [DownloadAction] = []
        if let defect { actions.append(.report(.journalIgnored(defect))) }
        if let record {
            generation = record.facts.generation
            if !policy.isResumable {
                generation &+= 1
            } else if let reason = ResumeRules.obstacle(record, identity: identity, policy: policy)
            {
                generation &+= 1
                leavesFound = !record.ranges.isEmpty
                if leavesFound {
                    actions.append(.report(.restarted(reason, generation: generation)))
                }
            } else {
                var facts = record.facts
                facts.expected = policy.expected
                self.facts = facts
                have = record.ranges
                isResumable = true
                actions.append(.adopt(facts))
                if policy.expected != nil, let total = facts.total, have.contains(0..<total) {
                    // The digest decides; the network is not needed.
                    isComplete = true
                    return settle(actions + finishBytes(total))
                }
            }
        }
        return settle(actions + send())
    }

    /// The target was there already and has the digest asked for (DC-C19).
    ///
    /// - Parameter length: of the file, all of which is there.
    package mutating func foundComplete(path: String, length: Int64) -> [DownloadAction] {
        guard state == .queued else { return [] }
        if let digest = policy.expected { found = [digest.algorithm: digest.bytes] }
        var facts = DownloadFacts()
        facts.total = length
        self.facts = facts
        have.insert(0..<length)
        return settle(
            [.report(.state(.running)), .report(.alreadyComplete)]
                + end(.done(path: path), as: .done))
    }

    /// The part could not be opened, or the target is in the way. Nothing was begun.
    package mutating func refused(_ error: DownloadError) -> [DownloadAction] {
        guard state == .queued else { return [] }
        return settle(end(.failed(error, partialPath: nil), as: .failed))
    }

    /// Asks for what is missing.
    ///
    /// - Parameter share: what of it; `nil` for the first that is missing.
    mutating func send(_ share: Range<Int64>? = nil) -> [DownloadAction] {
        attempt = nextAttempt()
        asked = nil
        body = nil
        if !have.isEmpty, isResumable, let total = facts?.total {
            let gap = share ?? have.firstGap(below: total)
            asked = AskedRange(
                first: gap?.lowerBound ?? total,
                end: gap.flatMap { $0.upperBound < total ? $0.upperBound : nil },
                validator: validator)
            if isWholeOnly { asksByMatch() }
            let condition = askedCondition
            asked?.condition = condition
        }
        state = .requesting
        return [.send(DownloadRequest(attempt: attempt, range: asked, source: source))]
    }

    /// If-Match takes entity tags only, and what was learnt of another one does not count.
    var askedCondition: AskedRange.Condition {
        if case .entityTag? = validator { condition } else { .ifRange }
    }

    mutating func nextAttempt() -> Int {
        lastAttempt += 1
        return lastAttempt
    }

    // MARK: The network

    /// The head of a final answer; redirects have been followed.
    ///
    /// - Parameters:
    ///   - suggestedName: the name the file gets where the answer decides about it, else `nil`.
    ///   - latency: how long the answer took, in nanoseconds.
    package mutating func head(
        _ head: DownloadHead, attempt: Int, suggestedName: String? = nil, latency: Int64 = 0,
        now: Instant
    ) -> [DownloadAction] {
        seen = now
        if let actions = segmentHead(head, attempt: attempt, now: now) { return settle(actions) }
        guard state == .requesting, attempt == self.attempt else { return [] }
        let verdict = ResumeRules.judge(
            head, asked: asked, facts: judgedFacts, have: have.count)
        switch verdict {
        case .piece(let start, let end):
            growth.begin(latency: latency, now: now)
            return settle(accept(head, start: start, end: end, now: now) + divide())
        case .whole(_, .rangesUnsupported?) where !head.refusesRanges && asksByMatch():
            return settle([.stop] + send())
        case .whole(let length, let reason):
            growth.begin(latency: latency, now: now)
            return settle(
                acceptWhole(head, length: length, reason, name: suggestedName, now: now)
                    + divide())
        case .complete:
            isComplete = true
            return settle([.stop] + finishBytes(have.count))
        case .restart(let reason):
            return settle([.stop] + restart(reason))
        case .retry(let error, let seconds):
            return settle([.stop] + retry(error, notBefore: seconds, receivedAt: head.receivedAt))
        case .fail(let error):
            return settle([.stop] + fail(error))
        }
    }

    mutating func accept(_ head: DownloadHead, start: Int64, end: Int64, now: Instant)
        -> [DownloadAction]
    {
        guard let asked, var facts else {
            return fail(DownloadError(.badProtocol, "The server sent a piece"))
        }
        // Another connection may have brought some of it before it ended.
        guard let share = cut(for: asked, end: min(end, asked.end ?? end)) else {
            let isWhole = facts.total.map { have.firstGap(below: $0) == nil } ?? false
            return [.stop] + (isWhole ? finishBytes(have.count) : send())
        }
        body = SegmentBody(
            position: start, wantedFrom: share.lowerBound, end: share.upperBound, since: now)
        state = .receiving
        var actions: [DownloadAction] = [.report(.resumed(have: have.count))]
        facts.announced = facts.announced ?? announced(by: head)
        if policy.keepsServerTime { facts.modified = head.lastModifiedSeconds ?? facts.modified }
        if facts != self.facts {
            self.facts = facts
            actions.append(.adopt(facts))
        }
        if source > 0, facts.validator == nil { mirrorValidator = StrongValidator.of(head) }
        return actions
    }

    mutating func acceptWhole(
        _ head: DownloadHead, length: Int64?, _ reason: RestartReason?, name: String?, now: Instant
    ) -> [DownloadAction] {
        var actions: [DownloadAction] = []
        if let reason {
            if reason == .rangesUnsupported { isWholeOnly = true }
            if let error = countRestart(reason) { return [.stop] + fail(error) }
            actions.append(.report(.restarted(reason, generation: generation)))
        }
        if head.refusesRanges { isWholeOnly = true }
        var facts = DownloadFacts()
        facts.generation = generation
        facts.total = length
        facts.validator = StrongValidator.of(head)
        // A coding too long to be one is kept apart from all others, and from none.
        facts.encoding = String(head.contentEncoding.prefix(64))
        facts.expected = policy.expected
        facts.announced = announced(by: head)
        facts.name = name
        if policy.keepsServerTime { facts.modified = head.lastModifiedSeconds }
        self.facts = facts
        // Without a length there is no telling where a piece belongs (DR13).
        isResumable =
            policy.isResumable && !isWholeOnly && length != nil
            && (facts.validator != nil || policy.expected != nil)
        have = ByteRanges()
        leavesFound = false
        keptSinceRefill = 0
        body = SegmentBody(position: 0, wantedFrom: 0, end: length, since: now)
        asked = nil
        state = .receiving
        checkpoints.forget()
        actions.append(.begin(facts, isJournaled: isResumable))
        return actions
    }

    func announced(by head: DownloadHead) -> DownloadDigest? {
        policy.checksAnnounced ? head.digests.first : nil
    }

    /// Bytes of the body arrived.
    ///
    /// - Returns: where they belong. Bytes beyond the end are not wanted (DR12).
    package mutating func received(_ count: Int, attempt: Int, now: Instant) -> Placement {
        seen = now
        var placement = Placement()
        if attempt == self.attempt, state == .receiving || state == .held {
            placement = body?.take(count) ?? placement
        } else if let index = segments.firstIndex(where: { $0.attempt == attempt }) {
            placement = segments[index].body?.take(count) ?? placement
        }
        guard placement.count > 0 else { return placement }
        let kept = Int64(placement.count)
        have.insert(placement.offset..<placement.offset + kept)
        noteKept(kept, now: now)
        if isCheckpointDue(now) { placement.actions = [checkpoint()] }
        placement.actions += grow(by: kept, now: now)
        return placement
    }

    mutating func checkpoint() -> DownloadAction {
        checkpoints.begin(at: seen)
        return .checkpoint
    }

    /// The budget refills only for bytes that stay (DR15).
    mutating func noteKept(_ count: Int64, now: Instant) {
        guard isResumable else { return }
        checkpoints.note(count, at: now)
        keptSinceRefill &+= count
        if keptSinceRefill >= 65_536 {
            keptSinceRefill = 0
            retriesLeft = max(0, policy.retries)
        }
    }

    private func isCheckpointDue(_ now: Instant) -> Bool {
        checkpoints.isDue(at: now, after: policy.durability == .full ? 1 << 20 : 4 << 20)
    }

    /// When ``checkpointDue(now:)`` is to be called if no more bytes arrive until then; `nil` if the
    /// journal has every byte.
    package var checkpointDueAt: Instant? { checkpoints.dueAt }

    /// Records what has arrived although nothing more does: the connection may be stalled.
    package mutating func checkpointDue(now: Instant) -> [DownloadAction] {
        switch state {
        case .requesting, .receiving, .waiting: break
        default: return []
        }
        seen = now
        return isCheckpointDue(now) ? [checkpoint()] : []
    }

    /// The body ended as its framing says it should: by its length, its last chunk, or a clean
    /// close where it has neither (DR12).
    package mutating func ended(attempt: Int) -> [DownloadAction] {
        guard attempt == self.attempt else { return settle(segmentEnded(nil, attempt: attempt)) }
        if state == .held {
            endWhileHeld = .some(nil)
            return []
        }
        guard state == .receiving, let body else { return [] }
        guard let end = body.end else {
            facts?.total = body.position
            return settle(finishBytes(body.position))
        }
        guard body.position >= end else {
            return settle(
                retry(
                    DownloadError(
                        .truncated,
                        "The answer ended at byte \(body.position) of the file, not at byte \(end)")))
        }
        let total = facts?.total ?? end
        guard have.firstGap(below: total) != nil else { return settle(finishBytes(total)) }
        // One of several gaps is filled: on with the next. A piece that was shorter than asked for
        // counts as an attempt, or a server could send a byte at a time for ever.
        if body.reach < asked?.end ?? total {
            guard retriesLeft > 0 else {
                let error = DownloadError(.truncated, "The server sends its file in tiny pieces")
                return settle(loseFirst(kept: body.kept) ?? fail(error))
            }
            retriesLeft -= 1
        }
        return settle(goOnElsewhere())
    }

    /// The exchange broke, before its head or in its body.
    package mutating func failed(_ error: DownloadError, attempt: Int) -> [DownloadAction] {
        guard attempt == self.attempt else {
            return settle(segmentEnded(error, attempt: attempt))
        }
        switch state {
        case .held:
            endWhileHeld = .some(error)
            return []
        case .requesting, .receiving:
            // All bytes are here, and the rest was none of ours: a reset after the end.
            if state == .receiving, let body, let end = body.end, body.position >= end {
                return ended(attempt: attempt)
            }
            // It was sent as a further connection, which does not wait, and is the first one now.
            if state == .requesting, error.reason == .busy {
                return settle(send(asked.map { $0.first..<($0.end ?? facts?.total ?? $0.first) }))
            }
            if let actions = loseFirst(kept: body?.kept ?? 0) { return settle(actions) }
            return settle(error.isTransient ? retry(error) : fail(error))
        default: return []
        }
    }

    /// The time of a `wait` is over.
    package mutating func retryDue() -> [DownloadAction] {
        guard state == .waiting else { return [] }
        return settle(send())
    }

    // MARK: The end of each turn

    /// Adds the news of a state that callers can see.
    mutating func settle(_ actions: [DownloadAction]) -> [DownloadAction] {
        let now = visibleState
        guard now != reported else { return actions }
        reported = now
        if case .ended = state { return actions }
        return [.report(.state(now))] + actions
    }
}
