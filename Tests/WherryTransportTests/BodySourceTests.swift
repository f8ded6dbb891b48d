// Wherry: request bodies made of segments, and bodies written while they are sent
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

/// Counts the calls of `bodyIsReady`.
final class Carrier: ExchangeCarrier {
    let readiness = Monitor(0)
    func continueReceiving(_ exchange: Exchange) {}
    func decide(_ exchange: Exchange, _ disposition: BodyDisposition) {}
    func reportCollected(_ exchange: Exchange) {}
    func continueSending(_ exchange: Exchange) { readiness.update { $0 += 1 } }

    /// Waits for the next call.
    func waitForBody() -> Bool {
        readiness.wait(timeout: .milliseconds(600_000)) { count in
            guard count > 0 else { return nil }
            count -= 1
            return true
        } ?? false
    }
}

/// Reads a body as a transport does.
struct Puller {
    let carrier = Carrier()
    let exchange: Exchange

    init() throws {
        exchange = try Call("PUT", "http://127.0.0.1/").exchange
        exchange.carrier = carrier
    }

    func read(_ body: any BodySource, at most: Int = 65_536) -> (bytes: [UInt8], answer: BodyRead) {
        var buffer = [UInt8](repeating: 0, count: most)
        let answer = buffer.withUnsafeMutableBytes { body.read(into: $0, for: exchange) }
        if case .bytes(let count) = answer { return (Array(buffer[..<count]), answer) }
        return ([], answer)
    }

    /// All bytes up to the end, or the failure.
    func readAll(_ body: any BodySource, at most: Int = 65_536) throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let (bytes, answer) = read(body, at: most)
            switch answer {
            case .bytes: all += bytes
            case .end: return all
            case .failed(let error): throw error
            case .wait: if !carrier.waitForBody() { throw RecordingReceiver.NeverEnded() }
            }
        }
    }
}

/// A folder that is removed with its contents.
func withFolder(_ body: (String) throws -> Void) throws {
    let path = NSTemporaryDirectory() + "wherry-bodies-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
}

func write(_ bytes: [UInt8], to path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
}

@Suite struct SegmentedBodyTests {
    private let workers = WorkerPool(limit: 2)

    @Test func `segments follow each other byte for byte`() throws {
        try withFolder { folder in
            let content = TestPattern.bytes(seed: 3, count: 1_500_001)
            try write(content, to: folder + "/a")
            try write([9], to: folder + "/b")
            try write([], to: folder + "/empty")
            let body = try SegmentedBody(
                [
                    .bytes(Bytes("head")), .file(path: folder + "/a"), .bytes(Bytes()),
                    .file(path: folder + "/empty"), .file(path: folder + "/b"),
                    .file(path: folder + "/a", offset: 1_500_000),
                    .file(path: folder + "/a", offset: 10, length: 5), .bytes(Bytes("tail")),
                ], workers: workers)
            let expected =
                Array("head".utf8) + content + [9, content[1_500_000]] + content[10..<15]
                + Array("tail".utf8)

            #expect(body.length == Int64(expected.count))
            for most in [1 << 20, 65_536, 1_000_003, 4_099] {
                #expect(try Puller().readAll(body, at: most) == expected)
                #expect(body.rewind())
            }
        }
        workers.close()
    }

    @Test func `a body without bytes ends at once`() throws {
        let body = try SegmentedBody([.bytes(Bytes())], workers: workers)

        #expect(body.length == 0)
        #expect(try Puller().readAll(body) == [])
        workers.close()
    }

    @Test func `reading never waits for the disk: it returns wait and notifies later`() throws {
        try withFolder { folder in
            try write([1, 2, 3], to: folder + "/a")
            let body = try SegmentedBody(
                [.file(path: folder + "/a")], workers: workers, usesPageCache: false)
            let puller = try Puller()
            // The workers are busy, so that the job cannot run yet.
            let gate = Monitor(0)
            for _ in 0..<2 {
                workers.submit {
                    gate.update { $0 += 1 }
                    _ = gate.wait { $0 >= 3 ? true : nil }
                }
            }
            _ = gate.wait { $0 >= 2 ? true : nil }

            guard case .wait = puller.read(body).answer else {
                Issue.record("the first read did not answer wait")
                return
            }
            #expect(puller.carrier.readiness.withLock { $0 } == 0)
            gate.update { $0 = 3 }
            #expect(puller.carrier.waitForBody())
            #expect(puller.read(body).bytes == [1, 2, 3])
        }
        workers.close()
    }

