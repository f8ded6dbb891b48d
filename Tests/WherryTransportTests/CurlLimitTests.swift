// Wherry: the libcurl transport with few resources, and in a forked child
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct CurlLimitTests {
    @Test func `a raised limit applies at once, also while the loop sleeps`() throws {
        let scope = try TestServer.shared.scope()
        var configuration = TransportConfiguration()
        configuration.maxPerHost = 1
        try withTransport(configuration) { transport in
            let held = try Call("GET", scope.url("/bytes/10?gate=g")).start(on: transport)
            let second = try Call("GET", scope.url("/bytes/11")).start(on: transport)
            try scope.waitBlocking("requests=1")
            transport.setConnectionLimits(perHost: 2, total: 2)
            #expect(try second.result().error == nil)
            #expect(!held.receiver.isFinished)
            try scope.open(gate: "g")
            #expect(try held.result().error == nil)
        }
    }

    @Test func `a request that was never sent has no measurements`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let first = try Call("GET", scope.url("/bytes/1000")).start(on: transport).result()
            #expect(first.metrics.received > 1000 && first.metrics.remoteAddress == "127.0.0.1")
            let second = try Call("GET", scope.url("/bytes/1000"))
            // Both in one iteration of the loop, before libcurl has seen the first.
            transport.schedule(at: transport.clock.now()) {
                transport.start(second.exchange, wake: .now)
                transport.cancel(second.exchange)
            }
            let metrics = try second.result().metrics
            #expect(try second.result().error?.kind == .cancelled)
            #expect(metrics.received == 0 && metrics.sent == 0 && metrics.total == 0)
            #expect(metrics.remoteAddress == "" && metrics.httpVersion == 0)
        }
    }

    @Test(arguments: [0, 1, 1000, 65_536, 65_537])
    func `a body of any size is reported as sent completely`(size: Int) throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let body = Bytes(repeatElement(UInt8(7), count: size))
            for method in ["POST", "PUT"] {
                let call = try Call(
                    method, scope.url("/sink"), headers: [("Expect", nil)], body: .bytes(body)
                ) { $0.wantsProgress = true }.start(on: transport)
                #expect(try call.result().error == nil)
                #expect(call.exchange.sent == Int64(size))
            }
        }
    }

    @Test func `handles that wait for reuse hold no large buffers`() async {
        await #expect(processExitsWith: .success) {
            let server = try TestServer()
            var configuration = TransportConfiguration()
            configuration.maxPerHost = 40
            configuration.maxConnections = 40
            try withTransport(configuration) { transport in
                let body = Bytes(repeatElement(UInt8(7), count: 200_000))
                let before = try heldMemory()
                let scope = server.scope()
                do {
                    // All at once, so that each has a separate handle.
                    let calls = try (0..<40).map { _ in
                        try Call(
                            "PUT", scope.url("/sink?gate=g"), headers: [("Expect", nil)],
                            body: .bytes(body)
                        ).start(on: transport)
                    }
                    _ = try scope.waitBlocking("requests=40")
                    try scope.open(gate: "g")
                    for call in calls { try #require(try call.result().error == nil) }
                }
                let after = try heldMemory()
                try #require(after - before < 20 << 20, "\(after - before) bytes are held")
            }
            exit(0)
        }
    }

    @Test func `without a free thread, no request waits for one`() async {
        await #expect(processExitsWith: .success) {
            let server = try TestServer()
            let scope = server.scope()
            try withTransport { transport in
                let warm = try Call("GET", scope.url("/bytes/10"))
                transport.start(warm.exchange, wake: .never)
                _ = transport.drive(
                    until: { warm.receiver.isFinished }, timeout: nil, returns: false)
                let held = try Call("GET", scope.url("/bytes/10?gate=never"))
                transport.start(held.exchange, wake: .never)
                let mine = try Call("GET", scope.url("/bytes/10"))
                transport.start(mine.exchange, wake: .never)
                // Space for small objects, none for a thread's stack. Stacks of ended threads are
                // reused: other threads take those.
                try limitMemory(toMore: 4 << 20)
                while (try? NativeThread(name: "more", { while true { pause() } })) != nil {}
                #expect(throws: SystemError.self) { try NativeThread(name: "one", {}).join() }
                _ = transport.drive(
                    until: { mine.receiver.isFinished }, timeout: nil, returns: false)
                try #require(try mine.result().error == nil)
                try #require(held.receiver.isFinished)
                try #require(try held.result().error?.kind == .noMemory)
            }
            exit(0)
        }
    }

    @Test func `a request without memory for its headers or copies fails`() async {
        await #expect(processExitsWith: .success) {
            let server = try TestServer()
            let large = String(repeating: "x", count: 64 << 20)
            try limitMemory(toMore: 16 << 20)
            let list = HeaderList([(name: "X-Large", value: large)])
            try #require(list.isIncomplete)
            try #require(HeaderList([(name: "X-More", value: "1")], rest: list).isIncomplete)
            try #require(!HeaderList([(name: "X-More", value: "1")]).isIncomplete)
            try withTransport { transport in
                let request = ExchangeRequest(
                    method: "GET", url: try HTTPURL(server.url("/empty")), headers: list)
                let receiver = RecordingReceiver()
                let exchange = Exchange(request, receiver: receiver)
                transport.start(exchange, wake: .never)
                _ = transport.drive(until: { receiver.isFinished }, timeout: nil, returns: false)
                try #require(try receiver.result().error?.kind == .noMemory)
            }
            var text = large
            try #require(
                text.withUTF8 { Bytes(copyingIfPossible: UnsafeRawBufferPointer($0)) } == nil)
            exit(0)
        }
        await #expect(processExitsWith: .failure) {
            let large = String(repeating: "x", count: 64 << 20)
            try limitMemory(toMore: 16 << 20)
            exit(Bytes(large).count == 0 ? 0 : 0)
        }
    }

    @Test func `a forked child that releases a transport keeps its parent's connections open`()
        async
    {
        await #expect(processExitsWith: .success) {
            let server = try TestServer(certificate: .good)
            let scope = server.scope()
            var configuration = TransportConfiguration()
            configuration.proxies.all = ""
            configuration.caFile = server.ca
            var transport: CurlTransport? = try CurlTransport(configuration)
            func ask() throws -> ExchangeResult {
                let call = try Call("GET", scope.tlsURL("/bytes/10"))
                transport?.start(call.exchange, wake: .never)
                _ = transport?.drive(
                    until: { call.receiver.isFinished }, timeout: nil, returns: false)
                return try call.result()
            }
            try #require(try ask().error == nil)
            weak let gone = transport
            let pid = try forked {
                alarm(60)
                transport = nil
                return gone == nil ? 0 : 1
            }
            var status: Int32 = -1
            try #require(waitpid(pid, &status, 0) == pid)
            try #require(status == 0)
            let second = try ask()
            try #require(second.error == nil && second.metrics.isReused)
            try #require(try scope.stats().connections == 1)
            transport?.close()
            exit(0)
        }
    }
}

