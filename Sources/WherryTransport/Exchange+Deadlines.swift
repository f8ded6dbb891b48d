// Wherry: when an exchange has taken too long.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Exchange {
    /// How long the page of a redirect may take: its end is waited for only to keep the connection.
    static let discardTime = Int64.milliseconds(1_000)

    /// The head has come, and nobody wants the body.
    var isDiscarding: Bool {
        guard state.head != nil else { return false }
        switch state.disposition {
        case .discard, .skim: return true
        case .collect, .deliver, .wait, .abort: return false
        }
    }

    /// The head has come, and what becomes of the body is not decided.
    var isUndecided: Bool {
        guard state.head != nil, case .wait = state.disposition else { return false }
        return true
    }

    /// What comes of the body is in the result.
    var isGathering: Bool {
        switch state.disposition {
        case .collect, .skim: true
        case .discard, .deliver, .wait, .abort: false
        }
    }

    /// The nearest deadline of an exchange that is carried out, and the error if it is reached. For
    /// the thread of its transport.
    ///
    /// Silence is counted from the beginning, the wait for an answer from when the request is sent, and
    /// the shorter of the two ends it: so a server may be silent for longer only if both allow it.
    /// Where the low-speed rule looks after the body, as in downloads, that wait is the only limit
    /// before it: their servers may be slow to begin.
    var nearestDeadline: (time: Instant, kind: TransportError.Kind) {
        var nearest = (time: request.deadline, kind: TransportError.Kind.totalTimeout)
        // A limit that the caller has set is no silence.
        guard !state.isPaused, !state.holdsReceiving, !state.isThrottled else { return nearest }
        let timeouts = request.timeouts
        let isAwaited = state.isSent && state.head == nil && timeouts.firstByte > 0
        if timeouts.idle > 0 && !state.holdsSending && !(isAwaited && timeouts.stallWindow > 0) {
            let time = state.lastActivity.advanced(by: timeouts.idle)
            if time < nearest.time { nearest = (time, .idleTimeout) }
        }
        // An interim answer (1xx) is a sign of life, and no answer.
        if isAwaited {
            let time = state.lastActivity.advanced(by: timeouts.firstByte)
            if time < nearest.time { nearest = (time, .firstByteTimeout) }
        }
        if isDiscarding {
            let time = state.stallStart.advanced(by: Self.discardTime)
            if time < nearest.time { nearest = (time, .idleTimeout) }
        }
        if timeouts.stallWindow > 0 && state.head != nil && !isDiscarding {
            let time = state.stallStart.advanced(by: timeouts.stallWindow)
            if time < nearest.time { nearest = (time, .stalled) }
        }
        return nearest
    }

    /// Starts the next window of the low-speed rule, if enough came in the last one.
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

    /// The error of a deadline that has passed at `now`, if one has.
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
                "Nothing moved to or from \(host) for \(seconds(timeouts.idle)), the idle timeout, while its answer was awaited"
            case .idleTimeout: "Nothing moved to or from \(host) for \(seconds(timeouts.idle))"
            case .firstByteTimeout:
                "\(host) sent no answer within \(seconds(timeouts.firstByte)) of the request"
            case .stalled:
                "\(host) sent less than \(timeouts.stallBytesPerSecond) bytes/s for \(seconds(timeouts.stallWindow))"
            case .totalTimeout where state.phase == .waiting:
                "The request to \(host) waited here for its turn, for a connection or by a limit of requests, until its total time was over"
            default: "The transfer with \(host) was not over in the total time allowed"
            }
        return TransportError(kind, text)
    }
}
