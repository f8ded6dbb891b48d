// Wherry: acceptance tests of chains of requests
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct ChainTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    private func paths() throws -> [String] { try scope.requests().map(\.path) }

    @Test("R35 login, profile, and bind each use the result of the previous step")
    func threeSteps() async throws {
        let steps = Guarded(0)
        let chain = RequestGroup { previous in
            switch steps.withLock({ count in
                defer { count += 1 }
                return count
            }) {
            case 0:
                let isFirst = previous == nil
                #expect(isFirst)
                return .request(Request("token", method: "POST"))
            case 1:
                let token = try #require(previous?.response?.json().text(at: "access_token"))
                var profile = Request("protected", method: "GET")
                profile.bearerToken = token
                return .request(profile)
            case 2:
                var bind = Request("echo", method: "POST")
                bind.parameters = ["status": .integer(Int64(previous?.response?.status ?? 0))]
                return .request(bind)
            default: return .stop
            }
        }

        let answer = try await client.send(chain)

        #expect(answer.responses.map(\.status) == [200, 200, 200])
        #expect(try answer.responses[2].decode(Echo.self).text == #"{"status":200}"#)
        #expect(try paths() == ["/token", "/protected", "/echo"])
        #expect(client.count() == 0)
    }

    @Test("R35 added steps run in order, without a closure too")
    func fixedSteps() async throws {
        var chain = RequestGroup(.chain)
        for name in ["a", "b", "c"] { chain.add(Request("text/\(name)")) }
        let handle = try client.start(chain)
        var figures: [[Int]] = []
        for await progress in handle.progress { figures.append([progress.ended, progress.count]) }
        #expect(try await handle.value.responses.count == 3)
        #expect(figures.last == [3, 3])
        #expect(try paths() == ["/text/a", "/text/b", "/text/c"])
        #expect(try scope.stats().peakRequests == 1)
        #expect(try await client.send(RequestGroup(.chain)).members.isEmpty)
    }

    @Test("R35 a failure ends the chain and names the step")
    func failing() async throws {
        var chain = RequestGroup(.chain)
        for path in ["text/a", "status/503", "text/c"] { chain.add(Request(path)) }
        let sent = chain
        let error = await failure { () throws(WherryError) in try await client.send(sent) }
        #expect(error?.httpStatus == 503 && error?.underlying?.httpStatus == 503)
        let start = "Step 2, GET \(scope.url("/status/503")), failed: "
        #expect(error?.message.hasPrefix(start) == true)
        #expect(try paths() == ["/text/a", "/status/503"])
        // An invalid request fails when its step starts; that of the first step fails at once.
        let bad = RequestGroup { .request(Request($0 == nil ? "text/a" : "ftp://h/")) }
        let late = await failure { () throws(WherryError) in try await client.send(bad) }
        #expect(late?.reason == "bad_url")
        #expect(late?.message.hasPrefix("Step 2 cannot be sent: ") == true)
        var first = RequestGroup(.chain)
        first.add(Request("ftp://h/"))
        let unsent = first
        let early = await failure { () throws(WherryError) in try await client.send(unsent) }
        #expect(early?.reason == "bad_url")
        #expect(client.count() == 0)
    }

    @Test("R35 the result decides on a branch before the added steps, and stop skips them")
    func branching() async throws {
        for (status, expected) in [
            (204, ["/status/204", "/text/new", "/text/last"]), (200, ["/status/200"]),
        ] {
            let scope = try TestServer.shared.scope()
            let client = try makeClient(scope)
            let asked = Guarded(0)
            var chain = RequestGroup { previous in
                let count = asked.withLock { count in
                    count += 1
                    return count
                }
                guard count == 1 else { return .next }
                return previous?.response?.status == 204 ? .request(Request("text/new")) : .stop
            }
            chain.add(Request("status/\(status)"))
            chain.add(Request("text/last"))
            let answer = try await client.send(chain)
            #expect(answer.members.count == expected.count)
            #expect(try scope.requests().map(\.path) == expected)
        }
    }

    @Test("R35 groups in a chain and chains in a group each keep their own policy")
    func nested() async throws {
        let chain = RequestGroup { previous in
            switch previous {
            case nil:
                return .group(
                    RequestGroup(["text/a", "status/404"].map { Request($0) }, policy: .allSettled))
            case .group(let batch):
                let statuses: [Int?] = batch.members.map { $0.response?.status }
                #expect(statuses == [200, 404])
                return .request(Request("text/\(batch.responses.count)"))
            default: return .stop
            }
        }
        var group = RequestGroup()
        try group.add(chain)
        try group.add(chain)
        let answer = try await client.send(group)
        for member in answer.members {
            guard case .group(let steps) = member else {
                Issue.record("a chain among the members is a group")
                continue
            }
            #expect(steps.members.count == 2 && steps.responses.count == 2)
        }
        let texts = try paths().filter { $0.hasPrefix("/text") }.sorted()
        #expect(texts == ["/text/1", "/text/1", "/text/a", "/text/a"])
        let failing = RequestGroup { previous in
            previous == nil ? .group(RequestGroup([Request("status/500")])) : .stop
        }
        let error = await failure { () throws(WherryError) in try await client.send(failing) }
        #expect(
            error?.message.hasPrefix("Step 1, a group, failed: Request 1 of 1, GET ") == true)
    }

    @Test("R35 an error thrown by the closure ends the chain")
    func throwing() async throws {
        struct Mine: Error {}
        let mine = RequestGroup { _ in throw Mine() }
        let refused = await failure { () throws(WherryError) in try await client.send(mine) }
        #expect(refused?.reason == "refused" && refused?.code == .cancelled)
        let ours = RequestGroup { previous in
            guard let previous else { return .request(Request("text/a")) }
            _ = try previous.response?.json()
            return .stop
        }
        let error = await failure { () throws(WherryError) in try await client.send(ours) }
        #expect(error?.reason == "bad_json_body")
        #expect(client.count() == 0)
    }

    @Test("R35 cancelling ends the complete chain, in a step and during the closure")
    func cancelling() async throws {
        var chain = RequestGroup(.chain)
        chain.add(Request("text/a?gate=g"))
        chain.add(Request("text/b"))
        let handle = try client.start(chain)
        try await scope.wait("requests=1")
        handle.cancel()
        let error = await failure { () throws(WherryError) in try await handle.value }
        #expect(error?.reason == "cancelled")

        let (thinking, thinks) = AsyncStream.makeStream(of: Void.self)
        let (endless, _) = AsyncStream.makeStream(of: Void.self)
        let slow = RequestGroup { _ in
            thinks.yield()
            for await _ in endless {}
            // The task is cancelled with the chain.
            let isCancelled = Task.isCancelled
            #expect(isCancelled)
            thinks.finish()
            return .request(Request("text/c"))
        }
        let task = Task { await failure { () throws(WherryError) in try await client.send(slow) } }
        for await _ in thinking {
            task.cancel()
            break
        }
        #expect(await task.value?.reason == "cancelled")
        for await _ in thinking {}
        #expect(client.wait() && client.count() == 0)
        #expect(try paths() == ["/text/a"])
    }

    @Test("R35 if a closure never returns, the hook times out and the added steps run")
    func tooSlow() async throws {
        let clock = ManualClock()
        let client = try makeClient(scope) {
            $0.clock = clock
            $0.hookTimeout = .seconds(30)
        }
        let (asked, asks) = AsyncStream.makeStream(of: Void.self)
        let (endless, _) = AsyncStream.makeStream(of: Void.self)
        var chain = RequestGroup { previous in
            asks.yield()
            if previous != nil { for await _ in endless {} }
            return .stop
        }
        chain.add(Request("text/a"))
        chain.add(Request("text/b"))
        let handle = try client.start(chain)
        var calls = asked.makeAsyncIterator()
        for _ in 0..<2 {
            _ = await calls.next()
            await client.settle(clock)
            clock.advance(by: .milliseconds(31_000))
        }
        #expect(try await handle.value.responses.count == 2)
        #expect(try paths() == ["/text/a", "/text/b"])
    }

    @Test("R35 ten thousand short steps need no deep stack")
    func many() async throws {
        let stub = StubServer()
        try stub.respond("http://h/*", json: [:])
        let client = try Client { $0.stubServer = stub }
        var chain = RequestGroup(.chain)
        for index in 0..<10_000 { chain.add(Request("http://h/\(index)")) }
        #expect(try await client.send(chain).members.count == 10_000)
        #expect(client.count() == 0)
    }
}
