// Wherry: passing an upload to an agent that does not reply
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherryCore
import WherryHTTP
import WherryRequests
@testable import WherryBackground
@testable import WherrySystem

@Suite(.timeLimit(.minutes(5))) struct HandingOverTests {
    private let path = NSTemporaryDirectory() + "wherry-hand-" + UUID().uuidString
    private let folder: StateFolder

    init() throws { folder = try StateFolder.open(path) }

    private func clean() { try? FileManager.default.removeItem(atPath: path) }

    /// A session that finds no agent to start.
    private func session(patience: Int64 = .milliseconds(30_000)) throws -> BackgroundSession {
        var configuration = Client.Configuration()
        configuration.values.texts[.stateDirectory] = path
        configuration.values.texts[.agentPath] = "/nowhere/wherry-agent"
        return try BackgroundSession("tests", configuration, patience: patience)
    }

    private var request: Request {
        var request = Request("http://127.0.0.1:1/", method: "POST")
        request.body = .bytes(Bytes(Array("a body".utf8)), contentType: "text/plain")
        return request
    }

    private func error(_ body: () throws -> Void) -> WherryError? {
        do { try body() } catch { return error as? WherryError }
        return nil
    }

    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path + "/jobs")) ?? []).sorted()
    }

    @Test("U17 an accepted upload exists although the reply never arrived")
    func taken() throws {
        defer { clean() }
        let agent = try FalseAgent(folder) { [folder] _, request in
            // It saves the record, and exits before its reply.
            if case .start(let record)? = request { try? folder.save(record) }
        }

        let id = try session().upload(request)

        #expect(names == [StateFolder.bodyName(id), id + ".job"])
        agent.leave()
    }

    @Test("U17 the body is kept while a silent agent may still accept it")
    func open() throws {
        defer { clean() }
        let kept = Monitor([LocalSocket]())
        let agent = try FalseAgent(folder) { socket, _ in kept.update { $0.append(socket) } }

        let word = error { _ = try session(patience: .milliseconds(50)).upload(request) }

        #expect(word?.reason == "timeout")
        #expect(names.count == 1)
        #expect(names.first?.hasSuffix(".body") == true)
        // The path by which the job is found.
        #expect(word?.message.contains(names.first?.dropLast(5) ?? "?") == true)
        agent.leave()
    }

    @Test("U17 the body is deleted if the agent refuses the upload")
    func refused() throws {
        defer { clean() }
        let agent = try FalseAgent(folder) { socket, _ in
            try? socket.say(.failed(JobFailure(WherryError(.tooLarge, "too many"))))
        }

        let word = error { _ = try session().upload(request) }

        #expect(word?.reason == "too_large")
        #expect(names.isEmpty)
        agent.leave()
    }

    @Test("U17 the body is deleted if there is no agent")
    func alone() throws {
        defer { clean() }

        let word = error { _ = try session().upload(request) }

        #expect(word?.reason == "no_agent")
        #expect(names.isEmpty)
    }
}
