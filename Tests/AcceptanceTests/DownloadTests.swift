// Wherry: acceptance tests of downloads
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct DownloadTests {
    private let scope: TestServer.Scope
    private let client: Client
    private let folder: TemporaryFolder

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
        folder = try TemporaryFolder()
    }

    private func url(_ query: String = "") -> String {
        scope.url("/bytes/\(Contents.size)" + (query.isEmpty ? "" : "?" + query))
    }

    // MARK: D1

    @Test("D1 a download is a GET with the caller's fields and without default parameters")
    func defaults() async throws {
        try client.setParameter("default", "1")
        try client.setHeader("X-Client", "c")
        let end = try await client.run(url(), to: folder.file("a.bin")) { request in
            request.headers["X-Own"] = "o"
            request.parameters = ["own": 2]
        }
        #expect(end.error == nil)
        #expect(end.path == folder.file("a.bin"))
        #expect(end.outcome.response?.status == 200)
        #expect(try folder.contents("a.bin") == Contents.v1)
        #expect(try folder.names == ["a.bin"])
        let sent = try #require(try scope.requests().first)
        #expect(sent.method == "GET")
        #expect(sent.target.hasSuffix("?own=2"))
        #expect(sent.header("x-own") == "o" && sent.header("x-client") == "c")
        #expect(sent.header("accept-encoding") == "identity")
        #expect(sent.header("range") == nil)
    }
}
