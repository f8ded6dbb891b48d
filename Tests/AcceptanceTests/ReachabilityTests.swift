// Wherry: acceptance tests of reachability: rows N1-N13, and R30, C13 and D13, which depend on it
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

/// In separate network namespaces, one per thread.
@Suite(.enabled(if: Namespace.canLeave, "a network namespace needs root"))
struct NamespaceTests {
    @Test("N2 N5 N7 a cable plugged in and out is reported once each, and not after the stop")
    func cable() async throws {
        try await Namespace.run {
            let center = ReachabilityCenter(ReachabilityCenter.World())
            let monitor = try Reachability(.anywhere, name: nil, .init(), center: center)
            let news = News()
            #expect(monitor.status == .unknown)
            try center.start(monitor.monitor, [news])
            try #require(news.statuses(1) == [.notReachable])
            try Namespace.makeLink("cable")
            try #require(news.statuses(2).last == .reachableViaWiFi)
            #expect(monitor.interface == .wired && monitor.interfaceName == "cable")
            try Namespace.ip("address add 10.9.0.7/24 dev cable")
            try Namespace.ip("link set peer down")
            try #require(news.statuses(3).last == .notReachable)
            try Namespace.ip("link set peer up")
            try #require(news.statuses(4).last == .reachableViaWiFi)
            try Namespace.ip("link set cable down")
            try #require(news.statuses(5).last == .notReachable)
            monitor.stop()
            try Namespace.ip("link set cable up")
            #expect(news.count == 5 && monitor.status == .notReachable)
        }
    }

    @Test("N2 N3 mobile networks, rules, IPv6 alone, and addresses with their own routes")
    func kinds() async throws {
        try await Namespace.run {
            func status(_ host: String?) throws -> Reachability.Status {
                var options = Reachability.Options()
                options.looksAtStart = true
                let target = try host.map { try Reachability.target($0) } ?? .anywhere
                let center = ReachabilityCenter(ReachabilityCenter.World())
                let monitor = try Reachability(target, name: host, options, center: center)
                try monitor.start()
                return monitor.status
            }
            #expect(try status("127.0.0.1") == .notReachable)
            try Namespace.ip("link set lo up")
            #expect(try status("127.0.0.1") == .reachableViaWiFi)
            try Namespace.makeLink("wwan0")
            #expect(try status(nil) == .reachableViaWWAN)
            #expect(try status("192.0.2.1") == .reachableViaWWAN)
            #expect(try status("2001:db8::1") == .notReachable)
            try Namespace.ip("link del wwan0")
            #expect(try status(nil) == .notReachable)
            try Namespace.ip("link add six type veth peer name peer")
            try Namespace.ip("link set peer up")
            try Namespace.ip("link set six up")
            try Namespace.ip("-6 address add 2001:db8::1/64 dev six nodad")
            try Namespace.ip("-6 route add default via 2001:db8::2")
            #expect(try status(nil) == .reachableViaWiFi)
            #expect(try status("192.0.2.1") == .notReachable)
            #expect(try status("[2001:db8:1::9]") == .reachableViaWiFi)
        }
    }

    @Test("N13 a wait ends when the link is up")
    func waiting() async throws {
        try await Namespace.run {
            let center = ReachabilityCenter(ReachabilityCenter.World())
            let monitor = try Reachability(.anywhere, name: nil, .init(), center: center)
            #expect(try !monitor.wait(timeout: .milliseconds(50)))
            let found = Monitor<Bool?>(nil)
            _ = try center.whenReachable(monitor.monitor, within: nil) { verdict in
                found.update { $0 = verdict }
            }
            try Namespace.makeLink("cable")
            #expect(found.wait(timeout: 600_000_000_000) { $0 } == true)
            #expect(monitor.isReachable)
        }
    }
}

