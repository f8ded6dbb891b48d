// Wherry: tests of bytes that share memory
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherrySystem

@Suite struct BytesTests {
    @Test("A part shares the memory of the original, and keeps it")
    func part() throws {
        weak var memory: ByteStorage?
        var part: Bytes
        do {
            let whole = Bytes("a head and its body")
            memory = whole.storage
            part = whole.part(11..<19)
            let place = try #require(whole.lent)
            #expect(part.lent == place + 11 && part.text == "its body")
            #expect(whole.array(2..<6) == Array("head".utf8) && whole.array(3..<3).isEmpty)
            #expect(whole.part(0..<19).lent == place && whole.part(7..<7).isEmpty)
        }
        #expect(memory != nil)
        part = part.part(4..<8)
        #expect(part.text == "body" && part == Bytes("body") && memory != nil)
        part = Bytes()
        #expect(memory == nil && part.part(0..<0).isEmpty)
    }

    @Test("The elements of any sequence are copied")
    func sequences() {
        #expect(
            Bytes([1, 2, 3][1...]) == [2, 3] && Bytes((1...3).lazy.map { $0 * 2 }) == [2, 4, 6])
        #expect(Bytes(Bytes("abc").reversed()).text == "cba" && Bytes([UInt8]()).isEmpty)
        #expect(
            Hex.encode([0x0F, 0xA0]) == "0fa0" && Hex.encode((1...2).map(UInt8.init)) == "0102")
    }
}
