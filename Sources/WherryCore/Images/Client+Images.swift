// Wherry: the start of image loads.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryImaging
import WherryRequests

extension Client {
    /// Starts to load an image: requests and decodes it, unless it is in memory.
    ///
    /// - Parameter willBegin: Called before the first event, once the start can no longer fail.
    package func loadImage(
        _ request: Request, _ target: ImageTarget, observer: any TransferObserver,
        userData: UInt = 0, willBegin: (ImageTransfer) -> Void = { _ in }
    ) throws(WherryError) -> ImageTransfer {
        do {
            let transfer = try makeImageTransfer(
                request, target, observer: observer, userData: userData)
            try start(transfer) { _ in willBegin(transfer) }
            return transfer
        } catch {
            noteRefused(error, request)
            throw error
        }
    }

    /// Starts to load an image whose end the caller waits for.
    package func startImageLoad(
        _ request: Request, _ target: ImageTarget, userData: UInt = 0
    ) throws(WherryError) -> (ImageTransfer, PerformWaiter) {
        try checkBlocking(request)
        let waiter = PerformWaiter()
        let transfer = try loadImage(request, target, observer: waiter, userData: userData)
        return (transfer, waiter)
    }

    /// Starts to load an image into the memory, with the lowest priority unless the request has one.
    ///
    /// - Parameter observer: Answers hooks. By default, hooks have their default results.
    package func prefetchImage(
        _ request: Request, _ target: ImageTarget, observer: (any TransferObserver)? = nil
    ) throws(WherryError) {
        var request = request
        if request.value(of: .priority) == nil { request.set(.priority, -100) }
        _ = try loadImage(request, target, observer: observer ?? PrefetchObserver())
    }

    /// Returns an image that is in memory; `nil` if it is not, or if the cache policy of the request
    /// demands a new one.
    package func cachedImage(_ request: Request, _ target: ImageTarget) -> PixelBuffer? {
        guard request.readsImageMemory else { return nil }
        return ImageAddress(request).flatMap { imageLoads.cached($0, target) }
    }

    /// Returns the image of a URL that is in memory; `nil` if it is not.
    package func cachedImage(url: String, _ target: ImageTarget) -> PixelBuffer? {
        imageLoads.cached(ImageAddress(url: url), target)
    }

    /// Returns what the memory of decoded images holds.
    package var imageMemoryUsage: ImageMemoryUsage { imageLoads.usage }

    /// Removes all decoded images from the memory. Callers keep the images that they have.
    package func clearImages() { imageLoads.removeAll() }

    /// Removes all decoded images, and keeps none of the running loads: their requests changed.
    package func invalidateImages() { imageLoads.invalidate() }

    private func makeImageTransfer(
        _ request: Request, _ target: ImageTarget, observer: any TransferObserver, userData: UInt
    ) throws(WherryError) -> ImageTransfer {
        let request = try request.ownForm.forImage()
        do {
            try target.compression.validate()
        } catch {
            throw WherryError(error)
        }
        let generation = imageLoads.generation
        let settings = settings
        for value in request.overrides { try value.option.check(value.value, in: .request) }
        let options = settings.options.overridden(by: request.overrides)
        let address = ImageAddress(request)
        let found =
            request.readsImageMemory ? address.flatMap { imageLoads.cached($0, target) } : nil
        var own: (load: ImageLoad, leader: RequestTransfer)?
        if found == nil {
            let load = ImageLoad(
                imageLoads, address, policy: request.cachePolicy?.rawValue, generation: generation)
            // The timeout applies to each caller separately.
            var sent = request
            sent.set(.totalTimeout, 0)
            // Callers that join later may want the progress.
            sent.set(.wantProgress, 1)
            own = (load, try makeRequest(sent, settings: settings, observer: load))
        }
        return ImageTransfer(
            request, target, found: found, own: own, client: self, settings: settings,
            options: options, observer: observer, userData: userData)
    }
}

extension Request {
    /// Whether an image in memory may be the result.
    var readsImageMemory: Bool {
        switch cachePolicy {
        case .off, .refresh, .reload: false
        default: true
        }
    }

    /// Returns the request as it is sent for an image.
    fileprivate func forImage() throws(WherryError) -> Request {
        var request = self
        if request.method == nil { request.method = "GET" }
        guard request.method == "GET" else {
            throw WherryError(
                .badMethod, "An image is loaded with GET, not with \(request.effectiveMethod)")
        }
        guard case .none = request.body else {
            throw WherryError(.badParameters, "The request for an image cannot have a body")
        }
        guard !request.isStreamed, request.jsonShape == nil else {
            throw WherryError(
                .badOption,
                "The response of an image load cannot be streamed, and has no JSON shape")
        }
        guard request.cachePolicy != .thenNetwork else {
            throw WherryError(
                .badOption,
                "An image load has one result, so its cache policy cannot be thenNetwork. Use another policy."
            )
        }
        return request
    }
}
