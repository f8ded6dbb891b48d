// Wherry: the orientation in an XMP packet.
// SPDX-License-Identifier: Apache-2.0

internal import WherrySystem

/// An XMP packet, of which only the orientation is used.
///
/// The packet is not parsed as XML. The first attribute or element `tiff:Orientation` with a value
/// of 1 to 8 counts, with the prefix that the packet declares for the TIFF namespace.
struct XMP {
    private(set) var bytes: [UInt8]
    /// The offset of the orientation digit.
    private let place: Int?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        place = Self.find(in: bytes)
    }

    /// 1...8; `nil` if the packet has no valid orientation.
    var orientation: Int? { place.map { Int(bytes[$0]) - 0x30 } }

    /// Replaces the orientation, if there is one.
    mutating func setOrientation(_ value: Int) {
        if let place, (1...8).contains(value) { bytes[place] = UInt8(0x30 + value) }
    }

    // MARK: Parsing

    private static let namespace = Array("http://ns.adobe.com/tiff/1.0/".utf8)

    private static func find(in bytes: [UInt8]) -> Int? {
        let name = prefix(in: bytes) + Array(":Orientation".utf8)
        var from = 0
        while let found = offset(of: name, in: bytes, from: from) {
            from = found + name.count
            if let place = digit(in: bytes, after: from) { return place }
        }
        return nil
    }

    /// Returns the name in `xmlns:NAME="http://ns.adobe.com/tiff/1.0/"`; default: `tiff`.
    private static func prefix(in bytes: [UInt8]) -> [UInt8] {
        let usual = Array("tiff".utf8)
        guard let found = offset(of: namespace, in: bytes, from: 0), found >= 2,
            bytes[found - 2] == 0x3D
        else { return usual }
        let isNameByte: (UInt8) -> Bool = {
            $0 > 0x20 && ![0x22, 0x27, 0x3A, 0x3C, 0x3D, 0x3E].contains($0)
        }
        let name = bytes[..<(found - 2)].suffix(64).reversed().prefix(while: isNameByte)
        return name.isEmpty ? usual : name.reversed()
    }

    /// Returns the offset of the one digit in `="6"` or `>6<` at `start`.
    private static func digit(in bytes: [UInt8], after start: Int) -> Int? {
        var at = start
        func skipSpaces() {
            while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) { at += 1 }
        }
        func take(_ wanted: [UInt8]) -> UInt8? {
            skipSpaces()
            guard at < bytes.count, wanted.contains(bytes[at]) else { return nil }
            at += 1
            return bytes[at - 1]
        }
        let close: UInt8
        switch take([0x3D, 0x3E]) {
        case 0x3D:
            guard let quote = take([0x22, 0x27]) else { return nil }
            close = quote
        case 0x3E: close = 0x3C
        default: return nil
        }
        guard take(Array(0x31...0x38)) != nil else { return nil }
        let place = at - 1
        return take([close]) == nil ? nil : place
    }

    private static func offset(of text: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard let first = text.first, bytes.count >= text.count else { return nil }
        var at = start
        while let found = bytes[at...].firstIndex(of: first) {
            guard found + text.count <= bytes.count else { return nil }
            if bytes[found..<found + text.count].elementsEqual(text) { return found }
            at = found + 1
        }
        return nil
    }

    // MARK: PNG

    static let keyword = Array("XML:com.adobe.xmp\0".utf8)
    /// The size limit in bytes, before and after decompression. Longer packets are ignored.
    private static let longest = 1 << 20

    /// Returns the XMP packet of an iTXt chunk, decompressed if needed; `nil` for other texts, and
    /// for a damaged or longer packet.
    static func text(
        _ chunk: PNGLayout.Chunk, _ input: ImageInput
    ) throws(ImagingError) -> [UInt8]? {
        guard chunk.data.count <= longest else { return nil }
        let data = try input.copy(chunk.data)
        guard data.starts(with: keyword), data.count > keyword.count + 2 else { return nil }
        let isCompressed = data[keyword.count] == 1
        // The language tag and the translated keyword come first, each zero-terminated.
        let parts = data[(keyword.count + 2)...].split(
            separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        return isCompressed ? inflate(Array(parts[2])) : Array(parts[2])
    }

    private static func inflate(_ bytes: [UInt8]) -> [UInt8]? {
        let inflater = Inflater(.deflate)
        var text: [UInt8] = []
        let isWhole = bytes.withUnsafeBytes { input in
            do throws(InflateError) {
                return try inflater.feed(input) { piece in
                    text += piece
                    return text.count <= longest
                }
            } catch {
                return false  // ignore a damaged packet
            }
        }
        return isWhole ? text : nil
    }

    /// The packet as an uncompressed iTXt chunk.
    var chunk: [UInt8] { PNGLayout.chunk("iTXt", Self.keyword + [0, 0, 0, 0] + bytes) }
}
