// Wherry: the state machine of previews.
// SPDX-License-Identifier: Apache-2.0

/// The previews of a running image load: for each target, one decoder, which decodes one step at a
/// time. Bytes that arrive during a step are decoded together in the next one. A value.
package struct PreviewMachine: Sendable {
    /// The decoder of one response for one target.
    package struct Track: Hashable, Sendable {
        package let target: ImageTarget
        /// Unique among the tracks of the load.
        package let number: Int
    }

    /// The result of a step.
    package enum Outcome: Sendable {
        /// More bytes are needed.
        case none
        case preview
        /// This response gives no further previews.
        case stopped
    }

    package enum Event: Sendable {
        /// The targets for which callers want previews from now on. None after the end of the request.
        case want(Set<ImageTarget>)
        /// The body of a response has `count` bytes. A higher `attempt` is another response.
        case grew(attempt: Int, count: Int)
        /// The decoder has received the bytes that were copied.
        case copied(Track)
        /// The bytes could not be copied, because memory ran out.
        case lost(Track)
        /// A worker is ready to decode.
        case ready(Track)
        case decoded(Track, Outcome)
        /// The preview of a step was reported.
        case delivered(Track)
    }

    package enum Action: Equatable, Sendable {
        /// Copy the body from this offset for the decoder, and report `copied` or `lost`.
        case copy(Track, from: Int)
        /// Let a worker decode, and report `ready` before it begins.
        case submit(Track)
        case decode(Track)
        /// Report the preview to the callers that want previews of the target, and then `delivered`.
        case deliver(ImageTarget)
        /// Release the decoder. A step that is running ends later, with `decoded`.
        case release(Track)
    }

    private enum Phase {
        /// All bytes have been decoded. -> queued
        case idle
        /// A worker was asked to decode. -> decoding
        case queued
        /// A worker decodes, or reports the preview: the next step must not overtake it. `hasMore`: bytes
        /// arrived after the step had begun. -> idle, queued, stopped
        case decoding(hasMore: Bool)
        /// This response gives no further previews.
        case stopped
    }

    private struct Entry {
        let number: Int
        var phase = Phase.idle
        /// The length of the body that was copied.
        var taken = 0
    }

    private var wanted: Set<ImageTarget> = []
    private var entries: [ImageTarget: Entry] = [:]
    private var attempt = 0
    private var lastNumber = 0

    package init() {}

    /// Whether the body of the response is needed.
    package var isActive: Bool { !wanted.isEmpty }

    /// Handles an event. Returns the actions to carry out, in this order.
    package mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .want(let targets): want(targets)
        case .grew(let attempt, let count): grew(attempt, count)
        case .copied(let track): copied(track)
        case .lost(let track): stop(track)
        case .ready(let track): ready(track)
        case .decoded(let track, let outcome): decoded(track, outcome)
        case .delivered(let track): finishStep(track)
        }
    }

    private mutating func want(_ targets: Set<ImageTarget>) -> [Action] {
        guard targets != wanted else { return [] }
        wanted = targets
        return release { !targets.contains($0) }
    }

    private mutating func grew(_ attempt: Int, _ count: Int) -> [Action] {
        guard attempt >= self.attempt else { return [] }
        var actions: [Action] = []
        if attempt > self.attempt {
            self.attempt = attempt
            actions = release { _ in true }
        }
        for target in wanted {
            var entry = entries[target] ?? newEntry()
            if case .stopped = entry.phase { continue }
            guard entry.taken < count else { continue }
            actions.append(.copy(Track(target: target, number: entry.number), from: entry.taken))
            entry.taken = count
            entries[target] = entry
        }
        return actions
    }

    private mutating func newEntry() -> Entry {
        lastNumber += 1
        return Entry(number: lastNumber)
    }

    private mutating func copied(_ track: Track) -> [Action] {
        switch phase(of: track) {
        case .idle:
            entries[track.target]?.phase = .queued
            return [.submit(track)]
        case .decoding:
            entries[track.target]?.phase = .decoding(hasMore: true)
            return []
        case .queued, .stopped, nil: return []
        }
    }

    private mutating func ready(_ track: Track) -> [Action] {
        guard case .queued = phase(of: track) else { return [] }
        entries[track.target]?.phase = .decoding(hasMore: false)
        return [.decode(track)]
    }

    private mutating func decoded(_ track: Track, _ outcome: Outcome) -> [Action] {
        guard case .decoding = phase(of: track) else { return [] }
        switch outcome {
        case .none: return finishStep(track)
        case .preview: return [.deliver(track.target)]
        case .stopped: return stop(track)
        }
    }

    private mutating func finishStep(_ track: Track) -> [Action] {
        guard case .decoding(let hasMore) = phase(of: track) else { return [] }
        entries[track.target]?.phase = hasMore ? .queued : .idle
        return hasMore ? [.submit(track)] : []
    }

    private mutating func stop(_ track: Track) -> [Action] {
        switch phase(of: track) {
        case .idle, .queued, .decoding:
            entries[track.target]?.phase = .stopped
            return [.release(track)]
        case .stopped, nil: return []
        }
    }

    /// The phase of a track; `nil` if it was released.
    private func phase(of track: Track) -> Phase? {
        guard let entry = entries[track.target], entry.number == track.number else { return nil }
        return entry.phase
    }

    private mutating func release(where isOld: (ImageTarget) -> Bool) -> [Action] {
        let old = entries.filter { isOld($0.key) }
        for target in old.keys { entries[target] = nil }
        var actions: [Action] = []
        for (target, entry) in old.sorted(by: { $0.value.number < $1.value.number }) {
            if case .stopped = entry.phase { continue }
            actions.append(.release(Track(target: target, number: entry.number)))
        }
        return actions
    }
}
