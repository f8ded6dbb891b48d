// Wherry: the rules of reachability
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryReachability
import WherrySystem

@Suite struct NetworkPathTests {
    private let wired = NetworkLink(index: 2, name: "eth0")

    private func path(_ route: NetworkRoute?, _ link: NetworkLink?) -> NetworkPath {
        NetworkPath(route: route, link: link, rules: LinkRules())
    }

    @Test("N2 a route exists if the link is up, has a carrier, and a source address")
    func ways() {
        let route = NetworkRoute(link: 2)
        #expect(
            path(route, wired)
                == NetworkPath(status: .reachableViaWiFi, interface: .wired, name: "eth0"))
        #expect(path(nil, wired) == .none)
        #expect(path(route, nil) == .none)
        var link = wired
        link.hasCarrier = false
        #expect(path(route, link) == .none)
        link.isUp = false
        #expect(path(route, link) == .none)
        #expect(path(NetworkRoute(link: 2, isDown: true), wired) == .none)
        #expect(path(NetworkRoute(link: 2, hasSource: false), wired) == .none)
    }

    @Test("N2 a mobile network is WWAN, all else counts as WiFi")
    func kinds() {
        let route = NetworkRoute(link: 2)
        let mobile = path(route, NetworkLink(index: 2, name: "wwan0"))
        #expect(mobile.status == .reachableViaWWAN && mobile.interface == .wwan)
        let tunnel = path(route, NetworkLink(index: 2, name: "tun0", driver: "tun"))
        #expect(tunnel.status == .reachableViaWiFi && tunnel.interface == .vpn)
        let radio = path(route, NetworkLink(index: 2, name: "wlan0"))
        #expect(radio.status == .reachableViaWiFi && radio.interface == .wifi)
    }

    @Test("N2 only this machine is behind the loopback")
    func loopback() {
        let link = NetworkLink(index: 1, name: "lo", isLoopback: true)
        let local = path(NetworkRoute(link: 1, isLocal: true), link)
        #expect(local.status == .reachableViaWiFi && local.interface == .loopback)
        #expect(path(NetworkRoute(link: 1), link) == .none)
    }

    @Test("N1 N4 the statuses have AFNetworking's numbers, and Unknown is not reachable")
    func truth() {
        let table: [(Reachability.Status, Int32, Bool)] = [
            (.unknown, -1, false), (.notReachable, 0, false), (.reachableViaWWAN, 1, true),
            (.reachableViaWiFi, 2, true),
        ]
        for (status, number, isReachable) in table {
            #expect(status.rawValue == number)
            #expect(status.isReachable == isReachable)
        }
    }
}

@Suite struct ReachabilityMachineTests {
    private let out = NetworkPath(status: .reachableViaWiFi, interface: .wired, name: "eth0")
    private let radio = NetworkPath(status: .reachableViaWiFi, interface: .wifi, name: "wlan0")
    private let mobile = NetworkPath(status: .reachableViaWWAN, interface: .wwan, name: "wwan0")
    private let now = Instant(nanoseconds: 0)
    private let address = NetworkAddress(bytes: [192, 0, 2, 1])

    @Test("N5 the first status is always reported, and N7 after that only changes")
    func changes() {
        var machine = ReachabilityMachine(.anywhere)
        #expect(machine.begin() == [.look])
        #expect(machine.looked(.none) == [.tell(old: .unknown, new: .none)])
        #expect(machine.networkChanged() == [.look])
        #expect(machine.looked(.none) == [])
        #expect(machine.looked(out) == [.tell(old: .none, new: out)])
        // Another interface and the same status: known, and not reported.
        #expect(machine.looked(radio) == [])
        #expect(machine.path == radio)
        #expect(machine.looked(mobile) == [.tell(old: radio, new: mobile)])
    }

    @Test("N5 a new start reports the old status again")
    func restart() {
        var machine = ReachabilityMachine(.anywhere, path: out)
        #expect(machine.path == out && !machine.isFresh)
        #expect(machine.looked(out) == [.tell(old: out, new: out)])
        #expect(machine.isFresh)
    }

