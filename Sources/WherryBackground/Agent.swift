// Wherry: the background agent's event loop.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherryRequests
import WherrySystem

/// Serves one session: accepts clients, runs the jobs, and returns when no work is left.
///
/// All work happens on the thread that calls ``run(ready:)``. Transfers report to that thread
/// through a mailbox.
package final class Agent {
    /// The time a client has to send its request, and later to read the response: 10 s.
    private static let patience = Int64.milliseconds(10_000)
    /// The maximum number of clients that do not follow jobs. At this limit, a new client replaces
    /// the client that has been silent the longest. If every client has sent a request, new clients
    /// wait in the socket's queue.
    private static let mostAsking = 64
    /// The maximum number of followers, in addition to ``mostAsking``. More get the error `busy`.
    package static let mostFollowing = 64

    private let folder: StateFolder
    private let lock: File
    private let clock: any Clock
    private var signals: File?
    private let log: AgentLog
    private let mailbox: AgentMailbox
    private let transfers: AgentTransfers
    private let autostart: Bool
    private var machine: AgentMachine
    private var guests: [AgentMachine.Ticket: AgentGuest] = [:]
    private var lastTicket: AgentMachine.Ticket = 0

    /// - Parameters:
    ///   - lock: The session's lock, held by the caller. The agent releases it when it exits.
    ///   - idle: The idle time after which the agent exits, in nanoseconds.
    ///   - autostart: Whether to continue jobs that an earlier agent left unfinished.
    ///   - signals: A descriptor that becomes readable when the agent must exit.
    ///   - takesErrors: Whether the process's standard error goes to the log.
    package init(
        _ folder: StateFolder, lock: File, idle: Int64, autostart: Bool, clock: any Clock,
        signals: File? = nil, takesErrors: Bool = false
    ) throws(WherryError) {
        self.folder = folder
        self.lock = lock
        self.clock = clock
        self.signals = signals
        self.autostart = autostart
        log = AgentLog(folder, clock: clock, takesErrors: takesErrors)
        do {
            mailbox = try AgentMailbox()
        } catch {
            throw WherryError(error)
        }
        transfers = AgentTransfers(folder, mailbox, clock: clock)
        machine = AgentMachine(
            idle: idle, at: AgentMachine.Time(now: clock.now(), wall: clock.wallSeconds()))
    }

    private var time: AgentMachine.Time {
        AgentMachine.Time(now: clock.now(), wall: clock.wallSeconds())
    }

    /// Serves clients until no work is left.
    ///
    /// - Parameter ready: Called once the agent accepts clients.
    package func run(ready: () -> Void) throws(WherryError) {
        let listener: LocalSocket
        do {
            listener = try LocalSocket.listen(StateFolder.socketName, in: folder.directory)
        } catch {
            throw WherryError(error)
        }
        let observation = clock.observe { [mailbox] in mailbox.wake() }
        defer { withExtendedLifetime(observation) {} }
        log.write("the agent of Wherry \(WherryLibrary.version) started")
        let records = try folder.load()
        for record in records where record.isDamaged {
            log.write(record.job.failure?.message ?? "")
        }
        // Write no record before this call: the process that started the agent is waiting for it.
        ready()
        folder.sweep(wall: time.wall)
        carryOut(machine.open(records, autostart: autostart, time))
        while !machine.mayLeave(time) {
            turn(listener)
        }
        // Remove the socket first. A client that has just connected then sees end of file.
        _ = try? folder.directory.remove(StateFolder.socketName)
        for ticket in guests.keys { serve(ticket, canRead: false) }
        let lost = machine.unsavedCount
        log.write(
            "the agent stopped" + (lost > 0 ? ", and \(lost) records could not be saved" : ""))
        withExtendedLifetime((listener, lock)) {}
    }

    /// Waits for events and handles them.
    private func turn(_ listener: LocalSocket) {
        let tickets = guests.keys.sorted()
        var items = [
            Poll.Item(listener.descriptor, read: hasRoom),
            Poll.Item(mailbox.descriptor),
        ]
        let hearsSignals = signals != nil
        if let signals { items.append(Poll.Item(signals.descriptor)) }
        let first = items.count
        var deadline = machine.deadline
        for ticket in tickets {
            guard let guest = guests[ticket] else { continue }
            items.append(Poll.Item(guest.socket.descriptor, write: guest.hasWork))
            if guest.hasDeadline { deadline = min(deadline, guest.deadline) }
        }
        let left = max(0, deadline.since(clock.now()))
        Poll.wait(&items, nanoseconds: deadline == .never ? nil : clock.realDelay(for: left))

        if items[1].canRead { readMail() }
        if hearsSignals, items[2].canRead {
            log.write("the agent received a signal to stop")
            // The signal is never read from the descriptor, so polling it again would spin.
            signals = nil
            carryOut(machine.leave(time))
        }
        for (index, ticket) in tickets.enumerated() {
            let item = items[first + index]
            if item.canRead || item.canWrite { serve(ticket, canRead: item.canRead) }
        }
        if items[0].canRead { welcome(listener) }
        carryOut(machine.tick(time))
        // Serve clients that have pending output, and drop clients past their deadline.
        let now = clock.now()
        for (ticket, guest) in guests {
            if guest.hasDeadline && guest.deadline <= now {
                dismiss(ticket)
            } else if guest.hasWork || guest.isEnding {
                serve(ticket, canRead: false)
            }
        }
    }

    private func readMail() {
        let (progress, letters) = mailbox.take()
        for (id, progress) in progress { carryOut(machine.moved(id, progress)) }
        for letter in letters {
            switch letter {
            case .state(let id, let state, let reason):
                carryOut(machine.shows(id, state, reason: reason, time))
            case .named(let id, let name): carryOut(machine.named(id, name, time))
            case .waitsForConnection(let id, let waits):
                carryOut(machine.waitsForConnection(id, waits, time))
            case .checked(let id, let result): transfers.checked(id, result)
            case .ended(let id, let progress, let ending):
                transfers.ended(id)
                if let progress { carryOut(machine.moved(id, progress)) }
                carryOut(machine.ended(id, ending, time))
            }
        }
    }

    // MARK: Guests

    /// The number of clients that do not follow. A follower never takes the place of a request.
    private var asking: Int { guests.values.count { !$0.follows } }

    /// The client that has been silent the longest without sending a request.
    private var silent: AgentMachine.Ticket? {
        guests.lazy.filter { $0.value.isIdle }.map(\.key).min()
    }

    private var hasRoom: Bool { asking < Self.mostAsking || silent != nil }

    private func welcome(_ listener: LocalSocket) {
        while hasRoom, let socket = listener.accept() {
            if asking >= Self.mostAsking, let silent { dismiss(silent) }
            // The folder is private, so this check is a second line of defense.
            guard socket.isPeerOurs else {
                log.write("refused a connection from a process of another user")
                continue
            }
            lastTicket += 1
            let deadline = clock.now().advanced(by: Self.patience)
            guests[lastTicket] = AgentGuest(socket, deadline: deadline)
            machine.arrived()
            serve(lastTicket, canRead: true)
        }
    }

    private func dismiss(_ ticket: AgentMachine.Ticket) {
        guard guests.removeValue(forKey: ticket) != nil else { return }
        machine.left(time)
    }

    /// Reads a client's request and sends pending output to the client.
    private func serve(_ ticket: AgentMachine.Ticket, canRead: Bool) {
        if canRead, !listen(to: ticket) { return dismiss(ticket) }
        guard var guest = guests[ticket] else { return }
        let isThere = guest.send { machine.job($0) }
        guests[ticket] = guest
        if !isThere || (guest.isEnding && !guest.hasWork) { dismiss(ticket) }
    }

    /// - Returns: `false` if the client disconnected or violated the protocol.
    private func listen(to ticket: AgentMachine.Ticket) -> Bool {
        guard var guest = guests[ticket] else { return false }
        let step = guest.socket.receive(into: &guest.reader.bytes)
        switch step {
        case .closed: return false
        case .wait: return true
        case .moved: break
        }
        // Each connection carries one request. More input is a protocol error.
        guard guest.isIdle else { return false }
        do throws(WherryError) {
            guard let message = try guest.reader.next() else {
                guests[ticket] = guest
                return true
            }
            guard guest.reader.bytes.isEmpty else {
                throw WherryError(.badProtocol, "The client sent more than one request")
            }
            guard let request = AgentRequest(message) else {
                // A client of another version gets an error, so that it does not retry.
                guests[ticket] = guest
                reply(
                    ticket,
                    JobFailure(
                        WherryError(
                            .badProtocol,
                            "The agent did not accept a request: the agent and the library have different versions. Use both from the same release."
                        )))
                return true
            }
            guest.waits = true
            guest.deadline = .never
            guests[ticket] = guest
            answer(request, ticket)
            return true
        } catch {
            log.write("closed the connection to a client: \(error.message)")
            return false
        }
    }

    private func answer(_ request: AgentRequest, _ ticket: AgentMachine.Ticket) {
        switch request {
        case .follow where guests.count - asking >= Self.mostFollowing:
            reply(
                ticket,
                JobFailure(
                    WherryError(
                        .busy,
                        "Could not follow the jobs: \(Self.mostFollowing) clients already follow this session. Close one of them."
                    )))
        case .list, .follow:
            guard var guest = guests[ticket] else { return }
            for job in machine.jobs { guest.tell(job.id) }
            guest.tellOK()
            guest.waits = false
            if request == .follow { guest.follows = true } else { end(&guest) }
            guests[ticket] = guest
        case .start(let record):
            carryOut(machine.start(record, ticket, time), starting: (record.job.id, ticket))
        case .verb(let verb, let id):
            carryOut(machine.apply(verb, to: id, ticket, time))
        }
    }

    private func end(_ guest: inout AgentGuest) {
        guest.isEnding = true
        guest.deadline = clock.now().advanced(by: Self.patience)
    }

    private func reply(_ ticket: AgentMachine.Ticket, _ failure: JobFailure?) {
        guard var guest = guests[ticket] else { return }
        guest.waits = false
        guest.put(failure.map { .failed($0) } ?? .ok)
        end(&guest)
        guests[ticket] = guest
    }

    private func tellFollowers(_ id: String) {
        for (ticket, guest) in guests where guest.follows {
            var guest = guest
            guest.tell(id)
            guests[ticket] = guest
        }
    }

    // MARK: Actions

    /// Performs the actions that the state machine requests.
    ///
    /// - Parameter starting: A new job, which starts only if its record can be saved.
    private func carryOut(
        _ actions: [AgentMachine.Action],
        starting: (id: String, ticket: AgentMachine.Ticket)? = nil
    ) {
        var starting = starting
        var failure: JobFailure?
        for action in actions {
            switch action {
            case .begin(let record): transfers.begin(record)
            case .stop(let id, let discarding): transfers.stop(id, discarding: discarding)
            case .discard(let record): record.discardPartials()
            case .tell(let job): tellFollowers(job.id)
            case .forget(let id): tellFollowers(id)
            case .answer(let ticket, let word):
                // The job is accepted now. A record that cannot be saved later is retried.
                if starting?.ticket == ticket { starting = nil }
                reply(ticket, word ?? failure)
            case .note(let text): log.write(text)
            case .save(let record):
                do throws(WherryError) {
                    try save(record)
                    machine.saved(record.job.id, time)
                } catch {
                    log.write("could not save \(record.job.id): \(error.message)")
                    failure = JobFailure(error)
                    guard let starting, starting.id == record.job.id else {
                        // If the folder was removed, no later attempt can save the record either.
                        if folder.isGone {
                            machine.saved(record.job.id, time)
                        } else {
                            machine.saveFailed(record.job.id, time)
                        }
                        continue
                    }
                    reply(starting.ticket, failure)
                    return carryOut(machine.startFailed(starting.id, time))
                }
            case .remove(let id):
                do throws(WherryError) {
                    try folder.remove(id)
                } catch {
                    log.write("could not remove \(id): \(error.message)")
                    failure = JobFailure(error)
                }
            }
        }
    }

    /// Saves a record, and removes the body of a finished upload.
    private func save(_ record: JobRecord) throws(WherryError) {
        let id = record.job.id
        do {
            try folder.save(record)
        } catch {
            guard record.job.isFinal, record.job.kind == .upload else { throw error }
            // The body may be using the space that the record needs. If this agent dies before it
            // can save the record, the next agent finds no body and does not send the upload again.
            folder.removeBody(id)
            try folder.save(record)
        }
        if record.job.isFinal { folder.removeRemains(id) }
    }
}

extension AgentGuest {
    /// Whether the guest has a time limit: it has not sent a request yet, or it is reading the
    /// response.
    fileprivate var hasDeadline: Bool { isIdle || isEnding }
}
