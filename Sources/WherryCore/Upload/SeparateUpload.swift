// Wherry: an upload with one request per image.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// Sends every image in a separate form, several concurrently. Image n+1 is encoded while
/// image n is sent. A failed image does not delay the others, and only failed images are
/// retried (U22).
package final class SeparateUpload: Transfer, @unchecked Sendable {  // guarded by `work`
    private struct Work {
        var plan: SeparatePlan
        var outcomes: [ImageOutcome]
        /// The encoded images that have not been sent completely.
        var ready: [Int: ImageJob.Ready] = [:]
        /// The requests in progress.
        var running: [Int: RequestTransfer] = [:]
        /// The body length of each image, if known.
        var lengths: [Int: Int64] = [:]
        var sent: [Int: Int64] = [:]
        var speed = SpeedMeter()
        var reported: Progress?
        /// The priority, if changed after the start.
        var priority: Int8?
    }

    private let work: Lock<Work>
    private let parts: [Request.Part]
    private let jobs: [ImageJob]

    init(
        _ request: Request, _ parts: [Request.Part], client: Client, settings: ClientSettings,
        options: OptionTable, observer: any TransferObserver, userData: UInt
    ) {
        self.parts = parts
        let jobs = ImageJob.jobs(
            of: request, parts, settings: settings, options: options, isSeparate: true)
        self.jobs = jobs
        work = Lock(
            Work(
                plan: SeparatePlan(
                    count: jobs.count, limit: Int(options[.separateImages]),
                    retries: Int(options[.imageRetries])),
                outcomes: jobs.map(\.unsent)))
        super.init(
            .upload, request, client: client, settings: settings, options: options,
            observer: observer, userData: userData)
    }

    package override var url: String { address }
    package override var images: [ImageOutcome] { work.withLock { $0.outcomes } }
    package override var progress: Progress { work.withLock { Self.progress($0) } }

    private static func progress(_ work: Work) -> Progress {
        var progress = Progress()
        progress.completed = work.sent.values.reduce(Int64(0)) { $0.addingSaturating($1) }
        progress.wire = progress.completed
        // An image has no length before it is first sent; an unreadable one never has.
        let isKnown = work.plan.images.indices.allSatisfy {
            work.lengths[$0] != nil || work.plan.images[$0] == .over
        }
        if isKnown {
            let total = work.lengths.values.reduce(Int64(0)) { $0.addingSaturating($1) }
            progress.total = max(total, progress.completed)
        }
        progress.bytesPerSecond = work.speed.bytesPerSecond
        if let total = progress.total {
            progress.remaining = work.speed.remaining(total - progress.completed)
        }
        return progress
    }

    // MARK: Working

    package override func begin(wake: Wake) {
        become(.running, quiet: true)
        noteStart(address, [])
        proceed()
    }

    /// Starts all steps that can start. Called after every change.
    private func proceed() {
        let actions = work.withLock { $0.plan.next() }
        for index in actions.encode {
            client.workers.submit { [self] in encode(index) }
        }
        for index in actions.send { send(index) }
        if actions.isOver { end() }
    }

    private func encode(_ index: Int) {
        let (outcome, ready) = jobs[index].run(isCancelled: isCancelled)
        let ended = work.withLock { work -> ImageOutcome? in
            work.outcomes[index] = outcome
            work.ready[index] = ready
            work.plan.encoded(index, isSound: ready != nil)
            guard work.plan.images[index] == .over else { return nil }
            if ready != nil {
                // Cancelled while it was encoded: do not send it.
                work.outcomes[index].error = Self.cancelledError
                work.ready[index] = nil
            }
            return work.outcomes[index]
        }
        if let ended { emit(.image(ended)) }
        proceed()
    }

    private func send(_ index: Int) {
        do {
            let child = try makeChild(index)
            work.withLock { work in
                work.running[index] = child
                work.lengths[index] = child.bodyLength
            }
            // Of two concurrent priority changes the later one wins, also for this image.
            var applied: Int8?
            while let priority = work.withLock({ $0.priority }), priority != applied {
                child.applyPriority(priority)
                applied = priority
            }
            align([child])
            child.begin(wake: .now)
            // Applies a cancel that arrived before the start.
            if isCancelled { child.cancel() }
        } catch {
            childEnded(index, TransferOutcome(error: error))
        }
    }

    private func makeChild(_ index: Int) throws(WherryError) -> RequestTransfer {
        guard let image = work.withLock({ $0.ready[index] }) else {
            throw WherryError(.internal, "An image was not encoded before it was sent")
        }
        var own = request
        own.set(.separateImages, 0)
        // This upload does the retries; retries of the request would multiply them.
        own.set(.maxRetries, 0)
        own.set(.wantProgress, wantsProgress ? 1 : 0)
        var parts: [Request.Part] = []
        for (place, part) in self.parts.enumerated() {
            if place == jobs[index].partIndex {
                parts.append(
                    Request.Part(
                        name: image.fieldName, content: .bytes(image.bytes),
                        fileName: image.fileName,
                        contentType: part.contentType ?? image.contentType,
                        headers: part.headers))
            } else if case .image = part.content {
                continue
            } else {
                parts.append(part)
            }
        }
        own.body = .multipart(parts)
        let observer = ChildObserver(self, index)
        return try client.makeRequest(own, settings: settings, observer: observer)
    }

    private var wantsProgress: Bool { options[.wantProgress] != 0 }

    fileprivate func childMoved(_ index: Int, _ progress: Progress) {
        let sum = work.withLock { work -> Progress? in
            // A retry starts at 0, but the sum never decreases.
            let sent = max(progress.completed, work.sent[index] ?? 0)
            work.sent[index] = sent
            work.outcomes[index].sentBytes = sent
            let sum = work.sent.values.reduce(Int64(0)) { $0.addingSaturating($1) }
            work.speed.add(sum, at: client.transport.clock.now())
            let progress = Self.progress(work)
            guard progress.hasMoved(since: work.reported) else { return nil }
            work.reported = progress
            return progress
        }
        if let sum { emit(.progress(sum)) }
    }

    fileprivate func childEnded(_ index: Int, _ outcome: TransferOutcome) {
        let now = client.transport.clock.now()
        let sent = work.withLock { $0.running[index] }?.progress.completed ?? 0
        let (delay, image) = work.withLock { work -> (Int64?, ImageOutcome) in
            work.running[index] = nil
            work.sent[index] = max(sent, work.sent[index] ?? 0)
            work.outcomes[index].sentBytes = work.sent[index] ?? 0
            let delay = retryDelay(after: outcome.error, attempts: work.plan.attempts[index], now)
            if work.plan.ended(index, mayRetry: delay != nil) {
                return (delay, work.outcomes[index])
            }
            work.ready[index] = nil
            work.outcomes[index].response = outcome.response
            work.outcomes[index].error = outcome.error.map { error in
                error.with {
                    $0.message = "\(jobs[index].label) was not sent: \(error.message)"
                }
            }
            return (nil, work.outcomes[index])
        }
        if let delay {
            noteRetry(outcome.error)
            retry(index, at: now.advanced(by: delay))
        } else {
            emit(.image(image))
        }
        proceed()
    }

    /// Returns the delay before an image is sent again, in nanoseconds, as for other requests;
    /// `nil` if the error is permanent, or the server asks for a longer wait than
    /// `max_retry_after_ms`.
    private func retryDelay(after error: WherryError?, attempts: Int, _ now: Instant) -> Int64? {
        guard let error, error.isRetryable else { return nil }
        var random = SplitMix(state: .random(in: .min ... .max))
        return RetryRules(options, deadline: .never)
            .delay(after: error, retries: attempts - 1, now: now, &random)
    }

    private func retry(_ index: Int, at time: Instant) {
        client.transport.schedule(at: time) { [weak self] in
            guard let self else { return }
            work.withLock { $0.plan.rested(index) }
            proceed()
        }
    }

    // MARK: Ending

    private func end() {
        let (images, progress, reported) = work.withLock {
            ($0.outcomes, Self.progress($0), $0.reported)
        }
        let skips = UnreadableImages(options) == .skip
        // Skipped images are reported, but count as failures only if no image was sent.
        let failed = images.filter { $0.error != nil && !(skips && $0.encodedBytes < 0) }
        let sent = images.first { $0.error == nil && $0.response != nil }
        let blamed = failed.first ?? (sent == nil ? images.first : nil)
        if wantsProgress, blamed == nil, progress.hasMoved(since: reported) {
            emit(.progress(progress))
        }
        guard let blamed, var error = blamed.error else {
            var response = sent?.response
            response?.images = images
            return finish(TransferOutcome(response: response))
        }
        let missing = failed.isEmpty ? images : failed
        if let all = missing.failure({ "\($0) of \(images.count) images were not sent" }) {
            error = all
        }
        if isCancelled { error = Self.cancelledError }
        var response = isCancelled ? nil : blamed.response
        response?.images = images
        finish(
            TransferOutcome(
                response: response,
                error: error.with {
                    $0.failedImages = missing
                    $0.response = response
                }))
    }

    package override func performCancel(discarding: Bool) {
        let running = work.withLock { work in
            for index in work.outcomes.indices
            where [.waiting, .ready, .resting].contains(work.plan.images[index]) {
                work.outcomes[index].error = Self.cancelledError
                work.ready[index] = nil
            }
            work.plan.cancel()
            return Array(work.running.values)
        }
        for child in running { child.cancel() }
        proceed()
    }

    package override func applyPriority(_ priority: Int8) {
        let running = work.withLock { work in
            work.priority = priority
            return Array(work.running.values)
        }
        for child in running { child.applyPriority(priority) }
    }

    package override func applyPause() {
        let running = work.withLock { work in
            work.speed.restart()
            return Array(work.running.values)
        }
        align(running)
    }
}

/// Observes the request of one image.
private final class ChildObserver: TransferObserver {
    var isPart: Bool { true }
    private let upload: SeparateUpload
    private let index: Int

    init(_ upload: SeparateUpload, _ index: Int) {
        self.upload = upload
        self.index = index
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .progress(let progress): upload.childMoved(index, progress)
        case .hook: upload.emit(event)
        case .done(let outcome): upload.childEnded(index, outcome)
        case .headers, .cached, .body, .wantBody, .state, .image, .preview: break
        }
    }
}
