// Wherry: commands for several background jobs at once.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension BackgroundSession {
    /// Returns the matching jobs, oldest first, including finished jobs that are not acknowledged.
    ///
    /// - Parameter match: `.url` and `.urls` ignore the query, which jobs do not show.
    ///   `.identifier` and `.id` apply only to transfers of a client.
    /// - Throws: `bad_argument` for a match that does not apply to jobs.
    public func jobs(_ match: TransferMatch) throws(WherryError) -> [BackgroundJob] {
        let matches = try predicate(match)
        return try jobs().filter(matches)
    }

    /// Pauses the jobs that match now. Returns the number of unfinished jobs among them.
    ///
    /// - Throws: The first failure, after the command was tried on every job.
    @discardableResult
    public func pause(_ match: TransferMatch) throws(WherryError) -> Int {
        try apply(.pause, match) { !$0.isFinal }
    }

    /// Resumes the jobs that match now. Returns the number of unfinished jobs among them.
    ///
    /// - Throws: The first failure, after the command was tried on every job.
    @discardableResult
    public func resume(_ match: TransferMatch) throws(WherryError) -> Int {
        try apply(.resume, match) { !$0.isFinal }
    }

    /// Cancels the jobs that match now and deletes their partial files. Returns the number of
    /// unfinished jobs among them.
    ///
    /// - Throws: The first failure, after the command was tried on every job.
    @discardableResult
    public func cancel(_ match: TransferMatch) throws(WherryError) -> Int {
        try apply(.cancel, match) { !$0.isFinal }
    }

    /// Acknowledges the finished jobs that match. Returns the number of jobs that this call
    /// acknowledged.
    ///
    /// - Throws: The first failure, after the command was tried on every job.
    @discardableResult
    public func acknowledge(_ match: TransferMatch) throws(WherryError) -> Int {
        try apply(.acknowledge, match) { $0.isFinal }
    }

    private func apply(
        _ verb: AgentMachine.Verb, _ match: TransferMatch,
        where isMeant: (BackgroundJob) -> Bool
    ) throws(WherryError) -> Int {
        var count = 0
        var failure: WherryError?
        var found = try jobs(match).filter(isMeant)
        // Start with the waiting jobs: otherwise each stopped job would let a waiting one start.
        if verb != .resume { found.reverse() }
        for job in found {
            do throws(WherryError) {
                try ask(.verb(verb, id: job.id))
                count += 1
            } catch {
                // Another program may already have acknowledged the job.
                if error.reasonWord != .notFound, failure == nil { failure = error }
            }
        }
        if let failure { throw failure }
        return count
    }

    private func predicate(
        _ match: TransferMatch
    ) throws(WherryError) -> (BackgroundJob) -> Bool {
        switch match {
        case .all: return { _ in true }
        case .tag(let tag): return { $0.tag == tag }
        case .path(let path):
            let file = PathMatch(path)
            return { $0.path.map(file.contains) == true }
        case .url(let text): return try predicate(.urls([text]))
        case .urls(let texts):
            let wanted = Set(texts.map { Self.shown(address(of: $0)) })
            return { wanted.contains(Self.shown($0.url)) }
        case .identifier, .id:
            throw WherryError(
                .badArgument,
                "Background jobs cannot be selected by an identifier or a transfer id. Use all, a URL, a tag, or a path."
            )
        }
    }

    /// Returns the URL that a job of this session shows for a text.
    private func address(of text: String) -> String {
        let joined = try? RequestPlanner.target(
            text, base: settings.base, options: settings.options)
        return BackgroundJob.shownURL(joined?.text ?? text)
    }

    /// Returns a job's URL without the placeholder for its query.
    private static func shown(_ url: String) -> Substring {
        url.prefix { $0 != "?" && $0 != "#" }
    }
}
