// Wherry: the transfer of one caller of a shared request.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// A transfer that shares the response of an equal request, or sends the request for others too
/// (R33). Its caller sees an ordinary transfer with separate events, end and timeout.
package final class SharedTransfer: Transfer, @unchecked Sendable {  // guarded by `part`
    private struct Part {
        /// The transfer that sends the request: its own until an equal one is found.
        var leader: RequestTransfer
        /// The shared request; `nil` before the start.
        var shared: SharedRequest?
        var wasCancelled = false
        /// The error of the last caller to leave, reported when the request has ended.
        var farewell: WherryError?
    }
    private let part: Lock<Part>
    private let key: SharedRequestKey
    private let own: SharedRequest

    init(
        _ request: Request, _ key: SharedRequestKey, _ own: SharedRequest,
        _ leader: RequestTransfer,
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
        let joined = client.sharedRequests.join(self, key, own: own, leader)
        let wasCancelled = part.withLock { part in
            part.leader = joined.leader
            part.shared = joined.shared
            return part.wasCancelled
        }
        become(.running, quiet: true)
        if deadline != .never {
            client.transport.schedule(at: deadline) { [weak self] in self?.runOut() }
        }
        if joined.isFirst {
            joined.leader.begin(wake: wake)
        } else {
            note(
                .info, .started,
                [.everybody("Request shares the response of \(joined.leader.shortDescription)")])
        }
        // Applies a cancel or pause that arrived before the request was started.
        if wasCancelled { leave(Self.cancelledError) }
        joined.shared.align(joined.leader)
    }

    /// Handles the end of the request.
    func leaderDidFinish(_ outcome: TransferOutcome) {
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
                "The transfer with \(origin?.text ?? url) reached its total timeout"))
    }

    /// Ends the transfer of this caller. The last caller to leave cancels the request and ends with
    /// it.
    private func leave(_ error: WherryError) {
        let (shared, leader) = part.withLock { ($0.shared, $0.leader) }
        guard let shared else { return }
        switch client.sharedRequests.leave(self, shared) {
        case .nothing: break
        case .others:
            finish(TransferOutcome(error: error))
            shared.align(leader)
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
        let (shared, leader) = part.withLock { ($0.shared, $0.leader) }
        shared?.align(leader)
    }
}

extension Client {
    /// Creates a transfer that shares a response; `nil` if the request cannot be shared.
    func makeShared(
        _ request: Request, settings: ClientSettings, options: OptionTable,
        observer: any TransferObserver, userData: UInt
    ) throws(WherryError) -> SharedTransfer? {
        let shared = SharedRequest(sharedRequests)
        // The timeout applies to each caller separately.
        var sent = request
        sent.set(.totalTimeout, 0)
        let leader = try makeRequest(sent, settings: settings, observer: shared)
        guard let key = try SharedRequestKey.of(leader) else { return nil }
        return SharedTransfer(
            request, key, shared, leader, options: options, observer: observer, userData: userData)
    }
}
