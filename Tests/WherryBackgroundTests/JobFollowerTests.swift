// Wherry: following jobs of an agent that replies little, late, or never
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherryCore
import WherryHTTP
@testable import WherryBackground
@testable import WherrySystem

/// No test waits: each pause is recorded and ends at once.
private final class RestlessClock: Clock {
    private let state = Monitor((now: Int64(0), rests: [Int64]()))

    func now() -> Instant { Instant(nanoseconds: state.withLock { $0.now }) }
    func wallSeconds() -> Double { 1_700_000_000 }
    func observe(_ body: @escaping @Sendable () -> Void) -> ClockObservation? { nil }
    func realDelay(for nanoseconds: Int64) -> Int64? {
        state.update {
            $0.now += nanoseconds
            $0.rests.append(nanoseconds)
        }
        return 0
    }

    /// The first pauses, once there are that many, in milliseconds.
    func rests(_ count: Int) -> [Int64] {
        let rests = state.wait { $0.rests.count >= count ? $0.rests : nil } ?? []
        return rests.prefix(count).map { $0 / 1_000_000 }
    }
}

/// The reports to a follower.
private final class Heard: Sendable {
    private let state = Monitor([String]())

    func hear(_ news: JobNews) -> Bool {
        state.update { words in
            switch news {
            case .job(let job): words.append("\(job.id.suffix(1)) \(job.state)")
            case .gone(let id): words.append("\(id.suffix(1)) gone")
            case .lost(let error): words.append("lost \(error.reason)")
            }
        }
        return true
    }

    func words(_ count: Int) -> [String] {
        state.wait { $0.count >= count ? $0 : nil } ?? []
    }
    var words: [String] { state.withLock { $0 } }
}

