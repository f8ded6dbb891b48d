// Wherry: acceptance tests of clients that are closed during use
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct ClosingTests {
    /// The kinds of transfers.
    enum Start: String, CaseIterable, Sendable {
        case request, pictures, stream, download
    }

    // The client's cancel found a transfer before it had started, nothing waited for it, and its
    // end was reported to its owner after everything had been freed.
    @Test(
        "M12 closing a client waits for the end of a transfer that another thread is starting",
        arguments: Start.allCases)
    func starting(kind: Start) async throws {
        let scope = try TestServer.shared.scope()
        let folder = try TemporaryFolder()
        try Data("no picture".utf8).write(to: URL(fileURLWithPath: folder.file("text")))
        for round in 0..<loops(1_000) {
            let client = try makeClient(scope)
            let closer = Closer(client)
            var request = Request("sink", method: "PUT")
            switch kind {
            case .request: request.body = .bytes(Bytes("abc".utf8), contentType: nil)
            case .pictures:
                request = Request("sink")
                request.body = .multipart([.image("a", .file(folder.file("text")), Compression())])
            case .stream: request.body = .stream(length: nil, contentType: nil)
            case .download: request = Request("bytes/1000")
            }
            let transfer =
                kind == .download
                ? try client.download(
                    request, to: folder.file("\(round)"), observer: closer)
                : try client.send(request, observer: closer)
            let outcome = try #require(await closer.end(), "closed before the end was told")
            // The closing thread may be so slow that the transfer ends before the cancel.
            if let error = outcome.error, kind != .pictures {
                #expect(error.code == .cancelled, "\(error)")
            }
            withExtendedLifetime(transfer) {}
        }
    }
}

/// Lets another thread close its client when the transfer is registered but not started.
private final class Closer: TransferObserver {
    private struct State {
        var outcome: TransferOutcome?
        var thread: NativeThread?
        /// The events reported before the client was closed.
        var toldAtClosing: TransferOutcome??
    }
    private let client: Client
    private let state = Monitor(State())

    init(_ client: Client) { self.client = client }

    func willStart(_ transfer: Transfer) throws(WherryError) {
        do throws(SystemError) {
            let thread = try NativeThread(name: "closer") { [self] in
                client.close()
                state.update { $0.toldAtClosing = .some($0.outcome) }
            }
            state.update { $0.thread = thread }
        } catch {
            throw WherryError(error)
        }
        while !client.pool.isClosed { sched_yield() }
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        if case .done(let outcome) = event { state.update { $0.outcome = outcome } }
    }

    /// The events of the end reported before the client was closed.
    func end() async -> TransferOutcome? {
        await withCheckedContinuation { continuation in
            Thread { [state] in
                state.withLock { $0.thread }?.join()
                continuation.resume(returning: state.withLock { $0.toldAtClosing } ?? nil)
            }.start()
        }
    }
}
