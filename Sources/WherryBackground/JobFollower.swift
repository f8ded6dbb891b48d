// Wherry: notifications about background jobs.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

/// A notification about a job.
package enum JobNews: Sendable {
    /// The state of a job, sent at the start and after each change. A final state is the last
    /// notification of its job.
    case job(BackgroundJob)
    /// The job no longer exists: another program acknowledged it.
    case gone(id: String)
    /// The agent cannot be reached at present. The follower tries again.
    case lost(WherryError)
}

/// Follows jobs of a session for all callers over one connection to the agent. The connection has
/// its own thread, which runs while there is a caller.
package final class JobFollower: Sendable {
    /// Receives notifications in order on the follower's thread. Must not block. Returns `false` to
    /// stop.
    package typealias Handler = @Sendable (JobNews) -> Bool

    private struct Watcher: Sendable {
        /// The job to follow. `nil` for all jobs.
        var id: String?
        var handler: Handler
        /// Whether the handler's receiver still exists.
        var isHeard: @Sendable () -> Bool
        /// Whether the agent was queried after this watcher was added. If so, a job that the agent
        /// does not list is gone.
        var isCovered: Bool
        /// The last notified state of each job.
        var told: [String: BackgroundJob] = [:]
    }

    private struct State: Sendable {
        var watchers: [UInt64: Watcher] = [:]
        var lastKey: UInt64 = 0
        /// The last state of each job that the agent reported.
        var known: [String: BackgroundJob] = [:]
        /// Whether the agent has listed all jobs.
        var isComplete = false
        var isRunning = false
        var signal: EventFD?
    }
    private let state = Lock(State())
    private let folder: StateFolder
    private let launcher: AgentLauncher
    private let clock: any Clock

    init(_ folder: StateFolder, _ launcher: AgentLauncher, clock: any Clock = SystemClock.shared) {
        self.folder = folder
        self.launcher = launcher
        self.clock = clock
    }

    /// Follows one job or all jobs.
    ///
    /// - Parameters:
    ///   - id: The id of an existing job. `nil` for all jobs, including later ones.
    ///   - isHeard: Returns `false` once the handler's receiver no longer exists.
    ///   - handler: Receives the notifications, and returns `false` to stop. Following a single job
    ///     ends with the job.
    /// - Returns: The key for ``stop(_:)``.
    func follow(
        _ id: String?, isHeard: @escaping @Sendable () -> Bool = { true },
        _ handler: @escaping Handler
    ) throws(WherryError) -> UInt64 {
        do {
            let signal = try EventFD()
            return try state.withLock { state throws(SystemError) in
                state.lastKey += 1
                state.watchers[state.lastKey] = Watcher(
                    id: id, handler: handler, isHeard: isHeard, isCovered: id == nil)
                let wanted = state.signal ?? signal
                state.signal = wanted
                if !state.isRunning {
                    state.isRunning = true
                    state.isComplete = false
                    state.known = [:]
                    do throws(SystemError) {
                        try NativeThread(name: "wherry-jobs") { [self] in run(wanted) }.detach()
                    } catch {
                        state.isRunning = false
                        state.watchers[state.lastKey] = nil
                        throw error
                    }
                }
                wanted.signal()
                return state.lastKey
            }
        } catch {
            throw WherryError(error)
        }
    }

    /// Whether this session follows the job, or all jobs for `nil`.
    func isFollowed(_ id: String?) -> Bool {
        // Call `isHeard` without the lock, since it runs code of the caller.
        let found = state.withLock { state in state.watchers.values.filter { $0.id == id } }
        return found.contains { $0.isHeard() }
    }

    /// Stops following. No handler call starts afterwards, though one in progress may still run.
    package func stop(_ key: UInt64) {
        state.withLock { state in
            state.watchers[key] = nil
            state.signal?.signal()
        }
    }

    /// Stops the watchers whose receiver no longer exists.
    func prune() {
        let watchers = state.withLock { $0.watchers }
        for (key, watcher) in watchers where !watcher.isHeard() { stop(key) }
    }

    /// Stops all watchers.
    func close() {
        state.withLock { state in
            state.watchers = [:]
            state.signal?.signal()
        }
    }

    // MARK: The thread

    /// The reason why a connection to the agent ended.
    private enum End {
        /// A new watcher needs its own query, or no watcher is left.
        case again
        /// No agent was running, so one was started.
        case started
        /// The agent closed the connection.
        case closed
    }

    /// The delays before reconnecting: 0.1 s at first, doubling up to 30 s. No delay after a
    /// connection that lasted at least a second.
    struct Pauses {
        private static let first = Int64.milliseconds(100)
        private static let last = Int64.milliseconds(30_000)
        private static let settled = Int64.milliseconds(1_000)
        private var pause = first

        /// - Parameter time: How long the connection lasted, in nanoseconds.
        mutating func next(after time: Int64) -> Int64 {
            guard time < Self.settled else {
                pause = Self.first
                return 0
            }
            defer { pause = min(pause * 2, Self.last) }
            return pause
        }
    }

    private func run(_ signal: EventFD) {
        let observation = clock.observe { signal.signal() }
        defer { withExtendedLifetime(observation) {} }
        var pauses = Pauses()
        var wasStarted = false
        while goesOn() {
            let begin = clock.now()
            do throws(WherryError) {
                let end = try listen(signal)
                // Connect to a newly started agent at once, unless the previous attempt also
                // started one.
                let isNew = end == .started && !wasStarted
                wasStarted = end == .started
                if isNew || end == .again { continue }
            } catch {
                wasStarted = false
                tell { _ in .lost(error) }
            }
            rest(pauses.next(after: clock.now().since(begin)), signal)
        }
    }

    /// Waits for the given number of nanoseconds, unless a watcher is added or none is left.
    private func rest(_ time: Int64, _ signal: EventFD) {
        let end = clock.now().advanced(by: time)
        let newest = state.withLock { $0.lastKey }
        while true {
            let left = end.since(clock.now())
            let isAlone = state.withLock { $0.watchers.isEmpty || $0.lastKey != newest }
            if left <= 0 || isAlone { return }
            var items = [Poll.Item(signal.descriptor)]
            Poll.wait(&items, nanoseconds: clock.realDelay(for: left))
            signal.clear()
        }
    }

    /// Whether any watcher is left. If not, the thread ends.
    private func goesOn() -> Bool {
        state.withLock { state in
            guard state.watchers.isEmpty else { return true }
            state.isRunning = false
            return false
        }
    }

    /// Receives messages from the agent until the agent closes the connection or no watcher is
    /// left.
    private func listen(_ signal: EventFD) throws(WherryError) -> End {
        let now = SystemClock.shared.now()
        guard var link = try AgentLink(folder) else {
            try launcher.start(folder)
            return .started
        }
        state.withLock { state in
            state.isComplete = false
            state.known = [:]
            for key in state.watchers.keys { state.watchers[key]?.isCovered = true }
        }
        guard try link.send(.follow, until: now.advanced(by: .milliseconds(30_000))) else {
            return .closed
        }
        while true {
            switch try link.next(until: .never, interrupt: signal.descriptor) {
            case .interrupted:
                signal.clear()
                deliver()
            case .reply(.job(let job)):
                state.withLock { $0.known[job.id] = job }
                deliver(only: job.id)
            case .reply(.gone(let id)):
                state.withLock { $0.known[id] = nil }
                deliver(only: id)
            case .reply(.ok):
                state.withLock { $0.isComplete = true }
                deliver()
            case .reply(.failed(let failure)): throw failure.error
            case .closed, .timeout: return .closed
            }
            if mustAskAgain { return .again }
        }
    }

    /// Whether to reconnect: no watcher is left, or a new watcher follows a job that is unknown
    /// here because it may have just started.
    private var mustAskAgain: Bool {
        state.withLock { state in
            if state.watchers.isEmpty { return true }
            guard state.isComplete else { return false }
            return state.watchers.values.contains { watcher in
                guard let id = watcher.id, !watcher.isCovered else { return false }
                return state.known[id] == nil
            }
        }
    }

    /// Sends each watcher the changes that it has not received.
    ///
    /// - Parameter only: The id of the only job that changed, if known.
    private func deliver(only: String? = nil) {
        let (watchers, known, isComplete) = state.withLock {
            ($0.watchers, $0.known, $0.isComplete)
        }
        for (key, watcher) in watchers {
            var watcher = watcher
            var goesOn = true
            var ids = Set(watcher.told.keys).union(known.keys)
            if let id = watcher.id { ids = [id] }
            if let only { ids.formIntersection([only]) }
            // Remove the watcher before the last call, so that the handler can immediately follow
            // the job again.
            func tell(_ news: JobNews, isEnd: Bool) {
                let isLast = isEnd && watcher.id != nil
                if isLast { state.withLock { $0.watchers[key] = nil } }
                goesOn = watcher.handler(news) && !isLast
            }
            for id in ids.sorted() where goesOn {
                if let job = known[id] {
                    guard watcher.told[id] != job else { continue }
                    watcher.told[id] = job
                    tell(.job(job), isEnd: job.isFinal)
                } else if isComplete, watcher.isCovered {
                    let wasFinal = watcher.told[id]?.isFinal == true
                    watcher.told[id] = nil
                    // A watcher that received the final state does not need to know about the
                    // acknowledgement.
                    if !wasFinal { tell(.gone(id: id), isEnd: true) }
                }
            }
            let told = watcher.told
            state.withLock { state in
                if goesOn { state.watchers[key]?.told = told } else { state.watchers[key] = nil }
            }
        }
    }

    private func tell(_ news: (Watcher) -> JobNews) {
        for (key, watcher) in state.withLock({ $0.watchers }) where !watcher.handler(news(watcher))
        {
            state.withLock { $0.watchers[key] = nil }
        }
    }
}

