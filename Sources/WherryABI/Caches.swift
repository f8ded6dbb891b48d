// Wherry: wherry.h, section 17: caches.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP

@_cdecl("wherry_client_read_cache") @implementation
public func wherry_client_read_cache(
    _ client: OpaquePointer?, _ request: OpaquePointer?,
    _ out_response: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_response)
        let cache = try cache(client)
        try Handles.give(ResponseBox(cache.response(to: snapshot(request))), to: out)
    }
}

@_cdecl("wherry_client_write_cache") @implementation
public func wherry_client_write_cache(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ bytes: UnsafeRawPointer?,
    _ count: Int, _ content_type: UnsafePointer<CChar>?, _ duration_ms: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        let cache = try cache(client)
        try cache.store(
            WherryABI.bytes(bytes, count),
            contentType: optionalText(content_type, "content type"), for: snapshot(request),
            duration: .milliseconds(duration_ms))
    }
}

@_cdecl("wherry_client_remove_cache") @implementation
public func wherry_client_remove_cache(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let removed = try cache(client).remove(snapshot(request))
        out_count?.pointee = removed ? 1 : 0
    }
}

@_cdecl("wherry_client_list_cache") @implementation
public func wherry_client_list_cache(
    _ client: OpaquePointer?, _ stores: UInt32, _ base: UnsafePointer<CChar>?,
    _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
    _ out_list: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_list)
        let cache = try cache(client)
        let stores = try WherryABI.stores(stores, from: .responses)
        let entries = try cache.entries(
            optionalText(url, "url"), base: optionalText(base, "base"),
            method: optionalText(method, "method"), stores: stores)
        try Handles.give(ListBox(entries: entries), to: out)
    }
}

@_cdecl("wherry_client_read_cache_entry") @implementation
public func wherry_client_read_cache_entry(
    _ client: OpaquePointer?, _ entry_id: UnsafePointer<CChar>?,
    _ out_response: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_response)
        let response = try cache(client).response(id: text(entry_id, "entry_id"))
        try Handles.give(ResponseBox(response), to: out)
    }
}

@_cdecl("wherry_client_remove_cache_entry") @implementation
public func wherry_client_remove_cache_entry(
    _ client: OpaquePointer?, _ entry_id: UnsafePointer<CChar>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let removed = try cache(client).remove(id: text(entry_id, "entry_id"))
        out_count?.pointee = removed ? 1 : 0
    }
}

@_cdecl("wherry_client_clear_cache") @implementation
public func wherry_client_clear_cache(
    _ client: OpaquePointer?, _ stores: UInt32, _ base: UnsafePointer<CChar>?,
    _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let count = try cache(client).clear(
            optionalText(url, "url"), base: optionalText(base, "base"),
            method: optionalText(method, "method"), stores: WherryABI.stores(stores, from: .all))
        out_count?.pointee = count
    }
}

@_cdecl("wherry_client_cache_usage") @implementation
public func wherry_client_cache_usage(
    _ client: OpaquePointer?, _ out_usage: UnsafeMutablePointer<wherry_cache_usage>?
) -> wherry_status {
    status { () throws(WherryError) in
        let cache = try cache(client)
        try fill(out_usage) { () throws(WherryError) in wherry_cache_usage(try cache.usage()) }
    }
}

@_cdecl("wherry_format_bytes") @implementation
public func wherry_format_bytes(
    _ bytes: Int64, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        try CText.copy(ByteCount.text(bytes), to: buffer, capacity, out_count)
    }
}

private func cache(_ client: OpaquePointer?) throws(WherryError) -> ResponseCache {
    try Handles.get(client, Client.self).cache
}

/// Returns the stores of a bit mask: at least one, and only known ones.
private func stores(_ bits: UInt32, from known: CacheStores) throws(WherryError) -> CacheStores {
    let stores = CacheStores(rawValue: bits)
    guard !stores.isEmpty, known.isSuperset(of: stores) else {
        throw WherryError(
            .badValue,
            "The cache stores \(bits) are not valid here. Combine constants of wherry_cache_store that the function accepts."
        )
    }
    return stores
}

extension wherry_cache_usage {
    fileprivate init(_ usage: ResponseCache.Usage) {
        self.init()
        entries = Int64(usage.entries)
        entry_bytes = usage.entryBytes
        partials = Int64(usage.partials)
        partial_bytes = usage.partialBytes
        memory_bytes = usage.memoryBytes
    }
}
