// Wherry: wherry.h, section 12: responses.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import Glibc
import WherryCore
import WherryHTTP
import WherrySystem

/// A response of the C interface.
final class ResponseBox: HandleObject, @unchecked Sendable {  // `fields` is guarded by its stripe
    static var kind: HandleKind { .response }

    let response: Response
    /// Whether an event owns it, so that it must not be freed.
    let isLent: Bool
    private var fields: FieldTable?
    private var store: TextStore?
    private var text: LentText?

    init(_ response: Response, isLent: Bool = false) {
        self.response = response
        self.isLent = isLent
    }

    /// The headers as C text, created on first use.
    var table: FieldTable {
        locked {
            if let fields { return fields }
            let table = FieldTable(response.head.block)
            fields = table
            return table
        }
    }

    /// The body as C text, created on first use; `nil` if out of memory.
    var whole: LentText? {
        if let text = locked({ text }) { return text }
        guard let made = LentText(response.text) else { return nil }
        return locked {
            let kept = text ?? made
            text = kept
            return kept
        }
    }

    var texts: TextStore {
        locked {
            if let store { return store }
            let new = TextStore()
            store = new
            return new
        }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        let lock = Stripes.shared.lock(of: self)
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return body()
    }
}

private func get(_ response: OpaquePointer?) throws(WherryError) -> ResponseBox {
    try Handles.get(response, ResponseBox.self)
}

@_cdecl("wherry_response_copy") @implementation
public func wherry_response_copy(
    _ response: OpaquePointer?, _ out_copy: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_copy)
        try Handles.give(ResponseBox(get(response).response), to: out)
    }
}

@_cdecl("wherry_response_free") @implementation
public func wherry_response_free(_ response: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in
        guard response != nil else { return }
        if try get(response).isLent { throw .lent }
        try Handles.free(response, ResponseBox.self)
    }
}

@_cdecl("wherry_response_http_code") @implementation
public func wherry_response_http_code(_ response: OpaquePointer?) -> Int32 {
    value(0) { () throws(WherryError) in
        Int32(truncatingIfNeeded: try get(response).response.status)
    }
}

@_cdecl("wherry_response_url") @implementation
public func wherry_response_url(_ response: OpaquePointer?) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let box = try get(response)
        return box.texts.lend(box.response.url)
    }
}

@_cdecl("wherry_response_is_length_unverified") @implementation
public func wherry_response_is_length_unverified(_ response: OpaquePointer?) -> Bool {
    value(false) { () throws(WherryError) in try get(response).response.isLengthUnverified }
}

@_cdecl("wherry_response_is_from_cache") @implementation
public func wherry_response_is_from_cache(_ response: OpaquePointer?) -> Bool {
    value(false) { () throws(WherryError) in try get(response).response.isFromCache }
}

@_cdecl("wherry_response_is_unchanged") @implementation
public func wherry_response_is_unchanged(_ response: OpaquePointer?) -> Bool {
    value(false) { () throws(WherryError) in try get(response).response.isUnchanged }
}

@_cdecl("wherry_response_is_stale") @implementation
public func wherry_response_is_stale(_ response: OpaquePointer?) -> Bool {
    value(false) { () throws(WherryError) in try get(response).response.isStale }
}

@_cdecl("wherry_response_is_revalidated") @implementation
public func wherry_response_is_revalidated(_ response: OpaquePointer?) -> Bool {
    value(false) { () throws(WherryError) in try get(response).response.isRevalidated }
}

