// Wherry: what a program holds to know whether a network can be reached.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Watches whether a host, an address or any network can be reached, and over what.
///
///     let reachability = try Reachability(host: "example.org")
///     for await change in try reachability.changes() { print(change.status) }
///
/// It goes by the links, addresses and routes of this machine, IPv4 and IPv6, which the kernel tells
/// of: nothing is polled, and nothing is sent unless there is a probe. So it says whether packets
/// would find a way out, and not whether anybody answers. One thread looks after all monitors of the
/// process, and only while one of them runs. Every member may be used from any thread. Letting go of
/// the last reference stops it.
public final class Reachability: Sendable {
    /// How a monitor works.
    public struct Options: Hashable, Sendable {
        /// Tells every look at the network, also where the status is the same as before. Off.
        public var isRaw = false
        /// ``Reachability/start()`` looks before it returns, so that the status is known then. It may
        /// wait for name servers and for the probe. Off.
        public var looksAtStart = false
        /// A server that has to answer where the routes lead out; none by default.
        public var probe: Probe?
        /// How long after its answer the server is asked again: 30 s; at least 10 ms.
        public var probeInterval: Duration = .seconds(30)
        /// How long it may take to answer: 5 s; at least 1 ms.
        public var probeTimeout: Duration = .seconds(5)

        /// Every option at its default.
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

    /// Watches any network: whether there is a way to everywhere, by IPv4 or IPv6.
    ///
    /// - Throws: `bad_value` for times of the probe that make no sense.
    public convenience init(_ options: Options = Options()) throws(WherryError) {
        try self.init(.anywhere, name: nil, options, center: .shared)
    }

    /// Watches the way to a host, whose name is looked up when it starts and whenever the network
    /// changes. A name without an address is not reachable.
    ///
    /// - Parameter host: a name, or an address such as "192.0.2.1", "2001:db8::1" or "fe80::1%eth0".
    /// - Throws: `bad_value` for what is neither, such as a URL.
    public convenience init(host: String, _ options: Options = Options()) throws(WherryError) {
        try self.init(Self.target(host), name: host, options, center: .shared)
    }

    /// Whether a text can be watched; throws what ``init(host:_:)`` would.
    package static func check(host: String) throws(WherryError) { _ = try target(host) }

    /// Has no network of its own: its status is what ``report(_:interface:)`` says. For programs
    /// that know better, and for tests.
    public static func reported() -> Reachability {
        Reachability(
            ReachabilityMonitor(.reported, name: nil, options: Options(), center: .shared))
    }

    /// Watches any network, with every option at its default.
    static func anywhere() -> Reachability {
        Reachability(
            ReachabilityMonitor(.anywhere, name: nil, options: Options(), center: .shared))
    }

    private init(_ monitor: ReachabilityMonitor) { self.monitor = monitor }

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

    /// `/ : ? # @ [ ] \`, which stand in URLs and not in names.
    private static let reserved = Set("/:?#@[]\\".utf8)

    static func withoutBrackets(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }

    // MARK: Looking

    /// What is watched, as it was given; `nil` for any network.
    public var target: String? { monitor.name }
    /// What was last found; `unknown` before the first start, and kept after a stop.
    public var status: Status { monitor.status }
    /// Whether there is a way. `unknown` is none.
    public var isReachable: Bool { status.isReachable }
    /// Whether the way is over a mobile network.
    public var isReachableViaWWAN: Bool { status == .reachableViaWWAN }
    /// Whether the way is over Wi-Fi, a cable, a tunnel, or within this machine.
    public var isReachableViaWiFi: Bool { status == .reachableViaWiFi }
    /// What the way begins with.
    public var interface: Interface { monitor.path.interface }
    /// The name of that, such as "eth0"; "" where there is no way.
    public var interfaceName: String { monitor.path.name }

    // MARK: Running

    /// Begins to watch. The first status is told soon, also if it is the old one; doing it again
    /// starts over.
    ///
    /// - Throws: `no_network_state` where the system does not tell of its networks; `forked`.
    public func start() throws(WherryError) { try monitor.center.start(monitor, []) }

    /// Stops watching. The status stays as it is, and nothing is told any more.
    public func stop() { monitor.center.stop(monitor) }

    /// Blocks until the target can be reached; looks for itself, started or not.
    ///
    /// - Parameter timeout: `nil` waits for ever.
    /// - Returns: `false` when the time ran out.
    public func wait(timeout: Duration? = nil) throws(WherryError) -> Bool {
        try monitor.center.wait(for: monitor, timeout: timeout?.nanosecondsSaturating)
    }

    /// Says how it is.
    ///
    /// - Parameter interface: what the way begins with; by default what the status means.
    /// - Throws: `wrong_state` for monitors that find out by themselves.
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

    /// Says what interfaces of a name are, in this process: for a modem that looks like a cable, or
    /// a tunnel over a mobile network. It counts from the next look on.
    ///
    /// - Parameters:
    ///   - pattern: a name such as "usb0"; "usb*" means all that begin so. What was said last counts.
    ///   - interface: `nil` takes back what was said of exactly this pattern.
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

/// Text in messages.
private enum HTTPText {
    static func shortened(_ text: String) -> String {
        text.utf8.count <= 100 ? text : String(text.prefix(60)) + "..."
    }
}
