// Wherry: one client of the agent.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A connection as the agent sees it: what came and is not whole, what is to go and has not gone.
struct AgentGuest {
    /// More bytes than these wait for nobody: who does not read is told only of the present state
    /// of what changes, and later.
    private static let mostWaiting = 1 << 20

    let socket: LocalSocket
    /// When it is put out unless a whole question has come.
    var deadline: Instant
    var reader = AgentFrames.Reader()
    private var outgoing: [UInt8] = []
    private var sent = 0
    /// Is told of every change.
    var follows = false
    /// Its question is being worked on.
    var waits = false
    /// Goes when all has been sent.
    var isEnding = false
    /// What is to be told when there is room.
    private enum Due {
        case job(String)
        case ok
    }
    private var due: [Due] = []
    private var dueJobs: Set<String> = []

    init(_ socket: LocalSocket, deadline: Instant) {
        self.socket = socket
        self.deadline = deadline
    }

    /// Whether something is to be sent.
    var hasWork: Bool { sent < outgoing.count || !due.isEmpty }
    /// Whether nothing is expected of it but its next question.
    var isIdle: Bool { !follows && !waits && !isEnding }

    /// Adds a message; one that cannot be printed is left out.
    mutating func put(_ reply: AgentReply) {
        guard let frame = try? AgentFrames.frame(reply.json) else { return }
        if sent > 0 {
            outgoing.removeFirst(sent)
            sent = 0
        }
        outgoing += frame
    }

    /// Tells of a job's present state, now or when there is room.
    mutating func tell(_ id: String) {
        guard dueJobs.insert(id).inserted else { return }
        due.append(.job(id))
    }

    /// Says that all was told that was asked for, after that.
    mutating func tellOK() { due.append(.ok) }

    /// Sends what goes.
    ///
    /// - Parameter look: the present state of a job; `nil` if it is gone.
    /// - Returns: false if the other end is.
    mutating func send(_ look: (String) -> BackgroundJob?) -> Bool {
        while hasWork {
            while !due.isEmpty, outgoing.count - sent < Self.mostWaiting {
                switch due.removeFirst() {
                case .ok: put(.ok)
                case .job(let id):
                    dueJobs.remove(id)
                    put(look(id).map { .job($0) } ?? .gone(id: id))
                }
            }
            switch socket.send(outgoing, from: sent) {
            case .moved(let count): sent += count
            case .wait: return true
            case .closed: return false
            }
            if sent == outgoing.count {
                outgoing.removeAll(keepingCapacity: outgoing.capacity < 65_536)
                sent = 0
            }
        }
        return true
    }
}
