// Wherry: a transfer that waits for a way to its host.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// One wait for the network, which ends once: with a way, without one in time, or cancelled.
final class NetworkWait: Sendable {
    enum End: Sendable { case found, timeout, cancelled }

    private struct State {
        var body: (@Sendable (End) -> Void)?
        /// What the center knows the wait by.
        var id: UInt64?
    }
    private let state: Lock<State>
    private let client: Client
    private let monitor: ReachabilityMonitor

    /// A wait, if there is no way to the host of that URL just now; `nil` where there is one, where
    /// that cannot be known, and with a stub.
    ///
    /// A name counts as reachable where any network is: whether it can be looked up is found out by
    /// doing so.
    ///
    /// - Parameter body: called once on the transport's thread, unless `begin` has answered `false`.
    init?(for url: HTTPURL, of client: Client, _ body: @escaping @Sendable (End) -> Void) {
        guard let center = client.networks, let host = client.firstHost(of: url),
            host != "localhost", !host.hasSuffix(".localhost"),
            let target = try? Reachability.target(host), !center.hasWay(to: target)
        else { return nil }
        self.client = client
        monitor = ReachabilityMonitor(
            target, name: host, options: Reachability.Options(), center: center)
        state = Lock(State(body: body))
    }

    /// Begins to wait. `false` if that cannot be, and then nothing follows.
    ///
    /// - Parameter nanoseconds: of the center's clock, at most.
    func begin(within nanoseconds: Int64) -> Bool {
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
            // Cancelled meanwhile, it has been told.
            return state.withLock { state in
                defer { state.body = nil }
                return state.body == nil
            }
        }
    }

    /// Ends it, unless it has ended.
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

extension RequestTransfer {
    /// Waits for a way to the host, if there is none. `false` if there is nothing to wait for.
    func waitForNetwork(_ exchange: Exchange) -> Bool {
        let now = client.transport.clock.now()
        let window = started.advanced(by: .milliseconds(options[.waitForNetwork]))
        let wait = NetworkWait(for: exchange.request.url, of: client) { [self] end in
            hops.withLock { $0.networkWait = nil }
            switch end {
            case .found: resume { launchNow(exchange, wake: .now) }
            case .cancelled: self.end(TransferOutcome(error: Self.cancelledError))
            case .timeout: didWaitInVain(exchange)
            }
        }
        guard let wait else { return false }
        let wasCancelled = hops.withLock { state in
            state.networkWait = wait
            return state.wasCancelled
        }
        become(.waiting, reason: .offline)
        guard wait.begin(within: max(0, min(window, deadline).since(now))) else {
            hops.withLock { $0.networkWait = nil }
            return false
        }
        if wasCancelled { wait.cancel() }
        return true
    }

    private func didWaitInVain(_ exchange: Exchange) {
        // Past its deadline the transport says so.
        guard client.transport.clock.now() < deadline else {
            return launchNow(exchange, wake: .now)
        }
        let host = exchange.request.url.origin.text
        let time = options[.waitForNetwork]
        end(
            TransferOutcome(
                error: WherryError(
                    .offline, "There was no network that leads to \(host) within \(time) ms")))
    }
}

extension Client {
    /// The host that connections for a URL go to first: that of the proxy if there is one. `nil` if
    /// that is not known.
    package func firstHost(
        of url: HTTPURL, environment: (String) -> String? = { Environment[$0] }
    ) -> String? {
        // A socket of this machine needs no network.
        if settings.text(.unixSocket) != nil { return nil }
        let rules = ProxyRules(settings.values.proxies, environment: environment)
        guard let proxy = rules.proxy(for: url.origin) else { return url.origin.host }
        // Other proxies may be reached in another way.
        guard let address = proxy.url, address.scheme.hasPrefix("http") else { return nil }
        return address.host
    }
}

extension ReachabilityCenter {
    /// Whether there is a way just now; for a name, to any network. `true` where that cannot be known.
    func hasWay(to target: ReachabilityMachine.Target) -> Bool {
        guard !isForked, let source = try? world.networks() else { return true }
        let addresses =
            if case .address(let address) = target { [address] } else { NetworkPath.anywhere }
        return find(addresses, in: source).status.isReachable
    }
}
