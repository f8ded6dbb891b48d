// Wherry: HTTP dates.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Dates in headers (RFC 9110, section 5.6.7), as seconds since 1970 without leap seconds.
package enum HTTPDate {
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map { Array($0.utf8) }

    /// Monday first.
    private static let days = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ].map { Array($0.utf8) }

    /// Parses one of three formats (case-insensitive): `Sun, 06 Nov 1994 08:49:37 GMT`,
    /// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    ///
    /// Returns `nil` for anything else: other time zones, days that the month does not have, hours
    /// above 23. Second 60, a leap second, is the first of the next minute. The day of the week
    /// must be valid but may be wrong.
    ///
    /// - Parameter now: Determines the century of a two-digit year, which is at most 50 years in
    ///   the future.
    package static func parse(_ text: some StringProtocol, now: Int64) -> Int64? {
        let bytes = text.utf8.map(\.asciiLowercased)
        var reader = Reader(bytes: bytes[...])
        let name = reader.letters()
        let date: (year: Int64, month: Int64, day: Int64)?
        let time: Int64?
        if reader.skip(", ") {
            if isDay(name, isShort: true) {
                date = reader.date(separator: " ", yearDigits: 4)
            } else if isDay(name, isShort: false) {
                date = reader.date(separator: "-", yearDigits: 2).map {
                    (century(of: $0.year, now: now), $0.month, $0.day)
                }
            } else {
                return nil
            }
            guard date != nil, reader.skip(" ") else { return nil }
            time = reader.time()
            guard reader.skip(" gmt") else { return nil }
        } else {
            guard isDay(name, isShort: true), reader.skip(" "), let month = reader.month(),
                reader.skip(" "),
                let day = reader.skip(" ") ? reader.number(1) : reader.number(2),
                reader.skip(" ")
            else { return nil }
            time = reader.time()
            guard reader.skip(" "), let year = reader.number(4) else { return nil }
            date = (year, month, day)
        }
        guard reader.bytes.isEmpty, let date, let time,
            date.day >= 1, date.day <= daysIn(date.month, date.year)
        else { return nil }
        return daysSince1970(date.year, date.month, date.day) * 86_400 + time
    }

    /// Returns `Sun, 06 Nov 1994 08:49:37 GMT`; years are limited to 0 through 9999.
    package static func format(_ seconds: Int64) -> String {
        let seconds = min(max(seconds, -62_167_219_200), 253_402_300_799)
        let time = ((seconds % 86_400) + 86_400) % 86_400
        let day = (seconds - time) / 86_400
        let (year, month, dayOfMonth) = civil(day)
        let weekday = ((day + 3) % 7 + 7) % 7  // 1970 began on a Thursday
        return "\(name(days[Int(weekday)])), \(padded(dayOfMonth, 2)) \(name(months[month - 1])) "
            + "\(padded(year, 4)) \(padded(time / 3600, 2)):\(padded(time / 60 % 60, 2)):"
            + "\(padded(time % 60, 2)) GMT"
    }

    // MARK: - Parsing

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func letters() -> ArraySlice<UInt8> {
            let taken = bytes.prefix { $0 >= 0x61 && $0 <= 0x7A }
            bytes = bytes.dropFirst(taken.count)
            return taken
        }

        mutating func skip(_ text: String) -> Bool {
            guard bytes.starts(with: text.utf8) else { return false }
            bytes = bytes.dropFirst(text.utf8.count)
            return true
        }

        /// Parses a number of exactly `digits` digits.
        mutating func number(_ digits: Int) -> Int64? {
            let taken = bytes.prefix(digits)
            guard taken.count == digits, let value = FieldScanner.number(taken) else { return nil }
            bytes = bytes.dropFirst(digits)
            return value
        }

        mutating func month() -> Int64? {
            let name = letters()
            return HTTPDate.months.firstIndex { $0.elementsEqual(name) }.map { Int64($0) + 1 }
        }

        mutating func date(
            separator: String, yearDigits: Int
        ) -> (year: Int64, month: Int64, day: Int64)? {
            guard let day = number(2), skip(separator), let month = month(), skip(separator),
                let year = number(yearDigits)
            else { return nil }
            return (year, month, day)
        }

        /// Parses a time to seconds since midnight.
        mutating func time() -> Int64? {
            guard let hour = number(2), hour <= 23, skip(":"), let minute = number(2), minute <= 59,
                skip(":"), let second = number(2), second <= 60
            else { return nil }
            return hour * 3600 + minute * 60 + second
        }
    }

    private static func isDay(_ name: ArraySlice<UInt8>, isShort: Bool) -> Bool {
        days.contains { isShort ? $0.prefix(3) == name : $0[...] == name }
    }

    /// Returns the last year with these digits that is at most 50 years in the future.
    private static func century(of year: Int64, now: Int64) -> Int64 {
        let (thisYear, _, _) = civil(min(max(now, 0), 253_402_300_799) / 86_400)
        let latest = thisYear + 50
        return latest - ((latest - year) % 100 + 100) % 100
    }

    // MARK: - Calendar

    private static func daysIn(_ month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Returns the days since 1970-01-01 in the Gregorian calendar. Computes with years that begin
    /// in March, so that the leap day comes last.
    private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    package static func civil(_ days: Int64) -> (year: Int64, month: Int, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let march = (5 * dayOfYear + 2) / 153
        let month = march < 10 ? march + 3 : march - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, Int(month), dayOfYear - (153 * march + 2) / 5 + 1)
    }

    /// Returns "Sun" for "sunday".
    private static func name(_ lowercase: [UInt8]) -> String {
        let bytes = [lowercase[0] & 0xDF] + lowercase[1..<3]
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
