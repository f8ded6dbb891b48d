// Wherry: a first program in Swift: JSON, a picture and a file.
// SPDX-License-Identifier: Apache-2.0
//
// usage: quickstart BASE-URL PICTURE TARGET

import Wherry

let base = CommandLine.arguments[1]
let (picture, target) = (CommandLine.arguments[2], CommandLine.arguments[3])

// readme: begin
struct Note: Codable, Sendable {
    var id: Int?
    var text: String
}

let client = try Client { $0.baseURL = base }
do {
    let note = try await client.post("notes", json: Note(text: "hello"), as: Note.self)
    let upload = try client.upload(
        [.file(picture)], to: "photos", name: "photo", compression: Compression(quality: 0.5))
    print(note.id ?? 0, try await upload.value.status)

    let download = try client.download("big.iso", to: target)
    for await progress in download.progress { print(progress.fraction ?? 0) }
    print(try await download.value.path)
} catch {
    print(error.reason, error.message)  // "connect", "Could not connect to ..."
}
// readme: end
