// Wherry: progress of downloads
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

@Suite("Progress of downloads") struct ProgressMeterTests {
    private let tenth: Int64 = 100_000_000

    @Test("D9 the first, the last, and at most ten a second are reported, from the resume offset")
    func throttle() throws {
        var meter = ProgressMeter()
        var now = Instant(nanoseconds: 0)
        var reports: [Progress] = []
        for step in 0..<100 {
            let progress = meter.update(
                completed: 400 + Int64(step) * 10, present: 400, total: 2000, generation: 1,
                received: step == 0 ? 0 : 10, now: now, isForced: step == 99)
            if let progress { reports.append(progress) }
            now = now.advanced(by: tenth / 10)
        }
        #expect(reports.count == 11)
        #expect(reports.first?.completed == 400)
        #expect(reports.first?.resumedAt == 400)
        #expect(reports.last?.completed == 1390)
        #expect(reports.last?.wire == 990)
        #expect(reports.allSatisfy { ($0.fraction ?? 2) <= 1 })
        #expect(zip(reports, reports.dropFirst()).allSatisfy { $0.completed <= $1.completed })
    }

    @Test("D9 DR28 speed covers the last five seconds, and the time left is known with it")
    func speed() throws {
        var meter = ProgressMeter()
        var now = Instant(nanoseconds: 0)
        var completed: Int64 = 0
        func run(_ seconds: Int, _ perTenth: Int64) {
            for _ in 0..<seconds * 10 {
                now = now.advanced(by: tenth)
                completed += perTenth
                _ = meter.update(
                    completed: completed, present: 0, total: 1_000_000, generation: 1,
                    received: perTenth,
                    now: now)
            }
        }
        #expect(meter.snapshot(now: now).bytesPerSecond == nil)
        run(1, 1_000)
        #expect(meter.snapshot(now: now).bytesPerSecond == 10_000)
        #expect(meter.snapshot(now: now).remaining == .seconds(99))
        run(9, 1_000)
        #expect(meter.snapshot(now: now).bytesPerSecond == 10_000)
        #expect(meter.snapshot(now: now).remaining == .seconds(90))
        run(6, 2_000)
        #expect(meter.snapshot(now: now).bytesPerSecond == 20_000)
        // No bytes arrive: the speed falls, and the time left is not reported any more.
        #expect(meter.snapshot(now: now.advanced(by: 6_000_000_000)).bytesPerSecond == 0)
        #expect(
            meter.snapshot(now: now.advanced(by: 6_000_000_000)).remaining == nil)
        // A pause does not count.
        meter.pause()
        now = now.advanced(by: 60_000_000_000)
        run(3, 500)
        #expect(meter.snapshot(now: now).bytesPerSecond == 5_000)
    }

    // The body of a redirect or of a 416 response was subtracted.
    @Test("D9 DR28 only bytes of the file count for the resume offset")
    func resumedAt() throws {
        var meter = ProgressMeter()
        let first = meter.update(
            completed: 500, present: 400, total: 2000, generation: 1, received: 122,
            now: Instant(nanoseconds: 0))
        #expect(try #require(first).resumedAt == 400)
        #expect(try #require(first).wire == 122)
    }

    @Test("D10 an unknown total has no fraction, and a new generation restarts progress")
    func unknown() throws {
        var meter = ProgressMeter()
        let now = Instant(nanoseconds: 0)
        let report = meter.update(
            completed: 5, present: 0, total: nil, generation: 1, received: 5, now: now)
        let first = try #require(report)
        #expect(first.fraction == nil)
        #expect(first.resumedAt == 0)
        let next = meter.update(
            completed: 0, present: 0, total: 0, generation: 2, received: 0, now: now)
        let second = try #require(next)
        #expect(second.generation == 2)
        #expect(second.fraction == 1)
        #expect(second.wire == 5)
    }

    @Test("D9 progress that is too early is reported once, when it is due")
    func owed() throws {
        var meter = ProgressMeter()
        let start = Instant(nanoseconds: 0)
        func update(
            _ completed: Int64, at now: Instant, received: Int64 = 10, generation: UInt32 = 1
        ) -> Progress? {
            meter.update(
                completed: completed, present: 0, total: 2000, generation: generation,
                received: received,
                now: now)
        }
        #expect(!meter.hasReported && meter.owedAt == nil)
        #expect(update(10, at: start) != nil)
        #expect(meter.hasReported && meter.owedAt == nil)
        #expect(update(20, at: start.advanced(by: 1)) == nil)
        #expect(update(30, at: start.advanced(by: 2)) == nil)
        let due = try #require(meter.owedAt)
        #expect(due == start.advanced(by: tenth))
        #expect(update(30, at: start.advanced(by: tenth - 1), received: 0) == nil)
        #expect(update(30, at: due, received: 0)?.completed == 30)
        #expect(meter.owedAt == nil)
        #expect(update(30, at: due.advanced(by: tenth), received: 0) == nil)

        // The file has changed: its new progress is reported at once, and nothing is due.
        #expect(update(40, at: due.advanced(by: 1)) == nil)
        #expect(update(0, at: due.advanced(by: 2), received: 0, generation: 2)?.completed == 0)
        #expect(meter.owedAt == nil)
    }

    // A sample was taken with it, which made the speed too low for five seconds.
    @Test("D9 DR28 progress reported in a pause does not count for the speed")
    func owedInPause() throws {
        var meter = ProgressMeter()
        var now = Instant(nanoseconds: 0)
        func update(_ completed: Int64, received: Int64, isForced: Bool = false) -> Progress? {
            meter.update(
                completed: completed, present: 0, total: 100_000, generation: 1, received: received,
                now: now,
                isForced: isForced)
        }
        #expect(update(100, received: 100) != nil)
        now = now.advanced(by: 1)
        #expect(update(200, received: 100) == nil)
        meter.pause()
        now = now.advanced(by: tenth)
        #expect(update(200, received: 0)?.completed == 200)
        #expect(meter.snapshot(now: now).bytesPerSecond == nil)
        now = now.advanced(by: 4_000_000_000)
        #expect(update(200, received: 0, isForced: true) != nil)
        for step in 1...10 {
            now = now.advanced(by: tenth)
            _ = update(200 + Int64(step) * 500, received: 500)
        }
        #expect(meter.snapshot(now: now).bytesPerSecond == 5_000)
    }

    @Test("D9 reported progress is not reported again")
    func unchanged() {
        var meter = ProgressMeter()
        let start = Instant(nanoseconds: 0)
        func update(_ received: Int64, at now: Instant) -> Progress? {
            meter.update(
                completed: 10, present: 0, total: 20, generation: 1, received: received,
                now: now)
        }
        #expect(update(10, at: start) != nil)
        #expect(update(0, at: start.advanced(by: tenth)) == nil)
        #expect(meter.owedAt == nil)
        // Bytes outside the file count too.
        #expect(update(5, at: start.advanced(by: tenth)) != nil)
    }

    // The last report was sent twice: with the last byte, and at the end.
    @Test("D9 a complete file is reported once, whatever framing follows")
    func completeOnce() {
        var meter = ProgressMeter()
        let start = Instant(nanoseconds: 0)
        func update(_ completed: Int64, at now: Instant) -> Progress? {
            meter.update(
                completed: completed, present: 0, total: 20, generation: 1, received: 10, now: now)
        }
        #expect(update(10, at: start) != nil)
        #expect(!meter.hasTold(20, of: 20, generation: 1))
        #expect(update(20, at: start.advanced(by: tenth)) != nil)
        #expect(meter.hasTold(20, of: 20, generation: 1))
        #expect(update(20, at: start.advanced(by: 2 * tenth)) == nil)
        #expect(meter.owedAt == nil)
    }
}
