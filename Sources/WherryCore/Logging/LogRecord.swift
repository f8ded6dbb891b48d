// Wherry: one thing that happened, for people and for programs.
// SPDX-License-Identifier: Apache-2.0

/// How much is told. The raw values are those of `wherry_log_level`; each level tells what those
/// before it tell.
public enum LogLevel: Int32, Sendable, CaseIterable, Comparable {
    /// Nothing.
    case off = 0
    /// What failed.
    case error = 1
    /// What went on all the same: another attempt, an answer that could not be stored.
    case warning = 2
    /// The beginning and the end of each transfer, and what turned it. No header fields, queries and
    /// parameters.
    case info = 3
    /// Everything but bodies; header fields, queries and parameters with secrets left out.
    case debug = 4

    /// A level by its word, such as "debug"; `nil` for another word.
    public init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    /// Its word: "off", "error", "warning", "info" or "debug".
    public var name: String { "\(self)" }

    /// Less is told on `a` than on `b`.
    public static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }
}

/// Something that happened to a transfer, a client or its log: a text for people, and what it is
/// made of.
public struct LogRecord: Sendable {
    /// What happened. The raw values are those of `wherry_log_event`, and more may come.
    public enum Event: Int32, Sendable, CaseIterable {
        /// The network is asked for the first time; of a transfer that a cache answers it is not told.
        case started = 1
        /// A header field of the program's own goes along.
        case header = 2
        /// An attempt leaves for the server: ``LogRecord/count`` tells which, redirects counted.
        case sent = 3
        /// Status and header fields of an answer have arrived.
        case answered = 4
        /// A redirect is followed.
        case redirected = 5
        /// An attempt failed, and there will be another one: ``LogRecord/reason`` says why.
        case retried = 6
        case suspended = 7
        case resumed = 8
        /// A download begins at byte 0 again.
        case restarted = 9
        case progressed = 10
        /// A question waits for the program's decision.
        case asked = 11
        /// A decision has changed the request.
        case adapted = 12
        /// A picture of an upload is ready, or is not.
        case image = 13
        /// A cache has an answer that serves.
        case hit = 14
        /// A cache was asked, and nothing in it serves.
        case missed = 15
        /// The caches need not be asked.
        case bypassed = 16
        /// An answer is in a cache now.
        case stored = 17
        /// An answer could not be stored.
        case unstored = 18
        /// A download is whole, and is being checked.
        case verifying = 19
        /// A download got its name; ``LogRecord/path`` is it.
        case moved = 20
        /// The end of a transfer, as one of the two that follow is.
        case succeeded = 21
        case failed = 22
        case cancelled = 23
        /// A call that started or changed nothing.
        case refused = 24
        /// The client was closed.
        case closed = 25
        /// ``LogRecord/count`` records are missing here: the log could not be read or written fast
        /// enough.
        case lost = 26
        /// Something about the client that it had better be told.
        case warned = 27

        /// Its word, such as "started".
        public var name: String { "\(self)" }
    }

    /// From which level on it is told.
    public package(set) var level: LogLevel
    /// What happened.
    public package(set) var event: Event
    /// Seconds since 1970.
    public package(set) var time: Double
    /// The transfer it happened to; 0 for none.
    public package(set) var transferID: UInt64 = 0
    /// The method of the request; "" for none.
    public package(set) var method = ""
    /// The URL of the request, without its query; "" for none.
    public package(set) var url = ""
    /// The HTTP status, or 0.
    public package(set) var status = 0
    /// The word of the table of reasons, where there is one.
    public package(set) var reason: String?
    /// What is counted: attempts, bytes of a body, pictures, lost records; 0 elsewhere.
    public package(set) var count: Int64 = 0
    /// Where the file of a download lies.
    public package(set) var path: String?
    /// Of an end: how long each step took, and what moved.
    public package(set) var metrics: Response.Metrics?
    /// Of a failure.
    public package(set) var error: WherryError?
    /// Lines for people, each of them without control characters and secrets, joined by line feeds.
    public package(set) var text = ""

    /// A line of the text, and who sees it.
    package enum Line: Sendable {
        case everybody(String)
        /// Those who do not see the next kind.
        case brief(String)
        /// What holds queries, header fields and parameters.
        case debug(String)
    }
    package var lines: [Line] = []

    package init(_ level: LogLevel, _ event: Event, at time: Double, _ lines: [Line]) {
        self.level = level
        self.event = event
        self.time = time
        self.lines = lines
    }

    /// The record as one sees it who wants so much.
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
