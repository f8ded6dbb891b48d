// Wherry: how old an answer is, and how long it is good.
// SPDX-License-Identifier: Apache-2.0

import WherryTransport

/// What an answer's head says about its time, worked out once when it arrives (RFC 9111, section
/// 4.2). Times are milliseconds; points in time count from 1970.
package struct Freshness: Hashable, Sendable {
    /// Where the lifetime comes from.
    package enum Source: UInt8, Sendable {
        /// `max-age` or Expires.
        case explicit = 0
        /// A part of the time since the last modification (section 4.2.2).
        case heuristic = 1
        /// Neither: the lifetime is zero.
        case none = 2
    }

    /// When the answer was made, in seconds: its Date, else the time of receipt.
    package var date: Int64
    /// When the head was received.
    package var responseTime: Int64
    /// How old the answer was by then: `corrected_initial_age` of section 4.2.3.
    package var initialAge: Int64
    /// `freshness_lifetime` of section 4.2.1, never negative.
    package var lifetime: Int64
    package var source: Source

    package init(
        date: Int64, responseTime: Int64, initialAge: Int64, lifetime: Int64, source: Source
    ) {
        self.date = date
        self.responseTime = responseTime
        self.initialAge = initialAge
        self.lifetime = lifetime
        self.source = source
    }

    /// The part of the time since the last modification that counts as fresh, and its limit.
    private static let heuristicDivisor: Int64 = 10
    private static let heuristicLimit: Int64 = 24 * 3_600_000
    /// How far the clock may have gone back before nothing it says about an age is believed.
    static let clockTolerance: Int64 = 5000

    /// Works out the times of an answer.
    ///
    /// - Parameters:
    ///   - requestTime: when the request was sent.
    ///   - responseTime: when the head of the answer came.
    package init(
        _ head: ResponseHead, control: ResponseCacheControl, requestTime: Int64, responseTime: Int64
    ) {
        let receipt = responseTime / 1000
        let dateField = head["date"].flatMap { HTTPDate.parse($0, now: receipt) }
        let date = dateField ?? receipt
        self.date = date
        self.responseTime = responseTime
        // Dates are whole seconds: the parts of one must not make an answer older.
        let apparent = max(0, receipt.subtractingSaturating(date)).millisecondsSaturating
        let delay = max(0, responseTime.subtractingSaturating(requestTime))
        let told = (AgeField.seconds(head.values("age")) ?? 0).millisecondsSaturating
        initialAge = max(apparent, told.addingSaturating(delay))
        (lifetime, source) = Self.lifetime(head, control, date: date, receipt: receipt)
    }

    private static func lifetime(
        _ head: ResponseHead, _ control: ResponseCacheControl, date: Int64, receipt: Int64
    ) -> (Int64, Source) {
        if let maxAge = control.maxAge { return (maxAge.millisecondsSaturating, .explicit) }
        if let expires = head["expires"] {
            // Anything but a date, "0" too, is in the past (section 5.3).
            guard let end = HTTPDate.parse(expires, now: receipt) else { return (0, .explicit) }
            return (max(0, end.subtractingSaturating(date)).millisecondsSaturating, .explicit)
        }
        guard control.isPublic || StatusRules.isHeuristicallyCacheable(head.status),
            let modified = head["last-modified"].flatMap({ HTTPDate.parse($0, now: receipt) }),
            modified < date
        else { return (0, .none) }
        let part = date.subtractingSaturating(modified).millisecondsSaturating / heuristicDivisor
        return (min(part, heuristicLimit), .heuristic)
    }

    // MARK: Later

    /// `current_age` of section 4.2.3. Where the clock went back, the age on arrival.
    package func age(at now: Int64) -> Int64 {
        initialAge.addingSaturating(max(0, now.subtractingSaturating(responseTime)))
    }

    /// How long the answer has been stale; negative while it is fresh. The largest number where
    /// the clock went back behind the arrival: how old the answer is cannot be known.
    package func staleness(at now: Int64) -> Int64 {
        if isFromFuture(at: now) { return .max }
        return age(at: now).subtractingSaturating(lifetime)
    }

    /// Whether the clock went back behind the arrival.
    package func isFromFuture(at now: Int64) -> Bool {
        now.subtractingSaturating(responseTime) < -Self.clockTolerance
    }

    /// Whether the age is still below the lifetime.
    package func isFresh(at now: Int64) -> Bool { staleness(at: now) < 0 }
}

/// What a cache may do with a status without being told (RFC 9110, section 15.1).
package enum StatusRules {
    /// Statuses that may be reused for a time that the cache guesses.
    package static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Statuses whose rules about caching are followed here, for `must-understand` (RFC 9111,
    /// section 5.2.2.3).
    package static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 302, 303, 307: true
        default: isHeuristicallyCacheable(status)
        }
    }
}

extension Int64 {
    /// The difference, held at the ends instead of overflowing.
    package func subtractingSaturating(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }

    /// Seconds as milliseconds, held at the ends instead of overflowing.
    package var millisecondsSaturating: Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: 1000)
        return overflow ? (self < 0 ? .min : .max) : product
    }
}
