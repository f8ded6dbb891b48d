// Wherry: what a request says about the answers it takes.
// SPDX-License-Identifier: Apache-2.0

/// Cache-Control of a request (RFC 9111, section 5.2.1), with Pragma in its place where there is
/// none (section 5.4).
package struct RequestCacheControl: Hashable, Sendable {
    package var noCache = false
    package var noStore = false
    package var onlyIfCached = false
    /// The largest age taken, in seconds; an argument that is no number is 0.
    package var maxAge: Int64?
    /// How long the answer has still to be fresh, in seconds; an argument that is no number asks
    /// for more than any answer has.
    package var minFresh: Int64?
    /// How stale the answer may be, in seconds; ``CacheDirectives/mostSeconds`` without an
    /// argument, `nil` for an argument that is no number.
    package var maxStale: Int64?
    /// How stale the answer may be where the origin fails (RFC 5861, section 4).
    package var staleIfError: Int64?

    /// Nothing said.
    package init() {}

    /// Reads the fields of a request.
    package init(_ headers: Headers) {
        self.init(
            cacheControl: headers.values("cache-control"), pragma: headers.values("pragma"))
    }

    /// Reads the values of all lines of both fields.
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
