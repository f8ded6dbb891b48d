// Wherry: a task executor on the network thread.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Runs tasks on the network thread of a client, without a thread switch for each response.
///
/// This reduces the cost of many small concurrent requests by over a quarter, because responses
/// resume their tasks without waking a thread of Swift's pool:
///
///     await withTaskExecutorPreference(NetworkExecutor(client)) {
///         await withTaskGroup(of: Void.self) { group in
///             for url in urls { group.addTask { await store(try? await client.get(url)) } }
///         }
///     }
///
/// Code that runs here must neither take long nor block, because all transfers of the client stop
/// in the meantime. Await long work on the default executor. Calls that would wait for the network
/// thread do not wait here: `perform` throws, `wait` only checks the current state, and `close` and
/// the pause of a download return before they have completed. A thread inside `perform` runs the
/// network loop for all transfers, and also runs these tasks.
///
/// The tasks outlive the client. After it is closed, and with a stub, they run on the default
/// executor.
public final class NetworkExecutor: TaskExecutor, TurnListener {
    private struct State {
        var jobs: [UnownedJob] = []
        /// Whether the transport was asked to run the jobs.
        var isDue = false
    }

    private let state = Lock(State())
    private let transport: any Transport

    /// Creates an executor on the network thread of a client.
    public init(_ client: Client) { transport = client.transport }

    /// Queues a job. Swift calls it on any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFirst = state.withLock { state in
            state.jobs.append(job)
            defer { state.isDue = true }
            return !state.isDue
        }
        if isFirst && !transport.runSoon(self) {
            for job in take() { globalConcurrentExecutor.enqueue(job) }
        }
    }

    package func turnDidEnd() {
        // Valid during this call, and each job runs once.
        let executor = unsafe asUnownedTaskExecutor()
        for job in take() { unsafe job.runSynchronously(on: executor) }
    }

    private func take() -> [UnownedJob] {
        state.withLock { state in
            let jobs = state.jobs
            state.jobs = []
            state.isDue = false
            return jobs
        }
    }
}
