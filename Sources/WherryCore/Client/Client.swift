// Wherry: the one object that sends.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem
import WherryTransport

/// Sends requests, uploads pictures and downloads files, with connections and settings in common.
///
/// Every member may be used from any thread. Making one is cheap: the network thread starts with
/// the first transfer. Letting go of the last reference closes it.
public final class Client: Sendable {
    package let transport: any Transport
    package let workers: WorkerPool
    package let pool = TransferPool()
    package let downloads = DownloadRegistry()
    package let queue: DownloadQueue
    /// What all downloads together may receive.
    let downloadLimit: SpeedLimit
    private let current: Lock<ClientSettings>
    /// The last URL sent to, so that its siblings need no parser.
    private let known = Lock<HTTPURL?>(nil)
    private let storage: StorageFolder
    package let caches: ClientCaches
    /// The directories downloaded into, also by earlier processes.
    let partialFolders: PartialFolders
    let retryBudget = Lock(RetryBudget())
    let tokens = TokenRefresh()
    let flights = FlightTable()
    /// What servers have asked this client to send back, on every hop of every request.
    public let cookies: CookieJar
    /// What servers said about Digest.
    package let auth = AuthMemory()
    /// Where the client tells what happens.
    package let log = ClientLog()
    package let counters = CounterTable()
    let activity = ActivityBoard()
    private let isOver = Atomic(false)
    /// Watches any network for this client and for its program; it runs once it is started or waited
    /// for. One for as long as the client lives.
    public let reachability = Reachability.anywhere()
    /// Tells of the networks; `nil` with a stub, which needs none.
    let networks: ReachabilityCenter?
    /// What the face of a language keeps with its clients.
    package let extras = Lock<(any Sendable)?>(nil)

    /// Makes a client: `Client { $0.baseURL = "https://example.org/v1" }`.
    ///
    /// - Throws: `argument` for a setting that cannot be used; `file` for a CA file that cannot
    ///   be read.
    public convenience init(_ configure: (inout Configuration) -> Void = { _ in }) throws(WherryError) {
        var configuration = Configuration()
        configure(&configuration)
        try self.init(configuration)
    }

    /// Makes a client of a configuration that was filled before; throws what the other one throws.
    public init(_ configuration: Configuration) throws(WherryError) {
        try configuration.check()
        let settings = try ClientSettings(configuration.valuesWithNetrc())
        networks = configuration.stub == nil ? configuration.networks ?? .shared : nil
        if let stub = configuration.stub {
            transport = StubTransport(sharing: stub) {
                [configuration] clock throws(TransportError) in
                try Self.network(configuration, base: settings.base, clock: clock)
            }
            let rate = settings.options.requestRate
            if rate != RequestRate() { transport.setRequestRate(rate) }
        } else {
            let options = try configuration.transport(base: settings.base)
            do throws(SystemError) {
                transport = try CurlTransport(
                    options, clock: configuration.clock, report: ClientLog.reportPins)
            } catch {
                throw WherryError(error)
            }
        }
        cookies = CookieJar(clock: transport.clock)
        downloadLimit = SpeedLimit(rate: settings.options[.maxDownloadSpeed])
        queue = DownloadQueue(limit: settings.options[.maxDownloads])
        workers = WorkerPool()
        current = Lock(settings)
        storage = StorageFolder(
            name: configuration.storageName, directory: configuration.storageDirectory)
        caches = ClientCaches(
            folder: storage, workers: workers, clock: transport.clock, options: settings.options,
            secrets: settings.secrets)
        partialFolders = PartialFolders(storage, clock: transport.clock)
        log.followEnvironment(workers)
        log.setDebugging(configuration.isDebugging)
        ClientLog.warn(of: configuration.trust)
        try checkStorage()
    }

    /// The transport for requests that a stub sends to the network.
    private static func network(
        _ configuration: Configuration, base: HTTPURL?, clock: any Clock
    ) throws(TransportError) -> any Transport {
        let message: String
        do {
            return try CurlTransport(
                configuration.transport(base: base), clock: clock, report: ClientLog.reportPins)
        } catch let error as WherryError {
            message = error.message
        } catch {
            message = "\(error)"
        }
        throw TransportError(.connect, "The network behind the stub cannot be used: \(message)")
    }

