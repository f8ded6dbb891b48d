// Wherry: helpers for the acceptance tests of background sessions
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestServer
import Testing
import Wherry
import WherrySystem

/// A scope of the server, a folder for files, and a session with its own agent.
///
/// `close()` ends everything that it started: no agent outlives its test.
final class BackgroundBench {
    let scope: TestServer.Scope
    let folder: TemporaryFolder
    let session: BackgroundSession
    let state: String

    init(
        autostart: Bool = true, _ configure: (inout Client.Configuration) -> Void = { _ in }
    ) throws {
        scope = try TestServer.shared.scope()
        folder = try TemporaryFolder()
        state = folder.path + "-state"
        session = try Self.open(state, autostart: autostart, configure)
    }

    /// Opens the session again, as another program would.
    static func open(
        _ state: String, autostart: Bool = true,
        _ configure: (inout Client.Configuration) -> Void = { _ in }
    ) throws -> BackgroundSession {
        let agent = try BuiltProgram.path("wherry-agent")
        return try BackgroundSession("tests") {
            $0.proxy = ""
            $0.agentPath = agent
            $0.stateDirectory = state
            $0.agentIdleTime = .milliseconds(200)
            $0.resumesInterruptedJobs = autostart
            // Concurrent tests may keep every thread busy for long.
            $0.idleTimeout = .seconds(600)
            $0.firstByteTimeout = .seconds(600)
            $0.stallBytesPerSecond = 0
            configure(&$0)
        }
    }

    func url(_ query: String = "", size: Int = Contents.size) -> String {
        scope.url("/bytes/\(size)" + (query.isEmpty ? "" : "?" + query))
    }
    var path: String { folder.file("a.bin") }

    /// Until the condition holds. A request to the server, which also serves others, is the
    /// wait.
    func wait(_ what: String, until condition: () async throws -> Bool) async throws {
        let limit = ContinuousClock.now + .seconds(300)
        while ContinuousClock.now < limit {
            if try await condition() { return }
            try await scope.wait("requests=0")
        }
        Issue.record("never: \(what)")
    }

    /// Until this many bytes of a job have arrived.
    func wait(forBytes count: Int64, of id: String) async throws {
        for try await job in session.follow(id) {
            if job.progress.completed >= count || job.isFinal { return }
        }
    }

    /// Whether an agent is alive: it is as long as it holds its lock.
    var hasAgent: Bool {
        get throws {
            guard let folder = try? Directory.open(state),
                let lock = try? File.open("agent.lock", [.read, .write], in: folder)
            else { return false }
            return try lock.isLockedElsewhere()
        }
    }

    /// The most recent agent, according to its log.
    var agent: pid_t? {
        let text = try? String(contentsOfFile: state + "/log", encoding: .utf8)
        let line = (text ?? "").split(separator: "\n").last { $0.hasSuffix("started") }
        guard let start = line?.firstIndex(of: "["), let end = line?.firstIndex(of: "]") else {
            return nil
        }
        return line.flatMap { pid_t($0[$0.index(after: start)..<end]) }
    }

    /// Kills the agent that holds this bench's lock, and waits until it is dead. A follower may
    /// have started another by then, so the lock alone is not enough.
    func killAgent() async throws {
        guard try hasAgent, let agent else { return }
        kill(agent, SIGKILL)
        try await wait("the agent is dead") { try !hasAgent || kill(agent, 0) != 0 }
    }

    /// Ends every job, and returns when the agent has exited.
    func close() async throws {
        for job in try await session.jobs() {
            try await session.cancel(job.id)
            try await session.acknowledge(job.id)
        }
        try await wait("the agent has left") { try !hasAgent }
        try FileManager.default.removeItem(atPath: state)
    }

    /// Runs the program that uses the session from another process, and returns its output.
    func other(_ arguments: String...) throws -> String {
        let (child, output) = try start(arguments)
        child.waitUntilExit()
        return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    /// Starts that program.
    func start(_ arguments: [String]) throws -> (Process, Pipe) {
        let child = Process()
        child.executableURL = URL(fileURLWithPath: try BuiltProgram.path("BackgroundChild"))
        child.arguments = [try BuiltProgram.path("wherry-agent"), state] + arguments
        let output = Pipe()
        child.standardOutput = output
        try child.run()
        return (child, output)
    }
}

/// Runs a test with a bench, which is closed in any case.
func withBackground(
    autostart: Bool = true, _ body: (BackgroundBench) async throws -> Void
) async throws {
    let bench = try BackgroundBench(autostart: autostart)
    do {
        try await body(bench)
    } catch {
        try? await bench.close()
        throw error
    }
    try await bench.close()
}
