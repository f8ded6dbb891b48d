// Wherry: asks for a URL and prints the answer
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
    // `error` is a WherryError: a code, a word and a sentence, and the answer if one came.
    print("\(error.reason): \(error.message)")
    if let answer = error.response { print(answer.text) }
    exit(1)
}
