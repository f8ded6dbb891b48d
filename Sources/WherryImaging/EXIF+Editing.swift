// Wherry: changing the texts and the location of an EXIF block.
// SPDX-License-Identifier: Apache-2.0

extension EXIF {
    /// Returns the block after the edits. All other entries and values keep their bytes, and values keep
    /// their offsets, on which the notes of camera makers depend.
    ///
    /// Returns `nil` for a malformed block, in which an old value could remain.
    func edited(_ edits: MetadataEdits) -> EXIF? {
        guard !edits.isEmpty else { return self }
        var block = withoutCopies()
        if let decimals = edits.locationDecimals { block = block?.withRoundedLocation(decimals) }
        guard var block, block.isRegular else { return nil }
        block.removeTimes(edits.removedGPSTags)
        guard block.setDetails(edits.removedTags, edits.detailTexts) else { return nil }
        let tags = edits.removedTags
        let main = edits.mainTexts.map { NewField($0) }
        let details = block.directory(Tag.exifDirectory, in: block.mainDirectory)
        for directory in block.walk().directories where directory != details {
            let isMain = directory == block.mainDirectory
            let start = block.change(directory, { tags.contains($0) }, adding: isMain ? main : [])
            if isMain { block.setMainDirectory(start) }
        }
        return block.isRegular && block.has(edits) ? block : nil
    }

    /// Whether nothing is left in the block: its only directory is empty.
    var isEmpty: Bool {
        guard let main = mainDirectory else { return true }
        return u16(main) == 0 && (u32(main + 2) ?? 0) == 0
    }

    // MARK: Parts

    /// An entry to be added, with its value in the byte order of the block.
    private struct NewField {
        let tag: Int
        let type: Int
        let count: Int
        let value: [UInt8]

        init(_ text: (tag: Int, text: String)) {
            tag = text.tag
            type = 2
            value = Array(text.text.utf8) + [0]
            count = value.count
        }

        init(tag: Int, type: Int, count: Int, value: [UInt8]) {
            self.tag = tag
            self.type = type
            self.count = count
            self.value = value
        }
    }

    /// Whether each directory lies inside the block, and at most one directory of each kind exists.
    private var isRegular: Bool {
        let (directories, isWhole) = walk()
        guard isWhole, let main = directories.first,
            (directory(Tag.gpsDirectory, in: main) ?? Self.headerSize) >= Self.headerSize
        else { return false }
        var pointers = 0
        for directory in directories {
            guard let count = u16(directory), count <= Self.mostEntries,
                directory + 2 + count * 12 <= bytes.count
            else { return false }
            for entry in entries(directory) where u16(entry) == Tag.exifDirectory {
                guard directory == main else { return false }
                pointers += 1
            }
        }
        return pointers <= 1
    }

    /// Whether the texts are those of the edits.
    private func has(_ edits: MetadataEdits) -> Bool {
        let main = mainDirectory
        let details = directory(Tag.exifDirectory, in: main)
        let tags = edits.removedTags
        let wanted = [(main, edits.mainTexts), (details, edits.detailTexts)]
        var left = 0
        for directory in walk().directories {
            left += entries(directory).filter { tags.contains(u16($0) ?? 0) }.count
        }
        var added = 0
        for (directory, texts) in wanted {
            for (tag, text) in texts {
                guard let found = value(tag, type: 2, in: directory),
                    bytes[found].elementsEqual(Array(text.utf8) + [0])
                else { return false }
                added += 1
            }
        }
        return left == added
    }

    private mutating func setMainDirectory(_ start: Int) {
        bytes.replaceSubrange(4..<8, with: field32(start))
    }

    /// Makes the entry of the main directory for another directory point to `start`.
    private mutating func setPointer(_ tag: Int, to start: Int) {
        guard let main = mainDirectory, let entry = entries(main).first(where: { u16($0) == tag })
        else { return }
        bytes.replaceSubrange(entry + 8..<entry + 12, with: field32(start))
    }

