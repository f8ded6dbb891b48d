// Wherry: a request that several callers share.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A running request and the callers that wait for its response. Observes the request for all of
/// them.
final class Flight: TransferObserver {
    /// True, since the activity count includes the callers instead.
    var isPart: Bool { true }
    private let table: FlightTable

    init(_ table: FlightTable) { self.table = table }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .done(let outcome):
            for member in table.land(self) { member.landed(outcome) }
        case .state(let state, let reason):
            // Each caller pauses and resumes separately.
            guard state == .waiting || state == .running else { return }
            for member in table.members(of: self) { member.become(state, reason: reason) }
        case .progress:
            for member in table.members(of: self) { member.emit(event) }
        case .decision:
            // One response serves all callers.
            table.members(of: self).first?.emit(event)
        case .head, .cached, .body, .wantBody, .image: break
        }
    }

    /// Called when the request is sent, perhaps after a wait.
    func goesOn() {
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
final class FlightTable: Sendable {
    private struct Crew {
        let key: FlightKey
        let leader: RequestTransfer
        var members: [SharedTransfer]
    }

    private struct State {
        /// The requests that more callers may join.
        var open: [FlightKey: Flight] = [:]
        var crews: [ObjectIdentifier: Crew] = [:]
    }
    private let state = Lock(State())

    /// The request that a caller joined: a running one, or its own.
    struct Boarding {
        let flight: Flight
        let leader: RequestTransfer
        /// Whether the caller must start the request.
        let isFirst: Bool
    }

    /// Joins an equal request, or registers the caller's own.
    func join(
        _ member: SharedTransfer, _ key: FlightKey, own flight: Flight, _ leader: RequestTransfer
    ) -> Boarding {
        state.withLock { state in
            if let other = state.open[key], let crew = state.crews[ObjectIdentifier(other)] {
                state.crews[ObjectIdentifier(other)]?.members.append(member)
                return Boarding(flight: other, leader: crew.leader, isFirst: false)
            }
            state.open[key] = flight
            state.crews[ObjectIdentifier(flight)] = Crew(
                key: key, leader: leader, members: [member])
            return Boarding(flight: flight, leader: leader, isFirst: true)
        }
    }

    /// The effect of a caller leaving.
    enum Leaving {
        /// None: the request had ended, or the caller had already left.
        case nothing
        case others
        /// The last caller left: it stays until the request has ended, and no other caller may
        /// join.
        case last
    }

    func leave(_ member: SharedTransfer, _ flight: Flight) -> Leaving {
        state.withLock { state in
            let id = ObjectIdentifier(flight)
            guard let crew = state.crews[id],
                let place = crew.members.firstIndex(where: { $0 === member })
            else { return .nothing }
            if crew.members.count > 1 {
                state.crews[id]?.members.remove(at: place)
                return .others
            }
            if state.open[crew.key] === flight { state.open[crew.key] = nil }
            return .last
        }
    }

    /// Handles the end of the request. Returns and releases the waiting callers.
    func land(_ flight: Flight) -> [SharedTransfer] {
        state.withLock { state in
            guard let crew = state.crews.removeValue(forKey: ObjectIdentifier(flight)) else {
                return []
            }
            if state.open[crew.key] === flight { state.open[crew.key] = nil }
            return crew.members
        }
    }

    func members(of flight: Flight) -> [SharedTransfer] {
        state.withLock { $0.crews[ObjectIdentifier(flight)]?.members ?? [] }
    }
}
