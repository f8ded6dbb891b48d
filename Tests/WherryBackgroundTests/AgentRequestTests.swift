// Wherry: requests to the agent that used to take seconds
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherryCore
import WherryHTTP
@testable import WherryBackground
@testable import WherrySystem

@Suite(.timeLimit(.minutes(5))) struct AgentRequestTests {
    private func session(_ bench: AgentBench) throws -> BackgroundSession {
        var configuration = Client.Configuration()
        configuration.values.texts[.stateDirectory] = bench.path
        configuration.values.texts[.agentPath] = "/nowhere/wherry-agent"
        // Longer than the test may take: waiting for this fails the test.
        return try BackgroundSession("tests", configuration, patience: .milliseconds(3_600_000))
    }

    private func reason(_ body: () throws -> Void) -> String? {
        do { try body() } catch { return (error as? WherryError)?.reason }
        return nil
    }

    // The agent closed the connection after such an id, and the caller retried for 30 s.
    @Test("D14 an unknown job id fails at once, with and without an agent")
    func malformedIDs() throws {
        let bench = try AgentBench()
        let session = try session(bench)
        for hasAgent in [false, true] {
            if hasAgent { try bench.begin() }
            for id in [
                "", "x", "../../etc/passwd", String(repeating: "F", count: 32),
                String(repeating: "0", count: 32), String(repeating: "é", count: 100_000),
            ] {
                #expect(reason { try session.pause(id) } == "not_found")
                #expect(reason { try session.resume(id) } == "not_found")
                #expect(reason { try session.cancel(id) } == "not_found")
                #expect(reason { try session.acknowledge(id) } == "not_found")
                #expect(try session.job(id) == nil)
                #expect(reason { _ = try session.follow(id) { _ in false } } == "not_found")
            }
        }
        bench.leave()
    }

    @Test("D14 a request of another version gets a reply, not only a closed connection")
    func otherVersion() throws {
        let bench = try AgentBench()
        try bench.begin()
        let socket = try #require(
            try LocalSocket.connect(StateFolder.socketName, in: bench.folder.directory))
        let frame = try AgentFrames.frame(["version": .integer(99), "verb": .string("list")])
        #expect(socket.send(frame, from: 0) == .moved(frame.count))

        var reader = AgentFrames.Reader()
        var reply: AgentReply?
        while reply == nil {
            reply = try reader.next().flatMap { AgentReply($0) }
            var items = [Poll.Item(socket.descriptor)]
            if reply == nil { Poll.wait(&items, nanoseconds: nil) }
            if reply == nil, socket.receive(into: &reader.bytes) == .closed { break }
        }

        guard case .failed(let failure)? = reply else {
            Issue.record("\(String(describing: reply))")
            return
        }
        #expect(failure.reason == .badProtocol)
        bench.leave()
    }

    // Each of them kept its slot for ten seconds. The clock of this agent stands still, so a list
    // that waits for slots never gets a reply.
    @Test("D14 300 silent connections do not delay a list")
    func idleConnections() throws {
        let bench = try AgentBench()
        try bench.folder.save(try AgentBench.refused(1))
        try bench.begin()
        var silent: [LocalSocket] = []
        for _ in 0..<300 {
            // If the queue of the socket is full, the agent has not accepted them yet.
            var socket: LocalSocket?
            while socket == nil {
                socket = try LocalSocket.connect(StateFolder.socketName, in: bench.folder.directory)
            }
            if let socket { silent.append(socket) }
        }

        let jobs = try session(bench).jobs()

        #expect(jobs.count == 1)
        #expect(silent.count == 300)
        bench.leave()
    }

    // It waited two seconds for the lock, which the winner keeps for its lifetime.
    @Test("D14 an agent that finds another one alive exits without waiting for the lock")
    func secondAgent() throws {
        let bench = try AgentBench()
        try bench.begin()
        #expect(bench.folder.hasListener)

        // The only way to end: waiting for the lock alone would take an hour.
        let lock = try bench.folder.lock(
            within: .milliseconds(3_600_000), unless: { bench.folder.hasListener })

        #expect(lock == nil)
        bench.leave()
        #expect(!bench.folder.hasListener)
        #expect(try bench.folder.lock(within: 0) != nil)
    }
}
