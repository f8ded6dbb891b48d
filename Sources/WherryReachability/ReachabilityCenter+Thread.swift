// Wherry: the thread of the reachability center.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension ReachabilityCenter {
    func turn(_ first: Turner) {
        var source = first.source
        while true {
            let (isMine, deadline) = state.withLock { state -> (Bool, Instant) in
                guard state.turner === first else { return (false, .never) }
                guard state.mail.isEmpty else { return (true, Instant(nanoseconds: 0)) }
                let soonest = state.running.map(\.machine.deadline).min() ?? .never
                return (true, state.waiters.map(\.deadline).reduce(soonest, min))
            }
            guard isMine else { return }
            let woken = first.waker.wait(
                with: source.descriptor, milliseconds: sleep(until: deadline))
            if woken.own { first.waker.clear() }
            var isNews = false
            if woken.other {
                if let news = source.takeNews() {
                    isNews = news
                } else {
                    // Other code closed the descriptor. Open another one, or check each second.
                    isNews = true
                    if let fresh = try? world.networks() {
                        source = fresh
                    } else {
                        _ = first.waker.wait(milliseconds: 1000)
                    }
                }
            }
            let mail = state.withLock { state -> [Message] in
                guard state.turner === first else { return [] }
                let mail = state.mail
                state.mail = []
                return mail
            }
            for message in mail { read(message, source) }
            let now = world.clock.now()
            let running = state.withLock { state in
                state.turner === first ? state.running.filter(\.hasBegun) : []
            }
            for monitor in running {
                if isNews { change(monitor, run: nil, source) { $0.networkChanged() } }
                change(monitor, run: nil, source) { $0.deadline <= now ? $0.tick(now: now) : [] }
            }
            serveWaiters()
        }
    }

    private func sleep(until deadline: Instant) -> Int32 {
        guard deadline != .never else { return -1 }
        guard let delay = world.clock.realDelay(for: deadline.since(world.clock.now())) else {
            return deadline <= world.clock.now() ? 0 : -1
        }
        return Int32((min(max(0, delay), .milliseconds(3_600_000)) + 999_999) / 1_000_000)
    }

    private func read(_ message: Message, _ source: any NetworkSource) {
        let now = world.clock.now()
        switch message {
        case .begin(let monitor, let run):
            let owed = state.withLock { _ -> (NetworkPath, NetworkPath)? in
                guard monitor.run == run else { return nil }
                monitor.hasBegun = true
                guard let owed = monitor.owed else { return nil }
                monitor.owed = nil
                return (owed.old, owed.new)
            }
            if let owed {
                tell(monitor, run, owed.0, owed.1)
                // Covers changes since the first check.
                change(monitor, run: run, source) { $0.networkChanged() }
            } else {
                change(monitor, run: run, source) { $0.begin() }
            }
        case .resolved(let monitor, let run, let addresses):
            change(monitor, run: run, source) { $0.didResolve(addresses, now: now) }
        case .probed(let monitor, let run, let answered):
            change(monitor, run: run, source) { $0.didProbe(answered, now: now) }
        case .report(let monitor, let run, let path):
            change(monitor, run: run, source) { $0.report(path) }
        }
    }

    /// Runs a state machine and executes its actions.
    ///
    /// - Parameter run: The run concerned; `nil` for the current one.
    private func change(
        _ monitor: ReachabilityMonitor, run: UInt64?, _ source: any NetworkSource,
        _ event: (inout ReachabilityMachine) -> [ReachabilityMachine.Action]
    ) {
        func decide(
            _ event: (inout ReachabilityMachine) -> [ReachabilityMachine.Action], _ run: UInt64?
        ) -> (actions: [ReachabilityMachine.Action], run: UInt64, addresses: [NetworkAddress])? {
            state.withLock { _ in
                guard monitor.isRunning, run == nil || run == monitor.run else { return nil }
                let actions = event(&monitor.machine)
                monitor.show()
                return (actions, monitor.run, monitor.machine.addresses)
            }
        }
        guard var step = decide(event, run) else { return }
        let run = step.run
        while !step.actions.isEmpty {
            switch step.actions.removeFirst() {
            case .look:
                let found = find(step.addresses, in: source)
                guard let next = decide({ $0.looked(found) }, run) else { return }
                step.actions += next.actions
                step.addresses = next.addresses
            case .resolve:
                guard case .host(let host) = monitor.target else { break }
                ask(
                    { [world] in .resolved(monitor, run, world.resolve(host)) },
                    failing: .resolved(monitor, run, nil))
            case .probe:
                ask(
                    { [self] in .probed(monitor, run, probe(monitor)) },
                    failing: .probed(monitor, run, false))
            case .tell(let old, let new): tell(monitor, run, old, new)
            }
        }
    }

    /// Runs a function that may block on a separate thread.
    private func ask(_ question: @escaping @Sendable () -> Message, failing: Message) {
        let thread = try? NativeThread(name: "wherry-ask") { [self] in post(question()) }
        if let thread { thread.detach() } else { post(failing) }
    }

    private func post(_ message: Message) {
        state.withLock { state in
            guard let turner = state.turner else { return }
            state.mail.append(message)
            turner.waker.signal()
        }
    }

    /// Reports a change to the observers of the monitor, then to the observers of all monitors.
    private func tell(
        _ monitor: ReachabilityMonitor, _ run: UInt64, _ old: NetworkPath, _ new: NetworkPath
    ) {
        let observers = state.withLock { state -> [any ReachabilityObserver] in
            let observers = monitor.observers + state.everywhere
            guard monitor.run == run, monitor.isStarted, !observers.isEmpty else { return [] }
            state.telling = monitor
            return observers
        }
        guard !observers.isEmpty else { return }
        let change = monitor.change(old, new)
        for observer in observers { observer.reachability(monitor, did: change) }
        state.update { $0.telling = nil }
    }
}
