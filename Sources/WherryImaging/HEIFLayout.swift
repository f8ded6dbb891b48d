// Wherry: the items of a HEIC or AVIF file.
// SPDX-License-Identifier: Apache-2.0

/// The items of a HEIC or AVIF file, found without decoding (ISO 14496-12 and 23008-12).
///
/// Refuses whatever another parser could understand differently, such as a box that occurs twice:
/// libheif must not decode other items than those that were checked.
struct HEIFLayout {
    struct Box {
        let type: String
        let content: Range<Int>
    }

    struct Item {
        let type: String
        /// The parts of its data, in the file.
        var extents: [Range<Int>] = []
        /// Indexes of `properties`.
        var properties: [Int] = []
        /// The items that it is made of.
        var inputs: [Int] = []
        /// The items that hold its alpha.
        var alphas: [Int] = []

        var byteCount: Int { extents.reduce(0) { $0 + $1.count } }
    }

    private(set) var items: [Int: Item] = [:]
    private(set) var properties: [Box] = []
    private(set) var primary = 0

    /// The largest box, except for image data. Cameras write a few kilobytes.
    private static let mostBytes = 4 << 20

    static let unsupported = ImagingError(
        .image, "unsupported_image", "The image has an unusual structure, which is not supported.")
    static let damaged = ImagingError.badImage("The image is damaged: a box is invalid.")

    init(_ input: ImageInput) throws(ImagingError) {
        var meta: Range<Int>?
        var file = Cursor(input, 0..<input.count)
        // Bytes after the last valid box are ignored, as by libheif.
        while let box = try? file.box() {
            guard box.type != "mini", box.type != "meta" || meta == nil else {
                throw Self.unsupported
            }
            if box.type == "meta" { meta = box.content }
        }
        guard let meta else { throw .truncated("The image is truncated: its header is missing.") }
        var cursor = Cursor(input, meta)
        _ = try cursor.fullBox()
        let boxes = try Self.unique(
            &cursor, ["pitm", "iinf", "iloc", "iref", "iprp", "idat"])
        try readItems(input, boxes["iinf"])
        try readLocations(input, boxes["iloc"], idat: boxes["idat"])
        try readProperties(input, boxes["iprp"])
        if let references = boxes["iref"] { try readReferences(input, references) }
        guard let range = boxes["pitm"] else { throw Self.damaged }
        cursor = Cursor(input, range)
        primary = try cursor.number(cursor.fullBox().version == 0 ? 2 : 4)
    }

    /// Returns the boxes up to the end of a cursor that have one of the types, each of which may
    /// occur once.
    private static func unique(
        _ cursor: inout Cursor, _ types: Set<String>
    ) throws(ImagingError) -> [String: Range<Int>] {
        var found: [String: Range<Int>] = [:]
        while let box = try cursor.box() {
            guard types.contains(box.type) else { continue }
            let isShort = box.type == "idat" || box.content.count <= mostBytes
            guard isShort, found.updateValue(box.content, forKey: box.type) == nil else {
                throw unsupported
            }
        }
        return found
    }

    private mutating func readItems(
        _ input: ImageInput, _ range: Range<Int>?
    ) throws(ImagingError) {
        guard let range else { throw Self.damaged }
        var cursor = Cursor(input, range)
        _ = try cursor.number(cursor.fullBox().version == 0 ? 2 : 4)
        while let box = try cursor.box() {
            guard box.type == "infe" else { continue }
            var entry = Cursor(input, box.content)
            let version = try entry.fullBox().version
            let id = try entry.number(version <= 2 ? 2 : 4)
            _ = try entry.number(2)
            let type = version < 2 ? "" : try entry.type()
            guard items.updateValue(Item(type: type), forKey: id) == nil else {
                throw Self.unsupported
            }
        }
    }

    private mutating func readLocations(
        _ input: ImageInput, _ range: Range<Int>?, idat: Range<Int>?
    ) throws(ImagingError) {
        guard let range else { throw Self.damaged }
        var cursor = Cursor(input, range)
        let version = try cursor.fullBox().version
        let sizes = try cursor.number(2)
        let offsetSize = sizes >> 12
        let lengthSize = sizes >> 8 & 15
        let baseSize = sizes >> 4 & 15
        let known = [0, 4, 8]
        guard version <= 2, known.contains(offsetSize), [4, 8].contains(lengthSize),
            known.contains(baseSize), version == 0 || sizes & 15 == 0
        else { throw Self.unsupported }
        var seen: Set<Int> = []
        for _ in 0..<(try cursor.number(version < 2 ? 2 : 4)) {
            let id = try cursor.number(version < 2 ? 2 : 4)
            let method = version == 0 ? 0 : try cursor.number(2) & 15
            _ = try cursor.number(2)
            let base = try cursor.number(baseSize)
            var extents: [Range<Int>] = []
            let bounds = method == 0 ? 0..<input.count : method == 1 ? idat : nil
            for _ in 0..<(try cursor.number(2)) {
                let (start, isFar) = try base.addingReportingOverflow(cursor.number(offsetSize))
                let length = try cursor.number(lengthSize)
                // An item that is not decoded may be anywhere.
                guard let bounds, !isFar, length > 0, start <= bounds.count,
                    length <= bounds.count - start
                else {
                    extents = []
                    break
                }
                extents.append(bounds.lowerBound + start..<bounds.lowerBound + start + length)
            }
            guard seen.insert(id).inserted else { throw Self.unsupported }
            items[id]?.extents = extents
        }
    }

