// Wherry: the resources of Photoshop in a JPEG, which contain IPTC.
// SPDX-License-Identifier: Apache-2.0

/// The payload of an APP13 segment that programs for photographs write.
enum PhotoshopResources {
    static let name: StaticString = "Photoshop 3.0\0"

    private enum Resource {
        static let iptc = 0x0404
        /// The checksum of the IPTC data, which would be wrong.
        static let digest = 0x0425
        /// Copies of EXIF and XMP.
        static let copies = 0x0422...0x0424
    }

    /// Returns a payload without some datasets of record 2 of IPTC, and without copies of EXIF and XMP.
    ///
    /// Returns `nil` if the payload cannot be read, such as a part of resources that are longer than a
    /// segment.
    static func removing(_ datasets: Set<UInt8>, from payload: [UInt8]) -> [UInt8]? {
        var at = name.utf8CodeUnitCount
        var kept = Array(payload.prefix(at))
        guard payload.count >= at else { return nil }
        while at < payload.count {
            guard let resource = resource(at, payload) else { return nil }
            let bytes = payload[at..<resource.end]
            at = resource.end
            switch resource.id {
            case Resource.copies: continue
            case Resource.digest where !datasets.isEmpty: continue
            case Resource.iptc:
                guard let data = iptc(Array(payload[resource.data]), without: datasets) else {
                    return nil
                }
                let size = UInt32(data.count)
                kept += payload[bytes.startIndex..<resource.data.lowerBound - 4]
                kept += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: size >> $0) }
                kept += data + (data.count % 2 == 1 ? [0] : [])
            default: kept += bytes
            }
        }
        return kept
    }

    /// Returns the number and the data of a resource, and the offset after it.
    private static func resource(
        _ start: Int, _ payload: [UInt8]
    ) -> (id: Int, data: Range<Int>, end: Int)? {
        // "8BIM", a number, a name with its length, and the size of the data, padded to even sizes.
        guard start + 12 <= payload.count, payload[start...].starts(with: "8BIM".utf8) else {
            return nil
        }
        let id = Int(payload[start + 4]) << 8 | Int(payload[start + 5])
        let nameSize = 1 + Int(payload[start + 6])
        let sizeStart = start + 6 + nameSize + nameSize % 2
        guard sizeStart + 4 <= payload.count else { return nil }
        let size = payload[sizeStart..<sizeStart + 4].reduce(0) { $0 << 8 | Int($1) }
        let first = sizeStart + 4
        guard size <= payload.count - first else { return nil }
        // The padding of the last resource may be missing.
        return (id, first..<first + size, min(payload.count, first + size + size % 2))
    }

    private static func iptc(_ data: [UInt8], without datasets: Set<UInt8>) -> [UInt8]? {
        var kept: [UInt8] = []
        var at = 0
        while at < data.count {
            if data[at...].allSatisfy({ $0 == 0 }) { break }
            guard at + 5 <= data.count, data[at] == 0x1C, data[at + 3] & 0x80 == 0 else {
                return nil
            }
            let size = Int(data[at + 3]) << 8 | Int(data[at + 4])
            let end = at + 5 + size
            guard end <= data.count else { return nil }
            if data[at + 1] != 2 || !datasets.contains(data[at + 2]) { kept += data[at..<end] }
            at = end
        }
        return kept
    }
}
