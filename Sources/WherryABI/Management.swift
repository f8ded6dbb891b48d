// Wherry: wherry.h, section 10: management.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP

/// Returns the filter that C passes.
func match(
    _ match: wherry_match, _ key: UnsafePointer<CChar>?
) throws(WherryError) -> TransferMatch {
    switch match {
    case WHERRY_MATCH_ALL:
        guard key == nil else {
            throw WherryError(.badArgument, "WHERRY_MATCH_ALL takes no key. Pass NULL.")
        }
        return .all
    case WHERRY_MATCH_URL: return .url(try text(key, "key"))
    case WHERRY_MATCH_TAG: return .tag(try text(key, "key"))
    case WHERRY_MATCH_IDENTIFIER: return .identifier(try text(key, "key"))
    case WHERRY_MATCH_PATH: return .path(try path(key, "key"))
    case WHERRY_MATCH_URLS:
        return .urls(try text(key, "key").split(separator: "\n").map { String($0) })
    default:
        throw WherryError(
            .badValue, "Unknown match \(match.rawValue). Pass a constant of wherry_match.")
    }
}

private func apply(
    _ client: OpaquePointer?, _ kind: wherry_match, _ key: UnsafePointer<CChar>?,
    _ outCount: UnsafeMutablePointer<Int>?,
    _ verb: (Client, TransferMatch) throws(WherryError) -> Int
) -> wherry_status {
    status { () throws(WherryError) in
        let count = try verb(Handles.get(client, Client.self), match(kind, key))
        outCount?.pointee = count
    }
}

@_cdecl("wherry_client_pause") @implementation
public func wherry_client_pause(
    _ client: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    apply(client, match, key, out_count) { $0.pause($1) }
}

@_cdecl("wherry_client_resume") @implementation
public func wherry_client_resume(
    _ client: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    apply(client, match, key, out_count) { $0.resume($1) }
}

@_cdecl("wherry_client_cancel") @implementation
public func wherry_client_cancel(
    _ client: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    apply(client, match, key, out_count) { $0.cancel($1) }
}

@_cdecl("wherry_client_discard") @implementation
public func wherry_client_discard(
    _ client: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    apply(client, match, key, out_count) { $0.discard($1) }
}

@_cdecl("wherry_client_count") @implementation
public func wherry_client_count(
    _ client: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?
) -> Int {
    value(0) { () throws(WherryError) in
        try Handles.get(client, Client.self).count(WherryABI.match(match, key))
    }
}

@_cdecl("wherry_client_wait") @implementation
public func wherry_client_wait(
    _ client: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?,
    _ timeout_ms: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        guard try client.wait(WherryABI.match(match, key), timeout: duration(timeout_ms)) else {
            throw .timedOut
        }
    }
}

@_cdecl("wherry_client_progress") @implementation
public func wherry_client_progress(
    _ client: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?,
    _ out_progress: UnsafeMutablePointer<wherry_progress>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let sum = try client.progress(WherryABI.match(match, key))
        try fill(out_progress) { wherry_progress(sum.progress, count: sum.count) }
    }
}

@_cdecl("wherry_client_open_transfer") @implementation
public func wherry_client_open_transfer(
    _ client: OpaquePointer?, _ transfer_id: UInt64,
    _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_transfer)
        guard let transfer = try Handles.get(client, Client.self).pool[transfer_id] else {
            throw WherryError(.notFound, "The client has no unfinished transfer \(transfer_id)")
        }
        try Handles.give(Box(TransferValue(transfer: transfer)), to: out)
    }
}

@_cdecl("wherry_client_list") @implementation
public func wherry_client_list(
    _ client: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?,
    _ out_list: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_list)
        let client = try Handles.get(client, Client.self)
        try Handles.give(
            ListBox(transfers: client.transfers(WherryABI.match(match, key))), to: out)
    }
}
