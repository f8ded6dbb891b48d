// Wherry: background revalidation of stale responses.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryLogging
import WherryRequests
import WherrySystem
import WherryTransport

/// A background request by which the cache revalidates a stale response (RFC 5861, section 3). The
/// program receives no events.
///
/// The request does not retain the client, so closing the client ends it. It then leaves its
/// ``/WherryCache/ValidationMark``, and the next request for the response validates in the foreground.
/// Otherwise, a program that exits at once would get the stale response every time.
final class Revalidation: ExchangeReceiver {
    private let http: HTTPCaching
    private let caches: ClientCaches
    private let workers: WorkerPool
    private let counters: CounterTable
    private let maxBodyBytes: Int64
    private let mark: ValidationMark?

    /// The timeout if the client's requests have none.
    private static let time = Int64.milliseconds(60_000)

    /// Starts a revalidation, unless this client or another process already runs one. May block on
    /// the disk.
    ///
    /// - Returns: `false` if a program exited before its validation was complete: the caller must
    ///   validate in the foreground.
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
        // Another revalidation may have completed just now.
        guard case .serveAndRevalidate(_, let plan) = http.decide() else {
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
            // A failure changes nothing: the next request reports the failure, or validates again.
            if http.concerns(result) { http.apply(http.outcome(of: result)) }
            let wasCut = result.error?.kind == .cancelled || result.error?.kind == .shutDown
            if !wasCut { mark?.remove() }
            caches.endRevalidation(of: http.key)
        }
    }
}