@Suite(.timeLimit(.minutes(5))) struct JobFollowerTests {
    private let path = NSTemporaryDirectory() + "wherry-follow-" + UUID().uuidString
    private let folder: StateFolder
    private let nobody = AgentLauncher(path: "/nowhere/wherry-agent", autostart: true, idle: 0)

    init() throws { folder = try StateFolder.open(path) }

    private func clean() { try? FileManager.default.removeItem(atPath: path) }

    private func job(_ number: Int, _ state: TransferState = .running) throws -> BackgroundJob {
        var job = try AgentRun.record(number).job
        job.state = state
        return job
    }

    @Test("D14 messages of the agent are read before anything else is checked")
    func socketFirst() throws {
        defer { clean() }
        let job = try job(1)
        let isSaid = Monitor(false)
        let kept = Monitor([LocalSocket]())
        let agent = try FalseAgent(folder) { socket, _ in
            try? socket.say(.job(job))
            kept.update { $0.append(socket) }
            isSaid.update { $0 = true }
        }
        var link = try AgentLink.opened(folder, asking: .list)
        _ = isSaid.wait { $0 ? true : nil }
        let signal = try EventFD()
        signal.signal()

        guard
            case .reply(.job(let said)) = try link.next(until: .never, interrupt: signal.descriptor)
        else {
            Issue.record("the word was passed over")
            return
        }

        #expect(said.id == job.id)
        guard case .interrupted = try link.next(until: .never, interrupt: signal.descriptor) else {
            Issue.record("the interrupt was passed over")
            return
        }
        agent.leave()
    }

    @Test("D14 a follower of a job started a moment ago is not told that it is missing")
    func newJob() throws {
        defer { clean() }
        let (first, second) = (try job(1), try job(2))
        let requests = Monitor(0)
        let kept = Monitor([LocalSocket]())
        let agent = try FalseAgent(folder) { socket, request in
            guard request == .follow else { return }
            // The second job exists at the second request, and nothing was reported before.
            let number = requests.withLock { $0 }
            try? socket.say(.job(first))
            if number > 0 { try? socket.say(.job(second)) }
            try? socket.say(.ok)
            kept.update { $0.append(socket) }
            requests.update { $0 += 1 }
        }
        let follower = JobFollower(folder, nobody)
        let all = Heard()
        _ = try follower.follow(nil) { all.hear($0) }
        #expect(all.words(1) == ["1 running"])
        _ = requests.wait { $0 > 0 ? true : nil }

        let one = Heard()
        _ = try follower.follow(second.id) { one.hear($0) }

        #expect(one.words(1) == ["2 running"])
        // A missing job is reported, because the agent was asked after the job appeared.
        let gone = Heard()
        _ = try follower.follow(try job(3).id) { gone.hear($0) }
        #expect(gone.words(1) == ["3 gone"])
        follower.close()
        agent.leave()
    }

    @Test("D14 a follower that learns of a job's end, or that it is missing, stops following")
    func endHeard() throws {
        defer { clean() }
        let done = try job(1, .done)
        let kept = Monitor([LocalSocket]())
        let agent = try FalseAgent(folder) { socket, _ in
            try? socket.say(.job(done))
            try? socket.say(.ok)
            kept.update { $0.append(socket) }
        }
        let follower = JobFollower(folder, nobody)
        for (id, said) in [(done.id, "1 done"), (try job(2).id, "2 gone")] {
            let one = Heard()
            let stillFollowed = Lock<Bool?>(nil)
            _ = try follower.follow(id) { news in
                stillFollowed.withLock { $0 = follower.isFollowed(id) }
                return one.hear(news)
            }
            #expect(one.words(1) == [said])
            #expect(stillFollowed.withLock { $0 } == false)
        }
        follower.close()
        agent.leave()
    }

    @Test("D14 a queue that follows one job gets its end although the job is gone by then")
    func goneBeforeHeard() throws {
        defer { clean() }
        let id = try job(1).id
        let queue = EventQueue()
        #expect(JobTeller(id, queue, userData: 7).hear(.gone(id: id)))
        let event = try #require(try queue.next(timeout: 0))
        guard case .done(let outcome)? = event.event else {
            Issue.record("the end was not told")
            return
        }
        #expect(outcome.error?.reason == "not_found")
        #expect(event.userData == 7)
        // A follower of all jobs misses only reports that it already has.
        #expect(JobTeller(nil, queue, userData: 7).hear(.gone(id: id)))
        #expect(queue.count == 0)
        // A follower also gets a report if the agent cannot be reached from the start.
        #expect(JobTeller(id, queue, userData: 7).hear(.lost(WherryError(.noAgent, "none"))))
        guard case .state(.interrupted, let reason)? = try queue.next(timeout: 0)?.event else {
            Issue.record("nothing was said")
            return
        }
        #expect(reason == .noAgent)
    }

    @Test("D14 a freed queue does not keep the agent alive")
    func freedQueue() throws {
        defer { clean() }
        let followers = Monitor([LocalSocket]())
        let agent = try FalseAgent(folder) { socket, request in
            try? socket.say(.ok)
            if request == .follow { followers.update { $0.append(socket) } }
        }
        var configuration = Client.Configuration()
        configuration.values.texts[.stateDirectory] = path
        let session = try BackgroundSession("tests", configuration)
        let queue = EventQueue()
        try session.follow(nil, queue: queue, userData: 1)
        let socket = try #require(followers.wait { $0.first })

        queue.close()

        // The agent notices that its follower is gone.
        var items = [Poll.Item(socket.descriptor)]
        Poll.wait(&items, nanoseconds: nil)
        var bytes: [UInt8] = []
        #expect(socket.receive(into: &bytes) == .closed)
        // A queue that was freed before does not follow at all.
        #expect(throws: WherryError.self) {
            try session.follow(nil, queue: queue, userData: 1)
        }
        agent.leave()
    }

    @Test("D14 reconnecting to an agent that closes at once backs off to half a minute")
    func backoff() throws {
        defer { clean() }
        let agent = try FalseAgent(folder) { _, _ in }
        let clock = RestlessClock()
        let follower = JobFollower(folder, nobody, clock: clock)
        let heard = Heard()
        _ = try follower.follow(nil) { heard.hear($0) }

        let rests = clock.rests(12)

        #expect(rests == [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000])
        #expect(heard.words.isEmpty)
        follower.close()
        agent.leave()
    }

    @Test("D14 an agent that cannot be started is reported and retried with back-off")
    func lost() throws {
        defer { clean() }
        let clock = RestlessClock()
        let follower = JobFollower(folder, nobody, clock: clock)
        let heard = Heard()
        _ = try follower.follow(nil) { heard.hear($0) }

        #expect(clock.rests(4) == [100, 200, 400, 800])
        #expect(heard.words(1).first == "lost no_agent")
        follower.close()
    }

    @Test func `after a long connection the next one is immediate`() {
        var pauses = JobFollower.Pauses()
        #expect((0..<3).map { _ in pauses.next(after: 0) / 1_000_000 } == [100, 200, 400])
        #expect(pauses.next(after: .milliseconds(1_000)) == 0)
        #expect(pauses.next(after: .milliseconds(999)) == .milliseconds(100))
    }
}
