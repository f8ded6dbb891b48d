// Wherry: acceptance tests of pausing, resuming, and cancelling downloads
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

/// The state of a download when a command arrives.
enum Standing: String, CaseIterable, Sendable {
    case queued, running, waiting, paused, held, done, failed, cancelled
}

enum Verb: String, CaseIterable, Sendable {
    case pause, resume, cancel, discard

    func apply(to transfer: Transfer) {
        switch self {
        case .pause: transfer.pause()
        case .resume: transfer.resume()
        case .cancel: transfer.cancel()
        case .discard: transfer.discard()
        }
    }
}

@Suite struct DownloadVerbTests {
    @Test("D12 every command works in every state", arguments: Standing.allCases, Verb.allCases)
    func table(standing: Standing, verb: Verb) async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try await bring(bench, to: standing)

        verb.apply(to: transfer)
        verb.apply(to: transfer)

        let isOver = [.done, .failed, .cancelled].contains(standing)
        switch (verb, standing) {
        case (_, _) where isOver:
            #expect(
                watcher.events.count(where: { if case .done = $0 { true } else { false } }) == 1)
        case (.pause, _):
            #expect(transfer.state == .paused)
            transfer.resume()
        case (.resume, .paused), (.resume, .held):
            await watcher.wait(for: .running)
        case (.resume, .waiting):
            #expect(transfer.state == .waiting)
            bench.clock.advance(by: .milliseconds(61_000))
        default: break
        }
        if standing == .waiting && verb == .pause {
            // It sent another request at once.
            await watcher.wait { _ in false }
        }
        try bench.scope.open(gate: "go")
        let outcome = await watcher.end()

        let partial = try bench.client.partial(of: bench.folder.file("a.bin"))
        switch (verb, standing) {
        case (_, .done):
            #expect(outcome.error == nil)
            #expect(try bench.contents() == Contents.v1)
        case (.discard, _):
            #expect(partial == nil)
            #expect(try bench.folder.names.isEmpty)
        case (_, .failed):
            #expect(outcome.error?.reason == "truncated")
            #expect(partial?.partialPath == outcome.error?.partialPath)
            #expect(partial?.bytes == 400_000)
        case (.cancel, _), (_, .cancelled):
            #expect(outcome.error?.reason == "cancelled")
            #expect(transfer.state == .cancelled)
            #expect(partial?.partialPath == outcome.error?.partialPath)
            // Nothing proves the state on hold, and nothing was requested while it was queued.
            #expect((partial != nil) == (standing != .held && standing != .queued))
        default:
            #expect(outcome.error == nil)
            #expect(try bench.contents() == Contents.v1)
            #expect(try bench.folder.names == ["a.bin"])
        }
        #expect(bench.client.count() == 0)
    }

    /// Starts a download and brings it to a state.
    private func bring(_ bench: DownloadBench, to standing: Standing) async throws
        -> (Transfer, DownloadWatcher)
    {
        let path = bench.folder.file("a.bin")
        switch standing {
        case .queued:
            // The disk threads are busy, so the partial file cannot be opened yet. They may
            // continue before the command: then the request is sent, and still no byte can have
            // arrived.
            let gate = WorkerGate(bench.client)
            let pair = try bench.client.begin(bench.url("gate=go"), to: path)
            gate.openSoon()
            return pair
        case .running, .paused, .cancelled:
            let pair = try bench.client.begin(
                bench.url("hold=400000&gate=go&times=1"), to: path)
            try await bench.wait(forBytes: 1, of: pair.0)
            if standing == .paused { pair.0.pause() }
            if standing == .cancelled {
                pair.0.cancel()
                _ = await pair.1.end()
            }
            return pair
        case .held:
            let pair = try bench.client.begin(
                bench.url("hold=400000&gate=go&no_validator=1"), to: path)
            try await bench.wait(forBytes: 1, of: pair.0)
            pair.0.pause()
            #expect(pair.0.state == .paused)
            return pair
        case .waiting:
            let pair = try bench.client.begin(bench.url("cut=400000&times=1"), to: path)
            await pair.1.wait(for: .waiting)
            return pair
        case .failed:
            let pair = try bench.client.begin(bench.url("cut=400000"), to: path) {
                $0.maxRetries = 0
            }
            _ = await pair.1.end()
            return pair
        case .done:
            let pair = try bench.client.begin(bench.url(), to: path)
            _ = await pair.1.end()
            return pair
        }
    }

    @Test("D12 a pause is durable when it returns, and outlives the server's connection")
    func pauseIsDurable() async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=400000&gate=go&times=1"), to: bench.folder.file("a.bin"))
        try await bench.scope.wait("sent=400000")
        try await bench.wait(forBytes: 1, of: transfer)
        transfer.pause()
        #expect(transfer.state == .paused)
        let kept = try #require(try bench.client.partial(of: bench.folder.file("a.bin")))
        #expect(kept.bytes > 0 && kept.bytes <= 400_000)
        #expect(kept.bytes == transfer.progress.completed)

        try bench.scope.dropConnections()
        bench.clock.advance(by: .milliseconds(60_000))
        transfer.resume()
        let outcome = await watcher.end()

        #expect(outcome.error == nil)
        #expect(watcher.restarts == [])
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.scope.requests().last?.header("range") == "bytes=\(kept.bytes)-")
        #expect(watcher.states.map(\.state).filter { $0 != .waiting } == [.paused, .running])
    }

    @Test("D12 a download that cannot resume is held, and restarts if the server disconnects")
    func heldAndDropped() async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=400000&gate=go&times=1&weak=1"), to: bench.folder.file("a.bin"))
        try await bench.wait(forBytes: 1, of: transfer)
        transfer.pause()
        #expect(transfer.state == .paused)
        try bench.scope.dropConnections()
        try await bench.scope.wait("ended=1")
        transfer.resume()
        await watcher.wait(for: .waiting)
        bench.clock.advance(by: .milliseconds(61_000))
        let outcome = await watcher.end()
        #expect(outcome.error == nil)
        #expect(watcher.restarts == ["no_validator"])
        // That it ran again was not reported, and a restart followed a pause.
        let states = watcher.states.map(\.state)
        #expect(states.starts(with: [.paused, .running, .restarted, .running, .waiting]))
        #expect(try bench.contents() == Contents.v1)
    }

    @Test("D12 commands reach many downloads by tag, URL, and all at once")
    func many() async throws {
        let bench = try DownloadBench()
        var running: [(Transfer, DownloadWatcher)] = []
        for index in 0..<5 {
            running.append(
                try bench.client.begin(
                    bench.url("hold_at=400000&gate=go&n=\(index)"),
                    to: bench.folder.file("\(index).bin")
                ) { $0.tag = index < 3 ? "low" : "high" })
        }
        for (transfer, _) in running { try await bench.wait(forBytes: 1, of: transfer) }
        #expect(bench.client.pause(.tag("low")) == 3)
        #expect(running.map(\.0.state) == [.paused, .paused, .paused, .running, .running])
        #expect(bench.client.pause() == 5)
        #expect(running.allSatisfy { $0.0.state == .paused })
        #expect(bench.client.resume(.tag("high")) == 2)
        #expect(bench.client.cancel(.tag("low")) == 3)
        try bench.scope.open(gate: "go")
        var reasons: [String?] = []
        for (_, watcher) in running { reasons.append(await watcher.end().error?.reason) }
        #expect(reasons == ["cancelled", "cancelled", "cancelled", nil, nil])
        #expect(try bench.client.partials(in: bench.folder.path).count == 3)
    }

    @Test("D12, M5 commands from many threads end every download once, and leak no descriptor")
    func manyThreads() async throws {
        let bench = try DownloadBench()
        for round in 0..<loops(100) {
            var running: [(Transfer, DownloadWatcher)] = []
            for index in 0..<6 {
                let watcher = DownloadWatcher(clock: bench.clock)
                let query = ["cut=300000", "weak=1&cut=900000&times=1", "reset=200000"][index % 3]
                var request = Request(bench.url("\(query)&n=\(round)-\(index)"))
                // One download's wait advances the clock of all.
                request.idleTimeout = .zero
                request.firstByteTimeout = .zero
                request.stallBytesPerSecond = 0
                let path = bench.folder.file("\(round)-\(index).bin")
                running.append(
                    (
                        try bench.client.download(request, to: path, observer: watcher), watcher
                    ))
            }
            let transfers = running.map(\.0)
            await withTaskGroup { group in
                for worker in 0..<4 {
                    group.addTask {
                        var random = Lottery(seed: UInt64(round * 4 + worker))
                        for _ in 0..<30 {
                            let transfer = transfers[Int(random.next() % 6)]
                            let verbs: [Verb] =
                                random.next() % 50 < 47
                                ? [.pause, .resume] : [.cancel, .discard]
                            verbs[Int(random.next() % 2)].apply(to: transfer)
                        }
                    }
                }
            }
            for (transfer, watcher) in running {
                transfer.resume()
                let outcome = await watcher.end()
                let path = try #require(transfer.path)
                switch outcome.state {
                case .done: #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Contents.v1)
                case .cancelled: #expect(!FileManager.default.fileExists(atPath: path))
                default: Issue.record("\(outcome.error?.description ?? "")")
                }
                let last = watcher.events.last
                #expect({ if case .done = last { true } else { false } }())
                // M5: of other events, which carry the current state, only the state counts.
                let states =
                    watcher.states.filter {
                        $0.reason != "journal_invalid" && $0.reason != "already_complete"
                    }.map(\.state) + [outcome.state]
                #expect(StateTable.downloads.allows(states), "M5: \(states)")
            }
            #expect(bench.client.count() == 0)
            #expect(try bench.client.partials(in: bench.folder.path).allSatisfy { !$0.isRunning })
        }
        bench.client.close()
        #expect(try openFiles(in: bench.folder) == 0)
    }

    /// The number of open files of a folder in this process.
    private func openFiles(in folder: TemporaryFolder) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/" + name)
            return target?.hasPrefix(folder.path) == true
        }
    }

    @Test("D12 closing the client ends every download and keeps its partial file")
    func close() async throws {
        let bench = try DownloadBench()
        var running: [(Transfer, DownloadWatcher)] = []
        for index in 0..<4 {
            running.append(
                try bench.client.begin(
                    bench.url("hold=400000&gate=go&n=\(index)"),
                    to: bench.folder.file("\(index).bin")))
        }
        for (transfer, _) in running.dropLast() {
            try await bench.wait(forBytes: 1, of: transfer)
        }
        bench.client.close()
        for (_, watcher) in running {
            let ends = watcher.events.count { if case .done = $0 { true } else { false } }
            #expect(ends == 1)
        }
        let partials = try bench.client.partials(in: bench.folder.path)
        #expect(partials.count >= 3)
        #expect(partials.allSatisfy { !$0.isRunning })
        let error = await failure { () throws(WherryError) in
            _ = try bench.client.begin(bench.url(), to: bench.folder.file("late.bin"))
        }
        #expect(error?.reason == "closed")
    }
}

/// Random numbers that are the same in every run.
struct Lottery {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33
    }
}

/// Keeps a client's workers busy until it is released.
final class WorkerGate: Sendable {
    private let isOpen = Monitor(false)

    init(_ client: Client) {
        for _ in 0..<max(2, ProcessInfo.processInfo.activeProcessorCount) {
            client.workers.submit { [isOpen] in
                _ = isOpen.wait { $0 ? true : nil }
            }
        }
    }

    deinit { isOpen.update { $0 = true } }

    /// Opens from another thread, because the command under test may wait for the disk.
    func openSoon() {
        Thread.detachNewThread { [isOpen] in isOpen.update { $0 = true } }
    }
}
