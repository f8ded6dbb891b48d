// Wherry: the names of a partial file and its journal
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// `.<name>.<8 digits>.part` and `.<name>.<8 digits>.journal`, beside the file to be (DR18).
package struct PartNames: Hashable, Sendable {
    /// The name of the file to be, cut so that the longest of the names still fits in 255 bytes.
    package let stem: String
    /// 8 hexadecimal digits.
    package let digits: String

    package var part: String { ".\(stem).\(digits).part" }
    package var journal: String { ".\(stem).\(digits).journal" }

    package init(name: String, digits: String) {
        stem = PartNames.stem(name)
        self.digits = digits
    }

    private init(stem: String, digits: String) {
        self.stem = stem
        self.digits = digits
    }

    /// The names that one of them belongs to, and whether it is the journal's; `nil` for a file
    /// that is neither.
    package static func parse(_ file: String) -> (names: PartNames, isJournal: Bool)? {
        guard file.utf8.first == UInt8(ascii: ".") else { return nil }
        let isJournal = file.hasSuffix(".journal")
        guard isJournal || file.hasSuffix(".part") else { return nil }
        let inner = file.dropFirst().dropLast(isJournal ? 8 : 5)
        let digits = inner.utf8.suffix(8)
        let stem = inner.utf8.dropLast(9)
        guard digits.count == 8, inner.utf8.count > 9, !stem.isEmpty,
            digits.allSatisfy({ Hex.value($0) != nil && !(0x41...0x46).contains($0) }),
            inner.utf8.dropLast(8).last == UInt8(ascii: "."),
            let stemText = String(stem), let digitText = String(digits)
        else { return nil }
        return (PartNames(stem: stemText, digits: digitText), isJournal)
    }

    /// The part of a name that stands in ours: 237 bytes at most, cut between characters.
    static func stem(_ name: String) -> String { name.cut(toBytes: 255 - 18) }
}

extension String {
    /// At most so many bytes of the text, cut between scalars.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var kept = String.UnicodeScalarView()
        var size = 0
        for scalar in unicodeScalars {
            size += UTF8.width(scalar)
            if size > limit { break }
            kept.append(scalar)
        }
        return String(kept)
    }

    /// `name (1).tar.gz` style: the name with a number before its ending, at most 255 bytes.
    func numbered(_ number: Int) -> String {
        let (base, ending) = splitEnding()
        let suffix = " (\(number))" + ending
        return base.cut(toBytes: 255 - suffix.utf8.count) + suffix
    }

    /// The name and its ending with the dot; `.tar.gz` and the like count as one. No ending at the
    /// start of a name, and none longer than 16 bytes.
    private func splitEnding() -> (base: String, ending: String) {
        guard let dot = lastIndex(of: "."), dot != startIndex else { return (self, "") }
        var cut = dot
        let packed = [".gz", ".bz2", ".xz", ".zst", ".lz", ".Z"]
        if packed.contains(String(self[dot...])), let tar = self[..<dot].lastIndex(of: "."),
            tar != startIndex, self[tar..<dot] == ".tar"
        {
            cut = tar
        }
        let ending = String(self[cut...])
        guard ending.utf8.count <= 16 else { return (self, "") }
        return (String(self[..<cut]), ending)
    }
}
