// Wherry: threads that drive the loop of the libcurl transport, its end, and many requests at once
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

/// The number of threads and descriptors of this process; counted in separate processes, where no
/// other test creates any.
private enum Counts {
    /// Exiting threads are not included: a join returns a moment before /proc removes the thread.
    static var threads: Set<String> {
        Set(entries("/proc/self/task").filter { !isLeaving($0) })
    }
    static var descriptors: Int { entries("/proc/self/fd").count }

    private static func entries(_ path: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    }

    private static func isLeaving(_ thread: String) -> Bool {
        guard
            let line = try? String(
                contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8),
            let name = line.range(of: ") ", options: .backwards)
        else { return true }
        // After the name in brackets: state, five numbers, then the flags, including PF_EXITING.
        let fields = line[name.upperBound...].split(separator: " ")
        return fields.count > 6 && (UInt(fields[6]) ?? 0) & 4 != 0
    }
}

/// Records the threads on which a receiver is called.
private final class ThreadNoter: ExchangeReceiver {
    let threads = Monitor<[pthread_t]>([])
    let result = Monitor<ExchangeResult?>(nil)

    private func note() { threads.update { $0.append(pthread_self()) } }
    func exchangeDidStart(_ exchange: Exchange) { note() }
    func exchange(_ exchange: Exchange, didReceive head: ResponseHead) -> BodyDisposition {
        note()
        return .collect(limit: 1 << 20)
    }
    func exchange(_ exchange: Exchange, didReceive piece: Bytes) { note() }
    func exchangeDidProgress(_ exchange: Exchange) { note() }
    func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
        note()
        self.result.update { $0 = result }
    }
    var isFinished: Bool { result.withLock { $0 != nil } }
}

@Suite struct CurlLoopTests {
    private func exchange(_ url: String, _ receiver: any ExchangeReceiver) throws -> Exchange {
        Exchange(ExchangeRequest(method: "GET", url: try HTTPURL(url)), receiver: receiver)
    }

    // MARK: Driving

