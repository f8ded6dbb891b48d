// Wherry: the meaning of a response for a partial file
// SPDX-License-Identifier: Apache-2.0

import Testing
@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

let oldDate = "Tue, 15 Nov 1994 12:45:26 GMT"
let newDate = "Tue, 15 Nov 1994 12:46:26 GMT"
let almostDate = "Tue, 15 Nov 1994 12:46:25 GMT"

/// Response headers with a few fields.
func answer(
    _ status: Int, _ fields: KeyValuePairs<String, String> = [:], at wallSeconds: Int64 = 5_000
) -> DownloadHead {
    DownloadHead(
        status: status, fields: fields.map { (name: $0.key, value: $0.value) }, at: wallSeconds)
}

@Suite("Strong validators") struct StrongValidatorTests {
    @Test("DR2 an entity tag counts unless it is weak")
    func tags() {
        #expect(StrongValidator.of(answer(200, ["ETag": "\"a\""])) == .entityTag("\"a\""))
        #expect(StrongValidator.of(answer(200, ["ETag": "\"\""])) == .entityTag("\"\""))
        for weak in ["W/\"a\"", "w/\"a\"", "a", "\"", "\"a\" \"b\"", "\"\u{fc}\"", ""] {
            #expect(StrongValidator.of(answer(200, ["ETag": weak])) == nil, "\(weak)")
        }
        let long = "\"" + String(repeating: "x", count: 600) + "\""
        #expect(StrongValidator.of(answer(200, ["ETag": long])) == nil)
    }

    @Test("DR2 a date counts only without any tag and 60 s after the last change")
    func dates() {
        #expect(
            StrongValidator.of(answer(200, ["Last-Modified": oldDate, "Date": newDate]))
                == .lastModified(oldDate))
        #expect(
            StrongValidator.of(answer(200, ["Last-Modified": oldDate, "Date": almostDate])) == nil)
        #expect(StrongValidator.of(answer(200, ["Last-Modified": oldDate])) == nil)
        #expect(
            StrongValidator.of(answer(200, ["Last-Modified": newDate, "Date": oldDate])) == nil)
        #expect(
            StrongValidator.of(
                answer(200, ["Last-Modified": oldDate, "Date": newDate, "ETag": "W/\"1\""])) == nil)
        #expect(
            StrongValidator.of(answer(200, ["Last-Modified": "yesterday", "Date": newDate])) == nil)
    }
}

@Suite("Rules of resuming") struct ResumeRulesTests {
    private let asked = AskedRange(first: 400, end: nil, validator: .entityTag("\"v1\""))
    private var facts: DownloadFacts {
        var facts = DownloadFacts()
        facts.total = 1000
        facts.validator = .entityTag("\"v1\"")
        return facts
    }

    private func judge(
        _ head: DownloadHead, whole: Bool = false, facts other: DownloadFacts? = nil,
        have: Int64 = 400
    ) -> ResumeRules.Verdict {
        ResumeRules.judge(
            head, asked: whole ? nil : asked, facts: whole ? nil : other ?? facts, have: have)
    }

    private func piece(_ range: String, _ more: KeyValuePairs<String, String> = ["ETag": "\"v1\""])
        -> DownloadHead
    {
        DownloadHead(
            status: 206,
            fields: [(name: "Content-Range", value: range)]
                + more.map { (name: $0.key, value: $0.value) }, at: 5_000)
    }

