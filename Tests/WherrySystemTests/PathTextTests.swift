// Wherry: tests of paths as text.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherrySystem

@Suite struct PathTextTests {
    @Test("A UTF-8 path is its own text")
    func utf8() {
        for path in ["", "/a/b", "café", "日本", "🚢", "\u{F000}", "a\u{301}"] {
            #expect(PathText.text(path.utf8).utf8.elementsEqual(path.utf8))
            #expect(PathText.bytes(path) == Array(path.utf8))
            #expect(!PathText.hasRawBytes(path))
        }
    }

    @Test("Every sequence of bytes round-trips through a unique text")
    func everyByte() {
        var texts: Set<[UInt8]> = []
        var count = 0
        let marks: [UInt8] = [0x41, 0x80, 0xBE, 0xBF, 0xC3, 0xE2, 0xEE, 0xEF, 0xF0, 0xFF]
        for first in marks {
            for second in marks {
                for third in marks {
                    for fourth in marks {
                        let bytes = [first, second, third, fourth]
                        let text = PathText.text(bytes)
                        #expect(PathText.bytes(text) == bytes)
                        texts.insert(Array(text.utf8))
                        count += 1
                    }
                }
            }
        }
        #expect(texts.count == count)
    }

    @Test("A raw byte is one private character, and a message shows it in hexadecimal")
    func shown() {
        let text = PathText.text([0x63, 0xE9])
        #expect(text == "c\u{EFE9}")
        #expect(PathText.hasRawBytes(text))
        #expect(PathText.shown(text) == "c\\xE9")
        #expect(PathText.text("\u{EFE9}".utf8).unicodeScalars.count == 3)
    }

    @Test("A directory lists names that are not UTF-8, and opens and removes them")
    func directory() throws {
        let path = "/tmp/wherry-path-text-\(try SystemRandom.hex(byteCount: 8))"
        try Directory.makePrivate(path)
        let folder = try Directory.open(path)
        let name = PathText.text([0x63, 0xE9])
        do {
            let file = try File.open(name, [.write, .create], in: folder)
            try file.write([1, 2], at: 0)
        }
        #expect(try folder.names() == [name])
        #expect(folder.contents(of: name, limit: 10)?.array == [1, 2])
        try folder.rename(name, to: name + name, replacing: false)
        #expect(try folder.status(of: name + name)?.size == 2)
        #expect(try folder.remove(name + name))
        try Directory.open("/tmp").removeDirectory(String(path.dropFirst(5)))
    }
}
