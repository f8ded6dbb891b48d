// Wherry: the hooks of a transfer.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Functions that a transfer calls, and whose results it uses. Without one, the default applies.
///
/// The transfer waits for a hook without blocking a thread. After 30 seconds, the default applies. A
/// hook runs in a new task, which is cancelled when the transfer ends. Downloads call no hooks: each
/// attempt sends the original request.
public struct Hooks: Sendable {
    /// Called before every attempt and after every redirect: returns the request to send, edited or
    /// unchanged. Throwing ends the transfer with `refused`, and nothing is sent.
    ///
    /// The request is the one that will be sent, so that it can be signed. Its URL is absolute and
    /// contains the whole query. Its headers include those of the client and the `Content-Type` of the
    /// body. Its parameters include the client's default parameters, and `bodyBytes` has the bytes of
    /// the body. The client adds its own `Authorization` and `Cookie` later, because they must not reach
    /// another origin, and `Content-Digest`, `Content-Encoding`, `Accept`, `Accept-Encoding`, and
    /// `User-Agent`.
    ///
    /// A URL that you set is used as is: the client's base, parameters, and query are not added,
    /// only those that you add to the request. Every call receives the request without the edits of
    /// earlier attempts. After a redirect that keeps the body, you can replace the body, but not a
    /// multipart form.
    public var adapt: (@Sendable (Request) async throws -> Request)?

    /// Called before a redirect is followed, with the redirect response and the request that would
    /// be sent, whose URL is the absolute target. Returns the request to send, perhaps with another
    /// URL, method, headers or body. `nil` returns the redirect response as the result; throwing
    /// fails the transfer with `refused` (R19).
    ///
    /// The rules for redirects apply to the returned request: it counts as a redirect, and
    /// credentials stay with their origin. A redirect from https to http fails with
    /// `redirect_refused`, and so does sending the previous body to another origin. The body can be
    /// JSON, a form, bytes or a file. Not called if the redirect would not be followed anyway.
    public var redirect: (@Sendable (Response, Request) async throws -> Request?)?

    /// Called for a 401 response if no credentials are known, or the known ones were rejected.
    /// Returns credentials for this request and origin only. `nil` returns the 401 response as the
    /// result; throwing fails the transfer with `refused`. Called at most eight times per request.
    public var credentials: (@Sendable (Challenge) async throws -> Credentials?)?

    /// A server's request for credentials.
    public struct Challenge: Sendable {
        /// The 401 response.
        public let response: Response
        /// The realm that the server names, to be shown to a person; "" if missing.
        public let realm: String
        /// The scheme that will be used: `basic` sends the password itself.
        public let scheme: Credentials.Scheme
        /// The number of earlier calls for this request whose credentials were rejected.
        public let previousFailures: Int
    }

    /// Called once, when the response headers have arrived, with the status and headers. The body
    /// is not read until the decision. Returns what to do with the response; throwing fails the
    /// transfer with `refused` (R21).
    ///
    /// Not called for a redirect that is followed, a 401 that leads to a retry with credentials or
    /// a new token, or a failure that is retried. If the response could be one of these, or comes
    /// from a cache, the closure is called when the response is complete, with the body in memory.
    /// No retry follows after the call. The response and the headers of a stream are delivered
    /// after the call.
    public var headers: (@Sendable (Response) async throws -> Disposition)?

    /// Called before each network response is stored in a cache. Decides whether to store it, and
    /// which headers to leave out (K13). Throwing fails the transfer with `refused`. Not called for
    /// a 304 or a response to HEAD, which only update stored responses. Disables background
    /// revalidation: the request waits for the validation instead.
    public var store: (@Sendable (Response) async throws -> Storing)?

    /// Called after every failure that could be retried, with the error, its response in
    /// `error.response`, and the number of earlier failed attempts. Throwing fails the transfer
    /// with `refused`. Not called for requests that cannot be sent again: a streamed request body,
    /// or a stream whose headers were delivered.
    public var retry: (@Sendable (WherryError, Int) async throws -> Retrying)?

