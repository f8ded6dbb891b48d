// Wherry: input and output types of the agent's state machine.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherrySystem

extension AgentMachine {
    /// The current time on both clocks.
    package struct Time: Sendable {
        package var now: Instant
        /// Seconds since 1970.
        package var wall: Double

        package init(now: Instant, wall: Double) {
            self.now = now
            self.wall = wall
        }
    }

    /// Identifies the client that sent a request and receives the reply.
    package typealias Ticket = UInt64

    /// A command that a client sends for one job.
    package enum Verb: String, Sendable, CaseIterable {
        case pause, resume, cancel, acknowledge
    }

    package enum Action: Sendable, Hashable {
        /// Start the job's transfer. Exactly one call of ``ended(_:_:_:)`` follows.
        case begin(JobRecord)
        /// Stop the job's transfer. ``ended(_:_:_:)`` follows.
        case stop(id: String, discarding: Bool)
        /// Save the record durably.
        case save(JobRecord)
        /// Delete the partial files of an unfinished download.
        case discard(JobRecord)
        /// Delete the record and the body.
        case remove(id: String)
        /// Send the job's state to all followers.
        case tell(BackgroundJob)
        /// Report to all followers that the job no longer exists.
        case forget(id: String)
        /// Reply to a request: success, or the reason for a failure.
        case answer(Ticket, JobFailure?)
        /// Write a line to the log.
        case note(String)
    }

    /// The result of a transfer.
    package struct Ending: Sendable, Hashable {
        package var error: JobFailure?
        package var isCancelled = false
        package var path: String?
        package var digests: [String: String] = [:]
        package var answer: JobResponse?
        /// Whether the server sent response headers, and the agent died before it received the rest
        /// of the response.
        package var lacksBody = false

        /// Whether the server asked for a later retry and gave a time.
        var isRetriedLater: Bool {
            error.map { $0.reason == .retryLater && $0.retryAfterMilliseconds >= 0 } ?? false
        }

        /// Whether the job is finished.
        var isLast: Bool { !isCancelled && !isRetriedLater }

        package init() {}
    }
}
