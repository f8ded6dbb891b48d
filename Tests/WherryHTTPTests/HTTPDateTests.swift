// Wherry: tests of dates and of Retry-After.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WherryHTTP

@Suite struct HTTPDateTests {
    /// 2026-11-21 00:00:00 UTC.
    static let now: Int64 = 1_795_219_200

    @Test(
        "The three forms of RFC 9110 are parsed in any case",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994", "Sun Nov 06 08:49:37 1994", "sun, 06 nov 1994 08:49:37 gmt",
            "SUNDAY, 06-NOV-94 08:49:37 GMT", "Mon, 06 Nov 1994 08:49:37 GMT",
        ])
    func forms(text: String) {
        #expect(HTTPDate.parse(text, now: Self.now) == 784_111_777)
    }

    @Test(
        "Days, leap years, and the limits of time are correct",
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200),
            ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
        ] as [(String, Int64)])
    func values(text: String, expected: Int64) {
        #expect(HTTPDate.parse(text, now: Self.now) == expected)
    }

    @Test(
        "Everything else is not a date",
        arguments: [
            "", "0", "-1", "Sun", "Sun, ", "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
            "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-1994 08:49:37 GMT", "Xxx, 06 Nov 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
            "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 29 Feb 2023 08:49:37 GMT",
            "Sun, 06 Abc 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT",
            "Sun, 06  Nov 1994 08:49:37 GMT", " Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 08:49:37 GMT\u{0}",
            "Sun Nov 6 08:49:37 1994", "Sun Nov   6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT",
            "Sunday Nov  6 08:49:37 1994", "Sun, 06 Nov -994 08:49:37 GMT",
            "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "Sun, ０6 Nov 1994 08:49:37 GMT",
        ])
    func refused(text: String) {
        #expect(HTTPDate.parse(text, now: Self.now) == nil)
    }

    @Test("A two-digit year is at most 50 years ahead")
    func centuries() {
        func year(_ digits: String, now: Int64) -> String? {
            HTTPDate.parse("Monday, 01-Jan-\(digits) 00:00:00 GMT", now: now).map {
                String(HTTPDate.format($0).dropFirst(12).prefix(4))
            }
        }
        #expect(year("26", now: Self.now) == "2026" && year("76", now: Self.now) == "2076")
        #expect(year("77", now: Self.now) == "1977" && year("99", now: Self.now) == "1999")
        #expect(year("00", now: Self.now) == "2000" && year("49", now: 0) == "1949")
        #expect(year("50", now: .max) != nil && year("50", now: .min) != nil)
    }

    @Test("Formatted dates parse back, and agree with the C library")
    func formatting() {
        #expect(HTTPDate.format(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(.max) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.format(.min) == "Sat, 01 Jan 0000 00:00:00 GMT")
        for step: Int64 in 0..<3_000 {
            let seconds = -62_167_219_200 + step * 105_189_823 + step
            let text = HTTPDate.format(seconds)
            #expect(HTTPDate.parse(text, now: Self.now) == seconds)
            var time = time_t(seconds)
            var parts = tm()
            gmtime_r(&time, &parts)
            var buffer = [CChar](repeating: 0, count: 64)
            strftime(&buffer, 64, "%a, %d %b", &parts)
            let expected = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            #expect(Array(text.utf8.prefix(expected.count)) == expected)
        }
    }

    @Test(
        "Retry-After is a number of seconds or a date",
        arguments: [
            ("0", 0), ("120", 120), ("99999999999999999999", .max),
            ("Sat, 21 Nov 2026 00:02:00 GMT", 120), ("Fri, 20 Nov 2026 00:00:00 GMT", 0),
            ("", nil), ("-1", nil), ("1.5", nil), ("12s", nil), (" 12", nil), ("soon", nil),
        ] as [(String, Int64?)])
    func retryAfter(text: String, expected: Int64?) {
        #expect(RetryAfter.seconds(text, now: Self.now) == expected)
    }
}
