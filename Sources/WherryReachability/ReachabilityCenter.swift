// Wherry: the thread that serves all reachability monitors.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// Watches the network for all running monitors and reports changes.
///
/// Its thread exists while a monitor runs or a caller waits for one. The thread blocks only to wait
/// for notifications: short-lived threads resolve names and probe servers. The thread calls all
/// observers, one change after another, so that all see the same order.
package final class ReachabilityCenter: @unchecked Sendable {  // all mutable data are in `state`
    /// The center's access to the network.
    package struct World: Sendable {
        package var clock: any Clock = SystemClock.shared
        package var networks: @Sendable () throws(SystemError) -> any NetworkSource = {
            () throws(SystemError) in try NetworkWatcher()
        }
        /// The function that returns the addresses of a host, or `nil` if there are none. May
        /// block.
        package var resolve: @Sendable (String) -> [NetworkAddress]? = {
            NetworkAddress.all(of: $0)
        }
        /// The function that returns whether a server responds. May block.
        package var probe: @Sendable (Reachability.Probe, Duration) -> Bool

        /// - Parameter get: Sends a GET request to a URL within a timeout, and follows no redirect.
        ///   Returns whether the response has a status of 200 to 299. May block.
        package init(get: @escaping @Sendable (String, Duration) -> Bool) {
            probe = { $0.answers(within: $1, get: get) }
        }
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

    /// A caller that waits for a reachable target.
    struct Waiter: Sendable {
        let id: UInt64
        let monitor: ReachabilityMonitor
        let deadline: Instant
        let body: @Sendable (Bool) -> Void

        /// Returns the result to report; `nil` to keep waiting.
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
        /// The monitor whose observers are being called.
        var telling: ReachabilityMonitor?
        var waiters: [Waiter] = []
        var lastWaiter: UInt64 = 0
        /// The observers of all monitors.
        var everywhere: [any ReachabilityObserver] = []
    }

    package let world: World
    let state = Monitor(State())
    private let forkGeneration = ForkGuard.current
    private let observation = Lock<ClockObservation?>(nil)

    package init(_ world: World) {
        self.world = world
        let observation = world.clock.observe(for: self) { $0.wake() }
        self.observation.withLock { $0 = observation }
    }

    /// Whether this process was forked after the center was created.
    package var isForked: Bool { ForkGuard.current != forkGeneration }
    func checkFork() throws(WherryError) {
        guard isForked else { return }
        throw WherryError(.forked, "The monitor belongs to the parent of this process")
    }

    /// The number of threads: 1 while a monitor runs, else 0.
    package var threadCount: Int { state.withLock { $0.thread == nil ? 0 : 1 } }

    // MARK: From any thread

    /// Starts or restarts a monitor. The first status is reported soon, even if it did not change.
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

    /// Stops a monitor. Nothing more is reported after this returns; the last status is kept.
    package func stop(_ monitor: ReachabilityMonitor) {
        guard !isForked else { return }
        for observer in leave(monitor, observers: true) { observer.reachabilityDidStop(monitor) }
    }

    /// Adds an observer to a started monitor; returns `false` if it is not started.
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

    /// Adds an observer of all monitors, called after the monitor's own observers.
    package func observe(_ observer: any ReachabilityObserver) throws(WherryError) {
        try checkFork()
        state.withLock { $0.everywhere.append(observer) }
    }

    package func unobserve(_ observer: any ReachabilityObserver) {
        guard !isForked else { return }
        state.withLock { state in state.everywhere.removeAll { $0 === observer } }
        untilTold(nil)
    }

    /// Sets the status of a monitor that does not follow the network.
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

    // MARK: Running monitors

    /// Adds a monitor to the running ones, and starts the thread if needed.
    func enter(_ monitor: ReachabilityMonitor, _ state: inout State) throws(WherryError) {
        if state.thread == nil {
            do {
                let turner = Turner(try EventFD(), try world.networks())
                state.thread = try NativeThread(name: "wherry-reach") { [self] in turn(turner) }
                state.turner = turner
            } catch {
                throw WherryError(
                    .noNetworkState, "Could not watch the networks of the system: \(error)"
                ).with { $0.osCode = error.code }
            }
        }
        monitor.restart()
        if !state.running.contains(where: { $0 === monitor }) { state.running.append(monitor) }
    }

    /// Ends the run of a monitor unless a caller waits for it. Returns its observers.
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
        // The thread only sleeps or calls observers, so it ends at once.
        if let thread {
            if thread.isCurrent { thread.detach() } else { thread.join() }
        } else {
            untilTold(monitor)
        }
        return gone
    }

    /// Waits until no observer of the monitor is being called (`nil`: of any monitor).
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

    /// Determines the status on the calling thread, which may wait for name servers and the probe.
    private func lookNow(
        _ monitor: ReachabilityMonitor
    ) throws(WherryError) -> (ReachabilityMachine, NetworkPath, NetworkPath) {
        let source: any NetworkSource
        do {
            source = try world.networks()
        } catch {
            throw WherryError(
                .noNetworkState, "Could not watch the networks of the system: \(error)")
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

    /// Returns the path to the first of several addresses that has a route.
    package func find(_ addresses: [NetworkAddress], in source: any NetworkSource) -> NetworkPath {
        NetworkPath(to: addresses, in: source, rules: LinkRules.shared.withLock { $0 })
    }
}
