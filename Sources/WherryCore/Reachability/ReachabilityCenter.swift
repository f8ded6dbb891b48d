// Wherry: the one thread that looks after all monitors.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Watches the networks for every monitor that runs, and tells what has changed.
///
/// Its thread lives while a monitor runs or is waited for. It never blocks but to wait for news:
/// names are looked up and servers probed by short threads of their own. All observers are told on
/// it, one change after the other, so that all see the same order.
package final class ReachabilityCenter: @unchecked Sendable {  // all that changes is in `state`
    /// What the center asks the world.
    package struct World: Sendable {
        package var clock: any Clock = SystemClock.shared
        package var networks: @Sendable () throws(SystemError) -> any NetworkSource = {
            () throws(SystemError) in try NetworkWatcher()
        }
        /// The addresses of a host; `nil` if there are none. May block.
        package var resolve: @Sendable (String) -> [NetworkAddress]? = {
            NetworkAddress.all(of: $0)
        }
        /// Whether a server answers. May block.
        package var probe: @Sendable (Reachability.Probe, Duration) -> Bool = {
            $0.answers(within: $1)
        }

        package init() {}
    }

    enum Message: Sendable {
        case begin(ReachabilityMonitor, UInt64)
        case resolved(ReachabilityMonitor, UInt64, [NetworkAddress]?)
        case probed(ReachabilityMonitor, UInt64, Bool)
        case report(ReachabilityMonitor, UInt64, NetworkPath)
    }

    final class Turner: Sendable {
        let waker: EventFD
        let source: any NetworkSource
        init(_ waker: EventFD, _ source: any NetworkSource) {
            self.waker = waker
            self.source = source
        }
    }

    /// Somebody who waits for a monitor to find a way.
    struct Waiter: Sendable {
        let id: UInt64
        let monitor: ReachabilityMonitor
        let deadline: Instant
        let body: @Sendable (Bool) -> Void

        /// What it is to be told; `nil` if it goes on waiting.
        func verdict(at now: Instant) -> Bool? {
            let machine = monitor.machine
            if machine.isFresh && machine.path.status.isReachable { return true }
            return deadline <= now ? false : nil
        }
    }

    struct State {
        var running: [ReachabilityMonitor] = []
        var mail: [Message] = []
        var turner: Turner?
        var thread: NativeThread?
        /// The monitor whose observers are being told now.
        var telling: ReachabilityMonitor?
        var waiters: [Waiter] = []
        var lastWaiter: UInt64 = 0
        /// Those that hear of every monitor.
        var everywhere: [any ReachabilityObserver] = []
    }

    private static let current = ProcessLocal { ReachabilityCenter(World()) }
    /// That of this process; a forked child has its own.
    package static var shared: ReachabilityCenter { current.object }

    package let world: World
    let state = Monitor(State())
    private let forkGeneration = ForkGuard.current
    private let observation = Lock<ClockObservation?>(nil)

    package init(_ world: World) {
        self.world = world
        let observation = world.clock.observe(for: self) { $0.wake() }
        self.observation.withLock { $0 = observation }
    }

    var isForked: Bool { ForkGuard.current != forkGeneration }
    func checkFork() throws(WherryError) {
        guard isForked else { return }
        throw WherryError(.forked, "The monitor belongs to the parent of this process")
    }

    /// How many threads it has: 1 while a monitor runs, else 0.
    package var threadCount: Int { state.withLock { $0.thread == nil ? 0 : 1 } }

    // MARK: From any thread

    /// Starts a monitor, or starts it anew: the first status is told soon, whatever it was before.
    package func start(
        _ monitor: ReachabilityMonitor, _ observers: [any ReachabilityObserver]
    ) throws(WherryError) {
        try checkFork()
        let gone = leave(monitor, observers: true)
        defer { for observer in gone { observer.reachabilityDidStop(monitor) } }
        var sync: (ReachabilityMachine, NetworkPath, NetworkPath)?
        if monitor.options.looksAtStart { sync = try lookNow(monitor) }
        try state.withLock { state throws(WherryError) in
            try enter(monitor, &state)
            monitor.isStarted = true
            monitor.observers = observers
            if let (machine, old, new) = sync {
                monitor.machine = machine
                monitor.owed = (old, new)
                monitor.show()
            }
            state.mail.append(.begin(monitor, monitor.run))
            state.turner?.waker.signal()
            self.state.notify()
        }
    }

    /// Stops it. Nothing is told once this returns; the last status stays.
    package func stop(_ monitor: ReachabilityMonitor) {
        guard !isForked else { return }
        for observer in leave(monitor, observers: true) { observer.reachabilityDidStop(monitor) }
    }

    /// Has one more hear of a monitor that was started; `false` if it was not.
    package func add(_ observer: any ReachabilityObserver, to monitor: ReachabilityMonitor) -> Bool
    {
        guard !isForked else { return false }
        return state.withLock { _ in
            guard monitor.isStarted else { return false }
            monitor.observers.append(observer)
            return true
        }
    }

    package func remove(_ observer: any ReachabilityObserver, from monitor: ReachabilityMonitor) {
        guard !isForked else { return }
        state.withLock { _ in monitor.observers.removeAll { $0 === observer } }
        untilTold(monitor)
    }

    /// Has an observer hear of every monitor, after the monitor's own.
    package func observe(_ observer: any ReachabilityObserver) throws(WherryError) {
        try checkFork()
        state.withLock { $0.everywhere.append(observer) }
    }

    package func unobserve(_ observer: any ReachabilityObserver) {
        guard !isForked else { return }
        state.withLock { state in state.everywhere.removeAll { $0 === observer } }
        untilTold(nil)
    }

    /// Says how a monitor without a network of its own stands.
    package func report(_ path: NetworkPath, of monitor: ReachabilityMonitor) throws(WherryError) {
        try checkFork()
        guard case .reported = monitor.target else {
            throw WherryError(
                .wrongState, "The monitor finds its status itself; make one that is reported to")
        }
        state.update { state in
            if monitor.isRunning {
                state.mail.append(.report(monitor, monitor.run, path))
                state.turner?.waker.signal()
            } else {
                _ = monitor.machine.report(path)
                monitor.show()
            }
        }
    }

    package func path(of monitor: ReachabilityMonitor) -> NetworkPath {
        guard !isForked else { return .unknown }
        return state.withLock { _ in monitor.machine.path }
    }

    // MARK: Coming and going

    /// Adds a monitor to those that run, and sees to it that there is a thread.
    func enter(_ monitor: ReachabilityMonitor, _ state: inout State) throws(WherryError) {
        if state.thread == nil {
            do {
                let turner = Turner(try EventFD(), try world.networks())
                state.thread = try NativeThread(name: "wherry-reach") { [self] in turn(turner) }
                state.turner = turner
            } catch {
                throw WherryError(
                    WherryError.Fields(
                        reason: .noNetworkState,
                        message: "The system does not tell of its networks: \(error)",
                        osCode: error.code))
            }
        }
        monitor.restart()
        if !state.running.contains(where: { $0 === monitor }) { state.running.append(monitor) }
    }

    /// Ends its run unless somebody waits for it, and returns those who heard of it.
    func leave(
        _ monitor: ReachabilityMonitor, observers: Bool
    ) -> [any ReachabilityObserver] {
        let (gone, thread) = state.withLock {
            state -> ([any ReachabilityObserver], NativeThread?) in
            var gone: [any ReachabilityObserver] = []
            if observers {
                swap(&gone, &monitor.observers)
                monitor.isStarted = false
            }
            guard !monitor.isRunning else { return (gone, nil) }
            monitor.run += 1
            monitor.owed = nil
            state.running.removeAll { $0 === monitor }
            guard state.running.isEmpty, let thread = state.thread else { return (gone, nil) }
            state.turner?.waker.signal()
            state.turner = nil
            state.thread = nil
            state.mail = []
            return (gone, thread)
        }
        // It only sleeps or tells, so it is gone at once.
        if let thread {
            if thread.isCurrent { thread.detach() } else { thread.join() }
        } else {
            untilTold(monitor)
        }
        return gone
    }

    /// Waits until nobody is being told of the monitor (`nil`: of any).
    private func untilTold(_ monitor: ReachabilityMonitor?) {
        let isHere = state.withLock { $0.thread?.isCurrent == true }
        guard !isHere else { return }
        _ = state.wait { state -> Bool? in
            guard let telling = state.telling, monitor == nil || telling === monitor else {
                return true
            }
            return nil
        }
    }

    private func wake() {
        guard !isForked else { return }
        state.withLock { $0.turner?.waker.signal() }
    }

    /// Finds the status on the caller's thread, which may wait for name servers and the probe.
    private func lookNow(
        _ monitor: ReachabilityMonitor
    ) throws(WherryError) -> (ReachabilityMachine, NetworkPath, NetworkPath) {
        let source: any NetworkSource
        do {
            source = try world.networks()
        } catch {
            throw WherryError(.noNetworkState, "The system does not tell of its networks: \(error)")
        }
        var machine = state.withLock { _ in monitor.freshMachine }
        let old = machine.path
        var actions = machine.begin()
        while !actions.isEmpty {
            switch actions.removeFirst() {
            case .look: actions += machine.looked(find(machine.addresses, in: source))
            case .resolve:
                if case .host(let host) = machine.target {
                    actions += machine.didResolve(world.resolve(host), now: world.clock.now())
                }
            case .probe: actions += machine.didProbe(probe(monitor), now: world.clock.now())
            case .tell: break
            }
        }
        return (machine, old, machine.path)
    }

    func probe(_ monitor: ReachabilityMonitor) -> Bool {
        guard let probe = monitor.options.probe else { return true }
        return world.probe(probe, monitor.options.probeTimeout)
    }

    func find(_ addresses: [NetworkAddress], in source: any NetworkSource) -> NetworkPath {
        NetworkPath(to: addresses, in: source, rules: LinkRules.shared.withLock { $0 })
    }
}
