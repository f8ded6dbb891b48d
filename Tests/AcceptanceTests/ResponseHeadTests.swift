// Wherry: acceptance tests of reporting response headers: exactly once
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import WherrySystem

import Wherry
@testable import WherryAsync

@Suite struct ResponseHeadTests {
    private let stub = StubServer()
    private let url = "http://h.invalid/a"

    private func client(
        _ configure: (inout Client.Configuration) -> Void = { _ in }
    ) throws -> Client {
        try Client {
            $0.stubServer = stub
            configure(&$0)
        }
    }

    private func request(
        _ url: String, _ hooks: HookSet = [], isStreamed: Bool = false
    ) -> Request {
        var request = Request(url)
        request.set(.wantHeaders, 1)
        request.isStreamed = isStreamed
        request.hooks = hooks
        return request
    }

    /// The reports for a response with that body: a stream's body arrives in chunks, not at the
    /// end.
    private func told(
        _ status: Int, _ body: String, _ end: String = "ok", isStreamed: Bool
    ) -> [String] {
        isStreamed
            ? ["head \(status)", "body \(body)", "done \(status)  \(end)"]
            : ["head \(status)", "done \(status) \(body) \(end)"]
    }

    @Test("R29 only the headers of the final attempt are reported", arguments: [false, true])
    func attempts(isStreamed: Bool) async throws {
        stub.respond(url, times: 2, status: 503, body: Bytes("no"))
        stub.respond(url, body: Bytes("at last"))
        let client = try client()
        let asked = request(url, .retry, isStreamed: isStreamed)
        let first = HeadListener { _ in .again(false, after: nil) }
        _ = try client.send(asked, observer: first)
        #expect(await first.told == told(503, "no", "http_status", isStreamed: isStreamed))
        let second = HeadListener { _ in .again(true, after: 0) }
        _ = try client.send(asked, observer: second)
        #expect(await second.told == told(200, "at last", isStreamed: isStreamed))
        #expect(stub.requests.count == 3)
    }

