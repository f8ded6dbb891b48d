// Wherry: acceptance tests of forked children, and of handles released in their own events
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct ForkTests {
    @Test("M12 in a forked child an older client fails with forked, and a new one works")
    func child() async throws {
        await #expect(processExitsWith: .success) {
            let scope = try TestServer.shared.scope()
            let client = try makeClient(scope)
            let running = try client.start(Request("faulty-echo?gate=go"))
            // On this very thread, without await: a lock that another thread holds at the moment of
            // the fork stays locked in the child. This includes locks of the runtime, which it
            // takes on the first use of a type: the second request uses no new type.
            for _ in 0..<2 { try #require(try client.perform(Request("echo")).status == 200) }
            try scope.waitBlocking("requests=3")

            let pid = try forked {
                alarm(600)
                do throws(WherryError) {
                    _ = try client.perform(Request("echo"))
                    return 1
                } catch {
                    guard error.reason == "forked", error.code == .forked else { return 2 }
                }
                // The parent's objects are released without waiting for its threads.
                client.close()
                guard let fresh = try? makeClient(scope),
                    (try? fresh.perform(Request("echo")).status) == 200
                else { return 3 }
                fresh.close()
                return 0
            }

            var status: Int32 = -1
            try #require(waitpid(pid, &status, 0) == pid)
            try #require(status == 0, "the child ended with \(status >> 8), signal \(status & 127)")
            // The parent's transfer was not touched.
            try scope.open(gate: "go")
            try #require(try await running.value.status == 200)
            try #require(try client.perform(Request("echo")).status == 200)
        }
    }

    /// They were inherited from a client that allows all addresses: a server did not notice when a
    /// connection was closed while such a program was running.
    @Test("M12 a started program inherits no connection")
    func inherited() async throws {
        // A separate server: no other client is connected to it.
        let server = try TestServer()
        defer { server.stop() }
        let client = try makeClient()
        #expect(try await client.get(server.url("/echo")).status == 200)
        let port = try #require(URL(string: server.url("/"))?.port)
        var flags: [Int32] = []
        for descriptor in Int32(0)..<4096 {
            var peer = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isConnected = withUnsafeMutablePointer(to: &peer) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getpeername(descriptor, $0, &size) == 0
                }
            }
            guard isConnected, peer.sin_family == sa_family_t(AF_INET),
                Int(UInt16(bigEndian: peer.sin_port)) == port
            else { continue }
            flags.append(fcntl(descriptor, F_GETFD))
        }
        #expect(flags == [FD_CLOEXEC])
        client.close()
    }

    @Test("M12 in a forked child a request that a cache would serve ends normally")
    func childWithCache() async throws {
        await #expect(processExitsWith: .success) {
            let scope = try TestServer.shared.scope()
            let folder = try TemporaryFolder()
            let client = try makeClient(scope) {
                $0.storageDirectory = folder.file("storage")
                $0.usesHTTPCache = true
            }
            let request = Request("cache?control=max-age%3D60", method: "GET")
            // A worker has started by then, and waits for more work. Another request has already
            // used all types, which the runtime registers under a lock.
            try #require(try await client.send(Request("echo")).status == 200)
            try #require(try await client.send(request).status == 200)
            try #require(try await client.send(request).isFromCache)
            let pid = try forked {
                alarm(600)
                let first = EndNote()
                guard (try? client.send(request, observer: first)) != nil else { return 1 }
                // Still from the store, and on this very thread.
                guard first.outcome?.response?.isFromCache == true else { return 2 }
                var other = request
                other.cachePolicy = .reload
                let second = EndNote()
                guard (try? client.send(other, observer: second)) != nil else { return 3 }
                guard second.outcome?.error?.reason == "forked" else { return 4 }
                client.close()
                return 0
            }
            var status: Int32 = -1
            try #require(waitpid(pid, &status, 0) == pid)
            try #require(status == 0, "the child ended with \(status >> 8), signal \(status & 127)")
            client.close()
        }
    }

    @Test("M12 a client and its transfer may be released in their own events")
    func lettingGo() async throws {
        let scope = try TestServer.shared.scope()
        let owner = Guarded<(client: Client?, transfer: Transfer?)>((nil, nil))
        let letGo = LettingGo { owner.withLock { $0 = (nil, nil) } }
        weak var gone: Client?
        do {
            let client = try makeClient(scope)
            gone = client
            let transfer = try client.send(Request("faulty-echo?gate=go"), observer: letGo)
            owner.withLock { $0 = (client, transfer) }
        }
        try scope.open(gate: "go")

        let outcome = await letGo.outcome()

        #expect(outcome.response?.status == 200)
        #expect(outcome.response?.body.isEmpty == false)
        #expect(owner.withLock { $0.client == nil })
        _ = gone
    }
}

/// Runs a function in the last event.
private final class LettingGo: TransferObserver {
    private let action: @Sendable () -> Void
    private let ended = Monitor<TransferOutcome?>(nil)

    init(_ action: @escaping @Sendable () -> Void) { self.action = action }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        guard case .done(let outcome) = event else { return }
        action()
        ended.update { $0 = outcome }
    }

    func outcome() async -> TransferOutcome {
        await withCheckedContinuation { continuation in
            Thread { [ended] in
                continuation.resume(
                    returning: ended.wait { $0 } ?? TransferOutcome(error: nil))
            }.start()
        }
    }
}

/// Records how a transfer ended.
private final class EndNote: TransferObserver {
    private let end = Guarded<TransferOutcome?>(nil)
    var outcome: TransferOutcome? { end.withLock { $0 } }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        if case .done(let outcome) = event { end.withLock { $0 = outcome } }
    }
}
