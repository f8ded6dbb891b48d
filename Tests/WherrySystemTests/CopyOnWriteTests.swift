// Wherry: tests of copy-on-write values
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherrySystem

@Suite struct CopyOnWriteTests {
    @Test func `only the copy that makes a change sees it`() {
        var first = CopyOnWrite([1, 2])
        let second = first

        first.value.append(3)

        #expect(first.value == [1, 2, 3])
        #expect(second.value == [1, 2])
    }

    @Test func `an unshared value is changed in place`() {
        var alone = CopyOnWrite([1, 2])
        let storage = ObjectIdentifier(alone.storage)

        alone.value[0] = 7

        #expect(alone.value == [7, 2])
        #expect(ObjectIdentifier(alone.storage) == storage)
    }
}
