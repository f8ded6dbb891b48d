// Wherry: the client.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherryHTTP
import WherryLogging
import WherryReachability
import WherryRequests
import WherrySystem
import WherryTransport

/// Sends requests, uploads images, and downloads files with shared connections and settings.
///
/// All members may be used from any thread. Creating a client is cheap: the network thread starts
/// with the first transfer. Releasing the last reference closes the client.
public final class Client: Sendable {
    package let transport: any Transport
    package let workers: WorkerPool
    package let pool = TransferPool()
    package let downloads = DownloadRegistry()
    package let queue: DownloadQueue
    /// The speed limit of all downloads together.
    let downloadLimit: SpeedLimit
    private let current: Lock<ClientSettings>
    /// The last request URL. URLs that differ only in their last part are derived from it without
    /// parsing.
    private let known = Lock<HTTPURL?>(nil)
    private let storage: StorageFolder
    package let caches: ClientCaches
    /// The directories of downloads, including those of earlier processes.
    let partialFolders: PartialFolders
    let retryBudget = Lock(RetryBudget())
    let tokens = TokenRefresh()
    let sharedRequests = SharedRequestTable()
    let imageLoads: ImageLoadTable
    /// The cookies, used for every hop of every request.
    public let cookies: CookieJar
    /// The Digest challenges of servers.
    package let auth = AuthMemory()
    /// The log of this client's events.
    package let log = ClientLog()
    package let counters = CounterTable()
    let activity = ActivityBoard()
    private let isOver = Atomic(false)
    /// The monitor of the reachability of any network, for the client and the program. It runs only
    /// after you start it or wait for it. The client keeps the same object for its lifetime.
    public let reachability = Reachability.anywhere()
    /// The source of network changes. `nil` with a stub, which needs no network.
    let networks: ReachabilityCenter?
    /// Data that a language binding stores with the client.
    package let extras = Lock<(any Sendable)?>(nil)

    /// Creates a client: `Client { $0.baseURL = "https://example.org/v1" }`.
    ///
    /// - Throws: `argument` for an invalid setting. `file` for a CA file that cannot be read.
    public convenience init(_ configure: (inout Configuration) -> Void = { _ in })
        throws(WherryError)
    {
        var configuration = Configuration()
        configure(&configuration)
        try self.init(configuration)
    }

    /// Creates a client from an existing configuration. Throws the same errors as ``init(_:)``.
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
        imageLoads = ImageLoadTable(limit: settings.options[.imageMemoryBytes])
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

