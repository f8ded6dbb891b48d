// Wherry: one monitor, as its center knows it.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// Hears of a monitor, on the center's thread; nothing here may block or call the monitor.
package protocol ReachabilityObserver: AnyObject, Sendable {
    func reachability(_ monitor: ReachabilityMonitor, did change: Reachability.Change)
    /// Nothing follows.
    func reachabilityDidStop(_ monitor: ReachabilityMonitor)
}

/// What is monitored, and how it stands.
package final class ReachabilityMonitor: @unchecked Sendable {
    // `run`, `machine` and what follows them are touched with the center's lock held.

    /// Unique in the process; never 0.
    package let id: UInt64
    package let target: ReachabilityMachine.Target
    /// What it was made for, as it was given; `nil` for any network.
    package let name: String?
    let options: Reachability.Options
    package let center: ReachabilityCenter

    /// Goes up with each start and stop, so that answers to an earlier run are known as such.
    var run: UInt64 = 0
    /// The center's thread has begun with this run.
    var hasBegun = false
    var machine: ReachabilityMachine
    /// Its changes are told.
    var isStarted = false
    /// So many wait for it, whether it was started or not.
    var holds = 0
    var observers: [any ReachabilityObserver] = []
    /// Found in the call that started it, and still to be told.
    var owed: (old: NetworkPath, new: NetworkPath)?

    private static let lastID = Atomic<UInt64>(0)
    /// The status, so that it can be read anywhere, in a forked child too.
    private let shown = Atomic<Int32>(Reachability.Status.unknown.rawValue)

    package init(
        _ target: ReachabilityMachine.Target, name: String?, options: Reachability.Options,
        center: ReachabilityCenter
    ) {
        id = Self.lastID.wrappingAdd(1, ordering: .relaxed).newValue
        self.target = target
        self.name = name
        self.options = options
        self.center = center
        machine = ReachabilityMachine(target)
    }

    /// Whether the center looks after it.
    var isRunning: Bool { isStarted || holds > 0 }

    package var status: Reachability.Status {
        Reachability.Status(rawValue: shown.load(ordering: .acquiring)) ?? .unknown
    }

    /// The way as it was last found.
    package var path: NetworkPath { center.path(of: self) }

    /// Begins a new run, from what is known.
    func restart() {
        run += 1
        hasBegun = false
        owed = nil
        machine = freshMachine
    }

    /// The machine of a new run.
    var freshMachine: ReachabilityMachine {
        ReachabilityMachine(
            target, path: machine.path, isRaw: options.isRaw,
            probeInterval: options.probe.map { _ in options.probeInterval.nanosecondsSaturating })
    }

    /// Makes what the machine knows visible.
    func show() { shown.store(machine.path.status.rawValue, ordering: .releasing) }

    /// The news that a way has become another.
    package func change(_ old: NetworkPath, _ new: NetworkPath) -> Reachability.Change {
        Reachability.Change(
            target: name, old: old.status, status: new.status, interface: new.interface,
            interfaceName: new.name)
    }
}

extension Duration {
    /// As nanoseconds; saturates.
    package var nanosecondsSaturating: Int64 { .milliseconds(wholeMilliseconds) }
}
