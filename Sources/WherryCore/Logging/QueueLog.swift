// Wherry: log records as events of a queue.
// SPDX-License-Identifier: Apache-2.0

import WherryLogging

/// Sends records as events to a queue.
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
