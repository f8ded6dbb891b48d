// Wherry: acceptance tests of uploads whose agent is killed at any moment
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct BackgroundKillTests {
    // 13 of 40 uploads arrived twice after a kill, and the server could not detect the duplicates.
    //
    // The limit: after n kills, an upload has arrived at most n + 1 times, each time with the same
    // key, and never again once the agent had recorded the status of a 2xx response.
    @Test(
        "U17 an upload whose agent is killed around the response arrives again only as documented")
    func killedAtAnyMoment() async throws {
        try await withBackground(autostart: false) { bench in
            var random = SystemRandomNumberGenerator()
            for _ in 0..<loops(300) {
                try bench.scope.reset()
                let kills = Int.random(in: 1...2, using: &random)
                // The headers arrive after 3 ms, and the body in chunks of 20 bytes each 2 ms.
                let id = try await bench.session.upload(
                    bench.uploadRequest("delay_ms=3&drip=20&interval_ms=2"))
                var arrivalsAtResponse: Int?
                for kill in 1...kills where arrivalsAtResponse == nil {
                    try await bench.scope.wait("requests=\(kill)")
                    // Anywhere from the first byte of the request to after the end of the response.
                    let moment =
                        ContinuousClock.now
                        + .microseconds(
                            Int.random(in: 0...20_000, using: &random))
                    while ContinuousClock.now < moment { await Task.yield() }
                    try await bench.killAgent()
                    let hasResponse = access(bench.file(id, "end"), F_OK) == 0
                    let isOver = (try? JobState(bench.file(id, "job")))?.isFinal == true
                    if hasResponse || isOver {
                        arrivalsAtResponse = try bench.scope.requests().count
                    }
                    try await bench.session.resume(id)
                }
                let job = try await bench.session.end(of: id)

                let requests = try bench.scope.requests()
                #expect(requests.count <= kills + 1)
                if let arrivalsAtResponse { #expect(requests.count == arrivalsAtResponse) }
                #expect(Set(requests.map { $0.header("idempotency-key") }) == ["\"\(id)\""])
                let isDone = job.state == .done && job.response?.status == 200
                #expect(isDone || job.error?.reason == "interrupted", "\(job.describe())")
                try await bench.session.acknowledge(id)
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: bench.state + "/jobs")
            #expect(names.allSatisfy { $0.hasSuffix(".new") }, "\(names)")
        }
    }

    // The loser of a concurrent start waited 2.05 s for the lock that the winner held.
    @Test("D14 programs that start an agent at the same time all get a reply from one agent")
    func concurrentStart() async throws {
        for _ in 0..<loops(50) {
            try await withBackground { bench in
                let urls = (0..<6).map { bench.url("n=\($0)", size: 1000) }
                let state = bench.state
                let ids = try await withThrowingTaskGroup(of: String.self) { group in
                    for (index, url) in urls.enumerated() {
                        let path = bench.folder.file("\(index)")
                        group.addTask {
                            let session = try BackgroundBench.open(state)
                            return try await session.download(url, to: path)
                        }
                    }
                    return try await group.reduce(into: [String]()) { $0.append($1) }
                }
                #expect(Set(ids).count == urls.count)
                for id in ids { #expect(try await bench.session.end(of: id).state == .done) }
                // On a busy machine, an agent may have exited before the last program asked for one.
                // No two may run at the same time.
                let log = try String(contentsOfFile: bench.state + "/log", encoding: .utf8)
                let lives = log.split(separator: "\n").compactMap { line in
                    line.hasSuffix("started")
                        ? true : line.contains("the agent stopped") ? false : nil
                }
                #expect(lives == lives.indices.map { $0.isMultiple(of: 2) }, "\(log)")
            }
        }
    }

    // It waited 2.05 s for the dead agent's lock.
    @Test("D14 listing after the death of an agent needs no other agent")
    func listAfterDeath() async throws {
        try await withBackground(autostart: false) { bench in
            let id = try await bench.session.download(
                bench.url("hold=400000&gate=go"), to: bench.path)
            try await bench.wait(forBytes: 1, of: id)
            try await bench.killAgent()
            // A session that cannot start an agent can still list.
            let other = try BackgroundBench.open(bench.state, autostart: false) {
                $0.agentPath = "/nowhere/wherry-agent"
            }
            #expect(try await other.jobs().map(\.state) == [.interrupted])
            #expect(try !bench.hasAgent)
            try bench.scope.open(gate: "go")
        }
    }
}
