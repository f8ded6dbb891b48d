// Wherry: logs for tasks.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryLogging

extension Client {
    /// Returns the log records of all future events, in order for each transfer. The sequence
    /// serves as both log and event monitor.
    ///
    ///     for await record in client.log(.debug) { print(record.text) }
    ///
    /// The sequence ends only when the reading task ends. A reader that is more than 1,000 records
    /// behind misses the following records; its next record is then
    /// ``/WherryLogging/LogRecord/Event/lost``. Each call creates a separate log, which collects
    /// records from the time of the call.
    ///
    /// - Parameter level: The log level. Default: `.info`.
    public func log(_ level: LogLevel = .info) -> LogSequence {
        LogSequence(TaskLog(level), in: log)
    }

    /// Calls a function for each record in a new task, until the task is cancelled.
    ///
    ///     let task = client.onLog(.warning) { logger.warning("\($0.text)") }
    ///
    /// - Parameters:
    ///   - level: The log level. Default: `.info`.
    ///   - body: Runs in the task, never on a Wherry thread. Records that arrive while it runs are
    ///     queued.
    @discardableResult
    public func onLog(
        _ level: LogLevel = .info, _ body: @escaping @Sendable (LogRecord) async -> Void
    ) -> Task<Void, Never> {
        let records = log(level)
        return Task { for await record in records { await body(record) } }
    }
}

/// The records of a client's log. Supports one reader.
public struct LogSequence: AsyncSequence, Sendable {
    public typealias Element = LogRecord
    public typealias Failure = Never

    private let sink: TaskLog
    private let place: Place

    /// Removes the sink from the client's log when the last reader is gone.
    final class Place: Sendable {
        private let log: ClientLog
        private let place = ClientLog.newReader()

        init(_ sink: TaskLog, in log: ClientLog) {
            self.log = log
            log.set(place, sink)
        }

        deinit { log.set(place, nil) }
    }

    init(_ sink: TaskLog, in log: ClientLog) {
        self.sink = sink
        place = Place(sink, in: log)
    }

    /// Creates the reader. Create only one: a second reader would share the records with the first.
    public func makeAsyncIterator() -> Iterator { Iterator(sink: sink, place: place) }

    /// Iterates over the records.
    public struct Iterator: AsyncIteratorProtocol {
        let sink: TaskLog
        let place: Place

        /// Returns the next record; `nil` once the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> LogRecord? {
            await sink.next()
        }
    }
}

/// A queue of records for a task.
final class TaskLog: LogSink {
    private struct State: Sendable {
        var records: [LogRecord] = []
        var lost: Int64 = 0
    }

    let level: LogLevel
    private let monitor = AsyncMonitor(State())

    init(_ level: LogLevel) { self.level = level }

    func write(_ record: LogRecord) -> Bool {
        monitor.update { state in
            guard state.records.count < EventQueue.mostLogs else {
                state.lost += 1
                return
            }
            if state.lost > 0 { state.records.append(.lost(state.lost, at: record.time)) }
            state.lost = 0
            state.records.append(record)
        }
        return true
    }

    func next() async -> LogRecord? {
        await monitor.wait { state in
            state.records.isEmpty ? nil : state.records.removeFirst()
        }
    }
}
