// Wherry: the rules of one monitor, as a value.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Decides what a monitor looks at, and what it tells.
///
/// It hears of the network, of answers to its questions and of time; it answers with what is to be
/// done. A status is told once it is known, and after that when it changes.
package struct ReachabilityMachine: Sendable {
    package enum Target: Hashable, Sendable {
        /// Any network.
        case anywhere
        case address(NetworkAddress)
        case host(String)
        /// What the program says.
        case reported
    }

    package enum Action: Hashable, Sendable {
        /// Find the way to ``addresses``.
        case look
        /// Ask for the addresses of the host.
        case resolve
        /// Ask the server behind the network.
        case probe
        case tell(old: NetworkPath, new: NetworkPath)
    }

    package let target: Target
    private let isRaw: Bool
    /// Nanoseconds between two probes; `nil` for none.
    private let probeInterval: Int64?

    /// What is known, and has been told.
    package private(set) var path: NetworkPath
    private var hasTold = false
    /// The way by the routes alone, once that was looked at.
    private var route: NetworkPath?
    /// What the name stands for; an empty list where nobody could tell.
    private var resolved: [NetworkAddress]?
    private var isResolving = false
    /// The network changed while a question was on its way.
    private var mustResolve = false
    private var failures = 0
    private var nextResolve = Instant.never
    private var answers: Bool?
    private var isProbing = false
    private var mustProbe = false
    private var nextProbe = Instant.never

    /// - Parameter path: what was known before it starts.
    package init(
        _ target: Target, path: NetworkPath = .unknown, isRaw: Bool = false,
        probeInterval: Int64? = nil
    ) {
        self.target = target
        self.path = path
        self.isRaw = isRaw
        self.probeInterval = probeInterval
    }

    /// The addresses that the way is looked for to.
    package var addresses: [NetworkAddress] {
        switch target {
        case .anywhere: NetworkPath.anywhere
        case .address(let address): [address]
        case .host: resolved ?? []
        case .reported: []
        }
    }

    /// Whether ``path`` is of this run.
    package var isFresh: Bool { hasTold }

    /// When it has something to do by itself.
    package var deadline: Instant { min(nextResolve, nextProbe) }

    /// It starts.
    package mutating func begin() -> [Action] {
        switch target {
        case .anywhere, .address: return [.look]
        case .host: return resolve()
        case .reported:
            // What the program said before it started, if it said anything.
            guard path.status != .unknown else { return [] }
            return report(path)
        }
    }

    /// Something about the network changed.
    package mutating func networkChanged() -> [Action] {
        switch target {
        case .anywhere, .address: return [.look]
        case .host:
            // What failed before says nothing of this network, whose name servers may need a moment.
            failures = 0
            // Another network may know another address. What is known counts until then.
            return (resolved == nil ? [] : [.look]) + resolve()
        case .reported: return []
        }
    }

    /// The way to the addresses has been looked for.
    package mutating func looked(_ found: NetworkPath) -> [Action] {
        route = found
        guard probeInterval != nil else { return evaluate() }
        guard found.status.isReachable else {
            answers = nil
            mustProbe = false
            nextProbe = .never
            return evaluate()
        }
        return evaluate() + probe()
    }

    /// The name service has answered; `nil` if there is no address.
    package mutating func didResolve(_ addresses: [NetworkAddress]?, now: Instant) -> [Action] {
        isResolving = false
        // Asked over a network that is no more, perhaps.
        if addresses == nil && mustResolve { return resolve() }
        resolved = addresses ?? []
        if addresses == nil {
            // It may come back without a change on our side.
            let delay = Int64.milliseconds(1000 << Int64(min(failures, 6)))
            failures += 1
            nextResolve = now.advanced(by: min(delay, .milliseconds(60_000)))
        } else {
            failures = 0
            nextResolve = .never
        }
        var actions: [Action] = [.look]
        if mustResolve { actions += resolve() }
        return actions
    }

    /// The server has answered, or has not.
    package mutating func didProbe(_ answered: Bool, now: Instant) -> [Action] {
        isProbing = false
        guard let probeInterval, route?.status.isReachable == true else { return [] }
        // Asked over a network that is no more, perhaps.
        if !answered && mustProbe { return probe() }
        answers = answered
        nextProbe = now.advanced(by: probeInterval)
        return evaluate() + (mustProbe ? probe() : [])
    }

    /// Time has passed.
    package mutating func tick(now: Instant) -> [Action] {
        var actions: [Action] = []
        if now >= nextResolve { actions += resolve() }
        if now >= nextProbe { actions += probe() }
        return actions
    }

    /// The program says how it is.
    package mutating func report(_ reported: NetworkPath) -> [Action] {
        guard case .reported = target else { return [] }
        route = reported
        return evaluate()
    }

    // MARK: Inside

    private mutating func resolve() -> [Action] {
        nextResolve = .never
        mustResolve = isResolving
        guard !isResolving else { return [] }
        isResolving = true
        return [.resolve]
    }

    private mutating func probe() -> [Action] {
        nextProbe = .never
        mustProbe = isProbing
        guard !isProbing else { return [] }
        isProbing = true
        return [.probe]
    }

    /// The way by all that is known; `nil` while something is missing.
    private var known: NetworkPath? {
        guard let route else { return nil }
        guard probeInterval != nil, route.status.isReachable else { return route }
        return answers.map { $0 ? route : .none }
    }

    private mutating func evaluate() -> [Action] {
        guard let known else { return [] }
        let old = path
        path = known
        guard !hasTold || isRaw || old.status != known.status else { return [] }
        hasTold = true
        return [.tell(old: old, new: known)]
    }
}
