// Wherry: the agent with a full disk, many jobs, and many clients
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestServer
import WherryCore
import WherryHTTP
@testable import WherryBackground
@testable import WherrySystem

@Suite(.timeLimit(.minutes(10))) struct AgentTests {
    @Test("D14 an end that cannot be written is kept until it can, and the agent stays for it")
    func fullDisk() throws {
        let bench = try AgentBench()
        let record = try AgentBench.refused(1)
        try bench.folder.save(record)
        try bench.obstruct(record.job.id)
        try bench.begin(idle: 0)
        var news = try bench.ask(.follow)
        while let word = try news.word() {
            if case .job(let job) = word, job.isFinal { break }
        }
        #expect(bench.folder.record(record.job.id)?.job.state == .queued)
        var request = try bench.ask(.list)
        let seen = try request.words().compactMap { word -> TransferState? in
            if case .job(let job) = word { job.state } else { nil }
        }
        #expect(seen == [.failed])

        try bench.unblock(record.job.id)
        // All clients have gone, and then it exits at once.
        _ = consume news
        _ = consume request
        bench.clock.advance(by: .milliseconds(61_000))
        bench.wait()

        #expect(bench.folder.record(record.job.id)?.job.state == .failed)
    }

    @Test("D14 the program that starts the agent gets its reply before a record is written")
    func ready() throws {
        let bench = try AgentBench()
        for number in 1...40 { try bench.folder.save(try AgentBench.refused(number)) }
        let path = bench.path + "/jobs/"
        @Sendable func numbers() -> [String: UInt64] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
            var numbers: [String: UInt64] = [:]
            for name in names {
                let facts = try? FileManager.default.attributesOfItem(atPath: path + name)
                numbers[name] = facts?[.systemFileNumber] as? UInt64
            }
            return numbers
        }
        let before = numbers()
        #expect(before.count == 40)
        let found = Monitor([String: UInt64]())

        try bench.begin { found.update { $0 = numbers() } }

        #expect(found.withLock { $0 } == before)
        bench.leave()
    }

    @Test("D14 commands have a slot despite many followers, and excess followers get an error")
    func followers() throws {
        let bench = try AgentBench()
        try bench.folder.save(try AgentBench.refused(1))
        try bench.begin()
        var sockets: [LocalSocket] = []
        for _ in 0..<Agent.mostFollowing {
            let socket = try #require(
                try LocalSocket.connect(StateFolder.socketName, in: bench.folder.directory))
            let frame = try AgentFrames.frame(AgentRequest.follow.json)
            #expect(socket.send(frame, from: 0) == .moved(frame.count))
            // It got a reply, so it has its slot.
            var items = [Poll.Item(socket.descriptor)]
            Poll.wait(&items, nanoseconds: nil)
            sockets.append(socket)
        }

        var request = try bench.ask(.list)
        let words = try request.words()
        #expect(words.last == .ok)
        #expect(words.count == 2)
        var another = try bench.ask(.follow)
        guard case .failed(let failure)? = try another.word() else {
            Issue.record("one too many follows")
            return
        }
        #expect(failure.reason == .busy)
        // A released slot can be used again.
        sockets.removeLast()
        var last = try bench.ask(.follow)
        while case .job? = try last.word() {}
        withExtendedLifetime(sockets) {}
        bench.leave()
    }

    @Test(
        "D14 a start whose second write fails gets one reply, and the job exists",
        .enabled(if: SmallDisk.isPossible, "needs root and mount"))
    func secondWrite() throws {
        let disk = try #require(SmallDisk("nr_inodes=40"))
        let bench = try AgentBench(in: disk.path)
        // There is space for one record, and not for a second.
        try bench.begin()
        var keeper = try bench.ask(.follow)
        #expect(try keeper.word() == .ok)
        var dummies = 0
        while FileManager.default.createFile(atPath: disk.path + "/\(dummies)", contents: nil) {
            dummies += 1
        }
        try FileManager.default.removeItem(atPath: disk.path + "/0")
        let record = try AgentBench.refused(1)

        var link = try bench.ask(.start(record))

        #expect(try link.words() == [.ok])
        var states: [TransferState] = []
        while states.last?.isFinal != true, let word = try keeper.word() {
            if case .job(let job) = word { states.append(job.state) }
        }
        #expect(states.last == .failed)
        #expect(bench.folder.record(record.job.id)?.job.state == .queued)
        try FileManager.default.removeItem(atPath: disk.path + "/1")
        // Asked to exit, it retries once more.
        bench.leave()
        #expect(bench.folder.record(record.job.id)?.job.state == .failed)
    }
}
