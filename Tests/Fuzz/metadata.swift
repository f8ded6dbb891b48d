// Wherry: fuzz target of EXIF, XMP, and IPTC; scripts/fuzz builds and runs it
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

@testable import WherryImaging

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
    var seeds: [[UInt8]] = []
    for edits: UInt8 in [0x01, 0x1E, 0x7F, 0xFF] {
        seeds.append([0, edits, 0x13] + MetadataSeed.exif)
        seeds.append([1, edits, 0x13] + Array(MetadataSeed.xmp.utf8))
        seeds.append([2, edits, 0x13] + MetadataSeed.photoshop)
    }
    seeds.append([3, 0, 0] + Array("2024-05-01T12:34:56+02:00".utf8))
    writeSeeds(seeds)
    return 0
}

/// Reads metadata, and changes them in all ways. What is returned must be readable, and must contain
/// the changes.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let input = FuzzInput(data, count), input.bytes.count >= 2 else { return 0 }
    let bytes = Array(input.bytes.dropFirst(2))
    let edits = edits(input.bytes[0], input.bytes[1])
    switch input.choice & 3 {
    case 0: exif(bytes, edits, orientation: 1 + Int(input.bytes[1] & 7))
    case 1: xmp(bytes, edits)
    case 2: photoshop(bytes, edits)
    default: time(String(decoding: bytes, as: UTF8.self))
    }
    return 0
}

/// Changes that the bits of two bytes select.
private func edits(_ fields: UInt8, _ more: UInt8) -> MetadataEdits {
    var edits = MetadataEdits()
    for (bit, field) in MetadataField.allCases.enumerated() where fields >> bit & 1 == 1 {
        let isRemoved = more >> 4 & 1 == bit & 1
        let text = field == .takenAt ? "2024-05-01T12:34:56+02:00" : "Ada"
        edits.texts[field] = isRemoved ? "" : text
    }
    if fields & 128 != 0 { edits.locationDecimals = Int(more >> 5) % 7 }
    return edits
}

// MARK: EXIF

private func exif(_ bytes: [UInt8], _ edits: MetadataEdits, orientation: Int) {
    guard let block = EXIF(bytes) else { return }
    _ = PhotoInfo(block)
    var turned = block
    turned.setOrientation(orientation)
    demand(EXIF(turned.bytes) != nil, "a turned block cannot be read")
    if block.orientation != nil {
        demand(turned.orientation == orientation, "a block is not turned")
    }
    if let clean = block.withoutGPS() {
        demand(EXIF(clean.bytes)?.hasGPS == false, "a location remains")
    }
    guard let edited = block.edited(edits) else { return }
    guard let again = EXIF(edited.bytes) else { fatalError("an edited block cannot be read") }
    let photo = PhotoInfo(again)
    let stored: [MetadataField: String?] = [
        .copyright: photo.copyright, .artist: photo.artist, .description: photo.description,
        .software: photo.software, .takenAt: photo.takenAt, .make: photo.make,
        .model: photo.model,
    ]
    for (field, text) in edits.texts {
        demand(stored[field] == (text.isEmpty ? nil : text), "\(field) is not edited")
    }
    guard let decimals = edits.locationDecimals else { return }
    demand(photo.altitude == nil, "an altitude remains")
    guard let position = photo.position else { return }
    let scale = (0..<decimals).reduce(1.0) { power, _ in power * 10 }
    for degrees in [position.latitude, position.longitude] {
        let units = degrees * scale
        demand(abs(units - units.rounded()) < 1e-6, "\(degrees) is not rounded")
    }
    if let exact = PhotoInfo(block).position {
        demand(
            abs(position.latitude - exact.latitude) * scale < 0.51
                && abs(position.longitude - exact.longitude) * scale < 0.51,
            "\(exact) became \(position)")
    }
}

// MARK: XMP

private func xmp(_ bytes: [UInt8], _ edits: MetadataEdits) {
    if let rest = XMP.removing(edits.removesProperty, from: bytes) {
        // A packet of which the root was removed is not a packet.
        if let again = XMP.removing({ _, _ in false }, from: rest) {
            demand(again == rest, "a packet changes without a reason")
            demand(XMP.removing(edits.removesProperty, from: rest) == rest, "a property remains")
        }
    }
    var options = Compression()
    options.metadata = .all
    options.edits = edits
    for orientation in 1...8 {
        let rules = MetadataRules(options, orientation: orientation)
        switch rules.xmp(bytes) {
        case .drop: return
        case .keep: break
        case .replace(let packet):
            demand(packet != bytes, "a packet is replaced by itself")
            demand(rules.xmp(packet) == .keep || edits.isEmpty == false, "a packet changes again")
            let stored = XMP(packet).orientation
            demand(stored == nil || stored == orientation, "a packet is not turned")
        }
    }
}

// MARK: IPTC

private func photoshop(_ bytes: [UInt8], _ edits: MetadataEdits) {
    let datasets = edits.removedDatasets
    let name = Array("Photoshop 3.0\0".utf8)
    for payload in [bytes, name + bytes.dropFirst(name.count)] {
        guard let rest = PhotoshopResources.removing(datasets, from: payload) else { continue }
        demand(
            PhotoshopResources.removing(datasets, from: rest) == rest, "resources change again")
        // Padding may have been missing.
        demand(rest.count <= payload.count + 1, "resources grow")
    }
}

// MARK: Times

private func time(_ text: String) {
    if let time = EXIFTime(iso: text) {
        demand(EXIFTime(iso: time.iso) == time, "\(time) is not read again")
        demand(EXIFTime(time.text, offset: time.offset) == time, "\(time) is not read from EXIF")
    }
    if let time = EXIFTime(text, offset: text) {
        demand(EXIFTime(iso: time.iso) == time, "\(time) is not read again")
    }
    var edits = MetadataEdits()
    for field in MetadataField.allCases { edits.texts[field] = "" }
    _ = edits.removesText(keyword: text)
    for field in MetadataField.allCases { _ = try? MetadataEdits.validate(text, field) }
}