    /// A storage that cannot be used is an error now, not a cache that stays empty.
    private func checkStorage() throws(WherryError) {
        let settings = settings
        // Without certificate checks nothing is cached.
        let isOn = settings.options[.httpCache] == 1 && settings.options[.insecure] == 0
            && !settings.values.trust.trustsAnybody
        try caches.check(isOn: isOn)
    }

    deinit { close() }

    // MARK: Settings

    package var settings: ClientSettings { current.withLock { $0 } }
    /// Whether somebody is told everything, from this moment on (C7).
    package var isDebugging: Bool { log.isOn(.debug) }
    /// Whether what happens on the way is to be told or counted.
    var isWatched: Bool { log.isOn(.error) }

    /// Changes settings for transfers started afterwards; those under way keep theirs.
    package func update(
        _ change: (inout ClientSettings.Values) throws(WherryError) -> Void
    ) throws(WherryError) {
        let secrets = try current.withLock { settings throws(WherryError) in
            var values = settings.values
            try change(&values)
            let names = settings.values.secretNames
            settings = try ClientSettings(values)
            return values.secretNames == names ? nil : settings.secrets
        }
        if let secrets { caches.setSecrets(secrets) }
    }

    package func set(_ option: Option, _ value: Int64) throws(WherryError) {
        try option.check(value, in: .live)
        try update { values throws(WherryError) in values.options[option] = value }
        takeOver([option])
    }

    /// Tells what counts at once of options that were changed.
    func takeOver(_ changed: [Option]) {
        let options = settings.options
        if changed.contains(.debug) {
            log.setDebugging(options[.debug] == 1)
        }
        if changed.contains(.maxPerHost) || changed.contains(.maxConnections) {
            transport.setConnectionLimits(
                perHost: Int(options[.maxPerHost]), total: Int(options[.maxConnections]))
        }
        if changed.contains(where: { $0.isOfRequestRate }) {
            transport.setRequestRate(options.requestRate)
        }
        if changed.contains(.maxDownloadSpeed) {
            downloadLimit.set(rate: options[.maxDownloadSpeed])
            // Those that are held look again.
            transport.schedule(at: transport.clock.now()) {}
        }
        if changed.contains(.maxDownloads) { queue.setLimit(options[.maxDownloads]) }
        if changed.contains(.cacheMaxBytes) || changed.contains(.cacheMemoryBytes) {
            caches.setLimits(options)
        }
    }

    package func set(_ option: TextOption, _ value: String?) throws(WherryError) {
        try option.check(value, in: .live)
        try update { values throws(WherryError) in values.texts[option] = value }
    }

    /// Adds or replaces a field of every later request, whatever its case; `nil` removes it.
    public func setHeader(_ name: String, _ value: String?) throws(WherryError) {
        try Headers.check(name, value)
        try update { values throws(WherryError) in
            if let value { values.headers.set(name, value) } else { values.headers.remove(name) }
        }
    }

    /// Adds a header field to every later request, beside those of the same name.
    public func addHeader(_ name: String, _ value: String) throws(WherryError) {
        try Headers.check(name, value)
        try update { values throws(WherryError) in values.headers.add(name, value) }
    }

    /// Removes every field that later requests would have had from the client.
    public func removeHeaders() throws(WherryError) {
        try update { values throws(WherryError) in values.headers.removeAll() }
    }

    /// The fields of every request, as set here or in the configuration.
    public var headers: Headers { settings.values.headers }

    /// A default parameter of every later request but downloads; `nil` removes it.
    public func setParameter(_ name: String, _ value: JSON?) throws(WherryError) {
        try update { values throws(WherryError) in values.parameters[name] = value }
    }

