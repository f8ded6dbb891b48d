// Wherry: what a client has done so far, in numbers.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// What a client, or one host of it, has done since it was made (L12).
public struct Counters: Sendable, Hashable {
    /// Transfers that were started.
    public var started: Int64 = 0
    /// Transfers that ended well.
    public var succeeded: Int64 = 0
    /// Transfers that failed; of the server's refusals too.
    public var failed: Int64 = 0
    /// Transfers that were cancelled, or refused by a decision.
    public var cancelled: Int64 = 0
    /// Requests that went out: one for each redirect, attempt and connection of a download too.
    public var requests: Int64 = 0
    /// Attempts that were made again after a failure.
    public var retried: Int64 = 0
    /// Redirects that were followed.
    public var redirected: Int64 = 0
    /// Transfers that a cache answered without asking the server.
    public var cacheHits: Int64 = 0
    /// Bytes on the wire, heads included.
    public var sentBytes: Int64 = 0
    /// Bytes on the wire, heads included.
    public var receivedBytes: Int64 = 0

    /// Nothing.
    public init() {}

    /// Transfers that have not ended.
    public var active: Int64 { started - succeeded - failed - cancelled }
}

/// Counts for a client: all together, and by host.
package final class CounterTable: Sendable {
    private struct State {
        var total = Counters()
        /// The hosts in the order of their first request, and where each stands.
        var hosts: [Counters] = []
        var places: [String: Int] = [:]
        /// The one counted last, so that most need not be looked up.
        var last: (origin: Origin, place: Int)?
    }

    /// Of further hosts only the sum is counted.
    private static let mostHosts = 10_000
    private let state = Lock(State())

    package init() {}

    /// Counts something for a host; `nil` counts it for the client alone.
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

    /// One exchange is over. Counted as a request if anything of it went out.
    package func count(_ exchange: Exchange, _ result: ExchangeResult) {
        let metrics = result.metrics
        let isOut = metrics.sent > 0 || result.head != nil
        count(exchange.request.url.origin) { counters in
            if isOut { counters.requests += 1 + Int64(metrics.resends) }
            counters.sentBytes = counters.sentBytes.addingSaturating(metrics.sent)
            counters.receivedBytes = counters.receivedBytes.addingSaturating(metrics.received)
        }
    }

    /// What was counted so far; `nil` is all hosts together.
    package func counters(of host: String?) -> Counters {
        state.withLock { state in
            guard let host else { return state.total }
            return state.places[host.asciiLowercased].map { state.hosts[$0] } ?? Counters()
        }
    }

    /// The hosts that were asked, in the order of their first request.
    package var hosts: [String] {
        state.withLock { state in
            state.places.sorted { $0.value < $1.value }.map(\.key)
        }
    }
}
