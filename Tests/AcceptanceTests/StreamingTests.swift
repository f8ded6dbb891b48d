// Wherry: acceptance tests of streams
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

@Suite struct StreamingTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    @Test("R22 a stream delivers every byte in order, exactly once")
    func pieces() async throws {
        let stream = try await client.stream(Request("bytes/3000001?seed=5"))
        #expect(stream.head.status == 200)
        #expect(stream.head.header("content-length") == "3000001")
        var bytes: [UInt8] = []
        for try await piece in stream.body {
            #expect(!piece.isEmpty)
            bytes += piece
        }
        #expect(bytes == TestPattern.bytes(seed: 5, count: 3_000_001))
    }

    @Test("R22 memory use stays constant however long the stream")
    func flatMemory() async {
        // In a separate process: concurrent tests use memory too.
        await #expect(processExitsWith: .success) {
            let client = try makeClient(try TestServer.shared.scope())
            func read(_ size: Int) async throws -> Int {
                var most = 0
                var count = 0
                var turn = 0
                for try await piece in try await client.stream(Request("bytes/\(size)")).body {
                    count += piece.count
                    turn += 1
                    if turn % 64 == 0 { most = max(most, try residentBytes()) }
                }
                try #require(count == size)
                return most
            }
            let before = try await read(20_000_000)
            let after = try await read(loops(1_000_000_000))
            try #require(after - before < 8_000_000)
        }
    }

    @Test("R22 a slow reader stalls the sender, and releasing a chunk continues it")
    func flowControl() async throws {
        let size = 64_000_000
        let stream = try await client.stream(Request("bytes/\(size)"))
        var iterator = stream.body.makeAsyncIterator()
        var count = try #require(try await iterator.next()).count
        // The reader is idle now; round trips give the loop time for any action.
        for _ in 0..<20 { _ = try await client.get("echo") }
        let held = try scope.stats().sent
        #expect(held < size / 2)
        while let piece = try await iterator.next() { count += piece.count }
        #expect(count == size)
    }

    @Test("R22 releasing a stream ends it at the server")
    func abandoned() async throws {
        var stream: StreamedResponse? = try await client.stream(
            Request("bytes/1000000?hold=1000&gate=never"))
        for try await _ in try #require(stream).body { break }
        stream = nil
        try await scope.wait("ended=1")
        #expect(client.wait(timeout: .seconds(60)))
        #expect(try scope.requests().map(\.outcome) == ["gone"])
    }

    @Test("R22 cancelling the reading task ends the stream")
    func cancelled() async throws {
        let stream = try await client.stream(Request("bytes/1000000?hold=1000&gate=never"))
        let task = Task {
            await failure { () throws(WherryError) in
                for try await _ in stream.body {}
            }
        }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        try await scope.wait("ended=1")
        #expect(stream.body.transfer.state == .cancelled)
    }

    @Test("R22 a broken stream delivers the received bytes, and then the error")
    func broken() async throws {
        let stream = try await client.stream(Request("bytes/100000?cut=40000"))
        var count = 0
        var iterator = stream.body.makeAsyncIterator()
        let error = await failure { () async throws(WherryError) in
            while let piece = try await iterator.next() { count += piece.count }
        }
        #expect(count == 40_000)
        #expect(error?.reason == "truncated")
        #expect(try await iterator.next() == nil)
    }

    @Test("R22 an error status is thrown at once, with the server's text")
    func refused() async throws {
        let client = client
        let error = await failure { () throws(WherryError) in
            try await client.stream(Request("status/503?body=later"))
        }
        #expect(error?.httpStatus == 503)
        #expect(error?.response?.text == "later")
        let redirected = try await client.stream(Request("redirect/2?to=/bytes/10"))
        var count = 0
        for try await piece in redirected.body { count += piece.count }
        #expect(count == 10)
    }

    @Test("R22 a content encoding is decoded while streaming")
    func decoded() async throws {
        var text: [UInt8] = []
        for try await piece in try await client.stream(Request("gzip")).body { text += piece }
        #expect(try JSON(parsing: text).kind == .object)
    }

    @Test("R36 lines arrive complete, for any chunk boundaries")
    func lines() async throws {
        let text = "one\r\ntwo\n\nthrée 天\nlast"
        let bytes = Array(text.utf8)
        for cut in 1..<bytes.count {
            let steps = [bytes[..<cut], bytes[cut...]].map {
                #"["send_base64", "\#(Data($0).base64EncodedString())"]"#
            }
            try scope.script(
                "lines\(cut)",
                #"[{"raw": [["send", "HTTP/1.1 200 OK\r\nContent-Length: \#(bytes.count)\r\n\r\n"], \#(steps[0]), ["pause_ms", 1], \#(steps[1]), ["keep"]]}]"#
            )
            var lines: [String] = []
            for try await line in try await client.lines("s/lines\(cut)") { lines.append(line) }
            #expect(lines == ["one", "two", "", "thrée 天", "last"], "cut at \(cut)")
        }
    }

    @Test("R36 events are delivered as they arrive, for any chunk boundaries")
    func serverEvents() async throws {
        try scope.script(
            "events",
            #"""
            [{"raw": [["send", "HTTP/1.1 200 OK\r\nContent-Length: 52\r\n\r\ndata: one\n\nev"], ["gate", "g"],
             ["send", "ent: tick\nid: 1\ndata: two\ndata: three\n\n"], ["keep"]]}]
            """#)
        let stream = try await client.stream(Request("s/events"))
        var events = stream.body.serverEvents.makeAsyncIterator()
        #expect(try await events.next(isolation: nil) == ServerEvent(data: "one"))
        try scope.open(gate: "g")
        #expect(
            try await events.next(isolation: nil)
                == ServerEvent(name: "tick", data: "two\nthree", id: "1"))
        #expect(try await events.next(isolation: nil) == nil)
        #expect(events.retry == nil)
    }

    @Test("R36 lines are delivered as they arrive, and an endless one is an error")
    func lineByLine() async throws {
        try scope.script(
            "slow",
            #"""
            [{"raw": [["send", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"], ["send", "a\n"],
              ["gate", "g0"], ["send", "b\n"], ["gate", "g1"], ["send", "longer"], ["keep"]]}]
            """#)
        var lines = try await client.stream(Request("s/slow")).body.lines(maxLineBytes: 4)
            .makeAsyncIterator()
        #expect(try await lines.next() == "a")
        try scope.open(gate: "g0")
        #expect(try await lines.next() == "b")
        try scope.open(gate: "g1")
        let error = await failure { () async throws(WherryError) in try await lines.next() }
        #expect(error?.reason == "too_large")
        #expect(try await lines.next() == nil)
    }
}
