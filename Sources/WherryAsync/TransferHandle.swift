// Wherry: handles of running transfers.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging
import WherrySystem

/// A running request, upload or download, with its progress and result.
///
/// Releasing the handle does not affect the transfer.
public final class TransferHandle<Value: Sendable>: Sendable {
    /// The underlying transfer.
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

    /// The result. Waits until the transfer has ended; every reader receives the same result.
    ///
    /// Cancelling a waiting task cancels the transfer.
    public var value: Value {
        get async throws(WherryError) { try result(await events.end(of: transfer)) }
    }

    /// Progress updates from now on, coalesced per iteration of the network loop, at most ten per
    /// second. Ends after the final update. Supports several readers.
    public var progress: ProgressSequence { ProgressSequence(events: events) }

    /// All state changes since the start, ending with the final state. Supports several readers.
    public var states: StateSequence { StateSequence(events: events) }

    /// The stored response of a request with ``/WherryCache/CachePolicy/thenNetwork``, as soon as it
    /// is available; ``value`` is the network response. `nil` if the transfer ends without one.
    public var cached: Response? { get async { await events.cached() } }

    /// The previews of an image load whose request has
    /// ``/WherryRequests/Request/imagePreviews``, from now on. A preview that was not read is replaced
    /// by the next one. Ends before ``value`` is available. Supports several readers.
    public var previews: PreviewSequence { PreviewSequence(events: events) }

    /// The current results of an upload's images, in the order of adding. While a single form is
    /// being encoded, contains the images encoded so far, in the order of completion.
    public var images: [ImageOutcome] {
        let known = transfer.images
        return known.isEmpty ? events.images : known
    }

    /// The state of the transfer.
    public var state: TransferState { transfer.state }

    /// Returns a description: several lines with kind, URL, parameters and state, or the short form
    /// "<Request: 12>". Secrets are omitted.
    public func describe(inFull: Bool = true) -> String { transfer.describe(inFull: inFull) }

    /// Pauses the transfer until ``resume()``. No effect if already paused.
    public func pause() { transfer.pause() }
    /// Resumes the transfer after a pause.
    public func resume() { transfer.resume() }
    /// Cancels the transfer, which fails with `cancelled` unless it has ended. Keeps a resumable
    /// partial file.
    public func cancel() { transfer.cancel() }
    /// Cancels the transfer and deletes its partial file, even one from an earlier run.
    public func discard() { transfer.discard() }

    /// Changes the priority. A request waiting for a connection, or a queued download, moves behind
    /// those of the same priority. No effect on a running one.
    ///
    /// For a group, the priority applies to the running members; for a chain, to the current step.
    /// Requests that share a response also share the priority.
    ///
    /// - Throws: `bad_value` unless it is -100...100.
    public func setPriority(_ priority: Int) throws(WherryError) {
        try transfer.setPriority(Int64(priority))
    }
}

/// The progress of a transfer. The sequence ends when the transfer or the reading task ends.
public struct ProgressSequence: AsyncSequence, Sendable {
    public typealias Element = WherryHTTP.Progress
    public typealias Failure = Never

    let events: TransferEvents

    /// Creates an independent reader.
    public func makeAsyncIterator() -> Iterator { Iterator(events: events) }

    /// Iterates over the updates.
    public struct Iterator: AsyncIteratorProtocol {
        let events: TransferEvents
        private var seen = 0

        init(events: TransferEvents) { self.events = events }

        /// Returns the latest unread update; `nil` at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            guard let (progress, count) = await events.progress(after: seen) else { return nil }
            seen = count
            return progress
        }
    }
}

/// The past and future states of a transfer.
public struct StateSequence: AsyncSequence, Sendable {
    /// A state, with its reason if there is one, such as "changed" for `restarted`.
    public struct Element: Sendable, Hashable {
        /// The new state.
        public let state: TransferState
        /// An error reason.
        public let reason: String?
    }
    public typealias Failure = Never

    let events: TransferEvents

    /// Creates an independent reader.
    public func makeAsyncIterator() -> Iterator { Iterator(events: events) }

    /// Iterates over the states.
    public struct Iterator: AsyncIteratorProtocol {
        let events: TransferEvents
        private var seen = 0

        init(events: TransferEvents) { self.events = events }

        /// Returns the next state; `nil` after the final one.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            guard let element = await events.state(after: seen) else { return nil }
            seen += 1
            return element
        }
    }
}

/// Observes the transfer of a handle.
final class TransferEvents: TransferObserver {
    private struct State: Sendable {
        var progress = WherryHTTP.Progress()
        var progressCount = 0
        var states: [StateSequence.Element] = []
        var images: [ImageOutcome] = []
        var cached: Response?
        /// The newest preview, until the end.
        var preview: DecodedPreview?
        var previewCount = 0
        var outcome: TransferOutcome?
    }
    /// The maximum number of states kept for late readers, in case a transfer is paused again and
    /// again.
    private static let mostStates = 1000
    private let monitor = AsyncMonitor(State())
    private let runner: HookRunner?

    init(_ hooks: Hooks?) {
        runner = hooks.map { HookRunner($0) }
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
        case .hook(let call):
            runner?.run(call)
        case .done(let outcome):
            add(StateSequence.Element(state: outcome.state, reason: outcome.error?.reason))
            monitor.update { state in
                state.preview = nil
                state.outcome = outcome
            }
            runner?.stop()
        case .preview(let preview):
            monitor.update { state in
                state.preview = preview
                state.previewCount += 1
            }
        case .cached(let response):
            monitor.update { $0.cached = response }
        case .headers, .body, .wantBody: break
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
        // The task stays cancelled, so its waits return at once: another task awaits the end.
        return await Task { await monitor.wait { $0.outcome } }.value
            ?? TransferOutcome(error: Transfer.cancelledError)
    }

    func progress(after count: Int) async -> (WherryHTTP.Progress, Int)? {
        let step = await monitor.wait { state -> (WherryHTTP.Progress, Int)?? in
            if state.progressCount > count { return (state.progress, state.progressCount) }
            return state.outcome == nil ? nil : .some(nil)
        }
        return step ?? nil
    }

    func preview(after count: Int) async -> (DecodedPreview, Int)? {
        let step = await monitor.wait { state -> (DecodedPreview, Int)?? in
            if let preview = state.preview, state.previewCount > count {
                return (preview, state.previewCount)
            }
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
