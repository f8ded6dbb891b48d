// Wherry: acceptance tests of configuration
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct ConfigurationTests {
    private let scope: TestServer.Scope

    init() throws { scope = try TestServer.shared.scope() }

    // MARK: C1, C6: timeouts, with a clock moved by the test

    /// A client with the default timeouts.
    private func standardClient(_ clock: ManualClock) throws -> Client {
        try makeClient(scope) {
            $0.clock = clock
            $0.idleTimeout = Client.Configuration().idleTimeout
            $0.firstByteTimeout = Client.Configuration().firstByteTimeout
        }
    }

    @Test("C1 a changed setting applies to requests started after it")
    func liveChange() async throws {
        let clock = ManualClock()
        let client = try standardClient(clock)
        let patient = try client.start(Request("silent?n=1"))
        try client.setIdleTimeout(.seconds(1))
        let quick = try client.start(Request("silent?n=2"))
        try await scope.wait("requests=2")

        clock.advance(by: .milliseconds(1000))

        let error = await failure { () throws(WherryError) in try await quick.value }
        #expect(error?.reason == "idle_timeout" && error?.code == .timeout)
        #expect(patient.state == .running)
        patient.cancel()
    }

    @Test("C6 silence for 20 seconds ends a request, and no sooner")
    func idleTimeout() async throws {
        let clock = ManualClock()
        let client = try standardClient(clock)
        let handle = try client.start(Request("silent"))
        try await scope.wait("requests=1")

        clock.advance(by: .milliseconds(19_900))
        // A round trip through the loop: everything due by now has happened.
        _ = try await client.get("echo")
        #expect(handle.state == .running)
        clock.advance(by: .milliseconds(200))

        let error = await failure { () throws(WherryError) in try await handle.value }
        #expect(error?.reason == "idle_timeout")
        #expect(error?.isRetryable == true)
    }

    @Test("C6 an occasional byte keeps a request alive")
    func drip() async throws {
        let clock = ManualClock()
        let client = try standardClient(clock)
        let gates = (0..<6).map { #"["bytes", 10, 1, \#($0 * 10)], ["gate", "g\#($0)"]"# }
        try scope.script(
            "drip",
            #"[{"raw": [["send", "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n"], \#(gates.joined(separator: ", ")), ["keep"]]}]"#
        )
        let body = try await client.stream(Request("s/drip")).body
        var received = 0
        for try await piece in body {
            received += piece.count
            // Fifteen seconds of silence, six times: ninety in total.
            clock.advance(by: .milliseconds(15_000))
            try scope.open(gate: "g\(received / 10 - 1)")
        }
        #expect(received == 60)
    }

    @Test("C6 a total timeout covers the complete request")
    func deadline() async throws {
        let clock = ManualClock()
        let client = try standardClient(clock)
        var request = Request("bytes/100000?hold=50000&gate=never")
        request.totalTimeout = .seconds(3)
        let stream = try await client.stream(request)
        clock.advance(by: .milliseconds(3000))
        let error = await failure { () throws(WherryError) in
            for try await _ in stream.body {}
        }
        #expect(error?.reason == "total_timeout")
    }

    @Test("C6 the request's timeout overrides the client's")
    func ownTimeout() async throws {
        let clock = ManualClock()
        let client = try makeClient(scope) {
            $0.clock = clock
            $0.idleTimeout = .seconds(5)
        }
        var request = Request("silent?n=1")
        request.idleTimeout = .seconds(60)
        let patient = try client.start(request)
        let quick = try client.start(Request("silent?n=2"))
        try await scope.wait("requests=2")
        clock.advance(by: .milliseconds(5000))
        let error = await failure { () throws(WherryError) in try await quick.value }
        #expect(error?.reason == "idle_timeout")
        #expect(patient.state == .running)
        patient.cancel()
    }

    // MARK: C2 to C5: base URLs and parameters

    @Test("C2 one rule joins URLs of requests")
    func joins() async throws { try await proveJoins(with: .none) }

    @Test("C3 a request can ignore the base, and its identifier changes too")
    func ignoreBase() async throws {
        let client = try makeClient { $0.baseURL = "http://127.0.0.1:1/v1" }
        var request = Request(scope.url("/echo"))
        request.ignoresBase = true
        #expect(try await client.echo(request).path == "/echo")
        let none = "507e6fd9699c311e1e11850905939715_"
        #expect(try client.identifier(of: request).hasPrefix(none))
        request.ignoresBase = false
        #expect(try !client.identifier(of: request).hasPrefix(none))
        request.url = "echo"
        request.ignoresBase = true
        let relative = request
        let error = await failure { () throws(WherryError) in try await client.send(relative) }
        #expect(error?.reason == "bad_url")
    }

    @Test("C4 bases are selected by name, and an unknown name sends nothing")
    func namedBases() async throws {
        let scopes = try (0..<3).map { _ in try TestServer.shared.scope() }
        let client = try makeClient(scopes[0]) {
            $0.bases = ["upload": scopes[1].url("/echo/up"), "cdn": scopes[2].url("/echo/cdn")]
        }
        var request = Request("x")
        request.base = "upload"
        #expect(try await client.echo(request).path == "/echo/up/x")
        request.base = "cdn"
        #expect(try await client.echo(request).path == "/echo/cdn/x")
        request = Request("echo/x")
        #expect(try await client.echo(request).path == "/echo/x")
        #expect(try scopes.map { try $0.requests().count } == [1, 1, 1])
        request.base = "nowhere"
        let unknown = request
        let error = await failure { () throws(WherryError) in try await client.send(unknown) }
        #expect(error?.code == .argument && error?.reason == "not_found")
        #expect(try scopes.map { try $0.requests().count } == [1, 1, 1])
        try client.setBaseURL(scopes[2].url("/echo/late"), named: "nowhere")
        #expect(try await client.echo(request).path == "/echo/late/echo/x")
    }

    @Test("C4 the client tries the next base only if no connection is possible")
    func nextBase() async throws {
        let client = try makeClient {
            $0.bases = [
                "down": "http://127.0.0.1:1/", "up": self.scope.url("/echo/up"),
                "refuses": self.scope.url("/status/503"),
            ]
            $0.headers["Authorization"] = "Bearer t"
        }
        var request = Request("x", method: "POST")
        request.body = .bytes(Bytes("abc"), contentType: "text/plain")
        request.bases = ["down", "down", "up"]
        let echo = try await client.echo(request)
        #expect(echo.path == "/echo/up/x" && echo.text == "abc")
        #expect(echo.values("Authorization") == ["Bearer t"])
        request.bases = ["down", "down"]
        let unreachable = request
        let error = await failure { () throws(WherryError) in try await client.send(unreachable) }
        #expect(error?.reason == "connect")
        // A server may have processed a sent request, so it is not sent again.
        request.url = ""
        request.bases = ["refuses", "up"]
        let refused = request
        let refusal = await failure { () throws(WherryError) in try await client.send(refused) }
        #expect(refusal?.httpStatus == 503)
        #expect(try scope.requests().count == 2)
        // All names are checked when the request is sent.
        request.bases = ["up", "nowhere"]
        let unknown = request
        let early = await failure { () throws(WherryError) in try await client.send(unknown) }
        #expect(early?.reason == "not_found")
        #expect(try scope.requests().count == 2)
    }

    @Test("C4 the callback before an attempt is called again for the next base")
    func nextBaseIsAsked() async throws {
        let client = try makeClient {
            $0.bases = ["down": "http://127.0.0.1:1/", "up": self.scope.url("/echo/up")]
        }
        var request = Request("x")
        request.bases = ["down", "up"]
        let asked = Guarded<[[String]]>([])
        let hooks = Hooks.adapting { request in
            asked.withLock { $0.append(request.bases) }
            return request
        }
        let response = try await client.send(request, hooks: hooks)
        #expect(response.status == 200)
        // The attempt at the first base was not counted.
        #expect(response.metrics.retries == 1)
        #expect(asked.withLock { $0 } == [["down", "up"], ["up"]])
    }

    @Test("C5 the request's parameters override default parameters")
    func defaultParameters() async throws {
        let client = try makeClient(scope) { $0.parameters = ["token": "t", "a": "default"] }
        var request = Request("echo", method: "GET")
        request.parameters = ["a": "own"]
        #expect(try await client.echo(request).rawQuery == "a=own&token=t")
        request.method = "POST"
        #expect(
            try JSON(parsing: try await client.echo(request).text)
                == ["a": "own", "token": "t"])
        request.parameters = [:]
        #expect(
            try JSON(parsing: try await client.echo(request).text)
                == ["a": "default", "token": "t"])
        // They are not part of the identifier and can be left out. With an explicit body they are
        // added to the query.
        #expect(
            try client.identifier(of: request)
                == makeClient(scope).identifier(of: request))
        request.usesDefaultParameters = false
        #expect(try await client.echo(request).size == 0)
        request.usesDefaultParameters = true
        request.body = .json(Bytes("[1]"))
        let beside = try await client.echo(request)
        #expect(beside.text == "[1]" && beside.rawQuery == "a=default&token=t")
        request.body = .none
        try client.setParameter("token", nil)
        try client.setParameter("b", 2)
        request = Request("echo", method: "GET")
        #expect(try await client.echo(request).rawQuery == "a=default&b=2")
    }

    // The edit had no effect: the value of the request before it stayed.
    @Test("C5 an edit can turn the default parameters off and on", arguments: [true, false])
    func editedDefaultParameters(isOn: Bool) async throws {
        let client = try makeClient(scope) { $0.parameters = ["a": "default"] }
        var request = Request("echo", method: "GET")
        request.usesDefaultParameters = !isOn
        let hooks = Hooks.adapting { request in
            var request = request
            request.usesDefaultParameters = isOn
            return request
        }
        let echo = try await client.echo(request, hooks: hooks)
        #expect(echo.rawQuery == (isOn ? "a=default" : ""))
    }

    // MARK: C7 to C9

    @Test("C7 debugging prints nothing while off, and can be switched at any time")
    func debugging() async throws {
        let quiet = try await #require(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) {
            try await ConfigurationTests.talk(debugging: false)
        }
        #expect(quiet.standardErrorContent.isEmpty)
        let loud = try await #require(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) {
            try await ConfigurationTests.talk(debugging: true)
        }
        let text = String(decoding: loud.standardErrorContent, as: UTF8.self)
        #expect(text.contains("Start requesting...") && text.contains("Request succeed!"))
        #expect(text.contains("/echo/loud") && !text.contains("/echo/quiet"))
        #expect(!text.contains("secret"))
    }

    static func talk(debugging: Bool) async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope) { $0.bearerToken = "secret-token" }
        _ = try await client.get("echo/quiet?password=secret")
        try client.setDebugging(debugging)
        _ = try await client.get("echo/loud?password=secret")
        _ = await failure { () throws(WherryError) in try await client.get("status/500") }
        try client.setDebugging(false)
        _ = try await client.get("echo/quiet?password=secret")
        client.close()
    }

    @Test("C8 headers are added, replaced, read, removed, and cleared, case-insensitively")
    func headers() async throws {
        let client = try makeClient(scope)
        try client.setHeader("X-Token", "one")
        #expect(try await client.echo(Request("echo")).values("x-token") == ["one"])
        try client.setHeader("x-tOKEN", "two")
        #expect(client.headers["X-TOKEN"] == "two" && client.headers.count == 1)
        #expect(try await client.echo(Request("echo")).values("x-token") == ["two"])
        try client.setHeader("X-TOKEN", nil)
        #expect(try await client.echo(Request("echo")).values("x-token").isEmpty)
        try client.setHeader("A", "1")
        try client.setHeader("B", "2")
        try client.removeHeaders()
        #expect(client.headers.isEmpty)
        #expect(try await client.echo(Request("echo")).values("a").isEmpty)
        for (name, value) in [("X\r\nY", "v"), ("X", "a\r\nEvil: 1"), ("X", "a\nb"), ("", "v")] {
            let error = await failure { () throws(WherryError) in try client.setHeader(name, value)
            }
            #expect(error?.reason == "bad_header")
        }
    }

    @Test(
        "C9 request headers override client headers and built-in ones; each is sent once")
    func precedence() async throws {
        let client = try makeClient(scope) {
            $0.headers = ["User-Agent": "client", "X-A": "client"]
        }
        var request = Request("echo")
        #expect(try await client.echo(request).values("user-agent") == ["client"])
        request.headers = ["user-agent": "request", "x-a": "request"]
        let echo = try await client.echo(request)
        #expect(echo.values("user-agent") == ["request"])
        #expect(echo.values("x-a") == ["request"])
        // The body's type is built in, too.
        request = Request("echo", method: "POST")
        request.parameters = ["a": 1]
        request.headers = ["Content-Type": "application/vnd.api+json"]
        #expect(
            try await client.echo(request).values("content-type") == ["application/vnd.api+json"])
        request = Request("echo")
        request.headers.suppress("X-A")
        request.headers.suppress("User-Agent")
        let without = try await client.echo(request)
        #expect(without.values("x-a").isEmpty && without.values("user-agent").isEmpty)
    }

    // MARK: C11, C12

    @Test("C11 the app version has a default and can be changed at any time")
    func appVersion() throws {
        let configuration = Client.Configuration()
        #expect(configuration.appVersion == "1")
        let client = try makeClient()
        try client.setAppVersion("2.0")
        #expect(client.settings.text(.appVersion) == "2.0")
    }

    @Test(
        "C12 the folder is created with mode 0700, and clients with different names share nothing")
    func storageFolder() throws {
        let folder = try TemporaryFolder()
        let paths = try ["one", "two"].map { name in
            try makeClient { $0.storageDirectory = folder.file("deep/\(name)") }.storageDirectory()
        }
        #expect(paths == [folder.file("deep/one"), folder.file("deep/two")])
        for path in paths {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
        }
    }

    @Test("C12 a file in the folder's place is an error and is kept")
    func foreignFile() async throws {
        let folder = try TemporaryFolder()
        try Data("mine".utf8).write(to: URL(fileURLWithPath: folder.file("cache")))
        let error = await failure { () throws(WherryError) in
            try Client { $0.storageDirectory = folder.file("cache") }
        }
        #expect(error?.code == .file && error?.reason == "bad_storage")
        #expect(error?.message.contains(folder.file("cache")) == true)
        #expect(try folder.contents("cache") == Data("mine".utf8))
    }

    @Test("C12 an existing folder keeps its mode, and one that others may enter is refused")
    func sharedFolder() async throws {
        let folder = try TemporaryFolder()
        for (name, mode) in [("home", 0o755), ("group", 0o770), ("own", 0o700)] {
            let path = folder.file(name)
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let error = await failure { () throws(WherryError) in
                try Client { $0.storageDirectory = path }.storageDirectory()
            }
            #expect(error?.reason == (mode == 0o700 ? nil : "bad_storage"))
            let after = try FileManager.default.attributesOfItem(atPath: path)
            #expect(after[.posixPermissions] as? Int == mode)
        }
    }

    @Test("C12 a folder that cannot be created is an error that names it")
    func unwritableFolder() async throws {
        // Not even root can create a folder in /proc.
        let error = await failure { () throws(WherryError) in
            try Client { $0.storageDirectory = "/proc/wherry" }.storageDirectory()
        }
        #expect(error?.code == .file)
        #expect(error?.message.contains("/proc/wherry") == true)
    }

    @Test("C12 creating a client with unusable storage is an error")
    func checkedStorage() async throws {
        // The cache stayed empty, and only a line in the log said so.
        let folder = try TemporaryFolder()
        let path = folder.file("open")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        for isOn in [false, true] {
            let error = await failure { () throws(WherryError) in
                _ = try Client {
                    $0.storageDirectory = path
                    $0.usesHTTPCache = isOn
                }
            }
            #expect(error?.code == .file && error?.reason == "bad_storage")
            #expect(error?.message.contains(path) == true)
        }
        // Nothing is created before it is needed, and the default folder is not checked without a
        // cache.
        let later = folder.file("later")
        try Client { $0.storageDirectory = later }.close()
        #expect(!FileManager.default.fileExists(atPath: later))
        await #expect(processExitsWith: .success) {
            unsetenv("HOME")
            unsetenv("XDG_CACHE_HOME")
            try Client().close()
            let error = await failure { () throws(WherryError) in
                _ = try Client { $0.usesHTTPCache = true }
            }
            try #require(error?.reason == "bad_storage")
        }
    }

    @Test("C12 without a home and a cache folder there is a clear error")
    func noHome() async {
        await #expect(processExitsWith: .success) {
            unsetenv("HOME")
            unsetenv("XDG_CACHE_HOME")
            let client = try makeClient()
            let error = await failure { () throws(WherryError) in try client.storageDirectory() }
            try #require(error?.reason == "bad_storage")
            setenv("XDG_CACHE_HOME", "relative/is/ignored", 1)
            let second = await failure { () throws(WherryError) in try client.storageDirectory() }
            try #require(second?.reason == "bad_storage")
            let folder = try TemporaryFolder()
            setenv("XDG_CACHE_HOME", folder.path, 1)
            let named = try makeClient { $0.storageName = "demo" }
            try #require(try named.storageDirectory() == folder.file("wherry/demo"))
        }
    }

    // MARK: C15, C16, C18

    @Test("C15 no more transfers than the limit run at a time, and all of them finish")
    func concurrency() async throws {
        let client = try makeClient(scope) { $0.maxPerHost = 4 }
        let handles = try (0..<100).map {
            try client.start(Request("faulty-echo?n=\($0)&gate=go&gate_times=4&path=x"))
        }
        try await scope.wait("requests=4")
        #expect(client.count() == 100)
        try scope.open(gate: "go")
        for handle in handles { #expect(try await handle.value.status == 200) }
        let stats = try scope.stats()
        #expect(stats.requests == 100)
        #expect(stats.peakRequests == 4 && stats.peakConnections == 4)
        #expect(client.count() == 0)
    }

    @Test("C16 the caller continues in its own context, never on a thread of Wherry")
    @MainActor
    func callersPlace() async throws {
        let client = try makeClient(scope)
        _ = try await client.get("echo")
        MainActor.assertIsolated()
        let names = Guarded<[String]>([])
        let hooks = Hooks.adapting { request in
            names.withLock { $0.append(threadName()) }
            return request
        }
        _ = try await client.send(Request("echo"), hooks: hooks)
        MainActor.assertIsolated()
        let seen = names.withLock { $0 }
        #expect(seen.count == 1 && !seen[0].contains("wherry"))
    }

    @Test("C18 eight threads change settings during requests")
    func threadSafety() async throws {
        let client = try makeClient(scope)
        let count = loops(1000)
        let stop = Guarded(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    try await onThread {
                        var turn = 0
                        while !stop.withLock({ $0 }) {
                            turn += 1
                            try client.setHeader("X-\(index)", "\(turn)")
                            try client.setIdleTimeout(.seconds(600 + turn % 10))
                            try client.setParameter("p\(index)", JSON(turn))
                            try client.setMaxPerHost(1 + turn % 6)
                            try client.setBearerToken(turn % 2 == 0 ? "t\(turn)" : nil)
                            try client.setBaseURL(client.settings.text(.baseURL))
                            try client.configure {
                                $0.maxRedirects = turn % 10
                                $0.connectTimeout = .seconds(600 + turn % 10)
                                $0.firstByteTimeout = .seconds(600 + turn % 10)
                                $0.maxBodyBytes = 1 << 20 + Int64(turn)
                                $0.maxConnections = 1 + turn % 30
                                $0.userAgent = "Agent/\(turn)"
                                $0.contentCodings = turn % 2 == 0 ? .gzip : .all
                            }
                            try client.setHeader("X-\(index)", nil)
                        }
                    }
                }
            }
            // The eight threads end, whatever happens to the requests.
            defer { stop.withLock { $0 = true } }
            let statuses = try await withThrowingTaskGroup(of: Int.self) { flying in
                for number in 0..<count {
                    flying.addTask { try await client.get("echo?n=\(number)").status }
                }
                var statuses: [Int] = []
                for try await status in flying { statuses.append(status) }
                return statuses
            }
            stop.withLock { $0 = true }
            #expect(statuses == Array(repeating: 200, count: count))
            try await group.waitForAll()
        }
        #expect(client.headers.isEmpty)
    }
}

/// The kernel's name of the calling thread.
func threadName() -> String {
    (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? "?"
}
