// Wherry: waiting for a network that reaches the host.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryReachability
import WherrySystem
import WherryTransport

/// One wait for the network. It ends exactly once: when the host is reachable, on timeout, or on
/// cancel.
final class NetworkWait: Sendable {
    enum End: Sendable { case found, timeout, cancelled }

    private struct State {
        var body: (@Sendable (End) -> Void)?
        /// The identifier of the wait in the reachability center.
        var id: UInt64?
    }
    private let state: Lock<State>
    private let client: Client
    private let monitor: ReachabilityMonitor

    /// Creates a wait if the host of a URL is unreachable now. Fails if the host is reachable, if
    /// its reachability cannot be determined, or with a stub.
    ///
    /// A host name counts as reachable if any network is up; only a lookup shows whether it
    /// resolves.
    ///
    /// - Parameter body: Called once on the transport's thread, unless `begin` returned `false`.
    private init?(for url: HTTPURL, of client: Client, _ body: @escaping @Sendable (End) -> Void) {
        guard let center = client.networks, let host = client.firstHost(of: url),
            host != "localhost", !host.hasSuffix(".localhost"),
            let target = try? Reachability.target(host), !center.hasWay(to: target)
        else { return nil }
        self.client = client
        monitor = ReachabilityMonitor(
            target, name: host, options: Reachability.Options(), center: center)
        state = Lock(State(body: body))
    }

    /// Starts the wait. Returns `false` if waiting is impossible; `body` is not called then.
    ///
    /// - Parameter nanoseconds: The timeout on the center's clock.
    private func begin(within nanoseconds: Int64) -> Bool {
        do throws(WherryError) {
            let id = try monitor.center.whenReachable(monitor, within: nanoseconds) {
                [self] found in
                finish(found ? .found : .timeout)
            }
            let isOver = state.withLock { state in
                state.id = id
                return state.body == nil
            }
            if isOver { monitor.center.cancelWait(id) }
            return true
        } catch {
            // After a cancel in the meantime, `body` has already been called.
            return state.withLock { state in
                defer { state.body = nil }
                return state.body == nil
            }
        }
    }

    /// Creates and starts a wait that its owner can cancel. Returns `false` if no wait is needed or
    /// possible.
    ///
    /// - Parameters:
    ///   - register: Stores the wait, or `nil` if it did not begin. Returns whether its owner was
    ///     cancelled.
    ///   - waiting: Called before the wait begins.
    ///   - body: Called once at the end of the wait.
    static func begin(
        for url: HTTPURL, of client: Client, within nanoseconds: Int64,
        register: (NetworkWait?) -> Bool, waiting: () -> Void = {},
        _ body: @escaping @Sendable (End) -> Void
    ) -> Bool {
        guard let wait = NetworkWait(for: url, of: client, body) else { return false }
        let isVoid = register(wait)
        waiting()
        guard wait.begin(within: max(0, nanoseconds)) else {
            _ = register(nil)
            return false
        }
        if isVoid { wait.cancel() }
        return true
    }

    /// Cancels the wait, unless it has ended.
    func cancel() { finish(.cancelled) }

    private func finish(_ end: End) {
        let (body, id) = state.withLock { state in
            defer { state.body = nil }
            return (state.body, state.id)
        }
        guard let body else { return }
        if end == .cancelled, let id { monitor.center.cancelWait(id) }
        let transport = client.transport
        transport.schedule(at: transport.clock.now()) { body(end) }
    }
}

extension Client {
    /// Returns the host that connections for a URL go to first: the proxy, if there is one; `nil`
    /// if unknown.
    package func firstHost(
        of url: HTTPURL, environment: (String) -> String? = { Environment[$0] }
    ) -> String? {
        // A local socket needs no network.
        if settings.text(.unixSocket) != nil { return nil }
        let rules = ProxyRules(settings.values.proxies, environment: environment)
        guard let proxy = rules.proxy(for: url.origin) else { return url.origin.host }
        // Proxies of other schemes may be reached in other ways.
        guard let address = proxy.url, address.scheme.hasPrefix("http") else { return nil }
        return address.host
    }
}

extension ReachabilityCenter {
    /// Returns whether a network reaches the target now; for a host name, whether any network is
    /// up. Returns `true` if that cannot be determined.
    func hasWay(to target: ReachabilityMachine.Target) -> Bool {
        guard !isForked, let source = try? world.networks() else { return true }
        let addresses =
            if case .address(let address) = target { [address] } else { NetworkPath.anywhere }
        return find(addresses, in: source).status.isReachable
    }
}
