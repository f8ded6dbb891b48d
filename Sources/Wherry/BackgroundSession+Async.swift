// Wherry: background sessions without waiting for the disk and the agent.
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import WherryCore

extension BackgroundSession {
    /// Hands a download over; see the form without `await`.
    @discardableResult
    public func download(_ request: Request, to path: String) async throws(WherryError) -> String {
        try await onWorker { session throws(WherryError) in
            try session.download(request, to: path)
        }
    }

    /// Hands a download of a URL over.
    @discardableResult
    public func download(_ url: String, to path: String) async throws(WherryError) -> String {
        try await download(Request(url), to: path)
    }

    /// Hands a download of a URL over.
    @discardableResult
    public func download(_ url: URL, to file: URL) async throws(WherryError) -> String {
        guard file.isFileURL else {
            throw WherryError(
                .badPath, "A download needs a file's URL, not \(file.scheme ?? "none")")
        }
        return try await download(Request(url), to: file.path)
    }

    /// Hands an upload over; see the form without `await`.
    @discardableResult
    public func upload(_ request: Request) async throws(WherryError) -> String {
        try await onWorker { session throws(WherryError) in try session.upload(request) }
    }

    /// Every job of the session; see the form without `await`.
    public func jobs() async throws(WherryError) -> [BackgroundJob] {
        try await onWorker { session throws(WherryError) in try session.jobs() }
    }

    /// One job; `nil` if there is none of that id, or it has been acknowledged.
    public func job(_ id: String) async throws(WherryError) -> BackgroundJob? {
        try await onWorker { session throws(WherryError) in try session.job(id) }
    }

    /// Stops a job until it is resumed; see the form without `await`.
    public func pause(_ id: String) async throws(WherryError) {
        try await onWorker { session throws(WherryError) in try session.pause(id) }
    }

    /// Lets a paused or interrupted job go on; see the form without `await`.
    public func resume(_ id: String) async throws(WherryError) {
        try await onWorker { session throws(WherryError) in try session.resume(id) }
    }

    /// Ends a job and deletes what it had brought; see the form without `await`.
    public func cancel(_ id: String) async throws(WherryError) {
        try await onWorker { session throws(WherryError) in try session.cancel(id) }
    }

    /// Claims a job that is over; see the form without `await`.
    public func acknowledge(_ id: String) async throws(WherryError) {
        try await onWorker { session throws(WherryError) in try session.acknowledge(id) }
    }

    /// The jobs that match; see the form without `await`.
    public func jobs(_ match: TransferMatch) async throws(WherryError) -> [BackgroundJob] {
        try await onWorker { session throws(WherryError) in try session.jobs(match) }
    }

    /// Pauses the jobs that match now, and returns how many were not over.
    @discardableResult
    public func pause(_ match: TransferMatch) async throws(WherryError) -> Int {
        try await onWorker { session throws(WherryError) in try session.pause(match) }
    }

    /// Resumes the jobs that match now, and returns how many were not over.
    @discardableResult
    public func resume(_ match: TransferMatch) async throws(WherryError) -> Int {
        try await onWorker { session throws(WherryError) in try session.resume(match) }
    }

    /// Cancels the jobs that match now, and returns how many were not over.
    @discardableResult
    public func cancel(_ match: TransferMatch) async throws(WherryError) -> Int {
        try await onWorker { session throws(WherryError) in try session.cancel(match) }
    }

    /// Claims the jobs that match and are over, and returns how many this call has claimed.
    @discardableResult
    public func acknowledge(_ match: TransferMatch) async throws(WherryError) -> Int {
        try await onWorker { session throws(WherryError) in try session.acknowledge(match) }
    }

    /// What becomes of a job, from how it stands now to its end: `for try await job in
    /// session.follow(id)`.
    public func follow(_ id: String) -> JobSequence { JobSequence(session: self, id: id) }

    /// What becomes of every job, also of those that come later; ends with its reader's task.
    public func follow() -> JobSequence { JobSequence(session: self, id: nil) }

    /// How a job ended, when it has; the job is not acknowledged by that. Cancelling the task that
    /// waits leaves the job alone and throws `cancelled`.
    ///
    /// - Throws: `not_found` if there is no such job, or somebody else acknowledges it first.
    public func end(of id: String) async throws(WherryError) -> BackgroundJob {
        for try await job in follow(id) where job.isFinal { return job }
        throw WherryError(.cancelled, "The wait for a background job was cancelled")
    }

