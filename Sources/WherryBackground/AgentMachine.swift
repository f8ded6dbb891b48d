// Wherry: the agent's state machine.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

/// The state machine for the jobs of a session. Decides which jobs run, what each command does, how
/// crashes count, and when the agent exits. Uses no thread, clock, file, or socket. Each method
/// takes an event and returns the actions to perform, in order.
package struct AgentMachine: Sendable {
    /// Transitions: idle to queued; queued to active, idle, and sleeping; active to stopping,
    /// sleeping, and idle; stopping to idle and queued; sleeping to queued and idle.
    enum Activity: Sendable, Hashable {
        /// Paused, interrupted, or finished.
        case idle
        /// Waits for a free transfer slot.
        case queued
        case active
        case stopping(Stop)
        /// Waits until the time the server asked for.
        case sleeping(until: Instant)
    }

    enum Stop: Sendable, Hashable { case pause, restart, cancel, leave }

    struct Entry: Sendable {
        var record: JobRecord
        var activity = Activity.idle
        /// The previous record, while the new one is not yet durable.
        var before: JobRecord?
        /// The clients that requested a pause or a cancellation and wait for it.
        var tickets: [Ticket] = []

        /// Whether a transfer is in progress.
        var isAtWork: Bool {
            switch activity {
            case .active, .stopping: true
            case .idle, .queued, .sleeping: false
            }
        }
    }

    /// The maximum number of concurrent transfers. Other jobs wait in the order of their start.
    package static let mostActive = 8
    /// The maximum number of jobs in a session.
    package static let mostJobs = 1_000
    /// The number of crashes without progress after which a job fails.
    package static let mostCrashes: Int64 = 3
    var entries: [String: Entry] = [:]
    /// The records that differ from the version on disk.
    var unsaved = Unsaved()
    private let idleTime: Int64
    private var idleSince: Instant
    /// Whether there was work at the last check.
    private var wasBusy = false
    /// The number of connected clients.
    private var guests = 0
    var isLeaving = false

    /// - Parameter idle: The idle time after which the agent exits, in nanoseconds.
    package init(idle: Int64, at time: Time) {
        idleTime = max(0, idle)
        idleSince = time.now
    }

    // MARK: Queries

    /// All jobs, oldest first.
    package var jobs: [BackgroundJob] {
        entries.values.map(\.record.job).sorted { ($0.startedAt, $0.id) < ($1.startedAt, $1.id) }
    }

    package func job(_ id: String) -> BackgroundJob? { entries[id]?.record.job }

    /// Whether any work is left, now or later.
    private var isBusy: Bool {
        guests > 0 || !unsaved.ids.isEmpty || entries.values.contains { $0.activity != .idle }
    }

    private var isAtWork: Bool { entries.values.contains { $0.isAtWork } }

    /// The time of the next call to ``tick(_:)``. `.never` if only an event can change anything.
    package var deadline: Instant {
        var first = unsaved.due
        for entry in entries.values {
            if case .sleeping(let until) = entry.activity { first = min(first, until) }
        }
        if isLeaving, !isAtWork { first = min(first, unsaved.end) }
        return isBusy ? first : min(first, idleSince.advanced(by: idleTime))
    }

    /// Whether the agent may exit: it has been idle without clients for the idle time, or it was
    /// asked to exit. Every record must be on disk, except at the end of an exiting agent's save
    /// time.
    package func mayLeave(_ time: Time) -> Bool {
        if isLeaving { return !isAtWork && (unsaved.ids.isEmpty || time.now >= unsaved.end) }
        return !isBusy && time.now >= idleSince.advanced(by: idleTime)
    }

    // MARK: Clients

    package mutating func arrived() {
        guests += 1
        wasBusy = true
    }

    package mutating func left(_ time: Time) {
        guests = max(0, guests - 1)
        noteIdleness(time)
    }

    /// Updates the start of the idle time. The idle time starts when the last work ends; repeated
    /// checks do not move it.
    mutating func noteIdleness(_ time: Time) {
        let isBusy = isBusy
        if isBusy || wasBusy { idleSince = time.now }
        wasBusy = isBusy
    }

    /// Starts a job. Starting the same job again has no effect.
    package mutating func start(_ record: JobRecord, _ ticket: Ticket, _ time: Time) -> [Action] {
        let id = record.job.id
        guard !isLeaving else {
            return [
                .answer(
                    ticket,
                    JobFailure(WherryError(.busy, "The agent is stopping. Start the job again.")))
            ]
        }
        // An upload's id belongs to one call, so this is a repeat whose first reply was lost.
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
                    JobFailure(
                        WherryError(
                            .busy,
                            "Another URL is being downloaded to \(path). Use another path, or wait."
                        )))
            ]
        }
        // The job is done but not acknowledged. A second run must not discard the result.
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
                            "Could not start the job: the session already has \(Self.mostJobs) jobs. Acknowledge finished jobs."
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

    /// Restores the previous state after a new job's record could not be saved.
    package mutating func startFailed(_ id: String, _ time: Time) -> [Action] {
        let before = entries[id]?.before
        drop(id)
        defer { noteIdleness(time) }
        guard let before else { return [.remove(id: id), .forget(id: id)] }
        entries[id] = Entry(record: before)
        // The file of a damaged record is unchanged.
        return (before.isDamaged ? [] : [.save(before)]) + [.tell(before.job)]
    }

    /// Applies a command to one job. Every command can be repeated safely.
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
                    JobFailure(
                        WherryError(
                            .wrongState,
                            "Could not acknowledge the job \(job.id): it has not finished. Wait for it, or cancel it."
                        )))
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
            // Also while the agent exits: the next agent must find the job paused.
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

    /// Records a transfer's progress.
    package mutating func moved(_ id: String, _ progress: Progress) -> [Action] {
        guard let entry = entries[id], entry.isAtWork else { return [] }
        entries[id]?.record.job.progress = progress
        return entry.activity == .active ? tell(id) : []
    }

    /// Records the file name that a response determines.
    package mutating func named(_ id: String, _ name: String, _ time: Time) -> [Action] {
        guard var entry = entries[id], entry.isAtWork, entry.record.job.fileName != name else {
            return []
        }
        entry.record.job.fileName = name
        entries[id] = entry
        return [.save(entry.record), .tell(entry.record.job)]
    }

    /// Records a transfer's new state.
    ///
    /// Only a transferring job counts a crash of its agent. The saved record must therefore always
    /// say whether the job transfers or waits.
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

    /// Records whether a transfer waits for a free connection.
    package mutating func waitsForConnection(
        _ id: String, _ waits: Bool, _ time: Time
    ) -> [Action] {
        guard let entry = entries[id], waits || entry.record.job.state.isWait else { return [] }
        return shows(id, waits ? .queued : .running, reason: nil, time)
    }

    /// Handles the end of a transfer.
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
        // The server asked for a later retry. Only the agent waits for it; no transfer does.
        let delay = Int64.milliseconds(error.retryAfterMilliseconds)
        entries[id]?.activity = .sleeping(until: time.now.advanced(by: delay))
        entries[id]?.record.job.retryAt = time.wall + Double(delay) / 1e9
        entries[id]?.record.wait = error.retryAfterMilliseconds
        return change(id, .waiting, reason: error.reason.rawValue, time)
    }

    /// Handles the passage of time.
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

    // MARK: State changes

    mutating func queue(_ id: String, _ time: Time) -> [Action] {
        entries[id]?.activity = .queued
        entries[id]?.record.job.retryAt = nil
        return change(id, .queued, time)
    }

    /// Starts queued jobs while there are free slots.
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
            entry.record.job.fileName = nil
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
    /// Whether the transfer waits and moves no data.
    fileprivate var isWait: Bool { self == .queued || self == .waiting }
}
