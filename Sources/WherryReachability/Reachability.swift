// Wherry: reachability of a host or of any network.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// Monitors whether a host, an address or any network is reachable, and over which kind of
/// interface.
///
///     let reachability = try Reachability(host: "example.org")
///     for await change in try reachability.changes() { print(change.status) }
///
/// The status is derived from the interfaces, addresses and routes of this machine (IPv4 and IPv6),
/// as the kernel reports them. Nothing is polled, and nothing is sent unless a probe is set. The
/// status says whether packets have a route, not whether a server responds. One thread serves all
/// monitors of the process, and exists only while one of them runs. Thread-safe. Releasing the last
/// reference stops the monitor.
public final class Reachability: Sendable {
    /// The options of a monitor.
    public struct Options: Hashable, Sendable {
        /// Whether to report every check of the network, even if the status did not change.
        /// Default: false.
        public var isRaw = false
        /// Whether ``Reachability/start()`` determines the status before it returns. It may then
        /// wait for name servers and for the probe. Default: false.
        public var looksAtStart = false
        /// A server that must respond for the status to be reachable, in addition to the routes.
        /// Default: none.
        public var probe: Probe?
        /// The interval between a response and the next probe. Default: 30 s; minimum: 10 ms.
        public var probeInterval: Duration = .seconds(30)
        /// The timeout of a probe. Default: 5 s; minimum: 1 ms.
        public var probeTimeout: Duration = .seconds(5)

        /// Creates the default options.
        public init() {}

        func check() throws(WherryError) {
            guard probeInterval >= .milliseconds(10), probeTimeout >= .milliseconds(1) else {
                throw WherryError(
                    .badValue, "A probe needs an interval of 10 ms and a timeout of 1 ms at least")
            }
        }
    }

    package let monitor: ReachabilityMonitor

    package init(
        _ target: ReachabilityMachine.Target, name: String?, _ options: Options,
        center: ReachabilityCenter
    ) throws(WherryError) {
        try options.check()
        monitor = ReachabilityMonitor(target, name: name, options: options, center: center)
    }

    /// Creates a monitor from its state in a center.
    package init(_ monitor: ReachabilityMonitor) { self.monitor = monitor }

    /// Checks a host name; throws the errors of ``init(host:_:)``.
    package static func check(host: String) throws(WherryError) { _ = try target(host) }

    deinit { monitor.center.stop(monitor) }

    package static func target(
        _ host: String
    ) throws(WherryError) -> ReachabilityMachine.Target {
        let plain = withoutBrackets(host)
        if let address = NetworkAddress(plain) { return .address(address) }
        let isName =
            !plain.isEmpty && plain.utf8.count <= 253
            && plain.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !Self.reserved.contains($0) }
        guard isName else {
            throw WherryError(
                .badValue, "\"\(HTTPText.shortened(host))\" is neither a host name nor an address")
        }
        return .host(plain)
    }

    /// `/ : ? # @ [ ] \`, which occur in URLs but not in names.
    private static let reserved = Set("/:?#@[]\\".utf8)

    static func withoutBrackets(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }

    // MARK: Status

    /// The host as passed; `nil` for any network.
    public var target: String? { monitor.name }
    /// The last status; `unknown` before the first start. A stop does not change it.
    public var status: Status { monitor.status }
    /// Whether a route exists. False if `unknown`.
    public var isReachable: Bool { status.isReachable }
    /// Whether the route uses a cellular network.
    public var isReachableViaWWAN: Bool { status == .reachableViaWWAN }
    /// Whether the route uses Wi-Fi, a cable, a tunnel, or this machine itself.
    public var isReachableViaWiFi: Bool { status == .reachableViaWiFi }
    /// The kind of the route's first interface.
    public var interface: Interface { monitor.path.interface }
    /// The name of that interface, such as "eth0"; "" without a route.
    public var interfaceName: String { monitor.path.name }

    // MARK: Running

    /// Starts monitoring. The first status is reported soon, even if it did not change. A second
    /// start restarts the monitor.
    ///
    /// - Throws: `no_network_state` if the system does not report its network state; `forked`.
    public func start() throws(WherryError) { try monitor.center.start(monitor, []) }

    /// Stops monitoring. The status is unchanged, and nothing more is reported.
    public func stop() { monitor.center.stop(monitor) }

    /// Blocks until the target is reachable, whether the monitor is started or not.
    ///
    /// - Parameter timeout: `nil` waits forever.
    /// - Returns: `false` on timeout.
    public func wait(timeout: Duration? = nil) throws(WherryError) -> Bool {
        try monitor.center.wait(for: monitor, timeout: timeout?.nanosecondsSaturating)
    }

    /// Sets the status.
    ///
    /// - Parameter interface: The kind of the first interface; default: the one that the status
    ///   implies.
    /// - Throws: `wrong_state` for monitors that follow the network.
    public func report(_ status: Status, interface: Interface? = nil) throws(WherryError) {
        let usual: Interface =
            switch status {
            case .unknown, .notReachable: .none
            case .reachableViaWWAN: .wwan
            case .reachableViaWiFi: .wifi
            }
        try monitor.center.report(
            NetworkPath(status: status, interface: interface ?? usual, name: ""), of: monitor)
    }

    // MARK: Rules

    /// Sets the kind of all interfaces whose name matches a pattern, in this process. For a modem
    /// that looks like a wired interface, or a tunnel over a cellular network. Applies from the
    /// next check on.
    ///
    /// - Parameters:
    ///   - pattern: A name such as "usb0"; "usb*" matches a prefix. Later rules override earlier
    ///     ones.
    ///   - interface: `nil` removes the rule for exactly this pattern.
    /// - Throws: `bad_value` for an empty pattern, and for the kind `none`.
    public static func setInterface(
        _ pattern: String, _ interface: Interface?
    ) throws(WherryError) {
        let kind = interface.flatMap { LinkKind(rawValue: $0.rawValue) }
        guard !pattern.isEmpty, interface == nil || kind != nil else {
            throw WherryError(
                .badValue, "An interface has a name, and is wired, wifi, wwan, vpn or loopback")
        }
        LinkRules.shared.withLock { $0.set(pattern, kind) }
    }
}

/// Text for messages.
private enum HTTPText {
    static func shortened(_ text: String) -> String {
        text.utf8.count <= 100 ? text : String(text.prefix(60)) + "..."
    }
}
