// Wherry: monitors on the test's own network, with its own clock
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryHTTP
import WherryReachability
import WherrySystem

@Suite struct ReachabilityCenterTests {
    private static let patience: Int64 = 60_000_000_000
    private let network: FakeNetwork
    private let clock = ManualClock()

    init() throws { network = try FakeNetwork() }

    private func center(
        resolve: @escaping @Sendable (String) -> [NetworkAddress]? = { _ in nil },
        probe: @escaping @Sendable (Reachability.Probe, Duration) -> Bool = { _, _ in true }
    ) -> ReachabilityCenter {
        var world = ReachabilityCenter.World { _, _ in false }
        world.clock = clock
        world.networks = { [network] () throws(SystemError) in network }
        world.resolve = resolve
        world.probe = probe
        return ReachabilityCenter(world)
    }

    private func monitor(
        _ center: ReachabilityCenter, _ target: ReachabilityMachine.Target = .anywhere,
        _ change: (inout Reachability.Options) -> Void = { _ in }
    ) throws -> Reachability {
        var options = Reachability.Options()
        change(&options)
        return try Reachability(target, name: nil, options, center: center)
    }

    private func start(_ reachability: Reachability) throws -> Recorder {
        let recorder = Recorder(keeping: reachability)
        try reachability.monitor.center.start(reachability.monitor, [recorder])
        return recorder
    }

    @Test("N5 Unknown before the start; then the first status arrives, and none after a stop")
    func startAndStop() throws {
        let center = center()
        let reachability = try monitor(center)
        #expect(reachability.status == .unknown && !reachability.isReachable)
        #expect(center.threadCount == 0)
        let recorder = try start(reachability)
        try #require(recorder.statuses(1) == [.notReachable])
        #expect(center.threadCount == 1)

        network.connect()
        try #require(recorder.statuses(2) == [.notReachable, .reachableViaWiFi])
        #expect(reachability.interface == .wired && reachability.interfaceName == "eth0")
        reachability.stop()
        #expect(recorder.isOver)
        #expect(center.threadCount == 0)
        network.disconnect()
        #expect(recorder.count == 2)
        #expect(reachability.status == .reachableViaWiFi)

        // Restarted, it reports the status again, with the previous one.
        let second = try start(reachability)
        try #require(second.statuses(1) == [.notReachable])
        #expect(second.first?.old == .reachableViaWiFi)
        // After a restart the earlier receiver gets nothing.
        let third = try start(reachability)
        try #require(third.statuses(1) == [.notReachable])
        #expect(third.first?.old == .notReachable)
        #expect(second.isOver && second.count == 1)
    }

    @Test("N5 a monitor that probes at its start knows its status then, and reports it once")
    func initialSync() throws {
        let center = center(resolve: { _ in [FakeNetwork.address] })
        network.connect()
        for target in [ReachabilityMachine.Target.anywhere, .host("example.org")] {
            let reachability = try monitor(center, target) { $0.looksAtStart = true }
            let recorder = try start(reachability)
            #expect(reachability.status == .reachableViaWiFi)
            #expect(recorder.statuses(1) == [.reachableViaWiFi])
            #expect(recorder.first?.old == .unknown)
            reachability.stop()
            #expect(recorder.count == 1)
        }
    }

    @Test("N6 a monitor's observers and global ones get the same 100 flips, in this order")
    func flips() throws {
        let center = center()
        let (own, all, order) = (Recorder(), Recorder(), Recorder())
        let reachability = try monitor(center)
        try center.observe(all)
        try center.observe(order)
        try center.start(reachability.monitor, [own, order])
        #expect(own.statuses(1) == [.notReachable])
        for flip in 1...100 {
            flip % 2 == 1 ? network.connect() : network.disconnect()
            // One by one, so that none is skipped.
            try #require(own.wait(flip + 1))
        }
        try #require(all.wait(101))
        #expect(own.changes == all.changes)
        // It receives each one last.
        try #require(order.wait(202))
        #expect(order.count == 202)
        #expect(own.changes.map(\.old) == [.unknown] + own.changes.dropLast().map(\.status))
        center.unobserve(all)
        network.connect()
        #expect(own.wait(102))
        #expect(all.count == 101)
    }

    @Test("N7 an update that changes nothing is not reported, except with raw")
    func repeats() throws {
        let center = center()
        let quiet = try monitor(center)
        let raw = try monitor(center) { $0.isRaw = true }
        let (one, all) = (try start(quiet), try start(raw))
        try #require(one.wait(1) && all.wait(1))
        for count in 2...5 {
            network.stir()
            try #require(all.wait(count))
        }
        quiet.stop()
        #expect(one.count == 1)
        #expect(Set(all.changes.map(\.status)) == [.notReachable])
    }

    @Test("N11 names are looked up off the thread that reports for other monitors")
    func names() throws {
        let gate = Monitor(false)
        let center = center(resolve: { _ in
            gate.wait(timeout: Self.patience) { $0 ? true : nil } == true
                ? [FakeNetwork.address] : nil
        })
        network.connect()
        let host = try start(try monitor(center, .host("example.org")))
        let other = try start(try monitor(center))
        // The other monitor does not wait for the name.
        try #require(other.statuses(1) == [.reachableViaWiFi])
        #expect(host.count == 0)
        gate.update { $0 = true }
        #expect(host.statuses(1) == [.reachableViaWiFi])
    }

    @Test("N11 a host whose lookup fails is not reachable, until it succeeds")
    func nameRetries() throws {
        let known = Lock(false)
        let center = center(resolve: { _ in known.withLock { $0 } ? [FakeNetwork.address] : nil })
        network.connect()
        let host = try start(try monitor(center, .host("example.org")))
        try #require(host.statuses(1) == [.notReachable])
        known.withLock { $0 = true }
        clock.advance(by: 1_000_000_000)
        #expect(host.statuses(2) == [.notReachable, .reachableViaWiFi])
    }

