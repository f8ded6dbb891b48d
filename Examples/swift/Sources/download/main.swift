// Wherry: downloads a file, and resumes an earlier run
// SPDX-License-Identifier: Apache-2.0
//
// usage: download URL FILE

import Foundation
import Wherry

guard CommandLine.arguments.count == 3 else { exit(2) }
let client = try Client()

do {
    let download = try client.download(CommandLine.arguments[1], to: CommandLine.arguments[2])
    for await progress in download.progress {
        let percent =
            progress.fraction.map { "\(Int($0 * 100)) %" } ?? "\(progress.completed) bytes"
        print(progress.resumedAt > 0 ? "\(percent), resumed at \(progress.resumedAt)" : percent)
    }
    let file = try await download.value
    print("saved as \(file.path)")
} catch {
    print("\(error.reason): \(error.message)")
    if let partial = error.partialPath { print("partial file: \(partial)") }
    exit(1)
}
