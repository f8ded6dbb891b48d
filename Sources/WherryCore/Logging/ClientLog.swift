// Wherry: where the records of a client go.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// Takes records and keeps or writes them; nothing here may wait for long.
package protocol LogSink: AnyObject, Sendable {
    /// What it wants to know.
    var level: LogLevel { get }
    /// Takes a record, from any thread, with no lock held. `false` ends it: it takes no more.
    func write(_ record: LogRecord) -> Bool
    /// Returns when everything it took is where it belongs.
    func flush()
}

extension LogSink {
    package func flush() {}
}

/// The sinks of a client. Whether anybody wants to know is one load of a number.
package final class ClientLog: Sendable {
    /// A place for a sink; another one in the same place replaces it.
    package enum Place: Hashable, Sendable {
        case standardError, file, environment, queue
        /// A reader in Swift.
        case reader(UInt64)
    }

    /// The raw value of the level of the sink that wants most.
    private let most = Atomic<Int32>(0)
    private let sinks = Lock<[(place: Place, sink: any LogSink)]>([])
    private static let lastReader = Atomic<UInt64>(0)

    package init() {}

    /// Whether anybody wants records of this level.
    @inline(__always)
    package func isOn(_ level: LogLevel) -> Bool {
        most.load(ordering: .relaxed) >= level.rawValue
    }

    /// A place of its own.
    package static func newReader() -> Place {
        .reader(lastReader.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// Puts a sink in its place, or none. What the one before took is written on return.
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

    /// With the lock held, so that of two changes the later one counts.
    private func count(_ sinks: [(place: Place, sink: any LogSink)]) {
        most.store(sinks.map(\.sink.level.rawValue).max() ?? 0, ordering: .relaxed)
    }

    /// Gives a record to whoever wants it.
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

    /// Returns when everything is written that was taken so far.
    package func flush() {
        for (_, sink) in sinks.withLock({ $0 }) { sink.flush() }
    }

    // MARK: Standard error and environment

    /// Opens or closes standard error for everything: what ``Client/Configuration/isDebugging`` is.
    package func setDebugging(_ on: Bool) {
        set(.standardError, on ? StandardErrorLog(.debug) : nil)
    }

    /// Follows `WHERRY_LOG` and `WHERRY_LOG_FILE`, which a program that has rights its caller does
    /// not have does not look at.
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
            // Several clients and processes may write to it: none of them takes it away.
            set(.environment, try LogFile(path, level, maxBytes: 0, workers: workers))
        } catch {
            Self.warn("WHERRY_LOG_FILE: \(LogText.line("\(error)"))", .badFile)
        }
    }

    /// What is said on standard error whether or not anybody asked, once in a process.
    package enum Warning: Int, Sendable {
        case insecure = 0
        case unknownLevel = 1
        case badFile = 2
        case invalidCertificates = 3
        case anyName = 4
    }
    private static let said = Atomic<UInt8>(0)

    private static func warn(_ text: String, _ warning: Warning) {
        let bit = UInt8(1) << UInt8(warning.rawValue)
        guard said.bitwiseOr(bit, ordering: .relaxed).oldValue & bit == 0 else { return }
        StandardError.write("wherry: \(text)\n")
    }

    /// Says what of a policy weakens trust, whether or not anybody asked for what happens: each once
    /// in a process (S1, S3).
    package static func warn(of trust: TrustPolicy) {
        if trust.trustsAnybody {
            return warn(
                "a client of this program trusts anybody: certificates are not checked", .insecure)
        }
        if trust.allowsInvalidCertificates {
            warn(
                "a client of this program allows invalid certificates: pins alone vouch for them",
                .invalidCertificates)
        }
        if !trust.checksName {
            warn(
                "a client of this program does not check whose name a certificate is for", .anyName)
        }
    }

    /// What pins would have refused, where they only report (S8).
    package static func reportPins(_ text: String) {
        StandardError.write("wherry: \(LogText.line(text))\n")
    }
}

/// Records as lines on standard error, each in one system call.
final class StandardErrorLog: LogSink {
    let level: LogLevel
    init(_ level: LogLevel) { self.level = level }

    func write(_ record: LogRecord) -> Bool {
        StandardError.write(LogText.plain(record))
        return true
    }
}

/// Records as events of a queue.
final class QueueLog: LogSink {
    let level: LogLevel
    private let queue: EventQueue
    private let userData: UInt

    init(_ level: LogLevel, _ queue: EventQueue, userData: UInt) {
        self.level = level
        self.queue = queue
        self.userData = userData
    }

    func write(_ record: LogRecord) -> Bool { queue.put(record, userData: userData) }
}
