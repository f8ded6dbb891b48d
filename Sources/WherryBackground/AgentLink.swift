// Wherry: a client's connection to the agent.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

/// A connection to the agent of a session. Carries one request.
struct AgentLink: ~Copyable {
    private let socket: LocalSocket
    private var reader = AgentFrames.Reader()

    /// Connects to the agent. Returns `nil` if no agent listens.
    init?(_ folder: StateFolder) throws(WherryError) {
        do {
            guard
                let socket = try LocalSocket.connect(StateFolder.socketName, in: folder.directory)
            else { return nil }
            guard socket.isPeerOurs else {
                throw WherryError(
                    .unsafeStateDirectory,
                    "Could not connect to the agent: a process of another user listens in \(folder.path). Use another state directory."
                )
            }
            self.socket = socket
        } catch let error as WherryError {
            throw error
        } catch let error as SystemError {
            throw WherryError(error)
        } catch {
            throw WherryError(.internal, "\(error)")
        }
    }

    /// The result of a wait.
    enum Step {
        case reply(AgentReply)
        /// The agent closed the connection.
        case closed
        case timeout
        /// The other descriptor is readable, and the agent has sent nothing more.
        case interrupted
    }

    /// Sends a request. Returns `false` if the agent closed the connection or the time ran out.
    mutating func send(_ request: AgentRequest, until end: Instant) throws(WherryError) -> Bool {
        let frame = try AgentFrames.frame(request.json)
        var offset = 0
        while offset < frame.count {
            switch socket.send(frame, from: offset) {
            case .moved(let count): offset += count
            case .closed: return false
            case .wait:
                let left = end.since(SystemClock.shared.now())
                guard left > 0 else { return false }
                var items = [Poll.Item(socket.descriptor, read: false, write: true)]
                Poll.wait(&items, nanoseconds: left)
            }
        }
        return true
    }

    /// Waits for the agent's next message.
    ///
    /// - Parameters:
    ///   - end: The deadline in real time. `.never` sets none.
    ///   - interrupt: A descriptor that ends the wait when it becomes readable.
    mutating func next(until end: Instant, interrupt: Int32? = nil) throws(WherryError) -> Step {
        while true {
            if let json = try reader.next() {
                guard let reply = AgentReply(json) else {
                    throw WherryError(
                        .badProtocol,
                        "Could not parse a message of the agent. Use the agent and the library from the same release."
                    )
                }
                return .reply(reply)
            }
            var items = [Poll.Item(socket.descriptor)]
            if let interrupt { items.append(Poll.Item(interrupt)) }
            let left = end.since(SystemClock.shared.now())
            guard end == .never || left > 0 else { return .timeout }
            Poll.wait(&items, nanoseconds: end == .never ? nil : left)
            // Read the agent's data first: a caller must not act on an outdated state.
            if items[0].canRead {
                if socket.receive(into: &reader.bytes) == .closed { return .closed }
            } else if items.count > 1, items[1].canRead {
                return .interrupted
            }
        }
    }
}
