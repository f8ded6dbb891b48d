// Wherry: Cache-Control of requests.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// Cache-Control of a request (RFC 9111, section 5.2.1). If it is missing, Pragma applies (section
/// 5.4).
package struct RequestCacheControl: Hashable, Sendable {
    package var noCache = false
    package var noStore = false
    package var onlyIfCached = false
    /// The maximum age in seconds; an invalid argument counts as 0.
    package var maxAge: Int64?
    /// The minimum remaining freshness in seconds; an invalid argument counts as more than any
    /// response has.
    package var minFresh: Int64?
    /// The maximum staleness in seconds; ``CacheDirectives/mostSeconds`` without an argument, `nil`
    /// for an invalid argument.
    package var maxStale: Int64?
    /// The maximum staleness in seconds if the origin fails (RFC 5861, section 4).
    package var staleIfError: Int64?

    /// Creates empty directives.
    package init() {}

    /// Parses the headers of a request.
    package init(_ headers: Headers) {
        self.init(
            cacheControl: headers.values("cache-control"), pragma: headers.values("pragma"))
    }

    /// Parses all lines of both headers.
    package init(cacheControl: [String], pragma: [String] = []) {
        guard !cacheControl.isEmpty else {
            if !pragma.isEmpty { noCache = CacheDirectives(pragma).contains("no-cache") }
            return
        }
        let directives = CacheDirectives(cacheControl)
        noCache = directives.contains("no-cache")
        noStore = directives.contains("no-store")
        onlyIfCached = directives.contains("only-if-cached")
        maxAge = directives["max-age"].map { $0.seconds ?? 0 }
        minFresh = directives["min-fresh"].map { $0.seconds ?? CacheDirectives.mostSeconds }
        maxStale = directives["max-stale"].flatMap {
            $0 == .none ? CacheDirectives.mostSeconds : $0.seconds
        }
        staleIfError = directives["stale-if-error"]?.seconds
    }
}
