// Wherry: when an indicator of activity is to be seen.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Shows some time after the first transfer began, so that short work does not flash, and hides a
/// moment after the last ended, so that work in many pieces does not flicker (L13).
struct ActivityIndicator {
    enum Phase: Equatable {
        /// Hidden. Goes to `starting`.
        case idle
        /// Hidden until then. Goes to `shown`, or to `idle` where nothing is active by then.
        case starting(Instant)
        /// Goes to `ending`.
        case shown
        /// Shown until then. Goes to `idle`, or back to `shown` where something begins before.
        case ending(Instant)
    }

    private(set) var phase = Phase.idle
    private let showDelay: Int64
    private let hideDelay: Int64

    /// Delays in nanoseconds.
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

    /// When it is to be looked at again; `nil` while nothing is to come.
    var due: Instant? {
        switch phase {
        case .idle, .shown: nil
        case .starting(let time), .ending(let time): time
        }
    }

    /// Something began, or nothing is active any more.
    mutating func note(isActive: Bool, at now: Instant) {
        switch phase {
        case .idle where isActive: phase = .starting(now.advanced(by: showDelay))
        case .shown where !isActive: phase = .ending(now.advanced(by: hideDelay))
        case .ending where isActive: phase = .shown
        case .idle, .starting, .shown, .ending: break
        }
    }

    /// Time has passed. Whether it is shown or hidden by this; `nil` where nothing changes.
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