    /// Returns the transport for requests that a stub sends to the network.
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
        throw TransportError(.connect, "The stub server could not use the network: \(message)")
    }

    /// Reports an unusable storage folder now, instead of running with an empty cache.
    private func checkStorage() throws(WherryError) {
        let settings = settings
        // Nothing is cached without certificate checks.
        let isOn =
            settings.options[.httpCache] == 1 && settings.options[.insecure] == 0
            && !settings.values.trust.trustsAnybody
        try caches.check(isOn: isOn)
    }

    deinit { close() }

    // MARK: Settings

    package var settings: ClientSettings { current.withLock { $0 } }
    /// Whether debug messages are currently enabled (C7).
    package var isDebugging: Bool { log.isOn(.debug) }
    /// Whether events must be logged or counted.
    var isWatched: Bool { log.isOn(.error) }

    /// Changes settings for transfers that start afterwards. Running transfers keep their settings.
    package func update(
        _ change: (inout ClientSettings.Values) throws(WherryError) -> Void
    ) throws(WherryError) {
        let (secrets, changesResponses) = try current.withLock { settings throws(WherryError) in
            var values = settings.values
            try change(&values)
            let old = settings.values
            settings = try ClientSettings(values)
            return (
                values.secretNames == old.secretNames ? nil : settings.secrets,
                !values.makesEqualRequests(to: old)
            )
        }
        if let secrets { caches.setSecrets(secrets) }
        if changesResponses { imageLoads.invalidate() }
    }

    package func set(_ option: Option, _ value: Int64) throws(WherryError) {
        try option.check(value, in: .live)
        try update { values throws(WherryError) in values.options[option] = value }
        takeOver([option])
    }

    /// Applies the changed options that take effect immediately.
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
            // Let paused transfers check the new limit.
            transport.schedule(at: transport.clock.now()) {}
        }
        if changed.contains(.maxDownloads) { queue.setLimit(options[.maxDownloads]) }
        if changed.contains(.imageMemoryBytes) {
            imageLoads.setLimit(options[.imageMemoryBytes])
        }
        if changed.contains(.cacheMaxBytes) || changed.contains(.cacheMemoryBytes) {
            caches.setLimits(options)
        }
    }

    package func set(_ option: TextOption, _ value: String?) throws(WherryError) {
        try option.check(value, in: .live)
        try update { values throws(WherryError) in values.texts[option] = value }
    }

    /// Sets a header of later requests; `nil` removes it. Names are case-insensitive.
    public func setHeader(_ name: String, _ value: String?) throws(WherryError) {
        try Headers.check(name, value)
        try update { values throws(WherryError) in
            if let value { values.headers.set(name, value) } else { values.headers.remove(name) }
        }
    }

    /// Adds a header to later requests, in addition to headers of the same name.
    public func addHeader(_ name: String, _ value: String) throws(WherryError) {
        try Headers.check(name, value)
        try update { values throws(WherryError) in values.headers.add(name, value) }
    }

    /// Removes all of the client's headers from later requests.
    public func removeHeaders() throws(WherryError) {
        try update { values throws(WherryError) in values.headers.removeAll() }
    }

    /// The headers of every request, from the configuration or set later.
    public var headers: Headers { settings.values.headers }

    /// Sets a default parameter of later requests except downloads; `nil` removes it.
    public func setParameter(_ name: String, _ value: JSON?) throws(WherryError) {
        try update { values throws(WherryError) in values.parameters[name] = value }
    }

    /// Sets the base URL against which relative URLs are resolved.
    public func setBaseURL(_ url: String?) throws(WherryError) { try set(.baseURL, url) }
    /// Sets the named base URL that requests select with ``/WherryRequests/Request/base``; `nil` removes it.
    public func setBaseURL(_ url: String?, named name: String) throws(WherryError) {
        try update { values throws(WherryError) in values.bases[name] = url }
    }
    /// Sets the app version under which responses are stored.
    public func setAppVersion(_ version: String) throws(WherryError) {
        try set(.appVersion, version)
    }
    /// Sets the token that later requests send as `Authorization: Bearer`; `nil` sends none.
    public func setBearerToken(_ token: String?) throws(WherryError) {
        try set(.bearerToken, token)
    }
    /// Sets the credentials of later requests to an origin; `nil` removes them.
    ///
    /// - Parameter origin: "https://host:port", or any URL of the origin. `nil`, the default,
    ///   applies to the origin of each request, but not to the target of a redirect.
    public func setCredentials(
        _ credentials: Credentials?, for origin: String? = nil
    ) throws(WherryError) {
        try update { values throws(WherryError) in values.credentials[origin ?? ""] = credentials }
    }
    /// Sets whether events are written to standard error. Takes effect immediately.
    public func setDebugging(_ on: Bool) throws(WherryError) { try set(.debug, on ? 1 : 0) }
    /// Sets the idle timeout of later transfers. Zero disables it.
    public func setIdleTimeout(_ timeout: Duration) throws(WherryError) {
        try set(.idleTimeout, timeout.settingMilliseconds)
    }
    /// Sets the total timeout of later transfers. Zero disables it.
    public func setTotalTimeout(_ timeout: Duration) throws(WherryError) {
        try set(.totalTimeout, timeout.settingMilliseconds)
    }
    /// Sets the maximum speed of all downloads together, in bytes per second. 0 means no limit.
    /// Takes effect immediately.
    public func setMaxDownloadBytesPerSecond(_ limit: Int64) throws(WherryError) {
        try set(.maxDownloadSpeed, limit)
    }
    /// Sets the maximum number of concurrent downloads. Further downloads wait. 0 means no limit.
    /// Takes effect immediately, but running downloads continue.
    public func setMaxDownloads(_ count: Int) throws(WherryError) {
        try set(.maxDownloads, Int64(count))
    }
    /// Sets the maximum number of requests per ``Configuration/rateInterval``. 0 means no limit.
    /// Takes effect immediately, also for waiting requests.
    public func setRateLimit(_ count: Int) throws(WherryError) {
        try set(.rateLimit, Int64(count))
    }
    /// Sets the maximum number of connections to one origin, at least 1. Takes effect immediately.
    public func setMaxPerHost(_ count: Int) throws(WherryError) {
        try set(.maxPerHost, Int64(count))
    }

    /// Returns the path of the client's storage folder. Creates it with mode 0700 if necessary.
    public func storageDirectory() throws(WherryError) -> String { try storage.path() }

    /// Returns SJNetwork's identifier of a request, derived from base, URL, method, and parameters
    /// (K3).
    public func identifier(of request: Request) throws(WherryError) -> String {
        try Self.identifier(of: request, settings)
    }

    /// Returns the absolute URL of a request: resolved against the base URL, with the complete
    /// query.
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

    // MARK: Starting transfers

    /// Starts a request or an upload. If this call throws, no event follows.
    ///
    /// - Parameter willBegin: Called before the first event, once the start can no longer fail.
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

    /// Adds a transfer to the pool and starts it.
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

    /// Creates the transfer of one request without adding it to the pool.
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
                "No response status would be accepted: the minimum is \(options[.acceptStatusMin]), and the maximum is \(options[.acceptStatusMax]). Set a minimum that is not above the maximum."
            )
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
            throw WherryError(
                .badOption,
                "The JSON shape of a streamed response cannot be checked. Remove the shape, or do not stream."
            )
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

    /// Sends a request and blocks the calling thread until the response is complete.
    ///
    /// - Throws: `state` for streamed bodies and for hooks, which need a reader of events.
    ///   Otherwise the error of the transfer; `error.response` contains the server's response, if
    ///   any.
    public func perform(_ request: Request) throws(WherryError) -> Response {
        let (transfer, waiter) = try startPerform(request)
        defer { _ = transfer }
        guard let outcome = waiter.wait(on: self, timeout: nil) else {
            throw WherryError(
                .internal, "The wait for a transfer returned before the transfer ended")
        }
        if let error = outcome.error { throw error }
        guard let response = outcome.response else {
            throw WherryError(.internal, "The transfer ended without a response")
        }
        return response
    }

    /// Starts a request whose result the caller waits for.
    package func startPerform(
        _ request: Request, userData: UInt = 0
    ) throws(WherryError) -> (Transfer, PerformWaiter) {
        try checkBlocking(request)
        let waiter = PerformWaiter()
        let transfer = try send(request, observer: waiter, userData: userData)
        return (transfer, waiter)
    }

    /// Rejects requests that a blocking call cannot send.
    func checkBlocking(_ request: Request) throws(WherryError) {
        if request.isStreamed || !(request.hooks ?? settings.values.hooks).isEmpty {
            throw WherryError(
                .needsQueue,
                "A blocking call cannot stream a body or wait for hooks. Send the request with an event queue instead."
            )
        }
        if request.isWritten {
            throw WherryError(
                .needsQueue,
                "A blocking call cannot send a body that is written during the transfer. Send the request with an event queue instead."
            )
        }
        if transport.isTurnedHere {
            throw WherryError(
                .wrongState,
                "A blocking call was made on the network thread, which must not block. Await the response there instead."
            )
        }
    }

    package static let closedError = WherryError(.closed, "The client was closed")

    // MARK: Managing transfers

    /// Returns the unfinished transfers, oldest first.
    public func transfers(_ match: TransferMatch = .all) -> [Transfer] {
        pool.matching(predicate(match))
    }

    /// Returns the number of unfinished transfers.
    public func count(_ match: TransferMatch = .all) -> Int {
        if case .all = match { return pool.count }
        return transfers(match).count
    }

    /// Cancels the transfers that match now. Returns their number.
    @discardableResult
    public func cancel(_ match: TransferMatch = .all) -> Int {
        apply(match, "cancel") { $0.cancel() }
    }
    /// Pauses the transfers that match now. Returns their number.
    @discardableResult
    public func pause(_ match: TransferMatch = .all) -> Int {
        apply(match, "suspend") { $0.pause() }
    }
    /// Resumes the transfers that match now. Returns their number.
    @discardableResult
    public func resume(_ match: TransferMatch = .all) -> Int {
        apply(match, "resume") { $0.resume() }
    }
    /// Cancels the matching transfers and deletes the partial files of downloads. A path or URL
    /// also deletes partial files without a transfer. Returns the number of cancelled transfers
    /// plus that of these files.
    @discardableResult
    public func discard(_ match: TransferMatch = .all) -> Int {
        let found = transfers(match)
        // Do this before cancelling: running transfers still lock their partial files, which are
        // counted with the transfer.
        let idle = discardPartials(
            match, apartFrom: Set(found.compactMap { $0.path.map(Directory.canonical) }))
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

    /// Blocks until no transfer matches. Returns `false` after the timeout.
    ///
    /// On the network thread, which runs the transfers, the call returns immediately.
    public func wait(_ match: TransferMatch = .all, timeout: Duration? = nil) -> Bool {
        let timeout = transport.isTurnedHere ? .zero : timeout
        let nanoseconds = timeout.map { Int64.milliseconds($0.wholeMilliseconds) }
        return pool.wait(timeout: nanoseconds, predicate(match))
    }

    /// Returns the total progress of the matching unfinished transfers. The total size is unknown
    /// if the size of any transfer is unknown.
    ///
    /// The progress of a tag also includes its finished transfers, so that it never decreases when
    /// a transfer ends. The group of a tag starts with the first transfer that starts while no
    /// other is running. It is kept until a new group starts, or until 256 other transfers have
    /// ended. The bytes that failed and cancelled transfers did not transfer still count as
    /// missing, unless a download to the same path replaces the transfer.
    ///
    /// - Returns: The sum, and the number of transfers in it.
    public func progress(_ match: TransferMatch = .all) -> (progress: Progress, count: Int) {
        if case .tag(let tag) = match { return pool.progress(ofGroup: tag) }
        if case .id(let id) = match, let found = pool[id]?.progress { return (found, found.count) }
        // A group is itself a sum of transfers that match as well.
        let found = transfers(match).filter { $0.kind != .group }
        return (Progress(sumOf: found.map(\.progress)), found.count)
    }

    private func predicate(_ match: TransferMatch) -> @Sendable (Transfer) -> Bool {
        switch match {
        case .all: return { _ in true }
        case .id(let id): return { $0.id == id }
        case .tag(let tag): return { $0.tag == tag }
        case .path(let path):
            let file = PathMatch(path)
            return { $0.path.map(file.contains) == true }
        case .identifier(let identifier):
            // Use the settings with which the transfer started.
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

    /// Rejects new transfers and blocks until the running ones have ended. Returns `false` after
    /// the timeout; the remaining transfers continue.
    public func drain(timeout: Duration? = nil) -> Bool {
        pool.close()
        return wait(timeout: timeout)
    }

    /// Closes the client and cancels its running transfers. On return, every final event has been
    /// delivered, and no thread or descriptor is left, unless the process exits meanwhile.
    public func close() {
        pool.close()
        queue.close()
        queue.holding { for transfer in transfers() { transfer.cancel() } }
        reachability.stop()
        let mayWait = transport.close()
        activity.close()
        caches.close()
        workers.close()
        imageLoads.removeAll()
        // Wait for transfers that other threads are starting, and for running download work.
        if mayWait {
            while !pool.wait(timeout: ProcessExit.checkInterval, { _ in true }),
                !ProcessExit.hasBegun
            {}
        }
        if !isOver.exchange(true, ordering: .relaxed) {
            note(.info, .closed, [.everybody("Client closed")])
        }
        log.flush()
    }
}
