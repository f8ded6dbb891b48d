// Wherry: sends a value as JSON and decodes the response
// SPDX-License-Identifier: Apache-2.0
//
// usage: post-json BASE-URL

import Foundation
import Wherry

struct Greeting: Encodable {
    var name: String
    var words: [String]
}

struct Echo: Decodable {
    var method: String
    var size: Int
}

guard CommandLine.arguments.count == 2 else { exit(2) }
let client = try Client {
    $0.baseURL = CommandLine.arguments[1]
    $0.headers = ["X-App": "example"]
}

let greeting = Greeting(name: "Skye", words: ["halò", "hello"])
let echo = try await client.post("echo", json: greeting, as: Echo.self)
print("\(echo.method) of \(echo.size) bytes arrived")