    private mutating func readProperties(
        _ input: ImageInput, _ range: Range<Int>?
    ) throws(ImagingError) {
        guard let range else { throw Self.damaged }
        var cursor = Cursor(input, range)
        guard let container = try Self.unique(&cursor, ["ipco"])["ipco"] else { throw Self.damaged }
        cursor = Cursor(input, container)
        while let box = try cursor.box() { properties.append(box) }
        cursor = Cursor(input, range)
        while let box = try cursor.box() {
            guard box.type == "ipma" else { continue }
            var entries = Cursor(input, box.content)
            let (version, flags) = try entries.fullBox()
            for _ in 0..<(try entries.number(4)) {
                let id = try entries.number(version == 0 ? 2 : 4)
                for _ in 0..<(try entries.number(1)) {
                    let isLong = flags & 1 == 1
                    let index = try entries.number(isLong ? 2 : 1) & (isLong ? 0x7FFF : 0x7F)
                    guard index <= properties.count else { throw Self.damaged }
                    if index > 0 { items[id]?.properties.append(index - 1) }
                }
            }
        }
    }

    private mutating func readReferences(
        _ input: ImageInput, _ range: Range<Int>
    ) throws(ImagingError) {
        var cursor = Cursor(input, range)
        let idSize = try cursor.fullBox().version == 0 ? 2 : 4
        while let box = try cursor.box() {
            var entry = Cursor(input, box.content)
            let from = try entry.number(idSize)
            let isAlpha = box.type == "auxl" ? try isAlpha(from, input) : false
            for _ in 0..<(try entry.number(2)) {
                let to = try entry.number(idSize)
                if box.type == "dimg" { items[from]?.inputs.append(to) }
                if isAlpha { items[to]?.alphas.append(from) }
            }
        }
    }

    /// Whether an auxiliary item holds alpha, and not a depth or gain map, which is not decoded.
    private func isAlpha(_ id: Int, _ input: ImageInput) throws(ImagingError) -> Bool {
        for property in items[id]?.properties ?? [] where properties[property].type == "auxC" {
            let content = properties[property].content
            let bytes = try input.copy(content.prefix(132)).dropFirst(4)
            let name = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            if name.hasSuffix(":auxid:1") || name.contains("alpha") { return true }
        }
        return false
    }

    /// Returns the indexes of the properties of a type that an item has.
    func properties(of item: Item, _ type: String) -> [Int] {
        item.properties.filter { properties[$0].type == type }
    }

    // MARK: Reading

    /// Reads numbers and boxes within a range.
    struct Cursor {
        let input: ImageInput
        private(set) var at: Int
        private let end: Int

        init(_ input: ImageInput, _ range: Range<Int>) {
            self.input = input
            at = range.lowerBound
            end = range.upperBound
        }

        var left: Int { end - at }

        /// Reads a big-endian number.
        mutating func number(_ size: Int) throws(ImagingError) -> Int {
            guard size <= left else { throw HEIFLayout.damaged }
            var value = 0
            for offset in 0..<size {
                guard value >> 55 == 0 else { throw HEIFLayout.damaged }
                value = try value << 8 | Int(input.byte(at: at + offset))
            }
            at += size
            return value
        }

        mutating func type() throws(ImagingError) -> String {
            guard left >= 4 else { throw HEIFLayout.damaged }
            at += 4
            return String(decoding: try input.copy(at - 4..<at), as: UTF8.self)
        }

        mutating func skip(_ count: Int) throws(ImagingError) {
            guard count <= left else { throw HEIFLayout.damaged }
            at += count
        }

        mutating func fullBox() throws(ImagingError) -> (version: Int, flags: Int) {
            let word = try number(4)
            return (word >> 24, word & 0xFF_FFFF)
        }

        /// Reads the next box; `nil` at the end.
        mutating func box() throws(ImagingError) -> Box? {
            guard left > 0 else { return nil }
            let start = at
            var size = try number(4)
            let type = try type()
            if size == 1 { size = try number(8) }
            if type == "uuid" { try skip(16) }
            guard size >= at - start, size <= end - start else { throw HEIFLayout.damaged }
            let content = at..<start + size
            at = start + size
            return Box(type: type, content: content)
        }
    }
}