    @Test("DR3 a resume requests the rest on condition that nothing changed")
    func request() {
        let request = DownloadRequest(attempt: 1, range: asked)
        #expect(
            request.fields.map { "\($0.name): \($0.value)" } == [
                "Accept-Encoding: identity", "Range: bytes=400-", "If-Range: \"v1\"",
            ])
        #expect(
            DownloadRequest(attempt: 1, range: nil).fields.map(\.name) == ["Accept-Encoding"])
        let bounded = AskedRange(first: 5, end: 10, validator: nil)
        #expect(bounded.fieldValue == "bytes=5-9")
        #expect(DownloadRequest(attempt: 1, range: bounded).fields.count == 2)
    }

    @Test("DR5 a range is written at its declared position")
    func pieces() {
        #expect(judge(piece("bytes 400-999/1000")) == .piece(start: 400, end: 1000))
        #expect(judge(piece("bytes 0-999/1000")) == .piece(start: 0, end: 1000))
        #expect(judge(piece("bytes 384-400/1000")) == .piece(start: 384, end: 401))
        #expect(
            judge(piece("bytes 400-999/1000", ["ETag": "\"v1\"", "Content-Length": "600"]))
                == .piece(start: 400, end: 1000))
    }

    @Test("DR5 a range other than the requested one is discarded")
    func badPieces() {
        for range in [
            "bytes 401-999/1000", "bytes 0-399/1000", "bytes 400-999/*", "bytes 400-1000/1000",
            "bytes 500-400/1000", "octets 400-999/1000", "bytes */1000", "", "bytes 400-999",
        ] {
            #expect(judge(piece(range)) == .restart(.badRange), "\(range)")
        }
        #expect(judge(answer(206, ["ETag": "\"v1\""])) == .restart(.badRange))
        #expect(
            judge(piece("bytes 400-999/1000", ["ETag": "\"v1\"", "Content-Length": "599"]))
                == .restart(.badRange))
        #expect(
            judge(
                piece(
                    "bytes 400-999/1000",
                    ["ETag": "\"v1\"", "Content-Type": "Multipart/ByteRanges; boundary=x"]))
                == .restart(.badRange))
    }

    @Test("DR5 DR9 another validator, length, encoding, or digest is another file")
    func changedPieces() {
        #expect(judge(piece("bytes 400-999/1001")) == .restart(.changed))
        #expect(judge(piece("bytes 400-999/1000", ["ETag": "\"v2\""])) == .restart(.changed))
        #expect(judge(piece("bytes 400-999/1000", ["ETag": "W/\"v1\""])) == .restart(.changed))
        #expect(judge(piece("bytes 400-999/1000", [:])) == .restart(.noValidator))
        #expect(
            judge(piece("bytes 400-999/1000", ["ETag": "\"v1\"", "Content-Encoding": "gzip"]))
                == .restart(.encoding))
        #expect(
            judge(piece("bytes 400-999/1000", ["ETag": "\"v1\"", "Content-Encoding": "Identity"]))
                == .piece(start: 400, end: 1000))
        var facts = facts
        facts.announced = DownloadDigest(.md5, Digest.hash(of: "x", .md5), source: .reprDigest)
        for (text, verdict) in [
            ("x", ResumeRules.Verdict.piece(start: 400, end: 1000)), ("y", .restart(.changed)),
        ] {
            let value = "md5=:\(Base64.encode(Digest.hash(of: text, .md5))):"
            #expect(
                judge(
                    piece("bytes 400-999/1000", ["ETag": "\"v1\"", "Repr-Digest": value]),
                    facts: facts) == verdict)
        }
    }

    @Test("DR5 a date must be unchanged and the only validator")
    func dates() {
        var facts = facts
        facts.validator = .lastModified(oldDate)
        let range = "bytes 400-999/1000"
        #expect(
            judge(piece(range, ["Last-Modified": oldDate]), facts: facts)
                == .piece(start: 400, end: 1000))
        #expect(
            judge(piece(range, ["Last-Modified": newDate]), facts: facts) == .restart(.changed))
        #expect(
            judge(piece(range, ["Last-Modified": oldDate, "ETag": "\"n\""]), facts: facts)
                == .restart(.changed))
        #expect(judge(piece(range, [:]), facts: facts) == .restart(.noValidator))
    }

    @Test("DR6 the complete file in place of a range says why it was sent")
    func whole() {
        #expect(judge(answer(200), whole: true) == .whole(length: nil, nil))
        #expect(judge(answer(200, ["Content-Length": "7"]), whole: true) == .whole(length: 7, nil))
        #expect(
            judge(answer(200, ["Content-Length": "1000", "ETag": "\"v2\""]))
                == .whole(length: 1000, .changed))
        #expect(
            judge(answer(200, ["Content-Length": "1000", "ETag": "\"v1\""]))
                == .whole(length: 1000, .rangesUnsupported))
        #expect(
            judge(answer(200, ["Content-Length": "999", "ETag": "\"v1\""]))
                == .whole(length: 999, .changed))
        #expect(
            judge(answer(200, ["Content-Length": "1000"])) == .whole(length: 1000, .changed))
    }

    @Test("DR7 a 416 is good news only if all bytes are there")
    func beyondTheEnd() {
        let all = answer(416, ["Content-Range": "bytes */1000", "ETag": "\"v1\""])
        #expect(judge(all, have: 1000) == .complete)
        #expect(judge(answer(416, ["Content-Range": "bytes */1000"]), have: 1000) == .complete)
        #expect(judge(all, have: 400) == .restart(.rangeNotSatisfiable))
        #expect(judge(answer(416), have: 1000) == .restart(.rangeNotSatisfiable))
        #expect(
            judge(answer(416, ["Content-Range": "bytes */300", "ETag": "\"v1\""]), have: 400)
                == .restart(.rangeNotSatisfiable))
        #expect(
            judge(answer(416, ["Content-Range": "bytes */1000", "ETag": "\"v2\""]), have: 1000)
                == .restart(.rangeNotSatisfiable))
        #expect(judge(answer(412)) == .restart(.changed))
    }

    @Test("DR8 an unrequested range is an error, never the complete file")
    func unaskedPiece() {
        guard case .fail(let error) = judge(piece("bytes 0-999/1000"), whole: true) else {
            Issue.record("a piece was taken for the whole")
            return
        }
        #expect(error.reason == .badProtocol)
        #expect(!error.isTransient)
    }

    @Test("DR11 a link that worked before has expired", arguments: [401, 403, 410])
    func expired(_ status: Int) {
        guard case .fail(let error) = judge(answer(status)) else {
            Issue.record("\(status) did not end the resume")
            return
        }
        #expect(error.reason == .expired)
        #expect(error.status == status)
        guard case .fail(let first) = judge(answer(status), whole: true) else {
            Issue.record("\(status) did not end the download")
            return
        }
        #expect(first.reason == .httpStatus)
    }

    @Test("DR12 a response with two framings is refused")
    func lengths() {
        for fields: KeyValuePairs in [
            ["Content-Length": "5", "content-length": "6"], ["Content-Length": "5, 6"],
            ["Content-Length": "-1"], ["Content-Length": "5", "Transfer-Encoding": "chunked"],
            ["Content-Length": "99999999999999999999"], ["Content-Length": ""],
        ] {
            guard case .fail(let error) = judge(answer(200, fields), whole: true) else {
                Issue.record("\(fields) was taken")
                continue
            }
            #expect(error.reason == .badProtocol)
        }
        #expect(
            judge(answer(200, ["Content-Length": "5, 5", "CONTENT-LENGTH": " 5"]), whole: true)
                == .whole(length: 5, nil))
    }

    @Test("DR15 transient statuses are retried, the others are not")
    func statuses() {
        for status in [408, 429, 500, 502, 503, 504] {
            guard case .retry(let error, nil) = judge(answer(status), whole: true) else {
                Issue.record("\(status) was not retried")
                continue
            }
            #expect(error.isTransient)
        }
        for status in [204, 300, 304, 400, 401, 403, 404, 405, 410, 412, 416, 451, 501, 505] {
            guard case .fail(let error) = judge(answer(status), whole: true) else {
                Issue.record("\(status) did not end the download")
                continue
            }
            #expect(error.reason == .httpStatus)
            #expect(!error.isTransient)
        }
    }

    @Test("DR15 Retry-After is seconds, or a date by the server's own clock")
    func retryAfter() {
        func seconds(_ fields: KeyValuePairs<String, String>) -> Int64? {
            ResumeRules.retryAfter(answer(503, fields, at: 784_903_520))
        }
        #expect(seconds(["Retry-After": "3"]) == 3)
        #expect(seconds(["Retry-After": newDate, "Date": oldDate]) == 60)
        #expect(seconds(["Retry-After": oldDate, "Date": newDate]) == 0)
        #expect(seconds(["Retry-After": oldDate]) == 6)
        #expect(seconds(["Retry-After": "soon"]) == nil)
        #expect(seconds(["Retry-After": "-1"]) == nil)
        #expect(seconds([:]) == nil)
    }

    @Test("DR1 DR4 an earlier partial file is used only if it belongs to this download")
    func obstacles() {
        var policy = DownloadPolicy()
        var record = JournalTests.record(url: "https://a/x?sig=1")
        record.facts.expected = nil
        record.facts.announced = nil
        let same = DownloadIdentity(url: "https://a/x?sig=1")
        let signed = DownloadIdentity(url: "https://a/x?sig=2")
        let other = DownloadIdentity(url: "https://a/y")

        #expect(ResumeRules.obstacle(record, identity: same, policy: policy) == nil)
        #expect(ResumeRules.obstacle(record, identity: signed, policy: policy) == .changed)
        policy.mayQueryChange = true
        #expect(ResumeRules.obstacle(record, identity: signed, policy: policy) == nil)
        #expect(ResumeRules.obstacle(record, identity: other, policy: policy) == .changed)
        policy.isNewURLForSameFile = true
        #expect(ResumeRules.obstacle(record, identity: other, policy: policy) == nil)

        policy = DownloadPolicy()
        record.facts.validator = nil
        #expect(ResumeRules.obstacle(record, identity: same, policy: policy) == .noValidator)
        policy.expected = DownloadDigest(.md5, Digest.hash(of: "x", .md5))
        #expect(ResumeRules.obstacle(record, identity: same, policy: policy) == nil)
        record.facts.expected = DownloadDigest(.md5, Digest.hash(of: "y", .md5))
        #expect(ResumeRules.obstacle(record, identity: same, policy: policy) == .changed)
        record.facts.expected = policy.expected
        record.facts.total = nil
        #expect(ResumeRules.obstacle(record, identity: same, policy: policy) == .changed)
    }
}
