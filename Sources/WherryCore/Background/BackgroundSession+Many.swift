// Wherry: one verb for many background jobs.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

extension BackgroundSession {
    /// The jobs that match, oldest first; also those that are over and not acknowledged.
    ///
    /// - Parameter match: `.url` and `.urls` ignore the query, which no job shows. `.identifier` and
    ///   `.id` are for transfers of a client.
    /// - Throws: `bad_argument` for a match that jobs do not have.
    public func jobs(_ match: TransferMatch) throws(WherryError) -> [BackgroundJob] {
        let matches = try predicate(match)
        return try jobs().filter(matches)
    }

    /// Pauses the jobs that match now, and returns how many were not over.
    ///
    /// - Throws: the first failure, after the verb was tried for every job.
    @discardableResult
    public func pause(_ match: TransferMatch) throws(WherryError) -> Int {
        try apply(.pause, match) { !$0.isFinal }
    }

    /// Resumes the jobs that match now, and returns how many were not over.
    ///
    /// - Throws: the first failure, after the verb was tried for every job.
    @discardableResult
    public func resume(_ match: TransferMatch) throws(WherryError) -> Int {
        try apply(.resume, match) { !$0.isFinal }
    }

    /// Cancels the jobs that match now and deletes their partial files, and returns how many were
    /// not over.
    ///
    /// - Throws: the first failure, after the verb was tried for every job.
    @discardableResult
    public func cancel(_ match: TransferMatch) throws(WherryError) -> Int {
        try apply(.cancel, match) { !$0.isFinal }
    }

    /// Claims the jobs that match and are over, and returns how many this call has claimed.
    ///
    /// - Throws: the first failure, after the verb was tried for every job.
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
        // Those that wait first: otherwise each job that stops lets another begin.
        if verb != .resume { found.reverse() }
        for job in found {
            do throws(WherryError) {
                try ask(.verb(verb, id: job.id))
                count += 1
            } catch {
                // Another program has acknowledged that job in the meantime.
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
            let absolute = (try? Directory.absolute(path)) ?? path
            return { $0.path == absolute }
        case .url(let text): return try predicate(.urls([text]))
        case .urls(let texts):
            let wanted = Set(texts.map { Self.shown(address(of: $0)) })
            return { wanted.contains(Self.shown($0.url)) }
        case .identifier, .id:
            throw WherryError(
                .badArgument,
                "Background jobs cannot be found by an identifier or a transfer's number. Use all, a URL, a tag, or a path."
            )
        }
    }

    /// A URL as a job of this session would have it.
    private func address(of text: String) -> String {
        let joined = try? RequestPlanner.target(
            text, base: settings.base, options: settings.options)
        return BackgroundJob.shownURL(joined?.text ?? text)
    }

    /// A job's URL without the mark that stands for its query.
    private static func shown(_ url: String) -> Substring {
        url.prefix { $0 != "?" && $0 != "#" }
    }
}
