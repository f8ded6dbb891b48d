// Wherry: a program that downloads one file, for tests that kill it
// SPDX-License-Identifier: Apache-2.0
//
// usage: DownloadChild URL PATH [SEGMENTS]. Prints "done" or the reason, and exits with 0 or 1.

import Glibc
import Wherry

guard (3...4).contains(CommandLine.arguments.count) else {
    print("usage: DownloadChild URL PATH [SEGMENTS]")
    exit(2)
}
do {
    // Its timeouts are generous: it is killed, or ends normally.
    let client = try Client {
        $0.proxy = ""
        $0.idleTimeout = .seconds(3600)
        $0.firstByteTimeout = .seconds(3600)
    }
    var request = Request(CommandLine.arguments[1])
    request.set(.stallSpeed, 0)
    if CommandLine.arguments.count == 4 { request.segments = Int(CommandLine.arguments[3]) }
    _ = try await client.download(request, to: CommandLine.arguments[2]).value
    print("done")
    exit(0)
} catch {
    print(error.reason)
    exit(1)
}
