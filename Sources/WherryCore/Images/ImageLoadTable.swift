// Wherry: the image loads of a client.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryImaging
import WherryRequests
import WherrySystem
import WherryTransport

/// The decoded images in memory, and the running loads of a client. Calls no other code while it
/// holds its lock.
package final class ImageLoadTable: Sendable {
    private struct MemoryKey: Hashable, Sendable {
        let address: ImageAddress
        let target: ImageTarget
    }

    private struct LoadKey: Hashable, Sendable {
        let address: ImageAddress
        let policy: Int32?

        /// `nil` for a load that other callers must not join.
        init?(_ load: ImageLoad) {
            guard let address = load.address else { return nil }
            self.address = address
            policy = load.policy
        }
    }

    private struct State {
        var memory: CostLimitedCache<MemoryKey, PixelBuffer>
        /// The loads that more callers may join.
        var open: [LoadKey: ImageLoad] = [:]
        /// Increases when settings of the client change that affect responses.
        var generation: UInt64 = 0
        var hits = 0
        var misses = 0
        var requests = 0
    }
    private let state: Lock<State>

    init(limit: Int64) {
        state = Lock(State(memory: CostLimitedCache(limit: Int(clamping: limit))))
    }

    // MARK: Memory

    /// Returns an image that is in memory. Takes about a microsecond.
    func cached(_ address: ImageAddress, _ target: ImageTarget) -> PixelBuffer? {
        state.withLock { state in
            guard let found = state.memory.use(MemoryKey(address: address, target: target)) else {
                return nil
            }
            state.hits += 1
            return found
        }
    }

    var usage: ImageMemoryUsage {
        state.withLock { state in
            var usage = ImageMemoryUsage()
            usage.count = state.memory.count
            usage.bytes = state.memory.cost
            usage.limit = state.memory.limit
            usage.hits = state.hits
            usage.misses = state.misses
            usage.requests = state.requests
            return usage
        }
    }

    func setLimit(_ limit: Int64) {
        let removed = state.withLock { $0.memory.setLimit(Int(clamping: limit)) }
        withExtendedLifetime(removed) {}
    }

    /// Removes all images. Loads that are running keep their results.
    func removeAll() {
        let removed = state.withLock { $0.memory.removeAll() }
        withExtendedLifetime(removed) {}
    }

    /// Removes all images, and keeps none of the running loads: the client's settings changed.
    func invalidate() {
        let removed = state.withLock { state in
            state.generation += 1
            state.open = [:]
            return state.memory.removeAll()
        }
        withExtendedLifetime(removed) {}
    }

    // MARK: Loads

    /// The generation of the client's settings. Read it before the settings.
    var generation: UInt64 { state.withLock { $0.generation } }

    /// Joins an equal load, begins the caller's own, or finishes with an image in memory.
    func join(_ member: ImageTransfer, own: ImageLoad, _ leader: RequestTransfer, wake: Wake) {
        let target = member.target
        let waiter = ImageLoadMachine.Waiter(
            id: member.id, target: target, priority: Int8(clamping: member.options[.priority]),
            wantsPreviews: member.wantsPreviews)
        enum Joined {
            case memory(PixelBuffer)
            case load(ImageLoad, [ImageLoadMachine.Action])
        }
        let joined = state.withLock { state -> Joined in
            let key = own.address.map { MemoryKey(address: $0, target: target) }
            if member.readsMemory, let key, let pixels = state.memory.use(key) {
                state.hits += 1
                return .memory(pixels)
            }
            state.misses += 1
            var load = own
            let place = LoadKey(own)
            if let place, let other = state.open[place], other.generation == own.generation {
                load = other
            } else {
                own.leader = leader
                state.requests += 1
                if let place, own.generation == state.generation { state.open[place] = own }
            }
            load.members[member.id] = member
            return .load(load, Self.handle(&state, load, .join(waiter)))
        }
        switch joined {
        case .memory(let pixels): member.finish(.success(pixels), nil)
        case .load(let load, let actions):
            let isFirst = actions.contains(.startRequest)
            member.didJoin(load, isFirst: isFirst)
            perform(actions, of: load, wake: wake)
            // The server may send no more bytes for a while.
            if member.wantsPreviews, !isFirst { self.leader(of: load)?.reportBody() }
            member.catchUp()
        }
    }

    /// Passes an event of a caller to the machine, and carries out the actions.
    func feed(_ load: ImageLoad, _ event: ImageLoadMachine.Event) {
        perform(handle(load, event), of: load)
    }

    func members(of load: ImageLoad) -> [ImageTransfer] {
        state.withLock { _ in load.members.values.sorted { $0.id < $1.id } }
    }

    /// The request of a load; `nil` after its end.
    func leader(of load: ImageLoad) -> RequestTransfer? { state.withLock { _ in load.leader } }

    /// Handles the end of the request.
    func requestDidEnd(_ load: ImageLoad, _ outcome: TransferOutcome, _ leader: Transfer) {
        var failure = outcome.error
        if failure == nil, outcome.response == nil {
            failure = WherryError(.internal, "The transfer ended without a response")
        }
        if let failure {
            let actions = handle(load, .failed)
            return perform(actions, of: load, result: .failure(failure), outcome.response)
        }
        state.withLock { _ in load.response = outcome.response }
        perform(handle(load, .responded), of: load, client: leader.client)
    }

    func handle(
        _ load: ImageLoad, _ event: ImageLoadMachine.Event
    ) -> [ImageLoadMachine.Action] {
        state.withLock { state in Self.handle(&state, load, event) }
    }

    private static func handle(
        _ state: inout State, _ load: ImageLoad, _ event: ImageLoadMachine.Event
    ) -> [ImageLoadMachine.Action] {
        let actions = load.machine.handle(event)
        load.needsBody.store(load.machine.needsBody, ordering: .releasing)
        if !load.machine.isOpen, let key = LoadKey(load), state.open[key] === load {
            state.open[key] = nil
        }
        return actions
    }

    /// Carries out actions.
    ///
    /// - Parameters:
    ///   - result: The result for the callers, if the event brought one.
    ///   - response: The response that belongs to the result.
    ///   - client: The client, if the request has ended.
    func perform(
        _ actions: [ImageLoadMachine.Action], of load: ImageLoad, wake: Wake = .now,
        result: Result<PixelBuffer, WherryError>? = nil, _ response: Response? = nil,
        client: Client? = nil
    ) {
        for action in actions {
            switch action {
            case .startRequest: leader(of: load)?.begin(wake: wake)
            case .align: align(load)
            case .cancelRequest: leader(of: load)?.cancel()
            case .submit(let target):
                // The request is kept until the last decoding has ended.
                guard let client = client ?? leader(of: load)?.client else { continue }
                client.workers.submit { [self] in decode(load, target, client) }
            case .decode: break  // by the worker that reported `ready`
            case .deliver(let ids):
                guard let result else { continue }
                for member in take(ids, from: load) { member.finish(result, response) }
            case .release(let id): for member in take([id], from: load) { member.endFarewell() }
            case .preview(let action): perform(action, of: load)
            }
        }
        releaseIfEnded(load)
    }

    /// Changes the decoders of previews.
    func withTracks<Result>(
        of load: ImageLoad, _ body: (inout [PreviewMachine.Track: PreviewTrack]) -> Result
    ) -> Result {
        state.withLock { _ in body(&load.tracks) }
    }

    private func take(_ ids: [UInt64], from load: ImageLoad) -> [ImageTransfer] {
        state.withLock { _ in ids.compactMap { load.members.removeValue(forKey: $0) } }
    }

    /// Breaks the reference cycle of the load and its request, and releases the encoded bytes and the
    /// decoders of previews.
    private func releaseIfEnded(_ load: ImageLoad) {
        let released = state.withLock { _ -> (RequestTransfer?, Response?, [PreviewTrack])? in
            guard load.machine.isEnded else { return nil }
            defer { (load.leader, load.response, load.tracks) = (nil, nil, [:]) }
            return (load.leader, load.response, Array(load.tracks.values))
        }
        withExtendedLifetime(released) {}
    }

    /// Gives the request the highest priority of its callers, and pauses it while all of them are
    /// paused. Checks again afterwards, so that the later of two concurrent calls wins.
    private func align(_ load: ImageLoad) {
        while true {
            let wanted = state.withLock { _ in (load.machine.priority, load.machine.isPaused) }
            guard let leader = leader(of: load) else { return }
            leader.applyPriority(wanted.0)
            if wanted.1 { leader.pause() } else if leader.isPaused { leader.resume() }
            let now = state.withLock { _ in (load.machine.priority, load.machine.isPaused) }
            if now == wanted { return }
        }
    }

    // MARK: Decoding

    /// Decodes on the calling thread, unless every caller has cancelled.
    private func decode(_ load: ImageLoad, _ target: ImageTarget, _ client: Client) {
        let (isWanted, response) = state.withLock { state in
            let actions = Self.handle(&state, load, .ready(target))
            return (actions.contains(.decode(target)), load.response)
        }
        guard isWanted, let response else { return releaseIfEnded(load) }
        let result: Result<PixelBuffer, WherryError>
        do throws(ImagingError) {
            let source = WherryImaging.ImageSource.bytes(response.body)
            result = .success(
                try ImageDecoder.decode(source, as: target.format, target.compression))
        } catch {
            result = .failure(Self.failure(error, response))
            if error.kind == .image, error.reason != "animated" { forget(load, client) }
        }
        let (actions, removed) = state.withLock { state in
            var removed: [PixelBuffer] = []
            if case .success(let pixels) = result, let address = load.address,
                load.generation == state.generation,
                !ResponseCacheControl(response.head.values("cache-control")).noStore
            {
                removed = state.memory.insert(
                    pixels, for: MemoryKey(address: address, target: target),
                    cost: pixels.stride * pixels.height)
            }
            return (Self.handle(&state, load, .decoded(target)), removed)
        }
        withExtendedLifetime(removed) {}
        perform(actions, of: load, result: result, response, client: client)
    }

    private static func failure(_ error: ImagingError, _ response: Response) -> WherryError {
        let url = HTTPURL.redacted(response.url)
        return WherryError(error).with {
            $0.message = "Could not decode the image \(url): \(error.message)"
            $0.response = response
        }
    }

    /// Removes a response that is not a valid image from the caches on disk, so that the next load
    /// asks the server.
    private func forget(_ load: ImageLoad, _ client: Client) {
        guard let request = leader(of: load)?.request else { return }
        do throws(WherryError) {
            try client.cache.remove(request)
        } catch {
            client.note(
                .warning, .warned,
                [.everybody("Damaged image stays in the cache:\(error.message)")]
            ) {
                $0.reason = error.reason
                $0.error = error
            }
        }
    }
}
