// Wherry: tests of the effects of the origin's response
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem
import WherryTransport

@testable import WherryCache
@testable import WherryHTTP

@Suite struct CacheResolutionTests {
    private let minute = [("Cache-Control", "max-age=60"), ("ETag", "\"v\"")]
    private let later = noon + 100_000

    private func plan(_ entry: StoredResponse, _ asked: CacheRequest = request()) -> NetworkPlan {
        guard case .network(let plan) = lookup(asked, at: later).decide([entry]) else {
            return NetworkPlan()
        }
        return plan
    }

    @Test("A 304 updates the headers, restarts the age, and returns the stored body: 4.3.4, 3.2")
    func confirmed() {
        let entry = stored(
            minute + [("X", "old"), ("Y", "kept"), ("Content-Length", "4"), ("Age", "9")])
        let outcome = lookup(at: later).resolve(
            arrived(
                304, [("ETag", "\"v\""), ("X", "new"), ("Content-Length", "0"), ("Age", "3")],
                body: "", at: later),
            to: plan(entry), stored: [entry])
        guard case .cached(let answer) = outcome.delivery,
            case .store(let kept)? = outcome.changes.first
        else {
            Issue.record("not confirmed")
            return
        }
        #expect(answer.isRevalidated && !answer.isStale && answer.body.text == "body")
        #expect(answer.head.status == 200 && answer.head.values("age") == ["3"])
        #expect(answer.head["x"] == "new" && answer.head["y"] == "kept")
        #expect(answer.head["content-length"] == "4" && answer.head["date"] == date(100))
        #expect(kept.freshness.initialAge == 3000 && kept.freshness.date == noon / 1000 + 100)
        #expect(outcome.changes.count == 1)
    }

    @Test("A 304 may end storing, and may change the lifetime and use of a response")
    func confirmedOtherwise() {
        let entry = stored(minute)
        func changes(_ fields: [(String, String)], _ headers: Headers = [:]) -> [CacheOutcome
            .Change]
        {
            let asked = request("GET", headers)
            let outcome = lookup(asked, at: later).resolve(
                arrived(304, fields, body: "", at: later), to: plan(entry, asked), stored: [entry])
            guard case .cached = outcome.delivery else { return [] }
            return outcome.changes
        }
        #expect(changes([("Cache-Control", "no-store")]) == [.remove(entry)])
        #expect(changes([("Vary", "*")]) == [.remove(entry)])
        #expect(changes([], ["Cache-Control": "no-store"]) == [])
        guard case .store(let strict)? = changes([("Cache-Control", "no-cache")]).first else {
            Issue.record("not stored")
            return
        }
        #expect(strict.control.noCache && !strict.freshness.isFresh(at: later))
        let varied = changes([("Vary", "X")], ["X": "1"])
        #expect(varied.first == .remove(entry) && varied.count == 2)
        guard case .store(let keyed)? = varied.last else {
            Issue.record("not stored")
            return
        }
        #expect(keyed.selecting.fields.map { $0.name } == ["x"])
    }

    @Test("A 304 without Date has the date of its receipt: RFC 9110, 6.6.1")
    func undated() {
        let entry = stored(minute)
        let bare = ArrivedResponse(
            head: head(304, [], date: nil), body: Bytes(), requestTime: later, responseTime: later)
        guard
            case .cached(let answer) = lookup(at: later).resolve(
                bare, to: plan(entry), stored: [entry]
            ).delivery
        else {
            Issue.record("not confirmed")
            return
        }
        #expect(!answer.isStale && answer.head["age"] == "0" && answer.head["date"] == date(100))
    }

