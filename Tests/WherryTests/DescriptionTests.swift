// Wherry: tests of printed errors and responses
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Wherry

@Suite struct DescriptionTests {
    // Foundation used to say "The operation could not be completed. (WherryCore.WherryError error 1.)".
    @Test func `localizedDescription is the message of the error`() throws {
        let error = try #require(throws: WherryError.self) {
            try Client { $0.baseURL = "ftp://example.org" }
        }
        #expect(error.localizedDescription == error.message)
        #expect((error as any Error).localizedDescription.contains("ftp://example.org"))
        #expect((error as any LocalizedError).failureReason == "bad_url")
    }

    @Test func `a response prints as one line without its query`() async throws {
        let stub = StubServer()
        try stub.respond(
            "https://example.org/notes?token=hunter2", json: ["text": "hello"])
        let client = try Client { $0.stubServer = stub }
        let response = try await client.get("https://example.org/notes?token=hunter2")
        #expect("\(response)" == "200 https://example.org/notes?... (application/json, 16 bytes)")
        #expect(String(reflecting: response) == "\(response)")
    }
}
