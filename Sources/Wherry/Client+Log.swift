// Wherry: what a client tells of itself, for tasks.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

extension Client {
    /// What happens to all transfers of the client, from now on and in order for each of them: an
    /// event monitor and a log in one.
    ///
    ///     for await record in client.log(.debug) { print(record.text) }
    ///
    /// The sequence ends with the task that reads it, and with nothing else. A reader that falls
    /// 1,000 records behind misses the ones that follow; what it reads next says so by
    /// ``/WherryCore/LogRecord/Event/lost``. Each call makes a log of its own, whose records begin
    /// at once, before anybody reads them.
    ///
    /// - Parameter level: how much; `.info` by default.
    public func log(_ level: LogLevel = .info) -> LogSequence {
        LogSequence(TaskLog(level), in: log)
    }

    /// Calls a function with every record, in a task of its own, until that is cancelled.
    ///
    ///     let task = client.onLog(.warning) { logger.warning("\($0.text)") }
    ///
    /// - Parameters:
    ///   - level: how much; `.info` by default.
    ///   - body: runs on the task, never on a thread of Wherry's; the records wait meanwhile.
    @discardableResult
    public func onLog(
        _ level: LogLevel = .info, _ body: @escaping @Sendable (LogRecord) async -> Void
    ) -> Task<Void, Never> {
        let records = log(level)
        return Task { for await record in records { await body(record) } }
    }
}

/// The records of a client's log. For one reader.
public struct LogSequence: AsyncSequence, Sendable {
    public typealias Element = LogRecord
    public typealias Failure = Never

    private let sink: TaskLog
    private let place: Place

    /// Takes the sink out of the client's log when the last reader is gone.
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

    /// The reader; a second one would share the records with the first.
    public func makeAsyncIterator() -> Iterator { Iterator(sink: sink, place: place) }

    /// Takes the records in order.
    public struct Iterator: AsyncIteratorProtocol {
        let sink: TaskLog
        let place: Place

        /// The next record; `nil` once the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> LogRecord? {
            await sink.next()
        }
    }
}

/// Records that wait for a task.
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
