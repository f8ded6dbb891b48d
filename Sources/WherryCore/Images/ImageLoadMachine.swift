// Wherry: the state machine of an image load.
// SPDX-License-Identifier: Apache-2.0

/// The life of the loads of one image: one request for all waiters, and one decoding for each
/// target. While the request runs, its body also becomes previews. A value.
package struct ImageLoadMachine: Sendable {
    /// A caller that waits for the image.
    package struct Waiter: Sendable {
        package let id: UInt64
        package let target: ImageTarget
        package var priority: Int8
        package let wantsPreviews: Bool
        package var isPaused = false

        package init(
            id: UInt64, target: ImageTarget, priority: Int8, wantsPreviews: Bool = false
        ) {
            self.id = id
            self.target = target
            self.priority = priority
            self.wantsPreviews = wantsPreviews
        }
    }

    package enum Event: Sendable {
        case join(Waiter)
        /// A waiter was cancelled, or timed out.
        case leave(UInt64)
        case setPriority(UInt64, Int8)
        case setPaused(UInt64, Bool)
        /// The request succeeded.
        case responded
        /// The request failed or was cancelled.
        case failed
        /// A worker is ready to decode.
        case ready(ImageTarget)
        /// A decoding has ended, successfully or not.
        case decoded(ImageTarget)
        /// Something happened to a preview.
        case preview(PreviewMachine.Event)
    }

    package enum Action: Equatable, Sendable {
        /// Start the request with the current ``ImageLoadMachine/priority``.
        case startRequest
        /// Apply ``ImageLoadMachine/priority`` and ``ImageLoadMachine/isPaused`` to the request.
        case align
        case cancelRequest
        /// Let a worker decode, and report `ready` before it begins.
        case submit(ImageTarget)
        case decode(ImageTarget)
        /// Report the result of the event to these waiters.
        case deliver([UInt64])
        /// Report to a waiter that it has left.
        case release(UInt64)
        case preview(PreviewMachine.Action)
    }

    private enum Phase {
        /// -> requesting
        case idle
        /// -> decoding; leaving; ended after a failure
        case requesting
        /// The last waiter left, and ends with the request. -> ended
        case leaving(UInt64)
        /// The targets whose decoding was submitted and has not ended. -> ended
        case decoding(Set<ImageTarget>)
        case ended
    }

    private var phase = Phase.idle
    /// In the order in which they joined.
    private var waiters: [Waiter] = []
    private var previews = PreviewMachine()

    package init() {}

    /// Whether further waiters may join.
    package var isOpen: Bool {
        switch phase {
        case .idle, .requesting, .decoding: true
        case .leaving, .ended: false
        }
    }

    /// Whether everything has been reported.
    package var isEnded: Bool { if case .ended = phase { true } else { false } }

    /// The highest priority of the waiters; 0 without waiters.
    package var priority: Int8 { waiters.lazy.map(\.priority).max() ?? 0 }

    /// Whether the request is paused: if there are waiters, and all of them are paused.
    package var isPaused: Bool { !waiters.isEmpty && waiters.allSatisfy(\.isPaused) }

    /// Whether a waiter wants previews of the response that the request receives.
    package var needsBody: Bool { previews.isActive }

    /// Handles an event. Returns the actions to carry out, in this order.
    package mutating func handle(_ event: Event) -> [Action] {
        if case .preview(let event) = event { return handle(event) }
        let actions = step(event)
        let targets = previewTargets
        guard previews.isActive || !targets.isEmpty else { return actions }
        return actions + handle(.want(targets))
    }

    /// The targets of which waiters want previews: none after the end of the request.
    private var previewTargets: Set<ImageTarget> {
        guard case .requesting = phase else { return [] }
        return Set(waiters.lazy.filter(\.wantsPreviews).map(\.target))
    }

    private mutating func handle(_ event: PreviewMachine.Event) -> [Action] {
        previews.handle(event).map { .preview($0) }
    }

    private mutating func step(_ event: Event) -> [Action] {
        switch event {
        case .join(let waiter): join(waiter)
        case .leave(let id): leave(id)
        case .setPriority(let id, let value): change(id) { $0.priority = value }
        case .setPaused(let id, let value): change(id) { $0.isPaused = value }
        case .responded: responded()
        case .failed: failed()
        case .ready(let target): ready(target)
        case .decoded(let target): decoded(target)
        case .preview(let event): handle(event)
        }
    }

    private mutating func join(_ waiter: Waiter) -> [Action] {
        switch phase {
        case .idle:
            waiters.append(waiter)
            phase = .requesting
            return [.startRequest]
        case .requesting: return aligning { $0.waiters.append(waiter) }
        case .decoding(var running):
            waiters.append(waiter)
            guard running.insert(waiter.target).inserted else { return [] }
            phase = .decoding(running)
            return [.submit(waiter.target)]
        case .leaving, .ended: return []
        }
    }

    private mutating func leave(_ id: UInt64) -> [Action] {
        guard let place = waiters.firstIndex(where: { $0.id == id }) else { return [] }
        guard case .requesting = phase else {
            waiters.remove(at: place)
            return [.release(id)]
        }
        guard waiters.count > 1 else {
            waiters = []
            phase = .leaving(id)
            return [.cancelRequest]
        }
        return aligning { $0.waiters.remove(at: place) } + [.release(id)]
    }

    private mutating func change(_ id: UInt64, _ body: (inout Waiter) -> Void) -> [Action] {
        guard let place = waiters.firstIndex(where: { $0.id == id }) else { return [] }
        return aligning { body(&$0.waiters[place]) }
    }

    /// Changes the waiters. Returns whether the request must follow.
    private mutating func aligning(_ change: (inout Self) -> Void) -> [Action] {
        let before = (priority, isPaused)
        change(&self)
        guard case .requesting = phase, before != (priority, isPaused) else { return [] }
        return [.align]
    }

    private mutating func responded() -> [Action] {
        switch phase {
        case .requesting:
            var targets: [ImageTarget] = []
            for waiter in waiters.sorted(by: { $0.priority > $1.priority })
            where !targets.contains(waiter.target) {
                targets.append(waiter.target)
            }
            phase = .decoding(Set(targets))
            return targets.map { .submit($0) }
        case .leaving: return failed()
        case .idle, .decoding, .ended: return []
        }
    }

    private mutating func failed() -> [Action] {
        switch phase {
        case .requesting:
            phase = .ended
            let ids = waiters.map(\.id)
            waiters = []
            return [.deliver(ids)]
        case .leaving(let id):
            phase = .ended
            return [.release(id)]
        case .idle, .decoding, .ended: return []
        }
    }

    private mutating func ready(_ target: ImageTarget) -> [Action] {
        guard waiters.contains(where: { $0.target == target }) else { return decoded(target) }
        return [.decode(target)]
    }

    private mutating func decoded(_ target: ImageTarget) -> [Action] {
        guard case .decoding(var running) = phase, running.remove(target) != nil else { return [] }
        let ids = waiters.filter { $0.target == target }.map(\.id)
        waiters.removeAll { $0.target == target }
        phase = running.isEmpty ? .ended : .decoding(running)
        return ids.isEmpty ? [] : [.deliver(ids)]
    }
}
