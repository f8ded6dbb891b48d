// Wherry: acceptance tests of rate limits for starting requests
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import Wherry
import WherrySystem

/// Most tests use a stub, whose clock they move: when `advance` returns, everything due has
/// happened.
@Suite struct RateTests {
    private let stub = StubServer()

    init() {
        stub.advance(by: .zero)
        stub.respond("*", body: Bytes("here"))
    }

    private func client(
        _ configure: @escaping (inout Client.Configuration) -> Void
    ) throws -> Client {
        let stub = stub
        return try Client {
            $0.stubServer = stub
            $0.baseURL = "http://h/"
            configure(&$0)
        }
    }

    private var paths: [String] { stub.requests.map { String($0.url.dropFirst(9)) } }

    @Test("R38 twenty requests at five per second take three seconds, and no longer")
    func twenty() async throws {
        let client = try client { $0.rateLimit = 5 }
        let handles = try (0..<20).map { try client.start(Request("\($0)")) }
        stub.advance(by: .zero)
        var started = 5
        for _ in 0..<15 {
            #expect(stub.requests.count == started)
            stub.advance(by: .milliseconds(199))
            #expect(stub.requests.count == started)
            stub.advance(by: .milliseconds(1))
            started += 1
        }
        #expect(paths == (0..<20).map { "\($0)" })
        for handle in handles { #expect(try await handle.value.metrics.queued <= .seconds(3)) }
        #expect(try await handles[19].value.metrics.queued == .seconds(3))
        // After an idle time the burst is as large as before, and no larger.
        stub.advance(by: .seconds(60))
        for index in 0..<10 { _ = try client.start(Request("\(index)")) }
        stub.advance(by: .zero)
        #expect(stub.requests.count == 25)
        client.close()
    }

    @Test("R38 the limit applies to a real connection, with an injected clock")
    func overTheNetwork() async throws {
        let scope = try TestServer.shared.scope()
        let clock = ManualClock()
        let client = try makeClient(scope) {
            $0.clock = clock
            $0.rateLimit = 5
        }
        let start = clock.now()
        let handles = try (0..<20).map { try client.start(Request("text/\($0)")) }
        var ended = 5
        try await scope.wait("ended=5")
        while ended < 20 {
            clock.advance(by: .milliseconds(199))
            await client.settle(clock)
            #expect(handles.count { $0.state != .queued } == ended)
            clock.advance(by: .milliseconds(1))
            ended += 1
            try await scope.wait("ended=\(ended)")
        }
        for handle in handles { #expect(try await handle.value.status == 200) }
        #expect(clock.now().since(start) == .milliseconds(3_000))
        #expect(try scope.requests().count == 20)
    }

    @Test("R38 each host has a separate limit, in addition to the total")
    func hosts() async throws {
        let client = try client {
            $0.hostRateLimit = 2
            $0.rateLimit = 5
        }
        for host in ["a", "b", "c"] {
            for index in 0..<4 { _ = try client.start(Request("http://\(host)/\(index)")) }
        }
        stub.advance(by: .zero)
        #expect(
            stub.requests.map(\.url) == ["a/0", "a/1", "b/0", "b/1", "c/0"].map { "http://\($0)" })
        stub.advance(by: .milliseconds(200))
        #expect(stub.requests.last?.url == "http://c/1")
        // Now every host waits half a second for its next.
        stub.advance(by: .milliseconds(299))
        #expect(stub.requests.count == 6)
        stub.advance(by: .milliseconds(1))
        #expect(Set(stub.requests.dropFirst(6).map(\.url)) == ["http://a/2"])
        stub.advance(by: .seconds(10))
        #expect(stub.requests.count == 12)
        client.close()
    }

    @Test("R38 the burst is a setting, and so is the period")
    func burst() async throws {
        let client = try client {
            $0.rateLimit = 60
            $0.rateInterval = .seconds(60)
            $0.rateBurst = 1
        }
        for index in 0..<4 { _ = try client.start(Request("\(index)")) }
        stub.advance(by: .zero)
        for count in 1...3 {
            #expect(stub.requests.count == count)
            stub.advance(by: .milliseconds(999))
            #expect(stub.requests.count == count)
            stub.advance(by: .milliseconds(1))
        }
        #expect(stub.requests.count == 4)
        client.close()
    }

    @Test("R38 waiting requests are ordered by priority, can be cancelled, and can time out")
    func waiting() async throws {
        let client = try client {
            $0.rateLimit = 1
            $0.rateBurst = 1
        }
        var priorities = ["low": -5, "high": 5, "highest": 9]
        var handles: [String: TransferHandle<Response>] = [:]
        for name in ["first", "low", "a", "cancelled", "high", "b", "late", "highest"] {
            var request = Request(name)
            request.priority = priorities.removeValue(forKey: name)
            if name == "late" { request.totalTimeout = .milliseconds(2_500) }
            handles[name] = try client.start(request)
        }
        stub.advance(by: .zero)
        handles["cancelled"]?.cancel()
        stub.advance(by: .seconds(2))
        #expect(paths == ["first", "highest", "high"])
        stub.advance(by: .seconds(30))
        #expect(paths == ["first", "highest", "high", "a", "b", "low"])
        for (name, handle) in handles {
            let error = await failure { () throws(WherryError) in try await handle.value }
            #expect(
                error?.reason == ["cancelled": "cancelled", "late": "total_timeout"][name],
                "\(name)")
        }
    }

