// Wherry: helpers for the acceptance tests
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Wherry
import WherrySystem

/// A client whose base is the test's scope of the server, independent of the environment.
///
/// Its timeouts are generous: concurrent tests may keep every thread busy for long.
func makeClient(
    _ scope: TestServer.Scope? = nil, _ configure: (inout Client.Configuration) -> Void = { _ in }
) throws -> Client {
    try Client { configuration in
        configuration.proxy = ""
        configuration.baseURL = scope?.url("/")
        configuration.idleTimeout = .seconds(600)
        configuration.firstByteTimeout = .seconds(600)
        configuration.connectTimeout = .seconds(600)
        configuration.hookTimeout = .seconds(600)
        configure(&configuration)
    }
}

extension Client {
    /// Returns when the network thread has done everything that is due by now.
    func settle(_ clock: ManualClock) async {
        await withCheckedContinuation { continuation in
            transport.schedule(at: clock.now()) { continuation.resume() }
        }
    }
}

/// The request as `/echo` saw it.
struct Echo: Decodable {
    struct Part: Decodable {
        let name: String?
        let filename: String?
        let type: String?
        let size: Int
        let sha256: String
        let text: String?
        let headers: [[String]]?
    }
    let method: String
    let target: String
    let path: String
    let query: [[String]]
    let headers: [[String]]
    let size: Int
    let body: String
    let form: [[String]]?
    let parts: [Part]?
    let chunked: Bool
    let connection: Int

    /// The body as text.
    var text: String { String(decoding: Data(base64Encoded: body) ?? Data(), as: UTF8.self) }
    /// The values of the named field.
    func values(_ name: String) -> [String] {
        headers.filter { $0[0].lowercased() == name.lowercased() }.map { $0[1] }
    }
    /// The text after the question mark, as it was sent.
    var rawQuery: String { target.split(separator: "?", maxSplits: 1).dropFirst().joined() }
}

extension Client {
    /// Sends to an echo route and returns its report.
    func echo(_ request: Request, hooks: Hooks? = nil) async throws -> Echo {
        try await send(request, as: Echo.self, hooks: hooks)
    }
}

private struct Scenarios<Case: Decodable>: Decodable {
    let cases: [Case]
}

/// A case table in Tests/Scenarios, shared with C and Python.
func scenarios<Case: Decodable>(_ name: String, of type: Case.Type) throws -> [Case] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Scenarios")
    let data = try Data(contentsOf: folder.appendingPathComponent(name))
    return try JSONDecoder().decode(Scenarios<Case>.self, from: data).cases
}

/// How often a loop runs: in full with WHERRY_LOOPS=full, otherwise a tenth.
func loops(_ count: Int) -> Int {
    ProcessInfo.processInfo.environment["WHERRY_LOOPS"] == "full" ? count : count / 10
}

/// The error that `body` throws; `nil` if it throws none.
func failure<Result>(_ body: () async throws(WherryError) -> Result) async -> WherryError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

/// A value behind a lock.
final class Guarded<Value>: @unchecked Sendable {  // `value` is accessed only under `lock`
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}

/// A folder of a test, deleted with it.
final class TemporaryFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "wherry-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }
    func contents(_ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: file(name)))
    }
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}

/// The states that a caller may see after each state (M5). A transfer's first state is `queued`,
/// and running is reported only if another state was reported before.
struct StateTable {
    let next: [TransferState: Set<TransferState>]

    static let requests = StateTable(next: [
        .queued: [.running, .paused, .waiting, .done, .failed, .cancelled],
        .running: [.paused, .waiting, .done, .failed, .cancelled],
        .waiting: [.running, .paused, .done, .failed, .cancelled],
        .paused: [.queued, .running, .waiting, .done, .failed, .cancelled],
    ])
    static let downloads = StateTable(next: [
        .queued: [
            .running, .paused, .waiting, .verifying, .restarted, .done, .failed, .cancelled,
        ],
        .running: [.paused, .waiting, .verifying, .restarted, .done, .failed, .cancelled],
        .waiting: [.running, .paused, .failed, .cancelled],
        .paused: [.running, .waiting, .verifying, .failed, .cancelled],
        .restarted: [.running],
        // Then it gets its name, or restarts.
        .verifying: [.running, .paused, .failed, .cancelled],
    ])

    func allows(_ states: [TransferState]) -> Bool {
        zip([.queued] + states, states).allSatisfy { next[$0]?.contains($1) == true }
            && states.last?.isFinal == true
    }
}

/// The resident memory of this process, in bytes.
func residentBytes() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
}
