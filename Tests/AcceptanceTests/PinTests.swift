// Wherry: acceptance tests of pins
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherryCore
import WherrySystem

@Suite struct PinTests {
    private let authority: Authority
    private let key: String

    init() throws {
        authority = try Authority.shared
        key = authority.key()
    }

    private func url(_ host: String, _ path: String = "/echo") -> String {
        authority.url(host, path, key: key)
    }

    private func pin(_ kind: String) throws -> String { try #require(authority.pins[kind]) }

    private func client(
        _ pins: [String: TrustPolicy.Pins], _ configure: (inout TrustPolicy) -> Void = { _ in }
    ) throws -> Client {
        try trustingClient(authority) {
            $0.trust.pins = pins
            configure(&$0.trust)
        }
    }

    /// The result of a GET: "" if it succeeds, otherwise the reason.
    private func ending(_ client: Client, _ url: String) async -> String {
        await failure { () throws(WherryError) in try await client.get(url) }?.reason ?? ""
    }

    private var requestCount: Int { get throws { try authority.requests(key: key).count } }

    // MARK: S3

    @Test(
        "S3 the sixteen cases of trust, name, and pins have the expected results, in both modes",
        arguments: [TrustPolicy.PinMode.keys, .certificates])
    func truthTable(mode: TrustPolicy.PinMode) async throws {
        for number in 0..<16 {
            let allowsInvalid = number & 1 != 0
            let checksName = number & 2 != 0
            let hasPins = number & 4 != 0
            let isValid = number & 8 != 0
            let kind = isValid ? "good" : "self-signed"
            let pins = mode == .keys ? try pin(kind) : authority.path(kind + ".pem")
            func make() throws(WherryError) -> Client {
                try Client {
                    $0.proxy = ""
                    $0.caFile = authority.ca
                    $0.trust.allowsInvalidCertificates = allowsInvalid
                    $0.trust.checksName = checksName
                    $0.trust.pinMode = mode
                    if hasPins { $0.trust.pins["*"] = .init(pins) }
                }
            }
            let expected: String
            if allowsInvalid && checksName && !hasPins {
                // "In order to validate a domain name for self signed certificates, you MUST use pinning."
                expected = "bad_pin"
            } else {
                expected = isValid || allowsInvalid ? "" : "untrusted"
            }
            let error = await failure { () throws(WherryError) in try await make().get(url(kind)) }
            #expect(error?.reason ?? "" == expected, "case \(number): \(String(describing: error))")
        }
    }

    @Test(
        "S3 with pins alone the name is still checked; another key and an unpinned host are refused"
    )
    func allowedInvalid() async throws {
        let loose = try client(["*.localhost": .init(try pin("wrong-name"), try pin("expired"))]) {
            $0.allowsInvalidCertificates = true
        }
        #expect(await ending(loose, url("wrong-name")) == "wrong_name")
        #expect(await ending(loose, url("expired")) == "")
        #expect(await ending(loose, url("self-signed")) == "pin")
        let nameless = try client(["wrong-name.localhost": .init(try pin("wrong-name"))]) {
            $0.allowsInvalidCertificates = true
            $0.checksName = false
        }
        #expect(await ending(nameless, url("wrong-name")) == "")
        #expect(await ending(nameless, url("self-signed")) == "untrusted")
        // An anchor replaces the CA, and does not extend expiry dates.
        let anchored = try client([
            "*": .init(authority.path("expired.pem"), authority.path("stranger.pem"))
        ]) {
            $0.allowsInvalidCertificates = true
            $0.pinMode = .certificates
        }
        #expect(await ending(anchored, url("unknown-root")) == "")
        #expect(["pin", "certificate_expired"].contains(await ending(anchored, url("expired"))))
        #expect(await ending(anchored, url("good")) == "pin")
    }

    // MARK: S2, S4, S8

    @Test("S2 SEC-T5 a pin matches only the server's own key, not another in the chain")
    func leafOnly() async throws {
        #expect(await ending(try client(["*": .init(try pin("chained"))]), url("chained")) == "")
        for kind in ["inter", "ca", "good"] {
            let client = try client(["*": .init(try pin(kind))])
            #expect(await ending(client, url("chained")) == "pin", "\(kind)")
        }
        // The sent chain contains the pinned certificates, but is not issued by them.
        for kind in ["good", "inter"] {
            for mode in TrustPolicy.PinMode.allCases {
                let client = try makeClient {
                    $0.caFile = authority.path("stranger.pem")
                    $0.trust.pins["*"] = .init(authority.path(kind + ".pem"))
                    $0.trust.pinMode = mode
                }
                #expect(await ending(client, url("stuffed")) == "pin", "\(kind) \(mode)")
            }
        }
        #expect(try requestCount == 1)
    }

    @Test(
        "S2 certificates are anchors: the chain must lead to one, and pass all other checks too"
    )
    func anchors() async throws {
        for (pins, host, expected) in [
            (["inter.pem"], "chained", ""), (["ca.pem"], "chained", ""),
            (["chained.pem"], "chained", ""),
            (["stranger.pem", "inter.pem"], "chained", ""), (["inter.pem"], "good", "pin"),
            (["stranger.pem"], "good", "pin"), (["rotated.pem"], "good", "pin"),
            (["ca.pem"], "expired", "certificate_expired"),
            (["ca.pem"], "wrong-name", "wrong_name"),
            (["stranger.pem"], "unknown-root", "untrusted"),
            (["self-signed.pem"], "self-signed", "untrusted"),
        ] {
            let client = try client(["*": .init(pins.map { authority.path($0) })]) {
                $0.pinMode = .certificates
            }
            for _ in 0..<2 {
                #expect(await ending(client, url(host)) == expected, "\(pins) \(host)")
            }
        }
        #expect(try requestCount == 8)
    }

    @Test("S4 pins are digests, files of PEM or DER, folders, and bytes")
    func sources() async throws {
        let der = [UInt8](try Data(contentsOf: URL(fileURLWithPath: authority.path("good.der"))))
        let pem = [UInt8](try Data(contentsOf: URL(fileURLWithPath: authority.path("good.pem"))))
        var bytes = TrustPolicy.Pins()
        bytes.certificates = [der]
        var text = TrustPolicy.Pins()
        text.certificates = [pem]
        let digest = try pin("good")
        for pins in [
            TrustPolicy.Pins(digest), .init("sha256//" + digest.dropFirst(7)),
            .init(authority.path("good.der")), .init(authority.path("good.pem")),
            .init(authority.path("good.pub")), .init(authority.path("pins")), bytes, text,
        ] {
            let client = try client(["good.localhost": pins, "rotated.localhost": .init(digest)])
            #expect(await ending(client, url("good")) == "", "\(pins)")
            #expect(await ending(client, url("rotated")) == "pin", "\(pins)")
        }
        // The entries of a folder are backups of each other.
        let folder = try client(["*": .init(authority.path("pins"))])
        #expect(await ending(folder, url("rotated")) == "")
        #expect(await ending(folder, url("chained")) == "pin")
    }

    @Test("S8 a new certificate with the old key passes, a new key needs a backup pin")
    func rotation() async throws {
        let held = try client(["*.localhost": .init(try pin("good"))])
        #expect(await ending(held, url("good")) == "")
        #expect(await ending(held, url("renewed")) == "")
        #expect(await ending(held, url("rotated")) == "pin")
        let prepared = try client(["*.localhost": .init(try pin("good"), try pin("rotated"))])
        #expect(await ending(prepared, url("rotated")) == "")
        let error = await failure { () throws(WherryError) in try await held.get(url("rotated")) }
        #expect(error?.code == .tls && error?.isRetryable == false)
        for words in [
            try pin("rotated"), "/CN=rotated", "https://rotated.localhost:\(authority.tlsPort)",
        ] {
            #expect(error?.message.contains(words) == true, "\(String(describing: error))")
        }
        #expect(try requestCount == 3)
    }

    @Test("S8 report-only pins refuse nothing, and expired pins are ignored")
    func reportingAndExpiry() async throws {
        let reporting = try client(["*": .init(try pin("good"))]) { $0.onlyReportsPins = true }
        #expect(await ending(reporting, url("rotated")) == "")
        #expect(await ending(reporting, url("expired")) == "certificate_expired")
        #expect(await ending(reporting, authority.plainURL("127.0.0.1", "/echo", key: key)) == "")

        let clock = ManualClock(manual: false)
        var pins = TrustPolicy.Pins(try pin("good"))
        pins.expires = Int64(clock.wallSeconds()) + 1000
        let client = try trustingClient(authority) {
            $0.clock = clock
            $0.trust.pins = ["*": pins]
        }
        #expect(await ending(client, url("rotated")) == "pin")
        clock.advance(by: .milliseconds(1_001_000))
        #expect(await ending(client, url("rotated")) == "")
        #expect(await ending(client, url("expired")) == "certificate_expired")
    }

    // MARK: S5, S9

    @Test(
        "S9 SEC-T7 the most specific name applies, and if all need pins a host without is refused"
    )
    func byHost() async throws {
        let table: [String: TrustPolicy.Pins] = [
            "good.localhost": .init(try pin("good")), "*.localhost": .init(try pin("rotated")),
            "*.levels.localhost": .init(try pin("levels")),
        ]
        let open = try client(table)
        #expect(await ending(open, url("good")) == "")
        #expect(await ending(open, url("rotated")) == "")
        #expect(await ending(open, url("chained")) == "pin")
        #expect(await ending(open, url("a.levels")) == "")
        #expect(await ending(open, "https://CHAINED.localhost:\(authority.tlsPort)/") == "pin")
        // Neither is a subdomain of localhost.
        #expect(await ending(open, "https://127.0.0.1:\(authority.tlsPort)/") == "")
        #expect(await ending(open, "https://localhost:\(authority.tlsPort)/") == "")
        let strict = try client(table) { $0.requiresPins = true }
        #expect(await ending(strict, url("good")) == "")
        for other in [
            "https://127.0.0.1:\(authority.tlsPort)/", "https://localhost:\(authority.tlsPort)/",
            authority.plainURL("127.0.0.1", "/echo", key: key),
        ] {
            #expect(await ending(strict, other) == "pin", "\(other)")
        }
        // Without TLS a pinned host is unverified.
        #expect(
            await ending(open, authority.plainURL("good.localhost", "/echo", key: key)) == "pin")
        #expect(try requestCount == 4)
    }

