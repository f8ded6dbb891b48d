// Wherry: wherry.h, section 20: log, descriptions and counters.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryLogging
import WherrySystem

private func logLevel(_ level: wherry_log_level) throws(WherryError) -> LogLevel {
    guard let known = LogLevel(rawValue: Int32(bitPattern: level.rawValue)) else {
        throw WherryError(
            .badValue, "Unknown log level \(level.rawValue). Pass a constant of wherry_log_level.")
    }
    return known
}

@_cdecl("wherry_client_set_log") @implementation
public func wherry_client_set_log(
    _ client: OpaquePointer?, _ level: wherry_log_level, _ queue: OpaquePointer?,
    _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let level = try logLevel(level)
        let queue = try queue.map { queue throws(WherryError) in
            try Handles.get(queue, EventQueue.self)
        }
        client.setLog(level, queue, userData: UInt(bitPattern: user_data))
    }
}

@_cdecl("wherry_client_set_activity") @implementation
public func wherry_client_set_activity(
    _ client: OpaquePointer?, _ queue: OpaquePointer?, _ show_after_ms: Int64,
    _ hide_after_ms: Int64, _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let queue = try queue.map { queue throws(WherryError) in
            try Handles.get(queue, EventQueue.self)
        }
        try client.setActivity(
            queue, showAfter: show_after_ms, hideAfter: hide_after_ms,
            userData: UInt(bitPattern: user_data))
    }
}

@_cdecl("wherry_client_set_log_file") @implementation
public func wherry_client_set_log_file(
    _ client: OpaquePointer?, _ level: wherry_log_level, _ path: UnsafePointer<CChar>?,
    _ json: Bool, _ max_bytes: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        try client.setLogFile(
            optionalPath(path), level: logLevel(level), asJSON: json,
            maxBytes: max_bytes)
    }
}

@_cdecl("wherry_client_add_secret_name") @implementation
public func wherry_client_add_secret_name(
    _ client: OpaquePointer?, _ name: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.get(client, Client.self).addSecretName(text(name, "name"))
    }
}

@_cdecl("wherry_event_log") @implementation
public func wherry_event_log(
    _ event: OpaquePointer?, _ out_record: UnsafeMutablePointer<wherry_log_record>?
) -> wherry_status {
    status { () throws(WherryError) in
        let event = try getEvent(event)
        guard let log = event.log else {
            throw WherryError(.wrongState, "The event is not a WHERRY_EVENT_LOG")
        }
        try fill(out_record) { wherry_log_record(log.record, event.lendings.texts) }
    }
}

extension wherry_log_record {
    init(_ record: LogRecord, _ texts: TextStore) {
        self.init()
        // A manual clock may return any time.
        time_ms = Int64(exactly: (record.time * 1000).rounded(.down)) ?? 0
        transfer_id = record.transferID
        text = texts.lend(record.text)
        method = texts.lend(record.method.isEmpty ? nil : record.method)
        url = texts.lend(record.url.isEmpty ? nil : record.url)
        reason = texts.lend(record.reason)
        path = texts.lend(path: record.path)
        count = record.count
        level = record.level.rawValue
        event = record.event.rawValue
        http_code = Int32(truncatingIfNeeded: record.status)
        guard let metrics = record.metrics else { return }
        has_metrics = 1
        queued_us = metrics.queued.wholeMicroseconds
        lookup_us = metrics.lookup.wholeMicroseconds
        connect_us = metrics.connect.wholeMicroseconds
        tls_us = metrics.tls.wholeMicroseconds
        first_byte_us = metrics.firstByte.wholeMicroseconds
        total_us = metrics.total.wholeMicroseconds
        sent_bytes = metrics.sentBytes
        received_bytes = metrics.receivedBytes
    }
}

@_cdecl("wherry_transfer_copy_description") @implementation
public func wherry_transfer_copy_description(
    _ transfer: OpaquePointer?, _ in_full: Bool, _ buffer: UnsafeMutablePointer<CChar>?,
    _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let transfer = try getTransfer(transfer)
        try CText.copy(transfer.description(inFull: in_full), to: buffer, capacity, out_count)
    }
}

@_cdecl("wherry_client_copy_curl_command") @implementation
public func wherry_client_copy_curl_command(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ with_secrets: Bool,
    _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let command = try client.curlCommand(
            of: snapshot(request), revealingSecrets: with_secrets)
        try CText.copy(command, to: buffer, capacity, out_count)
    }
}

@_cdecl("wherry_transfer_copy_curl_command") @implementation
public func wherry_transfer_copy_curl_command(
    _ transfer: OpaquePointer?, _ with_secrets: Bool, _ buffer: UnsafeMutablePointer<CChar>?,
    _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let command = try getTransfer(transfer).curlCommand(revealingSecrets: with_secrets)
        try CText.copy(command, to: buffer, capacity, out_count)
    }
}

@_cdecl("wherry_client_counters") @implementation
public func wherry_client_counters(
    _ client: OpaquePointer?, _ host: UnsafePointer<CChar>?,
    _ out_counters: UnsafeMutablePointer<wherry_counters>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let counters = client.counters(of: try optionalText(host, "host"))
        try fill(out_counters) { wherry_counters(counters) }
    }
}

extension wherry_counters {
    init(_ counters: Counters) {
        self.init()
        started = counters.started
        succeeded = counters.succeeded
        failed = counters.failed
        cancelled = counters.cancelled
        requests = counters.requests
        retried = counters.retried
        redirected = counters.redirected
        cache_hits = counters.cacheHits
        sent_bytes = counters.sentBytes
        received_bytes = counters.receivedBytes
    }
}
