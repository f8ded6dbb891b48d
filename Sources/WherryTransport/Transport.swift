// Wherry: the seam between the client and whatever moves the bytes.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Carries out exchanges: over the network, or for a test from a script.
package protocol Transport: AnyObject, Sendable {
    /// The clock that deadlines and metrics are counted on.
    var clock: any Clock { get }
    /// Starts an exchange; its receiver hears of everything else.
    ///
    /// Of a refusal (the transport is closed, belongs to the parent of this process, or can have no
    /// thread) the receiver hears `didFinish`, and nothing else, before this returns: call it with
    /// no lock held. Everything else is told on the transport's thread, and so after this where it
    /// is called there.
    func start(_ exchange: Exchange, wake: Wake)
    /// Ends it with `cancelled`, unless it has ended. From any thread, any number of times.
    func cancel(_ exchange: Exchange)
    /// Stops or goes on reading and sending. Timeouts stand still meanwhile.
    func setPaused(_ exchange: Exchange, _ paused: Bool)
    /// Has one that waits for a connection go behind those that have this priority; without effect on
    /// one that is carried out.
    func setPriority(_ exchange: Exchange, _ priority: Int8)
    /// Runs `body` once on the transport's thread at that time, or soon after.
    func schedule(at time: Instant, _ body: @escaping @Sendable () -> Void)
    /// Lends the calling thread until `isDone` answers `true` or the real time is over;
    /// returns at once where another thread turns the transport and goes on with it.
    ///
    /// - Parameter returns: whether the caller will come again soon, as one does who reads event
    ///   after event: what is left waits a moment for it.
    /// - Returns: whether the thread was taken.
    func drive(until isDone: () -> Bool, timeout: Int64?, returns: Bool) -> Bool
    /// Has the thread that drives ask `isDone` again: something else than the transport has
    /// changed what it goes by.
    func lookAgain()
    /// Runs a wait for what other threads' turning of the transport brings.
    func standBy<Result>(_ body: () -> Result) -> Result
    /// Has a listener told once everything that came in together has been told. `false`, and
    /// nothing follows, on any thread but the transport's.
    func atEndOfTurn(_ listener: any TurnListener) -> Bool
    /// Has a listener told soon on the transport's thread, which is started for it. From any
    /// thread; `false`, and nothing follows, where there is no such thread (any more).
    func runSoon(_ listener: any TurnListener) -> Bool
    /// Whether the calling thread turns the transport, and so must not wait for it.
    var isTurnedHere: Bool { get }
    func setConnectionLimits(perHost: Int, total: Int)
    /// Counts for what starts from now on, also of those that wait.
    func setRequestRate(_ rate: RequestRate)
    /// Cancels everything, and returns when no thread and no descriptor is left. The receivers
    /// have heard `didFinish` by then.
    ///
    /// - Returns: `false` where it cannot wait, and does not: on its own thread, and in a forked
    ///   child.
    @discardableResult
    func close() -> Bool
}

/// Who is to take up what is left for a transport that no thread turns just now.
package enum Wake: Sendable {
    /// The caller, who is about to `drive`.
    case never
    /// Somebody who is expected to drive in a moment; the transport's own thread after that.
    case soon
    /// The transport's own thread.
    case now
}

/// Waits until a transport is through with all that came in together.
///
/// Whoever wakes a thread for each of many answers has that thread fight with the transport's
/// for every lock; woken once at the end, it finds them all.
package protocol TurnListener: AnyObject, Sendable {
    /// Called once for each time it was asked for, on the transport's thread.
    func turnDidEnd()
}

/// What all connections of one pool have in common: its security identity.
package struct TransportConfiguration: Hashable, Sendable {
    /// A file of PEM certificates to trust instead of the system's.
    package var caFile: String?
    /// Trusts anybody.
    package var insecure = false
    /// Everything else about trust.
    package var trust = TransportTrust()
    /// The proxies of each scheme, and the hosts without one.
    package var proxies = ProxySettings()
    /// "name:password".
    package var proxyCredentials: String?
    /// Addresses of hosts: "host:port:address,address".
    package var resolve: [String] = []
    /// A network interface or an address of this machine to go out by.
    package var interface: String?
    /// Where every connection goes.
    package var unixSocket: String?
    package var maxPerHost = 6
    package var maxConnections = 32
    package var rate = RequestRate()

    package init() {}
}
