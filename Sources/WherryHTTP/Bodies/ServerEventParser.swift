// Wherry: parsing server-sent events.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// An event of a `text/event-stream`.
public struct ServerEvent: Sendable, Hashable {
    /// The event type; "message" if the server sent none.
    public var name: String
    /// The data lines, joined by LF.
    public var data: String
    /// The last event id of the stream; "" before the first. Sent as `Last-Event-ID`, it resumes
    /// the stream after this event.
    public var id: String

    /// Creates an event.
    public init(name: String = "message", data: String, id: String = "") {
        self.name = name
        self.data = data
        self.id = id
    }
}

/// Parses the events of a stream that arrives in arbitrary pieces (R36; HTML standard, section
/// 9.2.6). Performs no I/O.
package struct ServerEventParser: Sendable {
    /// The server's reconnection time in milliseconds, if sent.
    package private(set) var retry: Int64?

    private let limit: Int
    private var line: [UInt8] = []
    private var name = ""
    private var data: [UInt8] = []
    private var hasData = false
    private var id = ""
    private var isAfterCR = false
    private var isFirstLine = true

    /// - Parameter limit: The maximum size of an event in bytes.
    package init(limit: Int) { self.limit = limit }

    /// Consumes bytes and appends the completed events to `events`.
    ///
    /// - Throws: `too_large` for an event above the limit.
    package mutating func feed(
        _ bytes: some Sequence<UInt8>, _ events: inout [ServerEvent]
    ) throws(WherryError) {
        for byte in bytes {
            defer { isAfterCR = byte == 0x0D }
            switch byte {
            case 0x0A where isAfterCR: break
            case 0x0A, 0x0D: endLine(&events)
            default:
                guard line.count + data.count < limit else {
                    throw WherryError(
                        .tooLarge, "An event of the stream is longer than \(limit) bytes")
                }
                line.append(byte)
            }
        }
    }

    private mutating func endLine(_ events: inout [ServerEvent]) {
        defer { line.removeAll(keepingCapacity: true) }
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        }
        guard !line.isEmpty else { return dispatch(&events) }
        let colon = line.firstIndex(of: 0x3A)
        // A comment, which servers send to keep the connection open.
        if colon == 0 { return }
        let field = line[..<(colon ?? line.endIndex)]
        var value = colon.map { line[($0 + 1)...] } ?? []
        if value.first == 0x20 { value.removeFirst() }
        switch String(decoding: field, as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "data":
            if hasData { data.append(0x0A) }
            data.append(contentsOf: value)
            hasData = true
        case "id": if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        case "retry": if let number = FieldScanner.number(value) { retry = number }
        default: break
        }
    }

    private mutating func dispatch(_ events: inout [ServerEvent]) {
        if hasData {
            events.append(
                ServerEvent(
                    name: name.isEmpty ? "message" : name,
                    data: String(decoding: data, as: UTF8.self), id: id))
        }
        name = ""
        data.removeAll(keepingCapacity: true)
        hasData = false
    }
}
