// Wherry: what the head of an answer means for the bytes that are there
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The range a request asked for, and on what condition.
package struct AskedRange: Hashable, Sendable {
    /// The first byte wanted. Equal to the whole's length where everything is there, to learn
    /// whether it is still the whole.
    package var first: Int64
    /// One past the last byte wanted; `nil` for up to the end.
    package var end: Int64?
    /// What If-Range or If-Match carried.
    package var validator: StrongValidator?
    /// Which of the two.
    package var condition = Condition.ifRange

    package enum Condition: Hashable, Sendable {
        /// The piece if the file is still the same, else the whole.
        case ifRange
        /// The piece if the file is still the same, else 412: for servers that answer If-Range
        /// with the whole although they know ranges (DR6). With an entity tag only.
        case ifMatch
    }

    package init(first: Int64, end: Int64?, validator: StrongValidator?) {
        self.first = first
        self.end = end
        self.validator = validator
    }

    /// The value of Range: `bytes=N-` or `bytes=N-M`.
    package var fieldValue: String {
        end.map { "bytes=\(first)-\($0 - 1)" } ?? "bytes=\(first)-"
    }
}

/// The rules by which an answer continues, replaces or ends a partial. No state.
package enum ResumeRules {
    package enum Verdict: Hashable, Sendable {
        /// The body is bytes `start..<end` of the same file (206).
        case piece(start: Int64, end: Int64)
        /// The body is the whole file from byte 0, of this length if it is known (200). The reason
        /// is that of the restart it means, `nil` where no range was asked for.
        case whole(length: Int64?, RestartReason?)
        /// Everything is there already (416, or 200 with the validator of what is there).
        case complete
        /// This answer is of no use: ask again for the whole file.
        case restart(RestartReason)
        /// Not now: ask again for the same, not before the given number of seconds.
        case retry(DownloadError, afterSeconds: Int64?)
        /// Asking again would not help.
        case fail(DownloadError)
    }

    /// Judges an answer (DR5 to DR9, DR11, DR12, DR15).
    ///
    /// - Parameters:
    ///   - asked: `nil` if the whole file was asked for.
    ///   - facts: of the bytes that are there; `nil` if there are none.
    ///   - have: how many bytes there are.
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
                ResponseRules.sentence("GET", head.url, status: head.status)
                    + ", and with the file before: the link may have expired, or the login; what "
                    + "has come is kept for the same link")
            error.status = head.status
            return .fail(error)
        default:
            var error = DownloadError(
                .httpStatus, ResponseRules.sentence("GET", head.url, status: head.status))
            error.status = head.status
            guard isTransient(status: head.status) else { return .fail(error) }
            return .retry(error, afterSeconds: retryAfter(head))
        }
    }

    /// 408, 429, 500, 502, 503 and 504: the statuses that pass (DR15).
    package static func isTransient(status: Int) -> Bool {
        [408, 429, 500, 502, 503, 504].contains(status)
    }

    /// Seconds until the server wants to be asked again. A date counts from the answer's own Date,
    /// so that the two clocks need not agree.
    static func retryAfter(_ head: DownloadHead) -> Int64? {
        head.retryAfter.flatMap { RetryAfter.seconds($0, now: head.dateSeconds ?? head.receivedAt) }
    }

    private static func judgeWhole(
        _ head: DownloadHead, asked: AskedRange?, facts: DownloadFacts?, have: Int64
    ) -> Verdict {
        let length: Int64?
        do throws(DownloadError) { length = try head.bodyLength() } catch { return .fail(error) }
        guard asked != nil else { return .whole(length: length, nil) }
        // Our own validator back with the whole file: the server knows no ranges, or no If-Range.
        let isSame = facts?.validator == nil || StrongValidator.of(head) == facts?.validator
        let isSameLength = length == nil || facts?.total == nil || length == facts?.total
        // Nothing was missing: the same version once more has nothing to add (DR7).
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
                DownloadError(.badProtocol, "The server sent a piece where the whole was asked for")
            )
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
        // A server may ignore If-Range: the piece itself must prove where it comes from.
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

    /// Whether the answer carries the validator. A date is compared as it is written: whether it
    /// is strong was decided when it was stored, and a resumed answer's Date says nothing new.
    private static func isSame(_ validator: StrongValidator, _ head: DownloadHead) -> Bool {
        switch validator {
        case .entityTag(let tag): head.entityTags == [tag]
        case .lastModified(let date): head.entityTags.isEmpty && head.lastModified == date
        }
    }

    private static func judgeBeyondEnd(
        _ head: DownloadHead, facts: DownloadFacts?, have: Int64
    ) -> Verdict {
        // The validator may be missing: what is there is whole and of one version in any case.
        guard let text = head.contentRange,
            case .unsatisfied(let total)? = ContentRange(text),
            total == have, facts?.total == nil || facts?.total == have,
            head.entityTags.isEmpty || facts?.validator.map({ isSame($0, head) }) == true
        else { return .restart(.rangeNotSatisfiable) }
        return .complete
    }

    /// Whether what an earlier run left can be gone on with (DR1, DR4).
    ///
    /// - Returns: `nil` if it can.
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
