// Wherry: tests of Encodable and Decodable values
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Wherry

@Suite struct CodableTests {
    struct User: Codable, Equatable {
        var name: String
        var born: Date?
        var pet: Pet?
        struct Pet: Codable, Equatable { var legs: Int }
    }

    private let stub = StubServer()
    private let client: Client

    init() throws {
        let stub = stub
        client = try Client {
            $0.stubServer = stub
            $0.baseURL = "https://example.org/v1"
        }
    }

    @Test func `a value is sent as JSON and another is returned`() async throws {
        try stub.respond(
            "https://example.org/v1/users", json: ["name": "Skye", "pet": ["legs": 4]])
        let user = try await client.post("users", json: User(name: "Mo"), as: User.self)
        #expect(user == User(name: "Skye", pet: .init(legs: 4)))
        let sent = try #require(stub.requests.first)
        #expect(sent.method == "POST")
        #expect(sent.headers["content-type"] == "application/json")
        #expect(sent.body.text == #"{"name":"Mo"}"#)
    }

    @Test func `a custom encoder and decoder are used`() async throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.outputFormatting = .sortedKeys
        let date = Date(timeIntervalSince1970: 86_400)
        let request = try Request("users", json: User(name: "Mo", born: date), encoder: encoder)
        stub.respond("*", body: Bytes(#"{"name": "Mo", "born": 86400}"#))
        let response = try await client.send(request)
        #expect(stub.requests.first?.body.text == #"{"born":86400,"name":"Mo"}"#)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        #expect(try response.decode(User.self, decoder: decoder) == User(name: "Mo", born: date))
    }

    @Test(
        "a response of another type reports the coding path of the mismatch",
        arguments: [
            (#"{"pet": {"legs": 4}}"#, "\"name\" is missing"),
            (#"{"name": "x", "pet": {"legs": "four"}}"#, "Int was expected at pet/legs"),
            (#"{"name": null}"#, "name"), ("{", ""), ("", ""), ("[]", ""),
        ])
    func mismatch(body: String, words: String) async throws {
        stub.respond("*", body: Bytes(body))
        let response = try await client.get("users/7?token=secret")
        do {
            _ = try response.decode(User.self)
            Issue.record("\(body) was decoded")
        } catch {
            #expect(error.reason == "bad_json_body" && error.code == .http)
            #expect(words.isEmpty || error.message.contains(words), "\(error.message)")
            #expect(!error.message.contains("secret"))
            #expect(error.response?.text == body)
        }
    }

    @Test func `an empty response is nil for an optional type`() async throws {
        stub.respond("*", status: 204)
        #expect(try await client.get("x", as: User?.self) == nil)
    }

    @Test func `data of a body shares its memory and outlives the response`() async throws {
        let text = String(repeating: "wherry ", count: 10_000)
        stub.respond("*", body: Bytes(text))
        func data() async throws -> (Data, UInt) {
            let response = try await client.get("x")
            let address = response.body.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
            return (response.data, address)
        }
        let (data, address) = try await data()
        #expect(data.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } == address)
        #expect(String(decoding: data, as: UTF8.self) == text)
        #expect(Bytes().data == Data())
    }

    @Test func `a request accepts a URL`() async throws {
        stub.respond("*")
        let url = try #require(URL(string: "https://example.net/a%20b?c=d"))
        _ = try await client.send(Request(url, method: "PUT"))
        let relative = try #require(URL(string: "x/y"))
        _ = try await client.send(Request(relative))
        #expect(
            stub.requests.map(\.url)
                == ["https://example.net/a%20b?c=d", "https://example.org/v1/x/y"])
        var request = Request("data")
        request.body = .data(Data([1, 2, 3]), contentType: "application/x-thing")
        _ = try await client.send(request)
        #expect(stub.requests.last?.body == [1, 2, 3])
        #expect(stub.requests.last?.headers["Content-Type"] == "application/x-thing")
    }
}
