// Wherry: acceptance tests of named base URLs
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import Wherry

@Suite struct NamedBaseTests {
    @Test("C4 a client reaches three servers by name, and an unknown name reaches none")
    func threeServers() async throws {
        let servers = try (0..<3).map { _ in try TestServer() }
        let scopes = servers.map { $0.scope() }
        let client = try makeClient(scopes[0]) {
            $0.bases = ["upload": scopes[1].url("/"), "cdn": scopes[2].url("/")]
        }
        let asked: [(base: String?, path: String)] = [
            (nil, "echo/a"), ("upload", "echo/u"), ("cdn", "echo/c"),
        ]
        for (base, path) in asked {
            var request = Request(path)
            request.base = base
            let seen = try await client.echo(request).path
            #expect(seen == "/" + path)
        }
        var request = Request("echo/x")
        request.base = "elsewhere"
        let unknown = request
        let error = await failure { () throws(WherryError) in try await client.send(unknown) }
        #expect(error?.reason == "not_found")
        let seen = try scopes.map { try $0.requests().map(\.path) }
        #expect(seen == [["/echo/a"], ["/echo/u"], ["/echo/c"]])
        withExtendedLifetime(servers) {}
    }
}
