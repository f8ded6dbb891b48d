// Wherry: the segments of a JPEG file.
// SPDX-License-Identifier: Apache-2.0

/// The marker segments of a JPEG file, found without decoding.
struct JPEGLayout {
    struct Segment {
        /// The second byte of the marker.
        let code: UInt8
        /// From the 0xFF to the end of the payload; for SOS also the coded data after it.
        let range: Range<Int>

        enum Kind { case image, jfif, jfxx, adobe, exif, xmp, xmpExtension, icc, mpf, other }
        let kind: Kind
    }

    private(set) var segments: [Segment] = []
    private(set) var width = 0
    private(set) var height = 0
    private(set) var components = 0
    private(set) var bits = 0
    private(set) var isProgressive = false
    /// Whether the scans are arithmetic-coded, which few programs can decode.
    private(set) var isArithmetic = false
    /// The offset after the EOI marker; `nil` if only the header was read.
    private(set) var end: Int?

    /// More than any camera writes. Bounds the memory for a file of nothing but comments.
    private static let mostSegments = 20_000

    /// Parses the segments up to the first scan, or with `whole` up to the end of the image.
    init(_ input: ImageInput, whole: Bool) throws(ImagingError) {
        guard try input.u16(at: 0) == 0xFFD8 else {
            throw .badImage("The data does not start with a JPEG marker.")
        }
        var at = 2
        while true {
            // Skips bytes between segments, like libjpeg and browsers.
            guard let start = try input.firstFF(from: at) else { throw ImageInput.ended }
            at = start
            while try input.byte(at: at) == 0xFF { at += 1 }
            let code = try input.byte(at: at)
            at += 1
            switch code {
            case 0xD9:
                guard segments.contains(where: { $0.code == 0xDA }) else {
                    throw .badImage("The JPEG file does not contain an image.")
                }
                end = at
                return
            case 0x01, 0xD0...0xD7:
                try append(Segment(code: code, range: start..<at, kind: .image))
                continue
            case 0x00: continue
            case 0xD8:
                throw .badImage("The JPEG file has no segment at byte \(start).")
            default: break
            }
            let length = try input.u16(at: at)
            guard length >= 2 else { throw .badImage("A JPEG segment is too short.") }
            let payload = at + 2
            at += length
            guard at <= input.count else { throw ImageInput.ended }
            if Self.isFrame(code) { try readFrame(input, code, payload, length - 2) }
            if code == 0xDA {
                guard width > 0 else { throw .badImage("A JPEG scan comes before its frame.") }
                if !whole { return }
                at = try Self.endOfScan(input, at)
            }
            let kind = try Self.kind(input, code, payload, length - 2)
            try append(Segment(code: code, range: start..<at, kind: kind))
        }
    }

    /// Returns the payload of a segment, without its length field.
    func payload(_ segment: Segment, _ input: ImageInput) throws(ImagingError) -> [UInt8] {
        // Fill bytes may precede the marker; the first byte that is not FF is the code.
        var at = segment.range.lowerBound
        while try input.byte(at: at) == 0xFF { at += 1 }
        return try input.copy(at + 3..<max(at + 3, segment.range.upperBound))
    }

    /// Returns the EXIF block of the first EXIF segment.
    func exif(_ input: ImageInput) throws(ImagingError) -> EXIF? {
        guard let segment = segments.first(where: { $0.kind == .exif }) else { return nil }
        return EXIF(Array(try payload(segment, input).dropFirst(6)))
    }

    /// Returns the XMP packet of the first XMP segment.
    func xmp(_ input: ImageInput) throws(ImagingError) -> XMP? {
        guard let segment = segments.first(where: { $0.kind == .xmp }) else { return nil }
        return XMP(Array(try payload(segment, input).dropFirst(Self.xmpName.utf8CodeUnitCount)))
    }

    static let xmpName: StaticString = "http://ns.adobe.com/xap/1.0/\0"

    /// Returns the ICC profile, joined from its segments; `nil` if there is none or a part is
    /// missing.
    func profile(_ input: ImageInput) throws(ImagingError) -> [UInt8]? {
        var parts: [Int: [UInt8]] = [:]
        var total: Int?
        for segment in segments where segment.kind == .icc {
            let bytes = try payload(segment, input)
            guard bytes.count > 14, total == nil || total == Int(bytes[13]) else { return nil }
            total = Int(bytes[13])
            parts[Int(bytes[12])] = Array(bytes[14...])
        }
        guard let total, total > 0, parts.count == total else { return nil }
        var joined: [UInt8] = []
        for number in 1...total {
            guard let part = parts[number] else { return nil }
            joined += part
        }
        return joined
    }

    private mutating func append(_ segment: Segment) throws(ImagingError) {
        guard segments.count < Self.mostSegments else {
            throw .badImage("The JPEG file has more than \(Self.mostSegments) segments.")
        }
        segments.append(segment)
    }

    private static func isFrame(_ code: UInt8) -> Bool {
        (0xC0...0xCF).contains(code) && code != 0xC4 && code != 0xC8 && code != 0xCC
    }

    private mutating func readFrame(
        _ input: ImageInput, _ code: UInt8, _ at: Int, _ length: Int
    ) throws(ImagingError) {
        guard length >= 6, width == 0 else { throw .badImage("The JPEG frame is damaged.") }
        bits = Int(try input.byte(at: at))
        height = try input.u16(at: at + 1)
        width = try input.u16(at: at + 3)
        components = Int(try input.byte(at: at + 5))
        isProgressive = code == 0xC2 || code == 0xCA
        isArithmetic = code >= 0xC9
        guard width > 0, height > 0, components > 0 else {
            throw .badImage("The JPEG frame declares an invalid size of \(width)x\(height) pixels.")
        }
    }

    /// Returns the offset after a scan's coded data, which includes stuffed bytes and restart
    /// markers.
    private static func endOfScan(_ input: ImageInput, _ start: Int) throws(ImagingError) -> Int {
        var at = start
        while let found = try input.firstFF(from: at) {
            guard found + 1 < input.count else { break }
            switch try input.byte(at: found + 1) {
            case 0x00, 0xD0...0xD7: at = found + 2
            case 0xFF: at = found + 1
            default: return found
            }
        }
        throw ImageInput.ended
    }

    private static func kind(
        _ input: ImageInput, _ code: UInt8, _ payload: Int, _ length: Int
    ) throws(ImagingError) -> Segment.Kind {
        guard (0xE0...0xEF).contains(code) || code == 0xFE else { return .image }
        let head = try input.copy(payload..<payload + min(length, 40))
        func begins(_ text: StaticString) -> Bool {
            let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
            return head.starts(with: wanted)
        }
        switch code {
        case 0xE0 where begins("JFIF\0"): return .jfif
        case 0xE0 where begins("JFXX\0"): return .jfxx
        case 0xE1 where begins("Exif\0"): return .exif
        case 0xE1 where begins(xmpName): return .xmp
        case 0xE1 where begins("http://ns.adobe.com/xmp/extension/\0"): return .xmpExtension
        case 0xE2 where begins("ICC_PROFILE\0"): return .icc
        case 0xE2 where begins("MPF\0"): return .mpf
        case 0xEE where begins("Adobe"): return .adobe
        default: return .other
        }
    }
}
