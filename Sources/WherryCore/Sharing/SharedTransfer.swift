// Wherry: one caller's part in a request that several share.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A request that waits for the answer to an equal one, or sends it for others too (R33). To its
/// caller it is a transfer like any other, with its own events, its own end, and its own time.
package final class SharedTransfer: Transfer, @unchecked Sendable {  // guarded by `part`
    private struct Part {
        /// Who sends: its own request until another one is found.
        var leader: RequestTransfer
        /// What it takes part in, once it has begun.
        var flight: Flight?
        var wasCancelled = false
        /// Why it left as the last one, which ends with what it has left.
        var farewell: WherryError?
    }
    private let part: Lock<Part>
    private let key: FlightKey
    private let own: Flight

    init(
        _ request: Request, _ key: FlightKey, _ own: Flight, _ leader: RequestTransfer,
        options: OptionTable, observer: any TransferObserver, userData: UInt
    ) {
        self.key = key
        self.own = own
        part = Lock(Part(leader: leader))
        super.init(
            .request, request, client: leader.client, settings: leader.settings, options: options,
            observer: observer, userData: userData)
    }

    private var leader: RequestTransfer { part.withLock { $0.leader } }
    package override var method: String { leader.method }
    package override var url: String { leader.url }
    package override var origin: Origin? { leader.origin }
    package override var progress: Progress { leader.progress }

    package override func begin(wake: Wake) {
        let boarding = client.flights.join(self, key, own: own, leader)
        let wasCancelled = part.withLock { part in
            part.leader = boarding.leader
            part.flight = boarding.flight
            return part.wasCancelled
        }
        become(.running, quiet: true)
        if deadline != .never {
            client.transport.schedule(at: deadline) { [weak self] in self?.runOut() }
        }
        if boarding.isFirst {
            boarding.leader.begin(wake: wake)
        } else {
            note(
                .info, .started,
                [.everybody("Request shares the answer of \(boarding.leader.shortDescription)")])
        }
        // A verb that came before found nothing to act on.
        if wasCancelled { leave(Self.cancelledError) }
        boarding.flight.align(boarding.leader)
    }

    /// The request has ended.
    func landed(_ outcome: TransferOutcome) {
        let farewell = part.withLock { $0.farewell }
        if let farewell, outcome.state == .cancelled {
            return finish(TransferOutcome(error: farewell))
        }
        finish(outcome)
    }

    private func runOut() {
        leave(
            WherryError(
                .totalTimeout,
                "The transfer with \(origin?.text ?? url) was not over in the total time allowed"))
    }

    /// Ends for this caller alone; the last one ends the request, and with it.
    private func leave(_ error: WherryError) {
        let (flight, leader) = part.withLock { ($0.flight, $0.leader) }
        guard let flight else { return }
        switch client.flights.leave(self, flight) {
        case .nothing: break
        case .others:
            finish(TransferOutcome(error: error))
            flight.align(leader)
        case .last:
            part.withLock { $0.farewell = $0.farewell ?? error }
            leader.cancel()
        }
    }

    package override func performCancel(discarding: Bool) {
        part.withLock { $0.wasCancelled = true }
        leave(Self.cancelledError)
    }

    package override func applyPriority(_ priority: Int8) { leader.applyPriority(priority) }

    package override func applyPause() {
        let (flight, leader) = part.withLock { ($0.flight, $0.leader) }
        flight?.align(leader)
    }
}

extension Client {
    /// Makes a transfer that shares an answer; `nil` for a request that has to go alone.
    func makeShared(
        _ request: Request, settings: ClientSettings, options: OptionTable,
        observer: any TransferObserver, userData: UInt
    ) throws(WherryError) -> SharedTransfer? {
        let flight = Flight(flights)
        // Each caller has time of its own.
        var sent = request
        sent.set(.totalTimeout, 0)
        let leader = try makeRequest(sent, settings: settings, observer: flight)
        guard let key = try FlightKey.of(leader) else { return nil }
        return SharedTransfer(
            request, key, flight, leader, options: options, observer: observer, userData: userData)
    }
}
