// Wherry: the steps of the tutorial in Swift
// SPDX-License-Identifier: Apache-2.0
//
// usage: tutorial BASE IMAGE FOLDER     with the test server at BASE

import ExampleTools
import Foundation
import Wherry

let arguments = Arguments(usage: "tutorial BASE IMAGE FOLDER", count: 3, options: [])
let (base, image, folder) = (arguments[0], arguments[1], arguments[2])

do {
    // guide: begin get
    let client = try Client { $0.baseURL = base }
    let response = try await client.get("echo", parameters: ["page": 2])
    print(response.status, response.text)
    // guide: end get

    // guide: begin errors
    do {
        _ = try await client.get("status/404", parameters: ["body": "no such note"])
    } catch {
        print(error.reason, error.httpStatus, error.response?.text ?? "")
    }
    do {
        _ = try await client.get("http://127.0.0.1:1/")
    } catch {
        print(error.reason, error.isRetryable)  // error.message is a sentence for people
    }
    // guide: end errors

    // guide: begin client
    try client.configure {
        $0.headers = ["X-App": "tutorial"]
        $0.idleTimeout = .seconds(5)
        $0.maxRetries = 2
    }
    let echo = try await client.post("echo", json: ["text": "hello"])
    print(try echo.json().text(at: "json/text") ?? "")
    let busy = try await client.get("faulty-echo", parameters: ["status_first": 503])
    print(busy.status)  // the first response was 503
    // guide: end client

    // guide: begin cache
    var cached = Request("json")
    cached.cachePolicy = .use
    cached.cacheDuration = .seconds(60)
    for _ in 1...2 { print(try await client.send(cached).isFromCache) }
    // guide: end cache

    // guide: begin upload
    let upload = try client.upload(
        [.file(image)], to: "upload-photo", name: "photo",
        compression: Compression(quality: 0.5), parameters: ["album": "Skye"])
    _ = try await upload.value
    for image in upload.images {
        print(image.originalBytes, "bytes, sent as", image.encodedBytes)
    }
    // guide: end upload

    // guide: begin download
    var big = Request("bytes/20000000?rate=10000000")
    try big.setDigest(.sha256, try await client.get("digest/20000000").text)
    let download = try client.download(big, to: folder + "/big.bin")
    for await progress in download.progress { note("\r\(progress.completed) bytes") }
    print("complete:", try await download.value.path)
    // guide: end download

    // guide: begin many
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 1...20 { group.addTask { try await client.get("delay/100").status } }
        var statuses: [Int] = []
        for try await status in group { statuses.append(status) }
        return statuses
    }
    print(statuses.count, Set(statuses))
    // guide: end many
} catch {
    note("\(error)\n")
    exit(1)
}