    @Test("A 304 for another version does not apply to this one: 4.3.4")
    func otherVersion() {
        let entry = stored(minute)
        func answer(_ fields: [(String, String)]) -> CacheOutcome.Delivery {
            lookup(at: later).resolve(
                arrived(304, fields, body: "", at: later), to: plan(entry), stored: [entry]
            ).delivery
        }
        guard case .resend(let again) = answer([("ETag", "\"w\"")]) else {
            Issue.record("believed")
            return
        }
        #expect(again.applied(to: ["If-None-Match": "x", "If-Modified-Since": "y"]).isEmpty)
        guard case .cached = answer([("ETag", "W/\"v\"")]) else {
            Issue.record("weak")
            return
        }
        guard case .cached = answer([("Last-Modified", date())]) else {
            Issue.record("date")
            return
        }
        let dated = stored([("Cache-Control", "max-age=60"), ("Last-Modified", date(-5))])
        guard
            case .resend = lookup(at: later).resolve(
                arrived(304, [("Last-Modified", date())], body: "", at: later), to: plan(dated),
                stored: [dated]
            ).delivery
        else {
            Issue.record("believed")
            return
        }
    }

    @Test("A strong validator in a 304 refreshes every variant that has it: 4.3.4")
    func variants() {
        let fields = minute + [("Vary", "X")]
        let entries = ["1", "2"].map { stored(fields, for: request("GET", ["X": $0])) }
        let asked = request("GET", ["X": "1"])
        func stores(_ tag: String) -> Int {
            lookup(asked, at: later).resolve(
                arrived(304, [("ETag", tag)], body: "", at: later), to: plan(entries[0], asked),
                stored: entries
            ).changes.count
        }
        #expect(stores("\"v\"") == 2 && stores("W/\"v\"") == 1)
    }

    @Test("The application's condition is evaluated after the validation, against the entry")
    func ownConditions() {
        let entry = stored(minute)
        func status(_ tag: String, _ came: ArrivedResponse) -> Int? {
            let asked = request("GET", ["If-None-Match": tag])
            let outcome = lookup(asked, at: later).resolve(
                came, to: plan(entry, asked), stored: [entry])
            switch outcome.delivery {
            case .cached(let answer): return answer.head.status
            case .network: return came.head.status
            case .resend: return nil
            }
        }
        let confirmed = arrived(304, [("ETag", "\"v\"")], body: "", at: later)
        #expect(status("\"v\"", confirmed) == 304 && status("\"mine\"", confirmed) == 200)
        #expect(status("\"mine\"", arrived(200, minute, at: later)) == 200)
        // Nothing was validated: the 304 is for the application, which requested it.
        let asked = request("GET", ["If-None-Match": "\"mine\""])
        #expect(lookup(asked).resolve(confirmed, to: NetworkPlan(), stored: []) == CacheOutcome())
    }

    @Test("A full response replaces the entry: 4.3.3")
    func replaced() {
        let entry = stored(minute)
        let outcome = lookup(at: later).resolve(
            arrived(200, minute, body: "new", at: later), to: plan(entry), stored: [entry])
        guard outcome.delivery == .network, case .store(let kept)? = outcome.changes.first else {
            Issue.record("not replaced")
            return
        }
        #expect(kept.body.text == "new" && kept.selecting == entry.selecting)
    }