    /// The request was retried, and its headers were reported twice.
    @Test("R29 a response whose headers were reported is not retried", arguments: [false, true])
    func broken(isStreamed: Bool) async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope)
        var asked = request("bytes/8?cut=0&times=1", .retry, isStreamed: isStreamed)
        let calls = Guarded(0)
        let listener = HeadListener { _ in
            calls.withLock { $0 += 1 }
            return .again(true, after: 0)
        }
        _ = try client.send(asked, observer: listener)
        #expect(await listener.told == ["head 200", "done 200  truncated"])
        #expect(calls.withLock { $0 } == 0)
        // An attempt without observers has reported nothing.
        try scope.reset()
        asked.set(.wantHeaders, 0)
        let quiet = HeadListener { _ in .again(true, after: 0) }
        _ = try client.send(asked, observer: quiet)
        #expect(await quiet.told.last?.hasSuffix("ok") == true)
        #expect(try scope.requests().map(\.status) == [200, 200])
    }

    @Test(
        "R19 a redirect that is not followed is reported as the response", arguments: [false, true])
    func redirect(isStreamed: Bool) async throws {
        stub.respond(url, status: 302, headers: ["Location": "/b"], body: Bytes("there"))
        stub.respond("http://h.invalid/b", body: Bytes("here"))
        let client = try client()
        for (follows, expected) in [
            (false, told(302, "there", "http_status", isStreamed: isStreamed)),
            (true, told(200, "here", isStreamed: isStreamed)),
        ] {
            let listener = HeadListener { _ in .follow(follows) }
            _ = try client.send(
                request(url, .redirect, isStreamed: isStreamed), observer: listener)
            #expect(await listener.told == expected)
        }
    }

    /// It was not reported if the callback declined it.
    @Test("R20 a final 401 after a callback is reported", arguments: [false, true])
    func credentials(isStreamed: Bool) async throws {
        stub.respond(
            url, times: 2, status: 401, headers: ["WWW-Authenticate": "Basic realm=r"],
            body: Bytes("who?"))
        stub.respond(url, body: Bytes("you"))
        let client = try client()
        let asked = request(url, .credentials, isStreamed: isStreamed)
        let declining = HeadListener { _ in .standard }
        _ = try client.send(asked, observer: declining)
        #expect(await declining.told == told(401, "who?", "http_status", isStreamed: isStreamed))
        let naming = HeadListener { _ in .credentials(.basic("a", "b")) }
        _ = try client.send(asked, observer: naming)
        #expect(await naming.told == told(200, "you", isStreamed: isStreamed))
    }

    /// It was not reported if 401 counts as success.
    @Test("R32 a final 401 without a new token is reported", arguments: [false, true])
    func token(isStreamed: Bool) async throws {
        stub.respond(url, status: 401, body: Bytes("stale"))
        let client = try client()
        for accepts in [false, true] {
            var asked = request(url, .token, isStreamed: isStreamed)
            if accepts { asked.acceptedStatus = [401] }
            let listener = HeadListener { _ in .token(nil) }
            _ = try client.send(asked, observer: listener)
            let end = accepts ? "ok" : "http_status"
            #expect(await listener.told == told(401, "stale", end, isStreamed: isStreamed))
        }
    }

    /// The 401 was reported, and then the response with credentials.
    @Test("K15 R20 the HTTP cache also reports headers once, from the network or the cache")
    func cached() async throws {
        let folder = try TemporaryFolder()
        let client = try client {
            $0.storageDirectory = folder.file("storage")
            $0.usesHTTPCache = true
        }
        let fields: Headers = ["Cache-Control": "max-age=0", "ETag": "\"1\""]
        stub.respond(url, times: 1, headers: fields, body: Bytes("stored"))
        stub.respond(
            url, times: 2, status: 401, headers: ["WWW-Authenticate": "Basic realm=r"],
            body: Bytes("who?"))
        stub.respond(url, times: 1, headers: fields, body: Bytes("new"))
        stub.respond(url, status: 304, headers: fields)
        let answers: [(HookCall.Resolution, [String])] = [
            (.standard, told(200, "stored", isStreamed: false)),
            (.standard, told(401, "who?", "http_status", isStreamed: false)),
            (.credentials(.basic("a", "b")), told(200, "new", isStreamed: false)),
        ]
        for (resolution, expected) in answers {
            let listener = HeadListener { _ in resolution }
            _ = try client.send(request(url, .credentials), observer: listener)
            #expect(await listener.told == expected)
        }
        var asked = request(url)
        asked.credentials = .basic("a", "b")
        for policy in [nil, CachePolicy.anyAge] {
            asked.cachePolicy = policy
            let listener = HeadListener()
            _ = try client.send(asked, observer: listener)
            #expect(await listener.told == told(200, "new", isStreamed: false))
        }
        #expect(stub.requests.count == 5)
        for isStreamed in [false, true] {
            var asked = request("http://h.invalid/nowhere", isStreamed: isStreamed)
            asked.headers["Cache-Control"] = "only-if-cached"
            let listener = HeadListener()
            _ = try client.send(asked, observer: listener)
            #expect(await listener.told == ["head 504", "done 504  http_status"])
        }
    }

    @Test("R19 a redirect without a target is not a response, and is not reported")
    func refused() async throws {
        stub.respond(url, status: 302, headers: ["Location": "ftp://h.invalid/"])
        let listener = HeadListener()
        _ = try client().send(request(url), observer: listener)
        #expect(await listener.told == ["done 302  redirect_refused"])
    }
}

/// Records the reports for a response, and makes the hooks.
private final class HeadListener: TransferObserver {
    private let notes = AsyncMonitor<[String]>([])
    private let resolution: @Sendable (HookCall.Kind) -> HookCall.Resolution

    init(
        _ resolution: @escaping @Sendable (HookCall.Kind) -> HookCall.Resolution = { _ in .standard
        }
    ) {
        self.resolution = resolution
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .headers(let response): note("head \(response.status)\(response.text)")
        case .body(let piece): note("body \(piece.bytes.text)")
        case .hook(let call):
            do {
                try call.resolve(resolution(call.kind))
            } catch {
                note("\(error)")
            }
        case .done(let outcome):
            let response = outcome.response
            let end = outcome.error?.reason ?? "ok"
            note("done \(response?.status ?? 0) \(response?.text ?? "") \(end)")
        default: break
        }
    }

    private func note(_ text: String) { notes.update { $0.append(text) } }

    /// All reports, once it has ended.
    var told: [String] {
        get async {
            await notes.wait { $0.last?.hasPrefix("done") == true ? $0 : nil } ?? []
        }
    }
}
