// Wherry: acceptance tests of user names, passwords, and credential callbacks
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct AuthTests {
    private let scope: TestServer.Scope
    private let client: Client

    struct Answer: Decodable {
        let authenticated: Bool
        let scheme: String
        let size: Int
        let sha256: String
    }

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    private func request(
        _ path: String, _ credentials: Credentials?, method: String? = nil
    ) -> Request {
        var request = Request(path, method: method)
        request.credentials = credentials
        return request
    }

    /// The Authorization header of each request.
    private func fields(_ scope: TestServer.Scope? = nil) throws -> [String?] {
        try (scope ?? self.scope).requests().map { $0.header("authorization") }
    }

    @Test("R20 Basic is sent with the first request, for credentials of a request and of a client")
    func basic() async throws {
        let path = "auth/basic/skye/p%C3%A4ss"
        let answer = try await client.send(
            request("auth/basic/skye/päss", .basic("skye", "päss")), as: Answer.self)
        #expect(answer.authenticated)
        #expect(try fields() == ["Basic c2t5ZTpww6Rzcw=="])
        let own = try makeClient(scope) { $0.credentials = .basic("skye", "päss") }
        #expect(try await own.get(path).status == 200)
        try own.setCredentials(nil)
        #expect(
            await failure { () throws(WherryError) in try await own.get(path) }?.httpStatus == 401)
        // A header of the request takes precedence.
        try own.setCredentials(.basic("a", "b"))
        let echo = try await own.get("echo", headers: ["Authorization": "Own 1"]).decode(Echo.self)
        #expect(echo.values("authorization") == ["Own 1"])
    }

    @Test(
        "R20 Digest answers a challenge, and the next request does not wait for one",
        arguments: [
            "algorithm=MD5", "algorithm=SHA-256", "algorithm=MD5-sess", "algorithm=SHA-256-sess",
            "algorithm=MD5&qop=none", "qop=auth,auth-int", "opaque=a%2C%20b", "userhash=1",
            "next=1", "algorithm=SHA-512-256", "algorithm=SHA-512-256-sess", "weaker=MD5",
            "charset=UTF-8",
            "qop=auth-int", "qop=auth-int&algorithm=MD5-sess", "algorithm=MD5&userhash=1",
            "algorithm=SHA-512-256-sess&userhash=1&charset=UTF-8",
        ])
    func digest(query: String) async throws {
        let asked = request("auth/digest/skye/p?\(query)&x=a%20b", .digest("skye", "p"))
        for _ in 0..<3 {
            #expect(try await client.send(asked, as: Answer.self).scheme == "digest")
        }
        let seen = try scope.requests()
        #expect(seen.map(\.status) == [401, 200, 200, 200])
        #expect(seen[0].header("authorization") == nil)
        // All requests share one connection.
        #expect(Set(seen.map(\.connection)).count == 1)
        #expect(!seen.contains { $0.headers.description.contains("c2t5ZTpw") })
    }

    /// The test server computed SHA-512-256 as a truncated SHA-512, and Wherry refused the
    /// algorithm.
    @Test(
        "R20 Digest covers every kind of replayable body", arguments: ["MD5", "SHA-512-256"])
    func integrity(algorithm: String) async throws {
        let folder = try TemporaryFolder()
        let large = Bytes((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
        try Data(large.array).write(to: URL(fileURLWithPath: folder.file("a")))
        let path = "auth/digest/skye/p?qop=auth-int&algorithm=\(algorithm)"
        let bodies: [(Request.Body, Int)] = [
            (.none, 0), (.bytes(Bytes("hello"), contentType: nil), 5),
            (.bytes(large, contentType: nil), large.count),
            (.file(path: folder.file("a"), contentType: nil), large.count),
        ]
        for (body, size) in bodies {
            var asked = request(path, .digest("skye", "p"), method: "POST")
            asked.body = body
            #expect(try await client.send(asked, as: Answer.self).size == size)
        }
        var form = request(path, .digest("skye", "p"))
        form.add(.file("f", path: folder.file("a")))
        #expect(try await client.send(form, as: Answer.self).size > large.count)
        // The digest covers the body as it is sent.
        var coded = request(path, .digest("skye", "p"), method: "POST")
        coded.body = .bytes(Bytes(String(repeating: "a", count: 100_000)), contentType: nil)
        coded.bodyCoding = .gzip
        #expect(try await client.send(coded, as: Answer.self).size < 1000)
        #expect(try scope.requests().map(\.status) == [401] + Array(repeating: 200, count: 6))
    }

    @Test("R20 auth-int is refused for a body that can be read only once")
    func integrityOfStreams() async throws {
        let path = "auth/digest/skye/p?qop=auth-int"
        _ = try await client.send(request(path, .digest("skye", "p")))
        do {
            _ = try await client.send(
                request(path, .digest("skye", "p"), method: "POST"), body: Pieces(count: 3))
            Issue.record("A body that was not known was covered by a digest")
        } catch let error as WherryError {
            #expect(error.reason == "body_spent" && error.message.contains("qop=auth-int"))
            #expect(error.message.contains(scope.url("/").prefix(20)))
        }
        #expect(try scope.requests().count == 2)
    }

    @Test(
        "R20 a name that is not ASCII is sent by RFC 7616, hashed or extended",
        arguments: ["", "&userhash=1"])
    func internationalNames(query: String) async throws {
        let asked = request(
            "auth/digest/J%C3%A4s%C3%B8n%20Doe/p%C3%A4?charset=UTF-8\(query)",
            .digest("Jäsøn Doe", "pä"))
        #expect(try await client.send(asked, as: Answer.self).authenticated)
        let field = try #require(try fields().last ?? nil)
        #expect(field.contains("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe") == query.isEmpty)
    }

    @Test("R20 a .netrc file supplies credentials for hosts, also after redirects")
    func netrc() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("netrc")
        let text =
            "machine 127.0.0.1 login here password p1\nmachine localhost login there password p2\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        let client = try makeClient(scope) { $0.netrc = file }
        #expect(
            try await client.echo(Request("echo")).values("authorization") == ["Basic aGVyZTpwMQ=="]
        )
        let away = "redirect-to?url=\(scope.url("/echo", host: "localhost"))"
        #expect(
            try await client.echo(Request(away)).values("authorization") == ["Basic dGhlcmU6cDI="])
        let download = folder.file("a")
        _ = try await client.download(Request("bytes/1000"), to: download).value
        #expect(try fields().last == "Basic aGVyZTpwMQ==")
        // Explicit settings of the program take precedence.
        var own = Request("echo")
        own.headers["Authorization"] = "Own 1"
        #expect(try await client.echo(own).values("authorization") == ["Own 1"])
        own.headers.suppress("Authorization")
        #expect(try await client.echo(own).values("authorization").isEmpty)
        #expect(
            try await client.echo(request("echo", .basic("a", "b"))).values("authorization") == [
                "Basic YTpi"
            ])
        let token = try makeClient(scope) {
            $0.netrc = file
            $0.bearerToken = "t"
        }
        #expect(try await token.echo(Request("echo")).values("authorization") == ["Bearer t"])
        #expect(
            try await token.echo(Request(away)).values("authorization") == ["Basic dGhlcmU6cDI="])
        // The file is read once, and not at all by default.
        try Data("machine 127.0.0.1 login other password p3".utf8).write(
            to: URL(fileURLWithPath: file))
        #expect(
            try await client.echo(Request("echo")).values("authorization") == ["Basic aGVyZTpwMQ=="]
        )
        #expect(try await self.client.echo(Request("echo")).values("authorization").isEmpty)
        #expect(try !client.curlCommand(of: Request("echo")).contains("p1"))
    }

    @Test(
        "R20 a missing or damaged .netrc file is an error of the new client, with its line")
    func badNetrc() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("netrc")
        let missing = await failure { () throws(WherryError) in try Client { $0.netrc = file } }
        #expect(missing?.reason == "no_file" && missing?.message.contains(file) == true)
        try Data("machine h.org login a\npasword s3cret".utf8).write(to: URL(fileURLWithPath: file))
        let damaged = await failure { () throws(WherryError) in try Client { $0.netrc = file } }
        #expect(damaged?.reason == "bad_value")
        #expect(damaged?.message.hasPrefix("Could not parse \(file), line 2: ") == true)
        #expect(damaged?.message.contains("s3cret") == false)
        try makeClient { $0.netrc = "" }.close()
        let live = await failure { [client] () throws(WherryError) in
            try client.configure { $0.netrc = file }
        }
        #expect(live?.reason == "bad_option")
        let session = await failure { () throws(WherryError) in
            try BackgroundSession("netrc-\(scope.key)") { $0.netrc = file }
        }
        #expect(session?.reason == "bad_option")
    }

    @Test("R20 a stale nonce is replaced without involving the caller")
    func stale() async throws {
        let asked = request("auth/digest/skye/p?uses=2", .digest("skye", "p"))
        for _ in 0..<6 { #expect(try await client.send(asked).status == 200) }
        #expect(
            try scope.requests().map(\.status) == [401, 200, 200, 401, 200, 200, 401, 200, 200])
    }

    @Test("R20 many concurrent requests count the uses of one nonce, each once")
    func parallel() async throws {
        let asked = request("auth/digest/skye/p", .digest("skye", "p"))
        _ = try await client.send(asked)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<40 { group.addTask { [client] in try await client.send(asked).status } }
            for try await status in group { #expect(status == 200) }
        }
        // The server refuses a repeated count.
        #expect(try scope.requests().filter { $0.status == 401 }.count == 1)
    }

    @Test("R20 a wrong password is tried once, and the 401 is the response")
    func wrong() async throws {
        for credentials in [Credentials.digest("skye", "no"), .basic("skye", "no")] {
            let scope = try TestServer.shared.scope()
            let client = try makeClient(scope)
            let kind = credentials.scheme == .digest ? "digest" : "basic"
            let asked = request("auth/\(kind)/skye/p", credentials)
            let error = await failure { () throws(WherryError) in try await client.send(asked) }
            #expect(error?.httpStatus == 401 && error?.response?.body.isEmpty == false)
            #expect(try scope.requests().count == (kind == "digest" ? 2 : 1))
        }
    }

    @Test("R20 automatic choice prefers Digest to Basic, and uses Basic if nothing else is offered")
    func anyScheme() async throws {
        let any = Credentials(user: "skye", password: "p")
        let digest = try await client.send(
            request("auth/digest/skye/p?also=Basic", any), as: Answer.self)
        #expect(digest.scheme == "digest")
        let basic = try await client.send(
            request("auth/basic/skye/p?also=Negotiate", any), as: Answer.self)
        #expect(basic.scheme == "basic")
        let seen = try fields()
        #expect(seen[0] == nil)
        #expect(!seen[..<3].contains { $0?.hasPrefix("Basic") == true })
        // A digest password is never sent as Basic.
        let refused = await failure { [client] () throws(WherryError) in
            try await client.send(request("auth/basic/skye/p", .digest("skye", "p")))
        }
        #expect(refused?.httpStatus == 401)
        #expect(try fields().last == .some(nil))
    }

    @Test("R20 SEC-U3 credentials stay with their origin, unless the request says otherwise")
    func origins() async throws {
        let other = try TestServer()
        defer { other.stop() }
        let target = other.scope()
        let away = "redirect-to?url=\(target.url("/echo"))"
        for (credentials, keeps) in [
            (Credentials.basic("skye", "p"), false), (.basic("skye", "p"), true),
            (.digest("skye", "p"), false),
        ] {
            try target.reset()
            var asked = request(away, credentials)
            asked.keepsAuthAcrossHosts = keeps
            #expect(try await client.send(asked).status == 200)
            #expect(try fields(target).map { $0 != nil } == [keeps])
        }
        // Digest credentials do not answer the challenge of another origin either.
        let asked = request(
            "redirect-to?url=\(target.url("/auth/digest/skye/p"))", .digest("skye", "p"))
        let error = await failure { () throws(WherryError) in try await client.send(asked) }
        #expect(error?.httpStatus == 401)
        #expect(try fields(target).last == .some(nil))
        // The other origin's credentials are sent there only.
        try target.reset()
        try scope.reset()
        try client.setCredentials(.basic("there", "p"), for: target.url("/x"))
        #expect(try await client.send(Request(away)).status == 200)
        #expect(try fields(target) == ["Basic dGhlcmU6cA=="] && fields() == [nil])
    }

    @Test("R20 a credentials callback supplies credentials, retries refused ones, or denies")
    func challenges() async throws {
        let asked = Request("auth/digest/skye/p")
        let failures = Guarded<[Int]>([])
        let response = try await client.send(
            asked,
            hooks: .authenticating { challenge in
                #expect(challenge.realm == "wherry" && challenge.scheme == .digest)
                #expect(challenge.response.status == 401 && !challenge.response.body.isEmpty)
                failures.withLock { $0.append(challenge.previousFailures) }
                return Credentials(
                    user: "skye", password: challenge.previousFailures < 2 ? "no" : "p")
            })
        #expect(response.status == 200 && failures.withLock { $0 } == [0, 1, 2])

        let none = await failure { () throws(WherryError) in
            try await client.send(asked, hooks: .authenticating { _ in nil })
        }
        #expect(none?.reason == "http_status" && none?.response?.body.isEmpty == false)
        struct Denied: Error {}
        let denied = await failure { () throws(WherryError) in
            try await client.send(asked, hooks: .authenticating { _ in throw Denied() })
        }
        #expect(denied?.reason == "refused" && denied?.code == .cancelled)
        // A callback that always returns the same credentials is not called endlessly.
        let count = Guarded(0)
        let endless = await failure { () throws(WherryError) in
            try await client.send(
                asked,
                hooks: .authenticating { _ in
                    count.withLock { $0 += 1 }
                    return .digest("skye", "no")
                })
        }
        #expect(endless?.httpStatus == 401 && count.withLock { $0 } == 8)
    }

    /// The credentials of the first request were sent to later redirects.
    @Test("R20 R31 a callback before an attempt may change the credentials")
    func adapted() async throws {
        let changes: [(@Sendable (inout Request) -> Void, String?)] = [
            ({ $0.credentials = .basic("b", "b") }, "Basic Yjpi"),
            ({ $0.bearerToken = "t" }, "Bearer t"),
            ({ $0.headers["Authorization"] = "Own 1" }, "Own 1"),
            ({ $0.credentials = nil }, nil),
            ({ $0.headers["X-Other"] = "1" }, "Basic YTph"),
        ]
        for (change, expected) in changes {
            try scope.reset()
            let hops = Guarded(0)
            var hooks = Hooks()
            hooks.adapt = { request in
                var request = request
                if hops.withLock({
                    $0 += 1; return $0
                }) == 2 {
                    change(&request)
                }
                return request
            }
            _ = try await client.send(
                request("redirect-to?url=\(scope.url("/echo"))", .basic("a", "a")),
                hooks: hooks)
            #expect(try fields() == ["Basic YTph", expected])
        }
    }

    // Only attempts after a failure and with a new token were counted.
    @Test("R20 an attempt that answers a challenge counts as a retry")
    func counted() async throws {
        let digest = try await client.send(
            request("auth/digest/skye/p", .digest("skye", "p")))
        #expect(digest.metrics.retries == 1)
        // The nonce is known now.
        let known = try await client.send(
            request("auth/digest/skye/p", .digest("skye", "p")))
        #expect(known.metrics.retries == 0)
        let asked = try await client.send(
            Request("auth/basic/skye/p"),
            hooks: .authenticating { _ in .basic("skye", "p") })
        #expect(asked.metrics.retries == 1)
        let redirected = try await client.send(Request("redirect/2"))
        #expect(redirected.metrics.redirects == 2 && redirected.metrics.retries == 0)
    }

    @Test("R20 R31 changing credentials before each attempt adds no attempts")
    func rotated() async throws {
        let attempts = Guarded(0)
        var hooks = Hooks()
        hooks.adapt = { request in
            var request = request
            let number = attempts.withLock {
                $0 += 1; return $0
            }
            request.credentials = Credentials(user: "skye", password: "wrong \(number)")
            return request
        }
        let error = await failure { [hooks] () throws(WherryError) in
            try await client.send(Request("auth/digest/skye/p"), hooks: hooks)
        }
        #expect(error?.httpStatus == 401)
        #expect(try scope.requests().count == 5)
    }

    @Test("R20 a streamed response begins after the 401")
    func streamed() async throws {
        let answer = try await client.stream(request("auth/digest/skye/p", .digest("skye", "p")))
        var body: [UInt8] = []
        for try await piece in answer.body { body += Array(piece) }
        #expect(answer.head.status == 200)
        #expect(try JSONDecoder().decode(Answer.self, from: Data(body)).authenticated)
    }

    @Test("R20 a download sends credentials, also with several connections and a digest")
    func downloads() async throws {
        let folder = try TemporaryFolder()
        try scope.script(
            "guarded",
            #"[{"status": 401, "headers": [["WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""]]}, {"json": {"a": 1}}]"#
        )
        var asked = request("s/guarded", .digest("skye", "p"))
        _ = try await client.download(asked, to: folder.file("a")).value
        #expect(try folder.contents("a").count > 5)
        let seen = try fields()
        #expect(seen.count == 2 && seen[0] == nil && seen[1]?.hasPrefix("Digest ") == true)
        asked = request("bytes/1000", .basic("skye", "p"))
        _ = try await client.download(asked, to: folder.file("b")).value
        #expect(try fields().last == "Basic c2t5ZTpw")
    }

    @Test("R20 SEC-S1 neither errors nor debug output contain the password")
    func secrets() async throws {
        let asked = request("auth/basic/skye/p", .basic("skye", "s3cret"))
        let error = try #require(
            await failure { () throws(WherryError) in try await client.send(asked) })
        let told = "\(error) \(String(reflecting: error)) \(asked)"
        #expect(!told.contains("s3cret") && !told.contains("czNjcmV0"))
    }

    // MARK: Replayed bodies

    @Test("U13 the complete body is sent again after a digest 401: bytes, a file, a form, images")
    func replayed() async throws {
        let folder = try TemporaryFolder()
        let bytes = TestPattern.bytes(count: 700_000)
        try Data(bytes).write(to: URL(fileURLWithPath: folder.file("body")))
        let picture = try Image.pixels(
            Array(repeating: 77, count: 64 * 48 * 3), .rgb8, width: 64, height: 48)
        let bodies: [(Request.Body, Int?)] = [
            (.bytes(Bytes(bytes), contentType: nil), bytes.count),
            (.bytes(Bytes("small"), contentType: "text/plain"), 5),
            (.file(path: folder.file("body"), contentType: nil), bytes.count),
            (.form([.init("a", "1")]), 3),
            (.multipart([.field("a", "1"), .file("f", path: folder.file("body"))]), nil),
            (.multipart([.image("photo", picture, Compression())]), nil),
        ]
        for (index, (body, size)) in bodies.enumerated() {
            // A separate client, which has no nonce yet.
            let scope = try TestServer.shared.scope()
            let client = try makeClient(scope)
            var asked = request("auth/digest/skye/p", .digest("skye", "p"), method: "POST")
            asked.body = body
            let answer = try await client.send(asked, as: Answer.self)
            let seen = try scope.requests()
            #expect(seen.map(\.status) == [401, 200], "\(index)")
            #expect(answer.size == size ?? seen[0].received && answer.size > 0, "\(index)")
            if size == bytes.count {
                #expect(answer.sha256 == Digest.hash(of: bytes, .sha256).hex, "\(index)")
            }
        }
    }

    @Test("U13 a stream that can restart is sent again after a digest 401 and after a redirect")
    func rewound() async throws {
        // More than the buffered amount.
        let pieces = 40
        let size = 50_000
        let whole = (0..<pieces).flatMap { piece in
            [UInt8](repeating: UInt8(truncatingIfNeeded: pieces - 1 - piece), count: size)
        }
        let expected = Digest.hash(of: whole, .sha256).hex
        for length in [Int64(pieces * size), nil] {
            for path in ["auth/digest/skye/p", "redirect-to?status=307&url=\(scope.url("/sink"))"] {
                let made = Guarded(0)
                let scope = try TestServer.shared.scope()
                let client = try makeClient(scope)
                let response = try await client.send(
                    request(path, .digest("skye", "p"), method: "POST"), length: length,
                    rewindableBody: {
                        made.withLock { $0 += 1 }
                        return Pieces(count: pieces, size: size)
                    })
                let body = String(decoding: response.body, as: UTF8.self)
                #expect(body.contains(expected), "\(path) \(body)")
                #expect(made.withLock { $0 } == 2, "\(path)")
            }
        }
    }

    @Test("U13 a stream that cannot restart ends with a clear error")
    func spent() async throws {
        do {
            _ = try await client.send(
                request("auth/digest/skye/p", .digest("skye", "p"), method: "POST"),
                body: Pieces(count: 3))
            Issue.record("A body from a sequence was sent twice")
        } catch let error as WherryError {
            #expect(error.reason == "body_spent" && error.code == .http && error.httpStatus == 401)
            #expect(error.message.contains("stream"))
        }
        #expect(try scope.requests().count == 1)
        // With a known nonce, it succeeds.
        _ = try await client.send(request("auth/digest/skye/p", .digest("skye", "p")))
        let response = try await client.send(
            request("auth/digest/skye/p", .digest("skye", "p"), method: "POST"),
            body: Pieces(count: 3))
        #expect(response.status == 200)
    }
}

extension [UInt8] {
    fileprivate var hex: String { map { String(format: "%02x", $0) }.joined() }
}
