// Wherry: compresses and uploads images, with progress
// SPDX-License-Identifier: Apache-2.0
//
// usage: album URL IMAGE...

import Foundation
import Wherry

guard CommandLine.arguments.count > 2 else { exit(2) }
let client = try Client()

var compression = Compression(quality: 0.8, type: "jpg")
compression.maxWidth = 2048
compression.maxHeight = 2048

let upload = try client.upload(
    CommandLine.arguments.dropFirst(2).map { .file($0) }, to: CommandLine.arguments[1],
    name: "photo", compression: compression, parameters: ["album": "Summer"])
for await progress in upload.progress {
    print("\(progress.completed) of \(progress.total.map { "\($0)" } ?? "?") bytes")
}

do {
    let response = try await upload.value
    for image in upload.images {
        print("\(image.fileName): \(image.originalBytes) bytes, sent as \(image.encodedBytes)")
    }
    print(response.text)
} catch {
    for image in error.failedImages {
        print("\(image.fileName): \(image.error?.message ?? error.message)")
    }
    print("\(error.reason): \(error.message)")
    exit(1)
}
