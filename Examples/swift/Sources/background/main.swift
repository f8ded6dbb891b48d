// Wherry: a download that continues after this program exits
// SPDX-License-Identifier: Apache-2.0
//
// usage: background start URL PATH, background list, background wait JOB

import ExampleTools
import Foundation
import Wherry

func start(_ session: BackgroundSession, _ url: String, _ path: String) async throws {
    // guide: begin start
    let job = try await session.download(url, to: path)
    print(job)  // the job id, for any later program
    // guide: end start
}

func list(_ session: BackgroundSession) async throws {
    // guide: begin list
    for job in try await session.jobs() {
        print(job.id, job.state, job.progress.completed, job.path ?? "")
    }
    // guide: end list
}

func wait(_ session: BackgroundSession, _ job: String) async throws {
    // guide: begin wait
    let end = try await session.end(of: job)
    // Succeeds for exactly one program.
    try await session.acknowledge(job)
    if let error = end.error { throw error }
    print(end.path ?? "")
    // guide: end wait
}

let words = Array(CommandLine.arguments.dropFirst())
do {
    let session = try BackgroundSession("files")
    switch (words.first, words.count) {
    case ("start", 3): try await start(session, words[1], words[2])
    case ("list", 1): try await list(session)
    case ("wait", 2): try await wait(session, words[1])
    default:
        note("usage: background start URL PATH | list | wait JOB\n")
        exit(2)
    }
} catch {
    note("\(error)\n")
    exit(1)
}
