// Wherry: what decoding a HEIC or AVIF file costs.
// SPDX-License-Identifier: Apache-2.0

internal import WherrySystem

/// Checks the cost of a HEIC or AVIF image before libheif decodes it (SEC-R9).
///
/// libheif decodes pictures of any size, and compares it with the declared size only afterwards.
/// This follows the items that libheif would decode, and finds their sizes in the coded data.
struct HEIFBudget {
    private let input: ImageInput
    private let layout: HEIFLayout
    private let limits: Limits
    /// The pixels and bytes that may still be decoded.
    private var left = 0
    private var known: [Int: CodedPictures] = [:]

    /// By how much coded sides may exceed the declared ones: coders fill blocks of up to 64 pixels.
    private static let block = 64
    /// The side of a tile of any image: cameras also divide smaller images into such tiles.
    private static let tile = 512
    /// The least cost of an item.
    private static let least = 4096

    /// - Throws: `too_large` or `memory_limit` if decoding would exceed the limits, and
    ///   `unsupported_image` if its cost cannot be determined.
    static func check(_ bytes: Bytes, _ limits: Limits) throws(ImagingError) {
        let input = ImageInput(bytes)
        var budget = HEIFBudget(
            input: input, layout: try HEIFLayout(input), limits: limits)
        try budget.start()
    }

    private init(input: ImageInput, layout: HEIFLayout, limits: Limits) {
        self.input = input
        self.layout = layout
        self.limits = limits
    }

    private mutating func start() throws(ImagingError) {
        guard let primary = layout.items[layout.primary] else { throw HEIFLayout.damaged }
        let (width, height) = try declared(primary)
        try limits.judge(width, height)
        // Alpha, layers of different quality, and overlays multiply the pixels.
        left = 8 * (width + Self.block) * (height + Self.block) + 8 * input.count + 4 << 20
        try spend(layout.primary, depth: 0)
    }

    /// Subtracts the cost of an item, and of the items that it needs.
    private mutating func spend(_ id: Int, depth: Int) throws(ImagingError) {
        guard depth < 8, let item = layout.items[id] else { throw HEIFLayout.damaged }
        let (width, height) = try declared(item)
        if depth == 0 || width > Self.tile || height > Self.tile {
            try limits.judge(width, height)
            try judgeMemory(width, height)
        }
        left -= max(item.byteCount, Self.least)
        guard left >= 0, item.byteCount <= input.count else { throw Self.tooMuch }
        let coded = try pictures(id, item)
        let most = coded.isExact ? 1 : 2
        guard coded.width <= most * width + Self.block, coded.height <= most * height + Self.block
        else {
            throw ImagingError(
                .limit, "too_large",
                "The image is coded with \(coded.width)x\(coded.height) pixels, but declares "
                    + "\(width)x\(height).")
        }
        if !coded.isExact { try judgeMemory(coded.width, coded.height) }
        left -= coded.width * coded.height * max(coded.count, 1)
        guard left >= 0 else { throw Self.tooMuch }
        let inputs = ["grid", "iovl", "iden"].contains(item.type) ? item.inputs : []
        for next in inputs + item.alphas { try spend(next, depth: depth + 1) }
    }

    private func judgeMemory(_ width: Int, _ height: Int) throws(ImagingError) {
        let needed = width * height * 9
        guard needed <= limits.maxMemory else {
            throw .memoryLimit(needed: needed, allowed: limits.maxMemory)
        }
    }

    private static let tooMuch = ImagingError(
        .limit, "too_large", "The image consists of far more pixels than it shows.")

    /// Returns the size in the header of an item.
    private func declared(
        _ item: HEIFLayout.Item
    ) throws(ImagingError) -> (width: Int, height: Int) {
        var size = (width: Int.max, height: Int.max)
        for index in layout.properties(of: item, "ispe") {
            var cursor = HEIFLayout.Cursor(input, layout.properties[index].content)
            try cursor.skip(4)
            size.width = min(size.width, try cursor.number(4))
            size.height = min(size.height, try cursor.number(4))
        }
        guard size.width < Int.max else { throw HEIFLayout.unsupported }
        return size
    }

    /// Returns the pictures in the data of an item.
    private mutating func pictures(
        _ id: Int, _ item: HEIFLayout.Item
    ) throws(ImagingError) -> CodedPictures {
        if let found = known[id] { return found }
        var found = CodedPictures()
        switch item.type {
        case "hvc1":
            for index in layout.properties(of: item, "hvcC") {
                try HEVCPictures.read(
                    configuration: layout.properties[index].content, of: input, into: &found)
            }
            let (data, range) = try data(item)
            try HEVCPictures.read(data: range, of: data, into: &found)
        case "av01":
            var reader = AV1Pictures()
            for index in layout.properties(of: item, "av1C") {
                try reader.read(
                    configuration: layout.properties[index].content, of: input, into: &found)
            }
            let (data, range) = try data(item)
            try reader.read(range, of: data, into: &found)
        case "grid", "iovl": found = try canvas(item)
        case "iden": break
        default:
            let isName = item.type.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            throw ImagingError(
                .image, "unsupported_image",
                "HEIC and AVIF files of the kind \"\(isName ? item.type : "?")\" are not supported."
            )
        }
        known[id] = found
        return found
    }

    /// Returns the size of the pixels that libheif makes of other items (ISO 23008-12, 6.6.2).
    private func canvas(_ item: HEIFLayout.Item) throws(ImagingError) -> CodedPictures {
        let (data, range) = try data(item)
        var cursor = HEIFLayout.Cursor(data, range)
        let flags = try cursor.number(2) & 1
        try cursor.skip(item.type == "grid" ? 2 : 8)
        let size = flags == 1 ? 4 : 2
        return CodedPictures(width: try cursor.number(size), height: try cursor.number(size))
    }

    /// Returns the data of an item, which are a part of the returned input.
    private func data(
        _ item: HEIFLayout.Item
    ) throws(ImagingError) -> (ImageInput, Range<Int>) {
        guard let first = item.extents.first else { throw HEIFLayout.unsupported }
        guard item.extents.count > 1 else { return (input, first) }
        let pieces = item.extents.map { ImageInput.Piece.range($0) }
        let joined = ImageInput(try input.assemble(pieces, maxMemory: input.count))
        return (joined, 0..<joined.count)
    }
}
