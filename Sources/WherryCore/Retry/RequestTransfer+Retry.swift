// Wherry: stopping a request and sending it again.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer {
    // MARK: Stopping and sending again

    func cancelExchange() {
        if let exchange = work.withLock({ $0.exchange }) { client.transport.cancel(exchange) }
    }

    func stop() {
        let (exchange, call, wait) = work.withLock { work in
            (work.exchange, work.hookCall?.call, work.networkWait)
        }
        call?.expire()
        wait?.cancel()
        // Also cancel during a hook: its result may have started the next hop just now.
        if let exchange { client.transport.cancel(exchange) }
        // Images being encoded check for the cancel themselves.
    }

    func resend(_ reason: RequestResend, rewinds: Bool) -> RequestAction {
        let (body, url) = work.withLock { work in
            switch reason {
            case .challenge: break
            case .redirect: work.fallback = nil
            case .retry, .token:
                work.fallback = nil
                work.exchange = nil
                work.meter.restart()
            }
            return (work.machine.hop.body.body, work.machine.hop.follower.url)
        }
        switch reason {
        case .challenge, .retry: break
        case .redirect(let head, let from):
            noteRedirect(
                from: from.text, status: head.status, to: url.text, isCounted: from.origin)
        case .token:
            note(.info, .retried, [.everybody("Request will be sent again with a new token")])
        }
        guard rewinds, case .source(let source) = body else { return handle(.rewound(true)) }
        return handle(.rewound(source.rewind()))
    }

    // MARK: Retries

    private var rules: RetryRules { RetryRules(options, deadline: deadline) }

    /// Returns the delay by the retry rules; `nil` if the rules or the client's retry budget forbid
    /// a retry.
    func usualDelay(_ error: WherryError, _ retries: Int) -> Int64? {
        var random = SplitMix(state: .random(in: .min ... .max))
        let wait = rules.delay(
            after: error, method: method, retries: retries, now: client.transport.clock.now(),
            &random)
        guard let wait, client.retryBudget.withLock({ $0.spend() }) else { return nil }
        return wait
    }

    /// Returns the default delay for a retry that the program requested.
    func requestedDelay(_ error: WherryError, _ retries: Int) -> Int64 {
        var random = SplitMix(state: .random(in: .min ... .max))
        let delay = rules.delay(
            after: error, retries: retries, now: client.transport.clock.now(), &random)
        return delay ?? Backoff.bound(after: retries)
    }

    func wait(_ delay: Int64, _ number: UInt64, _ error: WherryError) {
        noteRetry(error)
        become(.waiting, reason: error.reasonWord)
        let time = client.transport.clock.now().advanced(by: delay)
        client.transport.schedule(at: time) { [weak self] in self?.feed(.timer(number)) }
    }

    // MARK: The network

    /// Waits until the host is reachable. Returns the next action if no wait is needed.
    func awaitNetwork() -> RequestAction? {
        guard let url = work.withLock({ $0.exchange })?.request.url else { return nil }
        let window = started.advanced(by: .milliseconds(options[.waitForNetwork]))
        let begins = NetworkWait.begin(
            for: url, of: client, within: min(window, deadline).since(client.transport.clock.now()),
            register: { wait in
                work.withLock { work in
                    work.networkWait = wait
                    return work.machine.isCancelled
                }
            },
            waiting: { become(.waiting, reason: .offline) }
        ) { [self] end in
            work.withLock { $0.networkWait = nil }
            feed(end == .timeout ? networkTimeout(for: url) : .reachable)
        }
        return begins ? nil : handle(.reachable)
    }

    private func networkTimeout(for url: HTTPURL) -> RequestEvent {
        // After its deadline, the transport reports the timeout.
        guard client.transport.clock.now() < deadline else { return .reachable }
        return .failed(
            WherryError(
                .offline,
                "No network reached \(url.origin.text) within \(options[.waitForNetwork]) ms. Check the network connection."
            ))
    }

    // MARK: Tokens

    func refreshToken(_ number: UInt64) {
        become(.waiting, quiet: true)
        let token = work.withLock { $0.machine.hop.token }
        let verdict = client.tokens.met401(
            id, used: token ?? settings.values.texts[.bearerToken],
            now: client.transport.clock.now(), current: { client.settings.text(.bearerToken) }
        ) { [weak self] verdict in self?.continueWaiting(number, verdict) }
        if let verdict { continueWaiting(number, verdict) }
    }

    private func continueWaiting(_ number: UInt64, _ verdict: TokenVerdict) {
        let action = work.withLock { work in
            work.machine.waits(for: number) ? work.machine.handle(.token(number, verdict)) : nil
        }
        if let action { return run(action, wake: .now) }
        // The transfer was cancelled after it was chosen to request the token for the others.
        if verdict == .refresh { client.tokens.handOver() }
    }
}
