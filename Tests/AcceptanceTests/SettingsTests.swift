// Wherry: acceptance tests of settings with their public names
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct SettingsTests {
    private let scope: TestServer.Scope

    init() throws { scope = try TestServer.shared.scope() }

    private func reason(_ client: Client, _ request: Request) async -> String? {
        await failure { () throws(WherryError) in try await client.send(request) }?.reason
    }

    // MARK: Sending and checking requests

    @Test("R10 the accepted statuses are set by range, for a client and for a request")
    func statusRange() async throws {
        let client = try makeClient(scope) { $0.acceptedStatusRange = 200...404 }
        for status in [200, 300, 404] {
            #expect(try await client.get("status/\(status)").status == status)
        }
        #expect(await reason(client, Request("status/405")) == "http_status")
        var request = Request("status/404")
        request.acceptedStatusRange = 200...299
        #expect(await reason(client, request) == "http_status")
        request.acceptedStatus = [404]
        #expect(try await client.send(request).status == 404)
        request = Request("status/200")
        request.acceptedStatusRange = 400...499
        #expect(await reason(client, request) == "http_status")
        request.acceptedStatusRange = nil
        #expect(try await client.send(request).status == 200)
        for range in [0...299, 200...1000] {
            request.acceptedStatusRange = range
            #expect(await reason(client, request) == "bad_value")
        }
        // No status could match.
        let strange = try makeClient(scope) { $0.acceptedStatusRange = 700...999 }
        request.acceptedStatusRange = nil
        try strange.update { values throws(WherryError) in values.options[.acceptStatusMax] = 699 }
        #expect(await reason(strange, request) == "bad_value")
    }

    @Test("C11 a negative time is refused, and does not disable the limit")
    func negativeTimes() async throws {
        #expect(throws: WherryError.self) {
            try makeClient(scope) { $0.idleTimeout = .seconds(-1) }
        }
        #expect(throws: WherryError.self) {
            try makeClient(scope) { $0.totalTimeout = .nanoseconds(-1) }
        }
        let client = try makeClient(scope)
        #expect(throws: WherryError.self) { try client.setTotalTimeout(.milliseconds(-5)) }
        var request = Request("status/200")
        request.totalTimeout = .seconds(-5)
        #expect(await reason(client, request) == "bad_value")
    }

    @Test("R11 JSON is required by the client, unless the request says otherwise")
    func jsonOnly() async throws {
        let client = try makeClient(scope) { $0.wantsJSON = true }
        var request = Request("status/200?type=image/png&body=x")
        #expect(await reason(client, request) == "content_type")
        request.wantsJSON = false
        #expect(try await client.send(request).text == "x")
    }

    @Test("R24 br and zstd are decoded if enabled", arguments: ["br", "zstd"])
    func codings(coding: String) async throws {
        let client = try makeClient(scope) { $0.contentCodings = .all }
        let answer = try await client.get(coding)
        #expect(answer.header("content-encoding") == coding)
        #expect(try answer.json().kind == .object)
        let asked = try #require(try scope.requests().last?.header("accept-encoding"))
        for name in ["gzip", "deflate", coding] { #expect(asked.contains(name), "\(asked)") }
        // By one request too, and for later requests of a client.
        let plain = try makeClient(scope)
        var request = Request(coding)
        request.contentCodings = .all
        #expect(try await plain.send(request).json().kind == .object)
        try plain.configure { $0.contentCodings = .all }
        #expect(try await plain.get(coding).json().kind == .object)
    }

    @Test("R24 without content encoding enabled none is decoded")
    func noCoding() async throws {
        let client = try makeClient(scope) { $0.contentCodings = .identity }
        let answer = try await client.get("gzip")
        #expect(Array(answer.body.prefix(2)) == [0x1F, 0x8B])
        #expect(try scope.requests().last?.header("accept-encoding")?.contains("gzip") != true)
        var request = Request("gzip")
        request.contentCodings = .gzip
        #expect(try await client.send(request).json().kind == .object)
    }

    @Test("R6 the client or the request sets the style of arrays")
    func arrays() async throws {
        let client = try makeClient(scope) { $0.arrayStyle = .repeated }
        var request = Request("echo", method: "GET")
        request.parameters = ["a": [2, 1]]
        #expect(try await client.echo(request).rawQuery == "a=2&a=1")
        request.arrayStyle = .indexed
        #expect(try await client.echo(request).rawQuery == "a%5B0%5D=2&a%5B1%5D=1")
        request.arrayStyle = .brackets
        #expect(try await client.echo(request).rawQuery == "a%5B%5D=2&a%5B%5D=1")
    }

    @Test("R7 the client or the request sets the style of members and bools, in form parts too")
    func styles() async throws {
        let client = try makeClient(scope) {
            $0.memberStyle = .dots
            $0.boolStyle = .words
        }
        var request = Request("echo", method: "GET")
        request.parameters = ["a": ["b": true]]
        #expect(try await client.echo(request).rawQuery == "a.b=true")
        request.memberStyle = .brackets
        request.boolStyle = .digits
        #expect(try await client.echo(request).rawQuery == "a%5Bb%5D=1")
        var form = Request("echo", method: "POST")
        form.parameters = ["a": ["b": true]]
        form.body = .multipart([.field("z", "1")])
        let parts = try #require(try await client.echo(form).parts)
        #expect(parts.contains { $0.name == "a.b" && $0.text == "true" })
    }

    @Test("C10 a token of the request overrides the client's, and a header overrides both")
    func token() async throws {
        let client = try makeClient(scope) { $0.bearerToken = "client" }
        var request = Request("echo")
        request.bearerToken = "request"
        #expect(try await client.echo(request).values("authorization") == ["Bearer request"])
        request.headers["Authorization"] = "Basic eDp5"
        #expect(try await client.echo(request).values("authorization") == ["Basic eDp5"])
        #expect(try await client.echo(Request("echo")).values("authorization") == ["Bearer client"])
        let count = try scope.requests().count
        request.headers = [:]
        request.bearerToken = "a\r\nEvil: 1"
        #expect(await reason(client, request) == "bad_header")
        let folder = try TemporaryFolder()
        let refused = request
        let error = await failure { () throws(WherryError) in
            try client.download(refused, to: folder.file("a"))
        }
        #expect(error?.reason == "bad_header")
        #expect(try scope.requests().count == count)
    }

    @Test("R19 credentials are kept across hosts if the client or one request enables it")
    func keptCredentials() async throws {
        let away = scope.url("/echo", host: "localhost")
        func seen(_ client: Client, _ keeps: Bool?) async throws -> [String] {
            var request = Request("redirect-to")
            request.query = [.init("url", away)]
            request.bearerToken = "t"
            request.keepsAuthAcrossHosts = keeps
            return try await client.echo(request).values("authorization")
        }
        let strict = try makeClient(scope)
        #expect(try await seen(strict, nil) == [])
        #expect(try await seen(strict, true) == ["Bearer t"])
        let loose = try makeClient(scope) { $0.keepsAuthAcrossHosts = true }
        #expect(try await seen(loose, nil) == ["Bearer t"])
        #expect(try await seen(loose, false) == [])
    }

    @Test("R20 the client or the request sets the maximum header size")
    func headerLimit() async throws {
        let client = try makeClient(scope) { $0.maxHeaderBytes = 2048 }
        var request = Request("headers?count=40&size=100")
        #expect(await reason(client, request) == "header_too_large")
        request.maxHeaderBytes = 300 << 10
        #expect(try await client.send(request).status == 200)
    }

    @Test(
        "C19 a request has the chosen HTTP version",
        .enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func httpVersion() async throws {
        let nginx = try NginxServer.shared
        let client = try makeClient { $0.caFile = nginx.ca }
        var request = Request(nginx.tlsURL("/ok"))
        #expect(try await client.send(request).metrics.httpVersion == 20)
        request.httpVersion = .http1
        #expect(try await client.send(request).metrics.httpVersion == 11)
        let old = try makeClient {
            $0.caFile = nginx.ca
            $0.httpVersion = .http1
        }
        request.httpVersion = .http2
        #expect(try await old.send(request).metrics.httpVersion == 20)
        request.httpVersion = nil
        #expect(try await old.send(request).metrics.httpVersion == 11)
    }

    @Test("R18 a pending hook gets its default after a configurable timeout")
    func hookTimeout() async throws {
        let clock = ManualClock()
        let client = try makeClient(scope) {
            $0.clock = clock
            $0.hookTimeout = .seconds(5)
        }
        for own in [nil, Duration.seconds(2)] {
            let asked = AsyncStream<Void>.makeStream()
            let never = AsyncStream<Void>.makeStream()
            var request = Request("echo")
            request.hookTimeout = own
            let handle = try client.start(
                request,
                hooks: .adapting { request in
                    asked.continuation.yield()
                    // Ends with its task.
                    for await _ in never.stream {}
                    var request = request
                    request.url = "status/500"
                    return request
                })
            for await _ in asked.stream { break }
            clock.advance(by: own == nil ? .milliseconds(4999) : .milliseconds(1999))
            #expect(handle.state == .waiting)
            clock.advance(by: .milliseconds(1))
            #expect(try await handle.value.status == 200)
            withExtendedLifetime(never.continuation) {}
        }
    }

    @Test("R9 a property list is a body with its type")
    func propertyList() async throws {
        struct Note: Codable, Equatable { var text: String, at: Date }
        let note = Note(text: "天", at: Date(timeIntervalSince1970: 1_000_000))
        let client = try makeClient(scope)
        var request = Request("echo", method: "PUT")
        try request.setPropertyList(note)
        let echo = try await client.echo(request)
        #expect(echo.values("content-type") == ["application/x-plist"])
        let body = try #require(Data(base64Encoded: echo.body))
        #expect(try PropertyListDecoder().decode(Note.self, from: body) == note)
        let error = await failure { () throws(WherryError) in
            var request = Request("echo")
            try request.setPropertyList(5)
        }
        #expect(error?.reason == "bad_parameters")
    }

    @Test("R27 the object that a program attaches to a request is returned everywhere")
    func userInfo() async throws {
        struct Screen: Equatable { let number: Int }
        let client = try makeClient(scope)
        var request = Request("faulty-echo?gate=held")
        request.userInfo = Screen(number: 3)
        let shown = Guarded<[Screen?]>([])
        let handle = try client.start(
            request,
            hooks: .adapting { request in
                shown.withLock { $0.append(request.userInfo as? Screen) }
                return request
            })
        #expect(client.transfers().map { $0.userInfo as? Screen } == [Screen(number: 3)])
        try scope.open(gate: "held")
        _ = try await handle.value
        #expect(handle.transfer.userInfo as? Screen == Screen(number: 3))
        #expect(shown.withLock { $0 } == [Screen(number: 3)])
        #expect(try client.start(Request("echo")).transfer.userInfo == nil)
    }

    // MARK: Downloads and images

    @Test("D13 the client or the request sets the number of restarts of a download")
    func retries() async throws {
        let bench = try DownloadBench { $0.maxRetries = 0 }
        let path = bench.folder.file("a.bin")
        let cut = try await bench.client.run(
            bench.url("cut=400000&times=1"), to: path, clock: bench.clock)
        #expect(cut.reason == "truncated")
        #expect(try bench.scope.requests().count == 1)
        let mended = try await bench.client.run(
            bench.url("cut=400000&times=3&seed=2"), to: bench.folder.file("b.bin"),
            clock: bench.clock
        ) { $0.maxRetries = 3 }
        #expect(mended.error == nil)
        #expect(try bench.folder.contents("b.bin") == Contents.v2)
    }

    @Test("D3 the client's setting applies to existing files and missing folders")
    func targets() async throws {
        let bench = try DownloadBench {
            $0.existingFile = .replace
            $0.makesDirectories = true
        }
        for seed in 1...2 {
            let end = try await bench.client.run(
                bench.url("seed=\(seed)"), to: bench.folder.file("x/y/a.bin"))
            #expect(end.error == nil)
        }
        #expect(try bench.folder.contents("x/y/a.bin") == Contents.v2)
        let error = await failure { () throws(WherryError) in
            _ = try bench.client.begin(bench.url(), to: bench.folder.file("x/y/a.bin")) {
                $0.existingFile = .fail
            }
        }
        #expect(error?.reason == "exists")
        let nowhere = await failure { () throws(WherryError) in
            _ = try bench.client.begin(bench.url(), to: bench.folder.file("z/a.bin")) {
                $0.makesDirectories = false
            }
        }
        #expect(nowhere?.reason == "no_file")
    }

    @Test("U3, U6 the client or the request sets names and types of images")
    func pictures() async throws {
        let client = try makeClient(scope) {
            $0.imageNaming = .brackets
            $0.jpegContentType = "image/jpg"
        }
        let picture = try Image.pixels(
            [UInt8](repeating: 9, count: 12), .rgb8, width: 2, height: 2)
        var request = Request("echo", method: "POST")
        request.add(.image("p", picture))
        var parts = try #require(try await client.echo(request).parts)
        #expect(parts.map(\.name) == ["p[]"] && parts.map(\.type) == ["image/jpg"])
        request.imageNaming = .index
        request.jpegContentType = "image/jpeg"
        parts = try #require(try await client.echo(request).parts)
        #expect(parts.map(\.name) == ["p0"] && parts.map(\.type) == ["image/jpeg"])
    }

    // MARK: Changes during use

    @Test("C1 every kind of setting can be changed for later requests")
    func liveChanges() async throws {
        let client = try makeClient(scope)
        let running = try client.start(Request("redirect/1?gate=go"))
        try await scope.wait("requests=1")
        try client.configure {
            $0.maxRedirects = 0
            $0.acceptedStatusRange = 302...302
            $0.userAgent = "Demo/2"
            $0.maxBodyBytes = 1999
            $0.bearerToken = "new"
            $0.headers["X-New"] = "1"
            $0.parameters["p"] = 1
            $0.bases["cdn"] = scope.url("/redirect-to/")
        }
        let answer = try await client.send(Request("redirect/3", method: "GET"))
        #expect(answer.status == 302)
        let seen = try #require(try scope.requests().last)
        #expect(seen.header("user-agent") == "Demo/2")
        #expect(seen.header("authorization") == "Bearer new" && seen.header("x-new") == "1")
        #expect(seen.target.hasSuffix("/redirect/3?p=1"))
        #expect(await reason(client, Request("bytes/2000", method: "GET")) == "too_large")
        // Running transfers keep their settings.
        try scope.open(gate: "go")
        #expect(try await running.value.redirects.count == 1)
    }

    @Test("C1 changed timeouts apply to later requests")
    func liveTimes() async throws {
        let clock = ManualClock()
        let client = try makeClient(scope) { $0.clock = clock }
        let patient = try client.start(Request("silent?n=1"))
        try client.configure { $0.firstByteTimeout = .seconds(3) }
        let quick = try client.start(Request("silent?n=2"))
        try await scope.wait("requests=2")
        clock.advance(by: .milliseconds(3000))
        let error = await failure { () throws(WherryError) in try await quick.value }
        #expect(error?.reason == "first_byte_timeout")
        #expect(patient.state == .running)
        patient.cancel()
        // Nothing accepts connections there, so that only the timeout can end it.
        let listener = try Listener()
        listener.fill()
        let steady = try makeClient()
        try steady.configure { $0.connectTimeout = .milliseconds(50) }
        #expect(
            await reason(steady, Request("http://127.0.0.1:\(listener.port)/"))
                == "connect_timeout")
    }

    @Test("C15 the total number of connections can be changed, and applies at once")
    func liveConnections() async throws {
        let client = try makeClient(scope) { $0.maxPerHost = 100 }
        try client.configure { $0.maxConnections = 3 }
        let handles = try (0..<12).map {
            try client.start(Request("faulty-echo?n=\($0)&gate=go&gate_times=3&path=x"))
        }
        try await scope.wait("requests=3")
        #expect(client.count() == 12)
        try scope.open(gate: "go")
        for handle in handles { #expect(try await handle.value.status == 200) }
        let stats = try scope.stats()
        #expect(stats.peakRequests == 3 && stats.peakConnections == 3)
    }

    @Test("C1 a setting for new clients only is refused, and nothing changes")
    func fixedSettings() async throws {
        let client = try makeClient(scope)
        let changes: [(inout Client.Configuration) -> Void] = [
            { $0.proxy = "http://127.0.0.1:1" }, { $0.caFile = "/etc/hosts" },
            { $0.storageName = "x" }, { $0.storageDirectory = "/x" }, { $0.isInsecure = true },
            { $0.stubServer = StubServer() },
        ]
        for change in changes {
            let error = await failure { () throws(WherryError) in
                try client.configure {
                    $0.userAgent = "never"
                    change(&$0)
                }
            }
            #expect(error?.reason == "bad_option")
        }
        for (change, reason) in [
            ({ $0.maxRedirects = -1 }, "bad_value"), ({ $0.userAgent = "a\nb" }, "bad_header"),
            ({ $0.headers["X"] = "a\nb" }, "bad_header"), ({ $0.baseURL = "ftp://x/" }, "bad_url"),
        ] as [((inout Client.Configuration) -> Void, String)] {
            let error = await failure { () throws(WherryError) in
                try client.configure {
                    $0.bearerToken = "never"
                    change(&$0)
                }
            }
            #expect(error?.reason == reason)
        }
        let echo = try await client.echo(Request("echo"))
        #expect(echo.values("user-agent") == ["Wherry/\(WherryLibrary.version)"])
        #expect(echo.values("authorization").isEmpty)
    }

    @Test("C18 concurrent changes do not undo each other")
    func overlappingChanges() async throws {
        let client = try makeClient(scope)
        try client.configure { outer in
            let error = Result { () throws(WherryError) in
                try client.configure { $0.userAgent = "inner" }
            }
            #expect(throws: Never.self) { try error.get() }
            outer.bearerToken = "outer"
        }
        let echo = try await client.echo(Request("echo"))
        #expect(echo.values("user-agent") == ["inner"])
        #expect(echo.values("authorization") == ["Bearer outer"])
    }

    @Test("C1 every setting has its default, and is read as it was set")
    func defaults() throws {
        var configuration = Client.Configuration()
        #expect(configuration.acceptedStatusRange == 200...299)
        #expect(configuration.contentCodings == .gzip && configuration.httpVersion == .automatic)
        #expect(configuration.arrayStyle == .brackets && configuration.durability == .checkpoints)
        #expect(configuration.memberStyle == .brackets && configuration.boolStyle == .digits)
        #expect(configuration.hookTimeout == .seconds(30) && configuration.maxRetries == nil)
        #expect(configuration.maxHeaderBytes == 300 << 10 && configuration.imageNaming == .index)
        #expect(configuration.maxSendBytesPerSecond == 0)
        #expect(configuration.maxReceiveBytesPerSecond == 0)
        #expect(configuration.existingFile == .fail && !configuration.makesDirectories)
        #expect(!configuration.wantsJSON && !configuration.keepsAuthAcrossHosts)
        #expect(configuration.jpegContentType == "image/jpeg")
        configuration.maxSendBytesPerSecond = 1000
        configuration.maxReceiveBytesPerSecond = 2000
        for durability in Durability.allCases {
            configuration.durability = durability
            #expect(configuration.durability == durability)
        }
        // They are the options that C and Python have.
        #expect(configuration.values.options[.maxSendSpeed] == 1000)
        #expect(configuration.values.options[.maxReceiveSpeed] == 2000)
        #expect(configuration.values.options[.durability] == 2)

        var request = Request("x")
        #expect(request.maxSendBytesPerSecond == nil && request.durability == nil)
        request.maxSendBytesPerSecond = 1000
        request.maxReceiveBytesPerSecond = 2000
        request.durability = .lazy
        #expect(request.value(of: .maxSendSpeed) == 1000)
        #expect(request.value(of: .maxReceiveSpeed) == 2000)
        #expect(request.value(of: .durability) == 0 && request.durability == .lazy)
        request.durability = nil
        request.maxSendBytesPerSecond = nil
        request.maxReceiveBytesPerSecond = nil
        #expect(request.overrides.isEmpty)
    }
}
