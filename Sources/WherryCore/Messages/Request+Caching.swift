// Wherry: what a request says about caches.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// How a request uses a cache. The raw values are those of `wherry_cache_policy`.
public enum CachePolicy: Int32, Sendable, CaseIterable {
    /// Nothing is read and nothing written. A method that changes its target makes what the HTTP
    /// cache has of it invalid all the same, where this client uses it.
    case off = 0
    /// The timed cache: a stored answer serves while it is good, without the network; else the
    /// network is asked.
    case use = 1
    /// The timed cache alone: the network is never asked, and `cacheMiss` says why nothing serves.
    case only = 2
    /// The network is asked whatever is stored, and the answer is stored: in the timed cache with a
    /// ``Request/cacheDuration`` above zero, else what is stored stays; and where the client has one
    /// in the HTTP cache.
    case refresh = 3
    /// What is stored is told at once, and then the network is asked; its answer is the end. With
    /// the HTTP cache what it has serves too, whatever its age, and the network is asked only
    /// whether that is still good.
    case thenNetwork = 4
    /// The HTTP cache, as RFC 9111 says: the default where ``Client/Configuration/usesHTTPCache`` is
    /// on.
    case `protocol` = 10
    /// The HTTP cache: nothing is read, and the answer is stored.
    case reload = 11
    /// The HTTP cache: a stored answer whatever its age, else the network.
    case anyAge = 12
    /// The HTTP cache: a stored answer whatever its age, else `cacheMiss`; the network is never
    /// asked.
    case anyAgeOnly = 13
}

/// What a request may say about caches.
package struct RequestCaching: Hashable, Sendable {
    package var policy: CachePolicy?
    /// Milliseconds.
    package var duration: Int64 = 0
    package var version: Int64 = 0
    package var partition = ""
    package var ignored: Set<String> = []
    /// Names of fields, as they were given.
    package var fields: [String] = []

    package init() {}

    /// Milliseconds.
    package var staleIfError: Int64 = 0

    /// Whether a stored answer of the timed cache is looked for.
    package var reads: Bool { policy == .use || policy == .only || policy == .thenNetwork }

    /// Whether the answer goes into the timed cache.
    package var writes: Bool {
        switch policy {
        case nil, .use, .refresh, .thenNetwork: duration > 0
        case .off, .only, .protocol, .reload, .anyAge, .anyAgeOnly: false
        }
    }

    /// What the request wants of the HTTP cache; `nil` for nothing.
    ///
    /// - Parameter isOn: whether the client's requests use it without saying so.
    package static func httpPolicy(_ policy: CachePolicy?, isOn: Bool) -> HTTPCachePolicy? {
        switch policy {
        case .off, .only: nil
        case .protocol: .byProtocol
        case .reload: .reload
        case .anyAge: .anyAge
        case .anyAgeOnly: .anyAgeOnly
        case nil, .use: isOn ? .byProtocol : nil
        case .refresh: isOn ? .reload : nil
        case .thenNetwork: isOn ? .validate : nil
        }
    }
}

