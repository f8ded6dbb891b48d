// Wherry: when an exchange has taken too long.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Exchange {
    /// The nearest deadline of an exchange that is carried out, and the error if it is reached. For
    /// the thread of its transport.
    var nearestDeadline: (time: Instant, kind: TransportError.Kind) {
        var nearest = (time: request.deadline, kind: TransportError.Kind.totalTimeout)
        guard !state.isPaused, !state.holdsReceiving else { return nearest }
        let timeouts = request.timeouts
        if timeouts.idle > 0 && !state.holdsSending {
            let time = state.lastActivity.advanced(by: timeouts.idle)
            if time < nearest.time { nearest = (time, .idleTimeout) }
        }
        if timeouts.firstByte > 0 && !state.isAnswered && !state.holdsSending {
            let time = state.lastActivity.advanced(by: timeouts.firstByte)
            if time < nearest.time { nearest = (time, .firstByteTimeout) }
        }
        if timeouts.stallWindow > 0 && state.head != nil {
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
            case .idleTimeout: "Nothing moved to or from \(host) for \(seconds(timeouts.idle))"
            case .firstByteTimeout:
                "\(host) sent no answer within \(seconds(timeouts.firstByte)) of the request"
            case .stalled:
                "\(host) sent less than \(timeouts.stallBytesPerSecond) bytes/s for \(seconds(timeouts.stallWindow))"
            default: "The transfer with \(host) was not over in the total time allowed"
            }
        return TransportError(kind, text)
    }
}
