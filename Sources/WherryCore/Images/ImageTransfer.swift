// Wherry: one caller's load of an image.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryImaging
import WherryRequests
import WherrySystem
import WherryTransport

/// A load of an image. It shares the request and the decoding with equal loads. Its caller sees an
/// ordinary transfer with separate events, priority, timeout, and end.
package final class ImageTransfer: Transfer, @unchecked Sendable {  // guarded by `part`
    private enum Source {
        /// The image was in memory when the load was created.
        case memory(PixelBuffer)
        /// A load that has not begun, with its request.
        case own(ImageLoad, RequestTransfer)
        /// The load that the caller has joined.
        case joined(ImageLoad)
        case ended
    }

    private struct Part {
        var source: Source
        /// Why the caller left, perhaps before it joined; reported when the request has ended.
        var farewell: WherryError?
        var pixels: PixelBuffer?
        var lastProgress = Progress()
        var lastURL: String
    }
    private let part: Lock<Part>
    let target: ImageTarget
    /// Whether an image in memory may be the result.
    let readsMemory: Bool
    /// Whether nobody reads the events.
    let isPrefetch: Bool
    /// Whether the caller wants previews.
    let wantsPreviews: Bool
    private let firstOrigin: Origin?

    /// - Parameters:
    ///   - found: The image, if it is in memory.
    ///   - own: The load to begin if there is no equal one. Required without `found`.
    init(
        _ request: Request, _ target: ImageTarget, found: PixelBuffer?,
        own: (load: ImageLoad, leader: RequestTransfer)?, client: Client, settings: ClientSettings,
        options: OptionTable, observer: any TransferObserver, userData: UInt
    ) {
        self.target = target
        readsMemory = request.readsImageMemory
        isPrefetch = observer is PrefetchObserver
        wantsPreviews = !isPrefetch && options[.imagePreviews] == 1
        firstOrigin = own?.leader.origin
        let source: Source =
            if let found { .memory(found) } else if let own {
                .own(own.load, own.leader)
            } else { .ended }
        let url = own?.leader.url ?? HTTPURL.redacted(request.url)
        part = Lock(Part(source: source, lastURL: url))
        super.init(
            .request, request, client: client, settings: settings, options: options,
            observer: observer, userData: userData)
    }

    /// The image, after the transfer has succeeded.
    package var pixels: PixelBuffer? { part.withLock { $0.pixels } }

    private var leader: RequestTransfer? {
        switch part.withLock({ $0.source }) {
        case .own(_, let leader): leader
        case .joined(let load): client.imageLoads.leader(of: load)
        case .memory, .ended: nil
        }
    }
    package override var method: String { "GET" }
    package override var url: String { leader?.url ?? part.withLock { $0.lastURL } }
    package override var origin: Origin? { firstOrigin }
    package override var progress: Progress {
        leader?.progress ?? part.withLock { $0.lastProgress }
    }

    package override func begin(wake: Wake) {
        become(.running, quiet: true)
        switch part.withLock({ $0.source }) {
        case .memory(let pixels): finish(.success(pixels), nil)
        case .own(let load, let leader):
            if deadline != .never {
                client.transport.schedule(at: deadline) { [weak self] in self?.runOut() }
            }
            client.imageLoads.join(self, own: load, leader, wake: wake)
        case .joined, .ended: break
        }
    }

    /// Called before the request of the load begins, if this caller is the first one.
    func didJoin(_ load: ImageLoad, isFirst: Bool) {
        part.withLock { part in
            if case .own = part.source { part.source = .joined(load) }
        }
        if !isFirst { note(.info, .started, [.everybody("Image load shares a running request")]) }
    }

    /// Applies a cancel, timeout, or pause that arrived before the load was joined.
    func catchUp() {
        if let error = part.withLock({ $0.farewell }) { leave(error) }
        if isPaused { applyPause() }
    }

    /// Ends the transfer with the result of the load.
    func finish(_ result: Result<PixelBuffer, WherryError>, _ response: Response?) {
        retire()
        switch result {
        case .success(let pixels):
            part.withLock { $0.pixels = pixels }
            finish(TransferOutcome(response: response))
        case .failure(let error):
            finish(TransferOutcome(response: response, error: error))
        }
    }

    /// Ends the transfer of a caller that has left.
    func endFarewell() {
        retire()
        finish(TransferOutcome(error: part.withLock { $0.farewell } ?? Self.cancelledError))
    }

    /// Keeps the last progress and URL, and releases the load.
    private func retire() {
        let (last, url) = (progress, url)
        part.withLock { part in
            part.lastProgress = last
            part.lastURL = url
            part.source = .ended
        }
    }

    private func runOut() {
        leave(
            WherryError(
                .totalTimeout,
                "The transfer with \(origin?.text ?? url) reached its total timeout"))
    }

    /// Ends the transfer of this caller. The last caller to leave cancels the request and ends with
    /// it.
    private func leave(_ error: WherryError) {
        let load = part.withLock { part -> ImageLoad? in
            part.farewell = part.farewell ?? error
            guard case .joined(let load) = part.source else { return nil }
            return load
        }
        if let load { client.imageLoads.feed(load, .leave(id)) }
    }

    package override func performCancel(discarding: Bool) {
        leave(Self.cancelledError)
    }

    package override func applyPriority(_ priority: Int8) { feed(.setPriority(id, priority)) }

    package override func applyPause() { feed(.setPaused(id, isPaused)) }

    private func feed(_ event: ImageLoadMachine.Event) {
        guard case .joined(let load) = part.withLock({ $0.source }) else { return }
        client.imageLoads.feed(load, event)
    }
}

/// Observes a load whose result only goes into the memory.
final class PrefetchObserver: TransferObserver {
    func transfer(_ transfer: Transfer, did event: TransferEvent) {}
}
