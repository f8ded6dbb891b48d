// Wherry: machine and partial file together against a server with many faults
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

/// A server whose file changes and whose responses break, all derived from one seed.
private struct FaultyServer {
    var random: SplitMix
    var version = 1
    var kind: Int
    var faults = true

    init(seed: UInt64) {
        random = SplitMix(state: seed)
        kind = Int(random.next() % 5)
    }

    func content(_ version: Int) -> [UInt8] {
        // Kind 1 changes its length too.
        let count = kind == 1 ? 3_000 + version * 17 : 3_000
        var bytes = SplitMix(state: UInt64(version) &* 977)
        return (0..<count).map { _ in UInt8(truncatingIfNeeded: bytes.next()) }
    }

    mutating func chance(_ one: UInt64) -> Bool { faults && random.next() % one == 0 }

    /// The headers and the body of a response, and whether the body ends as its framing says.
    mutating func answer(_ request: DownloadRequest) -> (DownloadHead, [UInt8], isWhole: Bool)? {
        if chance(6) { version += 1 }
        if chance(8) { return nil }
        if chance(9) { return (WherryDownloadsTests.answer(503), [], true) }
        let bytes = content(version)
        let total = bytes.count
        let tag = kind == 2 ? "W/\"\(version)\"" : "\"\(version)\""
        var fields: [(name: String, value: String)] = [("ETag", tag)]
        var status = 200
        var start = 0
        var end = total
        if let range = request.range, kind != 3 {
            // Kind 4 ignores If-Range.
            if kind == 4 || range.validator == .entityTag(tag) {
                guard range.first < Int64(total) else {
                    fields.append(("Content-Range", "bytes */\(total)"))
                    return (DownloadHead(status: 416, fields: fields, at: 0), [], true)
                }
                status = 206
                start = Int(range.first)
                end = Int(min(range.end ?? Int64(total), Int64(total)))
                if chance(4) { start -= min(start, 100) }
                if chance(7) { end = start + max(1, (end - start) / 2) }
                if chance(10) { start = min(start + 10, end - 1) }
                fields.append(("Content-Range", "bytes \(start)-\(end - 1)/\(total)"))
            }
        }
        fields.append(("Content-Length", "\(end - start)"))
        var body = Array(bytes[start..<end])
        let isCut = chance(2)
        if isCut { body.removeLast(Int(random.next() % UInt64(body.count + 1))) }
        return (DownloadHead(status: status, fields: fields, at: 0), body, !isCut)
    }
}

/// Performs the actions of a machine, at once and on this thread.
private struct Driver {
    var machine: DownloadMachine
    let part: PartFile
    var outcome: DownloadOutcome?
    var steps = 0

    /// - Returns: false if the process died.
    mutating func run(_ first: [DownloadAction], _ server: inout FaultyServer) throws -> Bool {
        var queue = first
        while !queue.isEmpty {
            steps += 1
            guard steps < 2_000 else {
                Issue.record("it goes on for ever")
                return true
            }
            let action = queue.removeFirst()
            if server.chance(40) {
                // Power fails. Bytes after the last checkpoint may or may not be there.
                return false
            }
            switch action {
            case .begin(let facts, let isJournaled):
                try part.begin(facts, isJournaled: isJournaled)
            case .adopt(let facts): try part.adopt(facts)
            case .checkpoint:
                try part.checkpoint()
                queue = machine.checkpointed() + queue
            case .verify(let digests, let length):
                queue += machine.verified(
                    try part.verify(digests, length: length), of: "/a")
            case .publish(let length): queue += machine.published(try part.publish(length: length))
            case .release(let keeping):
                queue += machine.released(partialPath: try part.close(keeping: keeping))
            case .wait: queue += machine.retryDue()
            case .finish(let outcome): self.outcome = outcome
            case .send(let request):
                // Events after the send precede its response.
                queue += try exchange(request, &server)
            case .sendSegment, .stopSegment:
                Issue.record("files of this size come over one connection")
            case .stop, .stopWaiting, .stopVerifying, .hold, .unhold, .report: break
            }
        }
        return true
    }

    private mutating func exchange(_ request: DownloadRequest, _ server: inout FaultyServer) throws
        -> [DownloadAction]
    {
        let now = Instant(nanoseconds: Int64(steps) * 400_000_000)
        guard let (head, body, isWhole) = server.answer(request) else {
            return machine.failed(
                DownloadError(.connectionReset, "dropped"), attempt: request.attempt)
        }
        var actions = machine.head(head, attempt: request.attempt, now: now)
        // The disk is first: a new generation begins before its bytes are written.
        while let index = actions.firstIndex(where: { if case .begin = $0 { true } else { false } })
        {
            if case .begin(let facts, let isJournaled) = actions.remove(at: index) {
                try part.begin(facts, isJournaled: isJournaled)
            }
        }
        if actions.hasSend || actions.keeps != nil { return actions }
        var offset = 0
        while offset < body.count {
            let count = min(body.count - offset, 1 + Int(server.random.next() % 700))
            let placement = machine.received(count, attempt: request.attempt, now: now)
            try part.write(Bytes(body[offset..<offset + count]), placement)
            for action in placement.actions where action == .checkpoint {
                try part.checkpoint()
                actions += machine.checkpointed()
            }
            offset += count
        }
        if isWhole { return actions + machine.ended(attempt: request.attempt) }
        return actions
            + machine.failed(DownloadError(.truncated, "cut"), attempt: request.attempt)
    }
}

@Suite("Downloads from a server with many faults") struct DownloadModelTests {
    @Test("DR21 drops, crashes, changes, and false data end in one version of the file, or none")
    func model() throws {
        var finished = 0
        var resumed = 0
        var crashes = 0
        for seed in 0..<400 as Range<UInt64> {
            let folder = try DownloadFolder()
            var server = FaultyServer(seed: seed)
            for turn in 0..<12 {
                server.faults = turn < 11
                let found = try folder.open()
                var policy = DownloadPolicy()
                policy.durability = .none
                if seed % 7 == 0 { policy.retries = 1 }
                var driver = Driver(
                    machine: DownloadMachine(
                        policy: policy, identity: DownloadIdentity(url: MachineRun.url),
                        seed: seed), part: found.part)
                if found.record?.ranges.isEmpty == false { resumed += 1 }
                #expect(found.defect == nil || found.defect == .empty)
                let first = driver.machine.start(found.record, defect: found.defect)
                if try !driver.run(first, &server) {
                    crashes += 1
                    // It may have died after the rename: then the file is complete.
                    guard folder.names.contains("a.bin") else { continue }
                } else {
                    guard case .done? = driver.outcome else { continue }
                }
                finished += 1
                let content = folder.content("a.bin")
                #expect(
                    (1...server.version).contains { server.content($0) == content },
                    "seed \(seed): the file is a mixture")
                #expect(folder.names == ["a.bin"])
                break
            }
        }
        #expect(finished == 400)
        #expect(resumed > 40)
        #expect(crashes > 50)
    }
}
