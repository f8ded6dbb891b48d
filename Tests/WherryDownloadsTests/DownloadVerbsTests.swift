// Wherry: checkpoints and commands of a download, and any order of events
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

private let large: KeyValuePairs = ["Content-Length": "100000000", "ETag": "\"v1\""]
private let second: Int64 = 1_000_000_000

@Suite("Checkpoints and commands of a download") struct DownloadVerbsTests {
    @Test("D5 DR20 a checkpoint follows a second after unrecorded bytes, one at a time")
    func checkpoints() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, large)
        #expect(run.machine.checkpointDueAt == nil)
        #expect(run.bytes(1).actions == [])
        #expect(run.machine.checkpointDueAt == run.now.advanced(by: second))
        run.now = run.now.advanced(by: second - 1)
        #expect(run.bytes(1 << 20).actions == [])
        #expect(run.machine.checkpointDue(now: run.now) == [])
        run.now = run.now.advanced(by: 1)
        #expect(run.bytes(1).actions == [.checkpoint])
        run.now = run.now.advanced(by: 5 * second)
        #expect(run.bytes(1).actions == [])
        run.now = run.now.advanced(by: 2 * second)
        #expect(run.bytes(1).actions == [])
        #expect(run.checkpointed() == [])
        #expect(run.bytes(1).actions == [.checkpoint])
    }

    // A stalled server causes no event that could trigger a checkpoint.
    @Test("D5 DR20 bytes are recorded within a second although no others arrive")
    func checkpointOfSilence() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, large)
        run.bytes(1000)
        run.now = run.now.advanced(by: second)
        #expect(run.machine.checkpointDue(now: run.now) == [.checkpoint])
        #expect(run.machine.checkpointDueAt == nil)
        #expect(run.checkpointed() == [])
        #expect(run.machine.checkpointDue(now: run.now.advanced(by: 9 * second)) == [])
    }

    // The second restarted with each response. A server with small ranges, or a program killed
    // every few seconds, kept nothing.
    @Test("D5 DR20 small range responses do not delay a checkpoint")
    func checkpointsOfSmallRanges() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, large)
        run.bytes(100_000)
        _ = run.drop()
        _ = run.checkpointed()
        _ = run.due()
        var position: Int64 = 100_000
        var checkpoints = 0
        for _ in 0..<40 {
            let end = position + 99_999
            _ = run.head(
                206,
                ["Content-Range": "bytes \(position)-\(end)/100000000", "ETag": "\"v1\""])
            run.now = run.now.advanced(by: second / 4)
            if run.bytes(100_000).actions.contains(.checkpoint) {
                checkpoints += 1
                _ = run.checkpointed()
            }
            position = end + 1
            #expect(run.end().hasSend)
        }
        #expect(checkpoints == 8)
    }

    @Test("D5 DR20 4 MiB are recorded early, on a slow disk less often")
    func checkpointsOfManyBytes() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, large)
        #expect(run.bytes((4 << 20) - 1).actions == [])
        #expect(run.bytes(1).actions == [.checkpoint])
        #expect(run.machine.checkpointed(after: second / 20) == [])
        run.now = run.now.advanced(by: second / 5)
        #expect(run.bytes(5 << 20).actions == [])
        run.now = run.now.advanced(by: second / 20)
        #expect(run.bytes(1).actions == [.checkpoint])
    }

    @Test("DR20 full durability checkpoints every MiB, and unresumable downloads never")
    func fullDurability() {
        var run = MachineRun { $0.durability = .full }
        _ = run.start()
        _ = run.head(200, large)
        #expect(run.bytes(1 << 20).actions == [.checkpoint])
        var weak = MachineRun()
        _ = weak.start()
        _ = weak.head(200, ["Content-Length": "100000000"])
        weak.now = weak.now.advanced(by: 9_000_000_000)
        #expect(weak.bytes(1000).actions == [])
    }

    @Test("DR27 D12 a pause completes when the journal is durable, and resuming requests the rest")
    func pause() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, large)
        run.bytes(70_000)
        #expect(run.pause() == [.stop, .checkpoint])
        #expect(run.pause() == [])
        #expect(run.machine.visibleState == .running)
        #expect(run.bytes(10) == Placement())
        #expect(run.machine.checkpointed() == [.report(.state(.paused))])
        #expect(run.pause() == [])
        #expect(run.resume() == [run.sent(range(70_000))])
        #expect(run.resume() == [])
        #expect(run.machine.visibleState == .running)
    }

    @Test("DR27 a pause waits for the previous checkpoint, too")
    func pauseAfterCheckpoint() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, large)
        #expect(run.bytes(70_000).actions == [])
        run.now = run.now.advanced(by: 2 * second)
        #expect(run.bytes(70_000).actions == [.checkpoint])
        #expect(run.pause() == [.stop, .checkpoint])
        #expect(run.machine.checkpointed() == [])
        #expect(run.machine.checkpointed() == [.report(.state(.paused))])
    }

    @Test("DR27 resuming during the pause continues afterwards")
    func resumeWhilePausing() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, large)
        run.bytes(70_000)
        _ = run.pause()
        #expect(run.resume() == [])
        #expect(run.checkpointed() == [run.sent(range(70_000))])
        #expect(run.machine.visibleState == .running)
    }

    @Test("DR27 a waiting download can be paused, and retries at once when resumed")
    func pauseWhileWaiting() {
        var run = MachineRun()
        _ = run.start()
        _ = run.drop(.connect)
        #expect(run.pause() == [.stopWaiting, .checkpoint])
        _ = run.checkpointed()
        #expect(run.due() == [])
        #expect(run.resume() == [run.sent(nil)])
    }

    @Test("D12 an unresumable download keeps its connection while it is paused")
    func hold() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, ["Content-Length": "1000"])
        run.bytes(400)
        #expect(run.pause() == [.hold])
        #expect(run.machine.visibleState == .paused)
        // Bytes in flight are written at their position.
        #expect(run.bytes(100).offset == 400)
        #expect(run.resume() == [.unhold])
        run.bytes(500)
        #expect(run.end() == [.publish(length: 1000)])
    }

    @Test("D12 a connection that ends during the hold is handled when the download continues")
    func endWhileHeld() {
        for isWhole in [true, false] {
            var run = MachineRun()
            _ = run.start()
            _ = run.head(200, ["Content-Length": "1000"])
            run.bytes(400)
            _ = run.pause()
            if isWhole {
                run.bytes(600)
                #expect(run.end() == [])
                #expect(run.resume() == [.publish(length: 1000)])
            } else {
                #expect(run.drop() == [])
                let actions = run.resume()
                #expect(actions.restarts == [.noValidator])
                #expect(actions.waits.count == 1)
            }
        }
    }

    @Test("DR27 cancel keeps a resumable partial file, discard never does")
    func cancel() {
        for discarding in [false, true] {
            var run = MachineRun()
            _ = run.start(MachineRun.record([0..<400]))
            #expect(
                run.machine.cancel(discarding: discarding)
                    == [.stop, .release(keeping: !discarding)])
            #expect(run.machine.cancel() == [])
            #expect(
                run.machine.released(partialPath: discarding ? nil : "/p") == [
                    .report(.state(.cancelled)),
                    .finish(.cancelled(partialPath: discarding ? nil : "/p")),
                ])
            #expect(run.machine.cancel() == [])
        }
        var empty = MachineRun()
        _ = empty.start()
        #expect(empty.machine.cancel() == [.stop, .release(keeping: false)])
        var unstarted = MachineRun()
        #expect(unstarted.machine.cancel().outcome == .cancelled(partialPath: nil))
        #expect(unstarted.start() == [])
    }

    @Test("DR27 the rename is the point of no return")
    func cancelTooLate() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, MachineRun.strong)
        run.bytes(1000)
        _ = run.end()
        #expect(run.machine.cancel(discarding: true) == [])
        #expect(run.pause() == [])
        #expect(run.machine.published("/a").outcome == .done(path: "/a"))
        #expect(run.machine.cancel() == [])
        #expect(run.machine.visibleState == .done)
    }

    @Test("DR27 cancelling a verification stops it and waits for nothing else")
    func cancelVerification() {
        var run = MachineRun { $0.expected = DownloadDigest(.md5, Digest.hash(of: "x", .md5)) }
        _ = run.start()
        _ = run.head(200, MachineRun.strong)
        run.bytes(1000)
        _ = run.end()
        #expect(run.machine.cancel() == [.stopVerifying, .release(keeping: true)])
        #expect(run.verified(nil) == [])
        #expect(run.machine.released(partialPath: "/p").outcome == .cancelled(partialPath: "/p"))
    }

    @Test("DR27 a pause during verification holds, and the file is verified again afterwards")
    func pauseVerification() {
        // Also for a file without range support: every byte of it is here.
        for head in [MachineRun.strong, ["Content-Length": "1000"]] {
            var run = MachineRun { $0.computed = .md5 }
            _ = run.start()
            _ = run.head(200, head)
            run.bytes(1000)
            #expect(run.end() == [.verify([.md5], length: 1000)])
            #expect(run.pause() == [.stopVerifying, .checkpoint])
            #expect(run.pause() == [])
            // It was read to its end before it could be stopped.
            #expect(run.verified([Digest.hash(of: "x", .md5)]) == [])
            #expect(run.machine.checkpointed() == [.report(.state(.paused))])
            #expect(run.resume() == [.verify([.md5], length: 1000)])
            #expect(run.machine.visibleState == .verifying)
            #expect(run.verified([Digest.hash(of: "x", .md5)]) == [.publish(length: 1000)])
        }
    }

    @Test("DR27 a resume during the pause of a verification verifies the file again")
    func resumeVerification() {
        var run = MachineRun { $0.computed = .md5 }
        _ = run.start()
        _ = run.head(200, MachineRun.strong)
        run.bytes(1000)
        _ = run.end()
        _ = run.pause()
        #expect(run.resume() == [])
        #expect(run.checkpointed() == [.verify([.md5], length: 1000)])
        // A wrong checksum downloads it again, and it is not complete yet.
        var wrong = MachineRun { $0.expected = DownloadDigest(.md5, Digest.hash(of: "y", .md5)) }
        _ = wrong.start()
        _ = wrong.head(200, MachineRun.strong)
        wrong.bytes(1000)
        _ = wrong.end()
        _ = wrong.pause()
        _ = wrong.checkpointed()
        _ = wrong.resume()
        #expect(wrong.verified([Digest.hash(of: "x", .md5)]).restarts == [.checksum])
        _ = wrong.pause()
        _ = wrong.checkpointed()
        #expect(wrong.resume() == [wrong.sent(nil)])
    }

    @Test("DR23 a full disk stops everything at once and keeps the durable bytes")
    func diskFull() {
        var run = MachineRun()
        _ = run.start()
        _ = run.head(200, large)
        run.bytes(1 << 20)
        let error = DownloadError(.noSpace, "full")
        #expect(
            run.machine.diskFailed(error) == [.stop, .stopWaiting, .release(keeping: true)])
        #expect(run.bytes(10) == Placement())
        // Another write in flight fails too: it is the same end.
        #expect(run.machine.diskFailed(error) == [])
        #expect(
            run.machine.released(partialPath: "/p").last
                == .finish(.failed(error, partialPath: "/p")))
    }

    @Test("DR27 any order of events ends at most once, and then nothing more happens")
    func anyOrder() {
        let heads: [(Int, KeyValuePairs<String, String>)] = [
            (200, MachineRun.strong), (200, ["Content-Length": "1000"]), (200, [:]),
            (206, ["Content-Range": "bytes 400-999/1000", "ETag": "\"v1\""]),
            (206, ["Content-Range": "bytes 0-999/1000", "ETag": "\"v2\""]), (206, [:]), (416, [:]),
            (416, ["Content-Range": "bytes */1000"]), (412, [:]), (403, [:]), (503, [:]),
            (503, ["Retry-After": "99999"]), (404, [:]),
        ]
        var finishes = 0
        for seed in 0..<3_000 {
            var random = SplitMix(state: UInt64(seed))
            var run = MachineRun { policy in
                if seed % 3 == 0 {
                    policy.expected = DownloadDigest(.md5, Digest.hash(of: "x", .md5))
                }
                if seed % 5 == 0 { policy.isResumable = false }
            }
            _ = run.start(seed % 2 == 0 ? MachineRun.record([0..<400]) : nil)
            var hasFinished = false
            for _ in 0..<40 {
                run.now = run.now.advanced(by: Int64(random.next() % 700_000_000))
                var actions: [DownloadAction]
                switch random.next() % 13 {
                case 0...2:
                    let (status, fields) = heads[Int(random.next() % UInt64(heads.count))]
                    actions = run.head(status, fields)
                case 3, 4: actions = run.bytes(Int(random.next() % 1_200)).actions
                case 5: actions = run.end()
                case 6: actions = run.drop()
                case 7: actions = run.due()
                case 8: actions = run.pause()
                case 9: actions = run.resume()
                case 10: actions = run.checkpointed()
                case 11:
                    actions = run.verified([Digest.hash(of: seed % 2 == 0 ? "x" : "y", .md5)])
                default:
                    actions =
                        random.next() % 8 == 0
                        ? run.machine.cancel()
                        : run.machine.released(partialPath: nil) + run.machine.published("/a")
                }
                if hasFinished { #expect(actions == []) }
                if actions.outcome != nil {
                    finishes += 1
                    hasFinished = true
                    #expect(actions.last?.isFinish == true)
                }
                #expect(run.machine.completed <= 1_200 * 40)
                if let total = run.machine.total { #expect(run.machine.completed <= total) }
            }
        }
        #expect(finishes > 1_000)
    }
}

extension DownloadAction {
    fileprivate var isFinish: Bool { if case .finish = self { true } else { false } }
}
