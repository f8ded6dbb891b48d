// Wherry: async methods of background sessions.
// SPDX-License-Identifier: Apache-2.0

import WherryBackground
import WherryCore

extension BackgroundSession {
    /// Starts a background download; see the synchronous method.
    @discardableResult
    public func download(_ request: Request, to path: String) async throws(WherryError) -> String {
        try await onWorker { session throws(WherryError) in
            try session.download(request, to: path)
        }
    }

    /// Starts a background download of a URL.
    @discardableResult
    public func download(_ url: String, to path: String) async throws(WherryError) -> String {
        try await download(Request(url), to: path)
    }

    /// Starts a background upload; see the synchronous method.
    @discardableResult
    public func upload(_ request: Request) async throws(WherryError) -> String {
        try await onWorker { session throws(WherryError) in try session.upload(request) }
    }

    /// Returns all jobs of the session; see the synchronous method.
    public func jobs() async throws(WherryError) -> [BackgroundJob] {
        try await onWorker { session throws(WherryError) in try session.jobs() }
    }

    /// Returns a job; `nil` if it does not exist or was acknowledged.
    public func job(_ id: String) async throws(WherryError) -> BackgroundJob? {
        try await onWorker { session throws(WherryError) in try session.job(id) }
    }

    /// Pauses a job; see the synchronous method.
    public func pause(_ id: String) async throws(WherryError) {
        try await onWorker { session throws(WherryError) in try session.pause(id) }
    }

    /// Resumes a paused or interrupted job; see the synchronous method.
    public func resume(_ id: String) async throws(WherryError) {
        try await onWorker { session throws(WherryError) in try session.resume(id) }
    }

    /// Cancels a job and deletes its partial file; see the synchronous method.
    public func cancel(_ id: String) async throws(WherryError) {
        try await onWorker { session throws(WherryError) in try session.cancel(id) }
    }

    /// Acknowledges a finished job; see the synchronous method.
    public func acknowledge(_ id: String) async throws(WherryError) {
        try await onWorker { session throws(WherryError) in try session.acknowledge(id) }
    }

    /// Returns the matching jobs; see the synchronous method.
    public func jobs(_ match: TransferMatch) async throws(WherryError) -> [BackgroundJob] {
        try await onWorker { session throws(WherryError) in try session.jobs(match) }
    }

    /// Pauses the jobs that match now. Returns the number of matching jobs that were not finished.
    @discardableResult
    public func pause(_ match: TransferMatch) async throws(WherryError) -> Int {
        try await onWorker { session throws(WherryError) in try session.pause(match) }
    }

    /// Resumes the jobs that match now. Returns the number of matching jobs that were not finished.
    @discardableResult
    public func resume(_ match: TransferMatch) async throws(WherryError) -> Int {
        try await onWorker { session throws(WherryError) in try session.resume(match) }
    }

    /// Cancels the jobs that match now. Returns the number of matching jobs that were not finished.
    @discardableResult
    public func cancel(_ match: TransferMatch) async throws(WherryError) -> Int {
        try await onWorker { session throws(WherryError) in try session.cancel(match) }
    }

    /// Acknowledges the finished jobs that match. Returns the number that this call acknowledged.
    @discardableResult
    public func acknowledge(_ match: TransferMatch) async throws(WherryError) -> Int {
        try await onWorker { session throws(WherryError) in try session.acknowledge(match) }
    }

    /// Returns the states of a job, from the current one to its end:
    /// `for try await job in session.follow(id)`.
    public func follow(_ id: String) -> JobSequence { JobSequence(session: self, id: id) }

    /// Returns the states of all jobs, including jobs that start later. The sequence ends when the
    /// reading task ends.
    public func follow() -> JobSequence { JobSequence(session: self, id: nil) }

    /// Waits until a job has finished and returns it, without acknowledging it. Cancelling the
    /// waiting task throws `cancelled` and does not affect the job.
    ///
    /// - Throws: `not_found` if the job does not exist, or another caller acknowledges it first.
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

/// The states of background jobs: each element is a changed job. A slow reader receives only the
/// latest state of each job, but always its final state.
///
/// Fails with `not_found` if the job does not exist or another caller acknowledged it. If the agent
/// is unavailable, fails with the reason why.
public struct JobSequence: AsyncSequence, Sendable {
    public typealias Element = BackgroundJob
    public typealias Failure = WherryError

    let session: BackgroundSession
    let id: String?

    /// Creates an independent reader.
    public func makeAsyncIterator() -> Iterator { Iterator(session: session, id: id) }

    /// Iterates over the changes.
    public struct Iterator: AsyncIteratorProtocol {
        private let news: JobReader

        init(session: BackgroundSession, id: String?) { news = JobReader(session, id) }

        /// Returns the next change; `nil` after the end of the followed job, and once the task is
        /// cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(WherryError) -> BackgroundJob? {
            try await news.next()
        }
    }
}

/// The changes that one reader has not read yet.
private final class JobReader: Sendable {
    private struct State: Sendable {
        var isFollowing = false
        var key: UInt64?
        /// In the order of their changes.
        var order: [String] = []
        var jobs: [String: BackgroundJob] = [:]
        /// The end of the sequence, delivered after the remaining changes.
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
                        "The job \(gone) finished, and another program acknowledged it"))
            case .lost(let error): state.end = .failure(error)
            }
            return state.end == nil
        }
    }
}
