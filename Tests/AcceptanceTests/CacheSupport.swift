// Wherry: helpers for the acceptance tests of the caches
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Wherry
import WherrySystem

/// A server, a folder, and a clock for clients with caches.
struct CacheBench {
    let scope: TestServer.Scope
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws {
        scope = try TestServer.shared.scope()
        folder = try TemporaryFolder()
    }

    func client(_ configure: (inout Client.Configuration) -> Void = { _ in }) throws -> Client {
        try makeClient(scope) {
            $0.storageDirectory = folder.file("storage")
            $0.clock = clock
            configure(&$0)
        }
    }

    /// Every file in the folder.
    var files: [String] {
        FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    }

    /// The entry files of the named store.
    func entryFiles(_ store: String = "timed") -> [String] {
        files.filter { $0.hasPrefix("storage/\(store)/") && $0.split(separator: "/").count == 5 }
    }
}

/// Tests, each with its own bench.
protocol CacheSuite {
    var bench: CacheBench { get }
}

extension CacheSuite {
    var scope: TestServer.Scope { bench.scope }
    var folder: TemporaryFolder { bench.folder }
    var clock: ManualClock { bench.clock }

    func client(_ configure: (inout Client.Configuration) -> Void = { _ in }) throws -> Client {
        try bench.client(configure)
    }

    /// The number of requests that reached the server.
    func hits() throws -> Int { try scope.requests().count }
}

/// A request of the timed cache.
func asking(
    _ url: String = "cache", loads: Bool = true, for duration: Duration = .zero,
    parameters: JSONObject = [:], method: String? = "GET"
) -> Request {
    var request = Request(url, method: method)
    request.loadsCache = loads
    request.cacheDuration = duration
    request.parameters = parameters
    return request
}

/// Records its events, and whether they arrive on the thread that created it.
final class Recorder: TransferObserver {
    private struct State {
        var kinds: [String] = []
        var wasToldHere = false
    }
    private let state = Guarded(State())
    private let thread = pthread_self()
    private let outcomes: AsyncStream<TransferOutcome>
    private let continuation: AsyncStream<TransferOutcome>.Continuation

    init() { (outcomes, continuation) = AsyncStream.makeStream() }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        let isHere = pthread_equal(pthread_self(), thread) != 0
        state.withLock { state in
            state.kinds.append("\(event)".prefix { $0 != "(" }.description)
            if isHere { state.wasToldHere = true }
        }
        guard case .done(let outcome) = event else { return }
        continuation.yield(outcome)
        continuation.finish()
    }

    func end() async -> TransferOutcome {
        for await outcome in outcomes { return outcome }
        return TransferOutcome(error: Transfer.cancelledError)
    }

    var kinds: [String] { state.withLock { $0.kinds } }
    var wasToldHere: Bool { state.withLock { $0.wasToldHere } }
}
