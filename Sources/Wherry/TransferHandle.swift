// Wherry: work that was started, to be watched and steered.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A request, upload or download on its way, with its progress and its end.
///
/// Letting go of the handle changes nothing: the work goes on.
public final class TransferHandle<Value: Sendable>: Sendable {
    /// What goes on: its id, state and snapshot of progress.
    public let transfer: Transfer
    private let events: TransferEvents
    private let result: @Sendable (TransferOutcome) throws(WherryError) -> Value

    init(
        _ transfer: Transfer, _ events: TransferEvents,
        _ result: @escaping @Sendable (TransferOutcome) throws(WherryError) -> Value
    ) {
        self.transfer = transfer
        self.events = events
        self.result = result
    }

    /// The result, when it has ended; every reader gets the same.
    ///
    /// Cancelling a task that waits here cancels the transfer.
    public var value: Value {
        get async throws(WherryError) { try result(await events.end(of: transfer)) }
    }

    /// How far it has come, from now on: the newest figures for each turn of the loop, at most ten
    /// times a second; the last ones, and then the end of the sequence. Any number may read.
    public var progress: ProgressSequence { ProgressSequence(events: events) }

    /// Every change of state from the start on, the final one last. Any number may read.
    public var states: StateSequence { StateSequence(events: events) }

    /// The stored answer, as soon as it is told: of a request with
    /// ``/WherryCore/CachePolicy/thenNetwork``, whose ``value`` is the fresh one. `nil` when the end
    /// comes and none was told.
    public var cached: Response? { get async { await events.cached() } }

    /// The pictures of an upload as they stand now, in the order of adding; while those of one form
    /// are being encoded, the ones that are, in the order of finishing.
    public var images: [ImageOutcome] {
        let known = transfer.images
        return known.isEmpty ? events.images : known
    }

    /// Where it stands.
    public var state: TransferState { transfer.state }

    /// Describes the transfer: on several lines with its kind, URL, parameters and state, or in short:
    /// "<Request: 12>". Without secrets.
    public func describe(inFull: Bool = true) -> String { transfer.describe(inFull: inFull) }

    /// Stops reading and sending; ``resume()`` goes on. Repeating it changes nothing.
    public func pause() { transfer.pause() }
    /// Goes on after a pause.
    public func resume() { transfer.resume() }
    /// Ends it with `cancelled`, unless it has ended. A resumable partial file is kept.
    public func cancel() { transfer.cancel() }
    /// Cancels it and deletes its partial file, also one that was kept before.
    public func discard() { transfer.discard() }

    /// Another priority, from now on: of what waits, a request for a connection and a download for its
    /// turn, it goes behind those that have it. What runs goes on as it is.
    ///
    /// Of a group it is that of its members under way, of a chain that of the present step; requests
    /// that share one answer share it too.
    ///
    /// - Throws: `bad_value` unless it is -100...100.
    public func setPriority(_ priority: Int) throws(WherryError) {
        try transfer.setPriority(Int64(priority))
    }
}

/// How far a transfer has come, step by step; ends with the transfer, or with its reader's task.
public struct ProgressSequence: AsyncSequence, Sendable {
    public typealias Element = WherryCore.Progress
    public typealias Failure = Never

    let events: TransferEvents

    /// Another reader, independent of the others.
    public func makeAsyncIterator() -> Iterator { Iterator(events: events) }

    /// Takes the newest figures in turn.
    public struct Iterator: AsyncIteratorProtocol {
        let events: TransferEvents
        private var seen = 0

        init(events: TransferEvents) { self.events = events }

        /// The newest figures that were not seen yet; `nil` at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            guard let (progress, count) = await events.progress(after: seen) else { return nil }
            seen = count
            return progress
        }
    }
}

/// The states that a transfer went through and goes through.
public struct StateSequence: AsyncSequence, Sendable {
    /// One state, with the word for why where there is one, such as "changed" for `restarted`.
    public struct Element: Sendable, Hashable {
        /// The state it came to.
        public let state: TransferState
        /// A word of the table of reasons.
        public let reason: String?
    }
    public typealias Failure = Never

    let events: TransferEvents

    /// Another reader, independent of the others.
    public func makeAsyncIterator() -> Iterator { Iterator(events: events) }

    /// Takes the states in turn.
    public struct Iterator: AsyncIteratorProtocol {
        let events: TransferEvents
        private var seen = 0

        init(events: TransferEvents) { self.events = events }

        /// The next state; `nil` after the final one.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            guard let element = await events.state(after: seen) else { return nil }
            seen += 1
            return element
        }
    }
}

/// What a handle hears of its transfer.
final class TransferEvents: TransferObserver {
    private struct State: Sendable {
        var progress = WherryCore.Progress()
        var progressCount = 0
        var states: [StateSequence.Element] = []
        var images: [ImageOutcome] = []
        var cached: Response?
        var outcome: TransferOutcome?
    }
    /// The states kept for those who read late; a transfer that is paused again and again has no
    /// more.
    private static let mostStates = 1000
    private let monitor = AsyncMonitor(State())
    private let responder: DecisionResponder?

    init(_ decisions: Decisions?) {
        responder = decisions.map { DecisionResponder($0) }
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .progress(let progress):
            monitor.update { state in
                state.progress = progress
                state.progressCount += 1
            }
        case .state(let state, let reason):
            add(StateSequence.Element(state: state, reason: reason?.rawValue))
        case .image(let image):
            monitor.update { $0.images.append(image) }
        case .decision(let decision):
            responder?.answer(decision)
        case .done(let outcome):
            add(StateSequence.Element(state: outcome.state, reason: outcome.error?.reason))
            monitor.update { $0.outcome = outcome }
            responder?.stop()
        case .cached(let response):
            monitor.update { $0.cached = response }
        case .head, .body, .wantBody: break
        }
    }

    private func add(_ element: StateSequence.Element) {
        monitor.update { state in
            if state.states.count < Self.mostStates || element.state.isFinal {
                state.states.append(element)
            }
        }
    }

    func end(of transfer: Transfer) async -> TransferOutcome {
        if let outcome = await monitor.wait(until: { $0.outcome }) { return outcome }
        transfer.cancel()
        // The task's mark stays, and its waits return at once: the end is awaited by another.
        return await Task { await monitor.wait { $0.outcome } }.value
            ?? TransferOutcome(error: Transfer.cancelledError)
    }

    func progress(after count: Int) async -> (WherryCore.Progress, Int)? {
        let step = await monitor.wait { state -> (WherryCore.Progress, Int)?? in
            if state.progressCount > count { return (state.progress, state.progressCount) }
            return state.outcome == nil ? nil : .some(nil)
        }
        return step ?? nil
    }

    func state(after count: Int) async -> StateSequence.Element? {
        let step = await monitor.wait { state -> StateSequence.Element?? in
            if state.states.count > count { return state.states[count] }
            return state.outcome == nil ? nil : .some(nil)
        }
        return step ?? nil
    }

    var images: [ImageOutcome] { monitor.withLock { $0.images } }

    func cached() async -> Response? {
        let found = await monitor.wait { state -> Response?? in
            if let cached = state.cached { return cached }
            return state.outcome == nil ? nil : .some(nil)
        }
        return found ?? nil
    }
}
