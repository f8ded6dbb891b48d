// Wherry: an API client with token refresh, a cache, and paging
// SPDX-License-Identifier: Apache-2.0
//
// usage: API_ID=me API_SECRET=... api-client BASE-URL [--token-file token]
//
// The token file and the cache are kept between runs. An expired token is refreshed once, even if
// several requests got a 401.

import ExampleTools
import Foundation
import Wherry

let arguments = Arguments(
    usage: "API_ID=me API_SECRET=... api-client BASE-URL [--token-file token]",
    count: 1, options: ["token-file"])
let environment = ProcessInfo.processInfo.environment
guard let id = environment["API_ID"], let secret = environment["API_SECRET"] else {
    arguments.fail()
}

do {
    let library = try Library(
        base: arguments[0], credentials: .basic(id, secret),
        tokenFile: TokenFile(path: arguments.text("token-file") ?? "token"))
    let user = try await library.user()
    print("signed in as \(user.name)\(user.isFromCache ? " (from the cache)" : "")")
    for try await book in library.books() {
        print("\(book.id): \(book.title), by \(book.author ?? "unknown")")
    }
} catch {
    note("\(error)\n")
    exit(1)
}