extension Request {
    /// Which cache serves, and when. `nil`, the default, reads nothing of the timed cache; what is
    /// stored in it then is for ``cacheDuration`` to say. Where the client has an HTTP cache it is
    /// asked after the timed one, with `nil` too; ``CachePolicy/off`` and ``CachePolicy/only`` pass
    /// it by, ``CachePolicy/refresh`` reads nothing of it either.
    ///
    /// Cookies that the program gave to the jar (``CookieJar/load(from:)``, ``CookieJar/set(_:for:)``)
    /// are part of the key. Cookies that only a server set are not, since they change all the time. If
    /// responses depend on those without `Vary: Cookie`, give each user a ``cachePartition``, or name
    /// the field in ``cacheHeaders``.
    ///
    /// The HTTP cache has no part in downloads, in GET requests with a body, and in responses that are
    /// handed over in pieces, unless their request sets ``cachesStream``.
    public var cachePolicy: CachePolicy? {
        get { caching?.policy }
        set { if newValue != cachePolicy { setCaching { $0.policy = newValue } } }
    }
    /// Whether the caches serve and store the response of this request although it is handed over in
    /// pieces (``Client/stream(_:decisions:)``). Off by default.
    ///
    /// The pieces are handed over as they come; a copy of them is stored at the end. A body of more than
    /// an eighth of the cache size passes the caches by. A request with decisions about the head or about
    /// storing is never stored so.
    public var cachesStream: Bool {
        get { overrides.contains { $0.option == .cacheStream && $0.value == 1 } }
        set { set(.cacheStream, newValue ? 1 : nil) }
    }
    /// A stored answer serves without the network as long as it is good (K2): SJNetwork's flag, and
    /// another word for ``CachePolicy/use``. Off by default.
    public var loadsCache: Bool {
        get { cachePolicy == .use }
        set { if newValue != loadsCache { cachePolicy = newValue ? .use : nil } }
    }
    /// How long a success may serve later requests of the same base, URL, method, parameters, query
    /// and body, whatever its header says; milliseconds count, and what is below is cut off. Zero,
    /// the default, and less store nothing (K1).
    ///
    /// `Authorization`, a field `Cookie`, and cookies that the program gave to the jar count too, so
    /// that two users never share. Cookies that a server set do not: if those identify a user,
    /// give each a ``cachePartition``. No
    /// other header field does unless ``cacheHeaders`` names it, nor do the client's default
    /// parameters, its CA file and its proxy: where answers differ by those, give each a
    /// ``cachePartition``. With decisions the edited request is what counts; once one was edited
    /// again, after a redirect, its answer is not stored.
    ///
    /// Uploads of parts and files, streamed bodies, requests with `Range` and downloads are never
    /// stored, nor are answers with the status 206 or 304.
    public var cacheDuration: Duration {
        get { .milliseconds(caching?.duration ?? 0) }
        set {
            let duration = newValue.cutMilliseconds
            if duration != caching?.duration ?? 0 { setCaching { $0.duration = duration } }
        }
    }
    /// Counted by the program: what was stored under another number is deleted and misses (K11).
    /// 0 by default.
    public var cacheVersion: Int64 {
        get { caching?.version ?? 0 }
        set { if newValue != cacheVersion { setCaching { $0.version = newValue } } }
    }
    /// Keeps answers apart that are for different people, say: only requests with the same text
    /// share them (K11, K19). It may be secret; it is not kept as it is. "" by default.
    public var cachePartition: String {
        get { caching?.partition ?? "" }
        set { if newValue != cachePartition { setCaching { $0.partition = newValue } } }
    }
    /// Names of parameters, and of pairs in query and form, that do not count for the cache and the
    /// identifier: a time, a signature (K19). None by default.
    ///
    /// A method that changes its target (POST, PUT, DELETE) needs the same names: it makes invalid
    /// what the HTTP cache has under its URL as it is, and under the URL without these pairs.
    public var cacheIgnoredParameters: Set<String> {
        get { caching?.ignored ?? [] }
        set { if newValue != cacheIgnoredParameters { setCaching { $0.ignored = newValue } } }
    }
    /// Names of header fields that count for the caches too, with all values they are sent with:
    /// `Accept-Language`, say (K19). None by default. `Authorization` always counts, and for the
    /// timed cache `Cookie` does too; for the HTTP cache it is the answer that says what it varies by.
    public var cacheHeaders: [String] {
        get { caching?.fields ?? [] }
        set { if newValue != cacheHeaders { setCaching { $0.fields = newValue } } }
    }
    /// How long past its end a stored answer of the HTTP cache may serve, marked
    /// ``Response/isStale``, where the server cannot be reached or answers 500, 502, 503 or 504
    /// (K17; RFC 5861). Zero, the default, leaves it to what the answer said, and so does an answer
    /// that must be validated.
    public var staleIfError: Duration {
        get { .milliseconds(caching?.staleIfError ?? 0) }
        set {
            let duration = max(0, newValue.cutMilliseconds)
            if duration != caching?.staleIfError ?? 0 { setCaching { $0.staleIfError = duration } }
        }
    }
}

extension Duration {
    /// Milliseconds, cut off; saturates.
    package var cutMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.millisecondsSaturating.addingSaturating(attoseconds / 1_000_000_000_000_000)
    }
}
