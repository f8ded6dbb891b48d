// Wherry: a program that uses a background session, for tests of jobs that outlive it
// SPDX-License-Identifier: Apache-2.0
//
// usage: BackgroundChild AGENT STATE_DIRECTORY VERB ARGUMENT...
//
//   start URL PATH     prints the job's id and waits to be killed, in a separate process group
//   upload URL FILE    the same with an upload of a file's bytes
//   list               prints "id state completed total" for each job
//   end ID             waits for the end and prints its state
//   pause|resume|cancel|acknowledge ID
//
// Prints the reason of a failure, and exits with 0 or 1.

import Glibc
import Wherry

/// At once, and not when the program ends.
func say(_ words: Any...) {
    let line = words.map { "\($0)" }.joined(separator: " ") + "\n"
    line.utf8.withContiguousStorageIfAvailable { _ = write(1, $0.baseAddress, $0.count) }
}

let arguments = CommandLine.arguments
guard arguments.count >= 4 else {
    say("usage: BackgroundChild AGENT STATE_DIRECTORY VERB ARGUMENT...")
    exit(2)
}
do {
    let session = try BackgroundSession("tests") {
        $0.proxy = ""
        $0.agentPath = arguments[1]
        $0.stateDirectory = arguments[2]
        $0.agentIdleTime = .milliseconds(200)
        $0.idleTimeout = .seconds(600)
        $0.firstByteTimeout = .seconds(600)
        $0.stallBytesPerSecond = 0
    }
    let rest = arguments[4...]
    switch arguments[3] {
    case "start" where rest.count == 2:
        setpgid(0, 0)
        say(try session.download(Request(rest[4]), to: rest[5]))
        while true { pause() }
    case "upload" where rest.count == 2:
        setpgid(0, 0)
        var request = Request(rest[4], method: "POST")
        request.body = .file(path: rest[5], contentType: "application/x-test")
        say(try session.upload(request))
        while true { pause() }
    case "list":
        for job in try session.jobs() {
            say(job.id, job.state, job.progress.completed, job.progress.total ?? -1)
        }
    case "end" where rest.count == 1: say(try await session.end(of: rest[4]).state)
    case "pause" where rest.count == 1: try session.pause(rest[4])
    case "resume" where rest.count == 1: try session.resume(rest[4])
    case "cancel" where rest.count == 1: try session.cancel(rest[4])
    case "acknowledge" where rest.count == 1: try session.acknowledge(rest[4])
    default:
        say("there is no verb \(arguments[3]) with \(rest.count) arguments")
        exit(2)
    }
    exit(0)
} catch {
    say(error.reason)
    exit(1)
}