extension BackgroundSession {
    /// Follows a job to its end, or all jobs. See ``JobFollower/follow(_:isHeard:_:)``.
    ///
    /// - Throws: `not_found` if there is no such job.
    package func follow(
        _ id: String?, isHeard: @escaping @Sendable () -> Bool = { true },
        _ handler: @escaping JobFollower.Handler
    ) throws(WherryError) -> UInt64 {
        if let id, try job(id) == nil {
            throw Self.noJob(id)
        }
        return try follower.follow(id, isHeard: isHeard, handler)
    }

    /// Stops following.
    package func unfollow(_ key: UInt64) { follower.stop(key) }

    /// Sends the events of a job, or of all jobs, to a queue until the queue is closed.
    ///
    /// - Throws: `already_running` if this session already follows the job. `not_found` if there is
    ///   no such job.
    package func follow(_ id: String?, queue: EventQueue, userData: UInt) throws(WherryError) {
        guard !queue.isClosed else { throw EventQueue.closedError }
        guard !follower.isFollowed(id) else {
            throw WherryError(
                .alreadyRunning,
                id.map { "This session already follows the job \($0.cut(toBytes: 200))" }
                    ?? "This session already follows all jobs")
        }
        let teller = JobTeller(id, queue, userData: userData)
        _ = try follow(id, isHeard: { !queue.isClosed }) { teller.hear($0) }
        queue.whenClosed(follower) { [weak follower] in follower?.prune() }
    }

    /// Stops all followers of this session.
    package func stopFollowing() { follower.close() }
}
