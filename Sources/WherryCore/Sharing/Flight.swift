// Wherry: one request that several callers share.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// One request on its way, and who waits for its answer. Hears of the request for all of them.
final class Flight: TransferObserver {
    /// Counted are those who share it.
    var isPart: Bool { true }
    private let table: FlightTable

    init(_ table: FlightTable) { self.table = table }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .done(let outcome):
            for member in table.land(self) { member.landed(outcome) }
        case .state(let state, let reason):
            // Each is paused and resumed by itself.
            guard state == .waiting || state == .running else { return }
            for member in table.members(of: self) { member.become(state, reason: reason) }
        case .progress:
            for member in table.members(of: self) { member.emit(event) }
        case .decision:
            // One program responds for all.
            table.members(of: self).first?.emit(event)
        case .head, .cached, .body, .wantBody, .image: break
        }
    }

    /// The request is being sent, also after a wait.
    func goesOn() {
        for member in table.members(of: self) { member.become(.running, quiet: true) }
    }

    /// Has the request stand still while all who share it are paused. Of two verbs at once the later
    /// one counts: so it is looked at again.
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

/// The requests of a client that can be shared, while they are on their way.
final class FlightTable: Sendable {
    private struct Crew {
        let key: FlightKey
        let leader: RequestTransfer
        var members: [SharedTransfer]
    }

    private struct State {
        /// Those that may be joined.
        var open: [FlightKey: Flight] = [:]
        var crews: [ObjectIdentifier: Crew] = [:]
    }
    private let state = Lock(State())

    /// What a caller takes part in: an equal request on its way, or else its own.
    struct Boarding {
        let flight: Flight
        let leader: RequestTransfer
        /// Nobody has sent it yet.
        let isFirst: Bool
    }

    /// Joins an equal request, or opens one of one's own.
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

    /// What is left when somebody has left.
    enum Leaving {
        /// It had ended, or he had left before.
        case nothing
        case others
        /// He was the last: he stays until it has ended, and nobody joins any more.
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

    /// It has ended: those who waited for it, who are let go of.
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
