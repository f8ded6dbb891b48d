// Wherry: names of partial files and their journals.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// The names `.<name>.<8 digits>.part` and `.<name>.<8 digits>.journal`, in the directory of the
/// finished file (DR18).
package struct PartNames: Hashable, Sendable {
    /// The name of the finished file, truncated so that both names fit in 255 bytes.
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

    /// Returns the names that a download may use, in order of preference. It uses a later one if
    /// the files of an earlier one cannot be removed.
    static func candidates(for id: DownloadID, name: String) -> [PartNames] {
        id.digits.map { PartNames(name: name, digits: $0) }
    }

    /// Returns the names for a download in a directory: those of the files of an earlier run,
    /// otherwise the first free ones. Removes any other file with these names, if possible.
    static func usable(for id: DownloadID, name: String, in directory: Directory)
        throws(SystemError) -> PartNames
    {
        var free: PartNames?
        for names in candidates(for: id, name: name) {
            let part = try directory.status(of: names.part)
            let journal = try directory.status(of: names.journal)
            if part?.isPlainAndOurs == true, journal?.isPlainAndOurs == true { return names }
            guard free == nil else { continue }
            // A link of this user in place of the journal is reported and replaced later.
            if journal?.isOurs != true || journal?.kind == .directory {
                guard try makesWay(names.journal, journal, in: directory) else {
                    // Without its journal, the partial file is useless.
                    if part?.isPlainAndOurs == true,
                        let file = try PartFile.lockedFile(names.part, in: directory)
                    {
                        try withExtendedLifetime(file) { () throws(SystemError) in
                            _ = try directory.remove(names.part)
                        }
                    }
                    continue
                }
            }
            guard try makesWay(names.part, part, in: directory) else {
                if journal?.isPlainAndOurs == true { try directory.remove(names.journal) }
                continue
            }
            free = names
        }
        if let free { return free }
        // Every predictable name is taken. A random one is found again through its journal.
        for entry in try directory.names() {
            guard let (names, isJournal) = parse(entry), isJournal,
                let journal = try? JournalFile.open(entry, in: directory, isReadOnly: true),
                let record = try? journal.read(), record.id == id
            else { continue }
            return names
        }
        return PartNames(name: name, digits: try SystemRandom.hex(byteCount: 4))
    }

    /// Frees a name. Returns false if its file cannot be removed.
    static func makesWay(_ name: String, _ status: FileStatus?, in directory: Directory)
        throws(SystemError) -> Bool
    {
        guard let status, !status.isPlainAndOurs else { return true }
        do throws(SystemError) {
            try directory.remove(name)
            return true
        } catch {
            guard [EISDIR, EPERM, EACCES].contains(error.code) else { throw error }
            return false
        }
    }

    /// Parses a file name. Returns both names, and whether the file is the journal; `nil` for any
    /// other file.
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

    /// Truncates a name to the 237 bytes that the names have room for, between characters.
    static func stem(_ name: String) -> String { name.cut(toBytes: 255 - 18) }
}

extension String {
    /// Returns the text truncated to at most `limit` bytes, between Unicode scalars.
    package func cut(toBytes limit: Int) -> String {
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

    /// Returns the name with a number before its extension, as in `name (1).tar.gz`, at most 255
    /// bytes.
    func numbered(_ number: Int) -> String {
        let (base, ending) = splitEnding()
        let suffix = " (\(number))" + ending
        return base.cut(toBytes: 255 - suffix.utf8.count) + suffix
    }

    /// Splits the name from its extension with the dot; `.tar.gz` and the like count as one. An
    /// extension never starts the name, and has at most 16 bytes.
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
