// Wherry: acceptance tests of requests
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

@Suite struct RequestTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    @Test("R1 GET, POST, PUT, and DELETE send their parameters", arguments: ["GET", "DELETE"])
    func queryMethods(method: String) async throws {
        var request = Request("echo", method: method)
        request.parameters = ["a": "1", "b": 2]
        let echo = try await client.echo(request)
        #expect(echo.method == method)
        #expect(echo.query == [["a", "1"], ["b", "2"]])
        #expect(echo.size == 0)
    }

    @Test("R1 parameters of POST and PUT are a JSON body", arguments: ["POST", "PUT", "PATCH"])
    func bodyMethods(method: String) async throws {
        var request = Request("echo", method: method)
        request.parameters = ["a": "1", "b": 2]
        let echo = try await client.echo(request)
        #expect(echo.method == method)
        #expect(echo.query.isEmpty)
        #expect(echo.text == #"{"a":"1","b":2}"#)
        #expect(echo.values("content-type") == ["application/json"])
    }

    @Test("R1 every method has a call")
    func conveniences() async throws {
        struct Thing: Codable { var name: String }
        let thing = Thing(name: "Skye")
        #expect(try await client.get("echo", parameters: ["a": 1], as: Echo.self).rawQuery == "a=1")
        #expect(try await client.delete("echo").decode(Echo.self).method == "DELETE")
        #expect(try await client.post("echo").decode(Echo.self).method == "POST")
        let posted = try await client.post("echo", json: thing, as: Echo.self)
        #expect(posted.text == #"{"name":"Skye"}"#)
        let put = try await client.put("echo", json: thing).decode(Echo.self)
        #expect(put.method == "PUT" && put.text == #"{"name":"Skye"}"#)
        let patched = try await client.patch(
            "echo", json: thing, headers: ["X-One": "1"]
        ).decode(Echo.self)
        #expect(patched.method == "PATCH" && patched.values("x-one") == ["1"])
    }

    @Test("R2 without a method a request without parameters is GET, otherwise POST")
    func automaticMethod() async throws {
        var request = Request("echo")
        #expect(try await client.echo(request).method == "GET")
        request.parameters = ["a": 1]
        let echo = try await client.echo(request)
        #expect(echo.method == "POST" && echo.text == #"{"a":1}"#)
        request = Request("echo")
        request.body = .json(Bytes("[]"))
        #expect(try await client.echo(request).method == "POST")
    }

    @Test("R3 HEAD returns headers and does not wait for a body")
    func head() async throws {
        let response = try await client.head("bytes/100000")
        #expect(response.status == 200)
        #expect(response.header("content-length") == "100000")
        #expect(response.body.isEmpty)
    }

    @Test(
        "R3 any token is a valid method", arguments: ["PURGE", "OPTIONS", "PROPFIND", "M-SEARCH"])
    func anyMethod(method: String) async throws {
        #expect(try await client.echo(Request("echo", method: method)).method == method)
    }

    @Test("R4 parameters, query, JSON, form, and bytes are sent where requested")
    func places() async throws {
        for method in ["GET", "HEAD", "DELETE", "POST", "PUT", "PATCH"] {
            let isQuery = ["GET", "HEAD", "DELETE"].contains(method)
            for kind in ["none", "json", "form", "bytes"] {
                var request = Request("echo?u=0", method: method)
                request.parameters = ["p": "1"]
                request.query = [.init("q", "2"), .init("q", "3")]
                var body = ""
                var query = "u=0"
                switch kind {
                case "json":
                    request.body = .json(Bytes(#"{"j":4}"#))
                    body = #"{"j":4}"#
                    query += "&p=1"
                case "form":
                    request.body = .form([.init("f", "5")])
                    body = isQuery ? "f=5" : "p=1&f=5"
                    if isQuery { query += "&p=1" }
                case "bytes":
                    request.body = .bytes(Bytes("raw"), contentType: "text/plain")
                    body = "raw"
                    query += "&p=1"
                default:
                    body = isQuery ? "" : #"{"p":"1"}"#
                    if isQuery { query += "&p=1" }
                }
                query += "&q=2&q=3"
                if method == "HEAD" && kind != "none" {
                    let request = request
                    let error = await failure { () throws(WherryError) in
                        try await client.send(request)
                    }
                    #expect(error?.reason == "bad_method")
                } else if method == "HEAD" {
                    // No body is returned: the server's log has the result.
                    _ = try await client.send(request)
                    let seen = try #require(try scope.requests().last)
                    #expect(seen.target.hasSuffix("?\(query)"))
                } else {
                    let echo = try await client.echo(request)
                    #expect(echo.rawQuery == query, "\(method) \(kind)")
                    #expect(echo.text == body, "\(method) \(kind)")
                }
            }
        }
    }

    @Test("R5 DELETE and GET send a body, together with a query")
    func bodyOfDelete() async throws {
        for method in ["DELETE", "GET"] {
            var request = Request("echo", method: method)
            request.query = [.init("why", "old")]
            request.body = .json(Bytes("[1,2,3]"))
            let echo = try await client.echo(request)
            #expect(echo.method == method)
            #expect(echo.text == "[1,2,3]")
            #expect(echo.rawQuery == "why=old")
        }
    }

    struct Encoding: Decodable {
        let parameters: JSONValue
        let query: String
        let arrays, members, bools: Int64?

        func style(_ request: inout Request) {
            request.arrayStyle = arrays.flatMap { ArrayStyle(rawValue: $0) }
            request.memberStyle = members.flatMap { MemberStyle(rawValue: $0) }
            request.boolStyle = bools.flatMap { BoolStyle(rawValue: $0) }
        }
    }

    @Test("R6 R7 queries and forms match the table byte for byte")
    func encoding() async throws {
        for encoding in try scenarios("query-encoding.json", of: Encoding.self) {
            let parameters = try #require(encoding.parameters.json.object())
            var request = Request("echo", method: "GET")
            request.parameters = parameters
            encoding.style(&request)
            #expect(try await client.echo(request).rawQuery == encoding.query)
            request.url = "echo?z=1"
            let joined = encoding.query.isEmpty ? "z=1" : "z=1&" + encoding.query
            #expect(try await client.echo(request).rawQuery == joined)
            request = Request("echo", method: "POST")
            request.parameters = parameters
            request.body = .form([])
            encoding.style(&request)
            let echo = try await client.echo(request)
            #expect(echo.text == encoding.query)
            #expect(echo.values("content-type") == ["application/x-www-form-urlencoded"])
        }
    }

    @Test("R8 a value that JSON cannot represent is an error, and nothing is sent")
    func invalidParameters() async throws {
        for parameters: JSONObject in [
            ["a": .double(.nan)], ["b": ["c": [.double(.infinity)]]],
        ] {
            for method in ["POST", "GET"] {
                var request = Request("echo", method: method)
                request.parameters = parameters
                let error = await failure { () throws(WherryError) in try await client.send(request)
                }
                #expect(error?.reason == "bad_parameters")
                #expect(error?.code == .argument)
            }
        }
        let error = await failure { () throws(WherryError) in
            try await client.post("echo", json: ["x": Double.nan])
        }
        #expect(error?.reason == "bad_parameters")
        #expect(error?.message.contains("x") == true)
        #expect(try scope.requests().isEmpty)
    }

    @Test("R10 a status from 200 to 299 succeeds, and a request may accept others")
    func statuses() async throws {
        for status in [200, 204, 299] {
            #expect(try await client.get("status/\(status)").status == status)
        }
        for status in [300, 304, 404, 500] {
            let error = await failure { () throws(WherryError) in
                try await client.get("status/\(status)")
            }
            #expect(error?.httpStatus == status)
            #expect(error?.code == .http && error?.reason == "http_status")
        }
        var request = Request("status/404")
        request.acceptedStatus = [404]
        #expect(try await client.send(request).status == 404)
    }

    @Test("R10 199 is interim: the next response is final, and none is an error")
    func interimStatus() async throws {
        let response = try await client.get("status/199?then=200&body=done")
        #expect(response.status == 200 && response.text == "done")
        let refusal = await failure { () throws(WherryError) in
            try await client.get("status/199?then=404")
        }
        #expect(refusal?.httpStatus == 404)
        try scope.script("alone", #"[{"raw": [["send", "HTTP/1.1 199 Wait\r\n\r\n"], ["fin"]]}]"#)
        let error = await failure { () throws(WherryError) in try await client.get("s/alone") }
        #expect(error?.code == .network && error?.httpStatus == 0, "\(String(describing: error))")
        #expect(error?.response == nil)
    }

    @Test("R11 JSON is required only on request")
    func contentTypes() async throws {
        func ask(_ type: String, _ body: String) async throws -> WherryError? {
            var request = Request("status/200")
            request.query = [.init("type", type), .init("body", body)]
            request.wantsJSON = true
            return await failure { () throws(WherryError) in try await client.send(request) }
        }
        for type in [
            "application/json", "text/json", "text/javascript", "application/json; charset=utf-8",
            "application/problem+json", "APPLICATION/JSON", "text/html", "text/plain", "text/xml",
            "application/xml", "text/html; charset=utf-8",
        ] {
            #expect(try await ask(type, #"{"a":1}"#) == nil, "\(type)")
        }
        let binary = try await ask("application/octet-stream", "{}")
        #expect(binary?.reason == "content_type")
        #expect(binary?.response?.text == "{}")
        for type in ["image/png", "application/octet-stream", "multipart/form-data", "nonsense"] {
            #expect(try await ask(type, "{}")?.reason == "content_type", "\(type)")
        }
        // With such a type the body must still be JSON.
        for type in ["application/json", "text/html", "text/plain", "text/xml"] {
            let broken = try await ask(type, "{")
            #expect(broken?.reason == "bad_json_body" && broken?.code == .http, "\(type)")
            #expect(broken?.response?.text == "{" && broken?.httpStatus == 200)
        }
        // A missing type with an empty body passes, and so does any type without the requirement.
        var empty = Request("status/204")
        empty.wantsJSON = true
        #expect(try await client.send(empty).body.isEmpty)
        #expect(try await client.get("status/200?type=image/png&body=x").text == "x")
    }

    @Test("R11 a large response is checked off the network thread, also for a blocking caller")
    func largeJSON() async throws {
        var request = Request("echo", method: "POST")
        request.body = .bytes(Bytes(String(repeating: "a", count: 200_000)), contentType: nil)
        request.wantsJSON = true
        #expect(try client.perform(request).body.count > 200_000)
        #expect(try await client.send(request).status == 200)
    }

    @Test("R11 a wrong type under an error status is the cause of the status error")
    func bothRefusals() async throws {
        var request = Request("status/500?type=application/octet-stream&body=oops")
        request.wantsJSON = true
        let error = await failure { () throws(WherryError) in try await client.send(request) }
        #expect(error?.reason == "http_status" && error?.httpStatus == 500)
        #expect(error?.underlying?.reason == "content_type")
    }

    @Test(
        "R12 a 204, an empty body, and a single space are null",
        arguments: ["status/204", "empty", "space"])
    func nothing(path: String) async throws {
        var request = Request(path)
        request.wantsJSON = true
        let response = try await client.send(request)
        #expect(try response.json() == .null)
        #expect(try response.decode([String: Int]?.self) == nil)
    }

    @Test("R12 null members are kept, or removed on request")
    func nullMembers() async throws {
        let json = try await client.get(#"json?value={"a":null,"b":[null,{"c":null,"d":1}]}"#)
            .json()
        #expect(json == ["a": nil, "b": [nil, ["c": nil, "d": 1]]])
        #expect(json.removingNullMembers() == ["b": [nil, ["d": 1]]])
    }

    @Test("R14 a response has all its properties")
    func answer() async throws {
        let response = try await client.get("redirect/1?to=/json")
        #expect(response.status == 200)
        #expect(response.header("Content-Type") == "application/json")
        #expect(try response.json().integer(at: "data/id") == 7)
        #expect(response.data == Data(response.body))
        #expect(response.text.contains("wherry"))
        #expect(response.isFromCache == false)
        #expect(response.url.hasSuffix("/json"))
        #expect(response.redirects.map(\.status) == [302])
        let metrics = response.metrics
        #expect(metrics.total > .zero && metrics.firstByte > .zero)
        #expect(metrics.firstByte <= metrics.total)
        #expect(metrics.redirects == 1 && metrics.httpVersion == 11)
        #expect(metrics.receivedBytes > Int64(response.body.count) && metrics.sentBytes > 0)
    }

    @Test("R15 an error has its status, its headers, and the server's text")
    func refusal() async throws {
        let path =
            #"status/422?type=application/json&body={"error":"too%20short"}&header=X-Why:%20short"#
        let error = await failure { () throws(WherryError) in try await client.get(path) }
        #expect(error?.httpStatus == 422)
        #expect(error?.code == .http)
        #expect(error?.response?.header("x-why") == "short")
        #expect(try error?.response?.json().text(at: "error") == "too short")
        #expect(error?.isRetryable == false)
        #expect(error?.message.isEmpty == false)
        let none = await failure { () throws(WherryError) in
            try await client.get("http://127.0.0.1:1/")
        }
        #expect(none?.httpStatus == 0 && none?.response == nil)
        #expect(none?.reason == "connect")
    }

    @Test("R17 the blocking call works from any thread")
    func blocking() async throws {
        let client = client
        try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<20 {
                group.addTask {
                    try await onThread { try client.perform(Request("echo?i=\(index)")).status }
                }
            }
            for try await status in group { #expect(status == 200) }
        }
        let error = await failure { () throws(WherryError) in
            try client.perform(Request("status/404"))
        }
        #expect(error?.httpStatus == 404)
    }

    @Test("R18 the caller may sleep meanwhile")
    func offTheCallersThread() throws {
        let handle = try client.start(Request("bytes/3000000"))
        // Nothing reads, drives, or waits here: the server confirms that everything was sent.
        try scope.waitBlocking("ended=1")
        #expect(client.wait(timeout: .seconds(60)))
        #expect(handle.state == .done)
    }

    @Test("R23 progress of a body rises to its total and never past it")
    func progress() async throws {
        let handle = try client.start(Request("bytes/3000000?hold=1000000&gate=go"))
        var fractions: [Double] = []
        for await progress in handle.progress {
            // The server stops at a third until the test has seen the first of them.
            if fractions.isEmpty { try scope.open(gate: "go") }
            fractions.append(try #require(progress.fraction))
            #expect(progress.total == 3_000_000)
        }
        #expect(fractions.count >= 2)
        #expect(try #require(fractions.first) <= 1.0 / 3)
        #expect(try await handle.value.body.count == 3_000_000)
        #expect(fractions == fractions.sorted())
        #expect(fractions.last == 1)
    }

    @Test("R23 progress of a compressed body counts the bytes on the wire")
    func progressOfCompressed() async throws {
        let handle = try client.start(Request("gzip?zeros=400000"))
        var last: TransferProgress?
        var isMonotone = true
        for await progress in handle.progress {
            isMonotone = isMonotone && progress.completed >= last?.completed ?? 0
            last = progress
            if let fraction = progress.fraction { #expect(fraction <= 1) }
        }
        #expect(isMonotone)
        let body = try await handle.value.body.count
        #expect(body >= 400_000)
        #expect(last?.fraction == 1)
        // The decoded size is reported separately, also for several together.
        #expect(last?.decoded == Int64(body))
        #expect(last?.wire == last?.completed && last?.completed ?? .max < 10_000)
        let sum = TransferProgress(sumOf: [try #require(last), try #require(last)])
        #expect(sum.decoded == 2 * Int64(body))
    }

    @Test("R23 an unknown total stays unknown")
    func unknownTotal() async throws {
        let handle = try client.start(Request("bytes/300000?chunked=1&hold=100000&gate=go"))
        var last: TransferProgress?
        for await progress in handle.progress {
            if last == nil { try scope.open(gate: "go") }
            #expect(progress.total == nil && progress.fraction == nil)
            last = progress
        }
        #expect(try await handle.value.body.count == 300_000)
        #expect(last?.completed ?? 0 >= 300_000)
    }

    @Test("R24 each content encoding is decoded", arguments: ["gzip", "deflate", "deflate?raw=1"])
    func codings(path: String) async throws {
        let response = try await client.get(path)
        #expect(try response.json().kind == .object)
        #expect(response.header("content-encoding") != nil)
        let asked = try #require(try scope.requests().last?.header("accept-encoding"))
        #expect(asked == "gzip, deflate")
    }

    @Test("R27 the tag is returned")
    func tags() async throws {
        // It is held at a gate that never opens, so it is still running when it is looked up.
        var request = Request("faulty-echo?gate=held")
        request.tag = "screen 1"
        let handle = try client.start(request)
        #expect(handle.transfer.tag == "screen 1")
        #expect(client.transfers(.tag("screen 1")).map(\.id) == [handle.transfer.id])
        #expect(client.transfers(.tag("screen 2")).isEmpty)
        handle.cancel()
        _ = await failure { () throws(WherryError) in try await handle.value }
    }
}

/// Runs blocking work on a separate thread.
func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
    }
}

/// A JSON value in a scenario.
struct JSONValue: Decodable {
    let json: JSON

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            json = .null
        } else if let value = try? container.decode(Bool.self) {
            json = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            json = .integer(value)
        } else if let value = try? container.decode(UInt64.self) {
            json = .unsigned(value)
        } else if let value = try? container.decode(Double.self) {
            json = .double(value)
        } else if let value = try? container.decode(String.self) {
            json = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            json = .array(value.map(\.json))
        } else {
            var object = JSONObject()
            for (name, value) in try container.decode([String: JSONValue].self) {
                object[name] = value.json
            }
            json = .object(object)
        }
    }
}
