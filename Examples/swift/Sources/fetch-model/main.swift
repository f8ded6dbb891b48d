// Wherry: downloads one large file over several connections, and resumes after Ctrl-C
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
    // The file appears only when it is complete and verified.
    print("\(path) already exists")
    exit(0)
}

do {
    // guide: begin download
    let client = try Client()
    var request = Request(arguments[0])
    try request.setDigest(.sha256, sha256)
    request.mirrors = arguments.texts("mirror")  // tried in order; each resumes the partial file
    request.segments = arguments.number("segments", or: 4)
    request.maxRetries = arguments.number("retries", or: 5)
    request.makesDirectories = true
    let download = try client.download(request, to: path)

    signal(SIGINT, SIG_IGN)
    let interrupts = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
    interrupts.setEventHandler { download.cancel() }  // keeps the partial file
    interrupts.resume()

    var isResumed = false
    for await progress in download.progress {
        if progress.resumedAt > 0, !isResumed {
            note("resuming at byte \(progress.resumedAt)\n")
            isResumed = true
        }
        note("\r\(progress.completed) of \(progress.total.map { "\($0)" } ?? "?") bytes")
    }
    note("\n")
    print("\(try await download.value.path) is complete")
    // guide: end download
} catch {
    note("\(error)\n")
    if error.partialPath != nil { note("partial file kept; run the same command to resume\n") }
    exit(error.code == .cancelled ? 130 : 1)
}
