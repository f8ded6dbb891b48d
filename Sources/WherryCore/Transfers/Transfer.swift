// Wherry: a transfer.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// A request, upload or download, created by a client. Its id is unique in the process.
/// Thread-safe.
public class Transfer: @unchecked Sendable {  // guarded by `life`, or the subclass's lock
    /// The kinds of transfers. The raw values are those of `wherry_transfer_kind`.
    public enum Kind: Int32, Sendable {
        case request = 1
        case upload = 2
        case download = 3
        /// Several requests that end as one; see ``RequestGroup``.
        case group = 4
    }

    /// The identifier of the transfer; unique in the process, never 0.
    public let id: UInt64
    /// The kind of the transfer.
    public let kind: Kind
    /// The request as the caller passed it.
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
        /// The number of events being reported now, by any thread.
        var telling = 0
        /// The outcome, if the transfer ended while an event was being reported; reported after
        /// that event.
        var outcome: TransferOutcome?
    }

    private static let lastID = Atomic<UInt64>(0)
    private let life = Lock(Life())
    /// Whether the pause has been logged.
    let wasToldSuspended = Atomic(false)
    /// The index in the client's pool, guarded by the pool's lock.
    var poolIndex = 0
    /// The index in the event queue of the observer, guarded by the queue's lock.
    var queueIndex = 0

    /// The jar of the client, or one of this transfer alone (``/WherryRequests/CookieHandling/isolated``).
    let cookieJar: CookieJar

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
        cookieJar =
            options.cookieHandling == .isolated
            ? CookieJar(clock: client.transport.clock) : client.cookies
        started = client.transport.clock.now()
        let total = options[.totalTimeout]
        deadline = total == 0 ? .never : started.advanced(by: .milliseconds(total))
    }

    /// The method as sent.
    public var method: String { request.effectiveMethod }
    /// The absolute URL of the current hop; for a download, its first URL. "?..." replaces a query,
    /// which may contain secrets.
    public var url: String { request.url }
    /// The absolute URL without parameters, for `TransferMatch.url`.
    package final var address: String {
        let base = try? settings.base(named: request.base)
        let url = try? RequestPlanner.target(request.url, base: base, options: options)
        return url?.text ?? request.url
    }
    /// The tag of the request.
    public var tag: String? { request.tag }
    /// The `userInfo` value of the request or the group.
    public var userInfo: (any Sendable)? { request.userInfo }
    /// The destination of a download; `nil` for other transfers.
    public var path: String? { nil }
    /// The current state.
    public var state: TransferState { life.withLock { $0.cycle.state } }
    /// The current progress; after the end, the final progress.
    public var progress: Progress { Progress() }
    /// Whether the transfer reports progress changes by ``TransferObserver/transfer(_:isMoving:)``.
    package var tellsMoves: Bool { false }
    /// The images of an upload in the order of adding, with their current outcomes. Empty while
    /// the images of a single form are being encoded, and for other transfers.
    public var images: [ImageOutcome] { [] }

    // MARK: Verbs

    /// Pauses the transfer. No effect if it is paused or has ended.
    ///
    /// A download's journal is durable when this call returns. The call waits for the disk, so do
    /// not call it from an observer.
    public func pause() {
        guard life.withLock({ $0.cycle.pause() }) else { return noteIdle("suspend") }
        applyPause()
        client.activity.look(at: self)
        emit(.state(.paused, reason: nil))
    }

    /// Resumes the transfer after a pause.
    public func resume() {
        let state = life.withLock { $0.cycle.resume() ? $0.cycle.state : nil }
        guard let state else { return noteIdle("resume") }
        applyPause()
        client.activity.look(at: self)
        emit(.state(state, reason: nil))
    }

    /// Ends the transfer with `cancelled`, unless it has ended. Keeps a partial file that can be
    /// resumed.
    public final func cancel() { cancel(discarding: false) }

    /// Cancels the transfer and deletes its partial file, even after the transfer has ended.
    public final func discard() { cancel(discarding: true) }

    /// Changes the priority, -100 to 100: of a request that waits for a connection, or of a
    /// download that waits for its turn. It is placed behind others of the same priority. No effect
    /// on a transfer that is running or has ended. Throws `bad_value` for other values.
    package final func setPriority(_ priority: Int64) throws(WherryError) {
        try Option.priority.check(priority, in: .request)
        applyPriority(Int8(clamping: priority))
    }

    private func cancel(discarding: Bool) {
        let first = life.withLock { $0.cycle.cancel() }
        if first || discarding { performCancel(discarding: discarding) }
    }

    // MARK: For subclasses

    /// Starts the transfer. Called once.
    ///
    /// - Parameter wake: The thread to use if no thread drives the transport.
    package func begin(wake: Wake) {}
    /// Applies the current value of ``isPaused``, which may have changed again.
    package func applyPause() {}
    /// Applies a new priority.
    package func applyPriority(_ priority: Int8) {}
    /// Cancels the work. `finish` must follow.
    package func performCancel(discarding: Bool) {}

    /// Writes the log records that follow the end.
    package func noteAfterEnd() {}
    /// The origin of the first URL, for the counters of that host; `nil` if the parts are counted
    /// instead.
    package var origin: Origin? { nil }

    package final var isCancelled: Bool { life.withLock { $0.cycle.isCancelled } }
    package final var isPaused: Bool { life.withLock { $0.cycle.state == .paused } }
    package final var isFinal: Bool { life.withLock { $0.cycle.isFinal } }

    /// Pauses or resumes the parts of this transfer like the transfer. Checks again afterwards, so
    /// that the later of two concurrent calls wins.
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

    /// Changes the state beneath a pause. Reports the new state if the caller can see it, unless
    /// `quiet`.
    package final func become(
        _ state: TransferState, reason: ErrorReason? = nil, quiet: Bool = false
    ) {
        let visible = life.withLock { $0.cycle.become(state) }
        if visible && !quiet { emit(.state(state, reason: reason)) }
    }

    /// Sets a state that the subclass has decided, including pauses. Reports it unless `quiet`.
    package final func show(
        _ state: TransferState, reason: ErrorReason? = nil, quiet: Bool = false
    ) {
        let isNew = life.withLock { $0.cycle.show(state) }
        if isNew { client.activity.look(at: self) }
        if isNew && !quiet { emit(.state(state, reason: reason)) }
    }

    /// Reports an event, unless the transfer has ended. Holds no lock while the observer runs.
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

    /// Ends the transfer. The final event is reported once, after all others. Later calls have no
    /// effect.
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

/// Receives the end of a transfer for a thread that waits for it.
package final class PerformWaiter: TransferObserver {
    private let outcome = Monitor<TransferOutcome?>(nil)

    package init() {}

    package func transfer(_ transfer: Transfer, did event: TransferEvent) {
        guard case .done(let outcome) = event else { return }
        self.outcome.update { $0 = outcome }
        // The event may come from a worker while the waiting thread sleeps in the transport.
        transfer.client.transport.lookAgain()
    }

    /// The waiting thread drives the transport.
    package var wake: Wake { .never }

    package var isDone: Bool { outcome.withLock { $0 != nil } }

    /// Waits for the end, for at most `timeout` nanoseconds of real time. Returns `nil` on timeout.
    package func wait(on client: Client, timeout: Int64?) -> TransferOutcome? {
        let start = SystemClock.shared.now()
        let transport = client.transport
        if transport.drive(until: { isDone }, timeout: timeout, returns: false), let done = take() {
            return done
        }
        let left = timeout.map { max(0, $0 - SystemClock.shared.now().since(start)) }
        return transport.standBy { outcome.wait(timeout: left) { $0 } }
    }

    private func take() -> TransferOutcome? { outcome.withLock { $0 } }
}
