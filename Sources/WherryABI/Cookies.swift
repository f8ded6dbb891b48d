// Wherry: wherry.h, section 5: the cookies of a client.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP

@_cdecl("wherry_client_set_cookie") @implementation
public func wherry_client_set_cookie(
    _ client: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ set_cookie: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let cookies = try Handles.get(client, Client.self).cookies
        try cookies.set(text(set_cookie, "set_cookie"), for: text(url, "url"))
    }
}

@_cdecl("wherry_client_clear_cookies") @implementation
public func wherry_client_clear_cookies(
    _ client: OpaquePointer?, _ url: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.get(client, Client.self).cookies.clear(optionalText(url, "url"))
    }
}

@_cdecl("wherry_client_list_cookies") @implementation
public func wherry_client_list_cookies(
    _ client: OpaquePointer?, _ out_list: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_list)
        try Handles.give(ListBox(cookies: Handles.get(client, Client.self).cookies.all), to: out)
    }
}

@_cdecl("wherry_client_save_cookies") @implementation
public func wherry_client_save_cookies(
    _ client: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ sessions: Bool
) -> wherry_status {
    status { () throws(WherryError) in
        let cookies = try Handles.get(client, Client.self).cookies
        try cookies.save(to: WherryABI.path(path, "path"), sessions: sessions)
    }
}

@_cdecl("wherry_client_load_cookies") @implementation
public func wherry_client_load_cookies(
    _ client: OpaquePointer?, _ path: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.get(client, Client.self).cookies.load(from: WherryABI.path(path, "path"))
    }
}
