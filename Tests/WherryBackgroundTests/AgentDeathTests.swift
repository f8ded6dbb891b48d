// Wherry: the agent's rules for the jobs of a killed agent
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryCore
import WherryHTTP
import WherrySystem
import WherryTransport
@testable import WherryBackground

@Suite struct AgentDeathTests {
    private func upload() throws -> JobRecord {
        var record = try AgentRun.record()
        record.job = BackgroundJob(
            id: record.job.id, kind: .upload, url: record.job.url, path: nil)
        record.job.state = .running
        return record
    }

    /// The record as it is on disk after these actions.
    private func saved(_ actions: [AgentMachine.Action]) throws -> JobRecord {
        try #require(
            actions.compactMap { if case .save(let record) = $0 { record } else { nil } }.last)
    }

    // MARK: Counted deaths

    // Of eight jobs of one host, two wait for a connection. Three deaths of the agent ended those
    // as interrupted, although they had never run.
    @Test("D14 a job that waits for a connection, a retry, or the network counts no death")
    func waiting() throws {
        for wait in [TransferState.queued, .waiting] {
            var record = try AgentRun.record()
            for _ in 1...10 {
                var run = AgentRun()
                let begun = run.machine.open([record], autostart: true, run.time)
                #expect(begun.begun == [record.job.id])
                #expect(run.state(record.job.id) == .running)
                let waits =
                    wait == .queued
                    ? run.machine.waitsForConnection(record.job.id, true, run.time)
                    : run.machine.shows(record.job.id, wait, reason: "offline", run.time)
                record = try saved(waits)
                #expect(record.job.state == wait)
                #expect(record.crashes == 0)
            }
        }
    }

    @Test("D14 a job that got its connection counts deaths again")
    func atWorkAgain() throws {
        var record = try AgentRun.record()
        for crash in 1...3 {
            var run = AgentRun()
            let begun = run.machine.open([record], autostart: true, run.time)
            guard crash < 3 else { return #expect(run.state(record.job.id) == .failed) }
            _ = begun
            _ = run.machine.waitsForConnection(record.job.id, true, run.time)
            let works = run.machine.waitsForConnection(record.job.id, false, run.time)
            record = try saved(works)
            #expect(record.job.state == .running)
            // Further connections of one transfer change nothing.
            #expect(run.machine.waitsForConnection(record.job.id, false, run.time).isEmpty)
            if crash == 1 { #expect(record.crashes == 0) }
            record.crashes = Int64(crash)
        }
    }

    // MARK: The clock

    // The next agent computed the wait from the wall clock alone, and slept for a year.
    @Test("D14 DR15 a clock set back by a year makes no wait longer")
    func clockSetBack() throws {
        let later = WherryError(.retryLater, "").with { $0.retryAfterMilliseconds = 3_600_000 }
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        let waiting = try saved(run.end(id, later))

        var next = AgentRun()
        next.time.wall = run.time.wall - 31_536_000
        #expect(next.machine.open([waiting], autostart: true, next.time).begun.isEmpty)
        #expect(next.machine.job(id)?.retryAt == next.time.wall + 3_600)
        let kept = try saved(next.machine.tick(next.time))
        next.pass(3_599)
        #expect(next.machine.tick(next.time).begun.isEmpty)
        next.pass(1)
        #expect(next.machine.tick(next.time).begun == [id])

        // The agent after that uses the newly saved time.
        var third = AgentRun()
        third.time.wall = run.time.wall - 31_536_000 + 3_000
        _ = third.machine.open([kept], autostart: true, third.time)
        third.pass(601)
        #expect(third.machine.tick(third.time).begun == [id])
    }

    @Test("D14 the length of a wait survives in the record's file")
    func waitInTheFile() throws {
        var record = try AgentRun.record()
        record.wait = 3_600_000
        record.seal = BodySeal([
            "length": .integer(3), "sha_256": .string(String(repeating: "a", count: 64)),
        ])
        #expect(record.seal != nil)

        #expect(JobRecord.parse(try record.text()) == record)
    }

    // MARK: Ends outside the record

    @Test(
        "U17 an upload's end saved next to its record is its end, and it is not sent again",
        arguments: [true, false])
    func endBesideRecord(autostart: Bool) throws {
        var record = try upload()
        var ending = AgentMachine.Ending()
        var progress = Progress()
        progress.completed = 3
        record.remains = .ending(ending, progress)
        var run = AgentRun()

        let actions = run.machine.open([record], autostart: autostart, run.time)

        #expect(actions.begun.isEmpty)
        #expect(actions.saved == [.done])
        #expect(run.machine.job(record.job.id)?.progress.completed == 3)

        ending.error = JobFailure(WherryError(.httpStatus, "The server refused"))
        record.remains = .ending(ending, progress)
        var other = AgentRun()
        #expect(other.machine.open([record], autostart: autostart, other.time).saved == [.failed])
        #expect(other.machine.job(record.job.id)?.error?.reason == "http_status")
    }

    // MARK: Damaged records

    @Test("D14 an unreadable record is a failed job until it is acknowledged")
    func damagedRecord() throws {
        var job = BackgroundJob(
            id: try AgentRun.record().job.id, kind: .download, url: "", path: nil)
        job.state = .failed
        job.failure = JobFailure(WherryError(.damagedJob, "The record could not be read"))
        var run = AgentRun()

        // Unlike other ends it is kept longer than a week: perhaps it was never seen.
        let opened = run.machine.open([JobRecord(damaged: job)], autostart: true, run.time)

        #expect(opened.saved.isEmpty)
        #expect(opened.removed.isEmpty)
        #expect(run.state(job.id) == .failed)
        #expect(
            BackgroundJob(try #require(run.machine.job(job.id)).json) == run.machine.job(job.id))
        #expect(run.apply(.cancel, job.id).discards == 0)
        #expect(run.apply(.acknowledge, job.id).removed == [job.id])
    }

    @Test("D14 a new download of that file replaces a damaged record")
    func healedRecord() throws {
        let record = try AgentRun.record()
        var job = record.job
        job.state = .failed
        var run = AgentRun()
        _ = run.machine.open([JobRecord(damaged: job)], autostart: true, run.time)

        #expect(run.start(record).begun == [record.job.id])
        // If the new record cannot be written, the file stays as it is.
        let failed = run.machine.startFailed(record.job.id, run.time)
        #expect(failed.saved.isEmpty)
        #expect(run.state(job.id) == .failed)
    }
}
