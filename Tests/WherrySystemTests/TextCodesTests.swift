// Wherry: tests of hexadecimal, percent-escapes, Base64, letter case, and random bytes.
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@Suite struct TextCodesTests {
    @Test("Hexadecimal digits decode to the original bytes")
    func hexRoundTrip() {
        let all = (UInt8.min...UInt8.max).map { $0 }
        let text = Hex.encode(all)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff") && text.count == 512)
        #expect(Hex.decode(text) == all)
        #expect(Hex.decode(text.uppercased()) == all)
        #expect(Hex.decode("") == [])
    }

    @Test("Text that is not hexadecimal is refused", arguments: ["0", "0g", "g0", " 0", "é", "0x"])
    func hexRefused(text: String) {
        #expect(Hex.decode(text) == nil)
    }

    @Test("Percent-escapes of every byte round-trip, and incomplete ones are refused")
    func percentEscapes() {
        let all = (UInt8.min...UInt8.max).map { $0 }
        var text: [UInt8] = []
        for byte in all { PercentCoding.append(byte, to: &text) }
        #expect(String(decoding: text.suffix(6), as: UTF8.self) == "%FE%FF")
        #expect(PercentCoding.decode(text) == all)
        #expect(PercentCoding.decode(Array("a%2fb".utf8)) == Array("a/b".utf8))
        for bad in ["%", "%4", "%4g", "%%41"] {
            #expect(PercentCoding.decode(Array(bad.utf8)) == nil, "\(bad)")
        }
    }

    @Test("Only ASCII capitals become lowercase")
    func asciiLowercase() {
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        for byte in UInt8.min...UInt8.max {
            #expect(byte.asciiLowercased == (capitals.contains(byte) ? byte + 32 : byte))
        }
        #expect(
            "ABC-xyz[@`{ \u{C4}\u{130}\u{212A}".asciiLowercased
                == "abc-xyz[@`{ \u{C4}\u{130}\u{212A}")
    }

    @Test(
        "Base64 matches the vectors of RFC 4648, section 10",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
        ])
    func base64Vectors(plain: String, coded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == coded)
        #expect(Base64.decode(coded) == Array(plain.utf8))
    }

    @Test("Base64 of every length round-trips")
    func base64RoundTrip() {
        for count in 0...300 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        }
    }

    @Test(
        "Non-canonical Base64 is refused",
        arguments: [
            "Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm9v\n", "Zm 9", "====", "Z===", "-_-_",
        ])
    func base64Refused(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("Random bytes have the requested length and do not repeat")
    func random() throws {
        #expect(try SystemRandom.bytes(0).isEmpty)
        #expect(try SystemRandom.bytes(-1).isEmpty)
        #expect(try SystemRandom.bytes(100_000).count == 100_000)
        let names = try Set((0..<64).map { _ in try SystemRandom.hex(byteCount: 16) })
        #expect(names.count == 64 && names.allSatisfy { $0.count == 32 })
    }
}
