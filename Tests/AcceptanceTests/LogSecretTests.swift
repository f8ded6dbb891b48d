// Wherry: acceptance tests of secrets in logs, and of curl commands
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct LogSecretTests: CacheSuite {
    let bench: CacheBench

    init() throws { bench = try CacheBench() }

    /// No other text of the tests contains it.
    private static let planted = "pl4nted"

    // MARK: L8, SEC-S1

    @Test("L8 SEC-S1 logs, descriptions, errors, and commands contain no secret at any level")
    func redaction() async throws {
        let planted = Self.planted
        let client = try client {
            $0.bearerToken = "\(planted)-bearer"
            $0.secretNames = ["X-Shop"]
        }
        var trust = TrustPolicy()
        trust.clientCertificates["https://h"] = .init("/cert.pem", password: planted)
        var dumped = ""
        dump(trust, to: &dumped)
        #expect(!dumped.contains(planted) && !"\(trust)".contains(planted))
        let keeper = LogKeeper(client)
        try client.setLogFile(folder.file("log"), asJSON: true)
        var request = Request(
            "echo?access_token=\(planted)&page=2&Api%2DKey=\(planted)", method: "POST")
        request.headers = [
            "Cookie": "session=\(planted)", "Proxy-Authorization": "Basic \(planted)",
            "X-Auth-Token": planted, "x-shop": planted, "X-Link": "<http://h/?token=\(planted)>",
            "Referer": "http://user:\(planted)@host/?sig=\(planted)",
        ]
        request.parameters = [
            "password": .string(planted), "page": 1,
            "inner": ["client_secret": .string(planted), "list": [["pin": .string(planted)]]],
            "callback": .string("https://u:\(planted)@h/?access_token=\(planted)"),
        ]
        request.query = [.init("session_id", planted)]
        let handle = try client.start(request)
        _ = try await handle.value
        var texts = [handle.transfer.description(inFull: true), "\(handle.transfer)"]
        texts.append(try client.curlCommand(of: request))
        texts.append(try handle.transfer.curlCommand())

        // Text from a server.
        try scope.script(
            "login",
            #"[{"status": 401, "headers": [["Set-Cookie", "id=\#(planted)"], ["Location", "/x?token=\#(planted)"], ["Link", "</y?key=\#(planted)>; rel=next"]], "body": "\#(planted)"}, {"status": 302, "headers": [["Location", "/@\#(scope.key)/echo?code=1&id_token=\#(planted)"]]}]"#
        )
        for _ in 0..<2 {
            let error = await failure { () throws(WherryError) in try await client.get("s/login") }
            texts.append(error.map { "\($0)" } ?? "")
        }
        for url in [
            "http://u:\(planted)@h/", "http://h\\?token=\(planted)", "ftp://u:\(planted)@h",
        ] {
            let error = await failure { () throws(WherryError) in try await client.get(url) }
            #expect(error != nil)
            texts.append(error.map { "\($0)" } ?? "")
        }
        let failed = try await client.run(
            scope.url("/status/404?token=\(planted)"), to: folder.file("file"))
        texts.append("\(failed.error ?? WherryError(.internal, ""))")
        client.close()
        texts.append(keeper.text)
        texts.append(String(decoding: try folder.contents("log"), as: UTF8.self))
        for text in texts { #expect(!text.contains(planted), "\(text)") }
        // And other text is present.
        #expect(keeper.text.contains("page=2") && keeper.text.contains("Set-Cookie: ***"))
        #expect(keeper.text.contains(#""password":"***""#) && keeper.text.contains("code=1"))
        #expect(keeper.text.contains("key:x-shop value:***"))
    }

    @Test("L8 SEC-S1 logs contain no password of a digest or key, and no cookie values")
    func sent() async throws {
        let planted = Self.planted
        let authority = try Authority.shared
        let origin = "https://good.localhost:\(authority.clientPort)"
        func keyed(_ password: String) throws -> Client {
            try trustingClient(authority) {
                $0.trust.clientCertificates[origin] = .init(
                    authority.path("client.p12"), password: password)
            }
        }
        var texts: [String] = []
        let client = try keyed("open sesame")
        let keeper = LogKeeper(client)
        #expect(try await client.get("\(origin)/@\(authority.key())/echo").status == 200)
        // It sends two requests: one with explicit credentials, and one with a callback.
        let words = #"Digest realm=\"r\", nonce=\"n\", qop=\"auth\""#
        let challenge = #"{"status": 401, "headers": [["WWW-Authenticate", "\#(words)"]]}"#
        let answer = #"{"headers": [["Set-Cookie", "id=\#(planted)-cookie; Path=/"]], "json": {}}"#
        try scope.script("guarded", "[\(challenge), \(answer), \(challenge), \(answer)]")
        var request = Request(scope.url("/s/guarded"))
        request.credentials = .digest("skye", "\(planted)-digest")
        texts.append(try client.curlCommand(of: request))
        _ = try await client.send(request)
        try client.cookies.set("jar=\(planted)-jar; Path=/", for: scope.url("/"))
        request.credentials = nil
        let asked = try await client.send(
            request, hooks: .authenticating { _ in .digest("skye", "\(planted)-asked") })
        #expect(asked.status == 200)
        let echo = try await client.echo(Request(scope.url("/echo")))
        #expect(echo.values("cookie").first?.contains("id=\(planted)-cookie") == true)
        #expect(echo.values("cookie").first?.contains("jar=\(planted)-jar") == true)
        let fields = try scope.requests().compactMap { $0.header("authorization") }
        #expect(fields.count == 2 && fields.allSatisfy { $0.hasPrefix("Digest username=") })

        let shut = try keyed(planted + "-key")
        let keepers = [keeper, LogKeeper(shut)]
        let error = await failure { () throws(WherryError) in try await shut.get(origin + "/echo") }
        #expect(error?.reason == "tls")
        texts.append(error.map { "\($0) \(String(reflecting: $0))" } ?? "")
        texts += keepers.map(\.text)
        for text in texts {
            #expect(!text.contains(planted) && !text.contains("open sesame"), "\(text)")
        }
        #expect(keeper.text.contains("key:Cookie value:***"))
        #expect(keeper.text.contains("Set-Cookie: ***"))
    }

    @Test("L8 secret names ignore case, hyphens, and brackets, and the list can be extended")
    func names() throws {
        let secrets = Secrets(["X-Shop", "größe"])
        for name in [
            "Authorization", "PROXY-AUTHORIZATION", "set-cookie", "api_key", "x-api-key", "key",
            "user[password]", "accessToken", "X-Amz-Signature", "xshop", "x_shop",
            "GRÖßE".lowercased(),
            "to%6ben", "sid", "JSESSIONID",
        ] { #expect(secrets.contains(name), "\(name)") }
        for name in [
            "WWW-Authenticate", "Proxy-Authenticate", "author", "page", "Idempotency-Key", "monkey",
            "design", "compass", "",
        ] { #expect(!secrets.contains(name), "\(name)") }
        #expect(
            secrets.text("x http://a:b@h/p?a=1&token=t&b=2#f, key=\"v w\"; n=1 @ http://h/@u")
                == "x http://***@h/p?a=1&token=***&b=2#f, key=***; n=1 @ http://h/@u")
        #expect(secrets.text("token=") == "token=***")
        #expect(secrets.text("//a@b@c") == "//***@c")
    }

    @Test("L8 L9 curl commands have the user name, and the password only on request")
    func credentials() throws {
        let client = try client()
        var request = Request("auth/basic/skye/x")
        request.credentials = .basic("skye", Self.planted)
        let shown = try client.curlCommand(of: request)
        #expect(shown.contains("--basic") && shown.contains("--user 'skye:***'"))
        #expect(!shown.contains(Self.planted))
        let whole = try client.curlCommand(of: request, revealingSecrets: true)
        #expect(whole.contains("--user skye:\(Self.planted)"))
        client.close()
    }

    // MARK: L9

    /// The server's view of a request, without parts that may differ.
    private func seen(_ data: Data) throws -> JSON {
        var echo = try JSON(parsing: String(decoding: data, as: UTF8.self))
        guard case .object(var object) = echo else { return echo }
        for name in ["connection", "index", "attempt"] { object[name] = nil }
        if let headers = object["headers"], case .array(let fields) = headers {
            object["headers"] = .array(
                fields.filter { field in
                    guard case .array(let pair) = field, case .string(let name)? = pair.first else {
                        return false
                    }
                    // The boundary of a form is different each time, and so is its length.
                    let isForm = object["parts"].map { !$0.isNull } ?? false
                    return !isForm
                        || !["content-type", "content-length"].contains(name.lowercased())
                }.sorted { "\($0)".lowercased() < "\($1)".lowercased() })
        }
        if let parts = object["parts"], !parts.isNull {
            for name in ["body", "size"] { object[name] = nil }
        }
        echo = .object(object)
        return echo
    }

    @Test(
        "L9 the command pasted into a shell sends the same request",
        arguments: [
            "get", "query", "json", "form", "text", "empty", "binary", "quotes", "file", "fields",
            "part",
            "head",
        ])
    func curl(_ kind: String) async throws {
        let client = try client {
            $0.bearerToken = "s3cret"
            $0.headers = ["X-Client": "it's $HOME `x` \\ \"y\""]
        }
        var request = Request("echo/\(kind)")
        switch kind {
        case "query":
            request.query = [.init("a b", "ü&="), .init("x[]", "{1}")]
            request.parameters = ["list": [1, 2], "n": nil]
            request.headers = ["Accept": "text/plain", "X-Empty": ""]
            request.headers.suppress("X-Client")
        case "json": request.parameters = ["password": "it's", "list": [1, "ü"]]
        case "form":
            request.method = "PUT"
            request.body = .form([.init("a", "1 2"), .init("b", "@x;y=&")])
        case "text": request.body = .bytes(Bytes("@one\ntwo\n"), contentType: "text/plain")
        case "empty": request.method = "PATCH"
        case "binary":
            request.body = .bytes(Bytes((0...255).map { UInt8($0) }), contentType: nil)
        case "quotes": request.body = .json(Bytes(#"{"a": "'\\' $(x) %s \n"}"#))
        case "file":
            try Data("of a file".utf8).write(to: URL(fileURLWithPath: folder.file("it's")))
            request.body = .file(path: folder.file("it's"), contentType: "text/x")
        case "fields":
            request.body = .multipart([.field("a", "@1;type=x"), .field("b", "ü \"q\"")])
            request.parameters = ["c": 1]
        case "part":
            try Data("of a file".utf8).write(to: URL(fileURLWithPath: folder.file("f.txt")))
            request.body = .multipart([
                .file(
                    "up", path: folder.file("f.txt"), fileName: "n;a\"m.txt", contentType: "text/x"),
                .bytes("b", Bytes("bytes; \"q\""), fileName: "b.txt", contentType: "text/plain"),
            ])
        case "head": request.method = "HEAD"
        default: break
        }
        let command = try client.curlCommand(of: request, revealingSecrets: true)
        #expect(command.contains("s3cret"))
        if kind == "head" {
            _ = try shell(command)
            _ = try await client.send(request)
            let logged = try scope.requests()
            #expect(logged.count == 2 && logged[0].method == "HEAD" && logged[1].method == "HEAD")
            #expect(
                logged[0].headers.map { "\($0)" }.sorted()
                    == logged[1].headers.map { "\($0)" }.sorted())
            return client.close()
        }
        let pasted = try seen(shell(command))
        let sent = try seen(Data(client.perform(request).body.array))
        #expect(pasted == sent, "\(command)")
        client.close()
    }
}