    @Test func `a rewind in the middle starts over`() throws {
        try withFolder { folder in
            let content = TestPattern.bytes(seed: 4, count: 2_000_000)
            try write(content, to: folder + "/a")
            let body = try SegmentedBody(
                [.bytes(Bytes("x")), .file(path: folder + "/a")], workers: workers)
            let puller = try Puller()
            for rounds in [1, 3, 30] {
                var seen = 0
                while seen < rounds {
                    switch puller.read(body, at: 10_000).answer {
                    case .bytes: seen += 1
                    case .wait: #expect(puller.carrier.waitForBody())
                    default: Issue.record("ended early")
                    }
                }
                #expect(body.rewind())
            }
            #expect(try puller.readAll(body) == Array("x".utf8) + content)
        }
        workers.close()
    }

    @Test func `an unreadable body is reported before any traffic`() throws {
        func code(_ segments: [BodySegment]) -> Int32? {
            do throws(SystemError) {
                _ = try SegmentedBody(segments, workers: workers)
                return nil
            } catch {
                return error.code
            }
        }
        try withFolder { folder in
            try write([1, 2], to: folder + "/a")
            #expect(mkfifo(folder + "/fifo", 0o600) == 0)

            #expect(code([.file(path: folder + "/missing")]) == ENOENT)
            #expect(code([.file(path: folder)]) == EISDIR)
            #expect(code([.file(path: folder + "/fifo")]) == EINVAL)
            #expect(code([.file(path: folder + "/a", offset: -1)]) == EINVAL)
            #expect(code([.file(path: folder + "/a", offset: 3)]) == ESTALE)
            #expect(code([.file(path: folder + "/a", length: 3)]) == ESTALE)
            #expect(code([.file(path: folder + "/a", offset: 1, length: .max)]) == ESTALE)
            #expect(code([.file(path: folder + "/a", offset: 2)]) == nil)
        }
        workers.close()
    }

    @Test(arguments: [0, 700_000, 1_400_000, 3_000_000])
    func `a file that changes its size while it is sent fails the body`(newSize: Int) throws {
        try withFolder { folder in
            let path = folder + "/a"
            try write(TestPattern.bytes(count: 2_000_000), to: path)
            let body = try SegmentedBody([.file(path: path)], workers: workers)
            let puller = try Puller()
            // The two buffers hold one mebibyte, so the rest is read after the change.
            while case .wait = puller.read(body, at: 1).answer {
                #expect(puller.carrier.waitForBody())
            }
            #expect(truncate(path, newSize) == 0)

            let error = #expect(throws: TransportError.self) { try puller.readAll(body) }
            #expect(error?.kind == .fileChanged)
            #expect(error?.message.contains(path) == true)
        }
        workers.close()
    }

