// Wherry: hearing of background jobs.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// What somebody who follows jobs hears.
package enum JobNews: Sendable {
    /// How a job stands, when it was asked for and after each change. One in a final state is the
    /// last of that job.
    case job(BackgroundJob)
    /// The job is not there any more: somebody else has acknowledged its end.
    case gone(id: String)
    /// The agent cannot be had just now; it is tried again.
    case lost(WherryError)
}

/// Keeps one connection to the agent for all who follow jobs of a session, on a thread of its own
/// that is there while somebody does.
package final class JobFollower: Sendable {
    /// Hears news on the follower's thread, in order; nothing there may block.
    package typealias Handler = @Sendable (JobNews) -> Bool

    private struct Watcher: Sendable {
        /// `nil` for all jobs.
        var id: String?
        var handler: Handler
        /// Whether anybody hears what it is told.
        var isHeard: @Sendable () -> Bool
        /// Whether the agent was asked after it came, so that a job it does not name is gone.
        var isCovered: Bool
        /// What was told last of each job.
        var told: [String: BackgroundJob] = [:]
    }

    private struct State: Sendable {
        var watchers: [UInt64: Watcher] = [:]
        var lastKey: UInt64 = 0
        /// What the agent said last of each job.
        var known: [String: BackgroundJob] = [:]
        /// Whether the agent has told all there are.
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

    /// Follows one job or all of them.
    ///
    /// - Parameters:
    ///   - id: of a job that is there; `nil` for all, also those that come later.
    ///   - isHeard: false once nobody hears what the handler is told.
    ///   - handler: returns false to hear no more. A job's follower ends by itself with the job.
    /// - Returns: what ``stop(_:)`` takes.
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

    /// Whether somebody of this session follows that job, or all.
    func isFollowed(_ id: String?) -> Bool {
        // Asked without the lock: it is somebody else's to know.
        let found = state.withLock { state in state.watchers.values.filter { $0.id == id } }
        return found.contains { $0.isHeard() }
    }

    /// Ends a following; nothing more is told once what is being told is.
    package func stop(_ key: UInt64) {
        state.withLock { state in
            state.watchers[key] = nil
            state.signal?.signal()
        }
    }

    /// Ends the followings that nobody hears any more.
    func prune() {
        let watchers = state.withLock { $0.watchers }
        for (key, watcher) in watchers where !watcher.isHeard() { stop(key) }
    }

    /// Ends all.
    func close() {
        state.withLock { state in
            state.watchers = [:]
            state.signal?.signal()
        }
    }

    // MARK: The thread

    /// How a connection to the agent ended.
    private enum End {
        /// Somebody has come who has to ask for himself, or nobody is left.
        case again
        /// There was no agent, and one was started.
        case started
        /// The agent is gone.
        case closed
    }

    /// How long it rests before it asks again: 0.1 s, longer each time, at most 30 s. After a
    /// connection that lasted a second not at all.
    struct Pauses {
        private static let first = Int64.milliseconds(100)
        private static let last = Int64.milliseconds(30_000)
        private static let settled = Int64.milliseconds(1_000)
        private var pause = first

        /// - Parameter time: how long the connection lasted, in nanoseconds.
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
                // The one that was started is looked for at once; but not one after the other.
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

    /// Lets so many nanoseconds pass, unless somebody comes or nobody is left.
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

    /// Whether somebody follows; if not, the thread ends.
    private func goesOn() -> Bool {
        state.withLock { state in
            guard state.watchers.isEmpty else { return true }
            state.isRunning = false
            return false
        }
    }

    /// Hears the agent until it is gone or nobody follows.
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

    /// Whether nobody is left, or somebody came after the question whose job is not known here: it
    /// may have been started a moment ago.
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

    /// Tells everybody what they have not heard.
    ///
    /// - Parameter only: the one job of which there is news.
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
            // Whoever hears of the end may follow anew at once.
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
                    // Whoever has heard the end needs not hear that it was claimed.
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
    /// Follows a job to its end, or all jobs; see ``JobFollower/follow(_:isHeard:_:)``.
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

    /// Ends a following.
    package func unfollow(_ key: UInt64) { follower.stop(key) }

    /// Puts what becomes of a job, or of all, into a queue until the queue is closed.
    ///
    /// - Throws: `already_running` for what is followed by this session already; `not_found` if
    ///   there is no such job.
    package func follow(_ id: String?, queue: EventQueue, userData: UInt) throws(WherryError) {
        guard !queue.isClosed else { throw EventQueue.closedError }
        guard !follower.isFollowed(id) else {
            throw WherryError(.alreadyRunning, "This session follows that already")
        }
        let teller = JobTeller(id, queue, userData: userData)
        _ = try follow(id, isHeard: { !queue.isClosed }) { teller.hear($0) }
        queue.whenClosed(follower) { [weak follower] in follower?.prune() }
    }

    /// Ends every following of this session.
    package func stopFollowing() { follower.close() }
}
