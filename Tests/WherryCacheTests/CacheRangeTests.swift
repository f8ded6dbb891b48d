// Wherry: tests of ranges and partial responses
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem
import WherryTransport

@testable import WherryCache
@testable import WherryHTTP

@Suite struct CacheRangeTests {
    private let minute = [("Cache-Control", "max-age=60"), ("ETag", "\"v\"")]

    private func part(
        _ range: String, _ body: String, tag: String = "\"v\"", at time: Int64 = noon
    ) -> ArrivedResponse {
        arrived(
            206,
            [
                ("Cache-Control", "max-age=60"), ("ETag", tag), ("Content-Range", range),
                ("Content-Length", String(body.utf8.count)),
            ],
            body: body, at: time)
    }

    private func storedPart(_ range: String, _ body: String, tag: String = "\"v\"")
        -> StoredResponse
    {
        let outcome = lookup(request("GET", ["Range": "bytes=0-"])).resolve(
            part(range, body, tag: tag), to: NetworkPlan(), stored: [])
        guard case .store(let stored)? = outcome.changes.first else {
            fatalError("the test's own part is not storable")
        }
        return stored
    }

    @Test(
        "Single ranges of all three forms from a complete entry: RFC 9110, 14.1.2 and 15.3.7",
        arguments: [
            ("bytes=2-4", "bytes 2-4/10", "234"), ("bytes=8-", "bytes 8-9/10", "89"),
            ("bytes=-3", "bytes 7-9/10", "789"), ("bytes=-99", "bytes 0-9/10", "0123456789"),
            ("bytes=5-99", "bytes 5-9/10", "56789"), ("BYTES=0-0", "bytes 0-0/10", "0"),
        ])
    func whole(range: String, expected: String, body: String) {
        let entry = stored(minute + [("Content-Length", "10")], body: "0123456789")
        guard case .serve(let answer) = lookup(request("GET", ["Range": range])).decide([entry])
        else {
            Issue.record("not answered")
            return
        }
        #expect(answer.head.status == 206 && answer.body.text == body)
        #expect(answer.head.values("content-range") == [expected])
        #expect(answer.head.values("content-length") == [String(body.utf8.count)])
        #expect(answer.head["etag"] == "\"v\"")
    }

    @Test("A range beyond the end is 416 with the length: RFC 9110, 15.5.17")
    func unsatisfiable() {
        for range in ["bytes=4-", "bytes=9-10", "bytes=-0"] {
            guard
                case .serve(let answer) = lookup(request("GET", ["Range": range])).decide([
                    stored(minute)
                ])
            else {
                Issue.record("not answered")
                return
            }
            #expect(answer.head.status == 416 && answer.body.isEmpty)
            #expect(answer.head["content-range"] == "bytes */4")
        }
    }

    @Test("Requests that a cache cannot serve go to the origin")
    func others() {
        for range in [
            "bytes=0-1,3-4", "lines=0-1", "bytes=3-1", "bytes=", "bytes=a-b", "bytes=1-2x",
        ] {
            #expect(decision(minute, ["Range": range], after: 0) == "asks")
        }
        // A decoded body has no encoded bytes to count.
        let decoded = stored(minute, isDecoded: true)
        #expect(word(lookup(request("GET", ["Range": "bytes=0-1"])).decide([decoded])) == "asks")
        #expect(word(lookup().decide([decoded])) == "fresh")
        #expect(decision(minute, ["Range": "bytes=0-1"], after: 60) == "validates")
    }

    @Test(
        "If-Range uses the strong comparison: RFC 9110, 13.1.5",
        arguments: [
            ("\"v\"", "\"v\"", 206), ("\"v\"", "\"w\"", 200), ("W/\"v\"", "W/\"v\"", 200),
            ("\"v\"", date(-100), 206), ("\"v\"", date(-99), 200), ("\"v\"", "junk", 200),
        ])
    func ifRange(tag: String, condition: String, status: Int) {
        let entry = stored([
            ("Cache-Control", "max-age=60"), ("ETag", tag), ("Last-Modified", date(-100)),
        ])
        let asked = request("GET", ["Range": "bytes=0-1", "If-Range": condition])
        guard case .serve(let answer) = lookup(asked).decide([entry]) else {
            Issue.record("not answered")
            return
        }
        #expect(answer.head.status == status)
    }

