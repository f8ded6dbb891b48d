// Wherry: cache settings of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherrySystem

extension Request {
    /// The cache to use, and when. `nil`, the default, does not read the timed cache;
    /// ``cacheDuration`` decides whether the response is stored in it. The HTTP cache, if the
    /// client has one, is read after the timed cache, even with `nil`.
    /// ``/WherryCache/CachePolicy/off`` and ``/WherryCache/CachePolicy/only`` bypass it;
    /// ``/WherryCache/CachePolicy/refresh`` does not read it.
    ///
    /// Cookies that the program set in the jar (``/WherryHTTP/CookieJar/load(from:)``,
    /// ``/WherryHTTP/CookieJar/set(_:for:)``) are part of the key. Cookies that only a server set
    /// are not, since they change all the time. If responses depend on such cookies without `Vary:
    /// Cookie`, give each user a ``cachePartition``, or name the header in ``cacheHeaders``.
    ///
    /// The HTTP cache does not apply to downloads, to GET requests with a body, and to streamed
    /// responses unless their request sets ``cachesStream``.
    public var cachePolicy: CachePolicy? {
        get { caching?.policy }
        set { if newValue != cachePolicy { setCaching { $0.policy = newValue } } }
    }
    /// Whether the caches apply to this request although its response is streamed
    /// (`Client.stream(_:hooks:)`). Default: false.
    ///
    /// Chunks are delivered as they arrive; a copy is stored at the end. A body larger than an
    /// eighth of the cache size is not cached. A request with hooks for response headers or
    /// storing is never cached this way.
    public var cachesStream: Bool {
        get { overrides.contains { $0.option == .cacheStream && $0.value == 1 } }
        set { set(.cacheStream, newValue ? 1 : nil) }
    }
    /// Whether a valid stored response is returned without the network (K2): SJNetwork's flag,
    /// equivalent to ``/WherryCache/CachePolicy/use``. Default: false.
    public var loadsCache: Bool {
        get { cachePolicy == .use }
        set { if newValue != loadsCache { cachePolicy = newValue ? .use : nil } }
    }
    /// How long a successful response is returned for later requests, regardless of its headers.
    /// Applies to requests with the same base, URL, method, parameters, query, and body. The
    /// resolution is one millisecond; fractions are truncated. Zero, the default, or less stores
    /// nothing.
    ///
    /// `Authorization`, a `Cookie` header, and cookies that the program set in the jar are part of
    /// the key, so that two users never share a response. Cookies that a server set are not: if
    /// such cookies identify a user, give each user a ``cachePartition``. No other header is part
    /// of the key unless ``cacheHeaders`` names it. The client's default parameters, CA file, and
    /// proxy are not part of the key either: if responses depend on them, set a ``cachePartition``
    /// for each value.
    ///
    /// With hooks, the key is that of the edited request. A response is not stored if the
    /// request was edited again after a redirect.
    ///
    /// Uploads of parts and files, streamed bodies, requests with `Range`, and downloads are never
    /// stored. Responses with the status 206 or 304 are not stored either.
    public var cacheDuration: Duration {
        get { .milliseconds(caching?.duration ?? 0) }
        set {
            let duration = newValue.cutMilliseconds
            if duration != caching?.duration ?? 0 { setCaching { $0.duration = duration } }
        }
    }
    /// A version number that the program chooses. A stored response with another version is deleted
    /// and counts as a miss (K11). Default: 0.
    public var cacheVersion: Int64 {
        get { caching?.version ?? 0 }
        set { if newValue != cacheVersion { setCaching { $0.version = newValue } } }
    }
    /// A string that separates cached responses, such as those of different users. Only requests
    /// with the same string share responses. It may be secret; it is not stored in plain text.
    /// Default: "".
    public var cachePartition: String {
        get { caching?.partition ?? "" }
        set { if newValue != cachePartition { setCaching { $0.partition = newValue } } }
    }
    /// The names of parameters, and of query and form pairs, that the cache key and the identifier
    /// ignore, such as a timestamp or signature (K19). Default: none.
    ///
    /// Set the same names for requests with an unsafe method (POST, PUT, DELETE): they invalidate
    /// the HTTP cache entries of their URL, with and without these pairs.
    public var cacheIgnoredParameters: Set<String> {
        get { caching?.ignored ?? [] }
        set { if newValue != cacheIgnoredParameters { setCaching { $0.ignored = newValue } } }
    }
    /// The names of headers whose sent values are part of the cache key, such as `Accept-Language`
    /// (K19). `Authorization` is always part of the key, and for the timed cache also `Cookie`. For
    /// the HTTP cache, the response's Vary header decides. Default: none.
    public var cacheHeaders: [String] {
        get { caching?.fields ?? [] }
        set { if newValue != cacheHeaders { setCaching { $0.fields = newValue } } }
    }
    /// How long after its expiry a response of the HTTP cache may be used if the server fails (RFC
    /// 5861).
    ///
    /// Applies if the server is unreachable or responds with 500, 502, 503 or 504. The response is
    /// marked ``/WherryHTTP/Response/isStale``. Zero, the default, follows the headers of the
    /// response. Does not apply to a response that requires validation.
    public var staleIfError: Duration {
        get { .milliseconds(caching?.staleIfError ?? 0) }
        set {
            let duration = max(0, newValue.cutMilliseconds)
            if duration != caching?.staleIfError ?? 0 { setCaching { $0.staleIfError = duration } }
        }
    }
}

extension Duration {
    /// The duration in milliseconds, truncated; saturates.
    package var cutMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.millisecondsSaturating.addingSaturating(attoseconds / 1_000_000_000_000_000)
    }
}
