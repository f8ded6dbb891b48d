// Wherry: a bounded pool of threads for blocking or CPU-intensive work.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A thread pool for disk access, digests and images. Starts threads on demand, up to the number of
/// cores and at least two. Jobs start in submission order.
package final class WorkerPool: Sendable {
    private struct State {
        /// The queued jobs. An entry becomes `nil` when a thread takes the job, so that a finished
        /// job releases what it captured.
        var jobs: [(@Sendable () -> Void)?] = []
        var head = 0
        var threads: [NativeThread] = []
        var idle = 0
        var closed = false
    }
    private let state = Monitor(State())
    private let limit: Int
    private let forkGeneration = ForkGuard.current

    package init(limit: Int = max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))) {
        self.limit = max(1, limit)
    }

    /// Queues a job. Runs it on the calling thread if no thread can be started, and in a forked
    /// child, which has no pool threads.
    package func submit(_ job: @escaping @Sendable () -> Void) {
        guard ForkGuard.current == forkGeneration else { return job() }
        let runHere = state.update { state -> Bool in
            guard !state.closed else { return true }
            state.jobs.append(job)
            if state.jobs.count - state.head > state.idle && state.threads.count < limit {
                let thread = try? NativeThread(name: "wherry-worker") { [self] in work() }
                if let thread {
                    state.threads.append(thread)
                } else if state.threads.isEmpty {
                    state.jobs.removeLast()
                    return true
                }
            }
            return false
        }
        if runHere { job() }
    }

    /// Finishes every queued job and ends the threads. A call from a job does not wait for its own
    /// thread.
    package func close() {
        guard ForkGuard.current == forkGeneration else { return }
        let threads = state.update { state in
            state.closed = true
            let threads = state.threads
            state.threads = []
            return threads
        }
        for thread in threads {
            if thread.isCurrent { thread.detach() } else { thread.join() }
        }
    }

    private func work() {
        while true {
            state.withLock { $0.idle += 1 }
            let job = state.wait { state -> (@Sendable () -> Void)?? in
                if state.head < state.jobs.count {
                    let job = state.jobs[state.head]
                    state.jobs[state.head] = nil
                    state.head += 1
                    if state.head > 64 && state.head * 2 > state.jobs.count {
                        state.jobs.removeFirst(state.head)
                        state.head = 0
                    }
                    state.idle -= 1
                    return .some(job)
                }
                if state.closed {
                    state.idle -= 1
                    return .some(nil)
                }
                return nil
            }
            guard let job, let job else { return }
            job()
        }
    }
}
