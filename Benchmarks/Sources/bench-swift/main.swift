// Wherry: the benchmark driver in Swift.
// SPDX-License-Identifier: Apache-2.0
//
// usage: bench-swift get URL REQUESTS IN_FLIGHT [CA [1.1]]
//        bench-swift executor get URL REQUESTS IN_FLIGHT [CA [1.1]]      on a NetworkExecutor
//        bench-swift sync URL REQUESTS
//        bench-swift download URL PATH COUNT
//        bench-swift upload URL FILE COUNT [CA]
//        bench-swift cache FOLDER memory|disk read|perform|send SIZE ENTRIES COUNT
//        bench-swift images cached|load ENTRIES COUNT

import Foundation
import Wherry

let warmUp = 64

func usage() -> Never {
    FileHandle.standardError.write(
        Data("usage: bench-swift get|sync|download|upload|cache|images ...\n".utf8))
    exit(2)
}

func openClient(_ inFlight: Int, caFile: String? = nil) throws -> Client {
    try Client {
        $0.proxy = ""
        // Sends the same bytes as the other drivers.
        $0.contentCodings = .identity
        $0.maxPerHost = max(6, inFlight)
        $0.maxConnections = max(32, inFlight)
        $0.caFile = caFile
    }
}

/// Sends requests with `await`, with a number of them in flight.
func get(
    _ url: String, _ total: Int, _ inFlight: Int, tls: ArraySlice<String>, onNetwork: Bool
) async throws {
    let client = try openClient(inFlight, caFile: tls.first)
    var request = Request(url, method: "GET")
    if tls.count > 1 { request.httpVersion = .http1 }
    let asked = request
    @Sendable func send(_ count: Int) async -> (failed: Int, bytes: Int64) {
        var failed = 0
        var bytes: Int64 = 0
        for _ in 0..<count {
            do { bytes += Int64(try await client.send(asked).body.count) } catch { failed += 1 }
        }
        return (failed, bytes)
    }
    let executor = onNetwork ? NetworkExecutor(client) : nil
    func run(_ total: Int) async -> (failed: Int, bytes: Int64) {
        await withTaskExecutorPreference(executor) {
            await withTaskGroup(of: (failed: Int, bytes: Int64).self) { group in
                for index in 0..<inFlight {
                    let share = total / inFlight + (index < total % inFlight ? 1 : 0)
                    group.addTask { await send(share) }
                }
                return await group.reduce((failed: 0, bytes: Int64(0))) {
                    ($0.failed + $1.failed, $0.bytes + $1.bytes)
                }
            }
        }
    }
    _ = await run(max(warmUp, inFlight))
    let measurement = Measurement()
    let sum = await run(total)
    measurement.end(done: total, failed: sum.failed, bytes: sum.bytes)
}

/// Sends blocking requests one after the other.
func sync(_ url: String, _ total: Int) throws {
    let client = try openClient(1)
    let request = Request(url, method: "GET")
    for _ in 0..<warmUp { _ = try client.perform(request) }
    let measurement = Measurement()
    var failed = 0
    var bytes: Int64 = 0
    for _ in 0..<total {
        do { bytes += Int64(try client.perform(request).body.count) } catch { failed += 1 }
    }
    measurement.end(done: total, failed: failed, bytes: bytes)
}

/// Downloads a file repeatedly.
func download(_ url: String, _ path: String, _ count: Int) async throws {
    let client = try openClient(1)
    var request = Request(url)
    request.overwrites = true
    let measurement = Measurement()
    var failed = 0
    var bytes: Int64 = 0
    for _ in 0..<count {
        do {
            let file = try await client.download(request, to: path).value
            let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size]
            bytes += Int64(size as? Int ?? 0)
        } catch { failed += 1 }
    }
    measurement.end(done: count, failed: failed, bytes: bytes)
}

/// Uploads a form with one file repeatedly.
func upload(_ url: String, _ path: String, _ count: Int, caFile: String?) throws {
    let client = try openClient(1, caFile: caFile)
    var request = Request(url, method: "POST")
    request.body = .multipart([.file("file", path: path)])
    let size = Int64(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0)
    var measurement = Measurement()
    _ = try client.perform(request)
    measurement.restart()
    var failed = 0
    for _ in 0..<count {
        do { _ = try client.perform(request) } catch { failed += 1 }
    }
    measurement.end(done: count, failed: failed, bytes: size * Int64(count - failed))
}

/// Measures cache hits.
func cache(_ words: [String]) async throws {
    guard words.count == 8, let size = Int(words[5]), let entries = Int(words[6]),
        let times = Int(words[7]), size > 0, entries > 0, times > 0
    else { usage() }
    let bench = try CacheBench(
        folder: words[2], inMemory: words[3] == "memory", size: size, entries: entries,
        isHTTP: words[4].hasSuffix("-http"))
    if words[4].hasPrefix("send") {
        try await bench.send(times: times)
    } else {
        try bench.run(words[4], times: times)
    }
    bench.client.close()
}

var words = CommandLine.arguments
if words.dropFirst().first == "cache" {
    try await cache(words)
    exit(0)
}
if words.dropFirst().first == "images" {
    guard words.count == 5, let entries = Int(words[3]), let times = Int(words[4]), entries > 0,
        times > 0
    else { usage() }
    try await ImageBench(entries: entries).run(words[2], times: times)
    exit(0)
}
let onNetwork = words.dropFirst().first == "executor"
if onNetwork { words.remove(at: 1) }
guard words.count > 3, let amount = Int(words[words.count == 4 ? 3 : words[1] == "get" ? 3 : 4])
else { usage() }
switch words[1] {
case "get" where 5...7 ~= words.count:
    try await get(
        words[2], amount, max(1, Int(words[4]) ?? 1), tls: words.dropFirst(5), onNetwork: onNetwork)
case "sync": try sync(words[2], amount)
case "download" where words.count == 5: try await download(words[2], words[3], amount)
case "upload" where 5...6 ~= words.count:
    try upload(words[2], words[3], amount, caFile: words.dropFirst(5).first)
default: usage()
}
