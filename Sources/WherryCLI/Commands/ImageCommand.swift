// Wherry: the command that compresses and inspects images.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync
import WherryImaging

struct ImageCommand: NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "image",
        abstract: "Compress or inspect an image, without sending anything.",
        discussion: """
            EXAMPLES
              wherry image beach.jpg small.jpg --quality 0.5 --max-width 1600
              wherry image beach.jpg small.jpg --max-bytes 200000
              wherry image beach.png beach.jpg --overwrite
              wherry image beach.jpg beach-{width}.jpg --sizes 320,640,1280 --sharpen 60
              wherry image beach.jpg out.jpg --set-metadata copyright='Ada 2026'
              wherry image beach.jpg --info
              wherry image beach.jpg --hash
              wherry image small.jpg --compare beach.jpg

            The result is what 'wherry upload' would send: GPS positions and other metadata are \
            removed, and the image is rotated upright. The extension of the result, .jpg or .png, \
            sets its format; with any other name the format stays the same unless --format is given. \
            An existing file is replaced only with --overwrite. - is standard input or output.

            --sizes makes several files, and decodes the image once. In the name of the result, {width}, \
            {height}, and {size} stand for the values of --sizes. A file can be smaller than its name \
            says, because no image is enlarged. No file appears before all sizes are complete, or if one \
            of the files exists and --overwrite is missing.

            Besides JPEG and PNG, images can be read in WebP if libwebp7 is installed, in HEIC and AVIF \
            if libheif1 is installed, and in GIF if libgif7 is installed.
            """)

    @Argument(
        help: "An image file; - is standard input.",
        completion: .file(extensions: ImageFormat.readableExtensions))
    var input: String

    @Argument(
        help: "The file for the result; - is standard output.", completion: .file())
    var result: String?

    @Flag(
        help:
            "Print the format, the size, the kinds of metadata, and when, where, and by whom a photograph was taken, and write nothing."
    )
    var info = false

    @Flag(
        help: ArgumentHelp(
            "Print two perceptual hashes of the upright image, and write nothing.",
            discussion:
                "Copies of an image have hashes that differ in few bits; see 'wherry duplicates'."))
    var hash = false

    @Option(
        help: ArgumentHelp(
            "Print how similar the image is to another one of the same size, as SSIM and PSNR, and write nothing.",
            discussion: "The SSIM of equal images is 1, and their PSNR is infinite.",
            valueName: "file"),
        completion: .file(extensions: ImageFormat.readableExtensions))
    var compare: String?

    @Flag(help: "Replace an existing file.")
    var overwrite = false

    @Option(
        help: ArgumentHelp(
            "Make several sizes: maximum widths, or maximum widths and heights.",
            discussion:
                "320,640x480,x240: at most 320 wide; at most 640 wide and 480 high; at most 240 high.",
            valueName: "sizes"))
    var sizes: ImageSizes?

    @OptionGroup var compression: CompressionOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    mutating func validate() throws {
        let questions = [(info, "--info"), (hash, "--hash"), (compare != nil, "--compare")].filter(
            \.0
        ).map(\.1)
        if questions.count > 1 {
            throw ValidationError("\(questions.joined(separator: " and ")) cannot be combined.")
        }
        if let question = questions.first, let result {
            throw ValidationError("\(question) writes no file. Leave out \(result).")
        }
        if questions.isEmpty, result == nil {
            throw ValidationError(
                "No file for the result. Name one, or use --info, --hash, or --compare.")
        }
        if let sizes { try check(sizes) } else { try compression.checkBox() }
        if result == "-", output.jsonOutput {
            throw ValidationError(
                "--json-output and the result - both write to standard output. Leave one of them out."
            )
        }
        if let result, let named = try ImageFormatArgument(fileName: result),
            let given = compression.givenFormat, given != .keep, given != named
        {
            throw ValidationError(
                "--format \(given) contradicts the name \(result). Change one of them.")
        }
    }

    mutating func perform(_ console: Console) async throws {
        if let result, let sizes {
            try write(sizes, named: result, console)
        } else if let result {
            try write(result, console)
        } else if let compare {
            try tellSimilarity(to: compare, console)
        } else if hash {
            try tellHashes(console)
        } else {
            try tell(console)
        }
    }

    private func write(_ path: String, _ console: Console) throws {
        try checkAbsent(path)
        let image: EncodedImage
        do {
            image = try ImageEncoder.encode(
                try source(), compression.settings(ImageFormatArgument(fileName: path)))
        } catch let error as ImagingError {
            throw named(error)
        }
        let file = try OutputFile(named: path)
        try file.write(image.bytes)
        try file.finish()
        try report(image, path, console)
    }

    /// Throws `exists` if a file may not be replaced.
    func checkAbsent(_ path: String) throws {
        guard !overwrite, path != "-", OutputFile.isRegularFile(path) else { return }
        throw WherryError(.exists, "\(path) exists. Use --overwrite to replace it.")
    }

    /// Prints the properties of a written image.
    func report(_ image: EncodedImage, _ path: String, _ console: Console) throws {
        let original = Int64(image.originalByteCount ?? 0)
        if console.isJSON {
            var told: JSONObject = [
                "ok": true, "path": .string(path), "format": .string(image.format.fileExtension),
                "width": JSON(image.width), "height": JSON(image.height),
                "original_bytes": JSON(original), "bytes": JSON(image.bytes.count),
                "way": .string("\(image.way)"),
            ]
            if let quality = image.quality { told["quality"] = Report.ratio(quality) }
            try console.print(told)
        } else {
            let change = Units.change(original, Int64(image.bytes.count))
            console.note("\(path.printable): \(image.width) x \(image.height), \(change)")
        }
    }

    private func tell(_ console: Console) throws {
        let info: ImageInfo
        do {
            info = try ImageInfo(inspecting: try source())
        } catch let error as ImagingError {
            throw named(error)
        }
        let size = info.uprightSize
        if console.isJSON {
            var told: JSONObject = [
                "ok": true, "format": .string(info.format.name.lowercased()),
                "width": JSON(info.width), "height": JSON(info.height),
                "upright_width": JSON(size.width), "upright_height": JSON(size.height),
                "orientation": JSON(info.orientation), "components": JSON(info.components),
                "bit_depth": JSON(info.bitDepth), "alpha": .bool(info.hasAlpha),
                "icc": .bool(info.hasICC), "exif": .bool(info.hasEXIF), "gps": .bool(info.hasGPS),
                "animated": .bool(info.isAnimated), "progressive": .bool(info.isProgressive),
                "bytes": JSON(info.byteCount ?? 0), "pixel_bytes": JSON(info.pixelBytes),
            ]
            let photo = info.photo
            if let time = photo.takenAt { told["taken_at"] = .string(time) }
            if let make = photo.make { told["make"] = .string(make) }
            if let model = photo.model { told["model"] = .string(model) }
            for (name, text) in Self.texts(of: photo) { told[name] = .string(text) }
            if let position = photo.position {
                told["latitude"] = .double(position.latitude)
                told["longitude"] = .double(position.longitude)
            }
            if let altitude = photo.altitude { told["altitude"] = .double(altitude) }
            return try console.print(told)
        }
        let kind = info.format.name
        var line =
            "\(kind), \(size.width) x \(size.height), \(Units.bytes(Int64(info.byteCount ?? 0)))"
        line += ", \(Units.bytes(Int64(info.pixelBytes))) of pixels"
        let more = [
            (info.orientation != 1, "orientation \(info.orientation)"),
            (info.hasAlpha, "alpha"),
            (info.isProgressive, info.format == .png ? "interlaced" : "progressive"),
            (info.isAnimated, "animated"), (info.hasICC, "color profile"),
            (info.hasEXIF && !info.hasGPS, "EXIF"), (info.hasGPS, "EXIF with GPS"),
        ]
        for (isSet, word) in more where isSet { line += ", " + word }
        try console.print(line)
        if let text = Self.text(of: info.photo) { try console.print(text) }
        for (name, text) in Self.texts(of: info.photo) {
            try console.print("\(name): \(text.printable)")
        }
    }

    /// The texts of EXIF about the image and its author, by name.
    private static func texts(of photo: PhotoInfo) -> [(String, String)] {
        let all = [
            ("copyright", photo.copyright), ("artist", photo.artist),
            ("description", photo.description), ("software", photo.software),
        ]
        return all.compactMap { name, text in text.map { (name, $0) } }
    }

    /// "taken 2024-05-01T12:34:56+02:00 with Canon EOS R5 at 48.85837, 2.29448, 35 m"; `nil` if nothing
    /// is known.
    private static func text(of photo: PhotoInfo) -> String? {
        var words: [String] = []
        if let time = photo.takenAt { words.append("taken \(time)") }
        // Many cameras repeat the manufacturer in the model.
        var camera = photo.model
        if let make = photo.make, camera?.hasPrefix(make) != true {
            camera = camera.map { "\(make) \($0)" } ?? make
        }
        if let camera { words.append("with \(camera.printable)") }
        var place: [String] = []
        if let position = photo.position {
            place.append(Units.fixed(position.latitude, digits: 5))
            place.append(Units.fixed(position.longitude, digits: 5))
        }
        // A file can declare heights up to 2^32 m.
        if let altitude = photo.altitude { place.append("\(Int64(altitude.rounded())) m") }
        if !place.isEmpty { words.append("at " + place.joined(separator: ", ")) }
        return words.isEmpty ? nil : words.joined(separator: " ")
    }

    private func tellHashes(_ console: Console) throws {
        let kinds: [ImageHash.Kind] = [.difference, .perceptual]
        let hashes: [ImageHash]
        do {
            hashes = try ImageHash.hashes(of: try source(), kinds, try compression.settings())
        } catch let error as ImagingError {
            throw named(error)
        }
        if console.isJSON {
            return try console.print([
                "ok": true, "difference_hash": .string("\(hashes[0])"),
                "perceptual_hash": .string("\(hashes[1])"),
            ])
        }
        try console.print("difference \(hashes[0])\nperceptual \(hashes[1])")
    }

    private func tellSimilarity(to other: String, _ console: Console) throws {
        if input == "-", other == "-" {
            throw ValidationError("Standard input can be only one of the two images.")
        }
        let found: ImageComparison
        do {
            found = try ImageComparison(
                try source(), try Self.source(other), try compression.settings())
        } catch let error as ImagingError {
            throw WherryError(error).with {
                $0.message =
                    "\(Self.name(input)) and \(Self.name(other)) cannot be compared. \(error.message)"
            }
        }
        if console.isJSON {
            return try console.print([
                "ok": true, "ssim": .double(found.ssim),
                "psnr": found.psnr.isFinite ? .double(found.psnr) : .null,
            ])
        }
        let psnr = found.psnr.isFinite ? Units.fixed(found.psnr, digits: 2) + " dB" : "infinite"
        try console.print("SSIM \(Units.fixed(found.ssim, digits: 4)), PSNR \(psnr)")
    }

    func source() throws -> ImageSource { try Self.source(input) }

    private static func source(_ path: String) throws -> ImageSource {
        path == "-" ? .bytes(try FileBytes.contents("-")) : .file(path: path)
    }

    private static func name(_ path: String) -> String {
        path == "-" ? "standard input" : path
    }

    /// The failure with the image's name.
    func named(_ error: ImagingError) -> WherryError {
        WherryError(error).with {
            $0.message =
                "\(input == "-" ? "Standard input" : input) cannot be used: \(error.message)"
        }
    }
}