    /// The base URL that relative URLs are joined with.
    public func setBaseURL(_ url: String?) throws(WherryError) { try set(.baseURL, url) }
    /// Adds or replaces a base URL that requests take by name; `nil` removes it.
    public func setBaseURL(_ url: String?, named name: String) throws(WherryError) {
        try update { values throws(WherryError) in values.bases[name] = url }
    }
    /// The app version under which things are stored.
    public func setAppVersion(_ version: String) throws(WherryError) {
        try set(.appVersion, version)
    }
    /// Sent as `Authorization: Bearer` by later requests; `nil` sends none.
    public func setBearerToken(_ token: String?) throws(WherryError) {
        try set(.bearerToken, token)
    }
    /// The user name and password of later requests to one origin; `nil` sends none.
    ///
    /// - Parameter origin: "https://host:port", or any URL there; `nil`, the default, is whichever
    ///   origin a request names, and never one that a redirect leads to.
    public func setCredentials(
        _ credentials: Credentials?, for origin: String? = nil
    ) throws(WherryError) {
        try update { values throws(WherryError) in values.credentials[origin ?? ""] = credentials }
    }
    /// Whether what happens is written to standard error, from now on.
    public func setDebugging(_ on: Bool) throws(WherryError) { try set(.debug, on ? 1 : 0) }
    /// The longest silence of later transfers; zero is no limit.
    public func setIdleTimeout(_ timeout: Duration) throws(WherryError) {
        try set(.idleTimeout, timeout.settingMilliseconds)
    }
    /// The longest time of later transfers as a whole; zero is no limit.
    public func setTotalTimeout(_ timeout: Duration) throws(WherryError) {
        try set(.totalTimeout, timeout.settingMilliseconds)
    }
    /// What all downloads together receive at most in a second; 0 is no limit. It counts at once.
    public func setMaxDownloadBytesPerSecond(_ limit: Int64) throws(WherryError) {
        try set(.maxDownloadSpeed, limit)
    }
    /// How many downloads run at once; the others wait for their turn. 0 is no limit. It counts at
    /// once, but those that run go on.
    public func setMaxDownloads(_ count: Int) throws(WherryError) {
        try set(.maxDownloads, Int64(count))
    }
    /// How many requests may start in ``Configuration/rateInterval``; 0 is no limit. It counts at once,
    /// also for those that wait.
    public func setRateLimit(_ count: Int) throws(WherryError) {
        try set(.rateLimit, Int64(count))
    }
    /// Connections to one origin, at least 1, from now on.
    public func setMaxPerHost(_ count: Int) throws(WherryError) {
        try set(.maxPerHost, Int64(count))
    }

    /// The folder for what this client keeps, made now if it is not there: 0700.
    public func storageDirectory() throws(WherryError) -> String { try storage.path() }

    /// The identifier of SJNetwork for a request: of base, URL, method and parameters (K3).
    public func identifier(of request: Request) throws(WherryError) -> String {
        try Self.identifier(of: request, settings)
    }

    /// The absolute URL that a request is sent to, joined with the base URL, with all of its query.
    public func url(of request: Request) throws(WherryError) -> String {
        let settings = settings
        return try RequestPlanner.url(
            of: request, method: request.effectiveMethod, settings: settings,
            options: settings.options.overridden(by: request.overrides)
        ).text
    }

    private static func identifier(
        of request: Request, _ settings: ClientSettings
    ) throws(WherryError) -> String {
        _ = try settings.base(named: request.base)
        let base = request.base.map { settings.values.bases[$0] } ?? settings.values.texts[.baseURL]
        return try request.identifier(base: base)
    }

    // MARK: Starting

    /// Starts a request or an upload. Throws what is known at once, and then no event follows.
    ///
    /// - Parameter willBegin: called once nothing can fail any more, before the first event.
    package func send(
        _ request: Request, observer: any TransferObserver, userData: UInt = 0,
        willBegin: (Transfer) -> Void = { _ in }
    ) throws(WherryError) -> Transfer {
        do {
            let transfer: Transfer = try makeTransfer(
                request, settings: settings, observer: observer, userData: userData)
            try start(transfer, willBegin: willBegin)
            return transfer
        } catch {
            noteRefused(error, request)
            throw error
        }
    }

    /// Enters a transfer into the pool and sets it going.
    package func start(
        _ transfer: Transfer, willBegin: (Transfer) -> Void = { _ in }
    ) throws(WherryError) {
        guard pool.add(transfer) else { throw Self.closedError }
        do {
            try transfer.observer.willStart(transfer)
        } catch {
            pool.remove(transfer)
            throw error
        }
        willBegin(transfer)
        activity.look(at: transfer)
        if transfer.kind != .group { counters.count(transfer.origin) { $0.started += 1 } }
        transfer.begin(wake: transfer.observer.wake)
    }

