// Wherry: download, from the first disk access to the finished file.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherryDownloads
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// Connects the state machine of a download with the network and the disk.
///
/// Events come from the network thread, the workers and the callers. Each event goes to the machine
/// under the lock, and the resulting actions are appended to one list of steps. The thread that
/// finds no other one at work carries out the steps in order, outside the lock. Other threads leave
/// their steps in the list and return. No thread waits for another, and no step overtakes another.
package final class DownloadTransfer: Transfer, ExchangeReceiver, @unchecked Sendable {
    // `core` is a lock. Only jobs of `disk` access `files`.

    enum Step: Sendable {
        case action(DownloadAction)
        /// Sends the request that follows a redirect or a 401 response.
        case follow(Hop.Start)
        case write(Bytes, Placement, Exchange)
        case progress(Progress)
        case head(Response)
        /// Opens the partial file, at the first turn.
        case begin
        /// Reports a state from before or between the turns.
        case show(TransferState)
    }

    struct State: Sendable {
        var machine: DownloadMachine
        /// Whether the first turn has come.
        var hasBegun = false
        /// Whether the download had to wait for a turn, so that the end of the wait is reported.
        var hasWaited = false
        /// Whether the partial file is being opened, so that the machine has not started.
        var isOpening = true
        /// Verbs deferred until the partial file is open, or until the last bytes of the exchange
        /// arrive.
        var deferred: [DownloadMachine.Verb] = []
        var steps: [Step] = []
        var isCarrying = false
        /// The number of threads that wait for a pause to complete.
        var waiters = 0
        /// The exchanges in progress, one for each connection.
        var hops: [Hop] = []
        /// Whether the exchanges were cancelled for a verb, which follows after their last bytes.
        var isStopping = false
        /// The wait for a retry.
        var wait = PendingWait()
        /// The wait for the network, used instead of a timer.
        var networkWait: NetworkWait?
        var retries = 0
        var meter = ProgressMeter()
        /// Whether a timer is set for delayed progress.
        var isProgressSet = false
        /// Whether a timer is set for the next checkpoint.
        var isCheckpointSet = false
        /// The last progress reported. It never decreases within a generation.
        var shown: (generation: UInt32, completed: Int64) = (0, 0)
        /// Body bytes from the network: those of ended exchanges, and those reported to the meter.
        var wireBefore: Int64 = 0
        var wireTold: Int64 = 0
        /// Bytes sent and received by all exchanges, including headers.
        var wire: (sent: Int64, received: Int64) = (0, 0)
        /// The response that decided last.
        var response: Response?
        /// Whether the caller wants no partial file.
        var discards = false
        /// The partial file left by the ended download.
        var keptPath: String?
        var releaseError: DownloadError?
    }

    let core: Monitor<State>
    let disk: SerialQueue
    let files = DownloadFiles()
    let target: DownloadTarget
    let policy: DownloadPolicy
    let firstURL: HTTPURL
    /// Other URLs of the same bytes, in the order in which they are tried.
    let mirrors: [HTTPURL]
    /// Whether to stop reading a file for its digest.
    let stopsReading = Atomic<Bool>(false)
    /// The receive limit for all connections of this download together.
    private let speedLimit: SpeedLimit
    private let registryKey: DownloadRegistry.Key

    package init(
        _ request: Request, url: HTTPURL, mirrors: [HTTPURL] = [], target: DownloadTarget,
        policy: DownloadPolicy,
        key: DownloadRegistry.Key, client: Client, settings: ClientSettings, options: OptionTable,
        observer: any TransferObserver, userData: UInt
    ) {
        self.target = target
        self.policy = policy
        firstURL = url
        self.mirrors = mirrors
        registryKey = key
        speedLimit = SpeedLimit(rate: options[.maxReceiveSpeed])
        disk = SerialQueue(on: client.workers)
        core = Monitor(
            State(
                machine: DownloadMachine(
                    policy: policy,
                    identity: DownloadIdentity(
                        url: url.text, ownHost: request.ownHost(settings)),
                    seed: .random(in: .min ... .max))))
        super.init(
            .download, request, client: client, settings: settings, options: options,
            observer: observer, userData: userData)
    }

    package override var origin: Origin? { firstURL.origin }
    package override var method: String { "GET" }
    package override var url: String { HTTPURL.redacted(firstURL.text) }
    /// The absolute path of the file, or of the directory with a trailing slash if the response
    /// determines the name.
    package override var path: String? { target.path }

    package override var progress: Progress {
        let now = client.transport.clock.now()
        return core.withLock { core in
            var progress = core.meter.snapshot(now: now)
            progress.generation = Int(core.machine.currentGeneration)
            progress.total = core.machine.total
            progress.completed = Self.completed(&core)
            return progress
        }
    }

    /// Sets the maximum number of bytes per second from now on; 0 for no limit (D24).
    package func setMaxReceiveSpeed(_ bytesPerSecond: Int64) {
        speedLimit.set(rate: bytesPerSecond)
        // Wakes the exchanges that the old limit holds back.
        client.transport.schedule(at: client.transport.clock.now()) {}
    }

    var speedLimits: [SpeedLimit] { [speedLimit, client.downloadLimit] }

    var wantsProgress: Bool { options[.wantProgress] != 0 }

    // MARK: Start

    package override func begin(wake: Wake) { enterQueue() }

    package override func applyPriority(_ priority: Int8) {
        client.queue.setPriority(of: id, to: Int(priority))
    }

    /// Opens the partial file. Runs on a worker.
    func open() {
        if !files.isNoted {
            files.isNoted = true
            let own = request.headers
            let fields = own.fields + settings.fields.filter { !own.contains($0.name) }
            noteStart(firstURL.text, fields.map { ($0.name, $0.value) })
        }
        do throws(DownloadError) {
            var target = target
            try target.reopen()
            if target.isThere, let digest = policy.expected {
                let length = try PartFile.lengthIfThere(
                    target, with: digest,
                    isStopped: { stopsReading.load(ordering: .relaxed) })
                if let length {
                    return opened { $0.foundComplete(path: target.path, length: length) }
                }
                if !stopsReading.load(ordering: .relaxed) { try target.giveUpExisting() }
            }
            // A partial file of an earlier run has to be opened before it can be deleted.
            if stopsReading.load(ordering: .relaxed), !core.withLock({ $0.discards }) {
                return opened { $0.cancel() }
            }
            let found = try PartFile.open(
                target,
                PartFile.Identity(
                    url: firstURL.text, ownHost: request.ownHost(settings),
                    shownURL: HTTPURL.redacted(firstURL.text),
                    durability: policy.durability, creationMask: policy.creationMask),
                resumes: policy.resumesOtherQueries ? { [self] in canResume($0) } : nil)
            files.part = found.part
            if PartFile.areMany { files.rest() }
            opened { $0.start(found.record, defect: found.defect) }
        } catch {
            if error.reason == .tooManyFiles, waitForDescriptors() { return }
            opened { $0.refused(error) }
        }
    }

    private func canResume(_ record: JournalRecord) -> Bool {
        let identity = DownloadIdentity(url: firstURL.text, ownHost: request.ownHost(settings))
        return ResumeRules.obstacle(record, identity: identity, policy: policy) == nil
    }

    /// Handles the result of opening the partial file.
    private func opened(_ event: (inout DownloadMachine) -> [DownloadAction]) {
        let cancels = core.withLock { core -> [DownloadMachine.Verb] in
            let cancels = core.deferred.filter(\.isCancel)
            guard cancels.isEmpty else { return cancels }
            core.isOpening = false
            Self.add(event(&core.machine), to: &core)
            Self.applyDeferred(to: &core)
            return []
        }
        if !cancels.isEmpty {
            // No request was sent: release the partial file as it was found.
            let found = files.release(keeping: !cancels.contains(.cancel(discarding: true)))
            core.withLock { core in
                core.isOpening = false
                core.keptPath = found.kept
                core.releaseError = found.error
                Self.applyDeferred(to: &core)
            }
        }
        carry()
    }

    // MARK: Verbs

    package override func pause() {
        if client.log.isOn(.debug), isFinal || isPaused { noteIdle("suspend") }
        giveUpTurn()
        defer { client.queue.advance() }
        // The thread that would carry out the pause must not wait for it.
        guard !client.transport.isTurnedHere else { return }
        core.withLock { $0.waiters += 1 }
        // The wait always ends: a pause is complete when the disk has finished and the new state has
        // been reported. Steps that no thread carries out yet count as well.
        _ = core.wait { core -> Bool? in
            let isDone =
                !core.isCarrying && core.steps.isEmpty && !core.deferred.contains(.pause)
                && !core.machine.isPausing
            return isDone ? true : nil
        }
        core.withLock { $0.waiters -= 1 }
    }

    package override func resume() {
        if client.log.isOn(.debug), !isPaused { noteIdle("resume") }
        wantTurn()
    }

    package override func performCancel(discarding: Bool) {
        if discarding {
            let kept = core.withLock { core -> String? in
                core.discards = true
                defer { core.keptPath = nil }
                return core.keptPath
            }
            if let kept { return delete(kept) }
        }
        apply(.cancel(discarding: discarding))
    }

    /// Deletes a partial file that was kept. Does nothing if another download uses it now.
    func delete(_ partial: String) {
        do throws(DownloadError) { try PartialDownload.discard(partial) } catch {
            core.withLock { $0.releaseError = error }
        }
    }

    func apply(_ verb: DownloadMachine.Verb) {
        let ending = core.withLock { core -> [Exchange] in
            if verb.isCancel {
                if core.isOpening { stopsReading.store(true, ordering: .relaxed) }
                Self.beginToEnd(&core, of: self)
            }
            if core.isOpening || core.isStopping {
                core.deferred.append(verb)
                return []
            }
            // Bytes that have arrived but were not delivered yet are worth keeping.
            if !core.hops.isEmpty, core.machine.keepsLastBytes(verb) {
                core.deferred.append(verb)
                core.isStopping = true
                return core.hops.map(\.exchange)
            }
            Self.add(core.machine.apply(verb), to: &core)
            return []
        }
        for exchange in ending { client.transport.cancel(exchange) }
        carry()
    }

    /// Applies the deferred verbs.
    static func applyDeferred(to core: inout State) {
        let verbs = core.deferred
        core.deferred = []
        for verb in verbs { add(core.machine.apply(verb), to: &core) }
    }

    // MARK: Steps

    /// Passes an event to the machine.
    func feed(_ event: (inout DownloadMachine) -> [DownloadAction]) {
        core.withLock { Self.add(event(&$0.machine), to: &$0) }
        carry()
    }

    static func add(_ actions: [DownloadAction], to core: inout State) {
        for action in actions {
            if action == .stop {
                // Drop requests that were not sent yet.
                core.steps.removeAll { step in
                    switch step {
                    case .action(.send), .action(.sendSegment), .follow: true
                    default: false
                    }
                }
            }
            core.steps.append(.action(action))
        }
    }

    /// Carries out steps until none is left, unless another thread already does.
    ///
    /// - Parameter isOurs: Whether this thread is the one at work already. Default: false.
    func carry(isOurs: Bool = false) {
        var steps: [Step] = []
        var isOurs = isOurs
        while true {
            let mustTell = core.withLock { core -> Bool in
                if core.isCarrying && !isOurs { return false }
                swap(&steps, &core.steps)
                core.isCarrying = !steps.isEmpty
                isOurs = core.isCarrying
                return !core.isCarrying && core.waiters > 0
            }
            if mustTell { core.notify() }
            guard isOurs else { return }
            for step in steps { perform(step) }
            steps.removeAll(keepingCapacity: true)
        }
    }

    /// Ends the download. Always the last step.
    func end(_ outcome: DownloadOutcome) {
        let now = client.transport.clock.now()
        let (response, releaseError, last, kept, found) = core.withLock { core in
            core.hops = []
            core.wait.cancel()
            let last = Self.measureEnd(&core, of: outcome, now: now)
            return (core.response, core.releaseError, last, core.keptPath, core.machine.found)
        }
        client.downloads.leave(registryKey)
        if wantsProgress, let last { emit(.progress(last)) }
        var result = TransferOutcome(response: response)
        switch outcome {
        case .done(let path):
            result.path = path
            result.digests = found
        case .failed(let error, let path):
            let wasCancelled = isCancelled && error.reason == .cancelled
            result.error = (wasCancelled ? Self.cancelledError : error.wherryError()).with {
                $0.partialPath = path ?? kept
            }
        case .cancelled(let path):
            result.error = Self.cancelledError.with { $0.partialPath = path ?? kept }
        }
        result.error = result.error?.with { fields in
            if let response, fields.httpStatus != 0 || fields.reason.code == .http {
                fields.httpStatus = response.status
                fields.response = response
            }
            if let releaseError { fields.underlying.append(releaseError.wherryError()) }
        }
        finish(result)
        client.queue.leave(id)
        client.queue.advance()
    }
}

extension DownloadTransfer {
    /// Whether the download sends and stores cookies.
    var usesJar: Bool { options.cookieHandling != .off && request.ownHost(settings) == nil }
}
