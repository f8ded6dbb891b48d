// Wherry: rules for resuming and restarting downloads.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// The range and the condition of a request.
package struct AskedRange: Hashable, Sendable {
    /// The first byte to request. The length of the whole file if every byte is there, to check
    /// that it is still complete.
    package var first: Int64
    /// One past the last byte to request; `nil` for the end of the file.
    package var end: Int64?
    /// The validator in If-Range or If-Match.
    package var validator: StrongValidator?
    /// The field that carries the validator.
    package var condition = Condition.ifRange

    package enum Condition: Hashable, Sendable {
        /// The range if the file has not changed, otherwise the whole file.
        case ifRange
        /// The range if the file has not changed, otherwise 412. For servers that support ranges
        /// but ignore If-Range (DR6). Requires an entity tag.
        case ifMatch
    }

    package init(first: Int64, end: Int64?, validator: StrongValidator?) {
        self.first = first
        self.end = end
        self.validator = validator
    }

    /// The value of the Range field: `bytes=N-` or `bytes=N-M`.
    package var fieldValue: String {
        end.map { "bytes=\(first)-\($0 - 1)" } ?? "bytes=\(first)-"
    }
}

/// The rules by which a response continues, replaces or ends a partial file. Stateless.
package enum ResumeRules {
    package enum Verdict: Hashable, Sendable {
        /// The body is bytes `start..<end` of the same file (206).
        case piece(start: Int64, end: Int64)
        /// The body is the whole file from byte 0, with this length if known (200). The reason is
        /// that of the restart, `nil` if no range was requested.
        case whole(length: Int64?, RestartReason?)
        /// Every byte is there already (416, or 200 with the same validator).
        case complete
        /// The response is unusable: request the whole file.
        case restart(RestartReason)
        /// A transient failure: retry the request after at least this number of seconds.
        case retry(DownloadError, afterSeconds: Int64?)
        /// A retry would not help.
        case fail(DownloadError)
    }

    /// Judges a response (DR5 to DR9, DR11, DR12, DR15).
    ///
    /// - Parameters:
    ///   - asked: The requested range; `nil` for the whole file.
    ///   - facts: The facts of the received bytes; `nil` without any.
    ///   - have: The number of received bytes.
    package static func judge(
        _ head: DownloadHead, asked: AskedRange?, facts: DownloadFacts?, have: Int64
    ) -> Verdict {
        switch head.status {
        case 200: return judgeWhole(head, asked: asked, facts: facts, have: have)
        case 206: return judgePiece(head, asked: asked, facts: facts)
        case 416 where asked != nil: return judgeBeyondEnd(head, facts: facts, have: have)
        case 412 where asked != nil: return .restart(.changed)
        case 401 where asked != nil, 403 where asked != nil, 410 where asked != nil:
            var error = DownloadError(
                .expired,
                WherryError.statusMessage("GET", head.url, head.status)
                    + ", but an earlier request succeeded: the link or the login may have expired. "
                    + "The partial file is kept. Renew the link or the login, and start the download again."
            )
            error.status = head.status
            return .fail(error)
        default:
            var error = DownloadError(
                .httpStatus, WherryError.statusMessage("GET", head.url, head.status))
            error.status = head.status
            guard isTransient(status: head.status) else { return .fail(error) }
            return .retry(error, afterSeconds: retryAfter(head))
        }
    }

    /// Returns whether a status is transient: 408, 429, 500, 502, 503 or 504 (DR15).
    package static func isTransient(status: Int) -> Bool {
        [408, 429, 500, 502, 503, 504].contains(status)
    }

    /// Returns the seconds until a retry is allowed. A date is relative to the Date field of the
    /// response, so the two clocks need not agree.
    static func retryAfter(_ head: DownloadHead) -> Int64? {
        head.retryAfter.flatMap { RetryAfter.seconds($0, now: head.dateSeconds ?? head.receivedAt) }
    }

    private static func judgeWhole(
        _ head: DownloadHead, asked: AskedRange?, facts: DownloadFacts?, have: Int64
    ) -> Verdict {
        let length: Int64?
        do throws(DownloadError) { length = try head.bodyLength() } catch { return .fail(error) }
        guard asked != nil else { return .whole(length: length, nil) }
        // The whole file with the same validator: the server does not support ranges or If-Range.
        let isSame = facts?.validator == nil || StrongValidator.of(head) == facts?.validator
        let isSameLength = length == nil || facts?.total == nil || length == facts?.total
        // Nothing was missing, and the same version adds nothing (DR7).
        if let facts, facts.validator != nil, isSame, let total = facts.total, length == total,
            have == total
        {
            return .complete
        }
        return .whole(length: length, isSame && isSameLength ? .rangesUnsupported : .changed)
    }

    private static func judgePiece(
        _ head: DownloadHead, asked: AskedRange?, facts: DownloadFacts?
    ) -> Verdict {
        guard let asked, let facts else {
            return .fail(
                DownloadError(
                    .badProtocol,
                    "The server sent a partial response to a request for the complete file"))
        }
        let length: Int64?
        do throws(DownloadError) { length = try head.bodyLength() } catch { return .fail(error) }
        if head.contentType?.hasPrefix("multipart/byteranges") == true {
            return .restart(.badRange)
        }
        guard let text = head.contentRange,
            case .part(let first, let last, let total)? = ContentRange(text), let total
        else { return .restart(.badRange) }
        if let known = facts.total, known != total { return .restart(.changed) }
        // A server may ignore If-Range, so the response itself must prove which file it belongs to.
        if let validator = facts.validator {
            let tags = head.entityTags.isEmpty && head.lastModified == nil
            if tags { return .restart(.noValidator) }
            if !isSame(validator, head) { return .restart(.changed) }
        }
        if head.contentEncoding != facts.encoding { return .restart(.encoding) }
        if let announced = facts.announced, head.digests.contains(where: announced.contradicts) {
            return .restart(.changed)
        }
        guard first <= asked.first, asked.first <= last, last < total else {
            return .restart(.badRange)
        }
        if let length, length != last - first + 1 { return .restart(.badRange) }
        return .piece(start: first, end: last + 1)
    }

    /// Returns whether the response has the validator. Dates are compared as text: whether a date
    /// is strong was decided when it was stored, and the Date field of a 206 response adds nothing.
    private static func isSame(_ validator: StrongValidator, _ head: DownloadHead) -> Bool {
        switch validator {
        case .entityTag(let tag): head.entityTags == [tag]
        case .lastModified(let date): head.entityTags.isEmpty && head.lastModified == date
        }
    }

    private static func judgeBeyondEnd(
        _ head: DownloadHead, facts: DownloadFacts?, have: Int64
    ) -> Verdict {
        // The validator may be missing, because the received bytes are complete and of one version.
        guard let text = head.contentRange,
            case .unsatisfied(let total)? = ContentRange(text),
            total == have, facts?.total == nil || facts?.total == have,
            head.entityTags.isEmpty || facts?.validator.map({ isSame($0, head) }) == true
        else { return .restart(.rangeNotSatisfiable) }
        return .complete
    }

    /// Returns why the partial file of an earlier run cannot be resumed (DR1, DR4).
    ///
    /// - Returns: The reason; `nil` if it can be resumed.
    package static func obstacle(
        _ record: JournalRecord, identity: DownloadIdentity, policy: DownloadPolicy
    ) -> RestartReason? {
        let isSameURL =
            record.identity.whole == identity.whole || policy.isNewURLForSameFile
            || policy.mayQueryChange && record.identity.withoutQuery == identity.withoutQuery
        guard isSameURL, record.facts.total != nil else { return .changed }
        if let expected = policy.expected,
            record.facts.expected?.contradicts(expected) == true
                || record.facts.announced?.contradicts(expected) == true
        {
            return .changed
        }
        guard record.facts.validator != nil || policy.expected != nil else { return .noValidator }
        return nil
    }
}
