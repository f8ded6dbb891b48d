// Wherry: acceptance tests of request priority
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import Wherry

@Suite struct PriorityTests {
    /// The network thread has accepted all requests.
    private func allTaken(_ client: Client) async {
        await withCheckedContinuation { continuation in
            client.transport.schedule(at: client.transport.clock.now()) { continuation.resume() }
        }
    }

    @Test("R28 with one slot, high priority is first, and equals keep their order")
    func order() async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope) { $0.maxPerHost = 1 }
        let first = try client.start(Request("text/first?gate=g"))
        try await scope.wait("requests=1")
        let names = ["a", "low", "b", "high", "c", "highest", "high2"]
        let priorities = ["low": -100, "high": 5, "highest": 100, "high2": 5]
        let others = try names.map { name in
            var request = Request("text/\(name)")
            request.priority = priorities[name]
            return try client.start(request)
        }
        await allTaken(client)

        try scope.open(gate: "g")
        for handle in [first] + others { _ = try await handle.value }

        let order = ["first", "highest", "high", "high2", "a", "b", "c", "low"]
        #expect(try scope.requests().map(\.path) == order.map { "/text/\($0)" })
        #expect(try scope.stats().peakRequests == 1)
    }

    @Test("R28 changing the priority of a waiting request moves it, also in a group")
    func changed() async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope) { $0.maxPerHost = 1 }
        let first = try client.start(Request("text/first?gate=g"))
        try await scope.wait("requests=1")
        let others = try ["a", "b", "c", "d"].map { try client.start(Request("text/\($0)")) }
        let group = try client.start(RequestGroup(["e", "f"].map { Request("text/\($0)") }))
        let paused = others[3]
        paused.pause()

        try others[2].setPriority(5)
        try others[0].setPriority(-5)
        try others[1].setPriority(0)  // The same priority: it keeps its position.
        try paused.setPriority(100)
        try group.setPriority(7)
        try first.setPriority(-100)  // It runs.
        paused.resume()
        #expect(throws: WherryError.self) { try paused.setPriority(101) }
        await allTaken(client)

        try scope.open(gate: "g")
        for handle in [first] + others { _ = try await handle.value }
        #expect(try await group.value.responses.count == 2)
        try others[0].setPriority(1)  // It has ended.

        let order = ["first", "d", "e", "f", "c", "b", "a"]
        #expect(try scope.requests().map(\.path) == order.map { "/text/\($0)" })
    }

    @Test("R28 a priority is -100 to 100, and belongs to one request")
    func range() async throws {
        let client = try makeClient()
        var request = Request("http://127.0.0.1:1/")
        request.priority = 101
        let sent = request
        let error = await failure { () throws(WherryError) in try await client.send(sent) }
        #expect(error?.reason == "bad_value")
    }
}
