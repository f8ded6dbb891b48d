// Wherry: hooks about several connections for one file
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

private let mib: Int64 = 1 << 20

/// A machine and its open requests.
private struct Lanes {
    static let total = 8 * mib
    var machine: DownloadMachine
    /// The range of each request in flight; `nil` for the complete file.
    var out: [Int: AskedRange?] = [:]
    var log: [DownloadAction] = []
    var now = Instant(nanoseconds: 0)

    init(_ segments: Int = 4, _ change: (inout DownloadPolicy) -> Void = { _ in }) {
        var policy = DownloadPolicy()
        policy.segments = segments
        change(&policy)
        machine = DownloadMachine(
            policy: policy, identity: DownloadIdentity(url: MachineRun.url), seed: 42)
        take(machine.start(nil))
    }

    mutating func take(_ actions: [DownloadAction]) {
        log += actions
        for action in actions {
            switch action {
            case .send(let request), .sendSegment(let request): out[request.attempt] = request.range
            case .stopSegment(let attempt): out[attempt] = nil
            case .stop: out = [:]
            default: break
            }
        }
    }

    var ranges: [String] {
        out.values.compactMap { $0?.fieldValue }.sorted {
            $0.count == $1.count ? $0 < $1 : $0.count < $1.count
        }
    }
    /// The attempt whose request begins there.
    func attempt(at start: Int64) -> Int {
        out.first { ($0.value?.first ?? 0) == start }?.key ?? -1
    }

    mutating func whole(_ fields: [(String, String)] = []) {
        let fields = [("Content-Length", "\(Self.total)"), ("ETag", "\"v1\"")] + fields
        let head = DownloadHead(
            status: 200, fields: fields.map { (name: $0.0, value: $0.1) }, at: 0)
        take(machine.head(head, attempt: attempt(at: 0), now: now))
    }

    mutating func head(_ attempt: Int, _ status: Int = 206, from: Int64? = nil, tag: String = "v1")
    {
        guard let asked = out[attempt] ?? nil else { return }
        let start = from ?? asked.first
        let end = asked.end ?? Self.total
        var fields = [(name: "ETag", value: "\"\(tag)\"")]
        if status == 206 {
            fields.append((name: "Content-Length", value: "\(end - start)"))
            fields.append(
                (name: "Content-Range", value: "bytes \(start)-\(end - 1)/\(Self.total)"))
        } else if status == 200 {
            fields.append((name: "Content-Length", value: "\(Self.total)"))
        }
        take(
            machine.head(
                DownloadHead(status: status, fields: fields, at: 0), attempt: attempt, now: now))
    }

    @discardableResult
    mutating func bytes(_ count: Int64, _ attempt: Int) -> Placement {
        let placement = machine.received(Int(count), attempt: attempt, now: now)
        take(placement.actions)
        return placement
    }

    mutating func end(_ attempt: Int) {
        out[attempt] = nil
        take(machine.ended(attempt: attempt))
    }

    mutating func drop(_ attempt: Int, _ reason: ErrorReason = .connectionReset) {
        out[attempt] = nil
        take(machine.failed(DownloadError(reason, "dropped"), attempt: attempt))
    }
}