@_cdecl("wherry_response_redirect_at") @implementation
public func wherry_response_redirect_at(
    _ response: OpaquePointer?, _ index: Int, _ out_http_code: UnsafeMutablePointer<Int32>?,
    _ out_url: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> Bool {
    value(false) { () throws(WherryError) in
        let box = try get(response)
        guard box.response.redirects.indices.contains(index) else { return false }
        let redirect = box.response.redirects[index]
        out_http_code?.pointee = Int32(truncatingIfNeeded: redirect.status)
        out_url?.pointee = box.texts.lend(redirect.url)
        return true
    }
}

@_cdecl("wherry_response_informational_at") @implementation
public func wherry_response_informational_at(
    _ response: OpaquePointer?, _ index: Int, _ out_http_code: UnsafeMutablePointer<Int32>?,
    _ out_fields: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> Bool {
    value(false) { () throws(WherryError) in
        let box = try get(response)
        let heads = box.response.head.interim
        guard heads.indices.contains(index) else { return false }
        out_http_code?.pointee = Int32(truncatingIfNeeded: heads[index].status)
        out_fields?.pointee = box.texts.lend(
            heads[index].fields.map { "\($0.name): \($0.value)\n" }.joined())
        return true
    }
}

@_cdecl("wherry_response_redirect_header_at") @implementation
public func wherry_response_redirect_header_at(
    _ response: OpaquePointer?, _ redirect: Int, _ index: Int,
    _ out_name: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ out_value: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> Bool {
    value(false) { () throws(WherryError) in
        let box = try get(response)
        let redirects = box.response.redirects
        guard redirects.indices.contains(redirect) else { return false }
        let fields = redirects[redirect].headers.fields
        guard fields.indices.contains(index) else { return false }
        out_name?.pointee = box.texts.lend(fields[index].name)
        out_value?.pointee = box.texts.lend(fields[index].value)
        return true
    }
}

@_cdecl("wherry_response_header") @implementation
public func wherry_response_header(
    _ response: OpaquePointer?, _ name: UnsafePointer<CChar>?
) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let table = try get(response).table
        guard let name else { return nil }
        return table.value(of: name)
    }
}

@_cdecl("wherry_response_header_at") @implementation
public func wherry_response_header_at(
    _ response: OpaquePointer?, _ index: Int,
    _ out_name: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ out_value: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> Bool {
    value(false) { () throws(WherryError) in
        guard let field = try get(response).table.field(at: index) else { return false }
        out_name?.pointee = field.name
        out_value?.pointee = field.value
        return true
    }
}

@_cdecl("wherry_response_body") @implementation
public func wherry_response_body(
    _ response: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<UInt8>? {
    out_count?.pointee = 0
    return value(nil) { () throws(WherryError) in
        let body = try get(response).response.body
        out_count?.pointee = body.count
        return body.lent.map { UnsafePointer($0.assumingMemoryBound(to: UInt8.self)) }
    }
}

@_cdecl("wherry_response_text") @implementation
public func wherry_response_text(
    _ response: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    out_count?.pointee = 0
    return value(nil) { () throws(WherryError) in
        guard let text = try get(response).whole else { return nil }
        out_count?.pointee = text.count
        return text.pointer
    }
}

@_cdecl("wherry_response_json") @implementation
public func wherry_response_json(
    _ response: OpaquePointer?, _ out_json: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_json)
        try Handles.give(Box(JSONValue(try get(response).response.json())), to: out)
    }
}

@_cdecl("wherry_response_suggested_name") @implementation
public func wherry_response_suggested_name(
    _ response: OpaquePointer?
) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let box = try get(response)
        return box.texts.lend(path: box.response.suggestedFileName)
    }
}

@_cdecl("wherry_response_remote_address") @implementation
public func wherry_response_remote_address(
    _ response: OpaquePointer?
) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let box = try get(response)
        return box.texts.lend(box.response.remoteAddress)
    }
}

@_cdecl("wherry_response_metrics") @implementation
public func wherry_response_metrics(
    _ response: OpaquePointer?, _ out_metrics: UnsafeMutablePointer<wherry_metrics>?
) -> wherry_status {
    status { () throws(WherryError) in
        let metrics = try get(response).response.metrics
        try fill(out_metrics) { wherry_metrics(metrics) }
    }
}

@_cdecl("wherry_response_list_images") @implementation
public func wherry_response_list_images(
    _ response: OpaquePointer?, _ out_list: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_list)
        try Handles.give(ListBox(images: try get(response).response.images), to: out)
    }
}

extension wherry_metrics {
    init(_ metrics: Response.Metrics) {
        self.init()
        queued_us = metrics.queued.wholeMicroseconds
        lookup_us = metrics.lookup.wholeMicroseconds
        connect_us = metrics.connect.wholeMicroseconds
        tls_us = metrics.tls.wholeMicroseconds
        first_byte_us = metrics.firstByte.wholeMicroseconds
        total_us = metrics.total.wholeMicroseconds
        sent_bytes = metrics.sentBytes
        received_bytes = metrics.receivedBytes
        http_version = Int32(clamping: metrics.httpVersion)
        redirects = Int32(clamping: metrics.redirects)
        retries = Int32(clamping: metrics.retries)
        is_reused = metrics.isReused ? 1 : 0
    }
}

extension Duration {
    /// The duration in microseconds, truncated; saturates.
    var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? .max : product &+ attoseconds / 1_000_000_000_000
    }
}
