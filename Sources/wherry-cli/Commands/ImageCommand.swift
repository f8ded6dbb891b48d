// Wherry: the command that looks at pictures and makes them smaller.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry
import WherryImaging

struct ImageCommand: NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "image",
        abstract: "Make a picture smaller, or tell what it is; nothing is sent.",
        discussion: """
            EXAMPLES
              wherry image beach.jpg small.jpg --quality 0.5 --max-width 1600
              wherry image beach.jpg small.jpg --max-bytes 200000
              wherry image beach.jpg --info

            The same work as that of an upload: places and other metadata are left out, and the \
            picture is turned upright. What it becomes is what it was, unless --format says more. \
            An output that broke leaves what was there.
            """)

    @Argument(help: "A JPEG or PNG file.", completion: .file(extensions: ["jpg", "jpeg", "png"]))
    var input: String

    @Argument(help: "Where the new picture goes.", completion: .file())
    var result: String?

    @Flag(help: "Tell size, kind and metadata; decode and write nothing.")
    var info = false

    @OptionGroup var compression: CompressionOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    mutating func validate() throws {
        if info, result != nil {
            throw ValidationError("--info writes nothing: leave \(result ?? "") out.")
        }
        if !info, result == nil {
            throw ValidationError("There is no place for the new picture; --info needs none.")
        }
    }

    mutating func perform(_ console: Console) async throws {
        if let result {
            try write(result, console)
        } else {
            try tell(console)
        }
    }

    private func write(_ path: String, _ console: Console) throws {
        let image: EncodedImage
        do {
            image = try ImageEncoder.encode(.file(path: input), compression.settings())
        } catch let error as ImagingError {
            throw named(error)
        }
        let file = try OutputFile(path)
        try file.write(image.bytes)
        try file.finish()
        let original = Int64(image.originalByteCount ?? 0)
        if console.isJSON {
            var told: JSONObject = [
                "ok": true, "path": .string(path), "format": .string(image.format.fileExtension),
                "width": JSON(image.width), "height": JSON(image.height),
                "original_bytes": JSON(original), "bytes": JSON(image.bytes.count),
                "way": .string("\(image.way)"),
            ]
            if let quality = image.quality { told["quality"] = JSON(quality) }
            try console.print(told)
        } else {
            let change = Units.change(original, Int64(image.bytes.count))
            console.note("\(path.printable): \(image.width) x \(image.height), \(change)")
        }
    }

    private func tell(_ console: Console) throws {
        let info: ImageInfo
        do {
            info = try ImageInfo(inspecting: .file(path: input))
        } catch {
            throw named(error)
        }
        let size = info.uprightSize
        if console.isJSON {
            return try console.print([
                "ok": true, "format": .string(info.format == .png ? "png" : "jpeg"),
                "width": JSON(info.width), "height": JSON(info.height),
                "upright_width": JSON(size.width), "upright_height": JSON(size.height),
                "orientation": JSON(info.orientation), "components": JSON(info.components),
                "bit_depth": JSON(info.bitDepth), "alpha": .bool(info.hasAlpha),
                "icc": .bool(info.hasICC), "exif": .bool(info.hasEXIF), "gps": .bool(info.hasGPS),
                "animated": .bool(info.isAnimated), "progressive": .bool(info.isProgressive),
                "bytes": JSON(info.byteCount ?? 0), "pixel_bytes": JSON(info.pixelBytes),
            ])
        }
        let kind = info.format == .png ? "PNG" : "JPEG"
        var line = "\(kind), \(size.width) x \(size.height), \(Units.bytes(Int64(info.byteCount ?? 0)))"
        line += ", \(Units.bytes(Int64(info.pixelBytes))) of pixels"
        let more = [
            (info.orientation != 1, "orientation \(info.orientation)"),
            (info.hasAlpha, "alpha"), (info.isProgressive, kind == "PNG" ? "interlaced" : "progressive"),
            (info.isAnimated, "animated"), (info.hasICC, "colour profile"),
            (info.hasEXIF && !info.hasGPS, "EXIF"), (info.hasGPS, "EXIF with a place"),
        ]
        for (isSet, word) in more where isSet { line += ", " + word }
        try console.print(line)
    }

    /// The failure with the picture's name.
    private func named(_ error: ImagingError) -> WherryError {
        WherryError(error).with { $0.message = "\(input) cannot be used: \(error.message)" }
    }
}
