// Wherry: tests of the cache decision for a request
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem
import WherryTransport

@testable import WherryCache
@testable import WherryHTTP

@Suite struct CacheLookupTests {
    private let minute = [("Cache-Control", "max-age=60"), ("ETag", "\"v\"")]

    @Test("A fresh response is served, a stale one is validated: RFC 9111, 4")
    func freshAndStale() {
        #expect(decision(minute, after: 0) == "fresh" && decision(minute, after: 59) == "fresh")
        #expect(decision(minute, after: 60) == "validates")
        #expect(decision([("Cache-Control", "max-age=60")], after: 60) == "asks, has")
        #expect(word(lookup().decide([])) == "asks")
    }

    @Test("K12 four policies, with fresh, stale, and missing entries")
    func policies() {
        let table: [(HTTPCachePolicy, String, String, String)] = [
            (.byProtocol, "fresh", "validates", "asks"), (.reload, "asks", "asks", "asks"),
            (.anyAge, "fresh", "stale", "asks"), (.anyAgeOnly, "fresh", "stale", "miss"),
        ]
        for (policy, fresh, stale, absent) in table {
            #expect(decision(minute, after: 1, policy: policy) == fresh)
            #expect(decision(minute, after: 99, policy: policy) == stale)
            #expect(word(lookup(policy: policy).decide([])) == absent)
        }
        let strict = [("Cache-Control", "max-age=60, must-revalidate, no-cache")]
        #expect(decision(strict, after: 99, policy: .anyAge) == "stale")
        #expect(
            decision(strict, ["Cache-Control": "no-cache"], after: 99, policy: .anyAge) == "stale")
    }

    @Test("no-cache in either direction always validates: RFC 9111, 5.2.1.4 and 5.2.2.4")
    func noCache() {
        let text = [("Cache-Control", "no-cache, max-age=60"), ("ETag", "\"v\"")]
        #expect(decision(text, after: 0) == "validates")
        #expect(decision(minute, ["Cache-Control": "no-cache"], after: 0) == "validates")
        #expect(decision(minute, ["Pragma": "no-cache"], after: 0) == "validates")
        #expect(
            decision(minute, ["Pragma": "no-cache", "Cache-Control": "foo"], after: 0) == "fresh")
        let named = [("Cache-Control", "no-cache=\"X-A\", max-age=60"), ("X-A", "1"), ("X-B", "2")]
        #expect(decision(named, after: 0) == "fresh")
        #expect(stored(named).head["x-a"] == nil && stored(named).head["x-b"] == "2")
    }

    @Test(
        "Age limits of a request: RFC 9111, 5.2.1",
        arguments: [
            ("max-age=30", 30, "fresh"), ("max-age=30", 31, "validates"),
            ("max-age=0", 0, "validates"), ("max-age=x", 0, "validates"),
            ("min-fresh=20", 40, "fresh"), ("min-fresh=20", 41, "validates"),
            ("min-fresh=x", 0, "validates"), ("max-stale", 100_000, "stale"),
            ("max-stale=40", 100, "stale"), ("max-stale=40", 101, "validates"),
            ("max-stale=x", 61, "validates"), ("max-stale=40, max-age=99", 100, "validates"),
            ("max-stale, min-fresh=1", 61, "validates"), ("only-if-cached", 10, "fresh"),
            ("only-if-cached", 60, "504"), ("only-if-cached, max-stale", 60, "stale"),
            ("only-if-cached, no-cache", 0, "504"), ("no-store", 10, "fresh"),
            ("no-store", 60, "validates"),
        ] as [(String, Int64, String)])
    func requestDirectives(text: String, seconds: Int64, expected: String) {
        #expect(decision(minute, ["Cache-Control": text], after: seconds) == expected)
    }

    @Test("only-if-cached without an entry is 504: RFC 9111, 5.2.1.7")
    func onlyIfCached() {
        let asked = request("GET", ["Cache-Control": "only-if-cached"])
        #expect(word(lookup(asked).decide([])) == "504")
        #expect(word(lookup(asked, policy: .reload).decide([stored(minute)])) == "504")
        #expect(
            word(lookup(request("POST", ["Cache-Control": "only-if-cached"])).decide([])) == "504")
    }

    @Test("must-revalidate and no-cache never serve stale: RFC 9111, 4.2.4")
    func neverStale() {
        for strict in ["must-revalidate", "no-cache"] {
            let text = [
                ("Cache-Control", "max-age=60, stale-while-revalidate=999, \(strict)"),
                ("ETag", "\"v\""),
            ]
            #expect(decision(text, ["Cache-Control": "max-stale"], after: 61) == "validates")
            #expect(decision(text, after: 61) == "validates")
        }
        let shared = [("Cache-Control", "max-age=60, proxy-revalidate, s-maxage=0")]
        #expect(decision(shared, ["Cache-Control": "max-stale"], after: 61) == "stale")
    }

    @Test("stale-while-revalidate serves within its window and not past it: RFC 5861, 3")
    func whileRevalidate() {
        let text = [("Cache-Control", "max-age=60, stale-while-revalidate=30"), ("ETag", "\"v\"")]
        #expect(decision(text, after: 59) == "fresh")
        #expect(decision(text, after: 60) == "stale, asks")
        #expect(decision(text, after: 90) == "stale, asks")
        #expect(decision(text, after: 91) == "validates")
        #expect(decision(text, ["Cache-Control": "max-age=61"], after: 70) == "validates")
        #expect(decision(text, ["Cache-Control": "min-fresh=1"], after: 70) == "validates")
        #expect(decision(text, ["Cache-Control": "only-if-cached"], after: 70) == "stale")
        guard
            case .serveAndRevalidate(let answer, let plan) = lookup(at: noon + 70_000).decide(
                [stored(text)])
        else {
            Issue.record("no answer")
            return
        }
        #expect(answer.isStale && plan.purpose == .validation)
        #expect(plan.applied(to: [:])["If-None-Match"] == "\"v\"")
    }

    @Test("immutable is not revalidated while fresh, even on a reload: RFC 8246")
    func immutable() {
        let text = [("Cache-Control", "max-age=60, immutable"), ("ETag", "\"v\"")]
        #expect(decision(text, ["Cache-Control": "max-age=0"], after: 10) == "fresh")
        #expect(decision(text, ["Cache-Control": "max-age=0"], after: 60) == "validates")
        #expect(decision(text, ["Cache-Control": "no-cache"], after: 10) == "validates")
    }

    @Test("Vary: equal or missing on both sides, the newest Date wins: RFC 9111, 4.1")
    func vary() {
        let text = minute + [("Vary", "Accept-Language, X-A")]
        let german: Headers = ["Accept-Language": "de, en", "X-A": "1"]
        let english: Headers = ["Accept-Language": "en"]
        let all = [
            stored(text, body: "de", for: request("GET", german)),
            stored(text, body: "en", for: request("GET", english)),
        ]
        func body(_ headers: Headers) -> String? {
            guard case .serve(let answer) = lookup(request("GET", headers)).decide(all) else {
                return nil
            }
            return answer.body.text
        }
        #expect(body(german) == "de" && body(english) == "en")
        #expect(body(["accept-language": "DE,en", "x-a": "1", "Foo": "x"]) == "de")
        #expect(body(["Accept-Language": "de, en"]) == nil && body([:]) == nil)
        let newer = stored(minute + [("Date", date(5))], body: "newer")
        let older = stored(minute + [("Date", date(-5))], body: "older", at: noon + 9000)
        for order in [[newer, older], [older, newer]] {
            #expect(lookup().select(order)?.body.text == "newer")
        }
        #expect(lookup(request("GET", english)).select(all + [newer])?.body.text == "newer")
    }

    @Test("A stored GET serves HEAD; other methods go to the origin: RFC 9110, 9.3.2")
    func methods() {
        let entry = stored(minute, body: "long")
        guard case .serve(let answer) = lookup(request("HEAD")).decide([entry]) else {
            Issue.record("not answered")
            return
        }
        #expect(answer.body.isEmpty && answer.head.status == 200 && answer.head["etag"] == "\"v\"")
        for method in ["POST", "PUT", "OPTIONS", "FOO", "get"] {
            #expect(word(lookup(request(method)).decide([entry])) == "asks")
        }
    }

    @Test("A served response has its age, and is otherwise unchanged: RFC 9111, 4")
    func age() {
        let fields = [
            ("Cache-Control", "max-age=60"), ("Age", "7"), ("Expires", date(9)), ("X", "1"),
        ]
        guard case .serve(let answer) = lookup(at: noon + 10_500).decide([stored(fields)]) else {
            Issue.record("not answered")
            return
        }
        #expect(answer.head.values("age") == ["17"])
        #expect(answer.head["date"] == date() && answer.head["expires"] == date(9))
        #expect(answer.head["x"] == "1" && !answer.isStale && answer.body.text == "body")
    }

    @Test("A response without Date gets the time of its receipt: RFC 9110, 6.6.1")
    func dated() {
        let came = ArrivedResponse(
            head: head(200, minute, date: nil), body: Bytes("x"), requestTime: noon,
            responseTime: noon)
        guard
            case .store(let entry)? = lookup().resolve(came, to: NetworkPlan(), stored: [])
                .changes.first
        else {
            Issue.record("not stored")
            return
        }
        #expect(entry.head["date"] == date())
    }

    @Test("Validators are sent back unchanged: RFC 9111, 4.3.1")
    func validators() {
        func sent(_ fields: [(String, String)], _ headers: Headers = [:]) -> Headers {
            let asked = request("GET", headers)
            guard
                case .network(let plan) = lookup(asked, at: noon + 99_000).decide([
                    stored([("Cache-Control", "max-age=60")] + fields)
                ])
            else { return [:] }
            return plan.applied(to: headers)
        }
        #expect(sent([("ETag", "W/\"a\"")]) == ["If-None-Match": "W/\"a\""])
        #expect(sent([("ETag", "bare")]) == ["If-None-Match": "bare"])
        #expect(sent([("Last-Modified", "whenever")]) == ["If-Modified-Since": "whenever"])
        let both = sent([("ETag", "\"a\""), ("Last-Modified", date(-9))], ["Accept": "x"])
        #expect(
            both == [
                "Accept": "x", "If-None-Match": "\"a\"", "If-Modified-Since": date(-9),
            ])
        // The application's own conditions wait for the client's validation.
        let own: Headers = ["If-None-Match": "\"mine\"", "If-Modified-Since": date(-1)]
        #expect(sent([("ETag", "\"a\"")], own) == ["If-None-Match": "\"a\", \"mine\""])
        #expect(sent([], own) == own)
    }

    @Test(
        "The application's conditions are evaluated: RFC 9110, 13.2.2",
        arguments: [
            (["If-None-Match": "\"v\""], 304), (["If-None-Match": "W/\"v\""], 304),
            (["If-None-Match": "\"a\", W/\"v\""], 304), (["If-None-Match": "*"], 304),
            (["If-None-Match": "\"a\""], 200), (["If-None-Match": "v"], 200),
            (["If-Modified-Since": date(-100)], 304), (["If-Modified-Since": date(-101)], 200),
            (["If-Modified-Since": date(5)], 304), (["If-Modified-Since": "never"], 200),
            (["If-None-Match": "\"a\"", "If-Modified-Since": date(5)], 200),
            (["If-None-Match": "\"v\"", "If-Modified-Since": date(-101)], 304),
            (["If-None-Match": "\"v\"", "Range": "bytes=0-1"], 304),
        ] as [(Headers, Int)])
    func conditions(headers: Headers, status: Int) {
        let entry = stored(
            minute + [("Last-Modified", date(-100)), ("Content-Type", "a/b"), ("Vary", "X")])
        for method in ["GET", "HEAD"] {
            guard case .serve(let answer) = lookup(request(method, headers)).decide([entry]) else {
                Issue.record("not answered")
                return
            }
            #expect(answer.head.status == status)
            guard status == 304 else { continue }
            #expect(answer.body.isEmpty && answer.head["content-type"] == nil)
            for name in ["etag", "date", "cache-control", "vary", "last-modified"] {
                #expect(answer.head[name] == entry.head[name])
            }
        }
    }

    @Test("Without Last-Modified the Date is compared: RFC 9111, 4.3.2")
    func dateAsModified() {
        func status(_ since: String) -> Int? {
            guard
                case .serve(let answer) = lookup(request("GET", ["If-Modified-Since": since]))
                    .decide([stored(minute)])
            else { return nil }
            return answer.head.status
        }
        #expect(status(date(0)) == 304 && status(date(-1)) == 200)
    }

    @Test("Conditions for the origin alone are sent there: RFC 9111, 4.3.2")
    func originConditions() {
        for name in ["If-Match", "If-Unmodified-Since"] {
            #expect(decision(minute, [name: "*"] as Headers, after: 0) == "asks")
        }
        // A stored 404 fails no condition (RFC 9110, 13.2.1).
        let missing = stored(minute, status: 404)
        guard
            case .serve(let answer) = lookup(request("GET", ["If-None-Match": "*"])).decide([
                missing
            ])
        else {
            Issue.record("not answered")
            return
        }
        #expect(answer.head.status == 404)
    }
}
