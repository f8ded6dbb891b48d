// Wherry: tests of challenges and of the digests that answer them
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryCore
import WherrySystem
import WherryTransport

@Suite struct DigestSessionTests {
    private func challenges(_ values: String...) -> [AuthChallenge] {
        let block = values.map { "WWW-Authenticate: \($0)\n" }.joined()
        return AuthChallenge.all(ResponseHead(status: 401, block: Bytes(block)))
    }

    /// The parameter of that name in a field of ours.
    private func part(_ name: String, of field: String) -> String? {
        var found: [AuthChallenge] = []
        AuthChallenge.read(field, into: &found)
        return found.first?.parameters[name]
    }

    @Test(
        "R20 the examples of RFC 7616 section 3.9.1 come out as they stand there",
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
        let field = session.field(mufasa, method: "GET", target: "/dir/index.html")
        #expect(part("response", of: field) == response)
        #expect(part("nc", of: field) == "00000001" && part("qop", of: field) == "auth")
        #expect(part("opaque", of: field) == "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS")
        #expect(!field.contains("Circle"))
        let second = session.field(mufasa, method: "GET", target: "/dir/index.html")
        #expect(part("nc", of: second) == "00000002")
        #expect(part("response", of: second) != response)
    }

    @Test("R20 several challenges in one field and in several are told apart")
    func several() {
        let found = challenges(
            #"Negotiate, Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,
            "Negotiate abc123==, Digest nonce=x , realm=\"a,b\",stale=TRUE", "NTLM")
        #expect(found.map(\.scheme) == ["negotiate", "newauth", "basic", "negotiate", "digest", "ntlm"])
        #expect(found[1].parameters == ["realm": "apps", "type": "1", "title": "Login to \"apps\""])
        #expect(found[2].realm == "simple" && found[0].parameters.isEmpty)
        #expect(found[4].parameters == ["nonce": "x", "realm": "a,b", "stale": "TRUE"])
    }

    @Test("R20 no challenge whatever makes it trap, and none is read without end")
    func garbage() {
        let bytes: [String] = ["", "=", ",", " ", "\"", "\\", "a", "Digest", "nonce", "/", "é", "\t"]
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
        "R20 a challenge that is not spoken is none",
        arguments: [
            #"Digest realm="r""#, #"Digest realm="r", nonce="n", qop="auth-int""#,
            #"Digest realm="r", nonce="n", algorithm=SHA-512-256"#, #"Basic realm="r""#,
        ])
    func unspoken(value: String) throws {
        let challenge = try #require(challenges(value).first)
        #expect(DigestSession(challenge, clientNonce: "c") == nil)
    }

    @Test("R20 quotes in names are escaped, and no byte of a name ends the field")
    func escaping() throws {
        let challenge = try #require(challenges(#"Digest realm="a\"b", nonce="n", qop=auth"#).first)
        var session = try #require(DigestSession(challenge, clientNonce: "c"))
        let field = session.field(
            .digest(#"Mu"f\a"#, "p"), method: "GET", target: #"/a"b"#)
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

    @Test("SEC-S1 what is printed of credentials has no password in it")
    func printing() {
        let credentials = Credentials.basic("skye", "s3cret")
        var dumped = ""
        dump(credentials, to: &dumped)
        let told = "\(credentials) \(String(reflecting: credentials)) \([credentials]) \(dumped)"
        #expect(told.contains("skye") && !told.contains("s3cret"))
    }
}
