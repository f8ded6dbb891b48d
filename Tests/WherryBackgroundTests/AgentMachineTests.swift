// Wherry: the rules of the agent
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryCore
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport
@testable import WherryBackground

/// A machine whose clock the test moves, and its actions.
struct AgentRun {
    var machine: AgentMachine
    var time = AgentMachine.Time(now: Instant(nanoseconds: 1_000), wall: 1_700_000_000)
    private var lastTicket: UInt64 = 0

    init(idle: Int64 = 5_000_000_000) {
        machine = AgentMachine(idle: idle, at: AgentMachine.Time(now: time.now, wall: time.wall))
    }

    mutating func pass(_ seconds: Double) {
        time.now = time.now.advanced(by: Int64(seconds * 1e9))
        time.wall += seconds
    }

    static func record(_ number: Int = 1, url: String = "http://127.0.0.1/a") throws -> JobRecord {
        let settings = try ClientSettings(ClientSettings.Values())
        let request = try JobRequest(
            Request(url), method: "GET", url: try HTTPURL(url), mirrors: [], settings: settings,
            options: settings.options)
        let digits = String(number, radix: 16)
        let id = String(repeating: "0", count: 32 - digits.count) + digits
        let job = BackgroundJob(id: id, kind: .download, url: url, path: "/tmp/\(number)")
        return JobRecord(job: job, request: request)
    }

    mutating func start(_ record: JobRecord) -> [AgentMachine.Action] {
        lastTicket += 1
        return machine.start(record, lastTicket, time)
    }

    mutating func apply(_ verb: AgentMachine.Verb, _ id: String) -> [AgentMachine.Action] {
        lastTicket += 1
        return machine.apply(verb, to: id, lastTicket, time)
    }

    mutating func end(_ id: String, _ error: WherryError? = nil) -> [AgentMachine.Action] {
        var ending = AgentMachine.Ending()
        ending.error = error.map { JobFailure($0) }
        ending.isCancelled = error?.reasonWord == .cancelled
        return machine.ended(id, ending, time)
    }

    func state(_ id: String) -> TransferState? { machine.job(id)?.state }
}

extension [AgentMachine.Action] {
    var begun: [String] {
        compactMap { if case .begin(let record) = $0 { record.job.id } else { nil } }
    }
    var stopped: [Bool] {
        compactMap { if case .stop(_, let discarding) = $0 { discarding } else { nil } }
    }
    var saved: [TransferState] {
        compactMap { if case .save(let record) = $0 { record.job.state } else { nil } }
    }
    /// The reason of each reply, "" for success.
    var answers: [String] {
        compactMap {
            if case .answer(_, let failure) = $0 { failure?.reason.rawValue ?? "" } else { nil }
        }
    }
    var discards: Int { count { if case .discard = $0 { true } else { false } } }
    var removed: [String] { compactMap { if case .remove(let id) = $0 { id } else { nil } } }
}

private let cancelled = WherryError(.cancelled, "")

