// Wherry: retries, restarts, checkpoints, and commands of a download
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

private let piece: KeyValuePairs = ["Content-Range": "bytes 400-999/1000", "ETag": "\"v1\""]
private let large: KeyValuePairs = ["Content-Length": "100000000", "ETag": "\"v1\""]

@Suite("Retries and restarts of a download") struct DownloadAgainTests {
    @Test("DC-B01 after a drop and a wait the rest is requested")
    func drop() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, MachineRun.strong)
        run.bytes(400)
        let actions = run.end()
        #expect(actions.first == .checkpoint)
        #expect(actions.waits.count == 1)
        #expect(actions.restarts.isEmpty)
        #expect(run.machine.visibleState == .waiting)
        #expect(run.due() == [run.sent(range(400))])
    }

    @Test("DR15 waits are random below a bound that doubles up to 30 s")
    func backoff() {
        var bounds: [Int64] = []
        var run = MachineRun { $0.retries = 12 }
        _ = run.start()
        for _ in 0..<12 {
            let waits = run.drop(.connect).waits
            #expect(waits.count == 1)
            bounds += waits
            _ = run.due()
        }
        for (step, delay) in bounds.enumerated() {
            #expect(delay >= 0)
            #expect(delay < min(30_000_000_000, 500_000_000 << Int64(step)))
        }
        #expect(Set(bounds).count == 12)
        #expect(run.drop(.connect).keeps == false)
    }

    @Test("DC-B03 a server that always fails at the same byte exhausts the budget")
    func sameByte() {
        var run = MachineRun()
        _ = run.start(MachineRun.record([0..<400]))
        for _ in 0..<5 {
            _ = run.head(206, piece)
            #expect(run.end().waits.count == 1)
            _ = run.due()
        }
        _ = run.head(206, piece)
        let actions = run.end()
        #expect(actions.keeps == true)
        guard case .failed(let error, "/p")? = run.machine.released(partialPath: "/p").outcome
        else {
            Issue.record("it went on")
            return
        }
        #expect(error.reason == .truncated)
    }

    @Test(
        "DC-B02 64 KiB of progress refill the budget, a trickle does not",
        arguments: [1_000, 65_536])
    func refill(_ step: Int) {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, large)
        var drops = 0
        while drops < 40 {
            run.bytes(step)
            drops += 1
            guard run.drop().keeps == nil else { break }
            _ = run.due()
            let have = run.machine.completed
            _ = run.head(
                206,
                [
                    "Content-Range": "bytes \(have)-99999999/100000000", "ETag": "\"v1\"",
                ])
        }
        #expect(drops == (step == 1_000 ? 6 : 40))
    }

    @Test("DR15 discarded bytes do not refill the budget")
    func noRefill() {
        var run = MachineRun()
        _ = run.start()
        for _ in 0..<5 {
            _ = run.head(200, ["Content-Length": "100000000"])
            run.bytes(1 << 20)
            #expect(run.drop().waits.count == 1)
            _ = run.due()
        }
        _ = run.head(200, ["Content-Length": "100000000"])
        run.bytes(1 << 20)
        #expect(run.drop().keeps == false)
    }

    @Test("DR15 one-byte responses exhaust the attempts")
    func tinyPieces() {
        var run = MachineRun()
        _ = run.start(MachineRun.record([0..<400]))
        var pieces = 0
        while pieces < 50 {
            let at = run.machine.completed
            _ = run.head(206, ["Content-Range": "bytes \(at)-\(at)/1000", "ETag": "\"v1\""])
            run.bytes(1)
            pieces += 1
            if run.end().keeps != nil { break }
        }
        #expect(pieces == 6)
    }

    @Test("DC-B13 Retry-After is the minimum wait, and too long a one ends the run with its time")
    func retryAfter() {
        var run = MachineRun()
        _ = run.start()
        let waits = run.head(503, ["Retry-After": "3"]).waits
        #expect(waits == [3_000_000_000])
        _ = run.due()
        #expect(run.head(503, ["Retry-After": "61"]).keeps == false)
        guard case .failed(let error, nil)? = run.machine.released(partialPath: nil).outcome else {
            Issue.record("it waits")
            return
        }
        #expect(error.reason == .retryLater)
        #expect(error.retryAt == 5_061)
        #expect(error.status == 503)

        var patient = MachineRun { $0.maximumRetryAfter = nil }
        _ = patient.start()
        #expect(patient.head(429, ["Retry-After": "86400"]).waits == [86_400_000_000_000])
        var huge = MachineRun { $0.maximumRetryAfter = nil }
        _ = huge.start()
        #expect(huge.head(429, ["Retry-After": "9223372036854775807"]).waits == [Int64.max])
    }

    @Test("DC-B14 DC-B15 a server error gets six attempts, a missing file one")
    func statuses() {
        var run = MachineRun()
        _ = run.start()
        for _ in 0..<5 {
            #expect(run.head(500).waits.count == 1)
            _ = run.due()
        }
        #expect(run.head(500).keeps == false)
        var missing = MachineRun()
        _ = missing.start()
        #expect(missing.head(404) == [.stop, .release(keeping: false)])
    }

    @Test("DR15 permanent errors are not retried")
    func noRetry() throws {
        for reason in ["untrusted", "wrong_name", "protocol", "too_many_redirects", "internal"] {
            var run = MachineRun()
            _ = run.start(MachineRun.record([0..<400]))
            #expect(
                run.drop(try #require(ErrorReason(rawValue: reason))) == [.release(keeping: true)])
        }
        for reason in [
            "resolve", "connect", "connect_timeout", "first_byte_timeout", "idle_timeout",
            "stalled",
            "connection_reset", "truncated",
        ] {
            var run = MachineRun()
            _ = run.start()
            #expect(run.drop(try #require(ErrorReason(rawValue: reason))).waits.count == 1)
        }
    }

    @Test("DR9 a file that keeps changing is unstable")
    func unstable() {
        var run = MachineRun()
        _ = run.start()
        for version in 1... {
            _ = run.head(200, ["Content-Length": "1000", "ETag": "\"v\(version)\""])
            run.bytes(400)
            _ = run.drop()
            _ = run.due()
            let actions = run.head(
                206, ["Content-Range": "bytes 400-999/1000", "ETag": "\"v\(version + 1)\""])
            if version == 4 {
                #expect(actions.first == .stop)
                #expect(actions.keeps != nil)
                break
            }
            #expect(actions.restarts == [.changed])
            #expect(run.machine.currentGeneration == UInt32(version + 1))
        }
        guard case .failed(let error, _)? = run.machine.released(partialPath: nil).outcome else {
            Issue.record("it went on")
            return
        }
        #expect(error.reason == .unstable)
    }

    @Test("DC-B08 DC-B09 DC-B10 DR17 a wrong digest costs one restart, and then the download")
    func checksum() throws {
        let right = Digest.hash(of: "right", .sha256)
        let wrong = Digest.hash(of: "wrong", .sha256)
        let own = DownloadDigest(.sha256, right)
        let announced: KeyValuePairs = [
            "Content-Length": "1000", "ETag": "\"v1\"",
            "Repr-Digest": "sha-256=:\(Base64.encode(right)):",
        ]
        for (expected, fields) in [(own, MachineRun.strong), (nil, announced)] {
            var run = MachineRun { $0.expected = expected }
            _ = run.start()
            for turn in 1...2 {
                _ = run.head(200, fields)
                run.bytes(1000)
                guard case .verify(let wanted, 1000)? = run.end().last else {
                    Issue.record("nothing was checked")
                    return
                }
                #expect(wanted == [.sha256])
                #expect(run.machine.visibleState == .verifying)
                let actions = run.verified([wrong])
                if turn == 1 {
                    #expect(actions.restarts == [.checksum])
                    #expect(actions.last == run.sent(nil))
                } else {
                    #expect(actions.keeps == false)
                }
            }
            guard case .failed(let error, nil)? = run.machine.released(partialPath: nil).outcome
            else {
                Issue.record("it went on")
                return
            }
            #expect(error.reason == .checksum)
            #expect(error.expectedDigest == Hex.encode(right))
            #expect(error.actualDigest == Hex.encode(wrong))
        }
        var good = MachineRun { $0.expected = own }
        _ = good.start()
        _ = good.head(200, announced)
        good.bytes(1000)
        guard case .verify(let wanted, _)? = good.end().last else {
            Issue.record("nothing was checked")
            return
        }
        #expect(wanted.count == 2)
        #expect(good.verified([right, right]) == [.publish(length: 1000)])
        #expect(good.machine.found == [.sha256: right])
    }

    @Test("DR4 with the caller's digest a partial file resumes without any validator")
    func digestInsteadOfValidator() {
        let digest = DownloadDigest(.md5, Digest.hash(of: "x", .md5))
        var run = MachineRun { $0.expected = digest }
        _ = run.start()
        #expect(run.head(200, ["Content-Length": "1000"]).begun?.isJournaled == true)
        run.bytes(400)
        #expect(run.drop().restarts.isEmpty)
        #expect(run.due() == [run.sent(range(400, nil, nil))])
        #expect(
            run.head(206, ["Content-Range": "bytes 400-999/1000"])
                == [.report(.resumed(have: 400))])
    }

    @Test("D7 a server error keeps the partial file")
    func keepsPartial() {
        for status in [500, 503, 404] {
            var run = MachineRun { $0.retries = 0 }
            _ = run.start(MachineRun.record([0..<400]))
            #expect(run.head(status).keeps == true)
        }
    }

    @Test(
        "DR6 a complete file of the same version despite If-Range leads to one If-Match")
    func ifMatch() {
        var asked = range(600)
        asked.condition = .ifMatch
        #expect(DownloadRequest(attempt: 1, range: asked).fields.map(\.name).last == "If-Match")
        var run = MachineRun()
        _ = run.start(MachineRun.record([0..<600]))
        #expect(run.head(200, MachineRun.strong) == [.stop, run.sent(asked)])
        // After another drop the same request is sent.
        let piece: KeyValuePairs = ["Content-Range": "bytes 600-999/1000", "ETag": "\"v1\""]
        #expect(run.head(206, piece) == [.report(.resumed(have: 600))])
        run.bytes(100)
        _ = run.drop()
        var rest = range(700)
        rest.condition = .ifMatch
        #expect(run.due() == [run.sent(rest)])
        #expect(run.head(200, MachineRun.strong).restarts == [.rangesUnsupported])
    }

    @Test("DR6 If-Match is not used for half a file, for a date, or without range support")
    func noIfMatch() {
        let date = StrongValidator.lastModified("Mon, 01 Jan 2024 00:00:00 GMT")
        let cases: [(JournalRecord, KeyValuePairs<String, String>)] = [
            (MachineRun.record([0..<500]), MachineRun.strong),
            (
                MachineRun.record([0..<600], validator: date),
                [
                    "Content-Length": "1000", "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT",
                    "Date": "Tue, 02 Jan 2024 00:00:00 GMT",
                ]
            ),
            (
                MachineRun.record([0..<600]),
                ["Content-Length": "1000", "ETag": "\"v1\"", "Accept-Ranges": "none"]
            ),
        ]
        for (record, fields) in cases {
            var run = MachineRun()
            _ = run.start(record)
            let actions = run.head(200, fields)
            #expect(actions.restarts == [.rangesUnsupported])
            #expect(actions.begun != nil && !actions.hasSend)
        }
    }

    @Test("DR6 the partial file stays until a new generation begins, unless it is stale")
    func leftAsFound() {
        let piece: KeyValuePairs = ["Content-Range": "bytes 400-999/1000"]
        let useless: [(Int, KeyValuePairs<String, String>, Bool)] = [
            (206, piece, true), (412, [:], false), (416, [:], false),
        ]
        for (status, fields, isKept) in useless {
            var run = MachineRun()
            _ = run.start(MachineRun.record([0..<400]))
            #expect(run.head(status, fields).hasSend)
            #expect(run.head(404).keeps == isKept)
        }
        // Of another URL: it is kept if that one fails or is cancelled before its first bytes.
        var record = MachineRun.record([0..<400])
        record.identity = DownloadIdentity(url: "http://127.0.0.1/other")
        for isCancelled in [true, false] {
            var run = MachineRun()
            #expect(run.start(record).last == run.sent(nil))
            #expect((isCancelled ? run.machine.cancel() : run.head(404)).keeps == true)
        }
        var begun = MachineRun()
        _ = begun.start(record)
        _ = begun.head(200, ["Content-Length": "1000"])
        #expect(begun.machine.cancel().keeps == false)
        var discarded = MachineRun()
        _ = discarded.start(record)
        #expect(discarded.machine.cancel(discarding: true).keeps == false)
        var fresh = MachineRun { $0.isResumable = false }
        _ = fresh.start(record)
        #expect(fresh.head(404).keeps == false)
    }
}
