// Wherry: asking the origin about a stale answer that was given already.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem
import WherryTransport

/// A request of the cache's own, which nobody hears of (RFC 5861, section 3). It holds no client: the
/// closing of that ends it.
final class Revalidation: ExchangeReceiver {
    private let http: Lock<HTTPCaching>
    private let caches: ClientCaches
    private let workers: WorkerPool
    private let maxBodyBytes: Int64

    /// How long it may take where the requests of the client have no limit.
    private static let time = Int64.milliseconds(60_000)

    /// Asks, unless somebody of this client is at it.
    static func start(_ http: HTTPCaching, _ client: Client, _ options: OptionTable) {
        guard client.caches.beginRevalidation(of: http.key) else { return }
        var http = http
        http.noteSending()
        var asked = http.planned
        let total = options[.totalTimeout]
        asked.deadline = client.transport.clock.now().advanced(
            by: total == 0 ? time : .milliseconds(total))
        asked.wantsProgress = false
        let revalidation = Revalidation(http, client, options[.maxBodyBytes])
        client.transport.start(Exchange(asked, receiver: revalidation), wake: .now)
    }

    private init(_ http: HTTPCaching, _ client: Client, _ maxBodyBytes: Int64) {
        self.http = Lock(http)
        caches = client.caches
        workers = client.workers
        self.maxBodyBytes = maxBodyBytes
    }

    func exchangeDidStart(_ exchange: Exchange) {}

    func exchange(_ exchange: Exchange, didReceive head: ResponseHead) -> BodyDisposition {
        http.withLock { $0.noteHead() }
        return .collect(limit: maxBodyBytes)
    }

    func exchange(_ exchange: Exchange, didReceive piece: Bytes) {}
    func exchangeDidProgress(_ exchange: Exchange) {}

    func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
        let http = http.withLock { $0 }
        workers.submit { [caches] in
            // A failure changes nothing: the next request hears of it, or tries again.
            if http.concerns(result) { http.apply(http.outcome(of: result)) }
            caches.endRevalidation(of: http.key)
        }
    }
}
