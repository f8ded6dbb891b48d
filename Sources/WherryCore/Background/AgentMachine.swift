// Wherry: the rules of the agent, as values.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// What becomes of the jobs of a session: which are at work, what a verb does to each, what a death
/// of the agent costs, and when the agent leaves. It knows no thread, no clock, no file and no
/// socket: it takes what happened and returns what is to be done, in that order.
package struct AgentMachine: Sendable {
    /// Exits: idle to queued; queued to active, idle and sleeping; active to stopping, sleeping and
    /// idle; stopping to idle and queued; sleeping to queued and idle.
    enum Activity: Sendable, Hashable {
        /// Paused, interrupted or over.
        case idle
        /// Waits for a place.
        case queued
        case active
        case stopping(Stop)
        /// Until the server wants to be asked again.
        case sleeping(until: Instant)
    }

    enum Stop: Sendable, Hashable { case pause, restart, cancel, leave }

    struct Entry: Sendable {
        var record: JobRecord
        var activity = Activity.idle
        /// What was there before a start that is not durable yet.
        var before: JobRecord?
        /// Those who asked for a pause or a cancel and wait for it.
        var tickets: [Ticket] = []

        /// Whether a transfer is under way.
        var isAtWork: Bool {
            switch activity {
            case .active, .stopping: true
            case .idle, .queued, .sleeping: false
            }
        }
    }

    /// So many transfers run at once; the others wait in the order of their start.
    package static let mostActive = 8
    /// So many jobs a session has at most.
    package static let mostJobs = 1_000
    /// So often may the agent die at one job while nothing comes.
    package static let mostCrashes: Int64 = 3
    var entries: [String: Entry] = [:]
    /// Whose records on disk are not what they are here.
    var unsaved = Unsaved()
    private let idleTime: Int64
    private var idleSince: Instant
    /// Whether there was something to do when that was last looked at.
    private var wasBusy = false
    /// Those who are connected.
    private var guests = 0
    var isLeaving = false

    /// - Parameter idle: how long the agent stays with nothing to do, in nanoseconds.
    package init(idle: Int64, at time: Time) {
        idleTime = max(0, idle)
        idleSince = time.now
    }

    // MARK: Looking

    /// Every job, oldest first.
    package var jobs: [BackgroundJob] {
        entries.values.map(\.record.job).sorted { ($0.startedAt, $0.id) < ($1.startedAt, $1.id) }
    }

    package func job(_ id: String) -> BackgroundJob? { entries[id]?.record.job }

    /// Whether something is to be done, now or later.
    private var isBusy: Bool {
        guests > 0 || !unsaved.ids.isEmpty || entries.values.contains { $0.activity != .idle }
    }

    private var isAtWork: Bool { entries.values.contains { $0.isAtWork } }

    /// When to call ``tick(_:)``; `.never` if only something else can change anything.
    package var deadline: Instant {
        var first = unsaved.due
        for entry in entries.values {
            if case .sleeping(let until) = entry.activity { first = min(first, until) }
        }
        if isLeaving, !isAtWork { first = min(first, unsaved.end) }
        return isBusy ? first : min(first, idleSince.advanced(by: idleTime))
    }

    /// Whether it is time to go: nothing to do and nobody there for the idle time, or asked to; and
    /// every record is on disk.
    package func mayLeave(_ time: Time) -> Bool {
        if isLeaving { return !isAtWork && (unsaved.ids.isEmpty || time.now >= unsaved.end) }
        return !isBusy && time.now >= idleSince.advanced(by: idleTime)
    }

    // MARK: Those who ask

    package mutating func arrived() {
        guests += 1
        wasBusy = true
    }

    package mutating func left(_ time: Time) {
        guests = max(0, guests - 1)
        noteIdleness(time)
    }

    /// The idle time begins when the last thing to do is done, and looking on does not move that.
    mutating func noteIdleness(_ time: Time) {
        let isBusy = isBusy
        if isBusy || wasBusy { idleSince = time.now }
        wasBusy = isBusy
    }

    /// A job is to be done. The same one again is the same job.
    package mutating func start(_ record: JobRecord, _ ticket: Ticket, _ time: Time) -> [Action] {
        let id = record.job.id
        guard !isLeaving else {
            return [.answer(ticket, JobFailure(WherryError(.busy, "The agent is leaving")))]
        }
        // An upload's id is of one call: it asks again, not having heard the answer.
        if let old = entries[id], old.record.job.kind == .upload,
            old.record.source == record.source
        {
            return [.answer(ticket, nil)]
        }
        if let old = entries[id], old.activity != .idle {
            if old.record.source == record.source { return [.answer(ticket, nil)] }
            let path = record.job.path ?? ""
            return [
                .answer(
                    ticket,
                    JobFailure(WherryError(.busy, "Another URL is being downloaded to \(path)")))
            ]
        }
        // It is done, and its end waits to be heard: no second run takes that away.
        if let old = entries[id], old.record.job.state == .done, record.job.path != nil,
            old.record.source == record.source
        {
            return [.answer(ticket, nil)]
        }
        guard entries[id] != nil || entries.count < Self.mostJobs else {
            return [
                .answer(
                    ticket,
                    JobFailure(
                        WherryError(
                            .tooLarge,
                            "The session has \(Self.mostJobs) jobs; acknowledge those that are over"
                        )))
            ]
        }
        var record = record
        record.crashes = 0
        record.bytesBefore = 0
        record.job.startedAt = time.wall
        if let old = entries[id], !old.record.job.isFinal {
            record.job.startedAt = old.record.job.startedAt
        }
        entries[id] = Entry(record: record, before: entries[id]?.record)
        let queued = queue(id, time)
        return [.note("\(id) started: \(record.job.url)")] + queued + [.answer(ticket, nil)]
            + pump(time)
    }

    /// The record could not be made durable: all is as it was before.
    package mutating func startFailed(_ id: String, _ time: Time) -> [Action] {
        let before = entries[id]?.before
        drop(id)
        defer { noteIdleness(time) }
        guard let before else { return [.remove(id: id), .forget(id: id)] }
        entries[id] = Entry(record: before)
        // The file of a damaged record is still as it was.
        return (before.isDamaged ? [] : [.save(before)]) + [.tell(before.job)]
    }

    /// A verb for one job; each may be repeated.
    package mutating func apply(_ verb: Verb, to id: String, _ ticket: Ticket, _ time: Time)
        -> [Action]
    {
        guard let entry = entries[id] else {
            return [
                .answer(
                    ticket,
                    JobFailure(BackgroundSession.noJob(id)))
            ]
        }
        if verb == .acknowledge { return acknowledge(entry.record.job, ticket) }
        if entry.record.job.isFinal { return [.answer(ticket, nil)] }
        let actions =
            switch verb {
            case .pause: pause(id, entry, ticket, time)
            case .resume: resume(id, entry, ticket, time)
            case .cancel: cancel(id, entry, ticket, time)
            case .acknowledge: [Action]()
            }
        return actions + pump(time)
    }

    private mutating func acknowledge(_ job: BackgroundJob, _ ticket: Ticket) -> [Action] {
        guard job.isFinal else {
            return [
                .answer(
                    ticket,
                    JobFailure(WherryError(.wrongState, "The job \(job.id) is not over yet")))
            ]
        }
        drop(job.id)
        return [.remove(id: job.id), .answer(ticket, nil), .forget(id: job.id)]
    }

    private mutating func pause(_ id: String, _ entry: Entry, _ ticket: Ticket, _ time: Time)
        -> [Action]
    {
        switch entry.activity {
        case .idle, .queued, .sleeping:
            entries[id]?.activity = .idle
            entries[id]?.record.job.retryAt = nil
            return change(id, .paused, time) + [.answer(ticket, nil)]
        case .active:
            entries[id]?.activity = .stopping(.pause)
            entries[id]?.tickets.append(ticket)
            return [.stop(id: id, discarding: false)]
        case .stopping(let stop):
            // Also where the agent is leaving: the next one must find it paused.
            if stop != .cancel { entries[id]?.activity = .stopping(.pause) }
            entries[id]?.tickets.append(ticket)
            return []
        }
    }

    private mutating func resume(_ id: String, _ entry: Entry, _ ticket: Ticket, _ time: Time)
        -> [Action]
    {
        switch entry.activity {
        case .idle:
            entries[id]?.record.crashes = 0
            return queue(id, time) + [.answer(ticket, nil)]
        case .sleeping: return queue(id, time) + [.answer(ticket, nil)]
        case .stopping(.pause):
            entries[id]?.activity = .stopping(.restart)
            return [.answer(ticket, nil)]
        case .queued, .active, .stopping: return [.answer(ticket, nil)]
        }
    }

    private mutating func cancel(_ id: String, _ entry: Entry, _ ticket: Ticket, _ time: Time)
        -> [Action]
    {
        switch entry.activity {
        case .idle, .queued, .sleeping:
            return [.discard(entry.record)] + finish(id, .cancelled, Self.cancelled, time)
                + [.answer(ticket, nil)]
        case .active, .stopping:
            let isFirst = entry.activity != .stopping(.cancel)
            entries[id]?.activity = .stopping(.cancel)
            entries[id]?.tickets.append(ticket)
            return isFirst ? [.stop(id: id, discarding: true)] : []
        }
    }

    private static var cancelled: Ending {
        var ending = Ending()
        ending.error = JobFailure(WherryError(.cancelled, "The job was cancelled"))
        return ending
    }

    // MARK: Transfers

    /// How far a transfer has come.
    package mutating func moved(_ id: String, _ progress: Progress) -> [Action] {
        guard let entry = entries[id], entry.isAtWork else { return [] }
        entries[id]?.record.job.progress = progress
        return entry.activity == .active ? tell(id) : []
    }

    /// A transfer shows another state.
    ///
    /// Only a job that is transferring counts a death of its agent, so the record says at any time
    /// whether the job transfers or waits.
    package mutating func shows(
        _ id: String, _ state: TransferState, reason: String?, _ time: Time
    ) -> [Action] {
        guard let entry = entries[id], entry.activity == .active, !state.isFinal, state != .paused
        else { return [] }
        if state.isWait != entry.record.job.state.isWait {
            return change(id, state, reason: reason, time)
        }
        entries[id]?.record.job.state = state
        entries[id]?.record.job.reason = reason
        return tell(id)
    }

    /// A transfer waits for a free connection, or has one.
    package mutating func waitsForConnection(
        _ id: String, _ waits: Bool, _ time: Time
    ) -> [Action] {
        guard let entry = entries[id], waits || entry.record.job.state.isWait else { return [] }
        return shows(id, waits ? .queued : .running, reason: nil, time)
    }

    /// A transfer is over.
    package mutating func ended(_ id: String, _ ending: Ending, _ time: Time) -> [Action] {
        guard let entry = entries[id], entry.isAtWork else { return [] }
        var actions: [Action]
        switch entry.activity {
        case .stopping(.pause) where ending.isCancelled || ending.isRetriedLater:
            entries[id]?.activity = .idle
            actions = change(id, .paused, time)
        case .stopping(.restart) where ending.isCancelled: actions = queue(id, time)
        case .stopping(.leave) where ending.isCancelled:
            entries[id]?.activity = .idle
            actions = change(id, .queued, time)
        case .stopping(.cancel) where ending.error != nil:
            actions = [.discard(entry.record)] + finish(id, .cancelled, Self.cancelled, time)
        default: actions = endedByItself(id, ending, time)
        }
        for ticket in entry.tickets { actions.append(.answer(ticket, nil)) }
        entries[id]?.tickets = []
        return actions + pump(time)
    }

    mutating func endedByItself(_ id: String, _ ending: Ending, _ time: Time) -> [Action] {
        guard let error = ending.error else { return finish(id, .done, ending, time) }
        guard ending.isRetriedLater else {
            return finish(id, ending.isCancelled ? .cancelled : .failed, ending, time)
        }
        // The server wants to be asked later: nobody waits here but the agent.
        let delay = Int64.milliseconds(error.retryAfterMilliseconds)
        entries[id]?.activity = .sleeping(until: time.now.advanced(by: delay))
        entries[id]?.record.job.retryAt = time.wall + Double(delay) / 1e9
        entries[id]?.record.wait = error.retryAfterMilliseconds
        return change(id, .waiting, reason: error.reason.rawValue, time)
    }

    /// Time has passed.
    package mutating func tick(_ time: Time) -> [Action] {
        var actions: [Action] = []
        for id in entries.keys.sorted() {
            guard let entry = entries[id], case .sleeping(let until) = entry.activity,
                until <= time.now
            else { continue }
            actions += queue(id, time)
        }
        return actions + savesDue(time) + pump(time)
    }

    // MARK: Changing

    mutating func queue(_ id: String, _ time: Time) -> [Action] {
        entries[id]?.activity = .queued
        entries[id]?.record.job.retryAt = nil
        return change(id, .queued, time)
    }

    /// Begins those that have a place.
    mutating func pump(_ time: Time) -> [Action] {
        noteIdleness(time)
        guard !isLeaving else { return [] }
        var free = Self.mostActive - entries.values.count { $0.isAtWork }
        guard free > 0 else { return [] }
        var actions: [Action] = []
        for job in jobs where free > 0 {
            guard entries[job.id]?.activity == .queued else { continue }
            free -= 1
            entries[job.id]?.activity = .active
            entries[job.id]?.record.bytesBefore = job.progress.completed
            actions += change(job.id, .running, time)
            if let record = entries[job.id]?.record { actions.append(.begin(record)) }
        }
        return actions
    }

    mutating func finish(
        _ id: String, _ state: TransferState, _ ending: Ending, _ time: Time
    ) -> [Action] {
        guard var entry = entries[id] else { return [] }
        entry.activity = .idle
        entry.record.request = nil
        entry.record.job.retryAt = nil
        entry.record.job.failure = ending.error
        entry.record.job.answer = ending.answer
        entry.record.job.digests = ending.digests
        if state == .done {
            entry.record.job.path = ending.path ?? entry.record.job.path
            if entry.record.job.progress.total == nil {
                entry.record.job.progress.total = entry.record.job.progress.completed
            }
        }
        entries[id] = entry
        let word = ending.error.map { " (\($0.reason.rawValue))" } ?? ""
        let reason = ending.lacksBody ? .interrupted : ending.error?.reason
        return [.note("\(id) is \(state)\(word)")]
            + change(id, state, reason: reason?.rawValue, time)
    }

    mutating func change(
        _ id: String, _ state: TransferState, reason: String? = nil, _ time: Time
    ) -> [Action] {
        guard var entry = entries[id] else { return [] }
        entry.record.job.state = state
        entry.record.job.reason = reason
        entry.record.job.changedAt = time.wall
        entry.record.job.progress.bytesPerSecond = nil
        entry.record.job.progress.remaining = nil
        entries[id] = entry
        return [.save(entry.record), .tell(entry.record.job)]
    }

    private func tell(_ id: String) -> [Action] {
        entries[id].map { [.tell($0.record.job)] } ?? []
    }
}

extension TransferState {
    /// Whether nothing is transferred, and something is waited for.
    fileprivate var isWait: Bool { self == .queued || self == .waiting }
}
