// Wherry: sends a GET and prints the response
// SPDX-License-Identifier: Apache-2.0
//
// usage: get URL

import Foundation
import Wherry

guard CommandLine.arguments.count == 2 else { exit(2) }
let client = try Client()

do {
    let response = try await client.get(CommandLine.arguments[1])
    print("\(response.status), \(response.body.count) bytes in \(response.metrics.total)")
    print(response.text)
} catch {
    // `error` is a WherryError: a code, a reason, a message, and the response if there is one.
    print("\(error.reason): \(error.message)")
    if let response = error.response { print(response.text) }
    exit(1)
}
