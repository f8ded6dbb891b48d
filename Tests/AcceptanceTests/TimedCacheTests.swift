// Wherry: acceptance tests of the timed cache: reading and writing
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct TimedCacheTests: CacheSuite {
    let bench: CacheBench

    init() throws { bench = try CacheBench() }

    @Test("K1 a time of zero or less stores nothing; otherwise milliseconds count")
    func writing() async throws {
        let client = try client()
        for duration in [Duration.zero, .seconds(-1), .microseconds(999)] {
            _ = try await client.send(asking(loads: false, for: duration))
        }
        #expect(try await client.cache.usage().entries == 0)
        _ = try await client.send(asking(loads: false, for: .milliseconds(500)))
        clock.advance(by: 499_000_000)
        #expect(try await client.send(asking()).isFromCache)
        clock.advance(by: 2_000_000)
        #expect(try await !client.send(asking()).isFromCache)
        // The expired entry is gone.
        #expect(try await client.cache.usage().entries == 0)
        _ = try await client.send(asking(loads: false, for: .seconds(180)))
        clock.advance(by: 180_000_000_000)
        #expect(try await client.send(asking()).isFromCache)
        // A time beyond the range of the clock means forever.
        _ = try await client.send(asking("echo", loads: false, for: .seconds(Int64.max)))
        clock.advance(by: 1_000_000_000_000_000)
        #expect(try await client.send(asking("echo")).isFromCache)
        client.close()
    }

    @Test("K2 a fresh entry is served without the network; the four combinations")
    func combinations() async throws {
        let client = try client()
        // Neither, then reading alone: the entry is missing.
        #expect(try await !client.send(asking(loads: false)).isFromCache)
        #expect(try await !client.send(asking()).isFromCache)
        #expect(try await !client.send(asking()).isFromCache)
        #expect(try hits() == 3)
        // Writing without reading sends a request and stores the response.
        let written = try await client.send(asking(loads: false, for: .seconds(180)))
        #expect(!written.isFromCache)
        #expect(try hits() == 4)
        // Reading, with or without its own time, sends nothing.
        for duration in [Duration.zero, .seconds(5)] {
            let read = try await client.send(asking(for: duration))
            #expect(read.isFromCache && read.status == 200 && read.body == written.body)
            #expect(read.header("content-type") == written.header("content-type"))
            #expect(read.url == written.url && read.metrics.receivedBytes == 0)
        }
        #expect(try hits() == 4)
        // Without reading a request is sent in any case.
        #expect(try await !client.send(asking(loads: false)).isFromCache)
        #expect(try hits() == 5)
        client.close()
    }

    @Test("K2 another client of the folder, and a blocking call, get it too")
    func shared() async throws {
        let one = try client()
        let written = try await one.send(asking(for: .seconds(180)))
        one.close()
        let two = try client()
        let read = try two.perform(asking())
        #expect(read.isFromCache && read.body == written.body)
        #expect(try two.perform(asking(loads: false, for: .seconds(1))).isFromCache == false)
        #expect(try hits() == 2)
        two.close()
    }

    @Test("K3 URL, method, parameters, query, and body are the identity; headers are not")
    func identity() async throws {
        let client = try client { $0.parameters = ["common": 1] }
        _ = try await client.send(
            asking(loads: false, for: .seconds(180), parameters: ["a": 1, "b": 2]))
        var others = [
            asking(), asking(parameters: ["a": 1]),
            asking("cache?x=1", parameters: ["a": 1, "b": 2]),
            asking(parameters: ["a": 1, "b": 2], method: "POST"),
        ]
        var withQuery = asking(parameters: ["a": 1, "b": 2])
        withQuery.query = [.init("c", "3")]
        others.append(withQuery)
        for other in others { #expect(try await !client.send(other).isFromCache) }
        // The order of the parameters does not count, nor do the client's own ones.
        try client.setParameter("common", 2)
        var same = asking(parameters: ["b": 2, "a": 1])
        same.headers = ["X-Other": "1"]
        #expect(try await client.send(same).isFromCache)
        let entries = try await client.cache.entries("cache")
        #expect(try entries.map(\.identifier) == [client.identifier(of: same)])
        // Two bodies are two requests.
        var posted = asking("echo", for: .seconds(180), method: "POST")
        for text in ["1", "2", "1", "2"] {
            posted.body = .json(Bytes(text))
            #expect(try await client.send(posted).decode(Echo.self).text == text)
        }
        #expect(try hits() == 8)
        client.close()
    }

    @Test("K3 C4 the base at the time of the call is part of the identity, also a named one")
    func bases() async throws {
        let other = try TestServer.shared.scope()
        let client = try client { $0.bases = ["other": other.url("/")] }
        var named = asking(for: .seconds(180))
        named.base = "other"
        #expect(try await !client.send(asking(for: .seconds(180))).isFromCache)
        #expect(try await !client.send(named).isFromCache)
        for request in [asking(), named] {
            #expect(try await client.send(request).isFromCache)
        }
        #expect(try await client.cache.entries("cache").count == 1)
        #expect(try await client.cache.entries("cache", base: "other").count == 1)
        #expect(try await client.cache.clear("cache", base: "other") == 1)
        #expect(try await client.send(asking()).isFromCache)
        #expect(try await !client.send(named).isFromCache)
        let unknown = await failure { () async throws(WherryError) in
            try await client.cache.clear("cache", base: "none")
        }
        #expect(unknown?.reason == "not_found")
        // The text counts, whatever its name.
        try client.setBaseURL(other.url("/"))
        #expect(try await client.send(asking()).isFromCache)
        try client.setBaseURL(other.url("/more"))
        #expect(try await !client.send(asking("../cache")).isFromCache)
        client.close()
    }

    @Test("K4 an entry is one file in a private folder, and no other file remains")
    func files() async throws {
        let client = try client()
        _ = try await client.send(asking(for: .seconds(180), parameters: ["secret": "planted"]))
        client.close()
        let entries = bench.entryFiles()
        #expect(entries.count == 1)
        for name in ["storage", "storage/timed"] + entries {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
            let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
            #expect(attributes[.posixPermissions] as? Int == (isFolder ? 0o700 : 0o600))
        }
        for name in entries {
            #expect(try !folder.contents(name).contains(Data("planted".utf8)))
        }
    }

    @Test(
        "K5 C11 another app version, another cache version, and a clock that went back are misses")
    func refusals() async throws {
        let client = try client()
        func only(_ change: (inout Request) -> Void = { _ in }) async -> String? {
            var request = asking()
            request.cachePolicy = .only
            change(&request)
            return await failure { () async throws(WherryError) in try await client.send(request) }?
                .reason
        }
        func fill() async throws {
            _ = try await client.send(asking(loads: false, for: .seconds(9)))
        }
        #expect(await only() == "missing")
        try await fill()
        #expect(await only() == nil)
        try client.setAppVersion("2")
        #expect(await only() == "app_version")
        #expect(await only() == "missing")
        try await fill()
        #expect(await only { $0.cacheVersion = 1 } == "cache_version")
        try await fill()
        // A day, since the other clock begins with the machine's time, and the test may take long.
        clock.advance(by: 86_400_000_000_000)
        #expect(await only() == "stale")
        try await fill()
        let earlier = ManualClock()
        let past = try self.client {
            $0.clock = earlier
            $0.appVersion = "2"
        }
        var request = asking()
        request.cachePolicy = .only
        let error = await failure { () async throws(WherryError) in try await past.send(request) }
        #expect(error?.reason == "clock" && error?.code == .cacheMiss)
        past.close()
        client.close()
    }

    @Test("K5 SEC-C4 a damaged entry is a miss, and is removed")
    func damaged() async throws {
        let one = try client()
        _ = try await one.send(asking(for: .seconds(180)))
        // It would remove an entry written at that moment.
        try one.caches.timed().entries.waitUntilSwept()
        one.close()
        let name = try #require(bench.entryFiles().first)
        var bytes = try folder.contents(name)
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: URL(fileURLWithPath: folder.file(name)))
        let two = try client()
        var request = asking()
        request.cachePolicy = .only
        for reason in ["damaged", "missing"] {
            let error = await failure { () async throws(WherryError) in try await two.send(request)
            }
            #expect(error?.reason == reason)
        }
        two.close()
    }

    @Test("K6 a cached response arrives on another thread than the caller's, with its headers")
    func delivery() async throws {
        let client = try client()
        _ = try await client.send(asking(for: .seconds(180)))
        var wanted = asking()
        wanted.set(.wantHeaders, 1)
        let events = Recorder()
        let transfer = try client.send(wanted, observer: events)
        _ = await events.end()
        #expect(events.kinds == ["headers", "done"])
        #expect(!events.wasToldHere)
        #expect(transfer.state == .done)
        #expect(try hits() == 1)
        client.close()
    }

    @Test("K7 failures, uploads, downloads, and streams are not stored")
    func notStored() async throws {
        let client = try client()
        for url in ["status/404", "bytes/1000?cut=10"] {
            let failing = asking(url, for: .seconds(180))
            let error = await failure { () async throws(WherryError) in
                try await client.send(failing)
            }
            #expect(error != nil)
        }
        var upload = asking("echo", for: .seconds(180), method: nil)
        upload.body = .multipart([.field("a", "1")])
        _ = try await client.send(upload)
        upload.method = "PUT"
        upload.body = .file(path: #filePath, contentType: nil)
        _ = try await client.send(upload)
        let file = folder.file("got")
        _ = try await client.download(asking("bytes/10", for: .seconds(180)), to: file).value
        for try await _ in try await client.stream(asking("bytes/10", for: .seconds(180))).body {}
        #expect(try await client.cache.usage().entries == 0)
        // Another type than JSON is stored; a refused response is not.
        _ = try await client.send(asking("bytes/10", for: .seconds(180)))
        #expect(try await client.send(asking("bytes/10")).isFromCache)
        var json = asking("bytes/11", for: .seconds(180))
        json.wantsJSON = true
        let error = await failure { () async throws(WherryError) in try await client.send(json) }
        #expect(error?.reason == "content_type")
        #expect(try await client.cache.usage().entries == 1)
        client.close()
    }
}
