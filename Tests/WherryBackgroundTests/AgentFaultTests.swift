// Wherry: the agent's rules for failures of disks, servers, and agents
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryCore
import WherryHTTP
import WherrySystem
import WherryTransport
@testable import WherryBackground

private let cancelled = WherryError(.cancelled, "")

/// A server that requests a retry in an hour.
private var later: WherryError {
    WherryError(.retryLater, "").with { $0.retryAfterMilliseconds = 3_600_000 }
}

extension AgentRun {
    fileprivate static func upload(_ number: Int = 1) throws -> JobRecord {
        var record = try record(number)
        let id = record.job.id
        record.job = BackgroundJob(id: id, kind: .upload, url: record.job.url, path: nil)
        return record
    }

    /// The record written after this much time.
    fileprivate mutating func tick(after seconds: Double) -> [AgentMachine.Action] {
        pass(seconds)
        return machine.tick(time)
    }
}

@Suite struct AgentFaultTests {
    // MARK: Full disk

    @Test("D14 an end that cannot be written is retried, and the agent stays for it")
    func unsavedEnd() throws {
        var run = AgentRun(idle: 5_000_000_000)
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        #expect(run.end(id).saved == [.done])
        run.machine.saveFailed(id, run.time)

        #expect(run.machine.deadline == run.time.now.advanced(by: 1_000_000_000))
        #expect(run.tick(after: 0.5).saved.isEmpty)
        #expect(run.tick(after: 0.5).saved == [.done])
        run.machine.saveFailed(id, run.time)
        // Twice the idle time without clients: it has not exited.
        #expect(run.tick(after: 1.5).saved.isEmpty)
        #expect(run.tick(after: 0.5).saved == [.done])
        run.machine.saveFailed(id, run.time)
        run.pass(60)
        #expect(!run.machine.mayLeave(run.time))

        #expect(run.machine.tick(run.time).saved == [.done])
        run.machine.saved(id, run.time)
        #expect(run.machine.tick(run.time).saved.isEmpty)
        #expect(!run.machine.mayLeave(run.time))
        run.pass(5)
        #expect(run.machine.mayLeave(run.time))
    }

    @Test("D14 write retries are at most a minute apart, and one wait serves all")
    func backoff() throws {
        var run = AgentRun()
        let ids = try (1...3).map { try AgentRun.record($0).job.id }
        for number in 1...3 { _ = run.start(try AgentRun.record(number)) }
        for id in ids {
            _ = run.end(id)
            run.machine.saveFailed(id, run.time)
        }
        var waits: [Double] = []
        for _ in 0..<9 {
            let wait = Double(run.machine.deadline.since(run.time.now)) / 1e9
            waits.append(wait)
            #expect(run.tick(after: wait).saved.count == 3)
            for id in ids { run.machine.saveFailed(id, run.time) }
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        // An acknowledged job needs no record any more.
        for id in ids { _ = run.apply(.acknowledge, id) }
        #expect(run.machine.unsavedCount == 0)
    }

    @Test("D14 an agent asked to exit retries for 10 s, and then exits")
    func farewell() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        _ = run.end(id)
        run.machine.saveFailed(id, run.time)
        run.pass(0.5)

        _ = run.machine.leave(run.time)

        #expect(run.machine.tick(run.time).saved == [.done])
        run.machine.saveFailed(id, run.time)
        #expect(!run.machine.mayLeave(run.time))
        run.pass(10)
        #expect(run.machine.deadline <= run.time.now)
        #expect(run.machine.mayLeave(run.time))
    }

    @Test("D14 a start that cannot be written keeps the previous record")
    func failedStart() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        _ = run.apply(.pause, id)
        _ = run.end(id, cancelled)
        run.machine.saved(id, run.time)

        _ = run.start(try AgentRun.record())
        let actions = run.machine.startFailed(id, run.time)

