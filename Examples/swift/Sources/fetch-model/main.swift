// Wherry: downloads one large file over several connections, and goes on after Ctrl-C
// SPDX-License-Identifier: Apache-2.0
//
// usage: fetch-model URL FILE --sha256 HEX [--mirror URL]... [--segments 4] [--retries 5]

import Dispatch
import ExampleTools
import Foundation
import Wherry

let arguments = Arguments(
    usage: "fetch-model URL FILE --sha256 HEX [--mirror URL]... [--segments 4] [--retries 5]",
    count: 2, options: ["sha256", "mirror", "segments", "retries"])
guard let sha256 = arguments.text("sha256") else { arguments.fail() }
let path = arguments[1]
if FileManager.default.fileExists(atPath: path) {
    // A file has its name only when it is whole and verified.
    print("\(path) is there already")
    exit(0)
}

do {
    // guide: begin download
    let client = try Client()
    var request = Request(arguments[0])
    try request.setDigest(.sha256, sha256)
    request.mirrors = arguments.texts("mirror")  // tried one after the other, with what has come
    request.segments = arguments.number("segments", or: 4)
    request.maxRetries = arguments.number("retries", or: 5)
    request.makesDirectories = true
    let download = try client.download(request, to: path)

    signal(SIGINT, SIG_IGN)
    let interrupts = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
    interrupts.setEventHandler { download.cancel() }  // what has come is kept
    interrupts.resume()

    var isResumed = false
    for await progress in download.progress {
        if progress.resumedAt > 0, !isResumed {
            note("goes on after \(progress.resumedAt) bytes\n")
            isResumed = true
        }
        note("\r\(progress.completed) of \(progress.total.map { "\($0)" } ?? "?") bytes")
    }
    note("\n")
    print("\(try await download.value.path) is whole")
    // guide: end download
} catch {
    note("\(error)\n")
    if error.partialPath != nil { note("what has come is kept; the same command goes on\n") }
    exit(error.code == .cancelled ? 130 : 1)
}
