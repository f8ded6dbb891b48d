// Wherry: acceptance tests of sinks, levels, events and counters
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct LogSinkTests: CacheSuite {
    let bench: CacheBench

    init() throws { bench = try CacheBench() }

    // MARK: L6, L10

    @Test("L6 suspend, resume, complete, the file's move, and the client's end are events")
    func taskEvents() async throws {
        let client = try client()
        let keeper = LogKeeper(client, .info)
        let (transfer, watcher) = try client.begin(
            scope.url("/bytes/1000000?hold=400000&gate=g"), to: folder.file("file"))
        await waitForBytes(of: transfer)
        transfer.pause()
        transfer.resume()
        try scope.open(gate: "g")
        let outcome = await watcher.end()
        #expect(outcome.path == folder.file("file"))
        let refused = try await client.run(
            scope.url("/bytes/10"), to: folder.file("other"),
            { request in
                request.method = nil
                request.expectedDigest = ExpectedDigest(
                    algorithm: .md5, value: Array(repeating: 0, count: 16))
                request.set(.maxRetries, 0)
            })
        #expect(refused.error?.reason == "checksum")
        client.close()
        #expect(
            keeper.events.filter { $0 != .restarted && $0 != .retried } == [
                .started, .suspended, .resumed, .moved, .succeeded, .started, .failed, .closed,
            ])
        let done = try #require(keeper.records.first { $0.event == .succeeded })
        #expect(done.path == folder.file("file") && done.error == nil)
        #expect(done.metrics?.receivedBytes ?? 0 > 1_000_000)
        let failed = try #require(keeper.records.first { $0.event == .failed })
        #expect(failed.reason == "checksum" && failed.error?.reason == "checksum")
    }

    @Test("R25 each step is reported to the client's log first, then to its observer, in one order")
    func steps() async throws {
        let client = try client()
        let keeper = StepKeeper()
        client.log.set(ClientLog.newReader(), keeper)
        var request = Request(scope.url("/redirect/1"))
        request.set(.wantHeaders, 1)
        _ = try client.send(request, observer: keeper)
        while keeper.steps.withLock({ $0.last != "done" }) { await Task.yield() }
        client.close()
        #expect(
            keeper.steps.withLock { $0 } == [
                "log started", "log redirected", "head", "log succeeded", "done", "log closed",
            ])
    }

    @Test("L10 a redirect and a retry are reported in order, with their details")
    func monitor() async throws {
        let client = try client()
        let keeper = LogKeeper(client)
        let target = scope.url("/bytes/300000?cut=100000&times=1")
        let url =
            scope.url("/redirect-to?url=") + target.addingPercentEncoding(
                withAllowedCharacters: .alphanumerics)!
        let end = try await client.run(url, to: folder.file("file"), clock: clock)
        #expect(end.path != nil)
        client.close()
        let wanted: [LogRecord.Event] = [
            .started, .sent, .redirected, .retried, .headers, .moved, .succeeded, .closed,
        ]
        var turns: [LogRecord.Event] = []
        for event in keeper.events where wanted.contains(event) && turns.last != event {
            turns.append(event)
        }
        #expect(
            turns == [
                .started, .sent, .headers, .redirected, .sent, .headers, .retried, .sent,
                .headers, .redirected, .sent, .headers, .moved, .succeeded, .closed,
            ])
        let redirect = try #require(keeper.records.first { $0.event == .redirected })
        #expect(redirect.status == 302 && redirect.transferID != 0 && redirect.method == "GET")
        #expect(keeper.records.first { $0.event == .retried }?.reason == "truncated")
        #expect(client.counters().retried == 1 && client.counters().redirected == 2)
        #expect(client.counters().requests == Int64(try scope.requests().count))
    }

    @Test("L10 a retried request reports the reason, and is counted")
    func requestRetry() async throws {
        let client = try client { $0.clock = SystemClock.shared }
        let keeper = LogKeeper(client)
        var request = Request("json?status_first=503&status_times=1&retry_after=0")
        request.set(.maxRetries, 1)
        let response = try await client.send(request)
        client.close()
        #expect(response.status == 200 && response.metrics.retries == 1)
        let wanted: [LogRecord.Event] = [.started, .sent, .retried, .succeeded, .failed]
        #expect(
            keeper.events.filter { wanted.contains($0) } == [
                .started, .sent, .retried, .sent, .succeeded,
            ])
        #expect(keeper.records.first { $0.event == .retried }?.reason == "http_status")
        #expect(client.counters().retried == 1 && client.counters().requests == 2)
    }

    @Test("L10 a hook is logged with its changes")
    func hooks() async throws {
        let client = try client()
        let keeper = LogKeeper(client)
        let hooks = Hooks.adapting { request in
            var request = request
            request.headers["X-A"] = "1"
            return request
        }
        _ = try await client.send(Request("echo"), hooks: hooks)
        client.close()
        let events = keeper.events.filter { $0 == .hook || $0 == .adapted || $0 == .started }
        #expect(events == [.hook, .adapted, .started])
    }

    // MARK: L7

    @Test("L7 each step of a request is measured")
    func metrics() async throws {
        let client = try client()
        let first = try await client.get("delay/150").metrics
        let second = try await client.get("redirect/2").metrics
        #expect(first.firstByte >= .milliseconds(150) && first.total >= first.firstByte)
        #expect(first.connect > .zero && first.tls == .zero && !first.isReused)
        #expect(first.lookup + first.connect <= first.firstByte)
        #expect(first.httpVersion == 11 && first.retries == 0 && first.redirects == 0)
        #expect(first.sentBytes > 50 && first.receivedBytes > 50)
        #expect(first.remoteAddress == "127.0.0.1")
        #expect(second.isReused && second.connect == .zero && second.redirects == 2)
        // Over all redirects.
        #expect(second.sentBytes > 2 * first.sentBytes)
        // A failed response has them, and its record too.
        let keeper = LogKeeper(client, .error)
        let error = await failure { () throws(WherryError) in try await client.get("status/500") }
        #expect(error?.response?.metrics.receivedBytes ?? 0 > 0)
        #expect(keeper.records.first?.metrics == error?.response?.metrics)
        client.close()
    }

    // MARK: L11

    @Test("L11 each level includes the levels before it, and only the last one shows queries")
    func levels() async throws {
        let client = try client()
        let keepers = LogLevel.allCases.dropFirst().map { LogKeeper(client, $0) }
        _ = try await client.get("echo?a=visible")
        _ = await failure { () throws(WherryError) in try await client.get("status/500") }
        #expect(keepers.map(\.events.count) == keepers.map(\.events.count).sorted())
        for keeper in keepers {
            #expect(keeper.records.allSatisfy { $0.level <= keeper.level })
            #expect(keeper.text.contains("a=visible") == (keeper.level == .debug))
            #expect(keeper.events.contains(.failed))
            #expect(keeper.events.contains(.started) == (keeper.level >= .info))
        }
        client.close()
    }

    @Test("L11 a log file is private, restarts when it is full, and is complete at the end")
    func files() async throws {
        let client = try client()
        try client.setLogFile(folder.file("log"), level: .info, maxBytes: 2000)
        for number in 0..<20 { _ = try await client.get("echo/\(number)") }
        try client.setLogFile(nil)
        _ = try await client.get("echo/unseen")
        let text = try ["log.1", "log"].map {
            String(decoding: try folder.contents($0), as: UTF8.self)
        }
        #expect(text.allSatisfy { $0.utf8.count <= 2000 && $0.hasSuffix("\n") })
        #expect(text[1].contains("/echo/19\n") && !text[1].contains("unseen"))
        #expect(try folder.names.filter { $0.hasPrefix("log") }.count == 2)
        #expect(!text[1].contains("/echo/1\n"))
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file("log"))
        #expect(mode[.posixPermissions] as? Int == 0o600)
        // An existing file is continued, and closing writes the rest.
        try client.setLogFile(folder.file("log"), level: .info)
        _ = try await client.get("echo/again")
        client.close()
        let whole = String(decoding: try folder.contents("log"), as: UTF8.self)
        #expect(whole.hasPrefix(text[1]) && whole.contains("/echo/again"))
        #expect(whole.hasSuffix("=========== Client closed\n"))
    }

    @Test("L11 a file that cannot be opened is refused, and the previous one continues")
    func badFiles() async throws {
        let client = try client()
        try client.setLogFile(folder.file("log"), level: .info)
        let error = await failure { () throws(WherryError) in
            try client.setLogFile(folder.file("none/log"))
        }
        #expect(error?.code == .file)
        let size = await failure { () throws(WherryError) in
            try client.setLogFile(folder.file("log"), maxBytes: -1)
        }
        #expect(size?.reason == "bad_value")
        client.close()
        #expect(
            String(decoding: try folder.contents("log"), as: UTF8.self).contains("Client closed"))
    }

    @Test("L11 JSON lines have the members that programs need")
    func jsonLines() async throws {
        let client = try client()
        try client.setLogFile(folder.file("log"), level: .debug, asJSON: true)
        _ = try await client.get("echo?x=1")
        client.close()
        let lines = String(decoding: try folder.contents("log"), as: UTF8.self)
            .split(separator: "\n")
        let records = try lines.map { try JSON(parsing: String($0)) }
        #expect(records.count >= 5)
        let end = try #require(records.first { $0.value(at: "event") == "succeeded" })
        #expect(end.value(at: "status") == 200 && end.value(at: "method") == "GET")
        #expect(end.value(at: "url") == .string(scope.url("/echo?...")))
        #expect(end.value(at: "metrics/http_version") == 11 && end.value(at: "level") == "info")
        #expect(records.last?.value(at: "event") == "closed")
        #expect(LogText.time(1_795_333_031.123) == "2026-11-22T07:37:11.123Z")
    }

    @Test(
        "L11 sequences and functions get the records, and a slow reader the number it missed")
    func readers() async throws {
        let client = try client()
        let heard = Guarded(0)
        let task = client.onLog(.info) { _ in heard.withLock { $0 += 1 } }
        let records = client.log(.info)
        for _ in 0..<600 { _ = try await client.get("echo") }
        var iterator = records.makeAsyncIterator()
        var read: [LogRecord] = []
        while read.count < 1000, let record = await iterator.next() { read.append(record) }
        #expect(read.allSatisfy { $0.event == .started || $0.event == .succeeded })
        _ = try await client.get("echo")
        let lost = await iterator.next()
        #expect(lost?.event == .lost && lost?.count == 200)
        #expect(await iterator.next()?.event == .started)
        task.cancel()
        await task.value
        #expect(heard.withLock { $0 } > 0)
        client.close()
    }

    // MARK: L12

    @Test("L12 the counters match the server")
    func counters() async throws {
        let client = try client()
        let cached = asking("echo/stored", for: .seconds(180))
        for _ in 0..<3 { _ = try await client.send(cached) }
        _ = try await client.get("redirect-to?url=\(scope.url("/echo"))")
        _ = await failure { () throws(WherryError) in try await client.get("status/500") }
        _ = await failure { () throws(WherryError) in
            try await client.get("http://127.0.0.1:1/nobody")
        }
        var upload = Request("sink", method: "POST")
        upload.body = .bytes(Bytes(String(repeating: "x", count: 5000)), contentType: nil)
        _ = try await client.send(upload)
        let (transfer, watcher) = try client.begin(
            scope.url("/bytes/100000?hold=4000&gate=g"), to: folder.file("file"))
        await waitForBytes(of: transfer)
        transfer.cancel()
        _ = await watcher.end()
        client.close()
        let counters = client.counters()
        let server = try scope.requests()
        #expect(counters.started == 8 && counters.active == 0)
        #expect(counters.succeeded == 5 && counters.failed == 2 && counters.cancelled == 1)
        #expect(counters.cacheHits == 2 && counters.redirected == 1 && counters.retried == 0)
        #expect(counters.requests == Int64(server.count))
        #expect(counters.sentBytes > 5000 + 40 * Int64(server.count))
        let whole = server.filter { $0.outcome == "answered" }.map(\.sent).reduce(0, +)
        #expect(counters.receivedBytes > Int64(whole))
        #expect(client.counters(of: "127.0.0.1") == counters)
        #expect(client.counters(of: "other.test") == Counters())
        #expect(client.countedHosts == ["127.0.0.1"])
    }
}
