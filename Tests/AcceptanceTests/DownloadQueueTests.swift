// Wherry: acceptance tests of queued downloads
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct DownloadQueueTests {
    /// The file name in each request, in order.
    private func asked(_ bench: DownloadBench) throws -> [String] {
        try bench.scope.requests().map { request in
            String(request.target.split(separator: "=").last ?? "")
        }
    }

    /// Starts downloads whose responses end when the gate with their name opens.
    private func begin(
        _ bench: DownloadBench, _ names: [String],
        _ change: (inout Request, String) -> Void = { _, _ in }
    ) throws -> [(transfer: DownloadTransfer, watcher: DownloadWatcher)] {
        try names.map { name in
            let url = bench.url("hold=400000&gate=\(name)&name=\(name)")
            let (transfer, watcher) = try bench.client.begin(url, to: bench.folder.file(name)) {
                $0.tag = "all"
                change(&$0, name)
            }
            return (try #require(transfer as? DownloadTransfer), watcher)
        }
    }

    @Test("D25 downloads run up to the limit, the others wait by priority and start order")
    func order() async throws {
        let bench = try DownloadBench { $0.maxDownloads = 2 }
        let priorities = ["c": 5, "d": -5, "f": 5]
        let begun = try begin(bench, ["a", "b", "c", "d", "e", "f"]) { request, name in
            request.priority = priorities[name]
        }
        try await bench.scope.wait("requests=2")

        #expect(begun.map { $0.transfer.state == .queued } == (0..<6).map { $0 >= 2 })
        #expect(begun.map(\.transfer.place) == [nil, nil, 0, 3, 2, 1])
        #expect(begun[2].watcher.states.map(\.state) == [.queued])
        var order = ["a", "b"]
        for (name, next) in zip(["b", "a", "c", "f", "e", "d"], ["c", "f", "e", "d", nil, nil]) {
            try bench.scope.open(gate: name)
            if let next { order.append(next) }
            try await bench.scope.wait("requests=\(order.count)")
        }
        for (_, watcher) in begun { #expect(await watcher.end().error == nil) }

        // The first two have a connection each.
        let asked = try asked(bench)
        #expect(asked.prefix(2).sorted() == ["a", "b"] && asked.dropFirst(2) == order.dropFirst(2))
        #expect(try bench.scope.stats().peakRequests == 2)
        #expect(begun[2].watcher.states.map(\.state) == [.queued, .running])
        #expect(begun[0].watcher.states.isEmpty)
        #expect(try bench.folder.contents("d") == Contents.v1)
        #expect(begun.allSatisfy { $0.transfer.place == nil && $0.transfer.priority == nil })
    }

    @Test("D25 priority and position can change in the queue")
    func change() async throws {
        let bench = try DownloadBench { $0.maxDownloads = 1 }
        let begun = try begin(bench, ["a", "b", "c", "d", "e"])
        try await bench.scope.wait("requests=1")

        try begun[3].transfer.setPriority(7)
        begun[4].transfer.move(to: 1)
        #expect(throws: WherryError.self) { try begun[1].transfer.setPriority(101) }
        // A running download continues, and has no position.
        try begun[0].transfer.setPriority(-100)
        begun[0].transfer.move(to: 3)

        #expect(begun.map(\.transfer.place) == [nil, 2, 3, 0, 1])
        for name in ["a", "d", "e", "b", "c"] { try bench.scope.open(gate: name) }
        for (_, watcher) in begun { #expect(await watcher.end().error == nil) }
        #expect(try asked(bench) == ["a", "d", "e", "b", "c"])
    }

    @Test("D25 pausing starts the next download, and resuming queues again")
    func pause() async throws {
        let bench = try DownloadBench { $0.maxDownloads = 1 }
        let begun = try begin(bench, ["a", "b", "c"])
        let (a, b, c) = (begun[0].transfer, begun[1].transfer, begun[2].transfer)
        try await bench.wait(forBytes: 400_000, of: a)

        c.pause()
        a.pause()
        #expect([a.state, c.state] == [.paused, .paused])
        #expect(try bench.client.partial(of: bench.folder.file("a"))?.bytes == 400_000)
        try await bench.wait(forBytes: 400_000, of: b)
        #expect([a.place, c.place] == [0, 1])
        c.resume()
        a.resume()
        a.resume()
        #expect([a.state, c.state] == [.queued, .queued])
        #expect(try bench.scope.requests().count == 2)
        // A queued download that is paused and resumed keeps its position.
        c.pause()
        c.pause()
        #expect(c.state == .paused)
        c.resume()
        for name in ["a", "b", "c"] { try bench.scope.open(gate: name) }

        for (_, watcher) in begun { #expect(await watcher.end().error == nil) }
        #expect(try asked(bench) == ["a", "b", "a", "c"])
        #expect(
            begun[0].watcher.states.map(\.state) == [.paused, .queued, .running])
        #expect(
            begun[2].watcher.states.map(\.state)
                == [.queued, .paused, .queued, .paused, .queued, .running])
        #expect(try bench.scope.requests()[2].header("range") == "bytes=400000-")
        #expect(try bench.folder.names == ["a", "b", "c"])
    }

    @Test(
        "D25 a queued download is cancelled and discarded without a request",
        arguments: [false, true])
    func cancel(_ isPaused: Bool) async throws {
        let bench = try DownloadBench { $0.maxDownloads = 1 }
        // The partial files that an earlier run left of the second and third one.
        for name in ["b", "c"] {
            let end = try await bench.client.run(
                bench.url("cut=400000&of=\(name)"), to: bench.folder.file(name)
            ) { $0.maxRetries = 0 }
            #expect(end.reason == "truncated")
        }
        let begun = try begin(bench, ["a", "b", "c"]) { request, name in
            if name != "a" { request.partialOf = .anyURL }
        }
        try await bench.wait(forBytes: 1, of: begun[0].transfer)

        if isPaused { for entry in begun.dropFirst() { entry.transfer.pause() } }
        begun[1].transfer.cancel()
        begun[2].transfer.discard()

        for entry in begun.dropFirst() {
            #expect(await entry.watcher.end().error?.reason == "cancelled")
        }
        #expect(try bench.client.partial(of: bench.folder.file("b"))?.bytes == 400_000)
        #expect(try bench.client.partial(of: bench.folder.file("c")) == nil)
        #expect(try bench.scope.requests().count == 3)
        try bench.scope.open(gate: "a")
        #expect(await begun[0].watcher.end().error == nil)
    }

    @Test("D25 commands for all downloads, and closing the client, start no queued one")
    func all() async throws {
        let bench = try DownloadBench { $0.maxDownloads = 2 }
        let begun = try begin(bench, (0..<20).map { "f\($0)" })
        for entry in begun[..<2] { try await bench.wait(forBytes: 1, of: entry.transfer) }

        #expect(bench.client.pause(.tag("all")) == 20)
        #expect(begun.allSatisfy { $0.transfer.state == .paused })
        #expect(begun.map(\.transfer.place) == Array(0..<20))
        #expect(try bench.scope.requests().count == 2)
        #expect(bench.client.resume(.tag("all")) == 20)
        try await bench.scope.wait("requests=4")
        #expect(begun.map { $0.transfer.state == .queued } == (0..<20).map { $0 >= 2 })
        #expect(bench.client.cancel(.all) == 20)
        for (_, watcher) in begun { #expect(await watcher.end().error?.reason == "cancelled") }
        #expect(try bench.scope.requests().count == 4)

        let more = try begin(bench, ["g", "h", "i"])
        try await bench.scope.wait("requests=6")
        bench.client.close()
        for (_, watcher) in more { #expect(await watcher.end().error?.reason == "cancelled") }
        #expect(try bench.scope.requests().count == 6)
    }

    @Test("D25 raising the limit starts more downloads at once, and lowering it stops none")
    func live() async throws {
        let bench = try DownloadBench { $0.maxDownloads = 1 }
        let begun = try begin(bench, ["a", "b", "c", "d"])
        try await bench.scope.wait("requests=1")

        try bench.client.setMaxDownloads(3)
        try await bench.scope.wait("requests=3")
        try bench.client.setMaxDownloads(1)
        #expect(begun.count { $0.transfer.state == .running } == 3)
        for name in ["a", "b"] { try bench.scope.open(gate: name) }
        for entry in begun[..<2] { #expect(await entry.watcher.end().error == nil) }
        #expect(begun[3].transfer.state == .queued)
        try bench.client.setMaxDownloads(0)
        for name in ["c", "d"] { try bench.scope.open(gate: name) }
        for (_, watcher) in begun { #expect(await watcher.end().error == nil) }
        #expect(throws: WherryError.self) { try bench.client.setMaxDownloads(-1) }
    }

    @Test("D25 a failed download frees its slot, and one that waits for a retry does not")
    func failing() async throws {
        let bench = try DownloadBench { $0.maxDownloads = 1 }
        let (first, firstWatcher) = try bench.client.begin(
            bench.scope.url("/status/503?name=a"), to: bench.folder.file("a"))
        let (_, second) = try bench.client.begin(
            bench.scope.url("/status/404?name=b"), to: bench.folder.file("b"))
        let (_, third) = try bench.client.begin(
            bench.url("name=c"), to: bench.folder.file("c"))

        await firstWatcher.wait(for: .waiting)
        #expect(try asked(bench) == ["a"])
        first.cancel()

        #expect(await second.end().error?.httpStatus == 404)
        #expect(await third.end().error == nil)
        #expect(try asked(bench) == ["a", "b", "c"])
    }

    @Test("D25 threads that pause, resume, move, and cancel at once end each download once")
    func threads() async throws {
        let bench = try DownloadBench { $0.maxDownloads = 3 }
        let begun = try (0..<24).map { number in
            try bench.client.begin(
                bench.url("rate=4000000&name=\(number)", size: 200_000),
                to: bench.folder.file("\(number)")
            ) { $0.tag = "all" }
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<300 {
                        let (transfer, _) = begun[.random(in: 0..<24)]
                        switch Int.random(in: 0..<6) {
                        case 0: transfer.pause()
                        case 1, 2: transfer.resume()
                        case 3: (transfer as? DownloadTransfer)?.move(to: .random(in: 0..<24))
                        case 4:
                            try? (transfer as? DownloadTransfer)?.setPriority(.random(in: 0..<7))
                        default: if Bool.random() && Bool.random() { transfer.cancel() }
                        }
                    }
                }
            }
        }
        bench.client.resume(.tag("all"))

        for (transfer, watcher) in begun {
            let outcome = await watcher.end()
            #expect(outcome.error == nil || outcome.error?.reason == "cancelled")
            #expect(transfer.state.isFinal)
        }
        #expect(bench.client.count() == 0)
        // No slot was lost: as many downloads as before run at the same time.
        let more = try (0..<3).map { number in
            try bench.client.begin(
                bench.url("name=x\(number)&gate=end"), to: bench.folder.file("x\(number)"))
        }
        let requests = try bench.scope.requests().count
        try await bench.scope.wait("active=3")
        #expect(try bench.scope.requests().count >= requests)
        try bench.scope.open(gate: "end")
        for (_, watcher) in more { #expect(await watcher.end().error == nil) }
    }

    // MARK: D29

    @Test("D29 the total over a group never decreases and equals the files at the end")
    func group() async throws {
        let bench = try DownloadBench { $0.maxDownloads = 2 }
        let sizes = ["a": 500_000, "b": 600_000, "c": 700_000, "d": 800_000]
        let begun = try sizes.sorted(by: <).map { name, size in
            try bench.client.begin(
                bench.url(
                    "name=\(name)&cut=\(name == "c" ? 400_000 : 9_999_999)&times=1", size: size),
                to: bench.folder.file(name)
            ) {
                $0.tag = "group"
                $0.maxRetries = 0
            }
        }
        var last: Int64 = 0
        for (transfer, watcher) in begun {
            _ = await watcher.end()
            let sum = bench.client.progress(.tag("group"))
            #expect(sum.progress.completed >= last)
            #expect(sum.count == 4)
            last = sum.progress.completed
            withExtendedLifetime(transfer) {}
        }
        #expect(bench.client.wait(.tag("group")))
        var sum = bench.client.progress(.tag("group")).progress
        #expect(sum.completed == 500_000 + 600_000 + 400_000 + 800_000)
        #expect(sum.total == 2_600_000)
        #expect(bench.client.count(.tag("group")) == 0)

        // The group is finished: the next start begins another.
        let again = try await bench.client.run(
            bench.url("name=c&cut=400000&times=1", size: 700_000), to: bench.folder.file("c")
        ) { $0.tag = "group" }
        #expect(again.error == nil)
        #expect(bench.client.wait(.tag("group")))
        sum = bench.client.progress(.tag("group")).progress
        #expect(sum.completed == 700_000 && sum.total == 700_000)
    }

    // MARK: D28

    @Test("D28 the finished file has the server's time on request, also after a resume")
    func serverTime() async throws {
        let bench = try DownloadBench { $0.keepsServerTime = true }
        // 2024-01-01, as the server says.
        let changed = Date(timeIntervalSince1970: 1_704_067_200)
        func date(_ name: String) throws -> Date? {
            try FileManager.default.attributesOfItem(atPath: bench.folder.file(name))[
                .modificationDate]
                as? Date
        }

        _ = try await bench.runUntilCut()
        #expect(try await bench.run(bench.url("cut=400000&times=1")).error == nil)
        #expect(try date("a.bin") == changed)
        for (name, query, keeps) in [
            ("b", "", false), ("c", "lastmod=none", true), ("d", "lastmod=garbage", true),
            ("e", "lastmod=0", true), ("f", "lastmod=4102444800", true),
        ] {
            let end = try await bench.client.run(
                bench.url("of=\(name)&\(query)"), to: bench.folder.file(name)
            ) { $0.keepsServerTime = keeps }
            #expect(end.error == nil)
        }
        #expect(try date("e") == Date(timeIntervalSince1970: 0))
        #expect(try date("f") == Date(timeIntervalSince1970: 4_102_444_800))
        for name in ["b", "c", "d"] {
            let found = try #require(try date(name))
            #expect(
                found > Date.now.addingTimeInterval(-3600)
                    && found < Date.now.addingTimeInterval(3600))
        }
    }
}