    /// Called when a request without a bearer token, or with the client's token, receives a 401.
    /// Returns the new token, or `nil` to return the 401 response (R32).
    ///
    /// Called once for all requests that received the 401, with the response of the first one; the
    /// other requests wait, and then all are resent. At most two tokens are used per request, and
    /// at most five calls are made in 30 seconds. Not called for requests with their own
    /// Authorization.
    public var token: (@Sendable (Response) async throws -> String?)?

    /// How to handle a response whose headers have arrived.
    public enum Disposition: Sendable, Hashable {
        /// Continue as without a hook.
        case proceed
        /// Fail with `refused` and close the connection; `error.response` holds the headers.
        case end
        /// Save the body to a file, relative to the working directory, instead of memory or the
        /// stream: `Response.savedPath` is its path, and the body is empty.
        ///
        /// The file appears when it is complete, with the content encoding removed, as for
        /// downloads. The request's download settings apply: `existingFile`, `savesIntoDirectory`,
        /// `makesDirectories`, `durability` and `keepsServerTime`. The transfer fails if the file
        /// cannot be written or exists; a truncated response leaves no file, and a response whose
        /// `isLengthUnverified` is true fails with `length_unverified`. `maxBodyBytes` does not
        /// apply, because it limits only bodies in memory. A body saved this way is not cached. An
        /// error response continues and creates no file.
        case save(to: String)
    }

    /// How to handle a failure.
    public enum Retrying: Sendable, Hashable {
        /// Follow `Client.Configuration.maxRetries` and the rules for retries.
        case standard
        /// Retry after the usual delay, regardless of the method.
        case again
        /// Retry after this delay.
        case after(Duration)
        /// Do not retry.
        case giveUp
    }

    /// How to handle a storable response. In every case, the stored response that it would replace
    /// is removed.
    public enum Storing: Sendable, Hashable {
        /// Store it completely.
        case store
        /// Store it without these headers (case-insensitive). A later 304 does not add them to the
        /// HTTP cache. A response without a header that its reuse requires is not stored at all:
        /// `Age`, `Cache-Control`, `Content-Encoding`, `Content-Length`, `Content-Location`,
        /// `Content-Range`, `Content-Type`, `Date`, `ETag`, `Expires`, `Last-Modified`, `Location`,
        /// `Vary`.
        case without([String])
        /// Do not store it.
        case skip
    }

    /// Creates a value without hooks.
    public init() {}

    /// Returns hooks that edit or refuse every request before it is sent.
    public static func adapting(
        _ adapt: @escaping @Sendable (Request) async throws -> Request
    ) -> Hooks {
        var hooks = Hooks()
        hooks.adapt = adapt
        return hooks
    }

    /// Returns hooks that follow, rewrite, or reject redirects.
    public static func redirecting(
        _ redirect: @escaping @Sendable (Response, Request) async throws -> Request?
    ) -> Hooks {
        var hooks = Hooks()
        hooks.redirect = redirect
        return hooks
    }

    /// Returns hooks that provide credentials.
    public static func authenticating(
        _ credentials: @escaping @Sendable (Challenge) async throws -> Credentials?
    ) -> Hooks {
        var hooks = Hooks()
        hooks.credentials = credentials
        return hooks
    }

    /// Returns hooks that continue, end, or save a response when its headers have arrived.
    public static func handlingHeaders(
        _ headers: @escaping @Sendable (Response) async throws -> Disposition
    ) -> Hooks {
        var hooks = Hooks()
        hooks.headers = headers
        return hooks
    }

    /// Returns hooks that choose which responses a cache stores.
    public static func storing(
        _ store: @escaping @Sendable (Response) async throws -> Storing
    ) -> Hooks {
        var hooks = Hooks()
        hooks.store = store
        return hooks
    }

    /// Returns hooks that choose which failures are retried.
    public static func retrying(
        _ retry: @escaping @Sendable (WherryError, Int) async throws -> Retrying
    ) -> Hooks {
        var hooks = Hooks()
        hooks.retry = retry
        return hooks
    }

    /// Returns hooks that replace a rejected bearer token.
    public static func refreshingToken(
        _ token: @escaping @Sendable (Response) async throws -> String?
    ) -> Hooks {
        var hooks = Hooks()
        hooks.token = token
        return hooks
    }

