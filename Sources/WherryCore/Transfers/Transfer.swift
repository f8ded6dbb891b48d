// Wherry: work in flight.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem
import WherryTransport

/// A request, upload or download on its way. Made by a client; known by an id that is unique in
/// the process. Every member may be used from any thread.
public class Transfer: @unchecked Sendable {  // what changes is under `life`, or the subclass's lock
    /// The kinds of transfers. The raw values are those of `wherry_transfer_kind`.
    public enum Kind: Int32, Sendable {
        case request = 1
        case upload = 2
        case download = 3
        /// Several requests that end as one; see ``RequestGroup``.
        case group = 4
    }

    /// Unique in the process; never 0.
    public let id: UInt64
    /// What it does.
    public let kind: Kind
    /// What was asked for, as it was given.
    public let request: Request
    package let userData: UInt
    package let client: Client
    package let settings: ClientSettings
    package let options: OptionTable
    package let observer: any TransferObserver
    package let started: Instant
    package let deadline: Instant

    private struct Life {
        var cycle = TransferLifecycle()
        /// Events being told now, by any thread.
        var telling = 0
        /// The end, if it came while another event was being told: it is told after that one.
        var outcome: TransferOutcome?
    }

    private static let lastID = Atomic<UInt64>(0)
    private let life = Lock(Life())
    /// The log was told that it is suspended.
    let wasToldSuspended = Atomic(false)
    /// Its place in the client's pool, under the pool's lock.
    var poolIndex = 0
    /// Its place in the queue that hears of it, under the queue's lock.
    var queueIndex = 0

    package init(
        _ kind: Kind, _ request: Request, client: Client, settings: ClientSettings,
        options: OptionTable, observer: any TransferObserver, userData: UInt
    ) {
        id = Self.lastID.wrappingAdd(1, ordering: .relaxed).newValue
        self.kind = kind
        self.request = request
        self.client = client
        self.settings = settings
        self.options = options
        self.observer = observer
        self.userData = userData
        started = client.transport.clock.now()
        let total = options[.totalTimeout]
        deadline = total == 0 ? .never : started.advanced(by: .milliseconds(total))
    }

    /// The method as it is sent.
    public var method: String { request.effectiveMethod }
    /// The absolute URL of the present hop, of a download the one it started with; "?..." stands for
    /// a query, which may hold secrets.
    public var url: String { request.url }
    /// The absolute URL without parameters, which `TransferMatch.url` finds it by.
    package final var address: String {
        let base = try? settings.base(named: request.base)
        let url = try? RequestPlanner.target(request.url, base: base, options: options)
        return url?.text ?? request.url
    }
    /// The request's tag.
    public var tag: String? { request.tag }
    /// What the program gave the request to carry.
    public var userInfo: (any Sendable)? { request.userInfo }
    /// A download's destination.
    public var path: String? { nil }
    /// Where it stands now.
    public var state: TransferState { life.withLock { $0.cycle.state } }
    /// How far it has come; of an ended one how far it came.
    public var progress: Progress { Progress() }
    /// Whether its progress changes only where the observer is told that it is moving.
    package var tellsMoves: Bool { false }
    /// The pictures of an upload in the order of adding, as they stand now. Empty while those of one
    /// form are being encoded, and for other transfers.
    public var images: [ImageOutcome] { [] }

    // MARK: Verbs

    /// Stops reading and sending. Repeating it, or after the end, changes nothing.
    ///
    /// A download's journal is durable when this returns; do not call it where a transfer is told
    /// of, since it waits for the disk.
    public func pause() {
        guard life.withLock({ $0.cycle.pause() }) else { return noteIdle("suspend") }
        applyPause()
        client.activity.look(at: self)
        emit(.state(.paused, reason: nil))
    }

    /// Goes on after a pause.
    public func resume() {
        let state = life.withLock { $0.cycle.resume() ? $0.cycle.state : nil }
        guard let state else { return noteIdle("resume") }
        applyPause()
        client.activity.look(at: self)
        emit(.state(state, reason: nil))
    }

    /// Ends it with `cancelled`, unless it has ended. A resumable partial is kept.
    public final func cancel() { cancel(discarding: false) }

    /// Cancels it and deletes its partial; after a kept cancel or failure deletes what was kept.
    public final func discard() { cancel(discarding: true) }

