// Wherry: metadata that fuzz targets start from
// SPDX-License-Identifier: Apache-2.0

/// Metadata with values that edits change or remove.
enum MetadataSeed {
    /// A block with a camera, an orientation, a time, and a location.
    static var exif: [UInt8] {
        func entry(_ tag: Int, _ type: UInt8, _ count: UInt8, _ value: [UInt8]) -> [UInt8] {
            [UInt8(tag >> 8), UInt8(tag & 0xFF), 0, type, 0, 0, 0, count] + value
        }
        // The main directory is at 8, that of EXIF at 62, and that of GPS at 80.
        var block: [UInt8] = [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 4]
        block += entry(0x010F, 2, 4, Array("Cam\0".utf8)) + entry(0x0112, 3, 1, [0, 6, 0, 0])
        block += entry(0x8769, 4, 1, [0, 0, 0, 62]) + entry(0x8825, 4, 1, [0, 0, 0, 80])
        block += [0, 0, 0, 0, 0, 1] + entry(0x9003, 2, 20, [0, 0, 0, 134]) + [0, 0, 0, 0]
        block += [0, 4] + entry(1, 2, 2, Array("N\0\0\0".utf8)) + entry(2, 5, 3, [0, 0, 0, 154])
        block += entry(3, 2, 2, Array("W\0\0\0".utf8)) + entry(4, 5, 3, [0, 0, 0, 178])
        block += [0, 0, 0, 0] + Array("2024:05:01 12:34:56\0".utf8)
        for number: UInt8 in [48, 51, 9, 2, 21, 7] { block += [0, 0, 0, number, 0, 0, 0, 1] }
        return block
    }

    static let xmp = """
        <x:xmpmeta xmlns:x="adobe:ns:meta/">
        <r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <r:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6"
         tiff:Make="Cam" xmlns:e="http://ns.adobe.com/exif/1.0/" e:GPSLatitude="48,51N">
        <e:DateTimeOriginal>2024-05-01T12:34:56</e:DateTimeOriginal>
        <dc:creator xmlns:dc="http://purl.org/dc/elements/1.1/"><r:Seq><r:li>Ada</r:li></r:Seq>
        </dc:creator></r:Description></r:RDF></x:xmpmeta>
        """

    /// The resources of Photoshop: IPTC with an author and a city, and its checksum.
    static var photoshop: [UInt8] {
        let author = [0x1C, 2, 80, 0, 3] + Array("Ada".utf8)
        let city = [0x1C, 2, 90, 0, 4] + Array("Oslo".utf8)
        let size = UInt8(author.count + city.count)
        return Array("Photoshop 3.0\08BIM".utf8) + [4, 4, 0, 0, 0, 0, 0, size] + author + city
            + [0] + Array("8BIM".utf8) + [4, 0x25, 0, 0, 0, 0, 0, 2, 1, 2]
    }
}
