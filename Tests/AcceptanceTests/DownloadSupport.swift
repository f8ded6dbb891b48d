// Wherry: helpers for the acceptance tests of downloads
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

/// Observes one download and keeps all events.
final class DownloadWatcher: TransferObserver {
    private struct State {
        var events: [TransferEvent] = []
        var outcomes: [TransferOutcome] = []
        var waiters:
            [(condition: @Sendable ([TransferEvent]) -> Bool, CheckedContinuation<Void, Never>)] =
                []
    }
    private let state = Lock(State())
    private let clock: ManualClock?

    /// - Parameter clock: advanced whenever the download waits, so that tests do not wait.
    init(clock: ManualClock? = nil) { self.clock = clock }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        if case .state(.waiting, _) = event { clock?.advance(by: .milliseconds(61_000)) }
        let ready = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.events.append(event)
            if case .done(let outcome) = event { state.outcomes.append(outcome) }
            let isOver = !state.outcomes.isEmpty
            let ready = state.waiters.filter { isOver || $0.condition(state.events) }.map(\.1)
            state.waiters.removeAll { isOver || $0.condition(state.events) }
            return ready
        }
        for continuation in ready { continuation.resume() }
    }

    /// Until the condition holds, or the download has ended.
    func wait(until condition: @escaping @Sendable ([TransferEvent]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state -> Bool in
                if !state.outcomes.isEmpty || condition(state.events) { return true }
                state.waiters.append((condition, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    /// The end; exactly one must have been reported.
    func end() async -> TransferOutcome {
        await wait { _ in false }
        let outcomes = state.withLock { $0.outcomes }
        #expect(outcomes.count == 1, "a download ends once")
        return outcomes[0]
    }

    func wait(for wanted: TransferState) async {
        await wait { events in
            events.contains { if case .state(let state, _) = $0 { state == wanted } else { false } }
        }
    }

    var events: [TransferEvent] { state.withLock { $0.events } }
    var states: [(state: TransferState, reason: String?)] {
        events.compactMap {
            if case .state(let state, let reason) = $0 { (state, reason?.rawValue) } else { nil }
        }
    }
    /// The reasons for restarts.
    var restarts: [String] {
        states.compactMap { $0.state == .restarted ? $0.reason ?? "" : nil }
    }
    /// The reports other than states: "journal_invalid", "already_complete".
    var remarks: [String] {
        states.compactMap { $0.state == .restarted || $0.state == .waiting ? nil : $0.reason }
    }
    var progresses: [Wherry.Progress] {
        events.compactMap { if case .progress(let progress) = $0 { progress } else { nil } }
    }
}

/// A finished download with all its events.
struct DownloadEnd {
    let outcome: TransferOutcome
    let watcher: DownloadWatcher

    var error: WherryError? { outcome.error }
    var reason: String? { outcome.error?.reason }
    var path: String? { outcome.path }
    var restarts: [String] { watcher.restarts }
    /// The number of existing bytes at the first progress.
    var resumedAt: Int64? { watcher.progresses.first?.resumedAt }
}

extension Client {
    /// Downloads and waits for the end.
    func run(
        _ url: String, to path: String, clock: ManualClock? = nil,
        _ change: (inout Request) -> Void = { _ in }
    ) async throws(WherryError) -> DownloadEnd {
        var request = Request(url)
        change(&request)
        let watcher = DownloadWatcher(clock: clock)
        let transfer = try download(request, to: path, observer: watcher)
        let outcome = await watcher.end()
        withExtendedLifetime(transfer) {}
        return DownloadEnd(outcome: outcome, watcher: watcher)
    }

    /// Starts a download.
    func begin(
        _ url: String, to path: String, _ change: (inout Request) -> Void = { _ in }
    ) throws(WherryError) -> (Transfer, DownloadWatcher) {
        var request = Request(url)
        change(&request)
        let watcher = DownloadWatcher()
        return (try download(request, to: path, observer: watcher), watcher)
    }
}

/// The contents of downloads.md, section 4.
enum Contents {
    static let size = 1_060_921
    static let cut = 400_000
    static let v1 = make(seed: 1)
    static let v2 = make(seed: 2)

    static func make(seed: UInt64, size: Int = size) -> Data {
        Data(TestPattern.bytes(seed: seed, count: size))
    }

    static func digest(_ data: Data, _ algorithm: DigestAlgorithm = .sha256) -> ExpectedDigest {
        ExpectedDigest(
            algorithm: algorithm, value: Digest.hash(of: Array(data), algorithm))
    }
}

/// A server scope, a client with a clock moved by the test, and a folder.
struct DownloadBench {
    let scope: TestServer.Scope
    let clock = ManualClock()
    let client: Client
    let folder: TemporaryFolder

    init(_ configure: (inout Client.Configuration) -> Void = { _ in }) throws {
        scope = try TestServer.shared.scope()
        folder = try TemporaryFolder()
        let clock = clock
        client = try makeClient(scope) { configuration in
            configuration.clock = clock
            configure(&configuration)
        }
    }

    func url(_ query: String = "", size: Int = Contents.size) -> String {
        scope.url("/bytes/\(size)" + (query.isEmpty ? "" : "?" + query))
    }

    /// Downloads to "a.bin"; waits for retries take no time.
    func run(
        _ url: String, retries: Int = 5, _ change: (inout Request) -> Void = { _ in }
    ) async throws -> DownloadEnd {
        try await client.run(url, to: folder.file("a.bin"), clock: clock) { request in
            request.maxRetries = retries
            change(&request)
        }
    }

    /// A first run that ends at the server's cut and leaves the first 400,000 bytes.
    func runUntilCut(_ query: String = "cut=400000&times=1") async throws -> DownloadEnd {
        let end = try await run(url(query), retries: 0)
        #expect(end.reason == "truncated")
        #expect(try client.partial(of: folder.file("a.bin"))?.bytes == 400_000)
        return end
    }

    func contents() throws -> Data { try folder.contents("a.bin") }

    /// Until this many bytes have arrived. A request to the server, which also serves others,
    /// is the wait.
    ///
    /// A partial file is created and locked before its first byte, which may take long on a busy
    /// disk.
    func wait(forBytes count: Int64, of transfer: Transfer) async throws {
        let limit = ContinuousClock.now + .seconds(600)
        while ContinuousClock.now < limit {
            if transfer.progress.completed >= count || transfer.state.isFinal { return }
            try await scope.wait("requests=0")
        }
        Issue.record("\(count) bytes did not come")
    }

    /// The names of partial file and journal in the folder.
    func leftovers() throws -> (part: String?, journal: String?) {
        let names = try folder.names
        return (
            names.first { $0.hasSuffix(".part") }.map(folder.file),
            names.first { $0.hasSuffix(".journal") }.map(folder.file)
        )
    }
}

/// The program that downloads one file.
enum DownloadProgram {
    static var path: String { get throws { try BuiltProgram.path("DownloadChild") } }
}

/// A program built next to the tests.
enum BuiltProgram {
    static func path(_ name: String) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let folder = URL(fileURLWithPath: tests).deletingLastPathComponent()
        let beside = folder.appendingPathComponent(name).path
        if FileManager.default.fileExists(atPath: beside) { return beside }
        // The tests run in a helper of the toolchain, which names them.
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
        return URL(fileURLWithPath: try #require(bundle)).deletingLastPathComponent()
            .appendingPathComponent(name).path
    }
}