@Suite("Several connections for one file") struct DownloadSegmentsTests {
    @Test("DC-D01 several connections open with the first response, each for its share")
    func four() {
        var lanes = Lanes()
        #expect(lanes.out.count == 1)
        lanes.whole()
        #expect(
            lanes.ranges == [
                "bytes=2097152-4194303", "bytes=4194304-6291455", "bytes=6291456-8388607",
            ])
        for start in [2, 4, 6] { lanes.head(lanes.attempt(at: Int64(start) * mib)) }
        // The first request stays: it ends at the start of the next.
        let first = lanes.attempt(at: 0)
        let taken = lanes.bytes(2 * mib + 1000, first)
        #expect(taken.count == 2 * Int(mib))
        let others = [6, 2, 4].map { lanes.attempt(at: $0 * mib) }
        for attempt in others { lanes.bytes(2 * mib, attempt) }
        for attempt in others { lanes.end(attempt) }
        #expect(lanes.machine.visibleState == .running)
        lanes.end(first)
        #expect(lanes.log.contains(.publish(length: 8 * mib)))
    }

    @Test(
        "DR13 DR2 no ranges without a strong validator, a length, or range support",
        arguments: ["length", "tag", "ranges", "one"])
    func indivisible(_ what: String) {
        var lanes = Lanes(what == "one" ? 1 : 4)
        let fields: [(name: String, value: String)] = [
            what == "length" ? ("X", "") : ("Content-Length", "\(Lanes.total)"),
            ("ETag", what == "tag" ? "W/\"v1\"" : "\"v1\""),
            what == "ranges" ? ("Accept-Ranges", "none") : ("Accept-Ranges", "bytes"),
        ]
        let head = DownloadHead(status: 200, fields: fields, at: 0)
        lanes.take(lanes.machine.head(head, attempt: lanes.attempt(at: 0), now: lanes.now))
        #expect(lanes.out.count == 1)
    }

    @Test("DC-D02 a response with the complete file leaves one connection, which downloads it all")
    func wholeOnly() {
        var lanes = Lanes()
        lanes.whole()
        let first = lanes.attempt(at: 0)
        for start in [2, 4, 6] { lanes.head(lanes.attempt(at: Int64(start) * mib), 200) }
        #expect(Array(lanes.out.keys) == [first])
        let taken = lanes.bytes(8 * mib, first)
        #expect(taken.count == 8 * Int(mib))
        lanes.end(first)
        #expect(lanes.log.contains(.publish(length: 8 * mib)))
        #expect(lanes.log.restarts.isEmpty)
    }

    @Test("D23 no connection is cut off before another one provides the following bytes")
    func uncertain() {
        var lanes = Lanes(2)
        lanes.whole()
        let first = lanes.attempt(at: 0)
        let second = lanes.attempt(at: 4 * mib)
        let taken = lanes.bytes(5 * mib, first)
        #expect(taken.count == 5 * Int(mib))
        // Bytes that the first one has received are not written again.
        lanes.head(second)
        let rest = lanes.bytes(4 * mib, second)
        #expect(rest.skip == Int(mib))
        #expect(rest.offset == 5 * mib)
        let more = lanes.bytes(mib, first)
        #expect(more.count == 0)
        lanes.end(second)
        lanes.end(first)
        #expect(lanes.log.contains(.publish(length: 8 * mib)))
    }

    @Test("D23 a response that arrives after completion is not read")
    func late() {
        var lanes = Lanes(2)
        lanes.whole()
        let second = lanes.attempt(at: 4 * mib)
        lanes.bytes(8 * mib, lanes.attempt(at: 0))
        lanes.head(second)
        #expect(lanes.log.contains(.stopSegment(second)))
        lanes.end(lanes.attempt(at: 0))
        #expect(lanes.log.contains(.publish(length: 8 * mib)))
    }

    @Test("DC-D03 DR16 a refused connection lowers the number by one, and never fails the file")
    func refused() {
        var lanes = Lanes()
        lanes.whole()
        lanes.head(lanes.attempt(at: 4 * mib), 503)
        lanes.head(lanes.attempt(at: 6 * mib), 503)
        // Its share goes to the previous connection, once that is receiving.
        #expect(lanes.out.count == 2)
        #expect(lanes.machine.growth.limit == 2)
        lanes.drop(lanes.attempt(at: 2 * mib), .connect)
        #expect(lanes.machine.growth.limit == 1)
        #expect(lanes.machine.visibleState == .running)
        let taken = lanes.bytes(8 * mib, lanes.attempt(at: 0))
        #expect(taken.count == 8 * Int(mib))
    }

    @Test(
        "DC-D04 another validator on any connection restarts the file",
        arguments: [206, 200, 412])
    func changed(_ status: Int) {
        var lanes = Lanes()
        lanes.whole()
        lanes.head(lanes.attempt(at: 4 * mib), status, tag: "v2")
        #expect(lanes.log.restarts == [.changed])
        #expect(lanes.log.last?.isSend == true)
        #expect(lanes.out.count == 1)
        #expect(lanes.machine.completed == 0)
        // Servers behind one name that never agree: then one of them provides the complete file.
        lanes.whole()
        #expect(lanes.out.count == 1 && lanes.log.restarts == [.changed])
    }

    @Test("DC-D07 a range for another position is requested again")
    func otherPlace() {
        var lanes = Lanes()
        lanes.whole()
        let wrong = lanes.attempt(at: 4 * mib)
        lanes.head(wrong, from: 5 * mib)
        let taken = lanes.bytes(mib, wrong)
        #expect(taken.count == 0)
        #expect(lanes.log.contains(.stopSegment(wrong)))
        #expect(lanes.log.restarts.isEmpty)
        for start in [2, 6] {
            let attempt = lanes.attempt(at: Int64(start) * mib)
            lanes.head(attempt)
            lanes.bytes(2 * mib, attempt)
            lanes.end(attempt)
        }
        #expect(lanes.out.values.contains { $0?.first == 4 * mib })
    }

    @Test("DC-D08 a connection that drops with progress is replaced")
    func dies() {
        var lanes = Lanes()
        lanes.whole()
        let attempt = lanes.attempt(at: 6 * mib)
        lanes.head(attempt)
        lanes.bytes(500_000, attempt)
        lanes.drop(attempt)
        #expect(lanes.machine.growth.limit == 4)
        #expect(lanes.out.values.contains { $0?.first == 6 * mib + 500_000 })
        // And one that drops with almost no progress is not.
        let again = lanes.attempt(at: 6 * mib + 500_000)
        lanes.head(again)
        lanes.bytes(65_535, again)
        lanes.drop(again)
        #expect(lanes.machine.growth.limit == 3)
    }

    @Test("DR16 if the first connection drops, another one takes its place")
    func firstBreaks() {
        var lanes = Lanes()
        lanes.whole()
        let first = lanes.attempt(at: 0)
        for start in [2, 4, 6] { lanes.head(lanes.attempt(at: Int64(start) * mib)) }
        lanes.bytes(mib, first)
        lanes.drop(first)
        #expect(lanes.log.waits.isEmpty)
        #expect(lanes.machine.visibleState == .running)
        #expect(lanes.out.count == 4)
        #expect(lanes.out.values.contains { $0?.fieldValue == "bytes=1048576-2097151" })
    }

    @Test("DR15 the end of the last connection starts the wait for a retry")
    func lastBreaks() {
        var lanes = Lanes()
        lanes.whole()
        for attempt in lanes.out.keys.sorted() { lanes.drop(attempt) }
        #expect(lanes.log.waits.count == 1)
        #expect(lanes.machine.visibleState == .waiting)
    }

    @Test("D23 a finished connection takes half of the largest remaining share")
    func steals() {
        var lanes = Lanes(2)
        lanes.whole()
        let second = lanes.attempt(at: 4 * mib)
        lanes.head(second)
        lanes.bytes(4 * mib, second)
        lanes.end(second)
        #expect(lanes.ranges == ["bytes=2097152-4194303"])
        lanes.head(lanes.attempt(at: 2 * mib))
        let taken = lanes.bytes(4 * mib, lanes.attempt(at: 0))
        #expect(taken.count == 2 * Int(mib))
    }

    @Test("D23 a share too small to split goes to the faster connection if the slower one is slow")
    func endGame() {
        var lanes = Lanes(2)
        lanes.whole()
        let first = lanes.attempt(at: 0)
        let second = lanes.attempt(at: 4 * mib)
        lanes.head(second)
        lanes.bytes(4 * mib - 100_000, first)
        lanes.now = lanes.now.advanced(by: 3_000_000_000)
        lanes.bytes(4 * mib - 100_000, second)
        // 100,000 bytes of each are left, which would take no time.
        lanes.bytes(100_000, second)
        lanes.end(second)
        #expect(Array(lanes.out.keys) == [first])
    }

    @Test("D23 the rest of a slow connection is split repeatedly, then taken over")
    func slowOne() {
        var lanes = Lanes(2)
        lanes.whole()
        let slow = lanes.attempt(at: 4 * mib)
        lanes.head(slow)
        lanes.bytes(10_000, slow)
        var rounds = 0
        while lanes.out[slow] != nil, rounds < 30 {
            rounds += 1
            lanes.now = lanes.now.advanced(by: 1_000_000_000)
            guard let fast = lanes.out.keys.first(where: { $0 != slow }) else { break }
            lanes.head(fast)
            lanes.bytes(8 * mib, fast)
            lanes.end(fast)
        }
        #expect(lanes.log.contains(.stopSegment(slow)))
        let last = lanes.attempt(at: 4 * mib + 10_000)
        lanes.head(last)
        lanes.bytes(8 * mib, last)
        lanes.end(last)
        #expect(lanes.log.contains(.publish(length: 8 * mib)))
    }

    // A complete file waited for the stall timeout if the first connection had been assigned bytes
    // that the last one had received, and was silent.
    @Test("D23 a file is complete with its last byte, without waiting for open requests")
    func silentFirst() {
        var lanes = Lanes(2)
        lanes.whole()
        let first = lanes.attempt(at: 0)
        let second = lanes.attempt(at: 4 * mib)
        lanes.head(second)
        lanes.bytes(4 * mib, first)
        lanes.end(first)
        // It was assigned half of what the second one still has to receive, and sends nothing.
        #expect(lanes.ranges == ["bytes=6291456-", "bytes=4194304-8388607"])
        lanes.bytes(4 * mib, second)
        lanes.end(second)
        #expect(lanes.log.contains(.publish(length: 8 * mib)))
        #expect(lanes.out.isEmpty)
        #expect(lanes.machine.visibleState == .running)
    }

    @Test("D27 D23 a mirror that takes over sends ranges too, bound by its own validator")
    func mirror() {
        let digest = [UInt8](repeating: 7, count: 32)
        var lanes = Lanes(2) { policy in
            policy.mirrors = 1
            policy.retries = 0
            policy.expected = DownloadDigest(
                .sha256, digest, source: .caller)
        }
        lanes.whole()
        let first = lanes.attempt(at: 0)
        lanes.bytes(mib, first)
        lanes.drop(lanes.attempt(at: 4 * mib))
        lanes.drop(first)
        // One connection continues at the mirror, without a condition.
        #expect(lanes.ranges == ["bytes=1048576-"])
        #expect(lanes.out.values.allSatisfy { $0?.validator == nil })
        lanes.head(lanes.attempt(at: mib), tag: "m1")
        #expect(lanes.ranges.count == 2)
        #expect(lanes.out.values.contains { $0?.validator == .entityTag("\"m1\"") })
        // A later run uses the URL itself, so the journal does not contain the mirror's tag.
        #expect(lanes.machine.facts?.validator == nil)
        // And a mirror whose file changes restarts the file.
        let second = lanes.out.first { $0.value?.validator != nil }?.key ?? -1
        lanes.head(second, tag: "m2")
        #expect(lanes.log.restarts == [.changed])
    }

    // One of 40 downloads failed with `busy`: the request of a further connection, which does not
    // wait for a free one, became the only one before the transport refused it.
    @Test(
        "DR16 the last connection waits for a free one although it was requested as a further one")
    func promotedBeforeRefusal() {
        var lanes = Lanes(2)
        lanes.whole()
        let first = lanes.attempt(at: 0)
        let further = lanes.attempt(at: 4 * mib)
        lanes.bytes(4 * mib, first)
        lanes.end(first)
        #expect(lanes.machine.attempt == further)
        lanes.drop(further, .busy)
        #expect(lanes.log.outcome == nil)
        #expect(lanes.ranges == ["bytes=4194304-"])
        let again = lanes.attempt(at: 4 * mib)
        #expect(lanes.machine.place(of: again) == .first)
        lanes.head(again)
        lanes.bytes(4 * mib, again)
        lanes.end(again)
        #expect(lanes.log.contains(.publish(length: 8 * mib)))
    }

    @Test("DC-D06 pausing stops every connection, and resuming requests the missing bytes")
    func pause() {
        var lanes = Lanes()
        lanes.whole()
        for start in [2, 4, 6] { lanes.head(lanes.attempt(at: Int64(start) * mib)) }
        for attempt in lanes.out.keys { lanes.bytes(mib, attempt) }
        lanes.take(lanes.machine.checkpointed())
        lanes.take(lanes.machine.pause())
        #expect(lanes.out.isEmpty)
        lanes.take(lanes.machine.checkpointed())
        #expect(lanes.machine.visibleState == .paused)
        lanes.take(lanes.machine.resume())
        #expect(lanes.ranges == ["bytes=1048576-2097151"])
        lanes.head(lanes.attempt(at: mib))
        #expect(
            lanes.ranges == [
                "bytes=1048576-2097151", "bytes=3145728-4194303", "bytes=5242880-6291455",
                "bytes=7340032-8388607",
            ])
    }

    @Test("DR23 a full disk stops every connection")
    func disk() {
        var lanes = Lanes()
        lanes.whole()
        lanes.take(lanes.machine.diskFailed(DownloadError(.noSpace, "full")))
        #expect(lanes.out.isEmpty)
        #expect(lanes.log.keeps != nil)
    }

    @Test("D23 without a free connection there is a later retry, and no byte is lost")
    func busy() {
        var lanes = Lanes(0)
        lanes.machine.facts = nil
        lanes.whole()
        lanes.bytes(mib / 16, lanes.attempt(at: 0))
        lanes.now = lanes.now.advanced(by: 300_000_000)
        lanes.bytes(mib / 16, lanes.attempt(at: 0))
        #expect(lanes.out.count == 1, "8 MiB are not worth a second connection")
    }
}

extension DownloadAction {
    fileprivate var isSend: Bool { if case .send = self { true } else { false } }
}
