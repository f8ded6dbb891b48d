// Wherry: state machine of a download, independent of threads, clocks and sockets.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// Decides the next actions of a download.
///
/// Every method takes an event and returns the actions to carry out, in order. Calls must not
/// overlap. Every run ends with one `finish`, after which the methods return no actions. Bytes that
/// are passed in count as written: the disk queue writes them before any later action, or reports
/// ``diskFailed(_:)``.
package struct DownloadMachine: Sendable {
    enum State: Hashable, Sendable {
        /// Waits for the start. Exits: requesting, verifying, paused, ending.
        case queued
        /// A request was sent. Exits: receiving, requesting (again, for the whole file), waiting,
        /// verifying, pausing, ending.
        case requesting
        /// The body is arriving. Exits: requesting (the next gap, or again), waiting, verifying,
        /// publishing, pausing, held, ending.
        case receiving
        /// Waits before a retry. Exits: requesting, pausing, ending.
        case waiting
        /// The journal becomes durable. Exits: paused, requesting, verifying, ending.
        case pausing
        /// Paused without a connection. Exits: requesting, verifying, ending.
        case paused
        /// Paused with the connection open. Exits: receiving, paused, ending.
        case held
        /// The complete partial file is read back. Exits: publishing, requesting (again), pausing,
        /// ending.
        case verifying
        /// The final rename is in progress and cannot be cancelled. Exits: ended, ending.
        case publishing
        /// The partial file is being released. Exit: ended.
        case ending(End)
        /// Final.
        case ended(TransferState)
    }

    enum End: Hashable, Sendable {
        case failed(DownloadError)
        case cancelled
    }

    let policy: DownloadPolicy
    let identity: DownloadIdentity
    var state = State.queued
    /// The facts of the generation on disk; `nil` before the first byte of one was accepted.
    var facts: DownloadFacts?
    /// The bytes of this generation that are written or queued for writing.
    package internal(set) var have = ByteRanges()
    var generation: UInt32 = 1
    /// The attempt number of the first connection, and the highest one of all connections.
    package var attempt = 0
    var lastAttempt = 0
    var asked: AskedRange?
    var body: SegmentBody?
    /// The additional connections. The three properties above describe the first one.
    var segments: [Segment] = []
    var growth: SegmentGrowth
    /// When the last network event arrived.
    var seen: Instant?
    /// Whether the server has shown that it only sends whole files (DR6).
    var isWholeOnly = false
    /// The condition for range requests: If-Match after If-Range has brought the whole file.
    var condition = AskedRange.Condition.ifRange
    /// Whether the bytes of an earlier run are untouched on disk. This run does not resume them. A
    /// later run may, as long as no new generation has begun.
    var leavesFound = false
    /// The source of the bytes: 0 is the original URL, higher numbers are mirrors.
    package var source = 0
    /// The validator of the mirror's file. The journal only has that of the original URL.
    var mirrorValidator: StrongValidator?
    var retriesLeft: Int
    var keptSinceRefill: Int64 = 0
    var restarts = 0
    var hasRestartedForChecksum = false
    /// Whether to resume as soon as the pause in progress is complete.
    var resumesAfterPause = false
    /// How the body ended while the connection was held; the inner `nil` means success.
    var endWhileHeld: DownloadError??
    var isComplete = false
    /// Whether the pause interrupted a verification.
    var wasVerifying = false
    /// The digests of the finished file that were computed.
    package internal(set) var found: [DigestAlgorithm: [UInt8]] = [:]
    var checkpoints = CheckpointPace()
    var reported = TransferState.queued
    var random: SplitMix

    /// - Parameters:
    ///   - identity: The identity of the original URL.
    ///   - seed: Any random number. Retry delays are derived from it.
    package init(policy: DownloadPolicy, identity: DownloadIdentity, seed: UInt64) {
        self.policy = policy
        self.identity = identity
        retriesLeft = max(0, policy.retries)
        growth = SegmentGrowth(segments: policy.segments, most: policy.mostSegments)
        random = SplitMix(state: seed)
    }

    // MARK: Properties valid in every state

    /// The length of the whole file; `nil` while unknown.
    package var total: Int64? { facts?.total }
    /// The current generation. Increases each time the progress falls back to 0.
    package var currentGeneration: UInt32 { generation }
    /// The number of received bytes of the file.
    package var completed: Int64 { have.count }
    /// The state that callers see.
    package var visibleState: TransferState {
        switch state {
        case .queued: .queued
        case .requesting, .receiving, .publishing: .running
        case .waiting: .waiting
        // A transition to another state is not visible.
        case .pausing, .ending: reported
        case .paused, .held: .paused
        case .verifying: .verifying
        case .ended(let state): state
        }
    }
    /// The validator of the current source. It proves that segments belong to the same file.
    var validator: StrongValidator? { facts?.validator ?? mirrorValidator }
    /// The facts to judge responses by.
    var judgedFacts: DownloadFacts? {
        guard var facts else { return nil }
        facts.validator = validator
        return facts
    }
    /// Whether a later run can resume from the received bytes.
    package internal(set) var isResumable = false

    // MARK: Start

    /// Starts the download after its partial file was opened.
    ///
    /// - Parameters:
    ///   - record: The usable journal of an earlier run; `nil` if there is none.
    ///   - defect: Why an existing journal is unusable.
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
                    // The digest decides, without the network.
                    isComplete = true
                    return settle(actions + finishBytes(total))
                }
            }
        }
        return settle(actions + send())
    }

    /// Handles a target that already exists and has the expected digest (DC-C19).
    ///
    /// - Parameter length: The length of the complete file.
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

    /// Handles a partial file that could not be opened, or a conflict at the target. No request was
    /// sent.
    package mutating func refused(_ error: DownloadError) -> [DownloadAction] {
        guard state == .queued else { return [] }
        return settle(end(.failed(error, partialPath: nil), as: .failed))
    }

    /// Requests missing bytes.
    ///
    /// - Parameter share: The bytes to request; `nil` for the first missing ones.
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

    /// If-Match requires an entity tag. With any other validator the condition is If-Range.
    var askedCondition: AskedRange.Condition {
        if case .entityTag? = validator { condition } else { .ifRange }
    }

    mutating func nextAttempt() -> Int {
        lastAttempt += 1
        return lastAttempt
    }

    // MARK: The network

    /// Handles the headers of a final response, after all redirects.
    ///
    /// - Parameters:
    ///   - suggestedName: The name of the file if the response determines it, otherwise `nil`.
    ///   - latency: The time from the request to the response, in nanoseconds.
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
            return fail(
                DownloadError(
                    .badProtocol,
                    "The server sent a partial response to a request for the complete file"))
        }
        // Another connection may have received some of these bytes before it ended.
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
        // A truncated, overlong coding still differs from every valid one, and from none.
        facts.encoding = String(head.contentEncoding.prefix(64))
        facts.expected = policy.expected
        facts.announced = announced(by: head)
        facts.name = name
        if policy.keepsServerTime { facts.modified = head.lastModifiedSeconds }
        self.facts = facts
        // Without a length, the position of a segment is unknown (DR13).
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

    /// Handles received bytes of a body.
    ///
    /// - Returns: The position of the bytes in the file. Bytes beyond the end are discarded (DR12).
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

    /// Only bytes that stay on disk reset the number of retries (DR15).
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

    /// When to call ``checkpointDue(now:)`` if no more bytes arrive before; `nil` if the journal
    /// has every byte.
    package var checkpointDueAt: Instant? { checkpoints.dueAt }

    /// Requests a checkpoint although no bytes arrive: the connection may be stalled.
    package mutating func checkpointDue(now: Instant) -> [DownloadAction] {
        switch state {
        case .requesting, .receiving, .waiting: break
        default: return []
        }
        seen = now
        return isCheckpointDue(now) ? [checkpoint()] : []
    }

    /// Handles the end of a body as its framing defines it: its length, its last chunk, or a clean
    /// close if it has neither (DR12).
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
                        "The response ended at byte \(body.position) of the file, not at byte \(end)"
                    )))
        }
        let total = facts?.total ?? end
        guard have.firstGap(below: total) != nil else { return settle(finishBytes(total)) }
        // One of several gaps is filled, so continue with the next one. A segment shorter than
        // requested uses up a retry. Otherwise a server could send a byte at a time for ever.
        if body.reach < asked?.end ?? total {
            guard retriesLeft > 0 else {
                let error = DownloadError(
                    .truncated,
                    "The server sent too many responses shorter than the requested range")
                return settle(loseFirst(kept: body.kept) ?? fail(error))
            }
            retriesLeft -= 1
        }
        return settle(goOnElsewhere())
    }

    /// Handles a failed exchange, before or after the response headers.
    package mutating func failed(_ error: DownloadError, attempt: Int) -> [DownloadAction] {
        guard attempt == self.attempt else {
            return settle(segmentEnded(error, attempt: attempt))
        }
        switch state {
        case .held:
            endWhileHeld = .some(error)
            return []
        case .requesting, .receiving:
            // All bytes have arrived. A connection reset after the end does not matter.
            if state == .receiving, let body, let end = body.end, body.position >= end {
                return ended(attempt: attempt)
            }
            // The request was sent as an additional one, which fails instead of waiting for a free
            // connection. It is the first connection now, so send it again.
            if state == .requesting, error.reason == .busy {
                return settle(send(asked.map { $0.first..<($0.end ?? facts?.total ?? $0.first) }))
            }
            if let actions = loseFirst(kept: body?.kept ?? 0) { return settle(actions) }
            return settle(error.isTransient ? retry(error) : fail(error))
        default: return []
        }
    }

    /// Handles the end of a `wait`.
    package mutating func retryDue() -> [DownloadAction] {
        guard state == .waiting else { return [] }
        return settle(send())
    }

    // MARK: State reports

    /// Adds a report if the visible state has changed.
    mutating func settle(_ actions: [DownloadAction]) -> [DownloadAction] {
        let now = visibleState
        guard now != reported else { return actions }
        reported = now
        if case .ended = state { return actions }
        return [.report(.state(now))] + actions
    }
}
