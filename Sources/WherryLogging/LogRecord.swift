// Wherry: log records.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// A log level. The raw values are those of `wherry_log_level`; each level includes the lower ones.
public enum LogLevel: Int32, Sendable, CaseIterable, Comparable {
    /// No records.
    case off = 0
    /// Failures.
    case error = 1
    /// Problems that did not cause a failure: a retry, a response that could not be stored.
    case warning = 2
    /// The start and end of each transfer, and events that changed its course. Headers, queries,
    /// and parameters are omitted.
    case info = 3
    /// Everything except bodies; headers, queries and parameters have their secrets redacted.
    case debug = 4

    /// Parses a name such as "debug"; `nil` if unknown.
    public init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    /// The name: "off", "error", "warning", "info" or "debug".
    public var name: String { "\(self)" }

    /// Returns whether `a` includes fewer records than `b`.
    public static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }
}

/// A log record about a transfer, a client or the log: human-readable text, and its data.
public struct LogRecord: Sendable {
    /// The kind of event. The raw values are those of `wherry_log_event`; later versions may add
    /// more.
    public enum Event: Int32, Sendable, CaseIterable {
        /// A transfer first uses the network. Not logged for a transfer that is served from a
        /// cache.
        case started = 1
        /// The program set a request header.
        case header = 2
        /// An attempt is sent; ``LogRecord/count`` is its number, including redirects.
        case sent = 3
        /// The status and headers of a response arrived.
        case headers = 4
        /// A redirect is followed.
        case redirected = 5
        /// An attempt failed and will be retried; ``LogRecord/reason`` says why.
        case retried = 6
        case suspended = 7
        case resumed = 8
        /// A download restarts at byte 0.
        case restarted = 9
        case progressed = 10
        /// A hook was called, and the transfer waits for it.
        case hook = 11
        /// A hook changed the request.
        case adapted = 12
        /// An image of an upload was prepared, or its preparation failed.
        case image = 13
        /// A cache has a usable response.
        case hit = 14
        /// The caches have no usable response.
        case missed = 15
        /// The request does not use the caches.
        case bypassed = 16
        /// A response was stored in a cache.
        case stored = 17
        /// A response could not be stored.
        case unstored = 18
        /// A download is complete and is being verified.
        case verifying = 19
        /// A download was moved to its final path, ``LogRecord/path``.
        case moved = 20
        /// A transfer succeeded. It has ended, as in the following two cases.
        case succeeded = 21
        case failed = 22
        case cancelled = 23
        /// A call failed without starting or changing anything.
        case refused = 24
        /// The client was closed.
        case closed = 25
        /// ``LogRecord/count`` records are missing here, because the log was not read or written
        /// fast enough.
        case lost = 26
        /// A warning about the client's settings.
        case warned = 27

        /// The name, such as "started".
        public var name: String { "\(self)" }
    }

    /// The level of the record.
    public package(set) var level: LogLevel
    /// The kind of event.
    public package(set) var event: Event
    /// The time, in seconds since 1970.
    public package(set) var time: Double
    /// The id of the transfer; 0 for none.
    public package(set) var transferID: UInt64 = 0
    /// The method of the request; "" for none.
    public package(set) var method = ""
    /// The URL of the request, without its query; "" for none.
    public package(set) var url = ""
    /// The HTTP status, or 0.
    public package(set) var status = 0
    /// The error reason, if any.
    public package(set) var reason: String?
    /// A number that depends on the event: attempts, bytes of a body, images, lost records;
    /// otherwise 0.
    public package(set) var count: Int64 = 0
    /// The path of a downloaded file.
    public package(set) var path: String?
    /// The timing and byte counts of a completed transfer.
    public package(set) var metrics: Response.Metrics?
    /// The error of a failure.
    public package(set) var error: WherryError?
    /// Text lines without control characters or secrets, separated by line feeds.
    public package(set) var text = ""

    /// A line of the text, and the levels that include it.
    package enum Line: Sendable {
        case everybody(String)
        /// Only below the debug level.
        case brief(String)
        /// Only at the debug level; may contain queries, headers and parameters.
        case debug(String)
    }
    package var lines: [Line] = []

    package init(_ level: LogLevel, _ event: Event, at time: Double, _ lines: [Line]) {
        self.level = level
        self.event = event
        self.time = time
        self.lines = lines
    }

    /// Returns the record as a sink of a level sees it.
    package func told(at level: LogLevel) -> LogRecord {
        var told = self
        told.lines = []
        let shown = lines.compactMap { line -> String? in
            switch line {
            case .everybody(let text): LogText.line(text)
            case .brief(let text): level < .debug ? LogText.line(text) : nil
            case .debug(let text): level == .debug ? LogText.line(text) : nil
            }
        }
        told.text = shown.joined(separator: "\n")
        return told
    }
}
