// Wherry: wherry.h, section 24: the image loader.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryImaging
import WherryRequests

/// Returns the request of an image load: a GET of the URL for NULL.
private func imageRequest(
    _ request: OpaquePointer?, _ url: UnsafePointer<CChar>?
) throws(WherryError) -> Request {
    guard request != nil else { return Request(try text(url, "url")) }
    return try snapshot(request, url: url)
}

private func target(
    _ format: wherry_pixel_format, _ compression: OpaquePointer?
) throws(WherryError) -> ImageTarget {
    ImageTarget(
        as: format == WHERRY_PIXELS_NONE ? nil : try pixelFormat(format),
        try compressionValue(compression))
}

@_cdecl("wherry_client_load_image") @implementation
public func wherry_client_load_image(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ format: wherry_pixel_format, _ compression: OpaquePointer?, _ queue: OpaquePointer?,
    _ user_data: UnsafeMutableRawPointer?, _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let request = try imageRequest(request, url)
        let target = try target(format, compression)
        let queue = try Handles.get(queue, EventQueue.self)
        try start(out_transfer) { begun throws(WherryError) in
            _ = try client.loadImage(
                request, target, observer: queue, userData: UInt(bitPattern: user_data),
                willBegin: begun)
        }
    }
}

@_cdecl("wherry_client_load_image_for") @implementation
public func wherry_client_load_image_for(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ format: wherry_pixel_format, _ compression: OpaquePointer?, _ timeout_ms: Int64,
    _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?,
    _ out_record: UnsafeMutablePointer<wherry_record>?
) -> wherry_status {
    status { () throws(WherryError) in
        try perform(client, for: timeout_ms, out_transfer, out_record) {
            client throws(WherryError) in
            let target = try target(format, compression)
            return try client.startImageLoad(imageRequest(request, url), target)
        }
    }
}

@_cdecl("wherry_event_open_image") @implementation
public func wherry_event_open_image(
    _ event: OpaquePointer?, _ out_image: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_image)
        let event = try getEvent(event)
        let found: PixelBuffer? =
            switch event.event {
            case .preview(let preview): preview.pixels
            case .done: (event.transfer as? ImageTransfer)?.pixels
            default: nil
            }
        guard let pixels = found else {
            throw WherryError(
                .wrongState,
                "The event has no image. Pass an IMAGE_PREVIEW event, or the DONE event of a successful image load."
            )
        }
        try Handles.give(Box(ImageValue(source: .pixels(pixels))), to: out)
    }
}

@_cdecl("wherry_client_cached_image") @implementation
public func wherry_client_cached_image(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ format: wherry_pixel_format, _ compression: OpaquePointer?,
    _ out_image: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_image)
        let client = try Handles.get(client, Client.self)
        let request = try imageRequest(request, url)
        guard let pixels = client.cachedImage(request, try target(format, compression)) else {
            throw WherryError(.missing, "The image is not in memory")
        }
        try Handles.give(Box(ImageValue(source: .pixels(pixels))), to: out)
    }
}

@_cdecl("wherry_client_prefetch_image") @implementation
public func wherry_client_prefetch_image(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ format: wherry_pixel_format, _ compression: OpaquePointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        try client.prefetchImage(imageRequest(request, url), target(format, compression))
    }
}

@_cdecl("wherry_client_clear_images") @implementation
public func wherry_client_clear_images(_ client: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.get(client, Client.self).clearImages() }
}

@_cdecl("wherry_client_image_usage") @implementation
public func wherry_client_image_usage(
    _ client: OpaquePointer?, _ out_usage: UnsafeMutablePointer<wherry_image_usage>?
) -> wherry_status {
    status { () throws(WherryError) in
        let usage = try Handles.get(client, Client.self).imageMemoryUsage
        try fill(out_usage) { wherry_image_usage(usage) }
    }
}

extension wherry_image_usage {
    fileprivate init(_ usage: ImageMemoryUsage) {
        self.init()
        images = Int64(usage.count)
        image_bytes = Int64(usage.bytes)
        limit_bytes = Int64(usage.limit)
        hits = Int64(usage.hits)
        misses = Int64(usage.misses)
        requests = Int64(usage.requests)
    }
}
