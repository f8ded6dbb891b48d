// Wherry: counters of a client.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// The counters of a client, or of one of its hosts, since the client was created (L12).
public struct Counters: Sendable, Hashable {
    /// The number of transfers started.
    public var started: Int64 = 0
    /// The number of transfers that succeeded.
    public var succeeded: Int64 = 0
    /// The number of transfers that failed, including error responses.
    public var failed: Int64 = 0
    /// The number of transfers cancelled, or refused by a callback.
    public var cancelled: Int64 = 0
    /// The number of requests sent, including redirects, retries and the connections of a download.
    public var requests: Int64 = 0
    /// The number of retries.
    public var retried: Int64 = 0
    /// The number of redirects followed.
    public var redirected: Int64 = 0
    /// The number of transfers served from a cache without contacting the server.
    public var cacheHits: Int64 = 0
    /// The number of bytes sent over the network, including headers.
    public var sentBytes: Int64 = 0
    /// The number of bytes received over the network, including headers.
    public var receivedBytes: Int64 = 0

    /// Creates counters that are all zero.
    public init() {}

    /// The number of transfers in progress.
    public var active: Int64 { started - succeeded - failed - cancelled }
}

/// The counters of a client, in total and per host.
package final class CounterTable: Sendable {
    private struct State {
        var total = Counters()
        /// The counters of each host, in the order of first requests, and their indexes.
        var hosts: [Counters] = []
        var places: [String: Int] = [:]
        /// The host counted last, to avoid most lookups.
        var last: (origin: Origin, place: Int)?
    }

    /// Further hosts count only in the total.
    private static let mostHosts = 10_000
    private let state = Lock(State())

    package init() {}

    /// Updates the counters of a host and the client; `nil` updates the client's alone.
    package func count(_ origin: Origin?, _ change: (inout Counters) -> Void) {
        state.withLock { state in
            change(&state.total)
            guard let origin, let place = Self.place(of: origin, in: &state) else { return }
            change(&state.hosts[place])
        }
    }

    private static func place(of origin: Origin, in state: inout State) -> Int? {
        if let last = state.last, last.origin === origin { return last.place }
        var place = state.places[origin.host]
        if place == nil, state.hosts.count < mostHosts {
            place = state.hosts.count
            state.places[origin.host] = place
            state.hosts.append(Counters())
        }
        if let place { state.last = (origin, place) }
        return place
    }

    /// Counts a completed exchange. It counts as a request if any part of it was sent.
    package func count(_ exchange: Exchange, _ result: ExchangeResult) {
        let metrics = result.metrics
        let isOut = metrics.sent > 0 || result.head != nil
        count(exchange.request.url.origin) { counters in
            if isOut { counters.requests += 1 + Int64(metrics.resends) }
            counters.sentBytes = counters.sentBytes.addingSaturating(metrics.sent)
            counters.receivedBytes = counters.receivedBytes.addingSaturating(metrics.received)
        }
    }

    /// Returns the counters; `nil` for all hosts together.
    package func counters(of host: String?) -> Counters {
        state.withLock { state in
            guard let host else { return state.total }
            return state.places[host.asciiLowercased].map { state.hosts[$0] } ?? Counters()
        }
    }

    /// The hosts that received requests, in the order of their first request.
    package var hosts: [String] {
        state.withLock { state in
            state.places.sorted { $0.value < $1.value }.map(\.key)
        }
    }
}