    /// The hooks that are set.
    var set: HookSet {
        var set: HookSet = []
        if adapt != nil { set.insert(.adapt) }
        if redirect != nil { set.insert(.redirect) }
        if retry != nil { set.insert(.retry) }
        if credentials != nil { set.insert(.credentials) }
        if headers != nil { set.insert(.headers) }
        if store != nil { set.insert(.store) }
        if token != nil { set.insert(.token) }
        return set
    }
}

extension Client {
    /// Sets the hooks for requests that start afterwards. Default: `nil`, no hooks.
    ///
    /// A request that is sent with its own hooks uses only those. While hooks are set, `perform`
    /// throws `state`, because it cannot wait for them.
    public func setHooks(_ hooks: Hooks?) throws(WherryError) {
        extras.withLock { $0 = hooks }
        try update { values throws(WherryError) in values.hooks = hooks?.set ?? [] }
        // Other functions can give other answers.
        invalidateImages()
    }

    /// Returns the hooks of a request, or else the client's.
    func hooks(_ own: Hooks?, for request: inout Request) -> Hooks? {
        if let own { request.hooks = own.set }
        return own ?? extras.withLock { $0 as? Hooks }
    }
}

/// Runs the hooks of a transfer.
final class HookRunner: Sendable {
    private struct State {
        /// The task of the running hook; a transfer has one at a time.
        var task: Task<Void, Never>?
        var isStopped = false
    }
    private let hooks: Hooks
    private let state = Lock(State())

    init(_ hooks: Hooks) { self.hooks = hooks }

    /// Runs the hook in a task. Releasing the call applies the default.
    func run(_ call: HookCall) {
        let task = Task { [hooks] in
            let resolution = await Self.resolution(call.kind, hooks)
            do {
                try call.resolve(resolution)
            } catch {
                // Too late: the hook timed out, or the transfer has ended.
            }
        }
        let isStopped = state.withLock { state in
            state.task = task
            return state.isStopped
        }
        if isStopped { task.cancel() }
    }

    private static func resolution(
        _ kind: HookCall.Kind, _ hooks: Hooks
    ) async -> HookCall.Resolution {
        do {
            switch kind {
            case .adapt(let request):
                guard let adapt = hooks.adapt else { return .standard }
                return .adapted(try await adapt(request))
            case .redirect(let response, let next):
                guard let redirect = hooks.redirect else { return .standard }
                return try await redirect(response, next).map { .adapted($0) } ?? .follow(false)
            case .credentials(let response, let realm, let scheme, let before):
                guard let credentials = hooks.credentials else { return .standard }
                let challenge = Hooks.Challenge(
                    response: response, realm: realm, scheme: scheme, previousFailures: before)
                return try await credentials(challenge).map { .credentials($0) } ?? .standard
            case .store(let response):
                guard let store = hooks.store else { return .standard }
                switch try await store(response) {
                case .store: return .store(true, without: [])
                case .without(let names): return .store(true, without: names)
                case .skip: return .store(false, without: [])
                }
            case .headers(let response, let place):
                guard let headers = hooks.headers else { return .standard }
                switch try await headers(response) {
                case .proceed: return .standard
                case .end:
                    return .refuse("The program refused the response after its headers arrived")
                case .save(let path):
                    do throws(WherryError) {
                        return .save(try place.target(path))
                    } catch {
                        return .fail(error)
                    }
                }
            case .retry(let error, let retries):
                guard let retry = hooks.retry else { return .standard }
                switch try await retry(error, retries) {
                case .standard: return .standard
                case .again: return .again(true, after: nil)
                case .after(let wait):
                    return .again(true, after: .milliseconds(max(0, wait.settingMilliseconds)))
                case .giveUp: return .again(false, after: nil)
                }
            case .token(let response):
                guard let token = hooks.token else { return .standard }
                return .token(try await token(response))
            case .next, .respond: return .standard
            }
        } catch let error as WherryError {
            return .refuse(error.message)
        } catch {
            return .refuse("The program refused the request: \(error)")
        }
    }

    /// Ends the hook, since the transfer has ended.
    func stop() {
        let task = state.withLock { state in
            state.isStopped = true
            return state.task
        }
        task?.cancel()
    }
}