    private mutating func removeTimes(_ tags: Set<Int>) {
        guard !tags.isEmpty, let places = directory(Tag.gpsDirectory, in: mainDirectory) else {
            return
        }
        _ = change(places, { tags.contains($0) }, adding: [])
    }

    /// Changes the EXIF directory, creates it if it is needed, and removes it if it becomes empty.
    /// Returns `false` if this is not possible.
    private mutating func setDetails(
        _ tags: Set<Int>, _ texts: [(tag: Int, text: String)]
    ) -> Bool {
        guard let main = mainDirectory else { return false }
        let pointer: (Int) -> Bool = { $0 == Tag.exifDirectory }
        var fields = texts.map { NewField($0) }
        if let details = directory(Tag.exifDirectory, in: main) {
            guard u16(details) != nil else { return false }
            let start = change(details, { tags.contains($0) }, adding: fields)
            if start != details { setPointer(Tag.exifDirectory, to: start) }
            if u16(start) == 0 { setMainDirectory(change(main, pointer, adding: [])) }
            return true
        }
        guard !fields.isEmpty else { return true }
        // The version of EXIF that introduced the offset from UTC.
        let version = NewField(tag: 0x9000, type: 7, count: 4, value: Array("0232".utf8))
        fields.insert(version, at: 0)
        if bytes.count % 2 == 1 { bytes.append(0) }
        let empty = bytes.count
        bytes += [UInt8](repeating: 0, count: 6)
        let start = change(empty, { _ in false }, adding: fields)
        let link = NewField(tag: Tag.exifDirectory, type: 4, count: 1, value: field32(start))
        setMainDirectory(change(main, { _ in false }, adding: [link]))
        return true
    }

    // MARK: Location

    /// The entries of a GPS directory that reveal no more than a rounded location: version, letters,
    /// time, datum, and date.
    private static let coarsePlaces: Set<Int> = [0, 1, 3, 7, 18, 29]

    /// Returns the block with latitude and longitude rounded, and without the other values that reveal
    /// a place, such as the altitude. A location that cannot be read is removed.
    ///
    /// Returns `nil` for a malformed block.
    private func withRoundedLocation(_ decimals: Int) -> EXIF? {
        guard hasGPS else { return self }
        let main = mainDirectory
        let pointers = walk().directories.map { directory in
            entries(directory).filter { u16($0) == Tag.gpsDirectory }.count
        }
        guard isRegular, let places = directory(Tag.gpsDirectory, in: main),
            let position = PhotoInfo(self).position, pointers[0] == 1, pointers.reduce(0, +) == 1,
            entries(places).underestimatedCount <= Self.mostEntries,
            u16(places) == entries(places).underestimatedCount
        else { return withoutGPS() }
        var block = self
        let fields = [(2, position.latitude), (4, position.longitude)].map { tag, degrees in
            NewField(
                tag: tag, type: 5, count: 3, value: rounded(degrees, decimals).flatMap(field32))
        }
        let start = block.change(
            places, { !Self.coarsePlaces.contains($0) }, adding: fields, erasesShared: true)
        if start != places { block.setPointer(Tag.gpsDirectory, to: start) }
        return block
    }

    /// Returns the three fractions of a rounded angle: whole degrees and minutes, as cameras write them,
    /// and the exact seconds.
    private func rounded(_ degrees: Double, _ decimals: Int) -> [Int] {
        let scale = (0..<decimals).reduce(1) { power, _ in power * 10 }
        let units = Int((abs(degrees) * Double(scale)).rounded())
        let minutes = units % scale * 60
        return [units / scale, 1, minutes / scale, 1, minutes % scale * 60, scale]
    }

    // MARK: Directories

