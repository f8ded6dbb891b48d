// Wherry: tests of the current access
// SPDX-License-Identifier: Apache-2.0

import Testing

import WherryCore
@testable import WherryModels

@Suite struct EndpointLifecycleTests {
    @Test("O2 a new access replaces the one in flight, whose late end changes nothing")
    func replacing() {
        var cycle = EndpointLifecycle()
        #expect(cycle.state == .created && !cycle.mayCancel)

        let first = cycle.begin()
        #expect(!first.replaces && cycle.state == .loading && cycle.mayCancel)
        let second = cycle.begin()
        #expect(second.replaces)

        // The fault of the original library: this made the new access fail.
        #expect(cycle.end(first.number, .failed) == .replaced)
        #expect(cycle.state == .loading)
        #expect(cycle.end(second.number, .succeeded) == .tell)
        #expect(cycle.state == .succeeded)
    }

    @Test("O2 an end is reported once, and the next access replaces nothing")
    func ending() {
        var cycle = EndpointLifecycle()
        let first = cycle.begin().number
        #expect(cycle.end(first, .cancelled) == .tell)
        #expect(cycle.state == .cancelled && !cycle.mayCancel)
        #expect(cycle.end(first, .succeeded) == .replaced)
        #expect(cycle.state == .cancelled)
        #expect(!cycle.begin().replaces)
    }
}
