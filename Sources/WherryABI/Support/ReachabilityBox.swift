// Wherry: reachability monitors of the C interface.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryReachability
import WherrySystem

/// Sends the changes of a monitor to a queue.
final class QueueRelay: ReachabilityObserver {
    private let queue: EventQueue
    private let userData: UInt
    /// Held while an event is queued, so that none is queued after the close.
    private let isClosed = Lock(false)
    /// The id of the wait whose end is reported, if any.
    let wait = Lock<UInt64?>(nil)

    init(_ queue: EventQueue, userData: UInt) {
        self.queue = queue
        self.userData = userData
    }

    func reachability(_ monitor: ReachabilityMonitor, did change: Reachability.Change) {
        tell(change)
    }

    func reachabilityDidStop(_ monitor: ReachabilityMonitor) { close() }

    private func tell(_ change: Reachability.Change) {
        isClosed.withLock { isClosed in
            if !isClosed { queue.tell(change, from: self, userData: userData) }
        }
    }

    /// Reports the end of a wait.
    func tellEnd(of monitor: ReachabilityMonitor, _ found: Bool) {
        let path = found ? monitor.path : .none
        tell(monitor.change(path, path))
    }

    /// Stops reporting, and removes queued events.
    func close() {
        isClosed.withLock { $0 = true }
        queue.drop(from: self)
    }
}

/// A monitor, the settings of a future one, or an observer of all monitors.
final class ReachabilityBox: HandleObject, Sendable {
    static var kind: HandleKind { .reachability }

    private enum Content: Sendable {
        case plan(host: String?, Reachability.Options)
        case monitor(Reachability, QueueRelay?)
        case everywhere(QueueRelay)
        case freed
    }
    private let content: Lock<Content>
    /// The receivers of the ends of waits.
    private let waits = Lock<[QueueRelay]>([])

    init(host: String?) { content = Lock(.plan(host: host, Reachability.Options())) }
    init(_ reachability: Reachability) { content = Lock(.monitor(reachability, nil)) }
    init(everywhere relay: QueueRelay) { content = Lock(.everywhere(relay)) }

    /// Changes the settings before the start.
    func plan(
        _ change: (inout Reachability.Options) throws(WherryError) -> Void
    ) throws(WherryError) {
        try content.withLock { content throws(WherryError) in
            guard case .plan(let host, var options) = content else {
                throw WherryError(
                    .wrongState,
                    "The options and the probe of this monitor cannot be set: it has started, or takes none. Set them before the start."
                )
            }
            try change(&options)
            content = .plan(host: host, options)
        }
    }

    /// The monitor, if already created.
    var known: Reachability? {
        content.withLock {
            if case .monitor(let reachability, _) = $0 { reachability } else { nil }
        }
    }

    /// Returns the monitor; creates it if needed.
    func monitor() throws(WherryError) -> Reachability {
        try content.withLock { content throws(WherryError) in
            switch content {
            case .monitor(let reachability, _): return reachability
            case .plan(let host, let options):
                let made: Reachability
                if let host {
                    made = try Reachability(host: host, options)
                } else {
                    made = try Reachability(options)
                }
                content = .monitor(made, nil)
                return made
            case .everywhere:
                throw WherryError(
                    .wrongState,
                    "The handle observes every monitor, and is not a monitor itself")
            case .freed:
                throw WherryError(
                    .badHandle,
                    "The argument reachability is invalid: the handle was freed. Pass one that was not freed"
                )
            }
        }
    }

    func start(_ relay: QueueRelay?) throws(WherryError) {
        let reachability = try monitor()
        let old = content.withLock { content -> QueueRelay? in
            guard case .monitor(let known, let old) = content else { return nil }
            content = .monitor(known, relay)
            return old
        }
        let observers = relay.map { [$0] } ?? []
        try reachability.monitor.center.start(reachability.monitor, observers)
        old?.close()
    }

    /// Requests a report when a wait ends.
    func notify(_ relay: QueueRelay, within nanoseconds: Int64?) throws(WherryError) {
        let monitor = try monitor().monitor
        waits.withLock { $0.append(relay) }
        do {
            let id = try monitor.center.whenReachable(monitor, within: nanoseconds) {
                [weak self] found in
                relay.tellEnd(of: monitor, found)
                self?.waits.withLock { $0.removeAll { $0 === relay } }
            }
            relay.wait.withLock { $0 = id }
        } catch {
            waits.withLock { $0.removeAll { $0 === relay } }
            throw error
        }
    }

    /// Stops the monitor. Nothing is reported after this returns.
    func stop() {
        let (reachability, relay) = content.withLock { content -> (Reachability?, QueueRelay?) in
            guard case .monitor(let reachability, let relay) = content else { return (nil, nil) }
            return (reachability, relay)
        }
        reachability?.stop()
        relay?.close()
    }

    /// Releases the monitor, which continues if it has another owner.
    func end() {
        let last = content.withLock { content in
            let last = content
            content = .freed
            return last
        }
        let waits = waits.withLock { $0 }
        for relay in waits {
            relay.close()
            let id = relay.wait.withLock { $0 }
            if case .monitor(let reachability, _) = last, let id {
                reachability.monitor.center.cancelWait(id)
            }
        }
        switch last {
        case .everywhere(let relay):
            ReachabilityCenter.shared.unobserve(relay)
            relay.close()
        case .monitor(let reachability, let relay):
            if let relay { reachability.monitor.center.remove(relay, from: reachability.monitor) }
            relay?.close()
        case .plan, .freed: break
        }
    }
}

/// The static C texts of interface kinds.
enum ReachWords {
    static func pointer(_ interface: Reachability.Interface) -> UnsafePointer<CChar>? {
        let word: StaticString =
            switch interface {
            case .none: "none"
            case .wired: "wired"
            case .wifi: "wifi"
            case .wwan: "wwan"
            case .vpn: "vpn"
            case .loopback: "loopback"
            }
        return StaticText.pointer(word)
    }

    private static let texts = Lock<[String: Int]>([:])

    /// Returns a text that is never freed; a program sets only a few.
    static func lasting(_ text: String) -> UnsafePointer<CChar>? {
        let bits = texts.withLock { texts -> Int in
            if let known = texts[text] { return known }
            let made = Int(bitPattern: CText.copy(text))
            texts[text] = made
            return made
        }
        return UnsafePointer(bitPattern: bits)
    }
}
