// Wherry: tests of caching headers
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem
import WherryTransport
@testable import WherryCache
@testable import WherryHTTP

@Suite struct CacheFieldsTests {
    @Test("Directives are parsed in every form: RFC 9111, 5.2")
    func directives() {
        let all = CacheDirectives([
            "Max-Age=60, ,no-cache=\"a, b\" , x=\"say \\\"hi\\\", no-store\",PUBLIC", "y",
        ])
        #expect(all.members.map { $0.name } == ["max-age", "no-cache", "x", "public", "y"])
        #expect(all["max-age"] == .text("60") && all["public"] == CacheDirectives.Argument.none)
        #expect(all["no-cache"] == .text("a, b"))
        #expect(all["x"] == .text("say \"hi\", no-store"))
        #expect(!all.contains("no-store"))
    }

    @Test(
        "Invalid syntax makes nothing more reusable: RFC 9111, 4.2.1",
        arguments: [
            ("max-age=1 2", 0), ("max-age =60", 0), ("max-age= 60", 0), ("max-age=", 0),
            ("max-age", 0), ("max-age=-1", 0), ("max-age=60.0", 0), ("max-age=60s", 0),
            ("max-age='60'", 0), ("max-age=0x3c", 0), ("max-age=+60", 0), ("max-age=\"60\"", 60),
            ("max-age=0060", 60), ("max-age=60, max-age=90", 60), ("max-age=x, max-age=90", 0),
            ("foo, max-age=60", 60), ("(bad), max-age=60", 60), ("foo=\"max-age=90\"", nil),
            ("s-maxage=60", nil), ("xmax-age=60", nil), ("max-age\t=60", 0),
        ] as [(String, Int64?)])
    func maxAge(text: String, expected: Int64?) {
        #expect(ResponseCacheControl([text]).maxAge == expected)
    }

    @Test("An unclosed quote hides no directive")
    func openQuote() {
        #expect(ResponseCacheControl(["foo=\"bar, no-store"]).noStore)
        #expect(ResponseCacheControl(["no-store=1"]).noStore)
        #expect(ResponseCacheControl(["no-store foo"]).noStore)
        #expect(ResponseCacheControl(["foo=\"\\\", must-revalidate"]).mustRevalidate)
    }

    @Test("Numbers that overflow become the largest: RFC 9111, 1.2.2")
    func overflow() {
        for text in ["2147483648", "9223372036854775808", String(repeating: "9", count: 400)] {
            let age = ResponseCacheControl(["max-age=\(text)"]).maxAge ?? 0
            #expect(age >= 1 << 31 && age <= CacheDirectives.mostSeconds)
            #expect(AgeField.seconds([text]) == age)
        }
    }

    @Test("Every directive of a response")
    func response() {
        let all = ResponseCacheControl([
            "no-store, must-revalidate, must-understand, public, private, immutable",
            "stale-while-revalidate=30, stale-if-error=\"40\", no-cache",
        ])
        #expect(all.noStore && all.mustRevalidate && all.mustUnderstand && all.isPublic)
        #expect(all.isPrivate && all.isImmutable && all.noCache)
        #expect(all.staleWhileRevalidate == 30 && all.staleIfError == 40)
        #expect(ResponseCacheControl([]) == ResponseCacheControl())
        #expect(ResponseCacheControl(["stale-if-error=x"]).staleIfError == nil)
    }

    @Test(
        "no-cache with names excludes headers, or counts as plain: RFC 9111, 5.2.2.4",
        arguments: [
            ("no-cache", true, []), ("no-cache=\"Set-Cookie\"", false, ["set-cookie"]),
            ("no-cache=\"X-A , x-b\"", false, ["x-a", "x-b"]), ("no-cache=x-a", false, ["x-a"]),
            ("no-cache=\"\"", true, []), ("no-cache=\"a b\"", true, []),
            ("no-cache=\"ETag\"", true, []), ("no-cache=\"x-a\", no-cache", true, ["x-a"]),
            ("no-cache=\"content-encoding, x\"", true, []), ("no-cache=", true, []),
        ] as [(String, Bool, [String])])
    func qualified(text: String, isPlain: Bool, names: [String]) {
        let control = ResponseCacheControl([text])
        #expect(control.noCache == isPlain && control.noCacheFields == names)
    }

    @Test("Every directive of a request: RFC 9111, 5.2.1")
    func requestDirectives() {
        let all = RequestCacheControl(cacheControl: [
            "no-cache, no-store, only-if-cached, max-age=1, min-fresh=2", "max-stale=3",
            "stale-if-error=4",
        ])
        #expect(all.noCache && all.noStore && all.onlyIfCached)
        #expect(all.maxAge == 1 && all.minFresh == 2 && all.maxStale == 3 && all.staleIfError == 4)
        let open = RequestCacheControl(cacheControl: ["max-stale"])
        #expect(open.maxStale == CacheDirectives.mostSeconds)
        let bad = RequestCacheControl(cacheControl: ["max-stale=x, max-age=x, min-fresh=x"])
        #expect(bad.maxStale == nil && bad.maxAge == 0)
        #expect(bad.minFresh == CacheDirectives.mostSeconds)
    }