    @Test("An uncacheable response removes the old entry")
    func outdated() {
        let entry = stored(minute)
        func changes(_ status: Int) -> [CacheOutcome.Change] {
            lookup(at: later).resolve(
                arrived(status, [("Cache-Control", "no-store")], at: later), to: plan(entry),
                stored: [entry]
            ).changes
        }
        for status in [200, 404, 410, 301] { #expect(changes(status) == [.remove(entry)]) }
        for status in [401, 403, 429, 500, 503] { #expect(changes(status).isEmpty) }
    }

    @Test("K17 stale if the origin fails, within the window: RFC 5861, 4")
    func staleIfError() {
        func answers(
            _ control: String, _ headers: Headers = [:], own: Int64 = 0, status: Int? = nil,
            after seconds: Int64 = 100
        ) -> Bool {
            let entry = stored([("Cache-Control", control), ("ETag", "\"v\"")])
            let asked = request("GET", headers)
            let look = lookup(asked, at: noon + seconds * 1000, staleIfError: own)
            guard case .network(let plan) = look.decide([entry]) else { return false }
            let came = status.map { arrived($0, [], at: noon + seconds * 1000) }
            let outcome = look.resolve(came, to: plan, stored: [entry])
            guard case .cached(let answer) = outcome.delivery else { return false }
            return answer.isStale && outcome.changes.isEmpty && !answer.isRevalidated
        }
        let text = "max-age=60, stale-if-error=40"
        #expect(answers(text) && !answers(text, after: 101))
        for status in [500, 502, 503, 504] { #expect(answers(text, status: status)) }
        for status in [501, 404, 400, 429, 505] { #expect(!answers(text, status: status)) }
        #expect(!answers("max-age=60"))
        #expect(answers("max-age=60", ["Cache-Control": "stale-if-error=40"]))
        #expect(answers("max-age=60", own: 40_000) && !answers("max-age=60", own: 39_999))
        #expect(!answers("must-revalidate, max-age=60, stale-if-error=40", own: 40_000))
        #expect(!answers("no-cache, max-age=60, stale-if-error=40", own: 40_000))
        #expect(!answers(text, ["Cache-Control": "no-cache"]))
    }

    @Test("Without an entry a failure is a failure")
    func failure() {
        #expect(
            lookup(staleIfError: 9999).resolve(nil, to: NetworkPlan(), stored: []) == CacheOutcome()
        )
    }

    @Test("An unsafe method invalidates target and same-origin locations: 4.4")
    func invalidation() {
        func gone(_ method: String, _ status: Int, _ fields: [(String, String)] = []) -> [String] {
            lookup(request(method)).resolve(arrived(status, fields), to: NetworkPlan(), stored: [])
                .invalidated
        }
        let own = "http://example.org:80/a?b=c"
        for method in ["POST", "PUT", "DELETE", "PATCH", "PURGE", "post"] {
            #expect(gone(method, 200) == [own] && gone(method, 303) == [own])
            #expect(gone(method, 404).isEmpty && gone(method, 500).isEmpty)
        }
        for method in ["GET", "HEAD", "OPTIONS", "TRACE"] { #expect(gone(method, 200).isEmpty) }
        #expect(
            gone("POST", 201, [("Location", "/n/1"), ("Content-Location", "d?e")])
                == [own, "http://example.org:80/n/1", "http://example.org:80/d?e"])
        #expect(
            gone("POST", 201, [("Location", "HTTP://EXAMPLE.ORG:80/x#y")]) == [
                own, "http://example.org:80/x",
            ])
        for other in [
            "https://example.org/x", "http://example.org:81/x", "http://example.com/x", "ftp://a/",
        ] {
            #expect(gone("POST", 201, [("Location", other)]) == [own])
        }
    }

    @Test("A response to POST with Content-Location is stored for GET: RFC 9110, 9.3.3")
    func post() {
        let outcome = lookup(request("POST")).resolve(
            arrived(200, minute + [("Content-Location", "/a?b=c")]), to: NetworkPlan(), stored: [])
        guard case .store(let kept)? = outcome.changes.first else {
            Issue.record("lost")
            return
        }
        #expect(outcome.invalidated == ["http://example.org:80/a?b=c"])
        #expect(word(lookup().decide([kept])) == "fresh")
    }

    @Test("A 200 to HEAD refreshes or invalidates the stored GET: 4.3.5")
    func headOnly() {
        let entry = stored(minute + [("Last-Modified", date(-9))])
        func change(_ fields: [(String, String)], status: Int = 200) -> String {
            let outcome = lookup(request("HEAD"), at: later).resolve(
                arrived(status, fields, body: "", at: later), to: NetworkPlan(), stored: [entry])
            switch outcome.changes.first {
            case .store(let kept)?:
                return kept.body == entry.body && kept.freshness.isFresh(at: later) ? "fresh" : "?"
            case .remove?: return "gone"
            case nil: return "same"
            }
        }
        #expect(change([("ETag", "\"v\""), ("Content-Length", "4")]) == "fresh")
        #expect(change([]) == "fresh" && change([("Content-Length", "5")]) == "gone")
        #expect(change([("ETag", "\"w\"")]) == "gone")
        #expect(change([("Last-Modified", date(-8))]) == "gone")
        #expect(change([], status: 404) == "same" && change([], status: 503) == "same")
    }

    @Test("Interim responses change nothing: RFC 9111, 3")
    func interim() {
        #expect(
            lookup().resolve(arrived(103, minute), to: NetworkPlan(), stored: []).changes.isEmpty)
    }
}
