// Wherry: tests of released objects
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

/// A client that is still referenced keeps its connections, its thread, and its memory.
@Suite struct LifetimeTests {
    private func isFreed(
        after body: (Client, TestServer.Scope) async throws -> Void
    ) async throws -> Bool {
        let scope = try TestServer.shared.scope()
        weak var freed: Client?
        do {
            let client = try makeClient(scope)
            freed = client
            try await body(client, scope)
            client.cancel()
            #expect(client.wait(timeout: .seconds(600)))
        }
        // The network thread may hold the last reference during its last event.
        let limit = ContinuousClock.now + .seconds(600)
        while freed != nil && ContinuousClock.now < limit { await Task.yield() }
        return freed == nil
    }

    @Test func `a client is released after requests that succeeded, failed, and were cancelled`()
        async throws
    {
        let isFreed = try await isFreed { client, _ in
            _ = try await client.get("echo")
            await #expect(throws: WherryError.self) { try await client.get("status/500") }
            _ = try await client.get("redirect/2")
            let handle = try client.start(Request("silent"))
            handle.cancel()
            await #expect(throws: WherryError.self) { try await handle.value }
            _ = try client.start(Request("silent"))
        }
        #expect(isFreed)
    }

    @Test func `a client is released after streams that were read, left, and cut`() async throws {
        let isFreed = try await isFreed { client, _ in
            for try await _ in try await client.stream(Request("bytes/1000000")).body {}
            for try await _ in try await client.stream(Request("bytes/1000000")).body { break }
            _ = try await client.stream(Request("bytes/1000000?hold=1000&gate=never"))
            await #expect(throws: WherryError.self) {
                for try await _ in try await client.stream(Request("bytes/1000?cut=10")).body {}
            }
            for try await _ in try await client.lines("sse?count=2&interval_ms=1") { break }
        }
        #expect(isFreed)
    }

    @Test func `a client is released after hooks, uploads, and downloads`() async throws {
        let path = NSTemporaryDirectory() + "wherry-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let isFreed = try await isFreed { client, _ in
            _ = try await client.send(Request("echo"), hooks: .adapting { $0 })
            try client.setHooks(.redirecting { $1 })
            _ = try await client.get("redirect/1")
            let image = try Image.pixels([1, 2, 3], .rgb8, width: 1, height: 1)
            _ = try await client.upload([image], to: "echo", name: "a").value
            let pieces = AsyncStream<[UInt8]> { continuation in
                continuation.yield([1])
                continuation.finish()
            }
            _ = try await client.send(Request("sink", method: "PUT"), body: pieces)
            _ = try await client.download("bytes/1000", to: path).value
            await #expect(throws: WherryError.self) {
                try await client.download("status/404", to: path + "-2").value
            }
        }
        #expect(isFreed)
    }
}
