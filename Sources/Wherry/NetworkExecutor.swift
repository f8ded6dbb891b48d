// Wherry: tasks that run where the answers come in.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Runs tasks on the network thread of a client, so that an answer changes no thread.
///
/// Many small requests at once cost over a quarter less this way, since their tasks are resumed where
/// the answers arrive, without waking a thread of Swift's pool for them:
///
///     await withTaskExecutorPreference(NetworkExecutor(client)) {
///         await withTaskGroup(of: Void.self) { group in
///             for url in urls { group.addTask { await store(try? await client.get(url)) } }
///         }
///     }
///
/// Nothing that runs here may take long or block: all transfers of the client stand still
/// meanwhile. Await what takes long on the default executor. What would wait for the network
/// thread itself does not: `perform` is refused, `wait` only looks, `close` and the pause of a
/// download return before all is done. While a thread is in `perform`, it turns the network for
/// all, and runs these tasks too.
///
/// The tasks outlive the client: once it is closed, and with a stub, they run on the default
/// executor.
public final class NetworkExecutor: TaskExecutor, TurnListener {
    private struct State {
        var jobs: [UnownedJob] = []
        /// The transport has been asked to run them.
        var isDue = false
    }

    private let state = Lock(State())
    private let transport: any Transport

    /// An executor on the thread of this client.
    public init(_ client: Client) { transport = client.transport }

    /// Called by Swift with each piece of a task; from any thread.
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
        // It lives as long as this call, and each job is run once.
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
