// Wherry: what a client tells of itself.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Client {
    /// Appends what happens to a file, from now on; `nil` ends it, and then all is written on return.
    ///
    /// The file is made 0600 if it is not there. When it has `maxBytes` it gets the name PATH.1, an
    /// older one of that name goes, and a new file is begun. Lines are written by a worker, so that
    /// no transfer waits for the disk; lines that the disk does not take are counted, and a line says
    /// how many are missing.
    ///
    /// - Parameters:
    ///   - path: where; in a directory that is there.
    ///   - level: how much; `.off` ends it too.
    ///   - asJSON: one JSON object for each record instead of lines for people.
    ///   - maxBytes: 10 MiB; 0 is no limit.
    /// - Throws: `bad_value` for a negative `maxBytes`; `file` where it cannot be opened, and then
    ///   what was set before goes on.
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

    /// Puts what happens into a queue as LOG events; `nil` ends it. One queue at a time.
    package func setLog(_ level: LogLevel, _ queue: EventQueue?, userData: UInt) {
        log.set(.queue, queue.map { QueueLog(level, $0, userData: userData) })
    }

    /// One more name whose values logs leave out from now on, see
    /// ``Configuration/secretNames``.
    public func addSecretName(_ name: String) throws(WherryError) {
        try update { values throws(WherryError) in values.secretNames.insert(name) }
    }

    /// What the client has done since it was made (L12).
    ///
    /// - Parameter host: only what concerns that host, such as "example.org", whatever its port; an
    ///   IPv6 address in brackets. Transfers count for the host they were started for, requests and
    ///   bytes for the host that was asked. `nil`, the default, is all together.
    public func counters(of host: String? = nil) -> Counters { counters.counters(of: host) }

    /// The hosts that ``counters(of:)`` knows, in the order of their first request; at most 10,000.
    public var countedHosts: [String] { counters.hosts }
}
