// Wherry: serial job queues on a thread pool.
// SPDX-License-Identifier: Apache-2.0

/// Runs jobs in order on the threads of a pool, one at a time. Jobs may run on different threads,
/// but state that only the jobs use needs no lock.
package final class SerialQueue: Sendable {
    private struct State {
        /// In submission order; the jobs before `head` have been taken.
        var jobs: [(@Sendable () -> Void)?] = []
        var head = 0
        var isRunning = false
    }
    private let state = Lock(State())
    private let pool: WorkerPool

    package init(on pool: WorkerPool) { self.pool = pool }

    /// Queues a job. May be called from a job.
    package func submit(_ job: @escaping @Sendable () -> Void) {
        let mustStart = state.withLock { state -> Bool in
            state.jobs.append(job)
            guard !state.isRunning else { return false }
            state.isRunning = true
            return true
        }
        if mustStart { pool.submit { [self] in run() } }
    }

    /// Runs a job on the calling thread if no job is queued or running and `mayRunHere` returns
    /// `true`; otherwise queues it. `mayRunHere` may use the state of the jobs.
    package func submit(
        _ job: @escaping @Sendable () -> Void, orRunHereIf mayRunHere: () -> Bool
    ) {
        let isFree = state.withLock { state in
            guard !state.isRunning else { return false }
            state.isRunning = true
            return true
        }
        guard isFree else { return submit(job) }
        let isHere = mayRunHere()
        if isHere { job() }
        let mustGoOn = state.withLock { state in
            if !isHere { state.jobs.insert(job, at: state.head) }
            state.isRunning = state.head < state.jobs.count
            return state.isRunning
        }
        if mustGoOn { pool.submit { [self] in run() } }
    }

    /// Runs a few jobs, then queues itself at the end of the pool, so that other queues get a turn.
    private func run() {
        for _ in 0..<16 {
            guard let job = next() else { return }
            job()
        }
        pool.submit { [self] in run() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard state.head < state.jobs.count else {
                state.jobs.removeAll(keepingCapacity: true)
                state.head = 0
                state.isRunning = false
                return nil
            }
            let job = state.jobs[state.head]
            state.jobs[state.head] = nil
            state.head += 1
            if state.head >= 64 {
                state.jobs.removeFirst(state.head)
                state.head = 0
            }
            return job
        }
    }
}
