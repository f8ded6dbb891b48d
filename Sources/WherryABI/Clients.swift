// Wherry: wherry.h, section 5: client.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP

@_cdecl("wherry_client_new") @implementation
public func wherry_client_new(
    _ config: OpaquePointer?, _ out_client: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_client)
        var configuration = Client.Configuration()
        if config != nil {
            configuration = try Handles.change(config, Client.Configuration.self) { $0 }
        }
        try Handles.give(Client(configuration), to: out)
    }
}

@_cdecl("wherry_client_free") @implementation
public func wherry_client_free(_ client: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.free(client, Client.self)?.close() }
}

@_cdecl("wherry_client_drain") @implementation
public func wherry_client_drain(
    _ client: OpaquePointer?, _ timeout_ms: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        guard client.drain(timeout: duration(timeout_ms)) else { throw .timedOut }
    }
}

@_cdecl("wherry_client_set_option") @implementation
public func wherry_client_set_option(
    _ client: OpaquePointer?, _ option: wherry_option, _ value: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.get(client, Client.self).set(WherryABI.option(option), value)
    }
}

@_cdecl("wherry_client_set_text") @implementation
public func wherry_client_set_text(
    _ client: OpaquePointer?, _ option: wherry_text_option, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        try client.set(WherryABI.option(option), optionalText(value, "value"))
    }
}

@_cdecl("wherry_client_get_option") @implementation
public func wherry_client_get_option(_ client: OpaquePointer?, _ option: wherry_option) -> Int64 {
    value(-1) { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let option = try WherryABI.option(option)
        return option.scope == .request ? -1 : client.settings.options[option]
    }
}

@_cdecl("wherry_client_set_header") @implementation
public func wherry_client_set_header(
    _ client: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        if name == nil && value == nil { return try client.removeHeaders() }
        try client.setHeader(text(name, "name"), optionalText(value, "value"))
    }
}

@_cdecl("wherry_client_add_header") @implementation
public func wherry_client_add_header(
    _ client: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        try client.addHeader(text(name, "name"), text(value, "value"))
    }
}

@_cdecl("wherry_client_copy_url") @implementation
public func wherry_client_copy_url(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?,
    _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        try CText.copy(client.url(of: snapshot(request)), to: buffer, capacity, out_count)
    }
}

@_cdecl("wherry_client_copy_header") @implementation
public func wherry_client_copy_header(
    _ client: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ buffer: UnsafeMutablePointer<CChar>?,
    _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let name = try text(name, "name")
        guard let value = client.headers[name] else {
            throw WherryError(.notFound, "The client has no header field \"\(name)\"")
        }
        try CText.copy(value, to: buffer, capacity, out_count)
    }
}

@_cdecl("wherry_client_set_parameter") @implementation
public func wherry_client_set_parameter(
    _ client: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let value = try optionalText(value, "value").map { JSON($0) }
        try client.setParameter(text(name, "name"), value)
    }
}

@_cdecl("wherry_client_set_base") @implementation
public func wherry_client_set_base(
    _ client: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ url: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        try client.setBaseURL(optionalText(url, "url"), named: baseName(name))
    }
}

@_cdecl("wherry_client_copy_storage") @implementation
public func wherry_client_copy_storage(
    _ client: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let path = try Handles.get(client, Client.self).storageDirectory()
        try CText.copy(path: path, to: buffer, capacity, out_count)
    }
}

@_cdecl("wherry_client_set_credentials") @implementation
public func wherry_client_set_credentials(
    _ client: OpaquePointer?, _ origin: UnsafePointer<CChar>?, _ auth: wherry_auth,
    _ user: UnsafePointer<CChar>?, _ password: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        try client.setCredentials(
            credentials(auth, user, password), for: optionalText(origin, "origin"))
    }
}

@_cdecl("wherry_client_set_hooks") @implementation
public func wherry_client_set_hooks(
    _ client: OpaquePointer?, _ hooks: UInt32
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let set = try WherryABI.hooks(hooks)
        try client.update { values throws(WherryError) in values.hooks = set }
    }
}

/// Returns the duration of a wait; `nil` waits forever.
func duration(_ milliseconds: Int64) -> Duration? {
    milliseconds < 0 ? nil : .milliseconds(milliseconds)
}
