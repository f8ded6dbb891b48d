// Wherry: acceptance tests of endpoints and models
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

@Suite struct EndpointTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    private func endpoint(_ path: String, method: String = "POST") throws -> Endpoint {
        try Endpoint(client, server: scope.url("/"), path: path, method: method)
    }

    @Test("O1 server, path, method, parameters, and files make the request")
    func parts() async throws {
        let plain = try await endpoint("echo").access(["a": 1]).decode(Echo.self)
        #expect(plain.method == "POST" && plain.text == #"{"a":1}"#)
        let search = try await endpoint("/echo", method: "GET").access(["q": "b c"])
        #expect(try search.decode(Echo.self).rawQuery == "q=b%20c")
        let files = try await endpoint("echo").access(
            ["a": 1], files: [.bytes("f", Bytes("content"), fileName: "f.txt")])
        let parts = try #require(try files.decode(Echo.self).parts)
        #expect(parts.map(\.name) == ["f", "a"] || parts.map(\.name) == ["a", "f"])
        #expect(parts.first { $0.name == "f" }?.size == 7)
        #expect(parts.first { $0.name == "a" }?.text == "1")
        // https was broken once: it became http://https://.
        let secure = try Endpoint(client, server: "https://example.org/", path: "api")
        #expect(secure.request.url == "https://example.org/api")
    }

    @Test("O1 every method is sent", arguments: ["GET", "POST", "PUT", "PATCH", "DELETE"])
    func methods(method: String) async throws {
        let echo = try await endpoint("echo", method: method).access(["a": "1"]).decode(Echo.self)
        #expect(echo.method == method)
    }

    @Test(
        "O2 a new access cancels the previous one, which ends as replaced without other events")
    func replacing() async throws {
        let endpoint = try endpoint("faulty-echo?gate=held&gate_times=1", method: "GET")
        let first = Task {
            await failure { () throws(WherryError) in try await endpoint.access(["n": 1]) }
        }
        try await scope.wait("requests=1")
        #expect(endpoint.phase == .loading)

        let second = try await endpoint.access(["n": 2])

        #expect(await first.value?.reason == "replaced")
        #expect(await first.value?.code == .cancelled)
        #expect(endpoint.phase == .succeeded)
        #expect(try second.decode(Echo.self).rawQuery.contains("n=2"))
        #expect(endpoint.response?.text == second.text)
    }

    @Test("O2 refresh repeats the last access with its parameters and files")
    func refreshing() async throws {
        let endpoint = try endpoint("echo")
        #expect(try await endpoint.refresh().decode(Echo.self).size == 0)
        _ = try await endpoint.access(["a": 1], files: [.field("f", "x")])
        let parts = try await endpoint.refresh().decode(Echo.self).parts
        #expect(Set(parts?.compactMap(\.name) ?? []) == ["a", "f"])
        _ = try await endpoint.access(["b": 2])
        #expect(try await endpoint.refresh().decode(Echo.self).text == #"{"b":2}"#)
    }

    @Test("O2 cancel only ends the access in flight")
    func cancelling() async throws {
        let endpoint = try endpoint("silent", method: "GET")
        #expect(!endpoint.cancel() && endpoint.phase == .created)
        let access = Task {
            await failure { () throws(WherryError) in try await endpoint.access() }
        }
        try await scope.wait("requests=1")
        #expect(endpoint.cancel())
        #expect(await access.value?.reason == "cancelled")
        #expect(endpoint.phase == .cancelled)
        #expect(!endpoint.cancel())
    }

    @Test("O2 a failure is reported, and the next access starts normally")
    func failing() async throws {
        let endpoint = try endpoint("faulty-echo?status_first=503&status_times=1", method: "GET")
        let error = await failure { () throws(WherryError) in try await endpoint.access(["a": 1]) }
        #expect(error?.httpStatus == 503 && endpoint.phase == .failed)
        #expect(endpoint.response?.status == 503)
        #expect(try await endpoint.refresh().status == 200)
        #expect(endpoint.phase == .succeeded)
    }

    @Test("O2 an access that cannot start does not cancel the one in flight")
    func failingStart() async throws {
        let endpoint = try endpoint("faulty-echo?gate=held", method: "GET")
        let first = Task { try await endpoint.access(["n": 1]).status }
        try await scope.wait("requests=1")
        let error = await failure { () throws(WherryError) in
            try await endpoint.access(["n": .double(.nan)])
        }
        #expect(error?.reason == "bad_parameters")
        #expect(endpoint.phase == .loading)
        try scope.open(gate: "held")
        #expect(try await first.value == 200)
    }

    @Test("O3 one body is available as bytes, text, and JSON")
    func views() async throws {
        let endpoint = try endpoint("json?value={\"a\":[1,2]}", method: "GET")
        #expect(endpoint.response == nil)
        let none = #expect(throws: WherryError.self) { try endpoint.json() }
        #expect(none?.reason == "wrong_state")
        let answer = try await endpoint.access()
        #expect(try endpoint.json() == ["a": [1, 2]])
        #expect(try JSON(parsing: answer.text) == ["a": [1, 2]])
        #expect(Array(answer.body) == Array(answer.text.utf8))
    }

    @Test("O4 an access has its start time and the durations of its parts, total, and parsing")
    func timing() async throws {
        let endpoint = try endpoint("json?delay_ms=30", method: "GET")
        #expect(endpoint.timing == nil)
        _ = try await endpoint.access()
        let first = try #require(endpoint.timing)
        #expect(first.parse == .zero)
        #expect(first.started > .zero)
        #expect(first.network.firstByte >= .milliseconds(30))
        #expect(first.network.total >= first.network.firstByte)
        // The total is the network time plus the time around it.
        #expect(first.total >= first.network.total - .milliseconds(2))
        _ = try endpoint.json()
        #expect(try #require(endpoint.timing).parse > .zero)
        _ = try await endpoint.access()
        let second = try #require(endpoint.timing)
        #expect(second.started >= first.started + first.network.total)
        #expect(second.network.lookup == .zero && second.network.isReused)
    }

    // MARK: Models

    private struct Person: Decodable, Equatable, Sendable {
        var name: String
        var age: Int
    }

    @Test("O5 two concurrent loads send one request, and both get its value")
    func doubleLoad() async throws {
        let endpoint = try endpoint(
            "json?value={\"data\":{\"name\":\"Skye\",\"age\":7}}&gate=held", method: "GET")
        let model = Model(endpoint, as: Person.self, at: "data")
        async let first = model.load()
        try await scope.wait("requests=1")
        #expect(model.phase == .loading && model.value == nil)
        async let second = model.load()
        try scope.open(gate: "held")
        let both = try await [first, second]
        #expect(both == [Person(name: "Skye", age: 7), Person(name: "Skye", age: 7)])
        #expect(try scope.requests().count == 1)
        #expect(model.value == both[0] && model.phase == .succeeded)
    }

    @Test("O5 the parsed value is reported before the load returns, with its time")
    func order() async throws {
        let endpoint = try endpoint("json?value={\"name\":\"Skye\",\"age\":7}", method: "GET")
        let order = Guarded<[String]>([])
        let model = Model(endpoint, as: Person.self) { person in
            order.withLock { $0.append("read \(person.name)") }
        }
        try await model.load()
        order.withLock { $0.append("returned") }
        #expect(order.withLock { $0 } == ["read Skye", "returned"])
        #expect(try #require(endpoint.timing).parse > .zero)
    }

    @Test("O5 without an address nothing is sent; a failed load keeps the value")
    func mistakes() async throws {
        let none = Model<Person>(Endpoint(client, Request("")))
        let error = await failure { () throws(WherryError) in try await none.load() }
        #expect(error?.reason == "bad_url")

        try scope.script(
            "person",
            #"[{"json": {"name": "Skye", "age": 7}}, {"json": {"name": "Skye"}}, {"status": 500}]"#)
        let model = Model<Person>(try endpoint("s/person", method: "GET"))
        try await model.load()
        let wrong = await failure { () throws(WherryError) in try await model.load() }
        #expect(wrong?.reason == "bad_json_body" && wrong?.message.contains("age") == true)
        let refused = await failure { () throws(WherryError) in try await model.load() }
        #expect(refused?.httpStatus == 500 && model.phase == .failed)
        #expect(model.value == Person(name: "Skye", age: 7))
    }

    @Test("O3 O5 a model may read any form of a response")
    func otherForms() async throws {
        let endpoint = try endpoint("bytes/1000", method: "GET")
        let model = Model(endpoint) { response in response.body.count }
        #expect(try await model.load() == 1000)
        struct Wrong: Error {}
        let failing = Model<Int>(endpoint) { _ in throw Wrong() }
        let error = await failure { () throws(WherryError) in try await failing.load() }
        #expect(error?.reason == "bad_json_body")
    }

    @Test("O5 cancelling the waiting task cancels the load")
    func cancellingLoad() async throws {
        let model = Model<Person>(try endpoint("silent", method: "GET"))
        let task = Task { await failure { () throws(WherryError) in try await model.load() } }
        try await scope.wait("requests=1")
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        #expect(model.phase == .cancelled)
    }

    @Test("O7 O8 a table finds the fields of a Decodable value, and converts them")
    func mapping() async throws {
        let mapping = ItemMapping([
            .init("name", at: "profile/full_name", .text), .init("age", at: "years", .integer),
        ])
        let value = #"{"data":{"profile":{"full_name":12},"years":"7"}}"#
        let endpoint = try endpoint("json?value=\(value)", method: "GET")
        let model = Model(endpoint, as: Person.self, at: "data", mapping: mapping)
        #expect(try await model.load() == Person(name: "12", age: 7))
        let optional = try await endpoint.access().decode(
            Person?.self, at: "nothing", mapping: mapping)
        #expect(optional == nil)
    }

    @Test("O16 a base item ignores missing and unknown fields")
    func baseItem() throws {
        let json: JSON = ["id": 7, "title": "Skye", "pictures": ["https://example.org/a.jpg"]]
        let mapping = ItemMapping(
            [.init("identifier", at: "id", .text), .init("image", at: "pictures/0", .text)],
            extending: BaseItem.mapping)
        let item = BaseItem(json, by: mapping)
        #expect(
            item
                == BaseItem(identifier: "7", title: "Skye", image: "https://example.org/a.jpg"))
        #expect(BaseItem([]) == BaseItem())
        #expect(try json.decode(BaseItem.self, mapping: mapping) == item)
    }
}
