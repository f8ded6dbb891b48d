// Wherry: the table of URL joins (C2)
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

private struct Join: Decodable {
    let base: String?
    let url: String
    let target: String?
    let host: String?
    let error: String?
}

/// The cases of the table, with the addresses of the shared server.
private func joins() throws -> [Join] {
    let server = try TestServer.shared
    let here = server.url("")
    let there = server.url("", host: "localhost")
    func fill(_ text: String) -> String {
        text.replacingOccurrences(of: "{here}", with: here)
            .replacingOccurrences(of: "{there}", with: there)
    }
    return try scenarios("url-joins.json", of: Join.self).map { join in
        Join(
            base: join.base.map(fill), url: fill(join.url), target: join.target,
            host: String((join.host == "there" ? there : here).dropFirst(7)), error: join.error)
    }
}

/// Sends every case of the table with this body.
func proveJoins(with body: Request.Body) async throws {
    for join in try joins() {
        let client = try makeClient { $0.baseURL = join.base }
        var request = Request(join.url)
        request.body = body
        if let reason = join.error {
            let refused = request
            let error = await failure { () throws(WherryError) in
                try await client.send(refused)
            }
            #expect(error?.reason == reason, "\(join)")
        } else {
            let echo = try await client.echo(request)
            #expect(echo.target == join.target, "\(join)")
            #expect(echo.values("host") == [join.host], "\(join)")
        }
    }
}

/// Downloads every case of the table.
func proveJoinsOfDownloads() async throws {
    let folder = try TemporaryFolder()
    for (index, join) in try joins().enumerated() {
        let client = try makeClient { $0.baseURL = join.base }
        let path = folder.file("\(index)")
        let request = Request(join.url)
        if let reason = join.error {
            let error = await failure { () throws(WherryError) in
                try await client.download(request, to: path).value
            }
            #expect(error?.reason == reason, "\(join)")
            continue
        }
        _ = try await client.download(request, to: path).value
        let echo = try JSONDecoder().decode(Echo.self, from: try folder.contents("\(index)"))
        #expect(echo.target == join.target, "\(join)")
        #expect(echo.values("host") == [join.host], "\(join)")
    }
}