@Suite struct AgentMachineTests {
    @Test func `a job is saved before its start is confirmed, and then begins`() throws {
        var run = AgentRun()
        let record = try AgentRun.record()

        let actions = run.start(record)

        #expect(actions.saved == [.queued, .running])
        #expect(actions.answers == [""])
        #expect(actions.begun == [record.job.id])
        let save = try #require(actions.firstIndex { if case .save = $0 { true } else { false } })
        let answer = try #require(
            actions.firstIndex { if case .answer = $0 { true } else { false } })
        #expect(save < answer)
    }

    @Test("DC-E07 the same job started twice is one job, another URL for its path is busy")
    func twice() throws {
        var run = AgentRun()
        _ = run.start(try AgentRun.record())

        let same = run.start(try AgentRun.record())
        let other = run.start(try AgentRun.record(url: "http://127.0.0.1/b"))

        #expect(same.answers == [""])
        #expect(same.begun.isEmpty)
        #expect(other.answers == ["busy"])
        #expect(run.machine.jobs.count == 1)
    }

    @Test func `a pause is confirmed when the transfer has ended, and a resume starts it again`()
        throws
    {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())

        let pause = run.apply(.pause, id)
        #expect(pause.stopped == [false])
        #expect(pause.answers.isEmpty)
        let ended = run.end(id, cancelled)
        #expect(ended.answers == [""])
        #expect(run.state(id) == .paused)
        #expect(run.apply(.pause, id).answers == [""])

        #expect(run.apply(.resume, id).begun == [id])
        #expect(run.state(id) == .running)
        #expect(run.apply(.resume, id).answers == [""])
    }

    @Test func `a resume during the pause starts the job afterwards`() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        _ = run.apply(.pause, id)

        #expect(run.apply(.resume, id).answers == [""])
        #expect(run.end(id, cancelled).begun == [id])
    }

    @Test func `a cancel discards the job in any state`() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        #expect(run.apply(.pause, id).stopped == [false])
        #expect(run.apply(.cancel, id).stopped == [true])
        let ended = run.end(id, cancelled)
        #expect(ended.discards == 1)
        #expect(ended.answers == ["", ""])
        #expect(run.state(id) == .cancelled)
        #expect(run.apply(.cancel, id).answers == [""])
        #expect(run.apply(.resume, id).begun.isEmpty)

        _ = run.start(try AgentRun.record())
        _ = run.apply(.pause, id)
        _ = run.end(id, cancelled)
        #expect(run.apply(.cancel, id).discards == 1)
    }

    @Test func `a job that finishes before its cancel stays done`() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        _ = run.apply(.cancel, id)

        let ended = run.end(id)

        #expect(ended.answers == [""])
        #expect(ended.discards == 0)
        #expect(run.state(id) == .done)
    }

    @Test("D14 exactly one client acknowledges an end, and its secrets are removed before")
    func acknowledging() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        #expect(run.apply(.acknowledge, id).answers == ["wrong_state"])

        let ended = run.end(id)
        for action in ended {
            if case .save(let record) = action { #expect(record.request == nil) }
        }
        let first = run.apply(.acknowledge, id)
        #expect(first.removed == [id])
        #expect(first.answers == [""])
        #expect(run.apply(.acknowledge, id).answers == ["not_found"])
    }

    @Test func `jobs of a killed agent continue, and three deaths without progress end them`()
        throws
    {
        var record = try AgentRun.record()
        record.job.state = .running
        for crash in 1...3 {
            var run = AgentRun()
            let actions = run.machine.open([record], autostart: true, run.time)
            guard crash < 3 else {
                #expect(run.state(record.job.id) == .failed)
                #expect(run.machine.job(record.job.id)?.error?.reason == "interrupted")
                return
            }
            #expect(actions.begun == [record.job.id])
            record = try #require(
                actions.compactMap { if case .save(let saved) = $0 { saved } else { nil } }.last)
            #expect(record.crashes == Int64(crash))
        }
    }

    @Test func `deaths with progress between them end no job`() throws {
        var record = try AgentRun.record()
        record.job.state = .running
        for crash in 1...10 {
            record.job.progress.completed = Int64(crash) * 65_536
            var run = AgentRun()
            let actions = run.machine.open([record], autostart: true, run.time)
            #expect(actions.begun == [record.job.id])
            record = try #require(
                actions.compactMap { if case .save(let saved) = $0 { saved } else { nil } }.last)
        }
    }

    @Test func `without autostart a job that was running is interrupted until it is resumed`()
        throws
    {
        var record = try AgentRun.record()
        record.job.state = .running
        var run = AgentRun()

        #expect(run.machine.open([record], autostart: false, run.time).begun.isEmpty)

        #expect(run.state(record.job.id) == .interrupted)
        #expect(run.apply(.resume, record.job.id).begun == [record.job.id])
    }

    @Test func `a deferred job retries at its time, also with another agent`() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())
        let later = WherryError(.retryLater, "").with { $0.retryAfterMilliseconds = 3_600_000 }

        let actions = run.end(id, later)

        #expect(run.state(id) == .waiting)
        #expect(run.machine.job(id)?.retryAt == run.time.wall + 3600)
        #expect(!run.machine.mayLeave(run.time))
        let saved = try #require(
            actions.compactMap { if case .save(let record) = $0 { record } else { nil } }.last)
        run.pass(3599)
        #expect(run.machine.tick(run.time).begun.isEmpty)
        run.pass(1)
        #expect(run.machine.tick(run.time).begun == [id])

        var next = AgentRun()
        next.time.wall = saved.job.changedAt + 1800
        #expect(next.machine.open([saved], autostart: true, next.time).begun.isEmpty)
        next.pass(1801)
        #expect(next.machine.tick(next.time).begun == [id])
    }

    @Test func `eight jobs run at once, the others wait in start order`() throws {
        var run = AgentRun()
        for number in 1...10 {
            run.pass(1)
            _ = run.start(try AgentRun.record(number))
        }
        #expect(run.machine.jobs.map(\.state).suffix(2) == [.queued, .queued])

        let ended = run.end(try AgentRun.record(3).job.id)

        #expect(ended.begun == [try AgentRun.record(9).job.id])
    }

    @Test("DC-E10 an agent without jobs and clients exits after the idle time")
    func leaving() throws {
        var run = AgentRun(idle: 5_000_000_000)
        #expect(!run.machine.mayLeave(run.time))
        let id = try AgentRun.record().job.id
        run.machine.arrived()
        _ = run.start(try AgentRun.record())
        run.machine.left(run.time)
        run.pass(100)
        #expect(!run.machine.mayLeave(run.time))
        #expect(run.machine.deadline == .never)

        _ = run.end(id)
        #expect(run.machine.deadline == run.time.now.advanced(by: 5_000_000_000))
        run.machine.arrived()
        run.pass(5)
        #expect(!run.machine.mayLeave(run.time), "somebody is there")
        run.machine.left(run.time)
        run.pass(2)
        // Each listing restarted the idle time once, and no agent ever exited.
        #expect(run.machine.tick(run.time).isEmpty)
        run.pass(2.9)
        #expect(!run.machine.mayLeave(run.time))
        run.pass(0.1)
        #expect(run.machine.mayLeave(run.time))
    }

    @Test func `an agent asked to exit queues its jobs again and counts no death`() throws {
        var run = AgentRun()
        let id = try AgentRun.record().job.id
        _ = run.start(try AgentRun.record())

        #expect(run.machine.leave(run.time).stopped == [false])
        #expect(!run.machine.mayLeave(run.time))
        let ended = run.end(id, cancelled)
        #expect(run.machine.mayLeave(run.time))

        let saved = try #require(
            ended.compactMap { if case .save(let record) = $0 { record } else { nil } }.last)
        var next = AgentRun()
        #expect(next.machine.open([saved], autostart: true, next.time).begun == [id])
        #expect(saved.crashes == 0)
    }

    @Test func `unacknowledged ends are removed after 7 days, untouched jobs after 30`() throws {
        var done = try AgentRun.record(1)
        done.job.state = .done
        done.request = nil
        var paused = try AgentRun.record(2)
        paused.job.state = .paused
        for (days, left) in [(6.9, 2), (7.1, 1), (29.9, 1), (30.1, 0)] {
            var run = AgentRun()
            done.job.changedAt = run.time.wall - days * 86_400
            paused.job.changedAt = done.job.changedAt
            _ = run.machine.open([done, paused], autostart: true, run.time)
            #expect(run.machine.jobs.count == left, "after \(days) days")
        }
    }
}