    @Test("SEC-T7 pins are checked at every redirect, also on kept connections")
    func redirects() async throws {
        let table: [String: TrustPolicy.Pins] = [
            "good.localhost": .init(try pin("good")), "rotated.localhost": .init(try pin("good")),
        ]
        let strict = try client(table) { $0.requiresPins = true }
        for target in [url("rotated"), url("chained")] {
            let escaped = target.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            for _ in 0..<2 {
                #expect(await ending(strict, url("good", "/redirect-to?url=\(escaped)")) == "pin")
            }
        }
        let log = try authority.requests(key: key)
        #expect(log.map(\.path) == Array(repeating: "/redirect-to", count: 4))
        #expect(Set(log.map(\.connection)).count == 1)
    }

    @Test(
        "S5 SEC-T6 an invalid pin, an empty list, and a pinned base without TLS are errors at once"
    )
    func badPins() async throws {
        let good = try pin("good")
        let wrong: [(String, String, [String])] = [
            ("empty", "a.example", []), ("text", "a.example", [""]),
            ("word", "a.example", ["sha256"]),
            ("no digest", "a.example", ["sha256/"]), ("short", "a.example", ["sha256/AAAA"]),
            ("not base64", "a.example", ["sha256/" + String(repeating: "!", count: 44)]),
            ("unpadded", "a.example", [String(good.dropLast())]),
            ("one of two", "a.example", [good, "sha256/x"]),
            ("other digest", "a.example", ["sha1/2jmj7l5rSw0yVb/vlWAYkK/YBwk="]),
            ("no certificate", "a.example", ["/proc/version"]),
            ("a key", "a.example", [authority.path("good.key")]),
            ("no host", "", [good]), ("a URL", "https://a.example", [good]),
            ("a port", "a.example:443", [good]),
            ("two stars", "*.*.example", [good]), ("star inside", "a*.example", [good]),
            ("dots", "a..example", [good]),
            ("space", "a b", [good]), ("path", "a/b", [good]), ("userinfo", "a@b", [good]),
            ("no such name", "b\u{FC}..example", [good]),
        ]
        for (name, host, pins) in wrong {
            let error = await failure { () throws(WherryError) in
                try Client { $0.trust.pins[host] = .init(pins) }
            }
            #expect(
                error?.reason == "bad_pin" && error?.code == .argument,
                "\(name): \(String(describing: error))")
        }
        let missing = await failure { () throws(WherryError) in
            try Client { $0.trust.pins["a"] = .init("/nonexistent.pem") }
        }
        #expect(missing?.reason == "no_file")
        let settings: [(inout Client.Configuration) -> Void] = [
            {
                $0.trust.pins = ["a.example": .init(good)]
                $0.baseURL = "http://a.example/"
            },
            {
                $0.trust.pins = ["*.example": .init(good)]
                $0.bases = ["x": "http://a.example/"]
            },
            {
                $0.trust.pins = ["a.example": .init(good)]
                $0.trust.requiresPins = true
                $0.baseURL = "http://b/"
            },
            { $0.trust.requiresPins = true },
            {
                $0.trust.pins = ["*": .init(good)]
                $0.isInsecure = true
            },
            { $0.trust.allowsInvalidCertificates = true },
            {
                $0.trust.pins = ["*": .init(good)]
                $0.trust.allowsInvalidCertificates = true
                $0.trust.onlyReportsPins = true
            },
        ]
        for (index, way) in settings.enumerated() {
            #expect(
                await failure { () throws(WherryError) in try Client(way) }?.reason == "bad_pin",
                "\(index)")
        }
        let client = try client(["a.example": .init(good)])
        #expect(
            await failure { () throws(WherryError) in try client.setBaseURL("http://a.example") }?
                .reason == "bad_pin")
        let late = await failure { () throws(WherryError) in
            try client.configure { $0.trust.pins = [:] }
        }
        #expect(late?.reason == "bad_option")
        // Another host may be an http base.
        _ = try Client {
            $0.trust.pins = ["b.example": .init(good)]
            $0.baseURL = "http://a.example"
        }
    }
}
