// Wherry: the states of a download
// SPDX-License-Identifier: Apache-2.0

import Testing
@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

@Suite("The states of a download") struct DownloadMachineTests {
    @Test("D1 a plain download sends one request, writes from byte 0, and publishes")
    func plain() throws {
        var run = MachineRun()
        #expect(run.start() == [run.sent(nil)])
        let begun = try #require(run.head(200, MachineRun.strong).begun)
        #expect(begun.isJournaled)
        #expect(begun.facts.total == 1000)
        #expect(begun.facts.validator == .entityTag("\"v1\""))
        #expect(begun.facts.generation == 1)
        #expect(run.bytes(600) == Placement(skip: 0, count: 600, offset: 0))
        #expect(run.bytes(400) == Placement(skip: 0, count: 400, offset: 600))
        #expect(run.end() == [.publish(length: 1000)])
        #expect(
            run.machine.published("/a") == [
                .report(.state(.done)), .finish(.done(path: "/a")),
            ])
        #expect(run.machine.visibleState == .done)
    }

    @Test("DC-A01 a partial file resumes at its end")
    func resume() {
        var run = MachineRun()
        let facts = MachineRun.record([0..<400]).facts
        #expect(run.start(MachineRun.record([0..<400])) == [.adopt(facts), run.sent(range(400))])
        #expect(
            run.head(206, ["Content-Range": "bytes 400-999/1000", "ETag": "\"v1\""])
                == [.report(.resumed(have: 400))])
        #expect(run.bytes(600) == Placement(skip: 0, count: 600, offset: 400))
        #expect(run.end() == [.publish(length: 1000)])
    }

    @Test(
        "DC-A02 DC-A19 a changed file replaces the partial file with the same response")
    func changed() throws {
        var run = MachineRun()
        _ = run.start(MachineRun.record([0..<400]))
        let actions = run.head(200, ["Content-Length": "2000", "ETag": "\"v2\""])
        #expect(actions.restarts == [.changed])
        #expect(!actions.hasSend)
        let begun = try #require(actions.begun)
        #expect(begun.facts.generation == 2)
        #expect(begun.facts.total == 2000)
        #expect(run.bytes(1).offset == 0)
        #expect(run.machine.completed == 1)
        #expect(run.machine.currentGeneration == 2)
    }

    @Test(
        "DC-A03 DC-A14 DC-A16 DC-A20 after a useless range the complete file is requested")
    func uselessPieces() {
        let cases: [(KeyValuePairs<String, String>, RestartReason)] = [
            (["Content-Range": "bytes 400-999/1000", "ETag": "\"v2\""], .changed),
            (["Content-Range": "bytes 500-999/1000", "ETag": "\"v1\""], .badRange),
            (["Content-Range": "bytes 400-1999/2000", "ETag": "\"v1\""], .changed),
            (
                [
                    "Content-Range": "bytes 400-999/1000", "ETag": "\"v1\"",
                    "Content-Encoding": "gzip",
                ], .encoding
            ),
            (["ETag": "\"v1\""], .badRange),
        ]
        for (fields, reason) in cases {
            var run = MachineRun()
            _ = run.start(MachineRun.record([0..<400]))
            let actions = run.head(206, fields)
            #expect(actions.first == .stop)
            #expect(actions.restarts == [reason])
            #expect(actions.last == run.sent(nil))
            // The partial file is emptied only when its replacement arrives.
            #expect(actions.begun == nil)
            #expect(run.head(200, MachineRun.strong).begun?.facts.generation == 2)
        }
    }

    @Test("DC-A04 DC-A09 unprovable bytes are downloaded again from byte 0")
    func noValidator() {
        for fields: KeyValuePairs in [
            ["Content-Length": "1000", "ETag": "W/\"1\""], ["Content-Length": "1000"],
        ] {
            var run = MachineRun()
            _ = run.start()
            #expect(run.head(200, fields).begun?.isJournaled == false)
            run.bytes(400)
            let actions = run.drop()
            #expect(actions.restarts == [.noValidator])
            #expect(actions.waits.count == 1)
            #expect(run.machine.completed == 0)
            #expect(run.due() == [run.sent(nil)])
            #expect(run.head(200, fields).begun?.facts.generation == 2)
        }
    }

    @Test("DC-A11 DR6 a server that sends the complete file instead gets no more range requests")
    func rangesUnsupported() {
        var run = MachineRun()
        _ = run.start(MachineRun.record([0..<400]))
        let actions = run.head(200, MachineRun.strong)
        #expect(actions.restarts == [.rangesUnsupported])
        #expect(actions.begun?.isJournaled == false)
        run.bytes(300)
        #expect(run.drop().restarts == [.rangesUnsupported])
        #expect(run.due() == [run.sent(nil)])
    }

    @Test("DC-A25 Accept-Ranges: none is respected")
    func acceptRangesNone() {
        var run = MachineRun()
        _ = run.start()
        let fields: KeyValuePairs = [
            "Content-Length": "1000", "ETag": "\"v1\"", "Accept-Ranges": "none",
        ]
        #expect(run.head(200, fields).begun?.isJournaled == false)
    }

    @Test("DC-A12 DC-A13 a range that starts earlier is written from the first missing byte")
    func earlierPiece() {
        for start in [0, 384] as [Int64] {
            var run = MachineRun()
            _ = run.start(MachineRun.record([0..<400]))
            _ = run.head(206, ["Content-Range": "bytes \(start)-999/1000", "ETag": "\"v1\""])
            let lead = Int(400 - start)
            #expect(run.bytes(10).count == 0)
            #expect(
                run.bytes(lead) == Placement(skip: lead - 10, count: 10, offset: 400))
            #expect(run.bytes(590) == Placement(skip: 0, count: 590, offset: 410))
            #expect(run.end() == [.publish(length: 1000)])
        }
    }

    @Test("DC-A17 a complete partial file costs one request and no byte")
    func wholePartial() {
        var run = MachineRun()
        #expect(run.start(MachineRun.record([0..<1000])).last == run.sent(range(1000)))
        #expect(
            run.head(416, ["Content-Range": "bytes */1000", "ETag": "\"v1\""])
                == [.stop, .report(.alreadyComplete), .publish(length: 1000)])
    }

    @Test("DC-A17 with a digest a complete partial file costs no request")
    func wholePartialWithDigest() {
        let digest = DownloadDigest(.md5, Digest.hash(of: "x", .md5))
        var run = MachineRun { $0.expected = digest }
        let actions = run.start(MachineRun.record([0..<1000]))
        #expect(actions.last == .verify([.md5], length: 1000))
        #expect(
            run.verified([Digest.hash(of: "x", .md5)])
                == [.report(.alreadyComplete), .publish(length: 1000)])
        #expect(run.machine.found == [.md5: Digest.hash(of: "x", .md5)])
    }

    @Test("D20 a digest that is only reported is computed with the others, and checks nothing")
    func toldDigest() {
        var run = MachineRun { $0.computed = .sha1 }
        _ = run.start()
        _ = run.head(200, MachineRun.strong)
        run.bytes(1000)
        #expect(run.end().last == .verify([.sha1], length: 1000))
        let told = Digest.hash(of: "x", .sha1)
        #expect(run.verified([told]) == [.publish(length: 1000)])
        #expect(run.machine.found == [.sha1: told])

        let digest = DownloadDigest(.md5, Digest.hash(of: "x", .md5))
        var both = MachineRun {
            $0.expected = digest
            $0.computed = .sha1
        }
        _ = both.start()
        _ = both.head(200, MachineRun.strong)
        both.bytes(1000)
        #expect(both.end().last == .verify([.md5, .sha1], length: 1000))
        _ = both.verified([Digest.hash(of: "x", .md5), told])
        #expect(both.machine.found == [.md5: Digest.hash(of: "x", .md5), .sha1: told])
    }

    @Test("DC-A18 a file truncated below the partial file restarts")
    func shrank() {
        var run = MachineRun()
        _ = run.start(MachineRun.record([0..<400]))
        let actions = run.head(416, ["Content-Range": "bytes */300", "ETag": "\"v2\""])
        #expect(actions.restarts == [.rangeNotSatisfiable])
        #expect(actions.last == run.sent(nil))
    }

    @Test("DC-A24 DR11 an expired link keeps the partial file, and a new link resumes it")
    func expired() {
        var run = MachineRun()
        _ = run.start(MachineRun.record([0..<400]))
        let actions = run.head(403)
        #expect(actions.keeps == true)
        guard case .failed(let error, "/p")? = run.machine.released(partialPath: "/p").outcome
        else {
            Issue.record("it did not fail with its partial")
            return
        }
        #expect(error.reason == .expired)
        var next = MachineRun { $0.isNewURLForSameFile = true }
        var record = MachineRun.record([0..<400])
        record.identity = DownloadIdentity(url: "http://127.0.0.1/old?sig=1")
        #expect(next.start(record).last == next.sent(range(400)))
    }

    @Test("D8 without resume an old partial file is ignored")
    func notResumable() {
        var run = MachineRun { $0.isResumable = false }
        #expect(run.start(MachineRun.record([0..<400])) == [run.sent(nil)])
        let begun = run.head(200, MachineRun.strong).begun
        #expect(begun?.isJournaled == false)
        #expect(begun?.facts.generation == 2)
        run.bytes(100)
        #expect(run.machine.cancel().keeps == false)
    }

    @Test("DR1 a partial file of another download is replaced, and that is reported")
    func foreignPartial() {
        var run = MachineRun()
        var record = MachineRun.record([0..<400])
        record.identity = DownloadIdentity(url: "http://127.0.0.1/other")
        #expect(
            run.start(record) == [
                .report(.restarted(.changed, generation: 2)), run.sent(nil),
            ])
        var damaged = MachineRun()
        #expect(
            damaged.start(nil, defect: .damaged) == [
                .report(.journalIgnored(.damaged)), damaged.sent(nil),
            ])
    }

    @Test("D5 holes of an earlier run are filled one after the other")
    func holes() {
        var run = MachineRun()
        #expect(
            run.start(MachineRun.record([0..<100, 200..<300])).last
                == run.sent(range(100, 200)))
        _ = run.head(206, ["Content-Range": "bytes 100-199/1000", "ETag": "\"v1\""])
        // Bytes beyond the requested range are not used.
        #expect(run.bytes(150) == Placement(skip: 0, count: 100, offset: 100))
        #expect(run.end() == [run.sent(range(300))])
        _ = run.head(206, ["Content-Range": "bytes 300-999/1000", "ETag": "\"v1\""])
        run.bytes(700)
        #expect(run.end() == [.publish(length: 1000)])
    }

    @Test("DR13 without a length there is no journal, and the end reports the length")
    func unknownLength() {
        var run = MachineRun()
        _ = run.start()
        #expect(
            run.head(200, ["ETag": "\"v1\"", "Transfer-Encoding": "chunked"]).begun?.isJournaled
                == false)
        #expect(run.machine.total == nil)
        run.bytes(70_000)
        #expect(run.end() == [.publish(length: 70_000)])
        #expect(run.machine.total == 70_000)
        #expect(run.machine.diskFailed(DownloadError(.exists, "")).keeps == false)
    }

    @Test("DC-B16 an empty file is a file")
    func empty() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, ["Content-Length": "0", "ETag": "\"v1\""])
        #expect(run.end() == [.publish(length: 0)])
    }

    @Test("DC-B17 bytes beyond the length are ignored, and so are errors after them")
    func extraBytes() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, MachineRun.strong)
        #expect(run.bytes(1_500) == Placement(skip: 0, count: 1000, offset: 0))
        #expect(run.bytes(10).count == 0)
        #expect(run.drop() == [.publish(length: 1000)])
    }

    @Test("DR8 a range that was not requested ends the download")
    func unaskedPiece() {
        var run = MachineRun()
        _ = run.start()
        let actions = run.head(206, ["Content-Range": "bytes 0-999/1000", "ETag": "\"v1\""])
        #expect(actions == [.stop, .release(keeping: false)])
    }

    @Test("DR18 the name suggested by a response belongs to its generation")
    func suggestedName() {
        var run = MachineRun()
        _ = run.start()
        let actions = run.machine.head(
            answer(200, MachineRun.strong), attempt: 1, suggestedName: "evil.bin",
            now: run.now)
        #expect(actions.begun?.facts.name == "evil.bin")
    }

    @Test("DC-C19 a target that has its digest is done without a request")
    func alreadyThere() {
        var run = MachineRun()
        #expect(
            run.machine.foundComplete(path: "/a", length: 1000) == [
                .report(.state(.running)), .report(.alreadyComplete), .report(.state(.done)),
                .finish(.done(path: "/a")),
            ])
        #expect(run.machine.have.count == 1000 && run.machine.total == 1000)
        #expect(run.start() == [])
        var refused = MachineRun()
        let error = DownloadError(.exists, "there")
        #expect(
            refused.machine.refused(error).last == .finish(.failed(error, partialPath: nil)))
    }

    @Test("results of an abandoned exchange are ignored")
    func lateEvents() {
        var run = MachineRun()
        _ = run.start(MachineRun.record([0..<400]))
        _ = run.head(206, ["Content-Range": "bytes 400-999/1000", "ETag": "\"v2\""])
        #expect(run.attempt == 2)
        #expect(run.machine.received(10, attempt: 1, now: run.now) == Placement())
        #expect(run.machine.ended(attempt: 1) == [])
        #expect(run.machine.failed(DownloadError(.connect, ""), attempt: 1) == [])
        #expect(
            run.machine.head(answer(200), attempt: 1, now: run.now) == [])
        #expect(run.machine.retryDue() == [])
        #expect(run.machine.published("/a") == [])
        #expect(run.machine.verified([], of: "/a") == [])
    }
}
