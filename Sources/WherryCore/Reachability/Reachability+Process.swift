// Wherry: the reachability monitors of a process.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryReachability
import WherryRequests
import WherrySystem

extension Reachability {
    /// Monitors any network: whether there is a default route for IPv4 or IPv6.
    ///
    /// - Throws: `bad_value` for invalid probe times.
    public convenience init(_ options: Options = Options()) throws(WherryError) {
        try self.init(.anywhere, name: nil, options, center: .shared)
    }

    /// Monitors the route to a host. Resolves its name at the start and whenever the network
    /// changes. A name without an address is not reachable.
    ///
    /// - Parameter host: A name, or an address such as "192.0.2.1", "2001:db8::1" or
    ///   "fe80::1%eth0".
    /// - Throws: `bad_value` for anything else, such as a URL.
    public convenience init(host: String, _ options: Options = Options()) throws(WherryError) {
        try self.init(Self.target(host), name: host, options, center: .shared)
    }

    /// Creates a monitor whose status comes from ``report(_:interface:)`` instead of the network.
    /// For programs that know the status, and for tests.
    public static func reported() -> Reachability {
        Reachability(
            ReachabilityMonitor(.reported, name: nil, options: Options(), center: .shared))
    }

    /// Monitors any network with the default options.
    static func anywhere() -> Reachability {
        Reachability(
            ReachabilityMonitor(.anywhere, name: nil, options: Options(), center: .shared))
    }
}

extension ReachabilityCenter {
    private static let current = ProcessLocal { ReachabilityCenter(World()) }
    /// The center of this process; a forked child has another one.
    package static var shared: ReachabilityCenter { current.object }
}

extension ReachabilityCenter.World {
    /// Creates the access to the system's network. Each probe has a client with default settings.
    package init() {
        self.init { url, timeout in
            guard let client = try? Client({ $0.totalTimeout = timeout }) else { return false }
            defer { client.close() }
            var request = Request(url, method: "GET")
            request.maxRedirects = 0
            return (try? client.perform(request)) != nil
        }
    }
}