    @Test("R38 redirects and retries count, cached responses do not")
    func counted() async throws {
        let folder = try TemporaryFolder()
        let client = try client {
            $0.rateLimit = 1
            $0.rateBurst = 1
            $0.rateInterval = .seconds(100)
            $0.storageDirectory = folder.file("storage")
            $0.maxRetries = 1
        }
        var cached = Request("cached")
        cached.cacheDuration = .seconds(100_000)
        cached.loadsCache = true
        _ = try await client.send(cached)
        for _ in 0..<5 { #expect(try await client.send(cached).isFromCache) }
        #expect(stub.requests.count == 1)

        let other = StubServer()
        other.advance(by: .zero)
        other.respond("http://h/from", status: 302, headers: ["Location": "/to"])
        other.respond("http://h/busy", times: 1, status: 503)
        other.respond("*", body: Bytes("here"))
        let again = try Client {
            $0.stubServer = other
            $0.baseURL = "http://h/"
            $0.rateLimit = 1
            $0.rateInterval = .seconds(100)
            $0.maxRetries = 1
        }
        let redirected = try again.start(Request("from"))
        other.advance(by: .zero)
        #expect(other.requests.count == 1)
        other.advance(by: .milliseconds(99_999))
        #expect(other.requests.count == 1)
        other.advance(by: .milliseconds(1))
        #expect(other.requests.map(\.url).last == "http://h/to")
        #expect(try await redirected.value.status == 200)

        let busy = try again.start(Request("busy"))
        other.advance(by: .seconds(100))
        #expect(other.requests.count == 3)
        // It waits half a second at most, and then in the queue.
        other.advance(by: .seconds(99))
        #expect(other.requests.count == 3)
        other.advance(by: .seconds(1))
        #expect(other.requests.count == 4)
        #expect(try await busy.value.metrics.retries == 1)
    }

    @Test("R38 a new limit applies at once, also to waiting requests")
    func live() async throws {
        let client = try client { $0.rateLimit = 1 }
        for index in 0..<10 { _ = try client.start(Request("\(index)")) }
        stub.advance(by: .zero)
        #expect(stub.requests.count == 1)
        try client.setRateLimit(3)
        stub.advance(by: .zero)
        #expect(stub.requests.count == 4)
        try client.setRateLimit(0)
        stub.advance(by: .zero)
        #expect(stub.requests.count == 10)
        let error = #expect(throws: WherryError.self) { try client.setRateLimit(-1) }
        #expect(error?.reason == "bad_value")
        client.close()
    }

    @Test("R38 a settings file supports rate limits too")
    func file() async throws {
        let folder = try TemporaryFolder()
        let text =
            #"{"rate_limit": 2, "host_rate_limit": 1, "rate_interval_ms": 500, "rate_burst": 1}"#
        try text.write(toFile: folder.file("c.json"), atomically: false, encoding: .utf8)
        var configuration = Client.Configuration()
        try configuration.load(from: folder.file("c.json"))
        #expect(configuration.rateLimit == 2 && configuration.hostRateLimit == 1)
        #expect(configuration.rateInterval == .milliseconds(500) && configuration.rateBurst == 1)
    }
}
