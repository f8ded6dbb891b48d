// Wherry: acceptance tests of request management
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

import Wherry
@testable import WherryAsync

@Suite struct ManagementTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    @Test("M1 every transfer has a unique id, and the count is exact")
    func pool() async throws {
        let count = loops(1000)
        let handles = try (0..<count).map { number in
            var request = Request(
                "faulty-echo?n=\(number)&gate=go", method: ["GET", "POST"][number % 2])
            if number % 3 == 0 { request.body = .bytes(Bytes("x"), contentType: nil) }
            return try client.start(request)
        }
        #expect(client.count() == count)
        #expect(Set(handles.map(\.transfer.id)).count == count)
        #expect(client.transfers().map(\.id) == handles.map(\.transfer.id))
        #expect(handles.allSatisfy { $0.transfer.id != 0 })
        try scope.open(gate: "go")
        for handle in handles { #expect(try await handle.value.status == 200) }
        #expect(client.count() == 0)
    }

    @Test("M2 a running client lists its transfers")
    func listing() async throws {
        var request = Request("bytes/100000?hold=40000&gate=go")
        request.tag = "one"
        let first = try client.start(request)
        var post = Request("faulty-echo?gate=go", method: "PUT")
        post.parameters = ["a": 1]
        let second = try client.start(post)
        try await scope.wait("requests=2")
        for await progress in first.progress where progress.completed >= 40_000 { break }

        let list = client.transfers()

        #expect(list.map(\.id) == [first.transfer.id, second.transfer.id])
        #expect(list.map(\.kind) == [.request, .request])
        #expect(list.map(\.method) == ["GET", "PUT"])
        // Queries may contain secrets, and are not listed.
        #expect(list.map(\.url) == [scope.url("/bytes/100000?..."), scope.url("/faulty-echo?...")])
        #expect(list.map(\.tag) == ["one", nil])
        #expect(list.map(\.state) == [.running, .running])
        #expect(list[0].progress.completed == 40_000 && list[0].progress.total == 100_000)
        let sum = client.progress()
        #expect(sum.count == 2)
        try scope.open(gate: "go")
        _ = try await (first.value, second.value)
        #expect(client.transfers().isEmpty)
    }

    @Test("M2 downloads and uploads are listed with their kind, path, and progress")
    func listingOfAll() async throws {
        let folder = try TemporaryFolder()
        var up = Request("sink?stall=1&gate=go", method: "POST")
        up.body = .multipart([.bytes("a", Bytes(TestPattern.bytes(count: 1000)))])
        let upload = try client.start(up)
        var down = Request("bytes/100000?hold=40000&gate=go")
        // A server that holds is not a stall, however long a busy machine takes.
        down.stallBytesPerSecond = 0
        let download = try client.download(down, to: folder.file("a.bin"))
        let plain = try client.start(Request("faulty-echo?gate=go", method: "DELETE"))
        try await scope.wait("requests=3")
        // The server has reached its hold, and the bytes it sent have arrived.
        for await progress in download.progress where progress.completed >= 40_000 { break }
        for await progress in upload.progress where progress.completed >= 1000 { break }

        let list = client.transfers()

        #expect(list.map(\.id) == [upload.transfer.id, download.transfer.id, plain.transfer.id])
        #expect(list.map(\.kind) == [.upload, .download, .request])
        #expect(list.map(\.method) == ["POST", "GET", "DELETE"])
        #expect(list.map(\.path) == [nil, folder.file("a.bin"), nil])
        #expect(list.map(\.state) == [.running, .running, .running])
        #expect(list[0].progress.total == list[0].progress.completed)
        #expect(list[1].progress.completed == 40_000 && list[1].progress.total == 100_000)
        #expect(client.transfers(.path(folder.file("a.bin"))).map(\.kind) == [.download])
        try scope.open(gate: "go")
        _ = try await (upload.value, download.value, plain.value)
        #expect(client.transfers().isEmpty)
    }

    // MARK: M3, M4: cancelling

    @Test("M3 cancelling reaches only matching transfers")
    func cancelling() async throws {
        func start(_ url: String, _ parameters: JSONObject = [:], tag: String? = nil) throws
            -> TransferHandle<Response>
        {
            var request = Request(url, method: "GET")
            request.parameters = parameters
            request.tag = tag
            return try client.start(request)
        }
        let a1 = try start("silent?u=a", ["n": 1])
        let a2 = try start("silent?u=a", ["n": 2])
        let b = try start("silent?u=b", tag: "t")
        let c = try start("silent?u=c")
        let d = try start("silent?u=d")
        try await scope.wait("requests=5")

        var exact = Request("silent?u=a", method: "GET")
        exact.parameters = ["n": 2]
        let identifier = try client.identifier(of: exact)
        try client.setBaseURL("http://elsewhere.invalid/")
        #expect(client.cancel(.identifier(identifier)) == 1)
        try client.setBaseURL(scope.url("/"))
        #expect(await failure { () throws(WherryError) in try await a2.value }?.code == .cancelled)
        #expect([a1, b, c, d].map(\.state) == Array(repeating: .running, count: 4))

        // Any parameters, joined with the base like a request's.
        #expect(client.cancel(.url(scope.url("/silent?u=a"))) == 1)
        #expect(await failure { () throws(WherryError) in try await a1.value }?.code == .cancelled)
        #expect(client.cancel(.tag("t")) == 1)
        #expect(await failure { () throws(WherryError) in try await b.value }?.code == .cancelled)
        #expect(client.cancel(.id(c.transfer.id)) == 1)
        #expect(await failure { () throws(WherryError) in try await c.value }?.code == .cancelled)
        #expect(d.state == .running)
        #expect(client.cancel(.tag("t")) == 0)
        // Several URLs at once; unknown ones do no harm.
        let e = try start("silent?u=e")
        let f = try start("silent?u=f")
        #expect(client.cancel(.urls(["silent?u=e", scope.url("/silent?u=f"), "none"])) == 2)
        #expect(await failure { () throws(WherryError) in try await e.value }?.code == .cancelled)
        #expect(await failure { () throws(WherryError) in try await f.value }?.code == .cancelled)
        #expect(client.cancel(.urls([])) == 0)
        #expect(d.state == .running)
        #expect(client.cancel() == 1)
        #expect(await failure { () throws(WherryError) in try await d.value }?.code == .cancelled)
        #expect(d.state == .cancelled)
    }

    @Test("M4, M5 a cancelled transfer ends once, with valid state transitions")
    func oneEnd() async throws {
        let count = loops(10_000)
        var random = SystemRandomNumberGenerator()
        let seed = random.next()
        var state = seed
        func roll(_ sides: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % sides
        }
        let counters = (0..<count).map { _ in EndCounter() }
        for counter in counters {
            let paths = ["echo", "bytes/100000", "silent", "redirect/3", "delay/1", "status/500"]
            var request = Request(paths[Int(roll(UInt64(paths.count)))])
            request.isStreamed = roll(4) == 0
            let transfer = try client.send(request, observer: counter)
            switch roll(8) {
            case 0: transfer.cancel()
            case 1: client.cancel()
            case 2: Thread.detachNewThread { transfer.cancel() }
            case 3:
                transfer.pause()
                transfer.discard()
            case 4:
                Thread.detachNewThread { transfer.pause() }
                transfer.cancel()
                transfer.cancel()
            case 5:
                transfer.pause()
                transfer.resume()
            case 6:
                Thread.detachNewThread {
                    transfer.pause()
                    transfer.resume()
                    transfer.pause()
                    transfer.cancel()
                }
            default: _ = client.transfers().first?.cancel()
            }
        }
        client.cancel()
        #expect(client.wait(timeout: .seconds(120)), "seed \(seed)")
        for counter in counters {
            #expect(counter.ends.withLock { $0 } == 1, "seed \(seed)")
            #expect(counter.late.withLock { $0 } == 0, "an event after the end, seed \(seed)")
            let states = counter.states.withLock { $0 }
            #expect(StateTable.requests.allows(states), "\(states), seed \(seed)")
        }
    }

    // MARK: M5, M6: states

    @Test("M5 the states follow the allowed transitions")
    func states() async throws {
        let handle = try client.start(Request("faulty-echo?gate=go"))
        try await scope.wait("requests=1")
        #expect(handle.state == .running)
        handle.pause()
        handle.pause()
        #expect(handle.state == .paused)
        handle.resume()
        handle.resume()
        #expect(handle.state == .running)
        try scope.open(gate: "go")
        _ = try await handle.value
        #expect(handle.state == .done)
        // After the end no command changes anything.
        handle.cancel()
        handle.pause()
        #expect(handle.state == .done)
        var states: [TransferState] = []
        for await change in handle.states { states.append(change.state) }
        #expect(states == [.paused, .running, .done])
    }

    @Test("M6 a paused upload sends nothing, and resumes at the same byte")
    func pausedUpload() async throws {
        let size = 64_000_000
        var request = Request("sink?stall=1&gate=go", method: "POST")
        request.body = .bytes(Bytes(TestPattern.bytes(count: size)), contentType: nil)
        let handle = try client.start(request)
        // The server reads nothing yet: sent bytes stay in the socket buffers.
        for await progress in handle.progress where progress.completed > 0 { break }
        handle.pause()
        // Round trips through the loop: the pause has taken effect.
        for _ in 0..<2 { _ = try await client.get("echo") }
        let sent = handle.transfer.progress.completed
        #expect(sent > 0 && sent < size)
        try scope.open(gate: "go")
        try await scope.wait("received=\(sent)")
        for _ in 0..<3 { _ = try await client.get("echo") }
        #expect(handle.transfer.progress.completed == sent)
        #expect(try scope.stats().received == Int(sent))
        handle.resume()
        #expect(try await handle.value.json().integer(at: "bytes") == Int64(size))
    }

    @Test("M6 concurrent pause and resume never leave the transfer stuck")
    func pauseRace() async throws {
        for round in 0..<loops(500) {
            let handle = try client.start(Request("bytes/300000?round=\(round)", method: "GET"))
            let done = DispatchGroup()
            for verb in [handle.pause, handle.resume] {
                done.enter()
                Thread.detachNewThread {
                    verb()
                    done.leave()
                }
            }
            await withCheckedContinuation { continuation in
                done.notify(queue: .global()) { continuation.resume() }
            }
            handle.resume()
            #expect(try await handle.value.body.count == 300_000)
        }
    }

    @Test("M6 a paused response stops, and so do its timeouts")
    func pausedResponse() async throws {
        let clock = ManualClock(manual: false)
        let client = try makeClient(scope) {
            $0.clock = clock
            $0.idleTimeout = .seconds(100)
        }
        let handle = try client.start(Request("bytes/8000000?hold=1000000&gate=go"))
        for await progress in handle.progress where progress.completed >= 1_000_000 { break }
        handle.pause()
        _ = try await client.get("echo")
        try scope.open(gate: "go")
        // One chunk is enough: the kernel decides how many it accepts.
        try await scope.wait("sent=1000001")
        clock.advance(by: .milliseconds(120_000))
        _ = try await client.get("echo")
        #expect(handle.transfer.progress.completed == 1_000_000)
        #expect(handle.state == .paused)
        handle.resume()
        #expect(try await handle.value.body.count == 8_000_000)
    }

    // MARK: M7: shutting down

    @Test("M7 closing leaks no thread and no descriptor")
    func closing() async {
        await #expect(processExitsWith: .success) {
            let scope = try TestServer.shared.scope()
            func openOnce(_ number: Int) async throws {
                let client = try makeClient(scope)
                _ = try await client.get("echo")
                let handle = try client.start(Request("silent"))
                if number % 2 == 0 {
                    client.close()
                } else {
                    #expect(!client.drain(timeout: .zero))
                }
                client.close()
                let error = await failure { () throws(WherryError) in try await handle.value }
                try #require(error?.code == .cancelled)
                let late = await failure { () throws(WherryError) in try await client.get("echo") }
                try #require(late?.code == .state)
            }
            func counts() throws -> [Int] {
                try ["fd", "task"].map {
                    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\($0)").count
                }
            }
            for number in 0..<10 { try await openOnce(number) }
            let before = try counts()
            for number in 0..<loops(1000) { try await openOnce(number) }
            let after = try counts()
            try #require(after[0] == before[0], "\(before) \(after)")
            // Swift's thread pool may have grown by a thread.
            try #require(after[1] <= before[1] + 4, "\(before) \(after)")
        }
    }

    @Test("M7 draining lets running transfers finish")
    func draining() async throws {
        let handle = try client.start(Request("faulty-echo?gate=go"))
        try await scope.wait("requests=1")
        let drained = Task { [client] in try await onThread { client.drain(timeout: .seconds(60)) }
        }
        while await failure({ () throws(WherryError) in try client.start(Request("echo")) }) == nil
        {
            await Task.yield()
        }
        try scope.open(gate: "go")
        #expect(try await drained.value)
        #expect(try await handle.value.status == 200)
    }

    // MARK: M8 to M11

    @Test("M8 identical requests are each sent")
    func identical() async throws {
        async let one = client.get("echo?same")
        async let two = client.get("echo?same")
        async let three = client.get("echo?same")
        #expect(try await [one, two, three].map(\.status) == [200, 200, 200])
        #expect(try scope.requests().count == 3)
    }

    @Test("M9 a request may be sent again from the end of the previous one, any number of times")
    func restarting() async throws {
        let chain = Restarting(client, Request("http://127.0.0.1:1/"), times: loops(10_000))
        chain.next()
        #expect(await chain.finished.wait { $0 > 0 ? $0 : nil } == loops(10_000))
        // All of them on the loop's thread, with little growth of its stack.
        #expect(chain.stack.withLock { $0.max - $0.min } < 65_536)
    }

    @Test("M9 a transfer can be cancelled from its own event")
    func cancelFromEvent() async throws {
        let canceller = CancelAtHead()
        var request = Request("bytes/1000000?hold=1000&gate=never")
        request.set(.wantHeaders, 1)
        _ = try client.send(request, observer: canceller)
        let ends = await canceller.ends.wait { $0.isEmpty ? nil : $0 }
        #expect(ends == [.cancelled])
    }

    @Test("M10 a tag's transfers are counted, paused, awaited, and cancelled together")
    func tags() async throws {
        func start(_ tag: String, _ path: String) throws -> TransferHandle<Response> {
            var request = Request(path)
            request.tag = tag
            return try client.start(request)
        }
        let mine = try (0..<3).map { try start("mine", "faulty-echo?gate=mine&n=\($0)") }
        let other = try start("other", "faulty-echo?gate=other")
        try await scope.wait("requests=4")
        #expect(client.count(.tag("mine")) == 3)
        #expect(client.pause(.tag("mine")) == 3)
        #expect(mine.map(\.state) == [.paused, .paused, .paused] && other.state == .running)
        #expect(client.resume(.tag("mine")) == 3)
        try scope.open(gate: "mine")
        #expect(client.wait(.tag("mine"), timeout: .seconds(60)))
        #expect(mine.map(\.state) == [.done, .done, .done])
        #expect(other.state == .running)
        #expect(!client.wait(.tag("other"), timeout: .milliseconds(1)))
        #expect(client.cancel(.tag("other")) == 1)
        #expect(client.wait(timeout: .seconds(60)))
    }

    @Test("M11 cancelling a task stops its transfer")
    func taskCancellation() async throws {
        let client = client
        let task = Task { () async -> WherryError? in
            await failure { () throws(WherryError) in try await client.get("silent") }
        }
        try await scope.wait("requests=1")
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        try await scope.wait("ended=1")
        #expect(try scope.requests().map(\.outcome) == ["gone"])
        // A task that is already cancelled sends nothing.
        let late = Task { () async -> WherryError? in
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure { () throws(WherryError) in try await client.get("echo") }
        }
        #expect(await late.value?.code == .cancelled)
        #expect(try scope.requests().count == 1)
    }

    @Test("M11 cancelling a task that awaits a handle's value cancels the transfer")
    func handleCancellation() async throws {
        let handle = try client.start(Request("silent"))
        try await scope.wait("requests=1")
        let task = Task { await failure { () throws(WherryError) in try await handle.value } }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        #expect(handle.state == .cancelled)
    }
}