/// The bytes that malloc has allocated and not freed.
private func heldMemory() throws -> Int {
    typealias Info = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32
    let info = unsafeBitCast(try #require(dlsym(nil, "malloc_info")), to: Info.self)
    let file = try #require(tmpfile())
    defer { fclose(file) }
    try #require(info(0, UnsafeMutableRawPointer(file)) == 0)
    rewind(file)
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = fread(&bytes, 1, bytes.count, file)
    // The last of each kind is the sum over all arenas.
    var sizes: [Substring: Int] = [:]
    for line in String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n") {
        let parts = line.split(separator: "\"")
        guard line.hasPrefix("<total") || line.hasPrefix("<system"), parts.count > 3 else {
            continue
        }
        sizes[parts[1]] = Int(parts[parts.count - 2])
    }
    let (system, free) = (try #require(sizes["current"]), ["fast", "rest"].map { sizes[$0] ?? 0 })
    return system - free.reduce(0, +) + (sizes["mmap"] ?? 0)
}

/// Lets this process have this many more bytes of address space.
private func limitMemory(toMore bytes: Int) throws {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        .split(separator: " ").first.flatMap { Int($0) }
    var limit = rlimit()
    limit.rlim_cur = rlim_t(try #require(pages) * 4096 + bytes)
    limit.rlim_max = limit.rlim_cur
    try #require(setrlimit(__rlimit_resource_t(9), &limit) == 0)  // RLIMIT_AS
}
