// Wherry: the state machine of a reachability monitor.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Decides what a monitor checks and reports.
///
/// Its inputs are network changes, results of its actions, and time; its outputs are actions. It
/// reports a status once it is known, and then each change.
package struct ReachabilityMachine: Sendable {
    package enum Target: Hashable, Sendable {
        /// Any network.
        case anywhere
        case address(NetworkAddress)
        case host(String)
        /// Set by the program.
        case reported
    }

    package enum Action: Hashable, Sendable {
        /// Find the route to ``addresses``.
        case look
        /// Resolve the host name.
        case resolve
        /// Probe the server.
        case probe
        case tell(old: NetworkPath, new: NetworkPath)
    }

    package let target: Target
    private let isRaw: Bool
    /// Nanoseconds between probes; `nil` for no probe.
    private let probeInterval: Int64?

    /// The last known and reported path.
    package private(set) var path: NetworkPath
    private var hasTold = false
    /// The path according to the routes alone, once known.
    private var route: NetworkPath?
    /// The addresses of the name; empty if it could not be resolved.
    private var resolved: [NetworkAddress]?
    private var isResolving = false
    /// Whether the network changed during a lookup.
    private var mustResolve = false
    private var failures = 0
    private var nextResolve = Instant.never
    private var answers: Bool?
    private var isProbing = false
    private var mustProbe = false
    private var nextProbe = Instant.never

    /// - Parameter path: The path known before the start.
    package init(
        _ target: Target, path: NetworkPath = .unknown, isRaw: Bool = false,
        probeInterval: Int64? = nil
    ) {
        self.target = target
        self.path = path
        self.isRaw = isRaw
        self.probeInterval = probeInterval
    }

    /// The addresses whose routes are checked.
    package var addresses: [NetworkAddress] {
        switch target {
        case .anywhere: NetworkPath.anywhere
        case .address(let address): [address]
        case .host: resolved ?? []
        case .reported: []
        }
    }

    /// Whether ``path`` was determined in this run.
    package var isFresh: Bool { hasTold }

    /// The time of the next timed action.
    package var deadline: Instant { min(nextResolve, nextProbe) }

    /// Starts the run.
    package mutating func begin() -> [Action] {
        switch target {
        case .anywhere, .address: return [.look]
        case .host: return resolve()
        case .reported:
            // The program may have set the status before the start.
            guard path.status != .unknown else { return [] }
            return report(path)
        }
    }

    /// Handles a network change.
    package mutating func networkChanged() -> [Action] {
        switch target {
        case .anywhere, .address: return [.look]
        case .host:
            // Earlier failures say nothing about this network, whose name servers may need a
            // moment.
            failures = 0
            // The address may differ on another network. The known one is used until then.
            return (resolved == nil ? [] : [.look]) + resolve()
        case .reported: return []
        }
    }

    /// Handles the result of a route check.
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

    /// Handles the result of a name lookup; `nil` if there is no address.
    package mutating func didResolve(_ addresses: [NetworkAddress]?, now: Instant) -> [Action] {
        isResolving = false
        // The lookup may have used a network that is gone.
        if addresses == nil && mustResolve { return resolve() }
        resolved = addresses ?? []
        if addresses == nil {
            // The name servers may recover without a network change.
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

    /// Handles the result of a probe.
    package mutating func didProbe(_ answered: Bool, now: Instant) -> [Action] {
        isProbing = false
        guard let probeInterval, route?.status.isReachable == true else { return [] }
        // The probe may have used a network that is gone.
        if !answered && mustProbe { return probe() }
        answers = answered
        nextProbe = now.advanced(by: probeInterval)
        return evaluate() + (mustProbe ? probe() : [])
    }

    /// Runs the timed actions that are due.
    package mutating func tick(now: Instant) -> [Action] {
        var actions: [Action] = []
        if now >= nextResolve { actions += resolve() }
        if now >= nextProbe { actions += probe() }
        return actions
    }

    /// Handles a status set by the program.
    package mutating func report(_ reported: NetworkPath) -> [Action] {
        guard case .reported = target else { return [] }
        route = reported
        return evaluate()
    }

    // MARK: Implementation

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

    /// The path according to all results; `nil` while one is missing.
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