    @Test("A stored part serves ranges completely within it: RFC 9111, 3.3")
    func fromPart() {
        let known = storedPart("bytes 2-5/8", "2345")
        func body(_ range: String, _ entry: StoredResponse) -> String? {
            guard
                case .serve(let answer) = lookup(request("GET", ["Range": range])).decide([entry])
            else { return nil }
            #expect(answer.head.status == 206)
            return answer.head["content-range"]! + " " + answer.body.text
        }
        #expect(body("bytes=3-4", known) == "bytes 3-4/8 34")
        #expect(body("bytes=2-5", known) == "bytes 2-5/8 2345")
        #expect(body("bytes=1-3", known) == nil && body("bytes=4-6", known) == nil)
        #expect(body("bytes=4-", known) == nil && body("bytes=-2", known) == nil)
        let end = storedPart("bytes 4-7/8", "4567")
        #expect(
            body("bytes=5-", end) == "bytes 5-7/8 567" && body("bytes=-2", end) == "bytes 6-7/8 67")
        let unknown = storedPart("bytes 2-5/*", "2345")
        #expect(body("bytes=3-4", unknown) == "bytes 3-4/* 34")
        #expect(body("bytes=3-", unknown) == nil && body("bytes=-1", unknown) == nil)
        #expect(word(lookup(request("HEAD")).decide([known])) == "asks")
    }

    @Test("The rest of a part is requested with If-Range: RFC 9111, 3.4")
    func completion() {
        func sent(_ entry: StoredResponse) -> Headers? {
            guard case .network(let plan) = lookup().decide([entry]), plan.purpose == .completion
            else { return nil }
            return plan.applied(to: [:])
        }
        #expect(
            sent(storedPart("bytes 0-3/8", "0123")) == ["Range": "bytes=4-", "If-Range": "\"v\""])
        #expect(
            sent(storedPart("bytes 4-7/8", "4567")) == ["Range": "bytes=0-3", "If-Range": "\"v\""])
        #expect(sent(storedPart("bytes 2-5/8", "2345")) == nil)
        #expect(sent(storedPart("bytes 0-3/8", "0123", tag: "W/\"v\"")) == nil)
    }

    @Test("The rest completes the part, with one strong validator: RFC 9111, 3.4")
    func completed() throws {
        let old = storedPart("bytes 0-3/8", "0123")
        guard case .network(let plan) = lookup().decide([old]) else { return }
        func answer(_ arrived: ArrivedResponse) -> CacheOutcome {
            lookup().resolve(arrived, to: plan, stored: [old])
        }
        let outcome = answer(part("bytes 4-7/8", "4567"))
        guard case .cached(let whole) = outcome.delivery,
            case .store(let kept)? = outcome.changes.last
        else {
            Issue.record("not joined")
            return
        }
        #expect(whole.body.text == "01234567" && whole.head.status == 200)
        #expect(whole.head.values("content-length") == ["8"] && whole.head["content-range"] == nil)
        #expect(kept.isComplete && kept.body.text == "01234567")
        // The origin changed the file, or sent another part.
        for other in [
            part("bytes 4-7/8", "4567", tag: "\"w\""), part("bytes 4-7/8", "4567", tag: "W/\"v\""),
            part("bytes 5-7/8", "567"), part("bytes 4-6/8", "456"), part("bytes 4-7/9", "4567"),
        ] {
            guard case .resend(let again) = answer(other).delivery else {
                Issue.record("joined what does not fit")
                return
            }
            #expect(again.applied(to: ["Range": "x", "If-Range": "y"]).isEmpty)
        }
        let replaced = answer(arrived(200, minute, body: "new"))
        #expect(replaced.delivery == .network && replaced.changes.count == 1)
    }

    @Test("Parts grow by adjacent and overlapping ones")
    func growing() {
        func joined(_ old: StoredResponse, _ new: ArrivedResponse) -> StoredResponse? {
            let asked = request("GET", ["Range": "bytes=2-5"])
            let outcome = lookup(asked).resolve(new, to: NetworkPlan(), stored: [old])
            #expect(outcome.delivery == .network)
            guard case .store(let stored)? = outcome.changes.last else { return nil }
            return stored
        }
        let middle = storedPart("bytes 2-5/8", "2345")
        let overlapping = joined(middle, part("bytes 4-6/8", "456"))
        #expect(overlapping?.body.text == "23456" && overlapping?.part?.last == 6)
        #expect(joined(middle, part("bytes 0-1/8", "01"))?.body.text == "012345")
        #expect(joined(middle, part("bytes 3-4/8", "34"))?.body.text == "2345")
        let all = joined(middle, part("bytes 0-7/8", "01234567"))
        #expect(all?.isComplete == true && all?.body.text == "01234567")
        // Separate, or of another version: the new one stays alone.
        #expect(joined(middle, part("bytes 7-7/8", "7"))?.body.text == "7")
        #expect(joined(middle, part("bytes 6-7/8", "67", tag: "\"w\""))?.body.text == "67")
        let weak = storedPart("bytes 0-3/8", "0123", tag: "W/\"v\"")
        #expect(joined(weak, part("bytes 4-7/8", "4567", tag: "W/\"v\""))?.body.text == "4567")
    }

    @Test("A part of a complete entry only refreshes it")
    func partOfWhole() {
        let whole = stored(minute, body: "01234567")
        let asked = request("GET", ["Range": "bytes=0-1"])
        let outcome = lookup(asked, at: noon + 99_000).resolve(
            part("bytes 0-1/8", "01", at: noon + 99_000), to: NetworkPlan(), stored: [whole])
        guard case .store(let kept)? = outcome.changes.last else {
            Issue.record("lost")
            return
        }
        #expect(kept.body == whole.body && kept.isComplete)
        #expect(kept.freshness.isFresh(at: noon + 99_000))
        #expect(kept.head["content-range"] == nil)
    }
}
