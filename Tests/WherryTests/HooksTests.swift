// Wherry: tests of hooks made by closures
// SPDX-License-Identifier: Apache-2.0

import Testing
import Wherry
import WherrySystem

@Suite struct HooksTests {
    private let stub = StubServer()
    private let client: Client

    init() throws {
        let stub = stub
        stub.respond("https://example.org/moved", status: 302, headers: ["Location": "/new"])
        stub.respond("https://example.org/twice", status: 307, headers: ["Location": "/then"])
        stub.respond("*")
        // From now on the test moves the clock: no hook is late because the machine is slow.
        stub.advance(by: .zero)
        client = try Client {
            $0.stubServer = stub
            $0.baseURL = "https://example.org/"
        }
    }

    private struct Refusal: Error {}

    private func failure(_ body: () async throws(WherryError) -> Response) async -> WherryError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test("R31 every request reaches the closure before it is sent, and may be edited")
    func shown() async throws {
        try client.setHooks(
            .adapting { request in
                var request = request
                request.headers["X-Signature"] = "\(request.parameters.count)"
                if request.url.contains("/a?b=2") { request.parameters["extra"] = 1 }
                return request
            })
        _ = try await client.get("a", parameters: ["b": 2])
        _ = try await client.get("moved")
        #expect(
            stub.requests.map(\.url) == [
                "https://example.org/a?b=2&extra=1", "https://example.org/moved",
                "https://example.org/new",
            ])
        #expect(stub.requests.map { $0.headers["X-Signature"] } == ["1", "0", "0"])
        try client.setHooks(nil)
        _ = try await client.get("a")
        #expect(stub.requests.last?.headers["X-Signature"] == nil)
    }

    @Test("R31 after a redirect the body may be replaced, and is sent unchanged otherwise")
    func replaced() async throws {
        for (edit, expected) in [
            (nil, "[1]"), (.json(Bytes("[2]")), "[2]"), (Request.Body.none, ""),
            (.bytes(Bytes("raw"), contentType: "text/plain"), "raw"),
        ] as [(Request.Body?, String)] {
            let before = stub.requests.count
            var request = Request("twice", method: "POST")
            request.body = .json(Bytes("[1]"))
            _ = try await client.send(
                request,
                hooks: .adapting { request in
                    guard request.url.hasSuffix("/then"), let edit else { return request }
                    var request = request
                    request.body = edit
                    return request
                })
            let sent = stub.requests[before...]
            #expect(sent.map(\.body.text) == ["[1]", expected])
            #expect(sent.map(\.method) == ["POST", "POST"])
            let type: String? =
                switch expected {
                case "": nil
                case "raw": "text/plain"
                default: "application/json"
                }
            #expect(sent.last?.headers["content-type"] == type)
        }
    }

    @Test("R31 a closure that throws ends the request, and nothing is sent")
    func throwing() async throws {
        let error = await failure { () throws(WherryError) in
            try await client.send(Request("a"), hooks: .adapting { _ in throw Refusal() })
        }
        #expect(error?.code == .cancelled && error?.reason == "refused")
        #expect(error?.message.contains("Refusal") == true)
        #expect(stub.requests.isEmpty)
    }

    @Test("R31 an invalid edit ends the request")
    func unsendable() async throws {
        let error = await failure { () throws(WherryError) in
            try await client.send(
                Request("a"),
                hooks: .adapting { request in
                    var request = request
                    request.headers["X"] = "a\r\nb"
                    return request
                })
        }
        #expect(error?.reason == "bad_header")
        #expect(stub.requests.isEmpty)
    }

    @Test func `a request's own closures replace the client's`() async throws {
        try client.setHooks(.adapting { _ in throw Refusal() })
        _ = try await client.send(Request("moved"), hooks: .redirecting { $1 })
        _ = try await client.send(Request("a"), hooks: Hooks())
        #expect(stub.requests.count == 3)
    }

    @Test func `the blocking call cannot wait for closures and says so`() throws {
        try client.setHooks(.adapting { $0 })
        #expect(throws: WherryError.self) { try client.perform(Request("a")) }
    }

    @Test func `a closure is cancelled with its transfer`() async throws {
        let entered = AsyncStream.makeStream(of: Void.self)
        let cancelled = AsyncStream.makeStream(of: Bool.self)
        let client = client
        let task = Task {
            await failure { () throws(WherryError) in
                try await client.send(
                    Request("a"),
                    hooks: .adapting { request in
                        entered.continuation.yield()
                        await withTaskCancellationHandler {
                            // Ends only when the task is cancelled.
                            for await _ in AsyncStream<Void>.makeStream().stream {}
                        } onCancel: {
                            cancelled.continuation.yield(true)
                        }
                        return request
                    })
            }
        }
        for await _ in entered.stream { break }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        for await wasCancelled in cancelled.stream {
            #expect(wasCancelled)
            break
        }
        #expect(stub.requests.isEmpty)
    }

    @Test func `a hook that times out gets its default`() async throws {
        let entered = AsyncStream.makeStream(of: Void.self)
        var hooks = Hooks()
        hooks.adapt = { request in
            entered.continuation.yield()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            return request
        }
        let handle = try client.start(Request("a"), hooks: hooks)
        for await _ in entered.stream { break }
        #expect(handle.state == .waiting)
        stub.advance(by: .seconds(30))
        #expect(try await handle.value.status == 200)
    }
}
