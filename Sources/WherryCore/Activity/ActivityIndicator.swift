// Wherry: the state of an activity indicator.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The state of an activity indicator. It appears with a delay after the first transfer began, so
/// that short transfers do not flash. It disappears with a delay after the last one ended, so that
/// a series of transfers does not flicker (L13).
struct ActivityIndicator {
    enum Phase: Equatable {
        /// Hidden. Next: `starting`.
        case idle
        /// Hidden until the given time. Next: `shown`, or `idle` if no transfer is active then.
        case starting(Instant)
        /// Shown. Next: `ending`.
        case shown
        /// Shown until the given time. Next: `idle`, or `shown` if a transfer begins before.
        case ending(Instant)
    }

    private(set) var phase = Phase.idle
    private let showDelay: Int64
    private let hideDelay: Int64

    /// Takes the delays in nanoseconds.
    init(showDelay: Int64, hideDelay: Int64) {
        self.showDelay = showDelay
        self.hideDelay = hideDelay
    }

    var isShown: Bool {
        switch phase {
        case .idle, .starting: false
        case .shown, .ending: true
        }
    }

    /// The time of the next check; `nil` if none is pending.
    var due: Instant? {
        switch phase {
        case .idle, .shown: nil
        case .starting(let time), .ending(let time): time
        }
    }

    /// Handles the start of the first transfer, or the end of the last one.
    mutating func note(isActive: Bool, at now: Instant) {
        switch phase {
        case .idle where isActive: phase = .starting(now.advanced(by: showDelay))
        case .shown where !isActive: phase = .ending(now.advanced(by: hideDelay))
        case .ending where isActive: phase = .shown
        case .idle, .starting, .shown, .ending: break
        }
    }

    /// Checks the time. Returns whether the indicator becomes shown or hidden; `nil` for no change.
    mutating func pass(isActive: Bool, at now: Instant) -> Bool? {
        switch phase {
        case .starting(let time) where time <= now:
            phase = isActive ? .shown : .idle
            return isActive ? true : nil
        case .ending(let time) where time <= now:
            phase = .idle
            return false
        case .idle, .starting, .shown, .ending: return nil
        }
    }
}
