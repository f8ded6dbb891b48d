// Wherry: tests of tasks on the network thread
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestServer
import Testing
import Wherry

@Suite struct NetworkExecutorTests {
    private let scope: TestServer.Scope
    private let client: Client
    private let executor: NetworkExecutor

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
        executor = NetworkExecutor(client)
    }

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// The name of the calling thread.
    private static var thread: String {
        let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
        return name?.trimmingCharacters(in: .newlines) ?? ""
    }

    @Test func `tasks start and resume on the thread that receives the responses`() async throws {
        let client = client
        let threads = try await withTaskExecutorPreference(executor) {
            let first = Self.thread
            let status = try await client.get("echo").status
            #expect(status == 200)
            let second = Self.thread
            await Task.detached {}.value
            return [first, second, Self.thread]
        }
        #expect(threads == Array(repeating: "wherry-network", count: 3))
    }

    @Test func `many requests run at once, in child tasks too`() async throws {
        let client = client
        let count = try await withTaskExecutorPreference(executor) {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        var sum = 0
                        for _ in 0..<5 { sum += try await client.get("bytes/\(number)").body.count }
                        return sum
                    }
                }
                return try await group.reduce(0, +)
            }
        }
        #expect(count == 5 * (0..<40).reduce(0, +))
    }

    @Test func `a task that yields forever does not block the network`()
        async throws
    {
        let client = client
        let hasCome = Flag()
        try await withTaskExecutorPreference(executor) {
            async let turns: Int = {
                var turns = 0
                while !hasCome.isSet.load(ordering: .relaxed) && turns < 10_000_000 {
                    await Task.yield()
                    turns += 1
                }
                return turns
            }()
            for _ in 0..<5 { _ = try await client.get("echo") }
            hasCome.isSet.store(true, ordering: .relaxed)
            let count = await turns
            #expect(count > 0 && count < 10_000_000)
        }
    }

    @Test func `a call that would wait for its own thread is refused`() async throws {
        let client = client
        await withTaskExecutorPreference(executor) {
            let error = #expect(throws: WherryError.self) { try client.perform(Request("echo")) }
            #expect(error?.reason == "wrong_state")
            _ = try? client.start(Request("silent"))
            #expect(!client.wait(.all))
            client.cancel()
        }
        #expect(client.wait(.all, timeout: .seconds(600)))
    }

    @Test func `tasks outlive a closed client`() async throws {
        let client = client
        let answer = Task(executorPreference: executor) { try await client.get("silent") }
        let thread = await withTaskExecutorPreference(executor) {
            await Task.yield()
            client.close()
            let error = await #expect(throws: WherryError.self) { try await answer.value }
            #expect(error?.code == .cancelled || error?.reason == "closed")
            // The thread ends soon, and this test does not wait for it: the number of its remaining
            // iterations is unknown.
            let limit = ContinuousClock.now + .seconds(600)
            while Self.thread == "wherry-network" && ContinuousClock.now < limit {
                await Task.yield()
            }
            return Self.thread
        }
        #expect(thread != "wherry-network")
    }

    @Test func `downloads are paused and closed on their own thread without waiting for it`()
        async throws
    {
        let path = NSTemporaryDirectory() + "wherry-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let client = client
        let states = try await withTaskExecutorPreference(executor) {
            let handle = try client.download("bytes/2000000?hold=1000000&gate=middle", to: path)
            var states: [TransferState] = []
            for await progress in handle.progress where progress.completed > 0 { break }
            handle.pause()
            client.pause(.all)
            client.resume(.all)
            states.append(handle.state)
            client.close()
            let error = await #expect(throws: WherryError.self) { try await handle.value }
            #expect(error?.code == .cancelled)
            states.append(handle.state)
            return states
        }
        #expect(!states[0].isFinal && states[1].isFinal)
    }

    @Test func `tasks cancelled from another thread end`() async throws {
        let client = client
        let executor = executor
        let task = Task(executorPreference: executor) { try await client.get("silent") }
        _ = try await client.get("echo")
        task.cancel()
        let error = await #expect(throws: WherryError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test func `with a stub they run on the default executor`() async throws {
        let stub = StubServer()
        stub.respond("http://h/a", status: 201)
        let client = try Client { $0.stubServer = stub }
        let status = try await withTaskExecutorPreference(NetworkExecutor(client)) {
            try await client.get("http://h/a").status
        }
        #expect(status == 201)
    }

    @Test func `the end of the network thread does not wait for tasks on it`() async throws {
        weak var freed: Client?
        let scope = scope
        do {
            let client = try makeClient(scope)
            freed = client
            let status = try await withTaskExecutorPreference(NetworkExecutor(client)) {
                try await client.get("echo").status
            }
            #expect(status == 200)
        }
        let limit = ContinuousClock.now + .seconds(600)
        while freed != nil && ContinuousClock.now < limit { await Task.yield() }
        #expect(freed == nil)
    }
}
