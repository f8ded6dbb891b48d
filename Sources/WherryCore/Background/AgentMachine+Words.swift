// Wherry: what the rules of the agent are told, and what they say.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension AgentMachine {
    /// Now, by both clocks.
    package struct Time: Sendable {
        package var now: Instant
        /// Seconds since 1970.
        package var wall: Double

        package init(now: Instant, wall: Double) {
            self.now = now
            self.wall = wall
        }
    }

    /// Whose question it is; the answer goes there.
    package typealias Ticket = UInt64

    /// What a client may ask for one job.
    package enum Verb: String, Sendable, CaseIterable {
        case pause, resume, cancel, acknowledge
    }

    package enum Action: Sendable, Hashable {
        /// Start its transfer; ``ended(_:_:_:)`` follows once.
        case begin(JobRecord)
        /// End its transfer, which tells of it by ``ended(_:_:_:)``.
        case stop(id: String, discarding: Bool)
        /// Make it durable.
        case save(JobRecord)
        /// Delete what an unfinished download left.
        case discard(JobRecord)
        /// Delete record and body.
        case remove(id: String)
        /// Tell whoever follows.
        case tell(BackgroundJob)
        /// Tell whoever follows that there is no such job any more.
        case forget(id: String)
        /// The answer to a question: the id, or why not.
        case answer(Ticket, JobFailure?)
        /// For the log.
        case note(String)
    }

    /// How a transfer ended.
    package struct Ending: Sendable, Hashable {
        package var error: JobFailure?
        package var isCancelled = false
        package var path: String?
        package var digests: [String: String] = [:]
        package var answer: JobAnswer?
        /// The server has answered, and the agent died before it had the rest of the response.
        package var lacksBody = false

        /// Whether the server wants to be asked later, and has said when.
        var isRetriedLater: Bool {
            error.map { $0.reason == .retryLater && $0.retryAfterMilliseconds >= 0 } ?? false
        }

        /// Whether nothing of the job is left to do.
        var isLast: Bool { !isCancelled && !isRetriedLater }

        package init() {}
    }
}