    /// Makes the transfer of one request, which is not in the pool.
    func makeRequest(
        _ request: Request, settings: ClientSettings, observer: any TransferObserver,
        userData: UInt = 0
    ) throws(WherryError) -> RequestTransfer {
        let request = request.ownForm
        for value in request.overrides { try value.option.check(value.value, in: .request) }
        let options = settings.options.overridden(by: request.overrides)
        guard options[.acceptStatusMin] <= options[.acceptStatusMax] else {
            throw WherryError(
                .badValue,
                "No status would be accepted: the least is \(options[.acceptStatusMin]) and the greatest \(options[.acceptStatusMax])")
        }
        let method = request.effectiveMethod
        try RequestPlanner.check(method: method, body: request.body)
        let near = known.withLock { $0 }
        let url = try RequestPlanner.url(
            of: request, method: method, settings: settings, options: options, near: near)
        if near?.origin !== url.origin { known.withLock { $0 = url } }
        for name in request.bases.dropFirst() { _ = try settings.base(named: name) }
        try request.checkFields()
        var stream: StreamedBody?
        var body: PreparedBody?
        var kind = Transfer.Kind.request
        switch request.body {
        case .stream(let length, let type):
            let isRewindable = options[.rewindableBody] == 1
            let streamed = StreamedBody(length: length, isRewindable: isRewindable)
            stream = streamed
            body = PreparedBody(
                .source(streamed), contentType: type, isReplayable: isRewindable)
        case .multipart(let parts):
            kind = .upload
            stream = try UploadEngine.stream(for: parts)
            if !request.hasImages { fallthrough }
            try UploadEngine.check(request)
        default:
            body = try UploadEngine.body(
                of: request, method: method, settings: settings, options: options,
                workers: workers, stream: stream)
        }
        guard !request.isStreamed || request.jsonShape == nil else {
            throw WherryError(.badOption, "An answer that is streamed has no shape to be judged by")
        }
        try BodyDigest.check(request, options)
        try BodyCoding.check(request, settings, options)
        let transfer = RequestTransfer(
            kind, request, method: method, url: url, body: body, stream: stream,
            caching: try transferCaching(request, method: method, settings: settings),
            client: self, settings: settings, options: options, observer: observer,
            userData: userData)
        stream?.onRoom { [weak transfer] offset, room in
            transfer?.emit(.wantBody(offset: offset, room: room))
        }
        return transfer
    }

    /// Sends a request and blocks this thread until its end.
    ///
    /// - Throws: `state` for bodies that are streamed in either direction and with decisions on,
    ///   since nobody would answer; else what ended it. `error.response` has the server's words.
    public func perform(_ request: Request) throws(WherryError) -> Response {
        let (transfer, waiter) = try startPerform(request)
        defer { _ = transfer }
        guard let outcome = waiter.wait(on: self, timeout: nil) else {
            throw WherryError(.internal, "The wait for a transfer ended without its end")
        }
        if let error = outcome.error { throw error }
        guard let response = outcome.response else {
            throw WherryError(.internal, "The transfer ended without an answer")
        }
        return response
    }

    /// Starts a request whose end is waited for.
    package func startPerform(
        _ request: Request, userData: UInt = 0
    ) throws(WherryError) -> (Transfer, PerformWaiter) {
        if request.isStreamed || !(request.decisions ?? settings.values.decisions).isEmpty {
            throw WherryError(
                .needsQueue, "A streamed body or a decision needs somebody to read its events")
        }
        if request.isWritten {
            throw WherryError(
                .needsQueue, "A body that is handed over while it is sent needs a reader of events")
        }
        if transport.isTurnedHere {
            throw WherryError(
                .wrongState,
                "A call that blocks was made on the network thread, which it would wait for; await the answer there")
        }
        let waiter = PerformWaiter()
        let transfer = try send(request, observer: waiter, userData: userData)
        return (transfer, waiter)
    }

    package static let closedError = WherryError(.closed, "The client was closed")

    // MARK: Managing

    /// The transfers that have not ended, oldest first.
    public func transfers(_ match: TransferMatch = .all) -> [Transfer] {
        pool.matching(predicate(match))
    }

    /// How many transfers have not ended.
    public func count(_ match: TransferMatch = .all) -> Int {
        if case .all = match { return pool.count }
        return transfers(match).count
    }

