// Wherry: text formats of log records.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// The text formats of log records. Pure.
package enum LogText {
    /// The maximum length of a line; the rest is cut off.
    private static let longest = 8192

    /// Returns a text as one line. Escapes control characters and those that change the writing
    /// direction, so that nothing a peer sends moves the cursor or imitates a log line (SEC-S2).
    package static func line(_ text: String) -> String {
        var line = ""
        line.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            if line.utf8.count >= longest {
                return line + "... (\(text.utf8.count) bytes)"
            }
            switch scalar.value {
            case 0x0A: line += "\\n"
            case 0x0D: line += "\\r"
            case 0x09: line += "\\t"
            case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF:
                line += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    /// The prefix of every line of a text, as in SJNetwork (L2).
    package static let mark = "=========== "

    /// Formats a record for a terminal, such as "wherry #12: =========== Start requesting...".
    package static func plain(_ record: LogRecord) -> String {
        let name = record.transferID == 0 ? "wherry: " : "wherry #\(record.transferID): "
        return lines(record, after: name)
    }

    /// Formats a record for a file: like `plain`, after the time and level.
    package static func dated(_ record: LogRecord) -> String {
        let transfer = record.transferID == 0 ? "" : " #\(record.transferID)"
        return lines(record, after: "\(time(record.time)) \(record.level.name)\(transfer): ")
    }

    private static func lines(_ record: LogRecord, after start: String) -> String {
        record.text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { start + mark + $0 + "\n" }.joined()
    }

    /// Formats a record as one line of JSON, without missing values.
    package static func json(_ record: LogRecord) -> String {
        var object: JSONObject = [
            "time": .string(time(record.time)), "level": .string(record.level.name),
            "event": .string(record.event.name),
        ]
        if record.transferID != 0 { object["transfer"] = JSON(record.transferID) }
        if !record.method.isEmpty { object["method"] = .string(record.method) }
        if !record.url.isEmpty { object["url"] = .string(record.url) }
        if record.status != 0 { object["status"] = JSON(record.status) }
        if let reason = record.reason { object["reason"] = .string(reason) }
        if record.count != 0 { object["count"] = .integer(record.count) }
        if let path = record.path { object["path"] = .string(path) }
        if let metrics = record.metrics { object["metrics"] = .object(members(metrics)) }
        object["text"] = .string(record.text)
        return JSON.object(object).description + "\n"
    }

    private static func members(_ metrics: Response.Metrics) -> JSONObject {
        func microseconds(_ duration: Duration) -> JSON {
            let (seconds, attoseconds) = duration.components
            return .integer(seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000)
        }
        return [
            "queued_us": microseconds(metrics.queued), "lookup_us": microseconds(metrics.lookup),
            "connect_us": microseconds(metrics.connect), "tls_us": microseconds(metrics.tls),
            "first_byte_us": microseconds(metrics.firstByte),
            "total_us": microseconds(metrics.total), "sent_bytes": .integer(metrics.sentBytes),
            "received_bytes": .integer(metrics.receivedBytes),
            "http_version": JSON(metrics.httpVersion), "redirects": JSON(metrics.redirects),
            "retries": JSON(metrics.retries), "reused": .bool(metrics.isReused),
            "remote_address": .string(metrics.remoteAddress),
        ]
    }

    /// Returns "2026-11-22T07:37:11.123Z" (RFC 3339).
    package static func time(_ secondsSince1970: Double) -> String {
        // The system clock may be set to anything.
        let bounded = min(max(secondsSince1970, 0), 253_402_300_799)
        let milliseconds = Int64(bounded * 1000)
        let seconds = milliseconds / 1000
        let (year, month, day) = HTTPDate.civil(seconds / 86_400)
        let ofDay = seconds % 86_400
        return "\(padded(year, 4))-\(padded(Int64(month), 2))-\(padded(day, 2))T"
            + "\(padded(ofDay / 3600, 2)):\(padded(ofDay / 60 % 60, 2)):\(padded(ofDay % 60, 2))."
            + "\(padded(milliseconds % 1000, 3))Z"
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
