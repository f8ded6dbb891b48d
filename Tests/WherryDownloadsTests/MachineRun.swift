// Wherry: a download's machine with short names for its events
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

/// A machine under test: passes events in and remembers the attempt in flight.
struct MachineRun {
    static let url = "http://127.0.0.1/a.bin"
    static let strong = ["Content-Length": "1000", "ETag": "\"v1\""] as KeyValuePairs

    var machine: DownloadMachine
    var attempt = 0
    var now = Instant(nanoseconds: 0)

    init(_ change: (inout DownloadPolicy) -> Void = { _ in }) {
        var policy = DownloadPolicy()
        // Several connections have separate tests.
        policy.segments = 1
        change(&policy)
        machine = DownloadMachine(
            policy: policy, identity: DownloadIdentity(url: MachineRun.url), seed: 42)
    }

    /// The partial file of an earlier run: some bytes of 1000, bound to "v1".
    static func record(_ ranges: [Range<Int64>], validator: StrongValidator? = .entityTag("\"v1\""))
        -> JournalRecord
    {
        var record = JournalTests.record(url: url)
        record.facts = DownloadFacts()
        record.facts.total = 1000
        record.facts.validator = validator
        record.ranges = ByteRanges(ranges)
        return record
    }

    private mutating func noting(_ actions: [DownloadAction]) -> [DownloadAction] {
        for case .send(let request) in actions { attempt = request.attempt }
        // States have separate tests.
        return actions.filter { if case .report(.state) = $0 { false } else { true } }
    }

    mutating func start(_ record: JournalRecord? = nil, defect: Journal.Defect? = nil)
        -> [DownloadAction]
    { noting(machine.start(record, defect: defect)) }

    mutating func head(_ status: Int, _ fields: KeyValuePairs<String, String> = [:])
        -> [DownloadAction]
    {
        noting(
            machine.head(answer(status, fields), attempt: attempt, now: now))
    }

    @discardableResult
    mutating func bytes(_ count: Int) -> Placement {
        machine.received(count, attempt: attempt, now: now)
    }

    mutating func end() -> [DownloadAction] { noting(machine.ended(attempt: attempt)) }

    mutating func drop(_ reason: ErrorReason = .connectionReset) -> [DownloadAction] {
        noting(machine.failed(DownloadError(reason, "dropped"), attempt: attempt))
    }

    mutating func due() -> [DownloadAction] { noting(machine.retryDue()) }
    mutating func pause() -> [DownloadAction] { noting(machine.pause()) }
    mutating func resume() -> [DownloadAction] { noting(machine.resume()) }
    mutating func checkpointed() -> [DownloadAction] { noting(machine.checkpointed()) }
    mutating func verified(_ digests: [[UInt8]]?) -> [DownloadAction] {
        noting(machine.verified(digests, of: "/a"))
    }

    /// The request sent last.
    func sent(_ range: AskedRange?) -> DownloadAction {
        .send(DownloadRequest(attempt: attempt, range: range))
    }
}

func range(
    _ first: Int64, _ end: Int64? = nil, _ validator: StrongValidator? = .entityTag("\"v1\"")
)
    -> AskedRange
{ AskedRange(first: first, end: end, validator: validator) }

extension [DownloadAction] {
    var waits: [Int64] {
        compactMap { if case .wait(let delay, _) = $0 { delay } else { nil } }
    }
    var restarts: [RestartReason] {
        compactMap { if case .report(.restarted(let reason, _)) = $0 { reason } else { nil } }
    }
    var begun: (facts: DownloadFacts, isJournaled: Bool)? {
        for case .begin(let facts, let isJournaled) in self { return (facts, isJournaled) }
        return nil
    }
    /// Whether the partial file is released, and kept.
    var keeps: Bool? {
        for case .release(let keeping) in self { return keeping }
        return nil
    }
    var hasSend: Bool { contains { if case .send = $0 { true } else { false } } }
    var outcome: DownloadOutcome? {
        for case .finish(let outcome) in self { return outcome }
        return nil
    }
}
