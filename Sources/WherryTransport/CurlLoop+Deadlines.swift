// Wherry: deadlines and speed limits of the loop.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import WherrySystem

extension CurlLoop {
    /// Schedules a sweep for an exchange whose deadlines may have become earlier.
    func noteDeadline(of exchange: Exchange) {
        nextSweep = min(nextSweep, exchange.nearestDeadline.time)
    }

    /// Checks all deadlines. Called rarely: `nextSweep` is the earliest deadline found by the last
    /// check, and activity only moves deadlines later.
    func sweep() {
        nextSweep = .never
        var due: [@Sendable () -> Void] = []
        timers.removeAll { timer in
            if timer.time <= now {
                due.append(timer.body)
                return true
            }
            nextSweep = min(nextSweep, timer.time)
            return false
        }
        var throttled: [Exchange] = []
        var postponed: [Exchange] = []
        for exchange in active {
            if let error = exchange.overdue(at: now) {
                if exchange.isAnswered && error.kind == .idleTimeout {
                    end(exchange, CURLE_OK)
                    continue
                }
                // The body of a redirect is not needed, so it may be incomplete.
                let isEnough = exchange.isDiscarding && error.kind != .totalTimeout
                finish(exchange, error: isEnough ? nil : error)
            } else {
                tellOwedProgress(exchange)
                deliverIncompleteChunk(of: exchange)
                noteDeadline(of: exchange)
                if exchange.state.isThrottled { throttled.append(exchange) }
                if let until = exchange.state.postponedUntil {
                    nextSweep = min(nextSweep, until)
                    if until <= now { postponed.append(exchange) }
                }
            }
        }
        for exchange in throttled { goOn(exchange) }
        for exchange in postponed { reconnect(exchange) }
        for exchange in queue.expired(at: now) {
            finishUnstarted(exchange, exchange.timeoutError(.totalTimeout))
        }
        if queue.isLimited { startWaiting() }
        nextSweep = min(nextSweep, queue.nextDeadline)
        for body in due { body() }
    }

    /// Returns whether a speed limit delays these bytes. If not, they count as received.
    func throttle(_ exchange: Exchange, _ count: Int) -> Bool {
        if let until = exchange.heldUntil(now) {
            exchange.state.isThrottled = true
            nextSweep = min(nextSweep, until)
            return true
        }
        for limit in exchange.request.speedLimits { limit.take(count, now: now) }
        return false
    }

    /// Resumes a throttled exchange if its limits allow it now.
    private func goOn(_ exchange: Exchange) {
        guard exchange.state.phase == .active else { return }
        if let until = exchange.heldUntil(now) {
            nextSweep = min(nextSweep, until)
            return
        }
        exchange.state.isThrottled = false
        applyHolds(exchange)
    }

    /// Reports progress that was held back because it followed the previous report too soon.
    private func tellOwedProgress(_ exchange: Exchange) {
        guard exchange.state.owesProgress else { return }
        guard now >= exchange.state.nextProgress else {
            nextSweep = min(nextSweep, exchange.state.nextProgress)
            return
        }
        exchange.state.owesProgress = false
        exchange.state.nextProgress = now.advanced(by: .milliseconds(100))
        exchange.receiver.exchangeDidProgress(exchange)
    }
}