        #expect(actions.saved == [.paused])
        #expect(run.state(id) == .paused)
        // And without a previous record there is none, not on disk either.
        let other = try AgentRun.record(2)
        _ = run.start(other)
        #expect(run.machine.startFailed(other.job.id, run.time).removed == [other.job.id])
        #expect(run.machine.job(other.job.id) == nil)
    }

    @Test("U17 the same upload requested twice is sent once, also after its end")
    func sameUpload() throws {
        var run = AgentRun()
        let record = try AgentRun.upload()
        #expect(run.start(record).begun == [record.job.id])
        #expect(run.start(record).answers == [""])
        _ = run.end(record.job.id)

        let again = run.start(record)

        #expect(again.answers == [""])
        #expect(again.begun.isEmpty)
        #expect(run.state(record.job.id) == .done)
    }

    @Test("U17 an upload with an unknown end is not sent again", arguments: [true, false])
    func lostEnd(autostart: Bool) throws {
        var record = try AgentRun.upload()
        record.job.state = .running
        record.remains = .nothing
        var run = AgentRun()

        let actions = run.machine.open([record], autostart: autostart, run.time)

        #expect(actions.begun.isEmpty)
        #expect(actions.saved == [.failed])
        #expect(run.machine.job(record.job.id)?.error?.reason == "interrupted")
    }

    // MARK: Writes at the start

    @Test("D14 an agent that takes over hundreds of jobs writes only those that it starts")
    func manyJobs() throws {
        var records = try (1...300).map { try AgentRun.record($0) }
        for index in records.indices where index % 2 == 0 {
            records[index].job.state = .interrupted
        }
        var run = AgentRun()

        let actions = run.machine.open(records, autostart: true, run.time)

        #expect(actions.saved == Array(repeating: .running, count: AgentMachine.mostActive))
        #expect(run.machine.jobs.count { $0.state == .queued } == 292)
        #expect(run.machine.unsavedCount == 0)
    }

    @Test(
        "D14 without autostart records are written a few at a time, between clients")
    func manyInterrupted() throws {
        let records = try (1...40).map { try AgentRun.record($0) }
        var run = AgentRun()

        #expect(run.machine.open(records, autostart: false, run.time).saved.isEmpty)

        #expect(run.machine.jobs.allSatisfy { $0.state == .interrupted })
        var counts: [Int] = []
        while run.machine.deadline <= run.time.now {
            let actions = run.machine.tick(run.time)
            counts.append(actions.saved.count)
            for case .save(let record) in actions { run.machine.saved(record.job.id, run.time) }
        }
        #expect(counts == [16, 16, 8])
    }

    // MARK: Deferred by the server

    @Test("D14 DR15 a deferred job keeps its time when it is listed without an agent")
    func dueTime() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        let saves = run.end(id, later)
        guard
            case .save(let waiting)? = saves.first(where: {
                if case .save = $0 { true } else { false }
            })
        else {
            Issue.record("nothing was saved")
            return
        }
        let due = try #require(waiting.job.retryAt)
        run.pass(600)

        // Listing without an agent opens the session without autostart.
        var look = AgentRun()
        look.time = run.time
        _ = look.machine.open([waiting], autostart: false, look.time)
        let seen = try #require(look.machine.job(id))
        #expect(seen.state == .interrupted)
        #expect(seen.retryAt == due)

        // Whichever of both the next agent finds on disk.
        for found in [waiting, JobRecord(job: seen, request: try #require(waiting.request))] {
            var next = AgentRun()
            next.time = run.time
            let actions = next.machine.open([found], autostart: true, next.time)
            #expect(actions.begun.isEmpty)
            #expect(next.state(id) == .waiting)
            #expect(next.machine.job(id)?.retryAt == due)
            #expect(next.tick(after: 2_990).begun.isEmpty)
            #expect(next.tick(after: 11).begun == [id])
        }
    }

    @Test("D14 a deferred job is interrupted without a death, and retries at once on resume")
    func dueWithoutAutostart() throws {
        var record = try AgentRun.record()
        record.job.state = .waiting
        record.job.retryAt = 1_700_003_600
        record.crashes = 2
        var run = AgentRun()

        _ = run.machine.open([record], autostart: false, run.time)

        #expect(run.state(record.job.id) == .interrupted)
        #expect(run.apply(.resume, record.job.id).begun == [record.job.id])
    }

    // MARK: Pauses

    @Test("DR27 a pause while the agent exits applies to the next agent too")
    func pauseWhileLeaving() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        _ = run.machine.leave(run.time)

        #expect(run.apply(.pause, id).answers.isEmpty)
        let ended = run.end(id, cancelled)

        #expect(ended.answers == [""])
        #expect(ended.saved == [.paused])
        #expect(run.machine.mayLeave(run.time))
    }

    @Test("DR27 a pause holds although the server deferred the job first")
    func pauseAndLater() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        _ = run.apply(.pause, id)

        let ended = run.end(id, later)

        #expect(ended.answers == [""])
        #expect(ended.saved == [.paused])
        #expect(run.tick(after: 4_000).begun.isEmpty)
        #expect(run.state(id) == .paused)
    }

    @Test("D14 a deferral by the server is recorded while the agent exits")
    func laterWhileLeaving() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        _ = run.machine.leave(run.time)

        #expect(run.end(id, later).saved == [.waiting])

        #expect(run.machine.job(id)?.retryAt == run.time.wall + 3_600)
        #expect(run.machine.mayLeave(run.time))
    }

    @Test("D14 a paused job waits for no time")
    func pausedWaiting() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        _ = run.end(id, later)

        _ = run.apply(.pause, id)

        #expect(run.machine.job(id)?.retryAt == nil)
        #expect(run.tick(after: 4_000).begun.isEmpty)
    }
}