    @Test func `a waiting caller drives the loop on its own thread`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            for _ in 0..<3 {
                let receiver = ThreadNoter()
                transport.start(try exchange(scope.url("/bytes/10"), receiver), wake: .never)
                #expect(
                    transport.drive(until: { receiver.isFinished }, timeout: nil, returns: false))
                #expect(receiver.result.withLock { $0?.error } == nil)
                #expect(
                    receiver.threads.withLock {
                        $0.allSatisfy { pthread_equal($0, pthread_self()) != 0 }
                    })
                #expect(receiver.threads.withLock { $0.count } == 3)
            }
            #expect(try scope.stats().connections == 1)
        }
    }

    @Test func `work that a driver leaves unfinished continues on the loop's own thread`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let held = try Call("GET", scope.url("/bytes/10?gate=g"))
            transport.start(held.exchange, wake: .never)
            let receiver = ThreadNoter()
            transport.start(try exchange(scope.url("/bytes/10"), receiver), wake: .never)
            #expect(transport.drive(until: { receiver.isFinished }, timeout: nil, returns: false))
            #expect(!held.receiver.isFinished)
            // The thread drives it now, so no other thread may.
            #expect(!transport.drive(until: { false }, timeout: nil, returns: false))
            try scope.open(gate: "g")
            #expect(try held.result().error == nil)
        }
    }

    @Test func `driving ends at its timeout`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let call = try Call("GET", scope.url("/bytes/10?gate=g"))
            transport.start(call.exchange, wake: .never)
            let taken = transport.drive(
                until: { call.receiver.isFinished }, timeout: .milliseconds(20), returns: false)
            #expect(taken)
            #expect(!call.receiver.isFinished)
            try scope.open(gate: "g")
            #expect(try call.result().error == nil)
        }
    }

    @Test func `the thread yields to a returning caller, and takes over when it does not return`()
        throws
    {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let held = try Call("GET", scope.url("/bytes/10?gate=g"))
            transport.start(held.exchange, wake: .now)
            try scope.waitBlocking("requests=1")
            let receiver = ThreadNoter()
            transport.start(try exchange(scope.url("/bytes/10"), receiver), wake: .soon)
            #expect(transport.drive(until: { receiver.isFinished }, timeout: nil, returns: true))
            #expect(!held.receiver.isFinished)
            // No caller drives now: the thread detects that on its own.
            try scope.open(gate: "g")
            #expect(try held.result().error == nil)
        }
    }

    @Test func `work left for a caller that does not return is performed by the thread`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let call = try Call("GET", scope.url("/bytes/10"))
            transport.start(call.exchange, wake: .soon)
            #expect(try call.result().error == nil)
        }
    }

    @Test func `a returning caller leaves the loop to the thread if another caller waits`()
        throws
    {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let held = try Call("GET", scope.url("/bytes/10?gate=g"))
            transport.start(held.exchange, wake: .now)
            let isThere = Monitor(false)
            let bystander = try NativeThread(name: "bystander") {
                transport.standBy {
                    isThere.update { $0 = true }
                    _ = try? held.result()
                }
            }
            _ = isThere.wait { $0 ? true : nil }
            #expect(!transport.drive(until: { false }, timeout: nil, returns: true))
            try scope.open(gate: "g")
            bystander.join()
            #expect(try held.result().error == nil)
        }
    }

    @Test func `a driver that is woken checks whether it is done`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let held = try Call("GET", scope.url("/bytes/10?gate=g"))
            transport.start(held.exchange, wake: .never)
            let isDone = Monitor(false)
            let teller = try NativeThread(name: "teller") {
                _ = try? scope.waitBlocking("requests=1")
                isDone.update { $0 = true }
                transport.lookAgain()
            }
            #expect(
                transport.drive(until: { isDone.withLock { $0 } }, timeout: nil, returns: false))
            teller.join()
            try scope.open(gate: "g")
            #expect(try held.result().error == nil)
        }
    }

    @Test func `several threads start and wait at once`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let failures = Monitor(0)
            let threads = try (0..<4).map { _ in
                try NativeThread(name: "caller") {
                    for _ in 0..<50 {
                        let receiver = ThreadNoter()
                        guard let exchange = try? self.exchange(scope.url("/bytes/10"), receiver)
                        else { return failures.update { $0 += 1 } }
                        transport.start(exchange, wake: .never)
                        _ = transport.drive(
                            until: { receiver.isFinished }, timeout: nil, returns: false)
                        let result = receiver.result.wait(timeout: .milliseconds(600_000)) { $0 }
                        if result == nil || result?.error != nil { failures.update { $0 += 1 } }
                    }
                }
            }
            for thread in threads { thread.join() }
            #expect(failures.withLock { $0 } == 0)
            #expect(try scope.requests().count == 200)
        }
    }

    @Test func `a close reaches a thread that drives`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let call = try Call("GET", scope.url("/silent"))
            transport.start(call.exchange, wake: .never)
            let closer = try NativeThread(name: "closer") {
                _ = try? scope.waitBlocking("requests=1")
                transport.close()
            }
            #expect(
                transport.drive(until: { call.receiver.isFinished }, timeout: nil, returns: false))
            closer.join()
            #expect(try call.result().error?.kind == .cancelled)
            #expect(!transport.drive(until: { true }, timeout: nil, returns: false))
        }
    }

    // MARK: Closing

    @Test func `after a close, exchanges are refused and nothing happens twice`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let before = try Call("GET", scope.url("/bytes/10")).start(on: transport)
            _ = try before.result()
            transport.close()
            transport.close()
            let late = try Call("GET", scope.url("/bytes/10")).start(on: transport)
            #expect(try late.result().error?.kind == .shutDown)
            transport.cancel(late.exchange)
            transport.setPaused(late.exchange, true)
            transport.schedule(at: transport.clock.now()) { Issue.record("ran after the close") }
            transport.setConnectionLimits(perHost: 1, total: 1)
            #expect(late.receiver.heard.withLock { $0.results.count } == 1)
        }
    }

    @Test func `a receiver may close the transport and create one in its last call`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let late = Lock<[Call]>([])
            let receiver = RecordingReceiver(onFinish: { _ in
                transport.close()
                guard let call = try? Call("GET", scope.url("/bytes/10")) else { return }
                call.start(on: transport)
                late.withLock { $0.append(call) }
            })
            let call = try Call("GET", scope.url("/bytes/10"), receiver: receiver)
                .start(on: transport)
            #expect(try call.result().error == nil)
            transport.close()
            let started = late.withLock { $0 }
            #expect(started.count == 1)
            for call in started {
                let kind = try call.result().error?.kind
                #expect(kind == .cancelled || kind == .shutDown || kind == nil)
            }
        }
    }

    @Test func `closing with work in flight leaks no thread and no descriptor`() async {
        await #expect(processExitsWith: .success) {
            let server = try TestServer()
            var configuration = TransportConfiguration()
            configuration.proxies.all = ""
            configuration.maxPerHost = 10
            // Lazily created objects are created before counting.
            func round(_ close: (CurlTransport) -> Void) throws {
                let scope = server.scope()
                let transport = try CurlTransport(configuration)
                let idle = try Call("GET", scope.url("/bytes/10")).start(on: transport)
                _ = try idle.result()
                let calls = try (0..<20).map { index in
                    try Call(
                        "GET", scope.url(index % 2 == 0 ? "/silent" : "/bytes/1000?hold=10&gate=g"))
                }
                for call in calls { call.start(on: transport) }
                _ = try scope.waitBlocking("requests=11")
                close(transport)
                for call in calls {
                    try #require(call.receiver.isFinished)
                    try #require(try call.result().error?.kind == .cancelled)
                }
                // The server has seen all connections end.
                _ = try scope.waitBlocking("open_most=0")
                withExtendedLifetime(transport) {}
            }
            try round { $0.close() }
            let threads = Counts.threads
            let descriptors = Counts.descriptors
            for _ in 0..<5 { try round { $0.close() } }
            try #require(Counts.descriptors == descriptors)
            try #require(Counts.threads.isSubset(of: threads))
            // Four threads close it at once: each returns when everything is released.
            try round { transport in
                let closers = (0..<4).compactMap { _ in
                    try? NativeThread(name: "closer") { transport.close() }
                }
                for closer in closers { closer.join() }
            }
            try #require(Counts.descriptors == descriptors)
            try #require(Counts.threads.isSubset(of: threads))
            exit(0)
        }
    }

    @Test
    func
        `a transport makes no thread before its first exchange, and lets go of all without a close`()
        async
    {
        await #expect(processExitsWith: .success) {
            let server = try TestServer()
            func counted(_ body: () throws -> Void) throws -> (
                threads: Set<String>, descriptors: Int
            ) {
                try body()
                return (Counts.threads, Counts.descriptors)
            }
            var configuration = TransportConfiguration()
            configuration.proxies.all = ""
            let clock = ManualClock()
            func use() throws {
                let transport = try CurlTransport(configuration, clock: clock)
                let threads = Counts.threads
                clock.advance(by: 1)
                transport.setConnectionLimits(perHost: 2, total: 2)
                try #require(Counts.threads.isSubset(of: threads))
                let receiver = RecordingReceiver()
                let exchange = Exchange(
                    ExchangeRequest(method: "GET", url: try HTTPURL(server.url("/bytes/10"))),
                    receiver: receiver)
                transport.start(exchange, wake: .now)
                _ = try receiver.result()
                try #require(Counts.threads.subtracting(threads).count == 1)
                // The exchange references its transport: both are released here.
                transport.close()
            }
            _ = try counted(use)
            let before = try counted(use)
            let after = try counted(use)
            try #require(before.descriptors == after.descriptors)
            try #require(after.threads.isSubset(of: before.threads))
            exit(0)
        }
    }

    // MARK: Many requests

    @Test func `two thousand requests, 64 in flight, from four threads`() throws {
        let scope = try TestServer.shared.scope()
        var configuration = TransportConfiguration()
        configuration.maxPerHost = 64
        configuration.maxConnections = 64
        struct Tally {
            var inFlight = 0
            var ended = 0
            var wrong: [String] = []
        }
        try withTransport(configuration) { transport in
            let tally = Monitor(Tally())
            let threads = try (0..<4).map { thread in
                try NativeThread(name: "starter") {
                    for index in 0..<500 {
                        _ = tally.wait(timeout: .milliseconds(600_000)) { tally -> Bool? in
                            guard tally.inFlight < 64 else { return nil }
                            tally.inFlight += 1
                            return true
                        }
                        let size = 1 + (thread * 500 + index) % 3_000
                        let receiver = RecordingReceiver(onFinish: { result in
                            tally.update { tally in
                                tally.inFlight -= 1
                                tally.ended += 1
                                if result.error != nil || result.head?.status != 200
                                    || result.body.count != size
                                {
                                    tally.wrong.append(
                                        "\(size): \(result.body.count) \(String(describing: result.error))"
                                    )
                                }
                            }
                        })
                        guard
                            let call = try? Call(
                                "GET", scope.url("/bytes/\(size)"), receiver: receiver)
                        else { return }
                        call.start(on: transport)
                    }
                }
            }
            for thread in threads { thread.join() }
            #expect(
                tally.wait(timeout: .milliseconds(600_000)) { $0.ended == 2_000 ? true : nil }
                    == true)
            #expect(tally.withLock { $0.wrong } == [])
            let stats = try scope.stats()
            #expect(stats.requests == 2_000)
            #expect(stats.peakConnections <= 64)
            #expect(stats.connections <= 64)
        }
    }
}
