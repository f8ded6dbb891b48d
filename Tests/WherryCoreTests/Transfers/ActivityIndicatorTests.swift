// Wherry: the visibility of an activity indicator
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryCore

@Suite struct ActivityIndicatorTests {
    private static func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: .milliseconds(milliseconds))
    }

    private func indicator() -> ActivityIndicator {
        ActivityIndicator(showDelay: .milliseconds(1_000), hideDelay: .milliseconds(170))
    }

    @Test func `it shows after the first delay and hides after the second`() {
        var indicator = indicator()
        #expect(indicator.due == nil)
        indicator.note(isActive: true, at: Self.at(0))
        #expect(indicator.due == Self.at(1_000) && !indicator.isShown)
        #expect(indicator.pass(isActive: true, at: Self.at(999)) == nil)
        #expect(indicator.pass(isActive: true, at: Self.at(1_000)) == true)
        #expect(indicator.isShown && indicator.due == nil)
        indicator.note(isActive: false, at: Self.at(5_000))
        #expect(indicator.due == Self.at(5_170) && indicator.isShown)
        #expect(indicator.pass(isActive: false, at: Self.at(5_169)) == nil)
        #expect(indicator.pass(isActive: false, at: Self.at(5_170)) == false)
        #expect(indicator.phase == .idle && !indicator.isShown)
    }

    @Test func `activity that ends before the indicator would show is not shown`() {
        var indicator = indicator()
        indicator.note(isActive: true, at: Self.at(0))
        indicator.note(isActive: false, at: Self.at(10))
        #expect(indicator.pass(isActive: false, at: Self.at(1_000)) == nil)
        #expect(indicator.phase == .idle)
    }

    @Test func `activity that begins before the indicator would hide keeps it`() {
        var indicator = indicator()
        indicator.note(isActive: true, at: Self.at(0))
        _ = indicator.pass(isActive: true, at: Self.at(1_000))
        indicator.note(isActive: false, at: Self.at(2_000))
        indicator.note(isActive: true, at: Self.at(2_100))
        #expect(indicator.phase == .shown)
        #expect(indicator.pass(isActive: true, at: Self.at(2_170)) == nil)
        // The time of the first end is not that of the second.
        indicator.note(isActive: false, at: Self.at(2_160))
        #expect(indicator.pass(isActive: false, at: Self.at(2_170)) == nil)
        #expect(indicator.due == Self.at(2_330))
    }
}
