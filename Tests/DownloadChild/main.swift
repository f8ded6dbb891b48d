// Wherry: a program that downloads one file, for tests that kill it
// SPDX-License-Identifier: Apache-2.0
//
// usage: DownloadChild URL PATH. Says "done" or the reason, and leaves with 0 or 1.

import Glibc
import Wherry

guard CommandLine.arguments.count == 3 else {
    print("usage: DownloadChild URL PATH")
    exit(2)
}
do {
    let client = try Client { $0.proxy = "" }
    let waiter = PerformWaiter()
    let transfer = try client.download(
        Request(CommandLine.arguments[1]), to: CommandLine.arguments[2], observer: waiter)
    let outcome = waiter.wait(on: client, timeout: 60_000_000_000)
    withExtendedLifetime(transfer) {}
    print(outcome?.error?.reason ?? (outcome == nil ? "nothing" : "done"))
    exit(outcome?.path == nil ? 1 : 0)
} catch {
    print(error.reason)
    exit(1)
}
