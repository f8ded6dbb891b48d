// Wherry: acceptance tests of background jobs whose agent is killed
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct BackgroundCrashTests {
    @Test("DC-E06 kill -9 of the agent: the next observer starts another, and the file arrives")
    func killed() async throws {
        try await withBackground { bench in
            let id = try await bench.session.download(
                bench.url("hold=400000&gate=go"), to: bench.path)
            try await bench.wait(forBytes: 1, of: id)
            try await bench.killAgent()

            let seen = try #require(try await bench.session.job(id))

            #expect([.running, .queued, .waiting].contains(seen.state))
            #expect(try bench.hasAgent)
            try bench.scope.open(gate: "go")
            #expect(try await bench.session.end(of: id).state == .done)
            #expect(try bench.folder.contents("a.bin") == Contents.v1)
            #expect(try bench.folder.names == ["a.bin"])
        }
    }

    @Test("D14 without autostart the job is interrupted until a program resumes it")
    func manual() async throws {
        try await withBackground(autostart: false) { bench in
            let id = try await bench.session.download(
                bench.url("hold=400000&gate=go"), to: bench.path)
            try await bench.wait(forBytes: 1, of: id)
            try await bench.killAgent()

            let seen = try #require(try await bench.session.job(id))
            #expect(seen.state == .interrupted)
            #expect(try !bench.hasAgent)

            try bench.scope.open(gate: "go")
            try await bench.session.resume(id)
            #expect(try await bench.session.end(of: id).state == .done)
            #expect(try bench.folder.contents("a.bin") == Contents.v1)
        }
    }

    @Test("D14 a follower of a job learns its end, although its agent is killed meanwhile")
    func following() async throws {
        try await withBackground { bench in
            let id = try await bench.session.download(
                bench.url("hold=400000&gate=go"), to: bench.path)
            let session = bench.session
            async let end = session.end(of: id)
            try await bench.wait(forBytes: 1, of: id)
            try await bench.killAgent()
            try bench.scope.open(gate: "go")

            #expect(try await end.state == .done)
            #expect(try bench.folder.contents("a.bin") == Contents.v1)
        }
    }

    @Test("D14 repeated kill -9 of the agent at any point: the file is complete in the end")
    func loop() async throws {
        try await withBackground { bench in
            let size = 8_389_385
            // Slow, so that there is time to kill; the next request resumes at the last byte.
            let url = bench.url("rate=4000000", size: size)
            var id = try await bench.session.download(url, to: bench.path)
            for round in 0..<loops(200) {
                // Some at once, some after a part, at a different point each time.
                let more = Int64(round % 7) * 40_000
                for try await job in bench.session.follow(id) {
                    if job.isFinal || job.progress.wire >= more { break }
                }
                try await bench.killAgent()
                let job = try #require(try await bench.session.job(id))
                #expect(job.state != .cancelled)
                guard job.isFinal else { continue }
                // Kills that leave no progress end a job, as they should; and some jobs finish.
                if job.state == .failed { #expect(job.error?.reason == "interrupted") }
                try await bench.session.acknowledge(id)
                if job.state == .done {
                    #expect(
                        try bench.folder.contents("a.bin") == Contents.make(seed: 1, size: size))
                    try FileManager.default.removeItem(atPath: bench.path)
                }
                id = try await bench.session.download(url, to: bench.path)
            }
            var end = try await bench.session.end(of: id)
            if end.state == .failed {
                id = try await bench.session.download(url, to: bench.path)
                end = try await bench.session.end(of: id)
            }
            #expect(end.state == .done)
            #expect(try bench.folder.contents("a.bin") == Contents.make(seed: 1, size: size))
            #expect(try bench.folder.names == ["a.bin"])
        }
    }

    @Test("D2 resumable or not, in the foreground or the background: all four work")
    func matrix() async throws {
        for resumable in [true, false] {
            for background in [true, false] {
                try await withBackground { bench in
                    var request = Request(bench.url("cut=400000&times=1"))
                    request.resumes = resumable
                    request.maxRetries = 2
                    if background {
                        let id = try await bench.session.download(request, to: bench.path)
                        #expect(try await bench.session.end(of: id).state == .done)
                    } else {
                        let client = try makeClient(bench.scope) { $0.stallBytesPerSecond = 0 }
                        let end = try await client.download(request, to: bench.path).value
                        #expect(end.path == bench.path)
                    }
                    #expect(try bench.folder.contents("a.bin") == Contents.v1)
                    #expect(try bench.folder.names == ["a.bin"])
                    let requests = try bench.scope.requests()
                    #expect(requests.count == 2)
                    #expect(
                        requests.last?.header("range") == (resumable ? "bytes=400000-" : nil),
                        "resumable \(resumable), background \(background)")
                }
            }
        }
    }

    @Test("D2 a background download resumes the partial file of a foreground one")
    func handedOver() async throws {
        try await withBackground { bench in
            let client = try makeClient(bench.scope) { $0.stallBytesPerSecond = 0 }
            var request = Request(bench.url("cut=400000&times=1"))
            request.maxRetries = 0
            let broken = await failure { () throws(WherryError) in
                try await client.download(request, to: bench.path).value
            }
            #expect(broken?.reason == "truncated")

            let id = try await bench.session.download(request, to: bench.path)

            #expect(try await bench.session.end(of: id).state == .done)
            #expect(try bench.folder.contents("a.bin") == Contents.v1)
            #expect(try bench.scope.requests().last?.header("range") == "bytes=400000-")
        }
    }

    @Test("SEC-S3 garbage on the socket ends only its own connection")
    func noise() async throws {
        try await withBackground { bench in
            let id = try await bench.session.download(
                bench.url("hold=400000&gate=go"), to: bench.path)
            let folder = try Directory.open(bench.state)
            var generator = SystemRandomNumberGenerator()
            for round in 0..<loops(500) {
                // If too many connections wait for the agent, it refuses the next one.
                var found = try LocalSocket.connect("agent.sock", in: folder)
                for _ in 0..<1_000_000 where found == nil {
                    await Task.yield()
                    found = try LocalSocket.connect("agent.sock", in: folder)
                }
                let socket = try #require(found)
                #expect(socket.isPeerOurs)
                var bytes = (0..<Int.random(in: 1..<300)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                }
                // Half of them with a valid length.
                if round % 2 == 0 {
                    bytes = [0, 0, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
                }
                _ = socket.send(bytes, from: 0)
            }
            // The agent is still there and works.
            #expect(try await bench.session.job(id)?.state == .running)
            try bench.scope.open(gate: "go")
            #expect(try await bench.session.end(of: id).state == .done)
        }
    }

    @Test("D14 a session without an agent reports that, and supports what needs no agent")
    func withoutAgent() async throws {
        try await withBackground(autostart: false) { bench in
            let id = try await bench.session.download(
                bench.url("hold=400000&gate=go"), to: bench.path)
            try await bench.wait(forBytes: 1, of: id)
            try await bench.killAgent()
            let session = try BackgroundBench.open(bench.state, autostart: false) {
                $0.agentPath = "/nowhere/wherry-agent"
            }

            let start = await failure { () throws(WherryError) in
                try await session.download(bench.url(), to: bench.folder.file("b.bin"))
            }
            #expect(start?.reason == "no_agent")
            let resume = await failure { () throws(WherryError) in try session.resume(id) }
            #expect(resume?.reason == "no_agent")
            #expect(try await session.job(id)?.state == .interrupted)
            try await session.cancel(id)
            #expect(try bench.folder.names.isEmpty)
            try await session.acknowledge(id)
            #expect(try await session.jobs().isEmpty)
            try bench.scope.open(gate: "go")
        }
    }
}
