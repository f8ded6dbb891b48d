// Wherry: wherry.h, section 2: status and errors.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP

@_cdecl("wherry_status_name") @implementation
public func wherry_status_name(_ status: wherry_status) -> UnsafePointer<CChar>? {
    let name: StaticString =
        switch status {
        case WHERRY_OK: "OK"
        case WHERRY_E_ARGUMENT: "E_ARGUMENT"
        case WHERRY_E_STATE: "E_STATE"
        case WHERRY_E_TIMEOUT: "E_TIMEOUT"
        case WHERRY_E_CANCELLED: "E_CANCELLED"
        case WHERRY_E_NETWORK: "E_NETWORK"
        case WHERRY_E_TLS: "E_TLS"
        case WHERRY_E_HTTP: "E_HTTP"
        case WHERRY_E_FILE: "E_FILE"
        case WHERRY_E_IMAGE: "E_IMAGE"
        case WHERRY_E_CACHE_MISS: "E_CACHE_MISS"
        case WHERRY_E_LIMIT: "E_LIMIT"
        case WHERRY_E_INTERNAL: "E_INTERNAL"
        case WHERRY_E_FORKED: "E_FORKED"
        case WHERRY_E_BUSY: "E_BUSY"
        default: "E_UNKNOWN"
        }
    return StaticText.pointer(name)
}

@_cdecl("wherry_last_error") @implementation
public func wherry_last_error() -> OpaquePointer? { LastError.handle }

@_cdecl("wherry_error_status") @implementation
public func wherry_error_status(_ error: OpaquePointer?) -> wherry_status {
    if let known = PermanentError(error) { return known.status }
    return ErrorBox.get(error).map { wherry_status($0.error.code.rawValue) } ?? WHERRY_E_ARGUMENT
}

@_cdecl("wherry_error_reason") @implementation
public func wherry_error_reason(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    if let known = PermanentError(error) { return known.reason }
    return ReasonText.of(ErrorBox.get(error)?.error.reasonWord)
}

@_cdecl("wherry_error_message") @implementation
public func wherry_error_message(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    if let known = PermanentError(error) { return known.message }
    guard let box = ErrorBox.get(error) else { return StaticText.pointer("") }
    return box.texts.lend(box.error.message) ?? StaticText.pointer("")
}

@_cdecl("wherry_error_curl_code") @implementation
public func wherry_error_curl_code(_ error: OpaquePointer?) -> Int32 {
    ErrorBox.get(error)?.error.curlCode ?? 0
}

@_cdecl("wherry_error_http_code") @implementation
public func wherry_error_http_code(_ error: OpaquePointer?) -> Int32 {
    Int32(truncatingIfNeeded: ErrorBox.get(error)?.error.httpStatus ?? 0)
}

@_cdecl("wherry_error_os_code") @implementation
public func wherry_error_os_code(_ error: OpaquePointer?) -> Int32 {
    ErrorBox.get(error)?.error.osCode ?? 0
}

@_cdecl("wherry_error_is_retryable") @implementation
public func wherry_error_is_retryable(_ error: OpaquePointer?) -> Bool {
    ErrorBox.get(error)?.error.isRetryable ?? false
}

@_cdecl("wherry_error_retry_after_ms") @implementation
public func wherry_error_retry_after_ms(_ error: OpaquePointer?) -> Int64 {
    ErrorBox.get(error)?.error.fields.retryAfterMilliseconds ?? -1
}

@_cdecl("wherry_error_partial_path") @implementation
public func wherry_error_partial_path(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    guard let box = ErrorBox.get(error) else { return nil }
    return box.texts.lend(path: box.error.partialPath)
}

@_cdecl("wherry_error_underlying") @implementation
public func wherry_error_underlying(_ error: OpaquePointer?) -> OpaquePointer? {
    ErrorBox.get(error)?.underlying
}

@_cdecl("wherry_error_list_failed_images") @implementation
public func wherry_error_list_failed_images(
    _ error: OpaquePointer?, _ out_list: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_list)
        var images: [ImageOutcome] = []
        if PermanentError(error) == nil {
            guard let box = ErrorBox.get(error) else { throw .badHandle(error, .error) }
            images = box.error.failedImages
        }
        try Handles.give(ListBox(images: images), to: out)
    }
}

@_cdecl("wherry_library_restart") @implementation
public func wherry_library_restart() -> wherry_status {
    ForkGate.restart()
    return WHERRY_OK
}
