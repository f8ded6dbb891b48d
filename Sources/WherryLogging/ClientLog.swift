// Wherry: the log sinks of a client.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// Stores or writes log records. Its methods must not block for long.
package protocol LogSink: AnyObject, Sendable {
    /// The level of the records it wants.
    var level: LogLevel { get }
    /// Receives a record, on any thread, without locks held. Returns `false` to end the log.
    func write(_ record: LogRecord) -> Bool
    /// Blocks until all received records are written.
    func flush()
    /// The number of received records that could not be written, and that the log does not report.
    var lostCount: Int64 { get }
}

extension LogSink {
    package func flush() {}
    package var lostCount: Int64 { 0 }
}

/// The log sinks of a client. Checking whether a level is enabled takes one atomic load.
package final class ClientLog: Sendable {
    /// A slot for a sink; another sink in the same slot replaces it.
    package enum Place: Hashable, Sendable {
        case standardError, file, environment, queue
        /// A log reader in Swift.
        case reader(UInt64)
    }

    /// The highest level of all sinks.
    private let most = Atomic<Int32>(0)
    private let sinks = Lock<[(place: Place, sink: any LogSink)]>([])
    private static let lastReader = Atomic<UInt64>(0)

    package init() {}

    /// Returns whether a sink wants records of a level.
    package func isOn(_ level: LogLevel) -> Bool {
        most.load(ordering: .relaxed) >= level.rawValue
    }

    /// Returns a slot that no other sink uses.
    package static func newReader() -> Place {
        .reader(lastReader.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// Sets or removes the sink of a slot. Flushes the previous one before it returns.
    package func set(_ place: Place, _ sink: (any LogSink)?) {
        let old = sinks.withLock { sinks in
            let old = sinks.first { $0.place == place }?.sink
            sinks.removeAll { $0.place == place }
            if let sink, sink.level > .off { sinks.append((place, sink)) }
            count(sinks)
            return old
        }
        old?.flush()
    }

    /// Updates the highest level. Called with the lock held, so that the later of two changes wins.
    private func count(_ sinks: [(place: Place, sink: any LogSink)]) {
        most.store(sinks.map(\.sink.level.rawValue).max() ?? 0, ordering: .relaxed)
    }

    /// Sends a record to the sinks that want it.
    package func write(_ record: LogRecord) {
        guard isOn(record.level) else { return }
        for (place, sink) in sinks.withLock({ $0 }) where sink.level >= record.level {
            guard !sink.write(record.told(at: sink.level)) else { continue }
            sinks.withLock { sinks in
                sinks.removeAll { $0.place == place && $0.sink === sink }
                count(sinks)
            }
        }
    }

    /// Returns the number of records that the sink of a slot lost, after all records so far are
    /// written.
    package func lostCount(of place: Place) -> Int64 {
        let sink = sinks.withLock { sinks in sinks.first { $0.place == place }?.sink }
        sink?.flush()
        return sink?.lostCount ?? 0
    }

    /// Blocks until all records so far are written.
    package func flush() {
        for (_, sink) in sinks.withLock({ $0 }) { sink.flush() }
    }

    // MARK: Standard error and environment

    /// Enables or disables debug logging to standard error: `isDebugging` of a client's configuration.
    package func setDebugging(_ on: Bool) {
        set(.standardError, on ? StandardErrorLog(.debug) : nil)
    }

    /// Applies `WHERRY_LOG` and `WHERRY_LOG_FILE`. A program with more privileges than its caller
    /// ignores them.
    package func followEnvironment(_ workers: WorkerPool) {
        guard let word = Environment.trusted("WHERRY_LOG") else { return }
        guard let level = LogLevel(name: word) else {
            return Self.warn(
                "WHERRY_LOG is off, error, warning, info or debug, and not \"\(LogText.line(word))\"",
                .unknownLevel)
        }
        guard level > .off else { return }
        guard let path = Environment.trusted("WHERRY_LOG_FILE") else {
            return set(.environment, StandardErrorLog(level))
        }
        do throws(SystemError) {
            // Without a size limit: several clients and processes may write to it, and none may
            // rename it.
            set(.environment, try LogFile(path, level, maxBytes: 0, workers: workers))
        } catch {
            Self.warn("WHERRY_LOG_FILE: \(LogText.line("\(error)"))", .badFile)
        }
    }

    /// A warning that is always printed on standard error, once in a process.
    package enum Warning: Int, Sendable {
        case insecure = 0
        case unknownLevel = 1
        case badFile = 2
        case invalidCertificates = 3
        case anyName = 4
    }
    private static let said = Atomic<UInt8>(0)

    /// Prints a warning on standard error, unless this process has already printed it.
    package static func warn(_ text: String, _ warning: Warning) {
        let bit = UInt8(1) << UInt8(warning.rawValue)
        guard said.bitwiseOr(bit, ordering: .relaxed).oldValue & bit == 0 else { return }
        StandardError.write("wherry: \(text)\n")
    }

    /// Reports a pin mismatch in report-only mode (S8).
    package static func reportPins(_ text: String) {
        StandardError.write("wherry: \(LogText.line(text))\n")
    }
}

/// Writes records as lines to standard error, each in one system call.
final class StandardErrorLog: LogSink {
    let level: LogLevel
    init(_ level: LogLevel) { self.level = level }

    func write(_ record: LogRecord) -> Bool {
        StandardError.write(LogText.plain(record))
        return true
    }
}
