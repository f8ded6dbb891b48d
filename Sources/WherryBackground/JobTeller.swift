// Wherry: background job notifications as transfer events.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherryCore
import WherryHTTP
import WherrySystem

/// Converts job notifications into events of a completion queue: PROGRESS and STATE for changes,
/// and one DONE for each job, after the PROGRESS of its last bytes.
package final class JobTeller: Sendable {
    private struct Told: Sendable {
        var key: UInt64
        var state = TransferState.queued
        var progress: Progress?
        var isOver = false
    }

    private struct State: Sendable {
        var told: [String: Told] = [:]
        /// Whether the loss of the agent has been reported.
        var isLost = false
    }
    /// The last key of queued progress events. These keys are above those of transfers.
    private static let lastKey = Atomic<UInt64>(1 << 63)
    private let state = Lock(State())
    private let id: String?
    private let queue: EventQueue
    private let userData: UInt

    /// Creates a converter that sends events with the given user data.
    ///
    /// - Parameter id: The followed job, whose end is always reported. `nil` for all jobs.
    package init(_ id: String?, _ queue: EventQueue, userData: UInt) {
        self.id = id
        self.queue = queue
        self.userData = userData
    }

    /// Handles a notification. Returns `false` once the queue is closed.
    package func hear(_ news: JobNews) -> Bool {
        var events: [(TransferEvent, String, UInt64)] = []
        state.withLock { state in
            switch news {
            case .job(let job):
                state.isLost = false
                Self.tell(job, &state, &events)
            case .gone(let id):
                let known = state.told.removeValue(forKey: id)
                // When all jobs are followed, report the loss only of jobs that were reported
                // before.
                guard let told = known ?? (id == self.id ? Self.nothing : nil), !told.isOver
                else { break }
                let error = WherryError(
                    .notFound,
                    "The job \(id) finished, and another program acknowledged it"
                )
                events.append((.done(TransferOutcome(error: error)), id, told.key))
            case .lost(let error):
                guard !state.isLost else { break }
                state.isLost = true
                if let id, state.told[id] == nil { state.told[id] = Self.nothing }
                for (id, told) in state.told where !told.isOver {
                    events.append((.state(.interrupted, reason: error.reasonWord), id, told.key))
                    state.told[id]?.state = .interrupted
                }
            }
        }
        for (event, id, key) in events {
            guard queue.tell(event, job: id, key: key, userData: userData) else { return false }
        }
        return true
    }

    private static var nothing: Told {
        Told(key: lastKey.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    private static func tell(
        _ job: BackgroundJob, _ state: inout State,
        _ events: inout [(TransferEvent, String, UInt64)]
    ) {
        let isNew = state.told[job.id] == nil
        var told = state.told[job.id] ?? nothing
        if job.isFinal && told.isOver { return }
        if !job.isFinal && (isNew || told.isOver || told.state != job.state) {
            let reason = job.reason.flatMap(ErrorReason.init)
            events.append((.state(job.state, reason: reason), job.id, told.key))
        }
        if told.progress != job.progress {
            events.append((.progress(job.progress), job.id, told.key))
        }
        if job.isFinal { events.append((.done(job.outcome), job.id, told.key)) }
        told.isOver = job.isFinal
        told.state = job.state
        told.progress = job.progress
        state.told[job.id] = told
    }
}

extension BackgroundJob {
    /// The result of a finished job, as the outcome of a transfer.
    package var outcome: TransferOutcome {
        var outcome = TransferOutcome(
            response: response, error: error.map { error in error.with { $0.response = response } },
            path: state == .done ? path : nil)
        for (name, value) in digests {
            guard let algorithm = DigestAlgorithm(rawValue: name), let bytes = Hex.decode(value)
            else { continue }
            outcome.digests[algorithm] = bytes
        }
        return outcome
    }
}