    /// Cancels those that match now. Returns how many.
    @discardableResult
    public func cancel(_ match: TransferMatch = .all) -> Int {
        apply(match, "cancel") { $0.cancel() }
    }
    /// Pauses those that match now. Returns how many.
    @discardableResult
    public func pause(_ match: TransferMatch = .all) -> Int {
        apply(match, "suspend") { $0.pause() }
    }
    /// Resumes those that match now. Returns how many.
    @discardableResult
    public func resume(_ match: TransferMatch = .all) -> Int {
        apply(match, "resume") { $0.resume() }
    }
    /// Cancels, and deletes the partial files of downloads; by path and URL also those that no
    /// transfer is at.
    @discardableResult
    public func discard(_ match: TransferMatch = .all) -> Int {
        let found = transfers(match)
        // First, while what they are at is held by them; afterwards it may just have been let go.
        let idle = discardPartials(match, apartFrom: Set(found.compactMap(\.path)))
        queue.holding { for transfer in found { transfer.discard() } }
        return found.count + idle
    }

    private func apply(
        _ match: TransferMatch, _ name: String, _ verb: (Transfer) -> Void
    ) -> Int {
        let found = transfers(match)
        if found.isEmpty { noteNothing(to: name, match) }
        queue.holding { for transfer in found { verb(transfer) } }
        return found.count
    }

    /// Blocks until none that matches is left. `false` when the time ran out.
    ///
    /// On the network thread, which carries them out, it only looks.
    public func wait(_ match: TransferMatch = .all, timeout: Duration? = nil) -> Bool {
        let timeout = transport.isTurnedHere ? .zero : timeout
        let nanoseconds = timeout.map { Int64.milliseconds($0.wholeMilliseconds) }
        return pool.wait(timeout: nanoseconds, predicate(match))
    }

    /// The sum over those that match and have not ended; the total is unknown if one of them is.
    ///
    /// Of a tag, those that have ended stay in it, so that it never goes back when one ends: the
    /// group of a tag begins with the first transfer that starts while none is under way, and is
    /// remembered until then, or until 256 others have ended. What a failed or cancelled one lacks
    /// stays missing, unless a download of the same path takes its place.
    ///
    /// - Returns: the sum, and how many it is of.
    public func progress(_ match: TransferMatch = .all) -> (progress: Progress, count: Int) {
        if case .tag(let tag) = match { return pool.progress(ofGroup: tag) }
        if case .id(let id) = match, let found = pool[id]?.progress { return (found, found.count) }
        // A group is the sum of others that match as well.
        let found = transfers(match).filter { $0.kind != .group }
        return (Progress(sumOf: found.map(\.progress)), found.count)
    }

    private func predicate(_ match: TransferMatch) -> @Sendable (Transfer) -> Bool {
        switch match {
        case .all: return { _ in true }
        case .id(let id): return { $0.id == id }
        case .tag(let tag): return { $0.tag == tag }
        case .path(let path):
            let absolute = (try? Directory.absolute(path)) ?? path
            return { $0.path == absolute }
        case .identifier(let identifier):
            // By the settings that it was started with.
            return {
                $0.kind != .group
                    && (try? Self.identifier(of: $0.request, $0.settings)) == identifier
            }
        case .url(let text): return predicate(.urls([text]))
        case .urls(let texts):
            let settings = settings
            let wanted = Set(
                texts.map { text in
                    let joined = try? RequestPlanner.target(
                        text, base: settings.base, options: settings.options)
                    return joined?.text ?? text
                })
            return { $0.kind != .group && wanted.contains($0.address) }
        }
    }

    /// Takes nothing new, and blocks until what runs has ended. `false` when the time ran out:
    /// the rest goes on.
    public func drain(timeout: Duration? = nil) -> Bool {
        pool.close()
        return wait(timeout: timeout)
    }

    /// Cancels what is in flight; every final event has been told, and no thread and descriptor
    /// is left, when it returns.
    public func close() {
        pool.close()
        queue.close()
        queue.holding { for transfer in transfers() { transfer.cancel() } }
        reachability.stop()
        let mayWait = transport.close()
        activity.close()
        caches.close()
        workers.close()
        // What other threads are just starting, and what one carries out for a download just now.
        if mayWait { _ = pool.wait(timeout: nil) { _ in true } }
        if !isOver.exchange(true, ordering: .relaxed) {
            note(.info, .closed, [.everybody("Client closed")])
        }
        log.flush()
    }
}
