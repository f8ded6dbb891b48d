// Wherry: acceptance tests of log contents and destinations
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct LogTests: CacheSuite {
    let bench: CacheBench

    init() throws { bench = try CacheBench() }

    // MARK: L1, L2

    @Test("L1 WHERRY_LOG enables a log from the environment, to standard error or a file")
    func environment() async throws {
        let told = try await #require(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) {
            let folder = try TemporaryFolder()
            setenv("WHERRY_LOG", "info", 1)
            try await LogTests.get("/echo/one?password=hunter2")
            setenv("WHERRY_LOG_FILE", folder.file("log"), 1)
            try await LogTests.get("/echo/two")
            let file = String(decoding: try folder.contents("log"), as: UTF8.self)
            #expect(file.contains(" info #") && file.contains("/echo/two"))
            unsetenv("WHERRY_LOG_FILE")
            // Reported once, however often it occurs.
            setenv("WHERRY_LOG", "everything", 1)
            try await LogTests.get("/echo/three")
            try await LogTests.get("/echo/four")
            setenv("WHERRY_LOG", "off", 1)
            try await LogTests.get("/echo/five")
        }
        let text = String(decoding: told.standardErrorContent, as: UTF8.self)
        #expect(text.contains("=========== Start requesting...\n"))
        #expect(text.contains("/echo/one?...") && !text.contains("hunter2"))
        for word in ["two", "three", "four", "five", "Sending"] { #expect(!text.contains(word)) }
        #expect(text.components(separatedBy: "WHERRY_LOG is off, error").count == 2)
    }

    static func get(_ path: String) async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope)
        _ = try await client.get(scope.url(path))
        client.close()
    }

    @Test("L2 every line begins with the mark, after the library's name and the transfer's number")
    func lineForm() async throws {
        let client = try client()
        let keeper = LogKeeper(client)
        _ = try await client.get("echo")
        client.close()
        let start = try #require(keeper.records.first { $0.event == .started })
        let id = start.transferID
        #expect(
            LogText.plain(start) == """
                wherry #\(id): =========== Start requesting...
                wherry #\(id): =========== url:\(scope.url("/echo"))
                wherry #\(id): =========== method:GET
                wherry #\(id): =========== parameters:(null)

                """)
        let closed = try #require(keeper.records.last)
        #expect(LogText.plain(closed) == "wherry: =========== Client closed\n")
        #expect(LogText.dated(closed).hasSuffix("Z info: =========== Client closed\n"))
    }

    // MARK: L3

    private let stored = "Write cache succeed!"
    private let off = "Do not need to load cache, start sending network request..."
    private let asks = "Failed to load cache, start to sending network request..."

    @Test("L3 the texts of the timed cache have SJNetwork's order: off, miss, hit, expired")
    func cacheTexts() async throws {
        let client = try client()
        let keeper = LogKeeper(client)
        _ = try await client.get("echo")
        #expect(keeper.sentences == [off, "Start requesting...", "Request succeed!"])
        keeper.clear()

        _ = try await client.send(asking(for: .seconds(180)))
        #expect(
            keeper.sentences == [
                "Load cache failed: Cache info does not exist", asks, "Start requesting...",
                "Request succeed!", stored,
            ])
        #expect(keeper.text.contains("\nAvailable duration:180 seconds"))
        keeper.clear()

        let hit = try await client.send(asking(for: .seconds(180)))
        #expect(
            keeper.sentences == [
                "Load cache succeed:\(hit.body.count) bytes", "Request succeed by loading Cache!",
            ])
        keeper.clear()

        clock.advance(by: 181_000_000_000)
        _ = try await client.send(asking(for: .seconds(180)))
        #expect(
            keeper.sentences == [
                "Load cache info failed, reason:Cache is expired, begin to clear cache...",
                "Load cache failed: Cache info is invalid", asks, "Start requesting...",
                "Request succeed!", stored,
            ])
        client.close()
    }

    @Test("L3 the HTTP cache uses the same words")
    func httpCacheTexts() async throws {
        let client = try client { $0.usesHTTPCache = true }
        let keeper = LogKeeper(client)
        let url = "cache?control=max-age%3D60"
        _ = try await client.get(url)
        #expect(keeper.sentences == [asks, "Start requesting...", "Request succeed!", stored])
        keeper.clear()
        let hit = try await client.get(url)
        #expect(
            keeper.sentences == [
                "Load cache succeed:\(hit.body.count) bytes", "Request succeed by loading Cache!",
            ])
        client.close()
    }

    // A read of the cache alone was not in the log.
    @Test("L3 K8 reads of the caches are logged, and stale and validated responses are marked")
    func cacheReads() async throws {
        let bench = try HTTPCacheBench()
        let client = try bench.client()
        let keeper = LogKeeper(client)
        func told(_ body: () async throws -> Void) async rethrows -> [String] {
            keeper.clear()
            try await body()
            return keeper.sentences.filter { $0.hasPrefix("Load cache") }
        }
        func readCache() throws(WherryError) -> Response { try client.cache.response(to: cached()) }
        let missed = await told { _ = try? readCache() }
        #expect(missed.count == 1 && missed[0].hasPrefix("Load cache failed:"))
        bench.respond("body", ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        _ = try await client.send(cached())
        var text = ""
        let read = try await told { text = try readCache().text }
        #expect(text == "body")
        #expect(read == ["Load cache succeed:4 bytes"])
        bench.stub.advance(by: .seconds(61))
        bench.respond("", ["ETag": "\"1\""], status: 304)
        let confirmed = try await told { _ = try await client.send(cached()) }
        #expect(confirmed == ["Load cache succeed:4 bytes, revalidated"])
        bench.stub.advance(by: .seconds(61))
        let stale = try await told { _ = try await client.send(cached(.anyAge)) }
        #expect(stale == ["Load cache succeed:4 bytes, stale"])
        client.close()
    }

    // MARK: L4

    @Test("L4 a transfer describes itself like SJNetwork, in full while debugging")
    func descriptions() async throws {
        let client = try client()
        var request = Request("echo", method: "POST")
        request.parameters = ["a": 1, "token": "hunter2"]
        request.loadsCache = true
        request.cacheDuration = .seconds(180)
        try await check("request.txt", client.start(request))

        var upload = Request("echo")
        for name in ["photo", "second"] {
            upload.add(.image(name, .bytes(Bytes("no picture"))))
        }
        try await check("upload.txt", client.start(upload))

        var download = Request("bytes/1000")
        download.parameters = ["page": 2]
        let handle = try client.download(download, to: folder.file("file"))
        _ = try await handle.value
        try expect("download.txt", handle.transfer)

        #expect("\(handle.transfer)" == "<Download: \(handle.transfer.id)>")
        try client.setDebugging(true)
        let keeper = LogKeeper(client)
        #expect("\(handle.transfer)".hasPrefix("{\n   <Download: "))
        try client.setDebugging(false)
        withExtendedLifetime(keeper) {}
        client.close()
    }

    private func check(_ name: String, _ handle: TransferHandle<Response>) async throws {
        _ = await failure { () throws(WherryError) in try await handle.value }
        try expect(name, handle.transfer)
    }

    private func expect(_ name: String, _ transfer: Transfer) throws {
        let wanted = try golden(name)
        var text = transfer.description(inFull: true)
        let identifier =
            text.split(separator: "\n")
            .first { $0.hasPrefix("   requestIdentifier:") }?
            .dropFirst("   requestIdentifier:".count) ?? ""
        #expect(identifier.count > 60)
        for (found, shown) in [
            (String(identifier), "IDENTIFIER"), (": \(transfer.id)>", ": 1>"),
            (scope.url(""), "http://host"), (folder.path, "FOLDER"),
        ] { text = text.replacingOccurrences(of: found, with: shown) }
        #expect(text == wanted)
    }

    // MARK: L5

    @Test("L5 headers, downloads, commands, and refusals are logged in SJNetwork's words")
    func otherTexts() async throws {
        let client = try client { $0.headers = ["X-Token-Kind": "plain", "X-Name": "skye"] }
        let keeper = LogKeeper(client)
        let (transfer, watcher) = try client.begin(
            scope.url("/bytes/1000000?hold=400000&gate=g"), to: folder.file("file"))
        await waitForBytes(of: transfer)
        transfer.resume()
        transfer.pause()
        transfer.pause()
        transfer.resume()
        try scope.open(gate: "g")
        _ = await watcher.end()
        transfer.resume()
        let id = "<Download: \(transfer.id)>"
        let path = folder.file("file")
        for line in [
            "added header:key:X-Token-Kind value:***", "added header:key:X-Name value:skye",
            "start downloading:\nurl:\(scope.url("/bytes/1000000?hold=400000&gate=g"))\ndownloadPath:\(path)",
            "Can not resume request: \(id), since it is not suspended",
            "Suspended request:\(id)",
            "Request \(id) can not be suspended, since it is not running",
            "Resumed request: \(id)", "Download progress:", "Move download file succeed:\(path)",
            "Download succeed,download file path:\(path)",
        ] { #expect(keeper.text.contains(line), "\(line)") }
        keeper.clear()

        #expect(client.pause(.url("")) == 0 && client.pause(.tag("none")) == 0)
        var form = Request("echo", method: "POST")
        form.body = .multipart([])
        let refused = await failure { () throws(WherryError) in try await client.send(form) }
        #expect(refused?.reason == "no_images")
        #expect(
            keeper.records.map(\.text) == [
                "The input url is an empty string!", "There is no task to suspend",
                "Upload image failed:There is no image to upload!",
            ])
        #expect(keeper.events == [.refused, .refused, .refused])
        client.close()
    }

    // MARK: SEC-S2

    @Test("SEC-S2 text from a server cannot move a cursor or imitate a log line")
    func injection() async throws {
        let client = try client()
        let keeper = LogKeeper(client)
        let evil = "a\u{1B}[2J\u{202E}\u{85}b"
        try scope.script(
            "evil",
            #"[{"raw": [["send", "HTTP/1.1 200 \#(evil)\r\nX-Evil: x\u001b]0;y\u0007z\tw\r\nContent-Length: 0\r\n\r\n"], ["fin"]]}]"#
                .replacingOccurrences(of: "\u{1B}", with: "\\u001b"))
        _ = await failure { () throws(WherryError) in
            try await client.get("s/evil?q=%1B%0Awherry:%20x")
        }
        client.close()
        #expect(keeper.events.contains(.headers) || keeper.events.contains(.failed))
        for record in keeper.records {
            for scalar in record.text.unicodeScalars where scalar != "\n" {
                #expect(scalar.value >= 0x20 && !(0x7F..<0xA0).contains(scalar.value))
                #expect(!(0x202A...0x202E).contains(scalar.value))
            }
        }
        #expect(
            LogText.line("a\r\nb\u{1B}c\u{9B}\t\u{2028}") == "a\\r\\nb\\u{1b}c\\u{9b}\\t\\u{2028}")
    }
}
