// Wherry: a paged list that reports to an observer.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// A paged list for interfaces without async. An observer, such as a queue, receives the events of
/// its transfers. A loaded page is in the list before the observer receives the end of its
/// transfer.
package final class Pager: Sendable {
    /// The load to start.
    package enum Verb: Sendable {
        case refresh, next, previous
        case page(Int64)
    }

    private struct State {
        var paging: Paging
        var machine: PageMachine<JSON>?
        var transfer: Transfer?
        var tellsEvents = false
    }

    private let client: Client
    private let pattern: Request
    private let observer: any TransferObserver
    package let userData: UInt
    private let state: Lock<State>
    /// Held while the list changes and reports its events, so that events arrive in the order of
    /// the changes. Acquire it before `state`.
    private let order = Lock(())
    private let tell: @Sendable (PageEvent, Pager) -> Void

    /// - Parameter tell: Receives the events of the list, if `setTellsEvents` enables them.
    ///   The end of a load is reported before the end of its transfer. The callback must not call
    ///   the list.
    package init(
        _ client: Client, _ pattern: Request, _ paging: Paging, observer: any TransferObserver,
        userData: UInt, tell: @escaping @Sendable (PageEvent, Pager) -> Void
    ) {
        self.client = client
        self.tell = tell
        self.pattern = pattern
        self.observer = observer
        self.userData = userData
        state = Lock(State(paging: paging))
    }

    /// Changes the paging settings. Throws `wrong_state` after the first request.
    package func configure(
        _ change: (inout Paging) throws(WherryError) -> Void
    ) throws(WherryError) {
        try state.withLock { state throws(WherryError) in
            guard state.machine == nil else {
                throw WherryError(
                    .wrongState,
                    "The paging settings cannot change after the first load. Create a new pager.")
            }
            try change(&state.paging)
        }
    }

    /// Enables or disables the events of the list. Default: disabled.
    package func setTellsEvents(_ tells: Bool) { state.withLock { $0.tellsEvents = tells } }

    /// Changes the list and reports its events.
    private func change<Result, Failure>(
        _ body: (inout State, (PageEvent) -> Void) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try order.withLock { _ throws(Failure) in
            var events: [PageEvent] = []
            defer { for event in events { tell(event, self) } }
            return try state.withLock { state throws(Failure) in
                let isTold = state.tellsEvents
                return try body(&state) { if isTold { events.append($0) } }
            }
        }
    }

    /// Reads the list.
    package func look<Result>(
        _ body: (PageMachine<JSON>?) -> Result
    ) -> Result {
        state.withLock { body($0.machine) }
    }

    /// Starts to load a page. Returns `nil` if the page was in memory and no request is needed.
    ///
    /// - Throws: `last_page` after the last page, `busy` while a page is being loaded.
    package func start(
        _ verb: Verb, willBegin: (Transfer) -> Void = { _ in }
    ) throws(WherryError) -> Transfer? {
        let (step, paging) = try change { state, tell throws(WherryError) in
            (try Self.step(verb, &state, tell), state.paging)
        }
        switch step {
        case .done: return nil
        case .end: throw WherryError(.lastPage, "There is no page after this one")
        case .load(let load):
            do throws(WherryError) {
                let request = try paging.request(load, of: pattern)
                return try client.send(
                    request, observer: PagerObserver(self, load), userData: userData
                ) { transfer in
                    state.withLock { $0.transfer = transfer }
                    willBegin(transfer)
                }
            } catch {
                change { state, tell in
                    // The transfer never started, so it does not end.
                    state.transfer = nil
                    state.machine?.fail(load, error, tell)
                }
                throw error
            }
        }
    }

    private static func step(
        _ verb: Verb, _ state: inout State, _ tell: (PageEvent) -> Void
    ) throws(WherryError) -> PageMachine<JSON>.Step {
        if state.machine == nil {
            try state.paging.check()
            state.machine = PageMachine(state.paging)
        }
        switch verb {
        case .refresh: return try state.machine?.refresh(tell) ?? .end
        case .next: return try state.machine?.loadNext(tell) ?? .end
        case .previous: return try state.machine?.loadPrevious(tell) ?? .end
        case .page(let page): return try state.machine?.load(page, tell) ?? .end
        }
    }

    /// Cancels the current load. Returns `false` if there is none.
    @discardableResult
    package func cancel() -> Bool {
        let transfer = state.withLock { $0.transfer }
        transfer?.cancel()
        return transfer != nil
    }

    fileprivate var wake: Wake { observer.wake }

    fileprivate func willStart(_ transfer: Transfer) throws(WherryError) {
        try observer.willStart(transfer)
    }

    fileprivate func transfer(_ transfer: Transfer, did event: TransferEvent, _ load: PageLoad) {
        guard case .done(let outcome) = event else {
            return observer.transfer(transfer, did: event)
        }
        guard outcome.error == nil, let response = outcome.response else {
            return end(transfer, load, outcome, nil)
        }
        // Parsing JSON may take long, and this may be the network thread.
        client.workers.submit { [self] in
            do throws(WherryError) {
                end(transfer, load, outcome, try entries(of: response))
            } catch {
                end(transfer, load, TransferOutcome(response: response, error: error), nil)
            }
        }
    }

    /// Removes the last loaded page.
    ///
    /// - Throws: `wrong_state` if no page was loaded since the last load began.
    package func takeBack() throws(WherryError) {
        let isDone = change { state, _ in state.machine?.takeBack() ?? false }
        guard isDone else {
            throw WherryError(
                .wrongState,
                "No page was loaded that could be taken back since the last load began")
        }
    }

    private typealias Contents = (entries: [PageMachine<JSON>.Entry], signals: PageSignals)

    private func entries(of response: Response) throws(WherryError) -> Contents {
        let paging = state.withLock { $0.paging }
        let (elements, signals) = try paging.read(response)
        return (elements.map { PageMachine.Entry($0, key: paging.key(of: $0)) }, signals)
    }

    private func end(
        _ transfer: Transfer, _ load: PageLoad, _ outcome: TransferOutcome, _ contents: Contents?
    ) {
        change { state, tell in
            state.transfer = nil
            if let contents {
                state.machine?.succeed(
                    load, contents.entries, contents.signals, isOnTrial: true, tell)
            } else {
                let error =
                    outcome.error ?? WherryError(.internal, "A page ended without a response")
                state.machine?.fail(load, error, tell)
            }
        }
        observer.transfer(transfer, did: .done(outcome))
    }
}

extension Paging {
    /// Returns the key of an element; `nil` if it has no value at the key path.
    package func key(of element: JSON) -> ItemKey? {
        guard let key, let value = element.value(at: key), !value.isNull else { return nil }
        return ItemKey(value)
    }
}

/// Observes the transfer of one page.
private final class PagerObserver: TransferObserver {
    private let pager: Pager
    private let load: PageLoad

    init(_ pager: Pager, _ load: PageLoad) {
        self.pager = pager
        self.load = load
    }

    var wake: Wake { pager.wake }
    func willStart(_ transfer: Transfer) throws(WherryError) { try pager.willStart(transfer) }
    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        pager.transfer(transfer, did: event, load)
    }
}
