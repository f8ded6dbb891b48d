// Wherry: tests of the effects of a response on other entries
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem
import WherryTransport

@testable import WherryCache
@testable import WherryHTTP

@Suite struct CacheRuleTests {
    private let minute = [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")]
    private let later = noon + 100_000

    private func plan(_ entry: StoredResponse, _ asked: CacheRequest) throws -> NetworkPlan {
        guard case .network(let plan) = lookup(asked, at: later).decide([entry]) else {
            throw Missing()
        }
        return plan
    }

    private struct Missing: Error {}

    private func outcome(
        _ entry: StoredResponse, _ fields: [(String, String)], _ headers: Headers = [:],
        status: Int = 304
    ) throws -> CacheOutcome {
        let asked = request("GET", headers)
        return lookup(asked, at: later).resolve(
            arrived(status, fields, body: "", at: later), to: try plan(entry, asked),
            stored: [entry])
    }

    // MARK: Conditions of the application

    @Test("The application's tags are sent with the client's, each once: RFC 9111, 4.3.2")
    func union() throws {
        func sent(_ own: String, _ fields: [(String, String)]? = nil) throws -> String? {
            let asked = request("GET", ["If-None-Match": own])
            return try plan(stored(fields ?? minute), asked).applied(to: asked.headers)[
                "If-None-Match"]
        }
        #expect(try sent("\"2\", W/\"3\"") == "\"1\", \"2\", W/\"3\"")
        #expect(try sent("W/\"1\", \"2\"") == "\"1\", \"2\"")
        for other in ["*", "no list", "\"1\""] { #expect(try sent(other) == "\"1\"") }
        let bare = [("Cache-Control", "max-age=60"), ("ETag", "bare")]
        #expect(try sent("\"2\"", bare) == "bare")
        let dated = [("Cache-Control", "max-age=60"), ("Last-Modified", date(-9))]
        #expect(try sent("\"2\"", dated) == nil)
    }

    @Test("A 304 for the application's own tag is passed to the application")
    func ownTag() throws {
        let entry = stored(minute)
        let own: Headers = ["If-None-Match": "\"2\""]
        for tag in ["\"2\"", "W/\"2\""] {
            let outcome = try outcome(entry, [("ETag", tag)], own)
            #expect(outcome.delivery == .network && outcome.changes == [.remove(entry)])
            #expect(!outcome.storesResponse)
        }
        guard case .cached(let ours) = try outcome(entry, [("ETag", "\"1\"")], own).delivery else {
            Issue.record("not confirmed")
            return
        }
        #expect(ours.isRevalidated && ours.head.status == 200)
        // It does not say which of both it means.
        let unclear = try outcome(entry, [], own)
        #expect(unclear.delivery == .resend(.init(fields: Self.none)) && unclear.changes.isEmpty)
        guard case .cached = try outcome(entry, []).delivery else {
            Issue.record("not confirmed")
            return
        }
    }

    private static let none: [Headers.Field] = [
        .init(name: "If-None-Match", value: nil), .init(name: "If-Modified-Since", value: nil),
    ]

    @Test("A 304 of another entity removes the entry: 4.3.4")
    func another() throws {
        let entry = stored(minute)
        let outcome = try outcome(entry, [("ETag", "\"9\"")], ["If-None-Match": "\"2\""])
        #expect(outcome.delivery == .resend(.init(fields: Self.none)))
        #expect(outcome.changes == [.remove(entry)] && outcome.askedAt == later)
    }

    // nginx with gzip sends W/"1" with the response and "1" with its 304.
    @Test("A strong validator updates no response with a weak one, but that one stays valid: 4.3.4")
    func strong() throws {
        let weak = stored([("Cache-Control", "max-age=60"), ("ETag", "W/\"1\"")])
        let named = try outcome(weak, [("ETag", "\"1\"")])
        guard case .cached(let answer) = named.delivery,
            case .cached = try outcome(weak, [("ETag", "W/\"1\"")]).delivery,
            case .cached = try outcome(stored(minute), [("ETag", "W/\"1\"")]).delivery,
            case .resend = try outcome(weak, [("ETag", "\"2\"")]).delivery
        else {
            Issue.record("compared wrongly")
            return
        }
        #expect(answer.isRevalidated && answer.stored == weak && named.changes.isEmpty)
    }

    @Test("A 304 to the application's own condition updates the entry it names: 4.3.4")
    func freshened() {
        let fields = minute + [("Vary", "X")]
        let entries = ["1", "2"].map { stored(fields, for: request("GET", ["X": $0])) }
        let asked = request("GET", ["X": "2", "If-None-Match": "\"1\""])
        func changes(_ tag: [(String, String)]) -> [String] {
            let outcome = lookup(asked, at: later, policy: .reload).resolve(
                arrived(304, tag, body: "", at: later), to: NetworkPlan(), stored: entries)
            #expect(outcome.delivery == .network && !outcome.storesResponse)
            return outcome.changes.map {
                guard case .store(let kept) = $0 else { return "removed" }
                #expect(kept.body == entries[0].body && kept.freshness.isFresh(at: later))
                return kept.selecting == entries[0].selecting ? "1" : "2"
            }
        }
        #expect(changes([("ETag", "\"1\"")]) == ["1", "2"])
        #expect(changes([("ETag", "W/\"1\"")]) == ["2"])
        #expect(changes([("ETag", "\"9\"")]).isEmpty && changes([]).isEmpty)
    }

    // MARK: Headers

    @Test("A 304 and a HEAD never change the encoding of stored bytes: 3.2")
    func coding() throws {
        let entry = stored(minute)
        let fields = minute + [("Content-Encoding", "gzip"), ("X", "1")]
        guard case .cached(let answer) = try outcome(entry, fields).delivery else {
            Issue.record("not confirmed")
            return
        }
        #expect(answer.head["content-encoding"] == nil && answer.head["x"] == "1")
        let coded = stored(minute + [("Content-Encoding", "br")])
        let head = lookup(request("HEAD"), at: later).resolve(
            arrived(200, fields, body: "", at: later), to: NetworkPlan(), stored: [coded])
        guard case .store(let kept)? = head.changes.first else {
            Issue.record("not updated")
            return
        }
        #expect(kept.head["content-encoding"] == "br" && kept.head["x"] == "1")
        #expect(!head.storesResponse)
    }

    @Test("K13 excluded headers stay excluded, and headers needed for reuse cannot be excluded")
    func leftOut() throws {
        let came = arrived(200, minute + [("X-A", "1"), ("X-B", "1")])
        let first = lookup().resolve(came, to: NetworkPlan(), stored: [])
        guard case .store(let kept)? = first.storing(true, without: ["X-a"]).changes.first else {
            Issue.record("not stored")
            return
        }
        #expect(kept.head["x-a"] == nil && kept.head["x-b"] == "1" && kept.leftOut == ["x-a"])
        let coded = StoredResponse(description: kept.description(), body: kept.body)
        #expect(coded == kept)
        let again = try outcome(kept, [("ETag", "\"1\""), ("X-A", "2"), ("X-B", "2")])
        guard case .store(let updated)? = again.changes.first else {
            Issue.record("not updated")
            return
        }
        #expect(updated.head["x-a"] == nil && updated.head["x-b"] == "2")
        for name in ["Cache-Control", "etag", "Vary", "Date", "content-type"] {
            guard case .remove? = first.storing(true, without: ["X", name]).changes.first else {
                Issue.record("stored without \(name)")
                continue
            }
        }
        // Headers that the response itself excludes stay out as well.
        let named = WherryCacheTests.stored([
            ("Cache-Control", "max-age=60, no-cache=\"X-A\""), ("ETag", "\"1\""), ("X-A", "1"),
        ])
        let renewed = try outcome(named, [("ETag", "\"1\""), ("X-A", "2")])
        guard case .store(let updated)? = renewed.changes.first else {
            Issue.record("not updated")
            return
        }
        #expect(updated.head["x-a"] == nil)
    }

    @Test("An encoded body does not serve a request that decodes")
    func decodes() throws {
        let coded = stored(minute + [("Content-Encoding", "gzip")])
        let decoded = stored(minute + [("Content-Encoding", "gzip")], isDecoded: true)
        let plain = stored(minute + [("Content-Encoding", "identity")])
        func word(_ entry: StoredResponse, _ decodes: Bool) throws -> String {
            let asked = CacheRequest(
                method: "GET", target: try HTTPURL("http://example.org/a?b=c"), headers: [:],
                decodes: decodes)
            return WherryCacheTests.word(lookup(asked).decide([entry]))
        }
        #expect(try word(coded, true) == "asks" && word(coded, false) == "fresh")
        #expect(try word(decoded, true) == "fresh" && word(plain, true) == "fresh")
        // The new response replaces it.
        let outcome = lookup().resolve(arrived(200, minute), to: NetworkPlan(), stored: [coded])
        #expect(outcome.superseded == [coded])
    }

    // MARK: Removal

    @Test("K13 an unwanted response removes all entries that served, whatever their Vary")
    func superseded() {
        let plain = stored(minute)
        let other = stored(minute + [("Vary", "X")], for: request("GET", ["X": "2"]))
        let outcome = lookup(request("GET", ["X": "1"])).resolve(
            arrived(200, minute + [("Vary", "X")]), to: NetworkPlan(), stored: [plain, other])
        #expect(outcome.superseded == [plain] && outcome.storesResponse)
        let skipped = outcome.storing(false, without: [])
        #expect(skipped.changes.count == 2 && skipped.changes.last == .remove(plain))
        #expect(!skipped.storesResponse)
    }

    @Test("K19 invalidation reaches URLs with and without ignored parameters")
    func ignored() throws {
        func asked(_ method: String) throws -> CacheRequest {
            CacheRequest(
                method: method, target: try HTTPURL("http://example.org/a?b=c&sign=1"),
                headers: [:], ignored: ["sign"])
        }
        let base = "http://example.org:80/"
        func gone(_ fields: [(String, String)]) throws -> CacheOutcome {
            lookup(try asked("POST")).resolve(
                arrived(200, fields), to: NetworkPlan(), stored: [])
        }
        #expect(
            try gone([("Location", "/l?sign=9&x=1")]).invalidated == [
                base + "a?b=c", base + "a?b=c&sign=1", base + "l?x=1", base + "l?sign=9&x=1",
            ])
        let posted = try gone(minute + [("Content-Location", "/a?b=c&sign=2")])
        guard case .store(let kept)? = posted.changes.first else {
            Issue.record("not stored")
            return
        }
        #expect(word(lookup(try asked("GET")).decide([kept])) == "fresh")
    }
}
