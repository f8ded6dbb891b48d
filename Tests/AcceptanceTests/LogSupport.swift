// Wherry: helpers for the acceptance tests of logs
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Wherry
import WherrySystem

/// Keeps every record of a client, at once and in order.
final class LogKeeper: LogSink {
    let level: LogLevel
    private let kept = Guarded<[LogRecord]>([])

    init(_ client: Client, _ level: LogLevel = .debug) {
        self.level = level
        client.log.set(ClientLog.newReader(), self)
    }

    func write(_ record: LogRecord) -> Bool {
        kept.withLock { $0.append(record) }
        return true
    }

    var records: [LogRecord] { kept.withLock { $0 } }
    var events: [LogRecord.Event] { records.map(\.event) }
    var text: String { records.map(\.text).joined(separator: "\n") }
    /// The first lines of the records about transfers and caches, up to the end of the sentence.
    var sentences: [String] {
        records.filter { ![.sent, .headers, .header].contains($0.event) }
            .map { String($0.text.prefix { $0 != "\n" }) }
    }
    func clear() { kept.withLock { $0 = [] } }
}

/// The events of a client's log and a transfer's observer, in one list, without progress and
/// states.
final class StepKeeper: LogSink, TransferObserver {
    let level = LogLevel.info
    let steps = Guarded<[String]>([])

    func write(_ record: LogRecord) -> Bool {
        steps.withLock { $0.append("log \(record.event)") }
        return true
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .headers: steps.withLock { $0.append("head") }
        case .done: steps.withLock { $0.append("done") }
        default: break
        }
    }
}

/// Until the first bytes of the file have arrived.
func waitForBytes(of transfer: Transfer) async {
    while transfer.progress.completed == 0, !transfer.state.isFinal { await Task.yield() }
}

/// A file next to the scenarios with the expected text.
func golden(_ name: String) throws -> String {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Scenarios/log")
    return try String(
        contentsOf: folder.appendingPathComponent(name), encoding: .utf8
    ).trimmingCharacters(in: .newlines)
}

/// Runs a shell and returns its standard output.
func shell(_ command: String) throws -> Data {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return output
}