    /// Removes and adds entries of a directory, and returns its offset. A directory that becomes longer
    /// moves to the end of the block.
    ///
    /// - Parameter erasesShared: Whether to overwrite removed values even if another entry uses the same
    ///   bytes.
    private mutating func change(
        _ directory: Int, _ isRemoved: (Int) -> Bool, adding added: [NewField],
        erasesShared: Bool = false
    ) -> Int {
        let old = Array(entries(directory))
        let removed = Set(old.filter { u16($0).map(isRemoved) ?? false })
        guard !removed.isEmpty || !added.isEmpty else { return directory }
        let next = u32(directory + 2 + old.count * 12) ?? 0
        let others = usedRanges(without: removed)
        var free: [Int: Range<Int>] = [:]
        var erased: [Range<Int>] = []
        for entry in old where removed.contains(entry) {
            guard let place = storedValue(entry) else { continue }
            let isShared = others.contains { $0.overlaps(place) }
            if !isShared || erasesShared { erased.append(place) }
            let isTaken = isShared || free.values.contains { $0.overlaps(place) }
            if !isTaken, let tag = u16(entry) { free[tag] = place }
        }
        zero(erased)

        var fields: [(tag: Int, bytes: [UInt8])] = old.filter { !removed.contains($0) }.map {
            (u16($0) ?? 0, Array(bytes[$0..<$0 + 12]))
        }
        for field in added {
            let entry = field16(field.tag) + field16(field.type) + field32(field.count)
            // Entries are sorted by tag.
            let at = fields.firstIndex { $0.tag > field.tag } ?? fields.count
            fields.insert((field.tag, entry + store(field, in: free[field.tag])), at: at)
        }

        var start = directory
        let room = 2 + old.count * 12 + 4
        zero(directory, min(room, bytes.count - directory))
        if fields.count > old.count {
            if bytes.count % 2 == 1 { bytes.append(0) }
            start = bytes.count
            bytes += [UInt8](repeating: 0, count: 2 + fields.count * 12 + 4)
        }
        var new = field16(fields.count)
        for field in fields { new += field.bytes }
        new += field32(next)
        // The link of the last directory may be missing.
        let fitting = new.prefix(bytes.count - start)
        bytes.replaceSubrange(start..<start + fitting.count, with: fitting)
        return start
    }

    /// Overwrites ranges with zeros, each byte once: a thousand entries may claim the complete block.
    private mutating func zero(_ ranges: [Range<Int>]) {
        var done = 0
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let start = max(done, range.lowerBound)
            zero(start, range.upperBound - start)
            done = max(done, range.upperBound)
        }
    }

    /// Stores a value, and returns the last four bytes of its entry. Uses `place` if it is large enough.
    private mutating func store(_ field: NewField, in place: Range<Int>?) -> [UInt8] {
        let value = field.value
        guard value.count > 4 else {
            return value + [UInt8](repeating: 0, count: 4 - value.count)
        }
        if let place, place.count >= value.count {
            bytes.replaceSubrange(
                place.lowerBound..<place.lowerBound + value.count, with: value)
            return field32(place.lowerBound)
        }
        if bytes.count % 2 == 1 { bytes.append(0) }
        bytes += value
        return field32(bytes.count - value.count)
    }

    /// Returns where the value of an entry is stored outside the entry, inside the block and after the
    /// header; `nil` for a short or invalid value.
    func storedValue(_ entry: Int) -> Range<Int>? {
        guard let type = u16(entry + 2), let size = Self.valueSizes[type],
            let count = u32(entry + 4), count * size > 4, let start = u32(entry + 8),
            start >= Self.headerSize, count * size <= bytes.count - start
        else { return nil }
        return start..<start + count * size
    }

    /// Returns the bytes that directories and the values of their entries occupy, except those of some
    /// entries.
    private func usedRanges(without removed: Set<Int>) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var directories = walk().directories
        for tag in [Tag.gpsDirectory, 0xA005] {
            for known in directories {
                if let other = directory(tag, in: known), !directories.contains(other) {
                    directories.append(other)
                }
            }
        }
        for directory in directories where directory < bytes.count {
            let all = Array(entries(directory).prefix(Self.mostEntries))
            ranges.append(directory..<min(bytes.count, directory + 6 + all.count * 12))
            for entry in all where !removed.contains(entry) {
                if let place = storedValue(entry) { ranges.append(place) }
            }
        }
        return ranges
    }
}
