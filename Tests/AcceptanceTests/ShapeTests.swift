// Wherry: acceptance tests of JSON schemas of responses
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct ShapeTests {
    private struct Case: Sendable {
        let shape: String
        let json: String
        let fault: String?
        let reason: String?
    }

    /// The rows of the table, with values as JSON text.
    private static func rows(_ name: String) throws -> [Case] {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Scenarios/json-shapes.json").path
        let table = try JSON(parsing: [UInt8](Data(contentsOf: URL(fileURLWithPath: path))))
        return try (0..<table.count(at: name)).map { index in
            let row = "\(name)/\(index)"
            func text(_ member: String) throws -> String {
                try table.value(at: "\(row)/\(member)")?.text(style: .compact) ?? ""
            }
            return Case(
                shape: try text("shape"), json: try text("json"),
                fault: table.text(at: row + (name == "bad" ? "/place" : "/fault")),
                reason: table.text(at: row + "/reason"))
        }
    }

    private func client(_ body: String, status: Int = 200) throws -> (Client, StubServer) {
        let stub = StubServer()
        stub.respond("*", status: status, body: Bytes(body))
        return (try Client { $0.stubServer = stub }, stub)
    }

    @Test("R26 responses match the schema table, including nested arrays")
    func table() async throws {
        let rows = try Self.rows("cases")
        #expect(rows.count > 25)
        for row in rows {
            let (client, _) = try client(row.json)
            var request = Request("http://h/")
            request.jsonShape = try JSONShape(parsing: row.shape)
            let error = await failure { () throws(WherryError) in try await client.send(request) }
            #expect(error?.reason == row.fault.map { _ in "bad_json_body" }, "\(row)")
            if let fault = row.fault {
                #expect(error?.message.hasSuffix(": \(fault)") == true, "\(row) \(error as Any)")
                #expect(error?.code == .http && error?.httpStatus == 200)
                #expect(error?.response?.text == row.json)
            }
        }
    }

    @Test("R26 an invalid schema is refused, and the position is named")
    func badShapes() throws {
        let rows = try Self.rows("bad")
        #expect(rows.count == 4)
        for row in rows {
            let error = #expect(throws: WherryError.self) { try JSONShape(parsing: row.shape) }
            #expect(error?.reason == row.reason)
            #expect(error?.message.contains(": \(row.fault ?? "") is not a shape") == true)
        }
        let error = #expect(throws: WherryError.self) { try JSONShape(parsing: "{") }
        #expect(error?.reason == "bad_json")
        let shape: JSONShape = ["name": .string, "list": [["id": .number]], "all": [], "more": [:]]
        #expect(
            try shape
                == JSONShape(
                    parsing:
                        #"{"name": "string", "list": [{"id": "number"}], "all": "array", "more": {}}"#
                ))
    }

    @Test("R26 responses without JSON have no schema check; errors and HEAD are excluded")
    func others() async throws {
        var request = Request("http://h/")
        request.jsonShape = ["a": .any]
        for (body, end) in [("no JSON", "is not JSON"), ("", "the body is empty")] {
            let (client, _) = try client(body)
            let asked = request
            let error = await failure { () throws(WherryError) in try await client.send(asked) }
            #expect(error?.reason == "bad_json_body" && error?.message.contains(end) == true)
        }
        let (refusing, _) = try client("[]", status: 404)
        let asked = request
        let error = await failure { () throws(WherryError) in try await refusing.send(asked) }
        #expect(error?.reason == "http_status")
        request.method = "HEAD"
        let (client, _) = try client("[]")
        #expect(try await client.send(request).status == 200)
        // With the content type checked too, which the stub omits.
        request.method = nil
        request.wantsJSON = true
        let strict = request
        let typeError = await failure { () throws(WherryError) in try await client.send(strict) }
        #expect(typeError?.reason == "content_type")
    }

    @Test("R26 large JSON is checked on a worker")
    func large() async throws {
        let good = "[" + String(repeating: #"{"id": 1}, "#, count: 20_000)
        for (last, fault) in [
            (#"{"id": 2}]"#, nil), (#"{"id": "2"}]"#, "20000/id is a string, not a number"),
        ] {
            let (client, _) = try client(good + last)
            var request = Request("http://h/")
            request.jsonShape = [["id": .number]]
            let asked = request
            let error = await failure { () throws(WherryError) in try await client.send(asked) }
            #expect(error?.message.hasSuffix(fault ?? "-") ?? false == (fault != nil))
            #expect((error == nil) == (fault == nil))
        }
    }

    @Test("R26 a mismatch is not stored, and a cached response is checked too")
    func cached() async throws {
        let folder = try TemporaryFolder()
        let stub = StubServer()
        stub.respond("*", times: 1, body: Bytes("[1]"))
        stub.respond("*", times: 1, body: Bytes(#"{"a": 1}"#))
        stub.respond("*", body: Bytes("[2]"))
        let client = try Client {
            $0.stubServer = stub
            $0.storageDirectory = folder.file("storage")
        }
        var request = Request("http://h/")
        request.cacheDuration = .seconds(1_000)
        request.loadsCache = true
        request.jsonShape = ["a": .number]
        let asked = request
        let error = await failure { () throws(WherryError) in try await client.send(asked) }
        #expect(error?.reason == "bad_json_body")
        #expect(try await client.send(request).isFromCache == false)
        #expect(try await client.send(request).isFromCache)
        request.jsonShape = ["b": .number]
        let other = request
        let second = await failure { () throws(WherryError) in try await client.send(other) }
        #expect(second?.reason == "bad_json_body" && stub.requests.count == 3)
        client.close()
    }

    @Test("R26 equal requests share a response only if their schemas are equal")
    func shared() async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope)
        let shapes: [JSONShape?] = [nil, [:], [:], []]
        let handles = try shapes.map { shape in
            var request = Request("faulty-echo?gate=g")
            request.coalesces = true
            request.jsonShape = shape
            return try client.start(request)
        }
        try await scope.wait("requests=3")
        try scope.open(gate: "g")
        for (shape, handle) in zip(shapes, handles) {
            let error = await failure { () throws(WherryError) in try await handle.value }
            #expect((error?.reason == "bad_json_body") == (shape == []))
        }
        #expect(try scope.requests().count == 3)
    }

    @Test("R26 streams and downloads have no schema check")
    func refused() async throws {
        let (client, stub) = try client("{}")
        var request = Request("http://h/")
        request.jsonShape = [:]
        let asked = request
        let folder = try TemporaryFolder()
        for error in [
            await failure { () throws(WherryError) in _ = try await client.stream(asked) },
            await failure { () throws(WherryError) in
                _ = try await client.download(asked, to: folder.file("a")).value
            },
        ] {
            #expect(error?.reason == "bad_option")
        }
        #expect(stub.requests.isEmpty)
    }
}
