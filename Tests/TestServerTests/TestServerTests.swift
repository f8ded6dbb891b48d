// Wherry: the Swift side of the test servers
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing

/// Sends requests with curl, so that these tests do not depend on the code they support.
private func curl(_ arguments: String...) throws -> (status: Int32, output: Data) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["curl", "--silent", "--max-time", "60"] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, output)
}

@Suite(.timeLimit(.minutes(2)))
struct TestServerTests {
    @Test("the bytes of the server match the Swift pattern")
    func pattern() throws {
        let scope = try TestServer.shared.scope()

        let whole = try curl(scope.url("/bytes/200000?seed=9"))
        let part = try curl("--range", "65530-131080", scope.url("/bytes/200000?seed=9"))

        #expect(whole.output == Data(TestPattern.bytes(seed: 9, count: 200_000)))
        #expect(part.output == Data(TestPattern.bytes(seed: 9, 65_530..<131_081)))
    }

    @Test("a scope sees its own requests and counts its own attempts")
    func scopes() async throws {
        let first = try TestServer.shared.scope()
        let second = try TestServer.shared.scope()

        let cut = try curl(first.url("/bytes/1000?cut=10&times=1"))
        let again = try curl(first.url("/bytes/1000?cut=10&times=1"))
        let other = try curl(second.url("/bytes/1000?cut=10&times=1"))
        try await first.wait("ended=2")

        #expect(cut.output.count == 10)
        #expect(again.output.count == 1000)
        #expect(other.output.count == 10)
        let requests = try first.requests()
        #expect(requests.map(\.attempt) == [1, 2])
        #expect(requests.map(\.outcome) == ["fin", "answered"])
        #expect(requests[0].header("user-AGENT")?.hasPrefix("curl/") == true)
    }

    @Test("a gate holds a response until the test opens it")
    func gates() async throws {
        let scope = try TestServer.shared.scope()
        let url = scope.url("/bytes/1000?hold=600&gate=middle")

        async let answer = Task.detached { try curl(url) }.value
        try await scope.wait("sent=600")
        let during = try scope.stats()
        try scope.open(gate: "middle")

        #expect(during.sent == 600)
        #expect(during.active == 1)
        #expect(try await answer.output.count == 1000)
    }

    @Test("a script plays its steps in order and then repeats the last")
    func scripts() throws {
        let scope = try TestServer.shared.scope()
        try scope.script(
            "twice",
            """
            [{"status": 503, "headers": [["Retry-After", "1"]]},
             {"raw": [["send", "HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nab"], ["rst"]]},
             {"json": {"a": 1}}]
            """)

        let answers = try (0..<4).map { _ in
            try curl("--write-out", "%{http_code}", scope.url("/s/twice"))
        }

        let words = answers.map { String(decoding: $0.output, as: UTF8.self) }
        #expect(words == ["503", "ab200", "{\"a\": 1}200", "{\"a\": 1}200"])
        #expect(answers[1].status == 56)
    }

    @Test("a server with a certificate speaks TLS, and its CA is the one to trust")
    func tls() throws {
        let good = try TestServer(certificate: .good)
        let wrong = try TestServer(certificate: .wrongName)

        let trusted = try curl("--cacert", #require(good.ca), good.tlsURL("/text/hello"))
        let unknown = try curl(good.tlsURL("/text/hello"))
        let refused = try curl("--cacert", #require(wrong.ca), wrong.tlsURL("/text/hello"))

        #expect(String(decoding: trusted.output, as: UTF8.self) == "hello")
        #expect(unknown.status == 60)
        #expect(refused.status == 60)
    }

    @Test("a stopped server refuses connections")
    func stopping() throws {
        let server = try TestServer()
        let url = server.url("/empty")
        #expect(try curl(url).status == 0)

        server.stop()
        server.stop()

        #expect(try curl(url).status == 7)
        #expect(kill(server.pid, 0) == -1)
    }

    @Test(
        "nginx speaks HTTP/1.1 without TLS and HTTP/2 over TLS",
        .enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func nginx() throws {
        let nginx = try NginxServer()

        let plain = try curl(nginx.url("/protocol"))
        let secure = try curl("--cacert", nginx.ca, nginx.tlsURL("/protocol"))
        let file = try curl(nginx.url("/1k.bin"))

        #expect(String(decoding: plain.output, as: UTF8.self) == "HTTP/1.1")
        #expect(String(decoding: secure.output, as: UTF8.self) == "HTTP/2.0")
        #expect(file.output == Data(TestPattern.bytes(count: 1024)))
    }
}
