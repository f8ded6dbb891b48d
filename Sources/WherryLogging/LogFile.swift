// Wherry: log files.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Appends records to a file of mode 0600 on a worker, so that logging never waits for the disk.
///
/// A record that would exceed the size limit starts a new file. The old one is renamed to PATH.1,
/// replacing an earlier file of that name.
package final class LogFile: LogSink, @unchecked Sendable {
    // Only one job at a time uses `out`.

    private struct State {
        var waiting: [LogRecord] = []
        /// The number of records dropped because of a full queue or a disk error.
        var lost: Int64 = 0
        /// Whether a job is writing or scheduled.
        var isWriting = false
    }

    /// The open file and its length.
    private struct Out {
        var file: File
        var length: Int64
        /// Whether the file can be renamed: a device such as /dev/null must keep its name.
        var isRegular: Bool
    }

    /// The maximum number of queued records.
    private static let mostWaiting = 10_000
    /// 10 MiB.
    package static let defaultMaxBytes: Int64 = 10 << 20

    package let level: LogLevel
    private let isJSON: Bool
    private let maxBytes: Int64
    private let directory: Directory
    private let name: String
    private let workers: WorkerPool
    private let state = Monitor(State())
    private var out: Out?

    /// Opens or creates the file, and keeps its content.
    ///
    /// - Parameter maxBytes: The size limit, which only a single larger record exceeds; 0 for no
    ///   limit.
    package init(
        _ path: String, _ level: LogLevel, isJSON: Bool = false,
        maxBytes: Int64 = defaultMaxBytes, workers: WorkerPool
    ) throws(SystemError) {
        self.level = level
        self.isJSON = isJSON
        self.maxBytes = maxBytes
        self.workers = workers
        let (parent, name) = Directory.split(path)
        self.name = name
        // Kept open, so that the file stays in place if the program changes its working directory.
        directory = try Directory.open(Directory.absolute(parent))
        out = try Self.open(name, in: directory)
    }

    private static func open(_ name: String, in directory: Directory) throws(SystemError) -> Out {
        let file = try File.open(name, [.write, .create, .append], in: directory)
        let status = try file.status()
        return Out(file: file, length: status.size, isRegular: status.kind == .regular)
    }

    package func write(_ record: LogRecord) -> Bool {
        let mustStart = state.withLock { state -> Bool in
            guard state.waiting.count < Self.mostWaiting else {
                state.lost += 1
                return false
            }
            state.waiting.append(record)
            guard !state.isWriting else { return false }
            state.isWriting = true
            return true
        }
        if mustStart { workers.submit { [self] in work() } }
        return true
    }

    package func flush() {
        _ = state.wait(timeout: nil) { $0.isWriting ? nil : true }
    }

    package var lostCount: Int64 { state.withLock { $0.lost } }

    private func work() {
        while true {
            let (records, lost) = state.update { state -> ([LogRecord], Int64) in
                let taken = (state.waiting, state.lost)
                state.waiting = []
                state.lost = 0
                state.isWriting = !taken.0.isEmpty
                if !state.isWriting { state.lost = taken.1 }
                return taken
            }
            guard let first = records.first else { return }
            var failed: Int64 = 0
            if lost > 0 { failed = append(.lost(lost, at: first.time)) ? 0 : lost }
            for record in records where !append(record) { failed += 1 }
            if failed > 0 { state.withLock { $0.lost += failed } }
        }
    }

    /// Writes one record in one call. Returns `false` on failure; the log reports it once writing
    /// works again.
    private func append(_ record: LogRecord) -> Bool {
        let bytes = Array((isJSON ? LogText.json(record) : LogText.dated(record)).utf8)
        do throws(SystemError) {
            var out = if let open = out { open } else { try Self.open(name, in: directory) }
            if maxBytes > 0, out.isRegular, out.length > 0,
                out.length + Int64(bytes.count) > maxBytes
            {
                self.out = nil
                try directory.rename(name, to: name + ".1", replacing: true)
                out = try Self.open(name, in: directory)
            }
            self.out = out
            // Appends, whatever the offset.
            try out.file.write(bytes, at: out.length)
            self.out?.length += Int64(bytes.count)
            return true
        } catch {
            // Reopen the file by name the next time, whatever the error.
            out = nil
            return false
        }
    }
}

extension LogRecord {
    /// Returns a record about missing records.
    package static func lost(_ count: Int64, at time: Double) -> LogRecord {
        var record = LogRecord(
            .warning, .lost, at: time,
            [
                .everybody(
                    "\(count) records of the log are missing: it was not read or written fast enough"
                )
            ])
        record.count = count
        return record.told(at: .debug)
    }
}
