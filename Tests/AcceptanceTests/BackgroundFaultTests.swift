// Wherry: acceptance tests of background jobs on a failing disk, and of their times
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestServer
import Testing
import Wherry
import WherryCore
import WherrySystem

extension BackgroundBench {
    /// Prevents a job's record from being written, as a full disk does.
    fileprivate func obstruct(_ id: String) throws {
        try FileManager.default.createDirectory(
            atPath: state + "/jobs/\(id).job.new", withIntermediateDirectories: false)
    }

    fileprivate func unblock(_ id: String) throws {
        try FileManager.default.removeItem(atPath: state + "/jobs/\(id).job.new")
    }

    fileprivate func upload(_ query: String) async throws -> String {
        var request = Request(scope.url("/sink?" + query), method: "POST")
        request.body = .bytes(Bytes(Array(Contents.v1)), contentType: "application/x-test")
        return try await session.upload(request)
    }
}

@Suite struct BackgroundFaultTests {
    @Test("U17 an upload whose end cannot be saved at once is saved later and sent only once")
    func unwrittenEnd() async throws {
        try await withBackground { bench in
            let id = try await bench.upload("gate=go")
            try await bench.scope.wait("requests=1")
            try bench.obstruct(id)
            try bench.scope.open(gate: "go")
            #expect(try await bench.session.end(of: id).state == .done)
            try bench.unblock(id)

            try await bench.wait("the agent has left") { try !bench.hasAgent }

            let job = try #require(try await bench.session.job(id))
            #expect(job.state == .done)
            #expect(job.response?.status == 200)
            #expect(try bench.scope.requests().count == 1)
        }
    }

    @Test(
        "U17 an upload whose end could not be saved before kill -9 of the agent is not sent again")
    func lostEnd() async throws {
        try await withBackground { bench in
            let id = try await bench.upload("gate=go")
            try await bench.scope.wait("requests=1")
            try bench.obstruct(id)
            // Not even in the file next to the record.
            try FileManager.default.createDirectory(
                atPath: bench.state + "/jobs/\(id).end", withIntermediateDirectories: false)
            try bench.scope.open(gate: "go")
            #expect(try await bench.session.end(of: id).state == .done)
            try await bench.killAgent()
            try bench.unblock(id)
            try FileManager.default.removeItem(atPath: bench.state + "/jobs/\(id).end")

            let job = try await bench.session.end(of: id)

            #expect(job.state == .failed)
            #expect(job.error?.reason == "interrupted")
            try await bench.wait("the agent has left") { try !bench.hasAgent }
            #expect(try bench.scope.requests().count == 1)
        }
    }

    @Test("D14 an agent whose folder was removed finishes its jobs and exits")
    func removedFolder() async throws {
        let bench = try BackgroundBench()
        _ = try await bench.session.download(bench.url("hold=10&gate=go"), to: bench.path)
        try await bench.scope.wait("requests=1")
        let agent = try #require(bench.agent)
        try FileManager.default.removeItem(atPath: bench.state)
        try bench.scope.open(gate: "go")
        try await bench.wait("the agent has left") {
            let words = FileManager.default.contents(atPath: "/proc/\(agent)/cmdline")
            return words?.isEmpty ?? true
        }
        #expect(try bench.folder.contents("a.bin") == Contents.v1)
        #expect(!FileManager.default.fileExists(atPath: bench.state))
    }

    @Test("D14 DR15 a job deferred by the server keeps its time after its agent's death")
    func dueTime() async throws {
        try await withBackground { bench in
            let id = try await bench.session.download(
                bench.url("status_first=503&status_times=1&retry_after=3600"), to: bench.path)
            var due: Double?
            for try await job in bench.session.follow(id) where job.state == .waiting {
                due = job.retryAt
                if due != nil { break }
            }
            #expect(try bench.scope.requests().count == 1)
            try await bench.killAgent()

            let job = try #require(try await bench.session.job(id))

            #expect(job.state == .waiting)
            #expect(job.retryAt == due)
            #expect(try bench.hasAgent)
            #expect(try bench.scope.requests().count == 1)
            // Retries at once when requested.
            try await bench.session.resume(id)
            #expect(try await bench.session.end(of: id).state == .done)
            #expect(try bench.folder.contents("a.bin") == Contents.v1)
        }
    }

    @Test("U17 the program is killed with its process group, and its upload arrives complete, once")
    func outliving() async throws {
        try await withBackground { bench in
            let file = bench.folder.file("body.bin")
            try Contents.v1.write(to: URL(fileURLWithPath: file))
            let (child, output) = try bench.start(
                ["upload", bench.scope.url("/sink?stall=1&gate=go"), file])
            let id = try #require(output.fileHandleForReading.readLine())
            #expect(BackgroundJob.isID(id), "\(id)")
            kill(-child.processIdentifier, SIGKILL)
            child.waitUntilExit()
            try FileManager.default.removeItem(atPath: file)
            try await bench.scope.wait("requests=1")

            try bench.scope.open(gate: "go")
            let end = try await bench.session.end(of: id)

            #expect(end.state == .done)
            let told = try #require(end.response?.body.text)
            #expect(told.contains(Hex.encode(Contents.digest(Contents.v1).value)), "\(told)")
            #expect(try bench.scope.requests().count == 1)
        }
    }

    @Test("U17 kill -9 of the agent: the next one sends the upload again from its start")
    func killed() async throws {
        try await withBackground { bench in
            let id = try await bench.upload("stall=1&gate=go")
            try await bench.scope.wait("requests=1")
            try await bench.killAgent()

            #expect(try await bench.session.job(id) != nil)
            try await bench.scope.wait("requests=2")
            try bench.scope.open(gate: "go")
            let end = try await bench.session.end(of: id)

            #expect(end.state == .done)
            let told = try #require(end.response?.body.text)
            #expect(told.contains(Hex.encode(Contents.digest(Contents.v1).value)), "\(told)")
            let names = try FileManager.default.contentsOfDirectory(atPath: bench.state + "/jobs")
            #expect(names == [id + ".job"])
        }
    }
}
