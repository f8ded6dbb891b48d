// Wherry: wherry.h, section 6: cache settings of a request.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCache
import WherryCore
import WherryHTTP
import WherrySystem

@_cdecl("wherry_request_set_cache") @implementation
public func wherry_request_set_cache(
    _ request: OpaquePointer?, _ policy: wherry_cache_policy, _ duration_ms: Int64
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        guard let policy = CachePolicy(rawValue: Int32(truncatingIfNeeded: policy.rawValue)) else {
            throw WherryError(
                .badValue,
                "Unknown cache policy \(policy.rawValue). Pass a constant of wherry_cache_policy.")
        }
        request.cachePolicy = policy
        request.cacheDuration = .milliseconds(duration_ms)
    }
}

@_cdecl("wherry_request_add_cache_ignored") @implementation
public func wherry_request_add_cache_ignored(
    _ request: OpaquePointer?, _ parameter: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        request.cacheIgnoredParameters.insert(try text(parameter, "parameter"))
    }
}

@_cdecl("wherry_request_add_cache_header") @implementation
public func wherry_request_add_cache_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        let name = try text(name, "name")
        try Headers.check(name, "")
        request.cacheHeaders.append(name)
    }
}

@_cdecl("wherry_request_set_cache_partition") @implementation
public func wherry_request_set_cache_partition(
    _ request: OpaquePointer?, _ text: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        request.cachePartition = try optionalText(text, "text") ?? ""
    }
}

@_cdecl("wherry_request_set_cache_version") @implementation
public func wherry_request_set_cache_version(
    _ request: OpaquePointer?, _ version: Int64
) -> wherry_status {
    edit(request) { request throws(WherryError) in request.cacheVersion = version }
}

@_cdecl("wherry_request_set_stale_if_error_ms") @implementation
public func wherry_request_set_stale_if_error_ms(
    _ request: OpaquePointer?, _ milliseconds: Int64
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        guard milliseconds >= 0 else {
            throw WherryError(
                .badValue, "The time stale_if_error cannot be \(milliseconds) ms. Use 0 or more.")
        }
        request.staleIfError = .milliseconds(milliseconds)
    }
}
