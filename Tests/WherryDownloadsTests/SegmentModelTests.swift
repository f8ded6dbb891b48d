// Wherry: several connections against a server with any behavior, in any order
// SPDX-License-Identifier: Apache-2.0

import Testing
@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

/// Acts as the network: responds to requests, breaks them off, and changes the file, and tracks the
/// file version of each byte on disk.
private struct Chaos {
    struct Request {
        var range: AskedRange?
        /// The bytes still to come; `nil` before the headers.
        var rest: Range<Int64>?
        var version = 0
    }

    static let total: Int64 = 24 << 20
    var machine: DownloadMachine
    var random: SplitMix
    var requests: [Int: Request] = [:]
    var version = 1
    var disk: [Int: ByteRanges] = [:]
    var isOver = false
    var published = false
    var most = 0
    var now = Instant(nanoseconds: 0)

    init(seed: Int, segments: Int) {
        random = SplitMix(state: UInt64(seed) &* 977)
        var policy = DownloadPolicy()
        policy.segments = segments
        machine = DownloadMachine(
            policy: policy, identity: DownloadIdentity(url: MachineRun.url), seed: UInt64(seed))
    }

    mutating func chance(_ one: UInt64) -> Bool { random.next() % one == 0 }

    mutating func take(_ actions: [DownloadAction]) {
        for action in actions {
            switch action {
            case .send(let request), .sendSegment(let request):
                requests[request.attempt] = Request(range: request.range)
            case .stop: requests = [:]
            case .stopSegment(let attempt): requests[attempt] = nil
            case .begin: disk = [:]
            case .checkpoint: take(machine.checkpointed())
            case .wait: take(machine.retryDue())
            case .publish(let length):
                published = true
                #expect(length == Self.total)
                take(machine.published("/a.bin"))
            case .release: take(machine.released(partialPath: nil))
            case .finish: isOver = true
            default: break
            }
        }
        most = max(most, requests.count)
    }

    mutating func step() {
        now = now.advanced(by: Int64(random.next() % 300_000_000))
        if chance(400) { return pauseAndResume() }
        if chance(150), machine.currentGeneration < 3 { version += 1 }
        guard let attempt = requests.keys.sorted().randomElement(&random),
            var request = requests[attempt]
        else { return }
        guard let rest = request.rest else { return head(attempt, request) }
        if chance(60) {
            requests[attempt] = nil
            return take(
                chance(2)
                    ? machine.ended(attempt: attempt)
                    : machine.failed(DownloadError(.connectionReset, "gone"), attempt: attempt))
        }
        let count = min(Int64(rest.count), Int64(random.next() % 400_000))
        let placement = machine.received(Int(count), attempt: attempt, now: now)
        let start = rest.lowerBound + Int64(placement.skip)
        if placement.count > 0 {
            #expect(placement.offset == start, "bytes go where they belong")
            let range = start..<start + Int64(placement.count)
            for other in disk.keys {
                #expect(disk[other]?.overlaps(range) == false, "no byte is written twice")
            }
            disk[request.version, default: ByteRanges()].insert(range)
        }
        request.rest = rest.lowerBound + count..<rest.upperBound
        requests[attempt] = request
        take(placement.actions)
        guard requests[attempt] != nil else { return }
        if request.rest?.isEmpty == true {
            requests[attempt] = nil
            take(machine.ended(attempt: attempt))
        } else if machine.body(of: attempt)?.isWhole == true {
            requests[attempt] = nil
            take(machine.failed(DownloadError(.cancelled, "enough"), attempt: attempt))
        }
    }

    private mutating func pauseAndResume() {
        take(machine.pause())
        take(machine.resume())
    }

    private mutating func head(_ attempt: Int, _ request: Request) {
        var request = request
        if chance(12) {
            requests[attempt] = nil
            let status = [503, 429, 500, 403, 404].randomElement(&random) ?? 503
            // Only further connections are refused permanently: this test is about several.
            guard attempt != machine.attempt || status >= 500 else {
                return take(
                    machine.failed(DownloadError(.connect, "refused"), attempt: attempt))
            }
            return answer(attempt, DownloadHead(status: status, fields: [], at: 0))
        }
        var fields = [(name: "ETag", value: "\"v\(version)\"")]
        request.version = version
        let isSame = request.range?.validator == .entityTag("\"v\(version)\"")
        if let range = request.range, isSame, range.first < Self.total {
            var end = range.end ?? Self.total
            var start = range.first
            if chance(20) { end = start + max(1, (end - start) / 3) }
            if chance(20) { start = max(0, start - 70_000) }
            fields.append((name: "Content-Length", value: "\(end - start)"))
            fields.append((name: "Content-Range", value: "bytes \(start)-\(end - 1)/\(Self.total)"))
            request.rest = start..<end
            requests[attempt] = request
            answer(attempt, DownloadHead(status: 206, fields: fields, at: 0))
        } else {
            fields.append((name: "Content-Length", value: "\(Self.total)"))
            request.rest = 0..<Self.total
            requests[attempt] = request
            answer(attempt, DownloadHead(status: 200, fields: fields, at: 0))
        }
    }

    private mutating func answer(_ attempt: Int, _ head: DownloadHead) {
        take(machine.head(head, attempt: attempt, now: now))
    }
}

@Suite("Several connections against a server with any behavior") struct SegmentModelTests {
    @Test("D23 every order of events ends in a file of one version", arguments: 0..<300)
    func model(_ seed: Int) {
        let segments = [0, 2, 3, 4, 8, 16][seed % 6]
        var chaos = Chaos(seed: seed, segments: segments)
        chaos.take(chaos.machine.start(nil))
        var steps = 0
        while !chaos.isOver, steps < 20_000 {
            steps += 1
            chaos.step()
        }
        #expect(chaos.isOver, "it goes on for ever")
        #expect(chaos.most <= (segments == 0 ? 5 : segments))
        guard chaos.published else { return }
        let versions = chaos.disk.filter { !$0.value.isEmpty }
        #expect(versions.count == 1)
        #expect(versions.first?.value.contains(0..<Chaos.total) == true)
    }
}

extension ByteRanges {
    fileprivate func overlaps(_ range: Range<Int64>) -> Bool {
        ranges.contains { $0.overlaps(range) }
    }
}

extension Array {
    fileprivate func randomElement(_ random: inout SplitMix) -> Element? {
        isEmpty ? nil : self[Int(random.next() % UInt64(count))]
    }
}
