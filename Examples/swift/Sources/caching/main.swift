// Wherry: shows which responses come from a cache
// SPDX-License-Identifier: Apache-2.0
//
// usage: caching BASE FOLDER

import ExampleTools
import Foundation
import Wherry

let arguments = Arguments(usage: "caching BASE FOLDER", count: 2, options: [])

func show(_ what: String, _ response: Response) throws {
    var words = [what, "\(try response.json().integer(at: "n") ?? 0)"]
    if response.isFromCache { words.append("from_cache") }
    if response.isStale { words.append("is_stale") }
    if response.isRevalidated { words.append("is_revalidated") }
    print(words.joined(separator: " "))
}

do {
    let client = try Client {
        $0.baseURL = arguments[0]
        $0.storageDirectory = arguments[1]
    }
    // guide: begin timed
    var request = Request("news")
    request.cacheDuration = .seconds(60)  // for a minute, whatever the server says
    request.cachePolicy = .use
    try show("asked", try await client.send(request))
    try show("again", try await client.send(request))
    request.cachePolicy = .refresh
    try show("fresh", try await client.send(request))
    // guide: end timed
    // guide: begin then
    request.cachePolicy = .thenNetwork
    let handle = try client.start(request)
    if let stored = await handle.cached { try show("first", stored) }  // the cached one
    try show("then", try await handle.value)  // the new one
    // guide: end then
    // guide: begin manage
    for entry in try await client.cache.entries("news") { print(entry.method, entry.status) }
    print("cleared \(try await client.cache.clear("news"))")
    // guide: end manage

    // guide: begin http
    let reader = try Client {
        $0.baseURL = arguments[0]
        $0.storageDirectory = arguments[1]
        $0.usesHTTPCache = true
    }
    var feed = Request("feed")
    try show("asked", try await reader.send(feed))
    try show("validated", try await reader.send(feed))
    feed.staleIfError = .seconds(3600)  // or a stale response
    try show("down", try await reader.send(feed))
    // guide: end http
} catch {
    note("\(error)\n")
    exit(1)
}
