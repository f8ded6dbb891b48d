// Wherry: a client connection of the agent.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherrySystem

/// A connection from the agent's point of view: incomplete input and unsent output.
struct AgentGuest {
    /// The output buffer limit. Above this limit, a slow client receives only the latest state of
    /// each job, once there is room.
    private static let mostWaiting = 1 << 20

    let socket: LocalSocket
    /// The time at which the agent drops the guest unless it has sent a complete request.
    var deadline: Instant
    var reader = AgentFrames.Reader()
    private var outgoing: [UInt8] = []
    private var sent = 0
    /// Whether the guest receives every change.
    var follows = false
    /// Whether the guest's request is being processed.
    var waits = false
    /// Whether to disconnect the guest once all output is sent.
    var isEnding = false
    /// A message to write once the buffer has room.
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

    /// Whether any output is pending.
    var hasWork: Bool { sent < outgoing.count || !due.isEmpty }
    /// Whether the guest has yet to send its request.
    var isIdle: Bool { !follows && !waits && !isEnding }

    /// Appends a message to the output. Drops a message that cannot be serialized.
    mutating func put(_ reply: AgentReply) {
        guard let frame = try? AgentFrames.frame(reply.json) else { return }
        if sent > 0 {
            outgoing.removeFirst(sent)
            sent = 0
        }
        outgoing += frame
    }

    /// Schedules a message with the current state of a job.
    mutating func tell(_ id: String) {
        guard dueJobs.insert(id).inserted else { return }
        due.append(.job(id))
    }

    /// Schedules ``AgentReply/ok`` after the messages scheduled so far.
    mutating func tellOK() { due.append(.ok) }

    /// Sends as much pending output as the socket accepts.
    ///
    /// - Parameter look: Returns the current state of a job, or `nil` if the job no longer exists.
    /// - Returns: `false` if the client disconnected.
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
