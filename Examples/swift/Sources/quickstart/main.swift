// Wherry: quickstart in Swift: JSON, an image upload, and a download.
// SPDX-License-Identifier: Apache-2.0
//
// usage: quickstart BASE-URL IMAGE TARGET

import Wherry

let base = CommandLine.arguments[1]
let (image, target) = (CommandLine.arguments[2], CommandLine.arguments[3])

do {
    // readme: begin
    let client = try Client { $0.baseURL = base }
    let note = try await client.post("notes", json: ["text": "hello"])
    let photo = try client.upload([.file(image)], to: "photos", name: "photo")
    print(note.status, try await photo.value.status)

    let download = try client.download("big.iso", to: target)
    for await progress in download.progress { print(progress.fraction ?? 0) }
    print(try await download.value.path)
    // readme: end
} catch {
    print(error.reason, error.message)  // "connect", "Could not connect to ..."
}
