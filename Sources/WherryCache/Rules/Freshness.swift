// Wherry: the age and freshness of a response.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryTransport

/// The age and lifetime of a response, computed once on arrival (RFC 9111, section 4.2). Times are
/// in milliseconds, points in time since 1970.
package struct Freshness: Hashable, Sendable {
    /// The source of the lifetime.
    package enum Source: UInt8, Sendable {
        /// `max-age` or Expires.
        case explicit = 0
        /// A fraction of the time since the last modification (section 4.2.2).
        case heuristic = 1
        /// Neither: the lifetime is zero.
        case none = 2
    }

    /// The response's Date in seconds, or else the time of arrival.
    package var date: Int64
    /// The time when the response headers arrived.
    package var responseTime: Int64
    /// The age at that time: `corrected_initial_age` of section 4.2.3.
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

    /// Heuristic freshness: a tenth of the time since the last modification, at most 24 hours.
    private static let heuristicDivisor: Int64 = 10
    private static let heuristicLimit: Int64 = 24 * 3_600_000
    /// The time that the clock may go back before ages are considered unknown, in milliseconds.
    static let clockTolerance: Int64 = 5000

    /// Computes the times of a response.
    ///
    /// - Parameters:
    ///   - requestTime: The time when the request was sent.
    ///   - responseTime: The time when the response headers arrived.
    package init(
        _ head: ResponseHead, control: ResponseCacheControl, requestTime: Int64, responseTime: Int64
    ) {
        let receipt = responseTime / 1000
        let dateField = head["date"].flatMap { HTTPDate.parse($0, now: receipt) }
        let date = dateField ?? receipt
        self.date = date
        self.responseTime = responseTime
        // Dates are whole seconds: compare whole seconds, so that fractions do not add to the age.
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
            // An invalid date, such as "0", is in the past (section 5.3).
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

    // MARK: Current age

    /// Returns `current_age` of section 4.2.3; the initial age if the clock went back.
    package func age(at now: Int64) -> Int64 {
        initialAge.addingSaturating(max(0, now.subtractingSaturating(responseTime)))
    }

    /// Returns how long the response has been stale; negative if fresh. The largest number if the
    /// clock went back before the arrival, since the age is unknown then.
    package func staleness(at now: Int64) -> Int64 {
        if isFromFuture(at: now) { return .max }
        return age(at: now).subtractingSaturating(lifetime)
    }

    /// Returns whether the clock went back before the arrival.
    package func isFromFuture(at now: Int64) -> Bool {
        now.subtractingSaturating(responseTime) < -Self.clockTolerance
    }

    /// Returns whether the age is below the lifetime.
    package func isFresh(at now: Int64) -> Bool { staleness(at: now) < 0 }
}

/// The default caching rules of status codes (RFC 9110, section 15.1).
package enum StatusRules {
    /// Returns whether a response with the status may have heuristic freshness.
    package static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Returns whether this cache implements the caching rules of the status, for `must-understand`
    /// (RFC 9111, section 5.2.2.3).
    package static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 302, 303, 307: true
        default: isHeuristicallyCacheable(status)
        }
    }
}

extension Int64 {
    /// Returns the difference; saturates.
    package func subtractingSaturating(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }

    /// Seconds converted to milliseconds; saturates.
    package var millisecondsSaturating: Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: 1000)
        return overflow ? (self < 0 ? .min : .max) : product
    }
}
