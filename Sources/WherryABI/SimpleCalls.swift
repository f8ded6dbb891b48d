// Wherry: wherry.h, simple calls.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryRequests
import WherrySystem

/// Waits for a transfer of a new client with default settings, then closes the client.
private func outcome(
    _ start: (Client) throws(WherryError) -> (Transfer, PerformWaiter)
) throws(WherryError) -> TransferOutcome {
    let client = try Client(Client.Configuration())
    defer { client.close() }
    let (transfer, waiter) = try start(client)
    return try waiter.outcome(of: transfer, on: client)
}

/// Sends a request with a new client, and returns the response like `wherry_client_perform`.
private func perform(
    _ out_response: UnsafeMutablePointer<OpaquePointer?>?,
    _ make: () throws(WherryError) -> Request
) -> wherry_status {
    out_response?.pointee = nil
    return status { () throws(WherryError) in
        let out = try required(out_response)
        let request = try make()
        let outcome = try outcome { client throws(WherryError) in try client.startPerform(request) }
        try give(outcome, to: out)
    }
}

@_cdecl("wherry_get") @implementation
public func wherry_get(
    _ url: UnsafePointer<CChar>?, _ out_response: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    perform(out_response) { () throws(WherryError) in Request(try text(url, "url")) }
}

@_cdecl("wherry_download_file") @implementation
public func wherry_download_file(
    _ url: UnsafePointer<CChar>?, _ path: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        var request = Request(try text(url, "url"))
        let path = try WherryABI.path(path, "path")
        if path.utf8.last == UInt8(ascii: "/") || (try? Directory.open(path)) != nil {
            request.set(.targetIsDirectory, 1)
        }
        let outcome = try outcome { client throws(WherryError) in
            let waiter = PerformWaiter()
            return (try client.download(request, to: path, observer: waiter), waiter)
        }
        if let error = outcome.error { throw error }
    }
}

@_cdecl("wherry_upload_image") @implementation
public func wherry_upload_image(
    _ url: UnsafePointer<CChar>?, _ name: UnsafePointer<CChar>?, _ path: UnsafePointer<CChar>?,
    _ out_response: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    perform(out_response) { () throws(WherryError) in
        var request = Request(try text(url, "url"), method: "POST")
        let image = try image(WherryABI.path(path, "path"))
        // The name without an index, since there is only one image.
        request.imageNames = Multipart.NameStyle.repeat.rawValue
        request.addPart(
            Request.Part(
                name: try text(name, "name"), content: .image(image, try compressionValue(nil))))
        return request
    }
}
