// Wherry: loading images from URLs.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging
import WherrySystem

/// The size at which an image is decoded. No image is enlarged.
public struct ImageSize: Sendable, Hashable {
    /// The maximum width in pixels; `nil` for no limit.
    public var width: Int?
    /// The maximum height in pixels; `nil` for no limit.
    public var height: Int?
    /// How the image fills the box of both limits.
    public var mode: Compression.ResizeMode

    /// The size of the image itself.
    public static let full = ImageSize(nil, nil, .fit)

    /// The complete image is inside the box.
    public static func fit(_ width: Int?, _ height: Int?) -> ImageSize {
        ImageSize(width, height, .fit)
    }

    /// The image covers the box, and its center is cut out, with the size of the box.
    public static func crop(_ width: Int, _ height: Int) -> ImageSize {
        ImageSize(width, height, .crop)
    }

    /// The image is in the center of an image with the size of the box.
    public static func pad(_ width: Int, _ height: Int) -> ImageSize {
        ImageSize(width, height, .pad)
    }

    private init(_ width: Int?, _ height: Int?, _ mode: Compression.ResizeMode) {
        self.width = width
        self.height = height
        self.mode = mode
    }

    fileprivate func apply(to settings: inout WherryImaging.Compression) {
        settings.maxWidth = width
        settings.maxHeight = height
        settings.resizeMode = mode.mode
    }
}

/// Loads images from URLs, decodes them at the size that is needed, and keeps them in memory:
/// `client.images`.
///
/// Decoded images stay in memory up to ``/WherryCore/Client/Configuration/imageMemoryBytes``. They
/// are found by URL, size, pixel order and settings, and by the headers, parameters and options of
/// the request, except its priority. The server is not asked whether a decoded image is still fresh.
/// The cache policies `off`, `refresh` and `reload` do not read the memory. A response with
/// `Cache-Control: no-store` is not kept. A change of the client's headers, parameters, credentials
/// or texts removes all images; a change of cookies does not.
///
/// Equal loads that run at the same time share one request and one decoding, and loads of different
/// sizes share the request. It has the highest priority of its loads, and ends if all of them are
/// cancelled. A response that is not a valid image is removed from the caches of the client.
public struct ImageLoader: Sendable {
    let client: Client

    /// Loads an image.
    ///
    /// Returns without suspending if the image is in memory. Cancelling the task cancels the load.
    ///
    /// - Parameters:
    ///   - size: The size of the result. Default: that of the image.
    ///   - order: The pixel format; `nil` selects the smallest one without loss.
    ///   - priority: -100 to 100, among requests that wait for a connection.
    /// - Throws: Errors of ``/WherryCore/Client/send(_:hooks:)``. An error with code `image` for
    ///   anything but an image that can be read, `limit` for too many pixels, bytes, or too much time.
    public func load(
        _ url: String, size: ImageSize = .full, as order: Image.PixelOrder? = nil,
        priority: Int = 0
    ) async throws(WherryError) -> Image.Pixels {
        if let found = cached(url, size: size, as: order) { return found }
        var request = Request(url)
        if priority != 0 { request.set(.priority, Int64(priority)) }
        return try await load(request, size: size, as: order)
    }

    /// Loads the image of a request, which must be a GET without a body.
    ///
    /// - Parameter settings: Only sharpening, background, orientation, animated and limits apply.
    public func load(
        _ request: Request, size: ImageSize = .full, as order: Image.PixelOrder? = nil,
        _ settings: Compression = Compression()
    ) async throws(WherryError) -> Image.Pixels {
        if Task.isCancelled { throw Transfer.cancelledError }
        let target = Self.target(size, order, settings)
        if let found = client.cachedImage(request, target) { return Image.Pixels(buffer: found) }
        var request = request
        let awaiter = EndAwaiter(client.hooks(nil, for: &request))
        let transfer = try client.loadImage(request, target, observer: awaiter)
        if let error = await awaiter.end(of: transfer).error { throw error }
        return try Self.pixels(of: transfer)
    }

    /// Starts to load an image, to observe and control the load.
    ///
    /// - Throws: Errors that are detected immediately. Nothing has been started in that case.
    public func start(
        _ request: Request, size: ImageSize = .full, as order: Image.PixelOrder? = nil,
        _ settings: Compression = Compression()
    ) throws(WherryError) -> TransferHandle<Image.Pixels> {
        var request = request
        request.set(.wantProgress, 1)
        let events = TransferEvents(client.hooks(nil, for: &request))
        let transfer = try client.loadImage(
            request, Self.target(size, order, settings), observer: events)
        return TransferHandle(transfer, events) { outcome throws(WherryError) in
            if let error = outcome.error { throw error }
            return try Self.pixels(of: transfer)
        }
    }

    /// Returns an image that is in memory; `nil` if it is not. Takes about a microsecond.
    public func cached(
        _ url: String, size: ImageSize = .full, as order: Image.PixelOrder? = nil
    ) -> Image.Pixels? {
        client.cachedImage(url: url, Self.target(size, order)).map { Image.Pixels(buffer: $0) }
    }

    /// Returns the image of a request that is in memory; `nil` if it is not.
    public func cached(
        _ request: Request, size: ImageSize = .full, as order: Image.PixelOrder? = nil,
        _ settings: Compression = Compression()
    ) -> Image.Pixels? {
        client.cachedImage(request, Self.target(size, order, settings))
            .map { Image.Pixels(buffer: $0) }
    }

    /// Loads images into the memory, with the lowest priority. A later load of the same image
    /// raises it. Errors of a load are only logged.
    ///
    /// `Client.cancel(_:)` cancels the loads by URL.
    ///
    /// - Throws: Errors that are detected immediately, such as an invalid URL. Earlier URLs have
    ///   been started in that case.
    public func prefetch(
        _ urls: [String], size: ImageSize = .full, as order: Image.PixelOrder? = nil
    ) throws(WherryError) {
        for url in urls { try prefetch(Request(url), size: size, as: order) }
    }

    /// Loads the image of a request into the memory. The request may set another priority, and a
    /// tag with which `Client.cancel(_:)` cancels the load.
    public func prefetch(
        _ request: Request, size: ImageSize = .full, as order: Image.PixelOrder? = nil,
        _ settings: Compression = Compression()
    ) throws(WherryError) {
        var request = request
        let observer = client.hooks(nil, for: &request).map { EndAwaiter($0) }
        try client.prefetchImage(
            request, Self.target(size, order, settings), observer: observer)
    }

    /// The images in memory, and the numbers of hits, misses, and requests.
    public var usage: ImageMemoryUsage { client.imageMemoryUsage }

    /// Removes all images from the memory. Pixels that the program has stay valid.
    public func clear() { client.clearImages() }

    private static func target(
        _ size: ImageSize, _ order: Image.PixelOrder?, _ settings: Compression = Compression()
    ) -> ImageTarget {
        var settings = settings.settings
        size.apply(to: &settings)
        return ImageTarget(as: order?.format, settings)
    }

    private static func pixels(of transfer: ImageTransfer) throws(WherryError) -> Image.Pixels {
        guard let pixels = transfer.pixels else {
            throw WherryError(.internal, "The image load ended without an image")
        }
        return Image.Pixels(buffer: pixels)
    }
}

extension Client {
    /// Loads images from URLs, and keeps them decoded in memory (I1).
    public var images: ImageLoader { ImageLoader(client: self) }
}
