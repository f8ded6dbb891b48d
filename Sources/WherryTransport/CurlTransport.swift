// Wherry: the libcurl transport.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import WherrySystem

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
