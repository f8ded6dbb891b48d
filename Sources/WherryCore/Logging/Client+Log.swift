// Wherry: logs and counters of a client.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryLogging
import WherrySystem

extension Client {
    /// Appends new log records to a file. `nil` stops logging; the call returns when all records
    /// are written.
    ///
    /// The file is created with mode 0600. When it reaches `maxBytes`, it is renamed to PATH.1,
    /// replacing an older file of that name, and a new file is started. A worker writes the lines,
    /// so that no transfer waits for the disk. Lines that could not be written are counted, and a
    /// line in the log reports their number.
    ///
    /// - Parameters:
    ///   - path: The file; its directory must exist.
    ///   - level: The log level; `.off` stops logging.
    ///   - asJSON: Whether to write one JSON object per record instead of text lines.
    ///   - maxBytes: The size limit; 0 for no limit. Default: 10 MiB.
    /// - Throws: `bad_value` for a negative `maxBytes`; `file` if the file cannot be opened. The
    ///   previous log then continues.
    public func setLogFile(
        _ path: String?, level: LogLevel = .debug, asJSON: Bool = false,
        maxBytes: Int64 = 10 << 20
    ) throws(WherryError) {
        guard maxBytes >= 0 else {
            throw WherryError(.badValue, "A log file cannot have at most \(maxBytes) bytes")
        }
        guard let path, level > .off else { return log.set(.file, nil) }
        do {
            log.set(
                .file,
                try LogFile(path, level, isJSON: asJSON, maxBytes: maxBytes, workers: workers))
        } catch {
            throw WherryError(error)
        }
    }

    /// The number of records so far that the log file lost. Waits until the others are written.
    package var lostLogRecords: Int64 { log.lostCount(of: .file) }

    /// Sends log records to a queue as LOG events; `nil` stops that. One queue at a time.
    package func setLog(_ level: LogLevel, _ queue: EventQueue?, userData: UInt) {
        log.set(.queue, queue.map { QueueLog(level, $0, userData: userData) })
    }

    /// Adds a name whose values are redacted in logs from now on; see
    /// ``Configuration/secretNames``.
    public func addSecretName(_ name: String) throws(WherryError) {
        try update { values throws(WherryError) in values.secretNames.insert(name) }
    }

    /// Returns the counters of the client since its creation (L12).
    ///
    /// - Parameter host: Counts only this host, such as "example.org", with any port; an IPv6
    ///   address is in brackets. Transfers count for the host of their first URL; requests and
    ///   bytes count for the host that received them. Default (`nil`): all hosts together.
    public func counters(of host: String? = nil) -> Counters { counters.counters(of: host) }

    /// The hosts that ``counters(of:)`` knows, in the order of their first request; at most 10,000.
    public var countedHosts: [String] { counters.hosts }
}
