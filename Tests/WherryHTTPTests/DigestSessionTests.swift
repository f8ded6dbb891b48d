// Wherry: tests of challenges and digest responses
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem
import WherryTransport

@testable import WherryHTTP

@Suite struct DigestSessionTests {
    private func challenges(_ values: String...) -> [AuthChallenge] {
        let block = values.map { "WWW-Authenticate: \($0)\n" }.joined()
        return AuthChallenge.all(ResponseHead(status: 401, block: Bytes(block)))
    }

    /// The parameter of that name in a generated header.
    private func part(_ name: String, of field: String) -> String? {
        var found: [AuthChallenge] = []
        AuthChallenge.read(field, into: &found)
        return found.first?.parameters[name]
    }

    private func made(
        _ session: inout DigestSession, _ credentials: Credentials, method: String, target: String,
        bodyHash: [UInt8]? = nil
    ) throws -> String {
        let field = session.field(credentials, method: method, target: target, bodyHash: bodyHash)
        return try #require(field)
    }

    @Test(
        "R20 the examples of RFC 7616 section 3.9.1 are reproduced",
        arguments: [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ])
    func examples(algorithm: String, response: String) throws {
        let challenge = try #require(
            challenges(
                """
                Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), \
                nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", \
                opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
                """
            ).first)
        var session = try #require(
            DigestSession(
                challenge, clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"))
        let mufasa = Credentials.digest("Mufasa", "Circle of Life")
        let field = try made(&session, mufasa, method: "GET", target: "/dir/index.html")
        #expect(part("response", of: field) == response)
        #expect(part("nc", of: field) == "00000001" && part("qop", of: field) == "auth")
        #expect(part("opaque", of: field) == "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS")
        #expect(!field.contains("Circle"))
        let second = try made(&session, mufasa, method: "GET", target: "/dir/index.html")
        #expect(part("nc", of: second) == "00000002")
        #expect(part("response", of: second) != response)
    }

    /// The RFC prints the values of a draft of SHA-512/256; these are from its erratum 4897.
    @Test(
        "R20 the example of RFC 7616 section 3.9.2 is reproduced, SHA-512-256 and hashed name")
    func hashedNameExample() throws {
        let challenge = try #require(
            challenges(
                """
                Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, \
                nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", \
                opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8, userhash=true
                """
            ).first)
        var session = try #require(
            DigestSession(challenge, clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v"))
        let field = try made(
            &session, .digest("Jäsøn Doe", "Secret, or not?"), method: "GET", target: "/doe.json")
        #expect(
            part("username", of: field)
                == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
        #expect(
            part("response", of: field)
                == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
        #expect(part("userhash", of: field) == "true")
        #expect(part("algorithm", of: field) == "SHA-512-256")
    }

