// Wherry: asking the origin about a stale answer that was given already.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A request of the cache's own, which nobody hears of (RFC 5861, section 3). It holds no client: the
/// closing of that ends it. It then leaves its ``ValidationMark``, and the next request for the
/// response validates in the foreground: else a program that ends at once would get the stale
/// response again and again.
final class Revalidation: ExchangeReceiver {
    private let http: HTTPCaching
    private let caches: ClientCaches
    private let workers: WorkerPool
    private let counters: CounterTable
    private let maxBodyBytes: Int64
    private let mark: ValidationMark?

    /// How long it may take where the requests of the client have no limit.
    private static let time = Int64.milliseconds(60_000)

    /// Asks, unless this client or another process does already. May block for the disk.
    ///
    /// - Returns: `false` if a program that has ended left the validation undone: the caller
    ///   validates in the foreground.
    static func start(
        _ http: HTTPCaching, _ request: ExchangeRequest, _ client: Client, _ options: OptionTable
    ) -> Bool {
        guard client.caches.beginRevalidation(of: http.key) else { return true }
        let mark: ValidationMark?
        switch http.beginValidation() {
        case .begun(let own): mark = own
        case .elsewhere:
            client.caches.endRevalidation(of: http.key)
            return true
        case .abandoned:
            client.caches.endRevalidation(of: http.key)
            return false
        }
        // Somebody else may have been through with it just now.
        guard case .answerAndRevalidate(_, let plan) = http.decide() else {
            mark?.remove()
            client.caches.endRevalidation(of: http.key)
            return true
        }
        http.plan = plan
        var asked = http.planned(request)
        let total = options[.totalTimeout]
        asked.deadline = client.transport.clock.now().advanced(
            by: total == 0 ? time : .milliseconds(total))
        asked.wantsProgress = false
        let revalidation = Revalidation(http, client, options[.maxBodyBytes], mark)
        client.transport.start(Exchange(asked, receiver: revalidation), wake: .now)
        return true
    }

    private init(
        _ http: HTTPCaching, _ client: Client, _ maxBodyBytes: Int64, _ mark: ValidationMark?
    ) {
        self.mark = mark
        self.http = http
        caches = client.caches
        workers = client.workers
        counters = client.counters
        self.maxBodyBytes = maxBodyBytes
    }

    func exchangeDidStart(_ exchange: Exchange) { http.noteSending() }

    func exchange(_ exchange: Exchange, didReceive head: ResponseHead) -> BodyDisposition {
        http.noteHead()
        return .collect(limit: maxBodyBytes)
    }

    func exchange(_ exchange: Exchange, didReceive piece: Bytes) {}
    func exchangeDidProgress(_ exchange: Exchange) {}

    func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
        counters.count(exchange, result)
        workers.submit { [http, caches, mark] in
            // A failure changes nothing: the next request hears of it, or tries again.
            if http.concerns(result) { http.apply(http.outcome(of: result)) }
            let wasCut = result.error?.kind == .cancelled || result.error?.kind == .shutDown
            if !wasCut { mark?.remove() }
            caches.endRevalidation(of: http.key)
        }
    }
}
