// Wherry: a request that several callers share.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A running request and the callers that wait for its response. Observes the request for all of
/// them.
final class SharedRequest: TransferObserver {
    /// True, since the activity count includes the callers instead.
    var isPart: Bool { true }
    private let table: SharedRequestTable

    init(_ table: SharedRequestTable) { self.table = table }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .done(let outcome):
            for member in table.finish(self) { member.leaderDidFinish(outcome) }
        case .state(let state, let reason):
            // Each caller pauses and resumes separately.
            guard state == .waiting || state == .running else { return }
            for member in table.members(of: self) { member.become(state, reason: reason) }
        case .progress:
            for member in table.members(of: self) { member.emit(event) }
        case .hook:
            // One response serves all callers.
            table.members(of: self).first?.emit(event)
        case .headers, .cached, .body, .wantBody, .image, .preview: break
        }
    }

    /// Called when the request is sent, perhaps after a wait.
    func didSend() {
        for member in table.members(of: self) { member.become(.running, quiet: true) }
    }

    /// Pauses the request while all callers are paused. Checks again afterwards, so that the later
    /// of two concurrent calls wins.
    func align(_ leader: RequestTransfer) {
        var isDone = false
        while !isDone {
            let isPaused = arePaused
            if isPaused { leader.pause() } else { leader.resume() }
            isDone = isPaused == arePaused
        }
    }

    private var arePaused: Bool {
        let members = table.members(of: self)
        return !members.isEmpty && members.allSatisfy(\.isPaused)
    }
}

/// The running requests of a client that can be shared.
final class SharedRequestTable: Sendable {
    private struct Sharing {
        let key: SharedRequestKey
        let leader: RequestTransfer
        var members: [SharedTransfer]
    }

    private struct State {
        /// The requests that more callers may join.
        var open: [SharedRequestKey: SharedRequest] = [:]
        /// The callers of each running request.
        var sharings: [ObjectIdentifier: Sharing] = [:]
    }
    private let state = Lock(State())

    /// The request that a caller joined: a running one, or its own.
    struct Joined {
        let shared: SharedRequest
        let leader: RequestTransfer
        /// Whether the caller must start the request.
        let isFirst: Bool
    }

    /// Joins an equal request, or registers the caller's own.
    func join(
        _ member: SharedTransfer, _ key: SharedRequestKey, own shared: SharedRequest,
        _ leader: RequestTransfer
    ) -> Joined {
        state.withLock { state in
            if let other = state.open[key], let sharing = state.sharings[ObjectIdentifier(other)] {
                state.sharings[ObjectIdentifier(other)]?.members.append(member)
                return Joined(shared: other, leader: sharing.leader, isFirst: false)
            }
            state.open[key] = shared
            state.sharings[ObjectIdentifier(shared)] = Sharing(
                key: key, leader: leader, members: [member])
            return Joined(shared: shared, leader: leader, isFirst: true)
        }
    }

    /// The effect of a caller leaving.
    enum LeaveResult {
        /// None: the request had ended, or the caller had already left.
        case nothing
        case others
        /// The last caller left: it stays until the request has ended, and no other caller may
        /// join.
        case last
    }

    func leave(_ member: SharedTransfer, _ shared: SharedRequest) -> LeaveResult {
        state.withLock { state in
            let id = ObjectIdentifier(shared)
            guard let sharing = state.sharings[id],
                let place = sharing.members.firstIndex(where: { $0 === member })
            else { return .nothing }
            if sharing.members.count > 1 {
                state.sharings[id]?.members.remove(at: place)
                return .others
            }
            if state.open[sharing.key] === shared { state.open[sharing.key] = nil }
            return .last
        }
    }

    /// Handles the end of the request. Returns and releases the waiting callers.
    func finish(_ shared: SharedRequest) -> [SharedTransfer] {
        state.withLock { state in
            guard let sharing = state.sharings.removeValue(forKey: ObjectIdentifier(shared)) else {
                return []
            }
            if state.open[sharing.key] === shared { state.open[sharing.key] = nil }
            return sharing.members
        }
    }

    func members(of shared: SharedRequest) -> [SharedTransfer] {
        state.withLock { $0.sharings[ObjectIdentifier(shared)]?.members ?? [] }
    }
}
