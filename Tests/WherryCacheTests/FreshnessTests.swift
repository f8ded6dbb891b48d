// Wherry: tests of ages and freshness lifetimes
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem
import WherryTransport

@testable import WherryCache
@testable import WherryHTTP

@Suite struct FreshnessTests {
    private func freshness(
        _ fields: [(String, String)], status: Int = 200, date own: String? = date(),
        delay: Int64 = 0, at time: Int64 = noon
    ) -> Freshness {
        let head = head(status, fields, date: own)
        return Freshness(
            head, control: ResponseCacheControl(head.values("cache-control")),
            requestTime: time - delay, responseTime: time)
    }

    @Test("max-age before Expires, Expires less Date, otherwise heuristic: RFC 9111, 4.2.1")
    func lifetime() {
        let both = freshness([("Cache-Control", "max-age=60"), ("Expires", date(7200))])
        #expect(both.lifetime == 60_000 && both.source == .explicit)
        #expect(freshness([("Expires", date(90))]).lifetime == 90_000)
        #expect(freshness([("Expires", date(90))], date: date(-10)).lifetime == 100_000)
        #expect(freshness([("Expires", date(-90))]).lifetime == 0)
        #expect(freshness([("Cache-Control", "s-maxage=60")]).lifetime == 0)
    }

    @Test(
        "An invalid date is an Expires in the past: RFC 9111, 5.3",
        arguments: [
            "0", "-1", "", "tomorrow", "Sat, 21 Nov 2026 13:00:00 UTC",
            "Sat, 21 Nov 2026 13:00:00 +0000", "Sat, 21-Nov-2026 13:00:00 GMT",
            "Sat, 21 Nov 2026 13:00 GMT", "2026-11-21T13:00:00Z", "Sat, 21 Nov 2026 25:00:00 GMT",
        ])
    func badExpires(text: String) {
        let bad = freshness([("Expires", text), ("Last-Modified", date(-86_400))])
        #expect(bad.lifetime == 0 && bad.source == .explicit)
    }

    @Test(
        "Expires is parsed in each of the three forms, in any case: RFC 9110, 5.6.7",
        arguments: [
            "Sat, 21 Nov 2026 13:00:00 GMT", "Saturday, 21-Nov-26 13:00:00 GMT",
            "Sat Nov 21 13:00:00 2026", "sat, 21 nov 2026 13:00:00 gmt",
        ])
    func goodExpires(text: String) { #expect(freshness([("Expires", text)]).lifetime == 3_600_000) }

    @Test("The first Expires line applies")
    func twoExpires() {
        #expect(freshness([("Expires", date(10)), ("Expires", date(90))]).lifetime == 10_000)
        #expect(freshness([("Expires", "0"), ("Expires", date(90))]).lifetime == 0)
    }

    @Test("A missing or invalid Date is the time of receipt: RFC 9110, 6.6.1")
    func noDate() {
        for own in [nil, "yesterday"] as [String?] {
            let undated = freshness([("Expires", date(90))], date: own)
            #expect(undated.date == noon / 1000 && undated.initialAge == 0)
            #expect(undated.lifetime == 90_000)
        }
    }

    @Test("A tenth of the time since the last modification, a day at most: RFC 9111, 4.2.2")
    func heuristic() {
        func guess(_ seconds: Int64, _ fields: [(String, String)] = [], status: Int = 200) -> Int64
        {
            freshness([("Last-Modified", date(-seconds))] + fields, status: status).lifetime
        }
        #expect(guess(1000) == 100_000)
        #expect(guess(400 * 86_400) == 86_400_000)
        #expect(guess(-5) == 0)
        #expect(guess(1000, [("Cache-Control", "max-age=7")]) == 7000)
        #expect(guess(1000, [("Cache-Control", "max-age=x")]) == 0)
        #expect(guess(1000, status: 404) == 100_000)
        #expect(guess(1000, status: 302) == 0)
        #expect(guess(1000, [("Cache-Control", "public")], status: 302) == 100_000)
        #expect(guess(1000, [("Cache-Control", "private")], status: 302) == 0)
        #expect(freshness([]).source == .none)
    }

    @Test("Age is the larger of the Age header and the difference to Date: RFC 9111, 4.2.3")
    func initialAge() {
        #expect(freshness([("Age", "30")]).initialAge == 30_000)
        #expect(freshness([("Age", "30")], delay: 2500).initialAge == 32_500)
        #expect(freshness([("Age", "30")], date: date(-45)).initialAge == 45_000)
        #expect(freshness([("Age", "30")], date: date(45)).initialAge == 30_000)
        #expect(freshness([("Age", "x")], date: date(-5)).initialAge == 5000)
        // A Date is in whole seconds: fractions of the receipt time are not an age.
        #expect(freshness([], at: noon + 999).initialAge == 0)
        #expect(freshness([], delay: -5).initialAge == 0)
    }

    @Test("Time in the store adds to the age, to the millisecond")
    func currentAge() {
        let minute = freshness([("Cache-Control", "max-age=60"), ("Age", "10")])
        #expect(minute.age(at: noon + 1500) == 11_500)
        #expect(minute.isFresh(at: noon + 49_999) && !minute.isFresh(at: noon + 50_000))
        #expect(minute.staleness(at: noon + 70_000) == 20_000)
        #expect(!freshness([("Cache-Control", "max-age=0")]).isFresh(at: noon))
    }

    @Test("A clock set back before the arrival makes nothing fresh")
    func clock() {
        let hour = freshness([("Cache-Control", "max-age=3600")])
        #expect(hour.isFresh(at: noon - 4000) && hour.age(at: noon - 4000) == 0)
        #expect(!hour.isFresh(at: noon - 6000) && hour.staleness(at: noon - 6000) == .max)
    }

    @Test("Nothing overflows: RFC 9111, 1.2.2")
    func saturation() {
        let huge = String(repeating: "9", count: 30)
        let old = freshness([("Age", huge), ("Cache-Control", "max-age=\(huge)")])
        #expect(old.initialAge > 0 && old.lifetime > 0 && !old.isFresh(at: .max))
        let early = freshness(
            [("Expires", "Fri, 31 Dec 9999 23:59:59 GMT")], date: "Sat Jan  1 00:00:00 0000")
        #expect(early.lifetime > 0 && early.age(at: .max) == .max)
        for time in [Int64.min, .max] {
            let odd = freshness([("Age", "1"), ("Expires", date(1))], date: nil, at: time)
            #expect(odd.lifetime >= 0 && odd.initialAge >= 0 && odd.staleness(at: noon) != 5)
        }
    }
}