/// Counts ends, and events after one.
private final class EndCounter: TransferObserver {
    let ends = Guarded(0)
    let late = Guarded(0)
    let states = Guarded<[TransferState]>([])

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        if case .state(let state, _) = event { states.withLock { $0.append(state) } }
        if case .done(let outcome) = event {
            states.withLock { $0.append(outcome.state) }
            ends.withLock { $0 += 1 }
        } else if ends.withLock({ $0 }) > 0 {
            late.withLock { $0 += 1 }
        }
    }
}

/// Sends the same request again when the previous one ends.
private final class Restarting: TransferObserver {
    let finished = AsyncMonitor(0)
    let stack = Guarded((min: UInt.max, max: UInt.min))
    private let client: Client
    private let request: Request
    private let times: Int
    private let ends = Guarded(0)

    init(_ client: Client, _ request: Request, times: Int) {
        self.client = client
        self.request = request
        self.times = times
    }

    func next() {
        do {
            _ = try client.send(request, observer: self)
        } catch {
            finished.update { $0 = -1 }
        }
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        guard case .done = event else { return }
        var here = 0
        let address = withUnsafePointer(to: &here) { UInt(bitPattern: $0) }
        stack.withLock { $0 = (Swift.min($0.min, address), Swift.max($0.max, address)) }
        let count = ends.withLock { ends in
            ends += 1
            return ends
        }
        if count < times { next() } else { finished.update { $0 = count } }
    }
}

/// Cancels when the headers have arrived.
private final class CancelAtHead: TransferObserver {
    let ends = AsyncMonitor<[TransferState]>([])

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .headers: transfer.cancel()
        case .done(let outcome): ends.update { $0.append(outcome.state) }
        default: break
        }
    }
}
