// Wherry: uploads the images of a folder, one request per image
// SPDX-License-Identifier: Apache-2.0
//
// usage: upload-images URL FOLDER [--album NAME] [--quality 0.8] [--max-side 2048]
//            [--parallel 4] [--retries 2]

import ExampleTools
import Foundation
import Wherry

let arguments = Arguments(
    usage: """
        upload-images URL FOLDER [--album NAME] [--quality 0.8] [--max-side 2048] [--parallel 4] \
        [--retries 2]
        """,
    count: 2, options: ["album", "quality", "max-side", "parallel", "retries"])
let folder = URL(fileURLWithPath: arguments[1], isDirectory: true)
let maxSide = arguments.number("max-side", or: 2048)

let images: [URL]
do {
    images = try FileManager.default
        .contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        .filter { ["jpg", "jpeg", "png"].contains($0.pathExtension.lowercased()) }
        .sorted { $0.lastPathComponent < $1.lastPathComponent }
} catch {
    note("\(folder.path) cannot be read: \(error.localizedDescription)\n")
    exit(2)
}
if images.isEmpty {
    note("no images in \(folder.path)\n")
    exit(2)
}

do {
    // guide: begin upload
    let client = try Client()
    var compression = Compression(quality: arguments.number("quality", or: 0.8), type: "jpg")
    compression.maxWidth = maxSide
    compression.maxHeight = maxSide

    var request = Request(arguments[0], method: "POST")
    request.parameters = ["album": .string(arguments.text("album") ?? "")]
    // One request per image, this many at once; transient failures are retried.
    request.separateImages = arguments.number("parallel", or: 4)
    request.imageRetries = arguments.number("retries", or: 2)
    request.body = .multipart(images.map { .image("photo", .file($0), compression) })

    let upload = try client.start(request)
    for await progress in upload.progress {
        if let fraction = progress.fraction { note("\r\(Int(fraction * 100)) %") }
    }
    note("\n")
    do {
        _ = try await upload.value
    } catch {
        if error.failedImages.isEmpty { throw error }  // otherwise each image is reported below
    }
    // guide: end upload

    for (file, image) in zip(images, upload.images) {
        let name = file.lastPathComponent
        if let error = image.error {
            print("\(name): not sent: \(error.reason): \(error.message)")
        } else {
            print("\(name): \(image.originalBytes) bytes, sent as \(image.encodedBytes)")
        }
    }
    let sent = upload.images.count { $0.error == nil }
    print("\(sent) of \(images.count) sent")
    exit(sent == images.count ? 0 : 1)
} catch {
    note("\(error)\n")
    exit(1)
}
