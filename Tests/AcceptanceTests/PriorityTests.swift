// Wherry: acceptance tests of what goes first
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import Wherry

@Suite struct PriorityTests {
    @Test("R28 with one slot, high jumps the queue, and equals keep their order")
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
        // The network thread has taken all of them up.
        await withCheckedContinuation { continuation in
            client.transport.schedule(at: client.transport.clock.now()) { continuation.resume() }
        }

        try scope.open(gate: "g")
        for handle in [first] + others { _ = try await handle.value }

        let order = ["first", "highest", "high", "high2", "a", "b", "c", "low"]
        #expect(try scope.requests().map(\.path) == order.map { "/text/\($0)" })
        #expect(try scope.stats().peakRequests == 1)
    }

    @Test("R28 a priority is -100 to 100, and one of a request alone")
    func range() async throws {
        let client = try makeClient()
        var request = Request("http://127.0.0.1:1/")
        request.priority = 101
        let sent = request
        let error = await failure { () throws(WherryError) in try await client.send(sent) }
        #expect(error?.reason == "bad_value")
    }
}
