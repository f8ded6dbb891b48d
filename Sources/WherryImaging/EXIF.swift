// Wherry: the EXIF data that matter for an upload.
// SPDX-License-Identifier: Apache-2.0

/// An EXIF block: a TIFF structure, without JPEG's "Exif\0\0" prefix.
///
/// The data are untrusted: offsets may point anywhere, and directories may refer to themselves.
struct EXIF {
    var bytes: [UInt8]
    private let isLittle: Bool

    enum Tag {
        static let orientation = 0x0112
        static let exifDirectory = 0x8769
        static let gpsDirectory = 0x8825
        /// XMP, and the resources of Photoshop, which can contain copies of EXIF and XMP.
        static let copies: Set<Int> = [0x02BC, 0x8649]
    }

    /// Returns `nil` if the bytes do not start with a TIFF header.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 8 else { return nil }
        switch (bytes[0], bytes[1]) {
        case (0x49, 0x49): isLittle = true
        case (0x4D, 0x4D): isLittle = false
        default: return nil
        }
        self.bytes = bytes
        guard u16(2) == 42 else { return nil }
    }

    /// A block with an empty main directory, to which fields are added.
    static var empty: [UInt8] { [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0] }

    /// Returns the smallest block with an orientation.
    static func minimal(orientation: Int) -> [UInt8] {
        [
            0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1,
            0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, UInt8(clamping: orientation), 0, 0,
            0, 0, 0, 0,
        ]
    }

    /// 1...8; `nil` if the block has no valid orientation.
    var orientation: Int? {
        guard let entry = orientationEntry, let value = u16(entry + 8), (1...8).contains(value)
        else { return nil }
        return value
    }

    var hasGPS: Bool {
        directories.contains { entries($0).contains { u16($0) == Tag.gpsDirectory } }
    }

    /// Sets the orientation. Adds an entry if the block has none, unless the value is 1.
    mutating func setOrientation(_ value: Int) {
        guard let entry = orientationEntry else { return addOrientation(value) }
        let low = entry + 8 + (isLittle ? 0 : 1)
        bytes[low] = UInt8(clamping: value)
        bytes[entry + 8 + (isLittle ? 1 : 0)] = 0
    }

    /// Appends a copy of the main directory with an added orientation entry.
    private mutating func addOrientation(_ value: Int) {
        guard value != 1, let main = u32(4), let count = u16(main), count < Self.mostEntries,
            main + 2 + count * 12 <= bytes.count
        else { return }
        // Directories start at even offsets; their entries are sorted by tag.
        if bytes.count % 2 == 1 { bytes.append(0) }
        let start = bytes.count
        let all = entries(main)
        let before = all.prefix { (u16($0) ?? 0) < Tag.orientation }
        let after = all.dropFirst(before.count).filter { u16($0) != Tag.orientation }
        var directory = field16(before.count + 1 + after.count)
        for entry in before { directory += bytes[entry..<entry + 12] }
        directory += field16(Tag.orientation) + field16(3) + field32(1) + field16(value) + [0, 0]
        for entry in after { directory += bytes[entry..<entry + 12] }
        directory += field32(u32(main + 2 + count * 12) ?? 0)
        bytes += directory
        bytes.replaceSubrange(4..<8, with: field32(start))
    }

    /// Returns the block without GPS directories, with their data overwritten by zeros.
    ///
    /// Returns `nil` for a block that no camera writes: several GPS directories in one, a directory
    /// that starts in the TIFF header, or more entries or directories than the limits. Something
    /// could remain in it, and a large one would take quadratic time.
    func withoutGPS() -> EXIF? {
        let (directories, isWhole) = walk()
        guard isWhole, var clean = withoutCopies() else { return nil }
        // Values may overlap, but a valid block uses each byte once.
        var room = 2 * bytes.count
        for directory in directories {
            let all = clean.entries(directory)
            guard all.underestimatedCount <= Self.mostEntries else { return nil }
            let places = all.filter { clean.u16($0) == Tag.gpsDirectory }
            guard let place = places.first else { continue }
            guard places.count == 1 else { return nil }
            if let target = clean.u32(place + 8) {
                guard clean.wipe(target, &room) else { return nil }
            }
            clean.remove(place, of: directory)
        }
        return clean.hasGPS ? nil : clean
    }

    /// Returns the block without XMP and without resources of Photoshop, which can repeat its fields.
    ///
    /// Returns `nil` for a block with more entries than the limit, or with many large copies.
    func withoutCopies() -> EXIF? {
        var clean = self
        // As in `withoutGPS`.
        var room = 2 * bytes.count
        for directory in directories {
            guard clean.entries(directory).underestimatedCount <= Self.mostEntries else {
                return nil
            }
            while let entry = clean.entries(directory).first(where: {
                clean.u16($0).map(Tag.copies.contains) ?? false
            }) {
                if let place = clean.storedValue(entry) {
                    room -= clean.zero(place.lowerBound, place.count)
                    guard room >= 0 else { return nil }
                }
                clean.remove(entry, of: directory)
            }
        }
        return clean
    }

    // MARK: Directories

    private static let mostDirectories = 4
    /// The entry limit of a directory; cameras write a few dozen.
    static let mostEntries = 1_000

    private var directories: [Int] { walk().directories }

    /// The size of the TIFF header, in which no directory can start.
    static let headerSize = 8

    /// Returns the main, thumbnail and EXIF directories, each once, and whether none is missing or
    /// starts in the TIFF header.
    func walk() -> (directories: [Int], isWhole: Bool) {
        var found: [Int] = []
        var next = u32(4)
        while let directory = next, directory != 0, !found.contains(directory),
            let count = u16(directory)
        {
            guard found.count < Self.mostDirectories else { return (found, false) }
            found.append(directory)
            for entry in entries(directory) where u16(entry) == Tag.exifDirectory {
                guard let inner = u32(entry + 8), !found.contains(inner) else { continue }
                guard found.count < Self.mostDirectories else { return (found, false) }
                found.append(inner)
            }
            next = u32(directory + 2 + count * 12)
        }
        return (found, found.allSatisfy { $0 >= Self.headerSize })
    }

    /// The offset of the main directory; `nil` for a truncated block.
    var mainDirectory: Int? { u32(4) }

    /// Returns the directory that an entry of another one points to.
    func directory(_ tag: Int, in directory: Int?) -> Int? {
        guard let directory, let entry = entries(directory).first(where: { u16($0) == tag }) else {
            return nil
        }
        return u32(entry + 8)
    }

    /// Returns the range of the value of a tag; `nil` if it has another type or leaves the block.
    func value(_ tag: Int, type: Int, in directory: Int?) -> Range<Int>? {
        guard let directory,
            let entry = entries(directory).first(where: { u16($0) == tag && u16($0 + 2) == type }),
            let count = u32(entry + 4), let size = Self.valueSizes[type]
        else { return nil }
        let length = count * size
        guard let start = length <= 4 ? entry + 8 : u32(entry + 8), start >= 0,
            start <= bytes.count, length <= bytes.count - start
        else { return nil }
        return start..<start + length
    }

    /// Returns the offsets of a directory's entries that lie within the block.
    func entries(_ directory: Int) -> StrideTo<Int> {
        let first = directory + 2
        let room = max(0, (bytes.count - first) / 12)
        let count = min(u16(directory) ?? 0, room)
        return stride(from: first, to: first + count * 12, by: 12)
    }

    private var orientationEntry: Int? {
        guard let main = u32(4) else { return nil }
        return entries(main).first { u16($0) == Tag.orientation && u16($0 + 2) == 3 }
    }

    static let valueSizes = [
        1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8,
    ]

    /// Overwrites a directory and the values of its entries with zeros. Returns `false`, with only
    /// a part done, if those are more than `room` bytes.
    private mutating func wipe(_ directory: Int, _ room: inout Int) -> Bool {
        for entry in entries(directory) {
            guard let type = u16(entry + 2), let count = u32(entry + 4) else { continue }
            let length = count * (Self.valueSizes[type] ?? 1)
            if length > 4, let target = u32(entry + 8) { room -= zero(target, length) }
            room -= zero(entry, 12)
            guard room >= 0 else { return false }
        }
        zero(directory, 2)
        return true
    }

    /// Overwrites a range with zeros and returns the number of bytes.
    @discardableResult
    mutating func zero(_ offset: Int, _ length: Int) -> Int {
        // Protects the TIFF header, and ignores what an entry claims beyond the block.
        let start = max(Self.headerSize, offset)
        let end = min(bytes.count, offset + length)
        guard start < end else { return 0 }
        for at in start..<end { bytes[at] = 0 }
        return end - start
    }

    /// Moves the later entries and the link to the next directory up by one entry.
    private mutating func remove(_ entry: Int, of directory: Int) {
        guard let count = u16(directory), count > 0 else { return }
        let end = min(bytes.count, directory + 2 + count * 12 + 4)
        for at in entry..<max(entry, end - 12) { bytes[at] = bytes[at + 12] }
        zero(end - 12, 12)
        let fewer = count - 1
        bytes[directory] = UInt8(isLittle ? fewer & 0xFF : fewer >> 8)
        bytes[directory + 1] = UInt8(isLittle ? fewer >> 8 : fewer & 0xFF)
    }

    // MARK: Numbers

    func field16(_ value: Int) -> [UInt8] {
        let pair = [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
        return isLittle ? pair.reversed() : pair
    }

    func field32(_ value: Int) -> [UInt8] {
        isLittle
            ? field16(value) + field16(value >> 16) : field16(value >> 16) + field16(value)
    }

    func u16(_ offset: Int) -> Int? {
        guard offset >= 0, offset + 2 <= bytes.count else { return nil }
        let a = Int(bytes[offset])
        let b = Int(bytes[offset + 1])
        return isLittle ? b << 8 | a : a << 8 | b
    }

    func u32(_ offset: Int) -> Int? {
        guard let a = u16(offset), let b = u16(offset + 2) else { return nil }
        return isLittle ? b << 16 | a : a << 16 | b
    }
}