    private func onWorker<Value: Sendable>(
        _ body: @escaping @Sendable (BackgroundSession) throws(WherryError) -> Value
    ) async throws(WherryError) -> Value {
        let result = await withCheckedContinuation { continuation in
            workers.submit { [self] in
                let result: Result<Value, WherryError>
                do throws(WherryError) {
                    result = .success(try body(self))
                } catch {
                    result = .failure(error)
                }
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }
}

/// Background jobs as they change: each element is how one stands. Whoever reads slowly gets the
/// newest of each job, and every end.
///
/// Fails with `not_found` where there is no such job or somebody else has acknowledged it, and with
/// why the agent cannot be had.
public struct JobSequence: AsyncSequence, Sendable {
    public typealias Element = BackgroundJob
    public typealias Failure = WherryError

    let session: BackgroundSession
    let id: String?

    /// Another reader, independent of the others.
    public func makeAsyncIterator() -> Iterator { Iterator(session: session, id: id) }

    /// Takes the changes in turn.
    public struct Iterator: AsyncIteratorProtocol {
        private let news: JobReader

        init(session: BackgroundSession, id: String?) { news = JobReader(session, id) }

        /// The next change; `nil` after the end of the job that is followed, and once the task is
        /// cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(WherryError) -> BackgroundJob? {
            try await news.next()
        }
    }
}

/// What one reader of jobs has not read yet.
private final class JobReader: Sendable {
    private struct State: Sendable {
        var isFollowing = false
        var key: UInt64?
        /// In the order of their news.
        var order: [String] = []
        var jobs: [String: BackgroundJob] = [:]
        /// What ends it, after the rest was read.
        var end: Result<Void, WherryError>?
    }
    private let monitor = AsyncMonitor(State())
    private let session: BackgroundSession
    private let id: String?

    init(_ session: BackgroundSession, _ id: String?) {
        self.session = session
        self.id = id
    }

    deinit {
        if let key = monitor.withLock({ $0.key }) { session.unfollow(key) }
    }

    func next() async throws(WherryError) -> BackgroundJob? {
        let isFirst = monitor.withLock { state in
            defer { state.isFollowing = true }
            return !state.isFollowing
        }
        if isFirst { await begin() }
        let step = await monitor.wait { state -> Result<BackgroundJob?, WherryError>? in
            if !state.order.isEmpty {
                let first = state.order.removeFirst()
                return .success(state.jobs.removeValue(forKey: first))
            }
            return state.end.map { $0.map { nil } }
        }
        // `nil`: the task was cancelled.
        return try step?.get()
    }

    private func begin() async {
        let monitor = monitor
        let (session, id) = (session, id)
        await withCheckedContinuation { continuation in
            session.workers.submit {
                do throws(WherryError) {
                    let key = try session.follow(id) { news in
                        Self.take(news, of: id, monitor)
                    }
                    monitor.update { $0.key = key }
                } catch {
                    monitor.update { $0.end = .failure(error) }
                }
                continuation.resume()
            }
        }
    }

    private static func take(_ news: JobNews, of id: String?, _ monitor: AsyncMonitor<State>)
        -> Bool
    {
        monitor.update { state in
            switch news {
            case .job(let job):
                if state.jobs.updateValue(job, forKey: job.id) == nil { state.order.append(job.id) }
                if id != nil, job.isFinal { state.end = .success(()) }
            case .gone(let gone):
                guard id != nil else { break }
                state.end = .failure(
                    WherryError(
                        .notFound,
                        "The job \(gone) is over, and another program has acknowledged it"))
            case .lost(let error): state.end = .failure(error)
            }
            return state.end == nil
        }
    }
}

extension Client.Configuration {
    // MARK: Background sessions

    /// Background jobs whose agent died go on as soon as somebody looks. On.
    public var resumesInterruptedJobs: Bool {
        get { values.options[.autostart] == 1 }
        set { values.options[.autostart] = newValue ? 1 : 0 }
    }
    /// How long an agent stays with nothing to do: 5 s.
    public var agentIdleTime: Duration {
        get { .milliseconds(values.options[.agentIdle]) }
        set { values.options[.agentIdle] = newValue.settingMilliseconds }
    }
    /// The path of `wherry-agent`. `nil`, the default, takes that of `$WHERRY_AGENT`, else the one
    /// beside the library or program, else the one in its `libexec/wherry`.
    public var agentPath: String? {
        get { values.texts[.agentPath] }
        set { values.texts[.agentPath] = newValue }
    }
    /// An absolute path of a session's folder. `nil`, the default, takes
    /// `$XDG_STATE_HOME/wherry/<session>`.
    public var stateDirectory: String? {
        get { values.texts[.stateDirectory] }
        set { values.texts[.stateDirectory] = newValue }
    }
}