@Suite struct ReachabilityTests {
    @Test("N8 the texts are AFNetworking's, in English and Chinese, and can be overridden")
    func words() {
        #expect(
            Reachability.Status.allCases.map(\.description)
                == ["Unknown", "Not Reachable", "Reachable via WWAN", "Reachable via WiFi"])
        #expect(Reachability.Status.notReachable.text(language: "zh-Hans") == "无法连接")
        #expect(Reachability.Status.reachableViaWiFi.text(language: "nn") == "Reachable via WiFi")
        Reachability.Status.setText("Tilgjengelig", for: .reachableViaWiFi, language: "nn")
        #expect(Reachability.Status.reachableViaWiFi.text(language: "nn_NO") == "Tilgjengelig")
        Reachability.Status.setText(nil, for: .reachableViaWiFi, language: "nn")
        #expect(Reachability.Status.reachableViaWiFi.text(language: "nn") == "Reachable via WiFi")
    }

    @Test("N8 Taiwan, Hong Kong, and Macao read traditional Chinese")
    func traditionalChinese() {
        let status = Reachability.Status.notReachable
        for language in ["zh-Hant", "zh_TW.UTF-8", "zh-HK", "zh_MO", "zh-Hant-HK"] {
            #expect(status.text(language: language) == "無法連線")
        }
        for language in ["zh", "zh_CN", "zh-Hans-HK", "zh_SG"] {
            #expect(status.text(language: language) == "无法连接")
        }
    }

    // A machine on a cable used to read "Reachable via WiFi" in `wherry reach`.
    @Test("N8 the text names the interface if it is known")
    func interfaceTexts() {
        let wifi = Reachability.Status.reachableViaWiFi
        #expect(wifi.text(interface: .wired) == "Reachable via Ethernet")
        #expect(wifi.text(interface: .vpn) == "Reachable via VPN")
        #expect(wifi.text(interface: .wifi) == "Reachable via WiFi")
        #expect(wifi.text(language: "zh_TW", interface: .wired) == "透過乙太網路連線")
        #expect(Reachability.Status.notReachable.text(interface: .wired) == "Not Reachable")
        #expect(wifi.text(interface: .loopback) == "Reachable on this machine")
        Reachability.Status.setText("Online", for: wifi, language: "sv")
        #expect(wifi.text(language: "sv", interface: .wired) == "Online")
        Reachability.Status.setText(nil, for: wifi, language: "sv")
    }

    @Test(
        "N5 N6 N9 changes arrive in order with old and new status, at all observers")
    func sequence() async throws {
        let monitor = Reachability.reported()
        var all = try Reachability.allChanges().makeAsyncIterator()
        try monitor.report(.notReachable)
        var own = try monitor.changes().makeAsyncIterator()
        var heard = [try #require(await own.next())]
        for flip in 1...100 {
            try monitor.report(flip % 2 == 1 ? .reachableViaWiFi : .notReachable)
            heard.append(try #require(await own.next()))
        }
        #expect(heard[0].status == .notReachable && heard[0].old == .notReachable)
        #expect(heard.dropFirst().map(\.old) == heard.dropLast().map(\.status))
        #expect(heard.map(\.status.isReachable) == (0...100).map { $0 % 2 == 1 })
        // Global observers also get other tests' monitors, which have a target.
        var others: [Reachability.Change] = []
        while others.count < heard.count, let change = await all.next() {
            if change.target == nil && change.interfaceName.isEmpty { others.append(change) }
        }
        #expect(others == heard)
        monitor.stop()
        #expect(await own.next() == nil)
    }

    @Test("N10 N13 a client has a separate monitor, and a task's wait can be cancelled")
    func client() async throws {
        let client = try makeClient()
        #expect(client.reachability === client.reachability)
        #expect(client.reachability.status == .unknown)
        let monitor = Reachability.reported()
        let waiting = Task { try await monitor.waitUntilReachable() }
        waiting.cancel()
        #expect(try await waiting.value == false)
        #expect(try await monitor.waitUntilReachable(timeout: .milliseconds(1)) == false)
        let found = Task { try await monitor.waitUntilReachable() }
        try monitor.report(.reachableViaWWAN)
        #expect(try await found.value)
    }

    @Test("M12 N5 in a forked child a monitor fails with forked, and a new one works")
    func forking() async throws {
        await #expect(processExitsWith: .success) {
            let old = try Reachability(host: "127.0.0.1")
            try #require(try old.wait(timeout: .seconds(600)))
            try old.start()
            let pid = try forked {
                alarm(600)
                do throws(WherryError) {
                    try old.start()
                    return 1
                } catch {
                    guard error.reason == "forked" else { return 2 }
                }
                old.stop()
                guard let fresh = try? Reachability(host: "127.0.0.1"),
                    (try? fresh.wait(timeout: .seconds(600))) == true
                else { return 3 }
                return fresh.interface == .loopback ? 0 : 4
            }
            var status: Int32 = -1
            try #require(waitpid(pid, &status, 0) == pid)
            try #require(status == 0, "the child ended with \(status >> 8), signal \(status & 127)")
            try #require(old.isReachable)
        }
    }

    // MARK: Features that depend on it

    private func bench(_ network: SwitchedNetwork, _ clock: ManualClock) -> ReachabilityCenter {
        var world = ReachabilityCenter.World()
        world.clock = clock
        world.networks = { () throws(SystemError) in network }
        return ReachabilityCenter(world)
    }

    @Test("R30 a request waits for the network, and is sent when there is one")
    func waitForNetwork() async throws {
        let scope = try TestServer.shared.scope()
        let (network, clock) = (try SwitchedNetwork(), ManualClock())
        let center = bench(network, clock)
        let client = try makeClient(scope) {
            $0.networks = center
            $0.waitForNetwork = .seconds(3)
        }
        let handle = try client.start(Request("echo"))
        var states = handle.states.makeAsyncIterator()
        #expect(await states.next()?.state == .waiting)
        #expect(handle.transfer.state == .waiting)
        clock.advance(by: 2_900_000_000)
        network.connect()
        #expect(try await handle.value.status == 200)
        try await scope.wait("requests=1")
        // With a route the request does not wait.
        #expect(try await client.get("echo").status == 200)
        #expect(center.threadCount == 0)
    }

    @Test("R30 a wait in vain ends as offline, a cancelled one as cancelled, and nothing is sent")
    func waitInVain() async throws {
        let scope = try TestServer.shared.scope()
        let (network, clock) = (try SwitchedNetwork(), ManualClock())
        let client = try makeClient(scope) { $0.networks = bench(network, clock) }
        var request = Request("echo")
        request.waitForNetwork = .seconds(3)
        let vain = try client.start(request)
        var states = vain.states.makeAsyncIterator()
        #expect(await states.next()?.state == .waiting)
        clock.advance(by: 3_100_000_000)
        let error = await failure { () async throws(WherryError) in try await vain.value }
        #expect(error?.reason == "offline" && error?.code == .network)
        #expect(error?.isRetryable == true)

        let cancelled = try client.start(request)
        var others = cancelled.states.makeAsyncIterator()
        #expect(await others.next()?.state == .waiting)
        cancelled.cancel()
        let end = await failure { () async throws(WherryError) in try await cancelled.value }
        #expect(end?.code == .cancelled)
        #expect(try scope.requests().isEmpty)
        // Without the setting the network state is not queried.
        #expect(try await client.get("echo").status == 200)
    }

    @Test("D13 a download that loses its network waits for it, and resumes as soon as it is back")
    func downloadWaits() async throws {
        let (network, clock) = (try SwitchedNetwork(), ManualClock())
        let center = bench(network, clock)
        let bench = try DownloadBench { $0.networks = center }
        network.connect()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("cut=400000&times=1&gate=go"), to: bench.folder.file("a.bin"))
        network.disconnect()
        try bench.scope.open(gate: "go")
        await watcher.wait(for: .waiting)
        #expect(watcher.states.contains { $0.state == .waiting && $0.reason == "offline" })
        // However long the network is down, the download makes no attempt.
        bench.clock.advance(by: .milliseconds(50_000))
        await bench.client.settle(bench.clock)
        #expect(try bench.scope.requests().count == 1)
        network.connect()

        let outcome = await watcher.end()

        #expect(outcome.error == nil)
        #expect(try bench.contents() == Contents.v1)
        #expect(watcher.restarts.isEmpty)
        #expect(try bench.scope.requests().count == 2)
        #expect(center.threadCount == 0)
        withExtendedLifetime(transfer) {}
    }

    /// If no route was the normal state, the wait ended at once, and the attempts were used up.
    @Test("D13 a network that returns at once does not end the wait before a retry")
    func downloadPauses() async throws {
        let (network, clock) = (try SwitchedNetwork(), ManualClock())
        let center = bench(network, clock)
        let bench = try DownloadBench { $0.networks = center }
        network.connect()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("cut=400000&times=1&gate=go"), to: bench.folder.file("a.bin"))
        network.disconnect()
        try bench.scope.open(gate: "go")
        await watcher.wait(for: .waiting)
        network.connect()
        // The network is back, and that has been reported.
        while center.threadCount > 0 { await Task.yield() }
        await bench.client.settle(bench.clock)
        #expect(transfer.state == .waiting)
        #expect(try bench.scope.requests().count == 1)
        bench.clock.advance(by: .milliseconds(500))

        let outcome = await watcher.end()

        #expect(outcome.error == nil)
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.scope.requests().count == 2)
    }

    @Test("D13 a download that waits for the network is paused, resumed, and cancelled")
    func downloadVerbs() async throws {
        let (network, clock) = (try SwitchedNetwork(), ManualClock())
        let center = bench(network, clock)
        let bench = try DownloadBench { $0.networks = center }
        let (transfer, watcher) = try bench.client.begin(
            bench.url("cut=400000&times=1"), to: bench.folder.file("a.bin"))
        await watcher.wait(for: .waiting)
        transfer.cancel()
        let outcome = await watcher.end()
        #expect(outcome.error?.code == .cancelled)
        #expect(outcome.error?.partialPath != nil)
        #expect(center.threadCount == 0)
    }

    @Test("C13 a request that may not use a mobile network fails without a connection")
    func denyMetered() async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope)
        var request = Request("echo")
        request.deniesMetered = true
        #expect(try await client.send(request).status == 200)
        // All of this machine's own traffic counts as mobile for requests with the setting.
        try Reachability.setInterface("lo", .wwan)
        defer { try? Reachability.setInterface("lo", nil) }
        let before = try scope.requests().count
        let error = await failure { () async throws(WherryError) in try await client.send(request) }
        #expect(error?.reason == "metered" && error?.code == .network)
        #expect(try scope.requests().count == before)
        // Other requests succeed, and their kept connections are not used either.
        #expect(try await client.get("echo").status == 200)
        let again = await failure { () async throws(WherryError) in try await client.send(request) }
        #expect(again?.reason == "metered")
    }
}