    @Test("N7 raw reports every check")
    func raw() {
        var machine = ReachabilityMachine(.anywhere, isRaw: true)
        #expect(machine.looked(out) == [.tell(old: .unknown, new: out)])
        #expect(machine.looked(out) == [.tell(old: out, new: out)])
    }

    @Test(
        "N11 a name is looked up first, again after network changes, and without it no route exists"
    )
    func names() {
        var machine = ReachabilityMachine(.host("example.org"))
        #expect(machine.begin() == [.resolve])
        // The result is not known yet, and one lookup at a time is enough.
        #expect(machine.networkChanged() == [])
        #expect(machine.didResolve([address], now: now) == [.look, .resolve])
        #expect(machine.addresses == [address])
        #expect(machine.looked(out) == [.tell(old: .unknown, new: out)])
        #expect(machine.didResolve([address], now: now) == [.look])
        #expect(machine.networkChanged() == [.look, .resolve])
        #expect(machine.looked(out) == [])
        #expect(machine.didResolve(nil, now: now) == [.look])
        #expect(machine.addresses.isEmpty)
        #expect(machine.looked(.none) == [.tell(old: out, new: .none)])
    }

    @Test("N11 a name service that recovers is found without a change of the network")
    func nameRetries() {
        var machine = ReachabilityMachine(.host("example.org"))
        _ = machine.begin()
        var time = now
        for seconds: Int64 in [1, 2, 4, 8, 16, 32, 60, 60] {
            _ = machine.didResolve(nil, now: time)
            #expect(machine.deadline == time.advanced(by: .milliseconds(seconds * 1000)))
            #expect(machine.tick(now: machine.deadline.advanced(by: -1)) == [])
            time = machine.deadline
            #expect(machine.tick(now: time) == [.resolve])
        }
        _ = machine.didResolve([address], now: time)
        #expect(machine.deadline == .never)
    }

    @Test("N11 a failure from before the network changed does not count")
    func staleNames() {
        var machine = ReachabilityMachine(.host("example.org"))
        _ = machine.begin()
        _ = machine.networkChanged()
        #expect(machine.didResolve(nil, now: now) == [.resolve])
        #expect(machine.didResolve([address], now: now) == [.look])
    }

    @Test("N12 a reachability probe requires a response from a server, repeatedly")
    func probes() {
        var machine = ReachabilityMachine(.anywhere, probeInterval: 1000)
        #expect(machine.begin() == [.look])
        // Not reported before the server has responded.
        #expect(machine.looked(out) == [.probe])
        #expect(machine.didProbe(false, now: now) == [.tell(old: .unknown, new: .none)])
        #expect(machine.deadline == Instant(nanoseconds: 1000))
        #expect(machine.tick(now: Instant(nanoseconds: 999)) == [])
        #expect(machine.tick(now: Instant(nanoseconds: 1000)) == [.probe])
        #expect(machine.didProbe(true, now: now) == [.tell(old: .none, new: out)])
        // Without a route the monitor does not probe.
        #expect(machine.looked(.none) == [.tell(old: out, new: .none)])
        #expect(machine.deadline == .never)
        // And earlier results no longer count.
        #expect(machine.looked(out) == [.probe])
    }

    @Test("N12 a server that was silent before the network changed is probed once more")
    func staleProbes() {
        var machine = ReachabilityMachine(.anywhere, probeInterval: 1000)
        #expect(machine.looked(out) == [.probe])
        #expect(machine.looked(out) == [])
        #expect(machine.didProbe(false, now: now) == [.probe])
        #expect(machine.didProbe(true, now: now) == [.tell(old: .unknown, new: out)])
    }

    @Test("N3 the program may set a monitor's status")
    func reported() {
        var machine = ReachabilityMachine(.reported)
        #expect(machine.begin() == [])
        #expect(machine.report(mobile) == [.tell(old: .unknown, new: mobile)])
        #expect(machine.networkChanged() == [])
        var other = ReachabilityMachine(.anywhere)
        #expect(other.report(mobile) == [])
    }
}
