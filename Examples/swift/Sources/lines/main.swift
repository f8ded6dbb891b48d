// Wherry: prints a response line by line as it arrives
// SPDX-License-Identifier: Apache-2.0
//
// usage: lines URL

import Foundation
import Wherry

guard CommandLine.arguments.count == 2 else { exit(2) }
let client = try Client()

var count = 0
for try await line in try await client.lines(CommandLine.arguments[1]) {
    count += 1
    print("\(count): \(line)")
}
