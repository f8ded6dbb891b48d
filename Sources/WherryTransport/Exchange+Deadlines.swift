// Wherry: deadlines of an exchange.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Exchange {
    /// The maximum time to read the body of a redirect, which is read only to reuse the connection,
    /// and to send the rest of a request that was already answered.
    static let discardTime = Int64.milliseconds(1_000)

    /// Whether the response headers have arrived and the body is not needed.
    var isDiscarding: Bool {
        guard state.head != nil else { return false }
        switch state.disposition {
        case .discard, .skim: return true
        case .collect, .deliver, .wait, .abort: return false
        }
    }

    /// Whether the response headers have arrived and the handling of the body is undecided.
    var isUndecided: Bool {
        guard state.head != nil, case .wait = state.disposition else { return false }
        return true
    }

    /// Whether the body is collected for the result.
    var isGathering: Bool {
        switch state.disposition {
        case .collect, .skim: true
        case .discard, .deliver, .wait, .abort: false
        }
    }

    /// The nearest deadline of a running exchange, with its error. Call it on the transport's
    /// thread.
    ///
    /// The idle timeout counts from the start, the first-byte timeout from the moment the request
    /// is sent. The shorter one ends the wait for a response, so a slow server needs both raised.
    /// If the low-speed rule applies to the body, as in downloads, only the first-byte timeout
    /// limits this wait, since such servers may be slow to respond.
    var nearestDeadline: (time: Instant, kind: TransportError.Kind) {
        var nearest = (time: request.deadline, kind: TransportError.Kind.totalTimeout)
        // A pause or speed limit set by the caller is not idleness.
        guard !state.isPaused, !state.holdsReceiving, !state.isThrottled else { return nearest }
        let timeouts = request.timeouts
        let isAwaited = state.isSent && state.head == nil && timeouts.firstByte > 0
        if timeouts.idle > 0 && !state.holdsSending && !(isAwaited && timeouts.stallWindow > 0) {
            let time = state.lastActivity.advanced(by: timeouts.idle)
            if time < nearest.time { nearest = (time, .idleTimeout) }
        }
        // An interim response (1xx) is activity, but not the response.
        if isAwaited {
            let time = state.lastActivity.advanced(by: timeouts.firstByte)
            if time < nearest.time { nearest = (time, .firstByteTimeout) }
        }
        if isDiscarding {
            let time = state.stallStart.advanced(by: Self.discardTime)
            if time < nearest.time { nearest = (time, .idleTimeout) }
        }
        if isAnswered {
            let time = state.lastActivity.advanced(by: Self.discardTime)
            if time < nearest.time { nearest = (time, .idleTimeout) }
        }
        if timeouts.stallWindow > 0 && state.head != nil && !isDiscarding {
            let time = state.stallStart.advanced(by: timeouts.stallWindow)
            if time < nearest.time { nearest = (time, .stalled) }
        }
        return nearest
    }

    /// Starts the next window of the low-speed rule if the last one received enough.
    func renewStallWindow(at now: Instant) {
        let bytes = receivedOnWire - state.stallBytes
        let timeouts = request.timeouts
        let (product, overflow) = timeouts.stallBytesPerSecond
            .multipliedReportingOverflow(by: timeouts.stallWindow / 1_000_000)
        guard !overflow, bytes >= product / 1000 else { return }
        restartStallWindow(at: now)
    }

    func restartStallWindow(at now: Instant) {
        state.stallStart = now
        state.stallBytes = receivedOnWire
    }

    /// Returns the error of a deadline that has passed at `now`, if any.
    func overdue(at now: Instant) -> TransportError? {
        var (time, kind) = nearestDeadline
        if kind == .stalled && time <= now {
            renewStallWindow(at: now)
            (time, kind) = nearestDeadline
        }
        return time <= now ? timeoutError(kind) : nil
    }

    func timeoutError(_ kind: TransportError.Kind) -> TransportError {
        let host = request.url.origin.text
        let timeouts = request.timeouts
        func seconds(_ nanoseconds: Int64) -> String {
            let milliseconds = nanoseconds / 1_000_000
            return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
        }
        let text =
            switch kind {
            case .idleTimeout where state.isSent && state.head == nil:
                "Timed out while waiting for the response from \(host): no data moved for \(seconds(timeouts.idle)), the idle timeout"
            case .idleTimeout:
                "The transfer with \(host) timed out: no data moved for \(seconds(timeouts.idle)), the idle timeout"
            case .firstByteTimeout:
                "\(host) sent no response within \(seconds(timeouts.firstByte)) of the request"
            case .stalled:
                "\(host) sent less than \(timeouts.stallBytesPerSecond) bytes/s for \(seconds(timeouts.stallWindow))"
            case .totalTimeout where state.phase == .waiting:
                "The request to \(host) reached its total timeout while it waited for a connection or a rate limit"
            default: "The transfer with \(host) reached its total timeout"
            }
        return TransportError(kind, text)
    }
}
