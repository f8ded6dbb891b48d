// Wherry: an agent on a test thread, and a fake agent
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryBackground
import WherryCore
@testable import WherrySystem

/// A session's folder, an agent in this process whose clock the test moves, and requests over its
/// socket.
final class AgentBench {
    let path: String
    let folder: StateFolder
    let clock = ManualClock()
    private let signal: (read: File, write: File)
    private var thread: NativeThread?

    /// - Parameter parent: an absolute path of an existing folder.
    init(in parent: String = NSTemporaryDirectory()) throws {
        path = (parent.hasSuffix("/") ? parent : parent + "/") + "wherry-agent-" + UUID().uuidString
        folder = try StateFolder.open(path)
        signal = try DetachedProgram.pipe()
    }

    deinit {
        if thread != nil { leave() }
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Starts the agent, and returns when it has reported that it accepts clients.
    ///
    /// - Parameters:
    ///   - idle: the idle time before it exits, in nanoseconds of the bench's clock.
    ///   - ready: called at that moment.
    func begin(idle: Int64 = 5_000_000_000, ready: @escaping @Sendable () -> Void = {}) throws {
        let lock = try #require(try folder.lock())
        let isReady = Monitor(false)
        thread = try NativeThread(name: "agent") { [folder, clock, signal] in
            do {
                let agent = try Agent(
                    folder, lock: lock, idle: idle, autostart: true, clock: clock,
                    signals: signal.read)
                try agent.run {
                    ready()
                    isReady.update { $0 = true }
                }
            } catch {
                Issue.record("the agent cannot be: \(error)")
                isReady.update { $0 = true }
            }
        }
        _ = isReady.wait { $0 ? true : nil }
    }

    /// Asks the agent to exit, and waits until it has.
    func leave() {
        DetachedProgram.write([1], to: signal.write)
        wait()
    }

    /// Until the agent has exited.
    func wait() {
        thread?.join()
        thread = nil
    }

    /// Connects and sends a message; the replies are read from the link.
    func ask(_ request: AgentRequest) throws -> AgentLink {
        try AgentLink.opened(folder, asking: request)
    }

    /// A record whose request is refused at once, and not retried.
    static func refused(_ number: Int) throws -> JobRecord {
        var record = try AgentRun.record(number, url: "http://127.0.0.1:1/\(number)")
        record.request?.options[.maxRetries] = 0
        record.request?.client.texts[.proxy] = ""
        record.job.path = NSTemporaryDirectory() + "wherry-refused-\(UUID().uuidString)"
        return record
    }

    /// Prevents a record from being written, as a full disk does.
    func obstruct(_ id: String) throws {
        try FileManager.default.createDirectory(
            atPath: path + "/jobs/\(id).job.new", withIntermediateDirectories: false)
    }

    func unblock(_ id: String) throws {
        try FileManager.default.removeItem(atPath: path + "/jobs/\(id).job.new")
    }
}

extension AgentLink {
    private struct NobodyListens: Error {}

    /// Connects and sends a message.
    static func opened(_ folder: StateFolder, asking request: AgentRequest) throws -> AgentLink {
        guard var link = try AgentLink(folder), try link.send(request, until: .never) else {
            throw NobodyListens()
        }
        return link
    }

    /// The next message; `nil` at the end of the connection.
    mutating func word() throws -> AgentReply? {
        switch try next(until: .never) {
        case .reply(let reply): return reply
        case .closed: return nil
        case .timeout, .interrupted:
            Issue.record("a wait without end has ended")
            return nil
        }
    }

    /// Every message until the end of the connection.
    mutating func words() throws -> [AgentReply] {
        var words: [AgentReply] = []
        while let word = try word() { words.append(word) }
        return words
    }
}

/// Holds a session's lock and its socket, and handles clients as a test requires.
final class FalseAgent: Sendable {
    private let thread: NativeThread
    private let isOver = Monitor(false)
    private let wake: EventFD

    /// - Parameter meet: called for each client with its message; the socket is closed when
    ///   nothing holds it any more.
    init(
        _ folder: StateFolder, _ meet: @escaping @Sendable (LocalSocket, AgentRequest?) -> Void
    ) throws {
        let lock = try #require(try folder.lock())
        let listener = try LocalSocket.listen(StateFolder.socketName, in: folder.directory)
        let wake = try EventFD()
        self.wake = wake
        thread = try NativeThread(name: "no agent") { [isOver] in
            while !isOver.withLock({ $0 }) {
                var items = [Poll.Item(listener.descriptor), Poll.Item(wake.descriptor)]
                Poll.wait(&items, nanoseconds: nil)
                while let socket = listener.accept() { meet(socket, Self.request(socket)) }
            }
            _ = try? folder.directory.remove(StateFolder.socketName)
            withExtendedLifetime(lock) {}
        }
    }

    /// Exits, and returns when the lock is free.
    func leave() {
        isOver.update { $0 = true }
        wake.signal()
        thread.join()
    }

    private static func request(_ socket: LocalSocket) -> AgentRequest? {
        var reader = AgentFrames.Reader()
        while true {
            if let json = try? reader.next() { return AgentRequest(json) }
            var items = [Poll.Item(socket.descriptor)]
            Poll.wait(&items, nanoseconds: nil)
            if socket.receive(into: &reader.bytes) == .closed { return nil }
        }
    }
}

extension LocalSocket {
    /// Sends a message as an agent does. A client that is slow to start may have closed the connection
    /// meanwhile, and asks again; tests check what it receives.
    func say(_ reply: AgentReply) throws {
        let frame = try AgentFrames.frame(reply.json)
        let sent = send(frame, from: 0)
        guard sent == .moved(frame.count) || sent == .closed else {
            throw SystemError(EIO, "send", path: StateFolder.socketName)
        }
    }
}
