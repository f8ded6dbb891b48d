// Wherry: previews of images that are loading.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherryImaging
import WherryRequests
import WherrySystem

/// An image as far as it has arrived.
public struct ImagePreview: Sendable {
    /// The pixels, with the size, format and orientation of the complete image.
    public let pixels: Image.Pixels
    /// The number of complete scans of a JPEG, or the last complete pass of a PNG, from 1. `nil` for
    /// the complete image.
    public let pass: Int?
    /// Whether this is the complete image.
    public var isFinal: Bool { pass == nil }
}

/// The previews of an image load, the newest one at a time; see ``ImagePreview``. The sequence ends
/// when the load or the reading task ends.
public struct PreviewSequence: AsyncSequence, Sendable {
    public typealias Element = ImagePreview
    public typealias Failure = Never

    let events: TransferEvents

    /// Creates an independent reader.
    public func makeAsyncIterator() -> Iterator { Iterator(events: events) }

    /// Iterates over the previews.
    public struct Iterator: AsyncIteratorProtocol {
        let events: TransferEvents
        private var seen = 0

        init(events: TransferEvents) { self.events = events }

        /// Returns the newest unread preview; `nil` at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            guard let (preview, count) = await events.preview(after: seen) else { return nil }
            seen = count
            return ImagePreview(
                pixels: Image.Pixels(buffer: preview.pixels), pass: preview.pass)
        }
    }
}

/// The previews of an image, followed by the complete image: see
/// ``ImageLoader/previews(_:size:as:priority:)``.
public struct ImagePreviews: AsyncSequence, Sendable {
    public typealias Element = ImagePreview
    public typealias Failure = WherryError

    let start: @Sendable () throws(WherryError) -> TransferHandle<Image.Pixels>

    /// Creates a reader, which loads the image when it is first used.
    public func makeAsyncIterator() -> Iterator { Iterator(start: start) }

    /// Loads the image. Releasing the iterator cancels the load.
    public struct Iterator: AsyncIteratorProtocol {
        public typealias Element = ImagePreview
        public typealias Failure = WherryError

        private enum State {
            case waiting(@Sendable () throws(WherryError) -> TransferHandle<Image.Pixels>)
            case loading(Load, PreviewSequence.Iterator)
            case ended
        }
        private var state: State

        init(start: @escaping @Sendable () throws(WherryError) -> TransferHandle<Image.Pixels>) {
            state = .waiting(start)
        }

        /// Returns the newest preview that was not returned, or waits for the next one. Returns the
        /// complete image last, and then `nil`. Cancelling the task cancels the load.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(WherryError) -> ImagePreview? {
            let load: Load
            var previews: PreviewSequence.Iterator
            switch state {
            case .waiting(let start):
                state = .ended
                load = Load(try start())
                previews = load.handle.previews.makeAsyncIterator()
            case .loading(let running, let iterator): (load, previews) = (running, iterator)
            case .ended: return nil
            }
            if let preview = await previews.next(isolation: actor) {
                state = .loading(load, previews)
                return preview
            }
            state = .ended
            return ImagePreview(pixels: try await load.handle.value, pass: nil)
        }
    }

    /// Cancels the load when its iterator is released.
    private final class Load: Sendable {
        let handle: TransferHandle<Image.Pixels>

        init(_ handle: TransferHandle<Image.Pixels>) { self.handle = handle }

        deinit { handle.cancel() }
    }
}

extension ImageLoader {
    /// Loads an image, and returns it as it arrives: previews of a progressive JPEG or an interlaced
    /// PNG, then the complete image.
    ///
    ///     for try await image in client.images.previews(url, size: .fit(800, nil)) {
    ///         show(image.pixels)
    ///     }
    ///
    /// Each scan of a JPEG except the last gives a preview, as soon as the next scan begins, and so
    /// does each of the first six passes of a PNG. A preview that was not read is replaced by the next
    /// one. Other images have no previews. Images from memory, a cache, or a stub have none either.
    /// After a retry, previews start over with the first scan. The last element equals the result of ``load(_:size:as:priority:)``.
    ///
    /// Each reader loads the image when it is first used; ending the loop cancels the load. Throws the
    /// errors of `load`, which takes the same parameters.
    public func previews(
        _ url: String, size: ImageSize = .full, as order: Image.PixelOrder? = nil,
        priority: Int = 0
    ) -> ImagePreviews {
        var request = Request(url)
        if priority != 0 { request.set(.priority, Int64(priority)) }
        return previews(request, size: size, as: order)
    }

    /// Loads the image of a request, and returns it as it arrives.
    ///
    /// - Parameter settings: Only sharpening, background, orientation, animated, and limits apply.
    public func previews(
        _ request: Request, size: ImageSize = .full, as order: Image.PixelOrder? = nil,
        _ settings: Compression = Compression()
    ) -> ImagePreviews {
        ImagePreviews { () throws(WherryError) in
            var request = request
            request.imagePreviews = true
            return try start(request, size: size, as: order, settings)
        }
    }
}
