// Wherry: the state of a monitor in its center.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// An observer of a monitor, called on the center's thread. Must not block or call the monitor.
package protocol ReachabilityObserver: AnyObject, Sendable {
    func reachability(_ monitor: ReachabilityMonitor, did change: Reachability.Change)
    /// Receives the stop of the monitor; the last call.
    func reachabilityDidStop(_ monitor: ReachabilityMonitor)
}

/// A monitored target and its status.
package final class ReachabilityMonitor: @unchecked Sendable {
    // The center's lock guards `run`, `machine` and the properties after them.

    /// Unique in the process; never 0.
    package let id: UInt64
    package let target: ReachabilityMachine.Target
    /// The target as passed; `nil` for any network.
    package let name: String?
    let options: Reachability.Options
    package let center: ReachabilityCenter

    /// Incremented by each start and stop, to recognize results for an earlier run.
    var run: UInt64 = 0
    /// Whether the center's thread has begun this run.
    var hasBegun = false
    var machine: ReachabilityMachine
    /// Whether changes are reported.
    var isStarted = false
    /// The number of waiting callers, whether the monitor is started or not.
    var holds = 0
    var observers: [any ReachabilityObserver] = []
    /// The change found by the call to start, which is still to be reported.
    var owed: (old: NetworkPath, new: NetworkPath)?

    private static let lastID = Atomic<UInt64>(0)
    /// A copy of the status that can be read without a lock, even in a forked child.
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

    /// Whether the center watches the target.
    var isRunning: Bool { isStarted || holds > 0 }

    package var status: Reachability.Status {
        Reachability.Status(rawValue: shown.load(ordering: .acquiring)) ?? .unknown
    }

    /// The last known path.
    package var path: NetworkPath { center.path(of: self) }

    /// Begins a new run from the last known path.
    func restart() {
        run += 1
        hasBegun = false
        owed = nil
        machine = freshMachine
    }

    /// The state machine of a new run.
    var freshMachine: ReachabilityMachine {
        ReachabilityMachine(
            target, path: machine.path, isRaw: options.isRaw,
            probeInterval: options.probe.map { _ in options.probeInterval.nanosecondsSaturating })
    }

    /// Publishes the machine's status.
    func show() { shown.store(machine.path.status.rawValue, ordering: .releasing) }

    /// Returns the change between two paths.
    package func change(_ old: NetworkPath, _ new: NetworkPath) -> Reachability.Change {
        Reachability.Change(
            target: name, old: old.status, status: new.status, interface: new.interface,
            interfaceName: new.name)
    }
}
