// Wherry: several sizes of an image from one decoding.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync
import WherryImaging

extension ImageCommand {
    /// Throws `ValidationError` if the sizes contradict other arguments.
    func check(_ sizes: ImageSizes) throws {
        guard compression.maxWidth == nil, compression.maxHeight == nil else {
            throw ValidationError(
                "--sizes and --max-\(compression.maxWidth == nil ? "height" : "width") cannot be combined."
            )
        }
        guard let result else {
            throw ValidationError(
                "--sizes needs a name for the results, such as beach-{width}.jpg.")
        }
        guard result != "-" else {
            throw ValidationError("--sizes writes files. Name them, such as beach-{width}.jpg.")
        }
        _ = try sizes.names(result)
        for size in sizes.all where compression.resizeMode != .fit {
            guard size.width == nil || size.height == nil else { continue }
            throw ValidationError(
                "--resize-mode \(compression.resizeMode.rawValue) needs sizes with a width and a height, such as 320x240, not \(size.text)."
            )
        }
    }

    /// Writes a file for each size. No file appears before all of them are complete.
    func write(_ sizes: ImageSizes, named template: String, _ console: Console) throws {
        let names = try sizes.names(template)
        for name in names { try checkAbsent(name) }
        let images: [EncodedImage]
        do {
            let settings = try compression.settings(ImageFormatArgument(fileName: template))
            images = try ImageEncoder.encode(
                try source(), sizes.all.map { $0.apply(to: settings) })
        } catch let error as ImagingError {
            throw named(error)
        }
        var files: [OutputFile] = []
        for (name, image) in zip(names, images) {
            let file = try OutputFile(named: name)
            try file.write(image.bytes)
            files.append(file)
        }
        for file in files { try file.finish() }
        for (name, image) in zip(names, images) { try report(image, name, console) }
    }
}