    @Test func `its descriptors are closed on release, even with a job in flight`() throws {
        try withFolder { folder in
            try write(TestPattern.bytes(count: 100), to: folder + "/a")
            let gate = Monitor(0)
            let slow = WorkerPool(limit: 1)
            slow.submit {
                gate.update { $0 = 1 }
                _ = gate.wait { $0 >= 2 ? true : nil }
            }
            _ = gate.wait { $0 >= 1 ? true : nil }
            var body: SegmentedBody? = try SegmentedBody(
                [.file(path: folder + "/a")], workers: slow, usesPageCache: false)
            weak let watched = body
            let target = try FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/\(try #require(Self.descriptor(of: folder + "/a")))")
            #expect(target == folder + "/a")
            let puller = try Puller()
            if let body { _ = puller.read(body) }
            body = nil
            // The queued job still holds it.
            #expect(watched != nil)
            gate.update { $0 = 2 }
            slow.close()

            #expect(watched == nil)
            #expect(Self.descriptor(of: folder + "/a") == nil)
        }
        workers.close()
    }

    /// The descriptor that is open for a path.
    private static func descriptor(of path: String) -> String? {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return all.first {
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/" + $0)
            return target == path
        }
    }

    @Test func `it arrives at the server with its length`() throws {
        let scope = try TestServer.shared.scope()
        try withFolder { folder in
            let content = TestPattern.bytes(seed: 5, count: 1 << 20)
            let path = folder + "/large"
            try write(content, to: path)
            // 15 MiB of holes behind the first one.
            #expect(truncate(path, 16 << 20) == 0)
            let body = try SegmentedBody(
                [.bytes(Bytes("begin")), .file(path: path), .bytes(Bytes("end"))], workers: workers)
            try withTransport { transport in
                let call = try Call("PUT", scope.url("/sink"), body: .source(body))
                    .start(on: transport)

                let result = try call.result()
                #expect(result.error == nil)
                let expected = (16 << 20) + 8
                #expect(result.body.text.contains("\"bytes\": \(expected)"))
                #expect(call.exchange.sent == Int64(expected))
                let request = try #require(try scope.requests().first)
                #expect(request.header("Content-Length") == String(expected))
                #expect(request.header("Transfer-Encoding") == nil)
            }
        }
        workers.close()
    }
}

@Suite struct StreamedBodyTests {
    /// Records its requests.
    private final class Reports: Sendable {
        let asked = Monitor<[(offset: Int64, room: Int)]>([])
        var offsets: [Int64] { asked.withLock { $0.map { $0.offset } } }
        var rooms: [Int] { asked.withLock { $0.map { $0.room } } }
        func note(_ offset: Int64, _ room: Int) { asked.update { $0.append((offset, room)) } }
    }

    private func write(_ bytes: [UInt8], to body: StreamedBody) throws -> Int {
        try bytes.withUnsafeBytes { bytes throws(TransportError) in try body.write(bytes) }
    }

    @Test func `space is requested once each time the buffer runs empty`() throws {
        let reports = Reports()
        let body = StreamedBody()
        body.onRoom(reports.note)
        let puller = try Puller()

        #expect(reports.offsets == [])
        for _ in 0..<3 {
            guard case .wait = puller.read(body).answer else {
                Issue.record("no wait")
                return
            }
        }
        #expect(reports.offsets == [0])
        #expect(reports.rooms == [StreamedBody.capacity])
        #expect(try write([1, 2, 3], to: body) == 3)
        #expect(puller.carrier.waitForBody())
        #expect(puller.read(body, at: 2).bytes == [1, 2])
        #expect(reports.offsets == [0])
        #expect(puller.read(body, at: 2).bytes == [3])
        #expect(reports.offsets == [0, 3])
        guard case .wait = puller.read(body).answer else {
            Issue.record("no wait")
            return
        }
        #expect(reports.offsets == [0, 3])
        body.finish()
        #expect(puller.carrier.waitForBody())
        guard case .end = puller.read(body).answer else {
            Issue.record("no end")
            return
        }
        #expect(reports.offsets == [0, 3])
    }