    @Test("Pragma applies without Cache-Control: RFC 9111, 5.4")
    func pragma() {
        #expect(RequestCacheControl(["Pragma": "x, No-Cache"] as Headers).noCache)
        #expect(!RequestCacheControl(["Pragma": "x"] as Headers).noCache)
        #expect(
            !RequestCacheControl(["Pragma": "no-cache", "Cache-Control": "max-age=1"] as Headers)
                .noCache)
    }

    @Test(
        "Age is the first member of the first line: RFC 9111, 5.1",
        arguments: [
            (["7"], 7), (["7, 9"], 7), ([" 7 ,x"], 7), (["7", "9"], 7), (["x, 7"], nil),
            (["-7"], nil), (["7.5"], nil), ([""], nil), (["x", "7"], nil), ([], nil),
        ] as [([String], Int64?)])
    func age(lines: [String], expected: Int64?) {
        #expect(AgeField.seconds(lines) == expected)
    }

    @Test("Vary names headers or anything: RFC 9110, 12.5.5")
    func vary() {
        #expect(VaryField([]) == .fields([]))
        #expect(VaryField(["Accept,, foo ", "ACCEPT"]) == .fields(["accept", "foo"]))
        #expect(VaryField(["foo, *"]) == .anything && VaryField(["*"]) == .anything)
        #expect(VaryField(["foo", "*, bar"]) == .anything && VaryField(["a b"]) == .anything)
    }

    @Test("Selecting headers match if they mean the same: RFC 9111, 4.1")
    func selecting() {
        func agree(_ name: String, _ a: [String], _ b: [String]) -> Bool {
            func fields(_ values: [String]) -> SelectingFields {
                var headers = Headers()
                for value in values { headers.append(name, value) }
                return SelectingFields([name], of: headers, secret: testSecret)
            }
            return fields(a) == fields(b)
        }
        #expect(agree("foo", ["1, 2"], ["1", "2"]) && agree("foo", ["1,2"], [" 1 ,\t2,"]))
        #expect(!agree("foo", ["1, 2"], ["2, 1"]) && !agree("foo", ["A"], ["a"]))
        #expect(!agree("foo", ["1"], []) && agree("foo", [], []) && !agree("foo", [""], []))
        #expect(agree("accept-encoding", ["GZIP, br"], ["br,gzip"]))
        #expect(agree("accept-language", ["DE, en"], ["de,en"]))
        #expect(!agree("accept-language", ["de, en"], ["en, de"]))
        #expect(
            !agree("foo", ["\"1, 2\""], ["\"1,2\""]) && agree("foo", ["\"1,2\", 3"], ["\"1,2\",3"]))
        #expect(!agree("foo", ["\"1\\\", 2\", 3"], ["\"1\\\",2\", 3"]))
        #expect(!agree("user-agent", ["x (a, b)"], ["x (a,b)"]))
    }

    @Test("SEC-C10 values that may be secrets are stored as keyed digests")
    func secrets() {
        let headers: Headers = [
            "Authorization": "Bearer planted", "Cookie": "a=planted", "X-Key": "planted",
            "Accept": "text/html",
        ]
        let names = ["accept", "authorization", "cookie", "x-key"]
        let fields = SelectingFields(names, of: headers, secret: testSecret)
        #expect(fields.fields[0].value == "text/html")
        #expect(!"\(fields)".contains("planted"))
        #expect(fields == SelectingFields(names, of: headers, secret: testSecret))
        let other = VarySecret(key: Array("another".utf8))
        #expect(fields != SelectingFields(names, of: headers, secret: other))
        // HMAC-SHA-256 from RFC 4231, test case 2: the key "Jefe", the data after a NUL.
        let known = VarySecret(key: Array("Jefe".utf8))
        #expect(known.digest("", of: "") != known.digest("\u{0}", of: ""))
    }

    @Test("Headers of one connection, of proxies, and cookies are not stored: RFC 9111, 3.1")
    func storedFields() {
        let came = head(
            200,
            [
                ("Connection", "X-Hop, close"), ("x-hop", "1"), ("Keep-Alive", "1"), ("TE", "1"),
                ("Proxy-Authenticate", "1"), ("Proxy-Authentication-Info", "1"),
                ("Transfer-Encoding", "chunked"), ("Upgrade", "h2c"), ("Age", "5"),
                ("Set-Cookie", "a=b"), ("X-Unknown", "1"), ("x-unknown", "2"), ("X-Out", "3"),
                ("Content-Encoding", "gzip"), ("Content-Length", "4"),
            ], date: nil)
        let kept = StoredFields.stored(came, isDecoded: false, leavingOut: ["x-out"])
        #expect(
            kept.text
                == "X-Unknown: 1\nx-unknown: 2\nContent-Encoding: gzip\nContent-Length: 4\n")
        let decoded = StoredFields.stored(came, isDecoded: true, leavingOut: ["x-out"])
        #expect(decoded.text == "X-Unknown: 1\nx-unknown: 2\n")
    }

    @Test("Header bytes that are not UTF-8 are stored unchanged")
    func obsText() {
        let bytes: [UInt8] = Array("X: ".utf8) + [0xFC, 0x0A] + Array("Age: 1\n".utf8)
        let came = ResponseHead(status: 200, block: Bytes(bytes))
        #expect(StoredFields.stored(came, isDecoded: false).array == Array(bytes.prefix(5)))
    }

    @Test("A 304 replaces headers except those of the body: RFC 9111, 3.2")
    func updated() {
        let old = block([("A", "1"), ("B", "2"), ("b", "3"), ("Content-Length", "4"), ("C", "5")])
        let new = head(
            304,
            [("b", "9"), ("D", "8"), ("Content-Length", "0"), ("Connection", "d, keep-alive")],
            date: nil)
        #expect(
            StoredFields.updated(old, by: new, isDecoded: false).text
                == "A: 1\nContent-Length: 4\nC: 5\nb: 9\n")
    }
}