    @Test(
        "R20 the digest covers the body if the server offers only auth-int",
        arguments: ["MD5", "SHA-256-sess"])
    func integrity(algorithm: String) throws {
        let challenge = try #require(
            challenges(#"Digest realm="r", nonce="n", qop="auth-int", algorithm=\#(algorithm)"#)
                .first)
        var session = try #require(DigestSession(challenge, clientNonce: "c"))
        let kind: DigestAlgorithm = algorithm == "MD5" ? .md5 : .sha256
        #expect(session.bodyAlgorithm == kind)
        let uncovered = session.field(.digest("u", "p"), method: "POST", target: "/a")
        #expect(uncovered == nil)
        let field = try made(
            &session, .digest("u", "p"), method: "POST", target: "/a",
            bodyHash: Digest.hash(of: "hello", kind))
        func hash(_ text: String) -> String { Hex.encode(Digest.hash(of: text, kind)) }
        let first = kind == .md5 ? hash("u:r:p") : hash("\(hash("u:r:p")):n:c")
        let second = hash("POST:/a:\(hash("hello"))")
        #expect(part("response", of: field) == hash("\(first):n:00000001:c:auth-int:\(second)"))
        #expect(part("qop", of: field) == "auth-int")
        // Of both, the one that does not need the body.
        let both = try #require(
            challenges(#"Digest realm="r", nonce="n", qop="auth-int,auth""#).first)
        #expect(DigestSession(both, clientNonce: "c")?.bodyAlgorithm == nil)
    }

    @Test("R20 a non-ASCII name is sent as username* to a server that supports RFC 7616")
    func extendedNames() throws {
        for (parameters, isExtended) in [
            ("algorithm=SHA-256", true), ("algorithm=SHA-512-256-sess", true),
            ("charset=UTF-8", true), ("algorithm=MD5, charset=\"utf-8\"", true),
            ("algorithm=MD5", false), ("qop=auth", false),
        ] {
            let challenge = try #require(
                challenges(#"Digest realm="r", nonce="n", \#(parameters)"#).first)
            var session = try #require(DigestSession(challenge, clientNonce: "c"))
            let field = try made(&session, .digest("Jäsøn Doe", "p"), method: "GET", target: "/")
            #expect(
                field.contains("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe") == isExtended,
                "\(parameters)")
            #expect(field.contains("username=\"Jäsøn Doe\"") != isExtended, "\(parameters)")
            let plain = try made(&session, .digest("Doe", "p"), method: "GET", target: "/")
            #expect(part("username", of: plain) == "Doe", "\(parameters)")
        }
    }

    @Test("R20 SHA-512-256 is preferred to SHA-256, and that to MD5")
    func strengths() {
        let strengths = ["MD5", "SHA-256", "SHA-512-256"].map { name in
            challenges(#"Digest realm="r", nonce="n", algorithm=\#(name)"#).first
                .flatMap { DigestSession($0, clientNonce: "c") }?.strength ?? 0
        }
        #expect(strengths == strengths.sorted() && Set(strengths).count == 3 && strengths[0] > 0)
    }

    @Test("R20 several challenges are separated, in one header and in several")
    func several() {
        let found = challenges(
            #"Negotiate, Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,
            "Negotiate abc123==, Digest nonce=x , realm=\"a,b\",stale=TRUE", "NTLM")
        #expect(
            found.map(\.scheme) == ["negotiate", "newauth", "basic", "negotiate", "digest", "ntlm"])
        #expect(
            found[1].parameters == ["realm": "apps", "type": "1", "title": "Login to \"apps\""])
        #expect(found[2].realm == "simple" && found[0].parameters.isEmpty)
        #expect(found[4].parameters == ["nonce": "x", "realm": "a,b", "stale": "TRUE"])
    }

    @Test("R20 no challenge causes a trap or endless parsing")
    func garbage() {
        let bytes: [String] = [
            "", "=", ",", " ", "\"", "\\", "a", "Digest", "nonce", "/", "é", "\t",
        ]
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0..<20)).map { _ in
                bytes.randomElement(using: &generator)!
            }.joined()
            for challenge in challenges(text) { _ = DigestSession(challenge, clientNonce: "c") }
        }
        let many = challenges(String(repeating: "Basic, ", count: 5_000))
        #expect(many.count <= 32)
    }

    @Test(
        "R20 an incomplete or unsupported challenge is ignored",
        arguments: [
            #"Digest realm="r""#, #"Digest realm="r", nonce="n", qop="auth-conf""#,
            #"Digest realm="r", nonce="n", algorithm=SHA-512"#, #"Basic realm="r""#,
        ])
    func unsupported(value: String) throws {
        let challenge = try #require(challenges(value).first)
        #expect(DigestSession(challenge, clientNonce: "c") == nil)
    }

    @Test("R20 quotes in names are escaped, and no byte of a name ends the header")
    func escaping() throws {
        let challenge = try #require(challenges(#"Digest realm="a\"b", nonce="n", qop=auth"#).first)
        var session = try #require(DigestSession(challenge, clientNonce: "c"))
        let field = try made(&session, .digest(#"Mu"f\a"#, "p"), method: "GET", target: #"/a"b"#)
        #expect(part("username", of: field) == #"Mu"f\a"# && part("realm", of: field) == #"a"b"#)
        #expect(part("uri", of: field) == #"/a"b"# && part("cnonce", of: field) == "c")
    }

    @Test("SEC-U1 a user name or password with a control byte, or a colon for Basic, is refused")
    func badCredentials() {
        for credentials in [
            Credentials.basic("a\r\nX: y", "p"), .digest("a", "p\n"), .basic("a:b", "p"),
            Credentials(user: "a:b", password: "p"), .basic("a\u{0}", ""),
        ] {
            #expect(throws: WherryError.self) { try credentials.check() }
        }
        #expect(throws: Never.self) { try Credentials.digest("a:b", "pä:").check() }
    }

    @Test("SEC-S1 printed credentials contain no password")
    func printing() {
        let credentials = Credentials.basic("skye", "s3cret")
        var dumped = ""
        dump(credentials, to: &dumped)
        let told = "\(credentials) \(String(reflecting: credentials)) \([credentials]) \(dumped)"
        #expect(told.contains("skye") && !told.contains("s3cret"))
    }
}