    @Test("N12 a silent server makes it not reachable; the interval uses the clock")
    func probes() throws {
        let answers = Monitor((asked: 0, value: false))
        let center = center(probe: { _, _ in
            answers.update { state in
                state.asked += 1
                return state.value
            }
        })
        network.connect()
        let probe = try Reachability.Probe("tcp://127.0.0.1:9")
        let reachability = try monitor(center) { $0.probe = probe }
        let recorder = try start(reachability)
        try #require(recorder.statuses(1) == [.notReachable])
        answers.withLock { $0.value = true }
        clock.advance(by: 30_000_000_000)
        try #require(recorder.statuses(2) == [.notReachable, .reachableViaWiFi])
        #expect(answers.withLock { $0.asked } >= 2)
    }

    @Test("N13 a wait ends when there is a route, or at its timeout")
    func waiting() throws {
        let center = center()
        let reachability = try monitor(center)
        let verdict = Monitor<[Bool]>([])
        @Sendable func note(_ found: Bool) { verdict.update { $0.append(found) } }
        func heard(_ count: Int) -> [Bool]? {
            verdict.wait(timeout: Self.patience) { $0.count >= count ? $0 : nil }
        }
        _ = try center.whenReachable(reachability.monitor, within: 2_000_000_000, note)
        #expect(center.threadCount == 1)
        clock.advance(by: 1_999_999_999)
        #expect(verdict.withLock { $0 } == [])
        clock.advance(by: 1)
        #expect(heard(1) == [false])

        _ = try center.whenReachable(reachability.monitor, within: nil, note)
        network.connect()
        #expect(heard(2) == [false, true])
        // A cancelled wait gets no report.
        network.disconnect()
        let id = try center.whenReachable(reachability.monitor, within: nil, note)
        #expect(center.cancelWait(id))
        #expect(!center.cancelWait(id))
        #expect(center.threadCount == 0)
        #expect(verdict.withLock { $0.count } == 2)
        // It was never started, so there were no reports; the results of the waits stay.
        network.connect()
        #expect(try reachability.wait(timeout: .seconds(60)))
        #expect(reachability.status == .reachableViaWiFi)
    }

    @Test("N3 a monitor fed by the program reports its updates")
    func reported() throws {
        let center = center()
        let reachability = try monitor(center, .reported)
        try reachability.report(.reachableViaWWAN)
        #expect(reachability.isReachableViaWWAN)
        let recorder = try start(reachability)
        try #require(recorder.statuses(1) == [.reachableViaWWAN])
        try reachability.report(.notReachable)
        try #require(recorder.statuses(2) == [.reachableViaWWAN, .notReachable])
        let other = try monitor(center)
        #expect(throws: WherryError.self) { try other.report(.notReachable) }
    }

    @Test("a broken update source is created again")
    func brokenSource() throws {
        let center = center()
        let recorder = try start(try monitor(center))
        try #require(recorder.statuses(1) == [.notReachable])
        network.isBroken.withLock { $0 = true }
        network.connect()
        #expect(recorder.statuses(2) == [.notReachable, .reachableViaWiFi])
    }

    @Test("a system without network updates is an error of the start")
    func noNetworks() throws {
        var world = ReachabilityCenter.World { _, _ in false }
        world.networks = { () throws(SystemError) in throw SystemError(1, "watch the networks") }
        let reachability = try monitor(ReachabilityCenter(world))
        let error = #expect(throws: WherryError.self) { try reachability.start() }
        #expect(error?.reason == "no_network_state")
        #expect(error?.osCode == 1)
        #expect(reachability.status == .unknown)
    }
}

/// A network that a test changes.
private final class FakeNetwork: NetworkSource {
    static let address = NetworkPath.anywhere[0]
    private let signal: EventFD
    private let isConnected = Lock(false)
    let isBroken = Lock(false)

    init() throws { signal = try EventFD() }

    var descriptor: Int32 { signal.descriptor }

    func connect() {
        isConnected.withLock { $0 = true }
        stir()
    }

    func disconnect() {
        isConnected.withLock { $0 = false }
        stir()
    }

    /// An update without a change.
    func stir() { signal.signal() }

    func takeNews() -> Bool? {
        signal.clear()
        return isBroken.withLock { $0 } ? nil : true
    }

    func route(to address: NetworkAddress) -> NetworkRoute? {
        guard address == Self.address, isConnected.withLock({ $0 }) else { return nil }
        return NetworkRoute(link: 2)
    }

    func link(_ index: Int32) -> NetworkLink? { NetworkLink(index: index, name: "eth0") }
}

/// Records its reports.
private final class Recorder: ReachabilityObserver {
    private struct State {
        var changes: [Reachability.Change] = []
        var isOver = false
    }
    private let state = Monitor(State())
    /// A released monitor is stopped.
    private let kept: Reachability?

    init(keeping kept: Reachability? = nil) { self.kept = kept }

    func reachability(_ monitor: ReachabilityMonitor, did change: Reachability.Change) {
        state.update { $0.changes.append(change) }
    }

    func reachabilityDidStop(_ monitor: ReachabilityMonitor) { state.update { $0.isOver = true } }

    var changes: [Reachability.Change] { state.withLock { $0.changes } }
    var first: Reachability.Change? { changes.first }
    var count: Int { changes.count }
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Waits until this many changes were reported.
    func wait(_ count: Int) -> Bool {
        state.wait(timeout: 60_000_000_000) { $0.changes.count >= count ? true : nil } ?? false
    }

    func statuses(_ count: Int) -> [Reachability.Status] {
        wait(count) ? changes.map(\.status) : []
    }
}
