// Wherry: settings from a file, and application identity: rows C20, C10
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
@testable import WherryCore

@Suite("Settings from a file") struct ConfigurationFileTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private let folder: TemporaryFolder
    init() throws { folder = try TemporaryFolder() }

    private func file(_ text: String) throws -> String {
        let path = folder.file("config-\(UUID().uuidString).json")
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    @Test("C20 settings in a file apply to the client; other settings stay")
    func loading() async throws {
        let scope = try TestServer.shared.scope()
        let path = try file(
            """
            {"base_url": "\(scope.url("/"))", "app_name": "Fähre", "app_version": "2",
             "bearer_token": "t1", "headers": {"X-A": "1", "X-B": null}, "compressed": false,
             "max_redirects": 3, "parameters": {"p": [1, 2]}, "array_style": 1, "proxy": "",
             "bases": {"echo": "\(scope.url("/echo/"))"}, "secret_names": ["pin"],
             "credentials": {"https://h.example": {"user": "u", "password": "p", "scheme": "digest"}},
             "pins": {"*.pinned.example": ["sha256/\(Data(count: 32).base64EncodedString())"]}}
            """)
        var configuration = Client.Configuration()
        configuration.headers = ["X-B": "2", "X-C": "3"]
        configuration.maxRetries = 4
        try configuration.load(from: path)
        let client = try Client(configuration)
        let echo = try await client.echo(Request("echo"))
        #expect(echo.rawQuery == "p=1&p=2")
        #expect(echo.values("user-agent").first?.hasPrefix("Fahre/2 (Linux ") == true)
        #expect(echo.values("authorization") == ["Bearer t1"])
        #expect(echo.values("x-a") == ["1"] && echo.values("x-c") == ["3"])
        #expect(echo.values("x-b").isEmpty && echo.values("accept-encoding") == ["identity"])
        var named = Request("x")
        named.base = "echo"
        #expect(try await client.echo(named).path.hasSuffix("/echo/x"))
        #expect(configuration.maxRedirects == 3 && configuration.maxRetries == 4)
        #expect(configuration.secretNames == ["pin"])
        #expect(configuration.originCredentials["https://h.example"] == .digest("u", "p"))
        #expect(configuration.trust.pins["*.pinned.example"]?.pins.count == 1)
    }

    @Test(
        "C20 an invalid entry is named, and no setting changes",
        arguments: [
            ("{", "bad_json", "byte 1"), ("[]", "bad_value", "object"),
            (#"{"max_redirects": 1, "timeout": 3}"#, "bad_option", "timeout"),
            (#"{"max_redirects": 101}"#, "bad_value", "max_redirects"),
            (#"{"max_redirects": true}"#, "bad_value", "max_redirects must be a whole number"),
            (#"{"insecure": "yes"}"#, "bad_value", "insecure must be true or false"),
            (#"{"base_url": "example.org"}"#, "bad_url", "base URL"),
            (#"{"bases": {"files": "ftp://h/"}}"#, "bad_url", "bases/files"),
            (#"{"pins": {"h": ["sha256/x"]}}"#, "bad_pin", "sha256/x"),
            (#"{"credentials": {"h": {"user": "u"}}}"#, "bad_url", "h"),
            (#"{"max_redirects": 1.5}"#, "bad_value", "max_redirects"),
            (#"{"max_redirects": "1"}"#, "bad_value", "max_redirects"),
            (#"{"proxy": 1}"#, "bad_value", "proxy"),
            (#"{"priority": 1}"#, "bad_option", "priority"),
            (#"{"headers": {"X": 1}}"#, "bad_value", "headers/X"),
            (#"{"headers": {"a b": "c"}}"#, "bad_header", "a b"),
            (#"{"credentials": {"": {"password": "s3cret"}}}"#, "bad_value", "credentials"),
            (#"{"credentials": {"": {"user": "u", "scheme": "x"}}}"#, "bad_value", "digest"),
            (#"{"pins": {"h": "sha256/x"}}"#, "bad_value", "pins/h"),
            (#"{"client_certificates": {"": {"key": "k"}}}"#, "bad_value", "certificate"),
        ])
    func mistakes(_ text: String, _ reason: String, _ piece: String) async throws {
        var configuration = Client.Configuration()
        configuration.maxRedirects = 7
        let path = try file(text)
        do {
            try configuration.load(from: path)
            Issue.record("\(text) was taken")
        } catch {
            #expect(error.reason == reason, "\(error)")
            #expect(error.message.contains(piece) && error.message.contains(path), "\(error)")
            #expect(!error.message.contains("s3cret"))
        }
        #expect(configuration.maxRedirects == 7)
    }

    @Test("C20 null removes a setting, with one value or several")
    func nulls() throws {
        let lists = [
            "headers", "parameters", "bases", "secret_names", "credentials", "pins",
            "client_certificates",
        ]
        let members =
            lists.map { "\"\($0)\": null" } + ["\"max_redirects\": null", "\"proxy\": null"]
        var configuration = Client.Configuration()
        configuration.headers = ["X": "1"]
        configuration.parameters = ["p": 1]
        configuration.bases = ["b": "http://h/"]
        configuration.secretNames = ["pin"]
        configuration.originCredentials = ["https://h": .basic("u", "p")]
        configuration.trust.pins["h"] = TrustPolicy.Pins("x")
        configuration.trust.clientCertificates["https://h"] = .init("c.pem")
        configuration.maxRedirects = 3
        configuration.proxy = "http://h:1"
        try configuration.load(from: file("{\(members.joined(separator: ", "))}"))
        #expect(configuration.headers.fields.isEmpty && configuration.parameters.isEmpty)
        #expect(configuration.bases.isEmpty && configuration.secretNames.isEmpty)
        #expect(configuration.originCredentials.isEmpty && configuration.trust.pins.isEmpty)
        #expect(configuration.trust.clientCertificates.isEmpty)
        #expect(configuration.maxRedirects == 10 && configuration.proxy == nil)
    }

    @Test("C20 a missing file is an error, and a missing variable is not")
    func missing() async throws {
        var configuration = Client.Configuration()
        do {
            try configuration.load(from: folder.file("none"))
            Issue.record("what is not there was read")
        } catch {
            #expect(error.code == .file)
        }
    }

    @Test("C20 settings have the names of the header, and the file supports all of them")
    func names() throws {
        let header = try String(
            contentsOf: Self.root.appendingPathComponent("include/wherry.h"), encoding: .utf8)
        func number(_ name: String) -> Int? {
            guard let found = header.range(of: "  \(name) = ") else { return nil }
            return Int(header[found.upperBound...].prefix { $0.isNumber })
        }
        for (name, option) in Option.named {
            #expect(number("WHERRY_OPTION_\(name.uppercased())") == Int(option.rawValue), "\(name)")
            #expect("\(option)" == name)
        }
        for (name, option) in TextOption.named {
            #expect(number("WHERRY_TEXT_\(name.uppercased())") == Int(option.rawValue), "\(name)")
            #expect("\(option)" == name)
        }
        #expect(Option.named.count == Option.allCases.count)
        #expect(TextOption.named.count == TextOption.allCases.count)
        #expect(
            Set(Option.settings.values) == Set(Option.allCases.filter { $0.scope.contains(.build) })
        )
        #expect(
            Set(TextOption.settings.values)
                == Set(TextOption.allCases.filter { $0.scope.contains(.build) }))
    }

    @Test("C10 an application sends its identity and the user's languages if configured")
    func builtIn() async throws {
        let scope = try TestServer.shared.scope()
        let plain = try await makeClient(scope).echo(Request("echo"))
        #expect(plain.values("user-agent") == ["Wherry/\(WherryLibrary.version)"])
        #expect(plain.values("accept-language").isEmpty)
        let client = try makeClient(scope) {
            $0.appName = "Demo"
            $0.appVersion = "3"
            $0.sendsLanguages = true
        }
        #expect(
            try await client.echo(Request("echo")).values("user-agent").first?.hasPrefix("Demo/3 (")
                == true)
        try client.configure { $0.userAgent = "Own/1" }
        var request = Request("echo")
        request.headers["Accept-Language"] = "fr"
        let echo = try await client.echo(request)
        #expect(echo.values("user-agent") == ["Own/1"] && echo.values("accept-language") == ["fr"])
    }
}
