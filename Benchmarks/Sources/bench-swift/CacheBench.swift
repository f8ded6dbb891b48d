// Wherry: benchmark of cache hits; Benchmarks/c/bench_cache.c fills the folder.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Wherry

/// Repeated requests for the entries that `bench_cache` stored.
struct CacheBench {
    /// The maximum number of different requests.
    static let most = 1024

    let client: Client
    let requests: [Request]
    let size: Int

    /// - Parameter isHTTP: whether to use the HTTP cache instead of the timed cache.
    init(folder: String, inMemory: Bool, size: Int, entries: Int, isHTTP: Bool) throws {
        client = try Client {
            $0.storageDirectory = folder
            $0.cacheMaxBytes = 1 << 40
            $0.cacheMemoryBytes = inMemory ? 1 << 30 : 0
        }
        requests = (0..<min(entries, Self.most)).map { number in
            var request = Request("http://bench.invalid/items/\(number)", method: "GET")
            request.cachePolicy = isHTTP ? .protocol : .use
            if !isHTTP { request.cacheDuration = .seconds(86_400) }
            return request
        }
        self.size = size
    }

    private func isHit(_ response: Response) -> Bool {
        response.isFromCache && response.body.count == size && response.body[size - 1] == 0x78
    }

    /// Measures `ResponseCache.response(to:)` or a blocking request.
    func run(_ call: String, times: Int) throws {
        switch call {
        case "read": measure(times) { isHit(try client.cache.response(to: $0)) }
        case "perform", "perform-http": measure(times) { isHit(try client.perform($0)) }
        default: usage()
        }
    }

    /// Measures a request with `await`, which never reads a cache on the calling thread.
    func send(times: Int) async throws {
        var found = Times(times)
        for turn in 0..<(requests.count + times) {
            let request = requests[turn &* 7919 % requests.count]
            let start = Times.now
            let isRight = isHit(try await client.send(request))
            found.add(since: start, isWarm: turn >= requests.count, isRight)
        }
        found.end()
    }

    private func measure(_ times: Int, _ call: (Request) throws -> Bool) {
        var found = Times(times)
        for turn in 0..<(requests.count + times) {
            let request = requests[turn &* 7919 % requests.count]
            let start = Times.now
            let isRight = (try? call(request)) ?? false
            found.add(since: start, isWarm: turn >= requests.count, isRight)
        }
        found.end()
    }
}

/// The time of each call.
private struct Times {
    private var times: [Int64] = []
    private var failed = 0

    init(_ count: Int) { times.reserveCapacity(count) }

    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    mutating func add(since start: Int64, isWarm: Bool, _ isRight: Bool) {
        let time = Self.now - start
        if isWarm { times.append(time) }
        if !isRight { failed += 1 }
    }

    /// Prints a line in the format of Benchmarks/c/bench_cache.h.
    func end() {
        let median = times.sorted()[times.count / 2]
        print("{\"ns\": \(median), \"failed\": \(failed)}")
        if failed > 0 { exit(1) }
    }
}