/// A thread's own network, empty at first.
private enum Namespace {
    static let canLeave = geteuid() == 0 && system("unshare -n true 2>/dev/null") == 0

    /// unshare(2), which Swift's Glibc does not show.
    private static func leave() -> Bool {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let found = dlsym(nil, "unshare") else { return false }
        // CLONE_NEWNET, for this thread and the threads it starts.
        return unsafeBitCast(found, to: Unshare.self)(0x4000_0000) == 0
    }

    static func run(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Void, any Error>) in
            Thread {
                guard leave() else {
                    return continuation.resume(throwing: SystemError(errno, "leave the network"))
                }
                continuation.resume(with: Result { try body() })
            }.start()
        }
    }

    /// Runs `ip` with these arguments.
    static func ip(_ words: String) throws {
        try #require(system("ip \(words)") == 0, "ip \(words)")
    }

    /// A link with an address and the default route.
    static func makeLink(_ name: String) throws {
        try ip("link add \(name) type veth peer name peer")
        try ip("address add 10.9.0.1/24 dev \(name)")
        try ip("link set peer up")
        try ip("link set \(name) up")
        try ip("route add default via 10.9.0.2")
    }
}

/// Records the changes of a monitor.
private final class News: ReachabilityObserver {
    private let changes = Monitor<[Reachability.Change]>([])

    func reachability(_ monitor: ReachabilityMonitor, did change: Reachability.Change) {
        changes.update { $0.append(change) }
    }
    func reachabilityDidStop(_ monitor: ReachabilityMonitor) {}

    var count: Int { changes.withLock { $0.count } }
    func statuses(_ count: Int) -> [Reachability.Status] {
        changes.wait(timeout: 600_000_000_000) { $0.count >= count ? $0.map(\.status) : nil } ?? []
    }
}

/// A network that is switched on and off.
private final class SwitchedNetwork: NetworkSource {
    private let signal: EventFD
    private let isOn = Lock(false)

    init() throws { signal = try EventFD() }

    var descriptor: Int32 { signal.descriptor }
    func connect() { set(true) }
    func disconnect() { set(false) }
    private func set(_ on: Bool) {
        isOn.withLock { $0 = on }
        signal.signal()
    }

    func takeNews() -> Bool? {
        signal.clear()
        return true
    }
    func route(to address: NetworkAddress) -> NetworkRoute? {
        isOn.withLock { $0 } ? NetworkRoute(link: 2) : nil
    }
    func link(_ index: Int32) -> NetworkLink? { NetworkLink(index: index, name: "eth0") }
}