    /// What waits, a request for a connection and a download for its turn, goes behind what has this
    /// priority, -100 to 100; without effect on what runs or has ended. Throws `bad_value` for another.
    package final func setPriority(_ priority: Int64) throws(WherryError) {
        try Option.priority.check(priority, in: .request)
        applyPriority(Int8(clamping: priority))
    }

    private func cancel(discarding: Bool) {
        let first = life.withLock { $0.cycle.cancel() }
        if first || discarding { performCancel(discarding: discarding) }
    }

    // MARK: For subclasses

    /// Starts the work; called once.
    ///
    /// - Parameter wake: who carries it out, if nobody turns the transport.
    package func begin(wake: Wake) {}
    /// Brings the work in line with ``isPaused``, which may have changed again meanwhile.
    package func applyPause() {}
    /// Brings the work in line with another priority.
    package func applyPriority(_ priority: Int8) {}
    /// Brings about the end; `finish` must follow.
    package func performCancel(discarding: Bool) {}

    /// Tells what is to be told after the end.
    package func noteAfterEnd() {}
    /// Whom it asks first; what it does is counted for that host. `nil` where that is left to its
    /// parts.
    package var origin: Origin? { nil }

    package final var isCancelled: Bool { life.withLock { $0.cycle.isCancelled } }
    package final var isPaused: Bool { life.withLock { $0.cycle.state == .paused } }
    package final var isFinal: Bool { life.withLock { $0.cycle.isFinal } }

    /// Brings what is part of this transfer in line with it. Of two verbs at once the later one
    /// counts: so it is looked at again when they have been told.
    final func align(_ parts: [Transfer]) {
        var isDone = false
        while !isDone {
            let isPaused = isPaused
            for part in parts {
                if isPaused { part.pause() } else { part.resume() }
            }
            isDone = isPaused == self.isPaused
        }
    }

    /// Another activity begins. Says so where the caller can see it.
    package final func become(_ state: TransferState, reason: ErrorReason? = nil, quiet: Bool = false)
    {
        let visible = life.withLock { $0.cycle.become(state) }
        if visible && !quiet { emit(.state(state, reason: reason)) }
    }

    /// Shows a state that the subclass has decided, pauses included. Says so unless `quiet`.
    package final func show(
        _ state: TransferState, reason: ErrorReason? = nil, quiet: Bool = false
    ) {
        let isNew = life.withLock { $0.cycle.show(state) }
        if isNew { client.activity.look(at: self) }
        if isNew && !quiet { emit(.state(state, reason: reason)) }
    }

    /// Tells an event, unless the end has come. No lock is held while it is told.
    package final func emit(_ event: TransferEvent) {
        let isWanted = life.withLock { life in
            guard !life.cycle.isFinal else { return false }
            life.telling += 1
            return true
        }
        guard isWanted else { return }
        if kind == .download, case .state(.waiting, .some) = event {
            client.counters.count(origin) { $0.retried += 1 }
        }
        if client.isWatched { note(event) }
        observer.transfer(self, did: event)
        let outcome = life.withLock { life -> TransferOutcome? in
            life.telling -= 1
            guard life.telling == 0, let outcome = life.outcome else { return nil }
            life.outcome = nil
            return outcome
        }
        if let outcome { tellEnd(outcome) }
    }

    /// The end: the one final event, after every other. Later calls change nothing.
    package final func finish(_ outcome: TransferOutcome) {
        let mayTell = life.withLock { life in
            guard life.cycle.finish(outcome.state) else { return false }
            guard life.telling > 0 else { return true }
            life.outcome = outcome
            return false
        }
        if mayTell { tellEnd(outcome) }
    }

    private func tellEnd(_ outcome: TransferOutcome) {
        noteEnd(outcome)
        client.activity.look(at: self)
        if client.log.isOn(.debug) { noteAfterEnd() }
        observer.transfer(self, did: .done(outcome))
        client.pool.remove(self, outcome.state)
    }

    package final func fail(_ error: WherryError, response: Response? = nil) {
        finish(TransferOutcome(response: response, error: error))
    }

    package static var cancelledError: WherryError {
        WherryError(.cancelled, "The transfer was cancelled")
    }
}