    @Test func `it accepts what fits and nothing when full`() throws {
        let body = StreamedBody()
        let puller = try Puller()
        let all = TestPattern.bytes(count: 1_000_000)
        var next = 0
        var read: [UInt8] = []
        while read.count < all.count {
            while next < all.count {
                let taken = try write(Array(all[next..<min(next + 100_003, all.count)]), to: body)
                next += taken
                if taken == 0 { break }
            }
            if next < all.count { #expect(next - read.count == StreamedBody.capacity) }
            read += puller.read(body, at: 77_777).bytes
        }
        body.finish()
        #expect(read == all)
        #expect(try puller.readAll(body) == [])
    }

    @Test func `bytes beyond the announced length are refused, missing ones fail the body`() throws
    {
        let reports = Reports()
        let body = StreamedBody(length: 5)
        body.onRoom(reports.note)
        let puller = try Puller()
        #expect(body.length == 5)
        _ = puller.read(body)
        #expect(reports.rooms == [5])

        #expect(try write([1, 2, 3], to: body) == 3)
        let refused = #expect(throws: TransportError.self) { try write([4, 5, 6], to: body) }
        #expect(refused?.kind == .bodySource)
        #expect(puller.read(body).bytes == [1, 2, 3])
        #expect(reports.rooms == [5, 2])
        body.finish()
        let failure = #expect(throws: TransportError.self) { try puller.readAll(body) }
        #expect(failure?.kind == .truncated)
        #expect(throws: TransportError.self) { try write([1], to: body) }
    }

    @Test func `the announced length is the end, with or without a finish call`() throws {
        let reports = Reports()
        let body = StreamedBody(length: 2)
        body.onRoom(reports.note)
        let puller = try Puller()
        #expect(try write([1, 2], to: body) == 2)

        #expect(try puller.readAll(body) == [1, 2])
        #expect(reports.offsets == [])
        body.finish()
        body.finish()
        #expect(try puller.readAll(body) == [])
        #expect(throws: TransportError.self) { try write([1], to: body) }
    }

    @Test func `it can restart while nothing was dropped`() throws {
        let body = StreamedBody()
        let puller = try Puller()
        let first = TestPattern.bytes(count: StreamedBody.capacity)
        #expect(try write(first, to: body) == first.count)
        #expect(puller.read(body, at: 100).bytes == Array(first[..<100]))

        #expect(body.rewind())
        #expect(puller.read(body, at: 300).bytes == Array(first[..<300]))
        #expect(try write([7], to: body) == 1)
        #expect(!body.rewind())
        body.finish()
        #expect(try puller.readAll(body) == Array(first[300...]) + [7])
    }

    @Test(arguments: [true, false])
    func `bytes written by another thread arrive in order`(isAnnounced: Bool) throws {
        let scope = try TestServer.shared.scope()
        let all = TestPattern.bytes(seed: 8, count: 3_000_000)
        let reports = Reports()
        let body = StreamedBody(length: isAnnounced ? Int64(all.count) : nil)
        body.onRoom(reports.note)
        try withTransport { transport in
            let call = try Call(
                "PUT", scope.url("/sink"), headers: [("Expect", nil)], body: .source(body)
            ).start(on: transport)
            var next = 0
            var answered = 0
            while next < all.count {
                let report = reports.asked.wait(timeout: .milliseconds(600_000)) { asked in
                    asked.count > answered ? asked[answered] : nil
                }
                let (offset, room) = try #require(report)
                answered += 1
                #expect(offset == Int64(next))
                next += try write(Array(all[next..<min(next + room, all.count)]), to: body)
            }
            body.finish()

            let result = try call.result()
            #expect(result.error == nil)
            #expect(result.body.text.contains("\"bytes\": \(all.count)"))
            #expect(result.body.text.contains(Self.sha256OfPattern8))
            let request = try #require(try scope.requests().first)
            #expect(request.header("Content-Length") == (isAnnounced ? "3000000" : nil))
            #expect(request.header("Transfer-Encoding") == (isAnnounced ? nil : "chunked"))
        }
    }

    /// The digest of the first 3,000,000 bytes of seed 8, from the server.
    private static var sha256OfPattern8: String {
        let answer = try? TestServer.shared.control("/digest/3000000", query: "seed=8")
        return answer.map { String(decoding: $0, as: UTF8.self) } ?? "no answer"
    }

    @Test func `a body cut short by its writer fails the transfer`() throws {
        let scope = try TestServer.shared.scope()
        let body = StreamedBody(length: 100)
        try withTransport { transport in
            let call = try Call("PUT", scope.url("/sink"), body: .source(body)).start(on: transport)
            #expect(try write([1, 2, 3], to: body) == 3)
            body.finish()

            #expect(try call.result().error?.kind == .truncated)
        }
    }
}
