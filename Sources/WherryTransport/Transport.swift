// Wherry: the interface between the client and its transports, and the transport of libcurl.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import WherrySystem

/// Performs exchanges: over the network, or from a script for tests.
package protocol Transport: AnyObject, Sendable {
    /// The clock for deadlines and metrics.
    var clock: any Clock { get }
    /// Starts an exchange. All further events are reported to its receiver.
    ///
    /// The transport refuses the exchange if it is closed, belongs to the parent of this process,
    /// or cannot start its thread. It then calls only `didFinish`, before this function returns, so
    /// call this function without holding a lock. All other events are reported on the transport's
    /// thread. If this function is called on that thread, they are reported after it returns.
    func start(_ exchange: Exchange, wake: Wake)
    /// Ends an exchange with `cancelled`, unless it has finished. May be called from any thread,
    /// any number of times.
    func cancel(_ exchange: Exchange)
    /// Pauses or resumes receiving and sending. Timeouts other than the deadline are suspended
    /// during a pause.
    func setPaused(_ exchange: Exchange, _ paused: Bool)
    /// Changes the priority of an exchange that waits for a connection, and moves it behind the
    /// other exchanges of this priority. No effect on a running exchange.
    func setPriority(_ exchange: Exchange, _ priority: Int8)
    /// Calls `body` once on the transport's thread, at `time` or shortly after it.
    func schedule(at time: Instant, _ body: @escaping @Sendable () -> Void)
    /// Runs the transport on the calling thread until `isDone` returns `true` or the real time
    /// `timeout` has passed. Returns at once if another thread continues to run the transport.
    ///
    /// - Parameter returns: Whether the caller will soon call again, as a caller that reads one
    ///   event after another does. The transport's thread then waits a moment before it takes over
    ///   the remaining work.
    /// - Returns: Whether the calling thread ran the transport.
    func drive(until isDone: () -> Bool, timeout: Int64?, returns: Bool) -> Bool
    /// Makes the driving thread check `isDone` again, after a change outside of the transport.
    func lookAgain()
    /// Runs `body`, which waits for events while other threads run the transport.
    func standBy<Result>(_ body: () -> Result) -> Result
    /// Notifies a listener when all events that arrived together have been delivered. Returns
    /// `false` without a notification if not called on the transport's thread.
    func atEndOfTurn(_ listener: any TurnListener) -> Bool
    /// Notifies a listener soon on the transport's thread, starting the thread if needed. Callable
    /// from any thread. Returns `false` without a notification if there is no such thread, or no
    /// longer.
    func runSoon(_ listener: any TurnListener) -> Bool
    /// Whether the calling thread runs the transport, and so must not wait for it.
    var isTurnedHere: Bool { get }
    func setConnectionLimits(perHost: Int, total: Int)
    /// Sets the rate limits for all exchanges that start from now on, including waiting ones.
    func setRequestRate(_ rate: RequestRate)
    /// Cancels all exchanges. Returns when all threads have ended and all descriptors are closed.
    /// The receivers have been called with `didFinish` by then.
    ///
    /// - Returns: `false` if the function cannot wait, and so returns at once: on the transport's
    ///   thread, and in a forked child.
    @discardableResult
    func close() -> Bool
}

/// The thread that handles a message if no thread runs the transport now.
package enum Wake: Sendable {
    /// The caller, which is about to call `drive`.
    case never
    /// A caller that is expected to call `drive` soon, or else the transport's thread after a
    /// moment.
    case soon
    /// The transport's own thread.
    case now
}

/// A listener for the end of a batch of events.
///
/// A thread that is woken for each of many responses competes with the transport's thread for every
/// lock. If it is woken once at the end of the batch, it finds all responses at once.
package protocol TurnListener: AnyObject, Sendable {
    /// Called on the transport's thread, once per request for a notification.
    func turnDidEnd()
}

/// The settings that all connections of a pool share: their security identity.
package struct TransportConfiguration: Hashable, Sendable {
    /// The path of a file with PEM certificates to trust instead of the system's.
    package var caFile: String?
    /// Whether to accept every certificate without verification.
    package var insecure = false
    /// All other trust settings.
    package var trust = TransportTrust()
    /// The proxy of each scheme, and the hosts that bypass it.
    package var proxies = ProxySettings()
    /// The credentials for the proxy: "name:password".
    package var proxyCredentials: String?
    /// Host addresses that replace name lookup: "host:port:address,address".
    package var resolve: [String] = []
    /// The local network interface or address to connect from.
    package var interface: String?
    /// The path of a Unix socket that all connections use.
    package var unixSocket: String?
    package var maxPerHost = 6
    package var maxConnections = 32
    package var rate = RequestRate()

    package init() {}
}

/// Performs exchanges over HTTP/1.1 and HTTP/2, with a connection pool for one security identity.
/// Starts no thread before the first exchange.
package final class CurlTransport: Transport, ExchangeCarrier {
    private let loop: CurlLoop

    /// - Parameter report: Receives pin mismatches in report-only mode, once per host, on the
    ///   transport's thread.
    package init(
        _ configuration: TransportConfiguration, clock: any Clock = SystemClock.shared,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(SystemError) {
        loop = try CurlLoop(configuration, clock: clock, report: report)
    }

    deinit { loop.close() }

    package var clock: any Clock { loop.clock }

    package func start(_ exchange: Exchange, wake: Wake) {
        exchange.carrier = self
        loop.post(.start(exchange), wake: wake)
    }

    package func cancel(_ exchange: Exchange) { loop.post(.cancel(exchange)) }

    package func setPriority(_ exchange: Exchange, _ priority: Int8) {
        loop.post(.setPriority(exchange, priority))
    }

    package func setPaused(_ exchange: Exchange, _ paused: Bool) {
        loop.post(.setPaused(exchange, paused))
    }

    package func schedule(at time: Instant, _ body: @escaping @Sendable () -> Void) {
        loop.post(.schedule(time, body))
    }

    package func drive(until isDone: () -> Bool, timeout: Int64?, returns: Bool) -> Bool {
        loop.drive(until: isDone, timeout: timeout, returns: returns)
    }

    package func lookAgain() { loop.lookAgain() }
    package func standBy<Result>(_ body: () -> Result) -> Result { loop.standBy(body) }

    package func atEndOfTurn(_ listener: any TurnListener) -> Bool {
        loop.atEndOfTurn(listener)
    }

    package func runSoon(_ listener: any TurnListener) -> Bool {
        loop.isDrivenHere ? loop.atEndOfTurn(listener) : loop.post(.tell(listener))
    }

    package var isTurnedHere: Bool { loop.isDrivenHere }

    package func setConnectionLimits(perHost: Int, total: Int) {
        // The thread that runs the loop applies it; no thread wakes up just for this.
        loop.post(.limits(perHost: perHost, total: total), wake: .never)
    }

    package func setRequestRate(_ rate: RequestRate) {
        loop.post(.rate(rate), wake: .never)
    }

    @discardableResult
    package func close() -> Bool { loop.close() }

    func continueReceiving(_ exchange: Exchange) { loop.post(.continueReceiving(exchange)) }
    func continueSending(_ exchange: Exchange) { loop.post(.continueSending(exchange)) }
    func decide(_ exchange: Exchange, _ disposition: BodyDisposition) {
        loop.post(.decide(exchange, disposition))
    }

    /// The version of libcurl, such as "libcurl/7.88.1 OpenSSL/3.0.11 ...".
    package static var libraryVersion: String {
        curl_version().map { String(cString: $0) } ?? "libcurl"
    }
}
