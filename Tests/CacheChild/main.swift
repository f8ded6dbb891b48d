// Wherry: a program that uses a cache folder, for tests with several processes and kills.
// SPDX-License-Identifier: Apache-2.0
//
// usage: CacheChild write STORE MASK      writes an entry under that umask (octal), prints "done"
//        CacheChild loop STORE            writes forever, prints "." every 16 entries
//        CacheChild mix STORE NAME COUNT  reads and writes; prints "torn N"
//        CacheChild timed-loop STORE      the same as loop, with the timed cache
//        CacheChild timed-mix STORE NAME COUNT    the same as mix, with the timed cache
//        CacheChild time STORE COUNT      prints the durations of calls, in nanoseconds
//        CacheChild queries STORE COUNT   the same with that many queries of one path

import Glibc
import WherryCache
import WherryHTTP
import WherrySystem
import WherryTransport

/// Returns a body of equal bytes, so that a mixture of two bodies is detected.
func body(_ byte: UInt8, _ count: Int) -> Bytes { Bytes([UInt8](repeating: byte, count: count)) }

func entry(_ number: Int, _ body: Bytes) -> EntryFile {
    EntryFile(key: Array("\(number)".utf8), description: [], body: body, storedAt: 0)
}

func say(_ text: String) {
    print(text)
    fflush(nil)
}

/// Reads and writes entries. Returns the number of results that are neither a miss nor a complete
/// entry.
func mix(_ store: EntryStore, name: UInt8, count: Int) -> Int {
    var torn = 0
    var seed = UInt64(name)
    for round in 0..<count {
        seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let number = Int((seed >> 33) % 20)
        let folder = store.folder(of: "\(number)")
        switch (seed >> 40) % 8 {
        case 0...2:
            store.write(entry(number, body(name, 50 + round % 90 * 300)), to: "0", in: folder)
        case 3 where round % 4 == 0: store.remove("0", in: folder)
        case 4 where round % 500 == 4: store.clear()
        default:
            switch store.read("0", in: folder, key: Array("\(number)".utf8)) {
            case .missing: break
            case .damaged: torn += 1
            case .entry(let found):
                if found.body != body(found.body.first ?? 0, found.body.count) { torn += 1 }
            }
        }
    }
    return torn
}

/// A response in the timed cache that identifies its request.
struct TimedResponse {
    let number: Int
    let key: TimedKey

    init(_ number: Int) throws {
        self.number = number
        key = try TimedKey(
            base: "http://example.org/", url: "things/\(number % 7)", method: "GET",
            parameters: nil, partition: number < 4 ? "" : "\(number)")
    }

    func entry(_ body: Bytes) -> TimedEntry {
        let head = ResponseHead(status: 200, block: Bytes("number: \(number)\n"))
        return TimedEntry(
            key, head: head, body: body, storedAt: 0, duration: .max, appVersion: "1")
    }

    func isWhole(_ found: TimedEntry) -> Bool {
        found == entry(body(found.body.first ?? 0, found.body.count))
    }
}

/// Reads and writes responses in the timed cache. Returns the number of results that are neither a
/// miss nor a complete, matching response.
func mixTimed(_ store: EntryStore, name: UInt8, count: Int) throws -> Int {
    let cache = TimedCacheStore(store, memoryLimit: 256 << 10)
    let answers = try (0..<20).map { try TimedResponse($0) }
    var torn = 0
    var seed = UInt64(name)
    for round in 0..<count {
        seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let answer = answers[Int((seed >> 33) % 20)]
        switch (seed >> 40) % 8 {
        case 0...2:
            cache.write(answer.entry(body(name, 50 + round % 90 * 300)), for: answer.key)
        case 3 where round % 4 == 0: cache.remove(answer.key)
        case 3 where round % 50 == 1:
            cache.removeAll(base: "http://example.org/", url: "things/\(answer.number % 7)")
        case 4 where round % 500 == 4: cache.clear()
        case 4 where round % 20 == 5:
            torn += cache.list(now: 1, appVersion: "1").filter { $0.bodyBytes < 50 }.count
        default:
            switch cache.read(answer.key, now: 1, appVersion: "1") {
            case .failure(.missing): break
            case .failure: torn += 1
            case .success(let found): if !answer.isWhole(found) { torn += 1 }
            }
        }
    }
    return torn
}

/// Prints the average duration of a call in each of five runs.
func time(_ what: String, _ count: Int, _ body: (Int) -> Void) {
    let clock = SystemClock.shared
    let runs = (0..<5).map { run in
        let start = clock.now()
        for index in 0..<count { body(run * count + index) }
        return clock.now().since(start) / Int64(count)
    }
    say("\(what): \(runs.sorted().map { String($0) }.joined(separator: " "))")
}

/// Prints the durations of writing, reading from disk, and reading from memory, for responses of 1
/// KiB.
func time(_ store: EntryStore, count: Int) throws {
    let clock = SystemClock.shared
    let now = Int64(clock.wallSeconds() * 1000)
    let names = ["cache-control": "max-age=3600", "etag": "\"v\"", "content-type": "text/plain"]
    let text = names.map { "\($0): \($1)\n" }.joined()
    let head = ResponseHead(
        status: 200, block: Bytes("date: \(HTTPDate.format(now / 1000))\n" + text))
    func request(_ number: Int) throws -> CacheRequest {
        let target = try HTTPURL("http://example.org/things/\(number % 1000)?page=1")
        return CacheRequest(method: "GET", target: target, headers: ["Accept": "*/*"])
    }
    let requests = try (0..<1000).map(request)
    for (place, limit) in [("disk", 0), ("memory", 16 << 20)] {
        let cache = HTTPCacheStore(store, memoryLimit: limit)
        func look(_ number: Int) -> CacheLookup {
            CacheLookup(
                requests[number % 1000], options: HTTPCacheOptions(), secret: cache.secret, now: now
            )
        }
        time("store", count / 10) { number in
            let came = ArrivedResponse(
                head: head, body: body(7, 1024), requestTime: now, responseTime: now)
            let outcome = look(number).resolve(came, to: NetworkPlan(), stored: [])
            cache.apply(outcome, key: .init(url: requests[number % 1000].url), now: now)
        }
        var misses = 0
        time("hit, \(place)", count) { number in
            let look = look(number)
            let key = HTTPCacheStore.Key(url: look.request.url)
            let stored = cache.stored(for: look.request, key: key, now: now)
            guard case .serve(let answer) = look.decide(stored), answer.head.status == 200,
                answer.body.count == 1024
            else {
                misses += 1
                return
            }
        }
        say("misses: \(misses)")
    }
    time("open", 100) { _ in
        withExtendedLifetime(
            try? EntryStore(arguments[2], limit: 1 << 40, workers: workers, clock: clock)
        ) {}
    }
}

/// Prints the durations of HTTP cache calls for one query of a path with many other stored
/// queries.
func timeQueries(_ store: EntryStore, count: Int) throws {
    let cache = HTTPCacheStore(store, memoryLimit: 0)
    let now = Int64(SystemClock.shared.wallSeconds() * 1000)
    let head = ResponseHead(status: 200, block: Bytes("cache-control: max-age=3600\n"))
    func request(_ number: Int) throws -> CacheRequest {
        let target = try HTTPURL("http://example.org/things?page=\(number)")
        return CacheRequest(method: "GET", target: target, headers: [:])
    }
    func write(_ request: CacheRequest) {
        let came = ArrivedResponse(
            head: head, body: body(7, 1024), requestTime: now, responseTime: now)
        let outcome = CacheLookup(
            request, options: HTTPCacheOptions(), secret: cache.secret, now: now
        ).resolve(came, to: NetworkPlan(), stored: [])
        cache.apply(outcome, key: .init(url: request.url), now: now)
    }
    let own = try request(-1)
    var written = 0
    for goal in [0, count] {
        while written < goal {
            write(try request(written))
            written += 1
        }
        store.waitUntilSwept()
        time("with \(goal) entries: store", 100) { _ in write(own) }
        time("with \(goal) entries: all stored", 100) { _ in
            _ = cache.allStored(key: .init(url: own.url))
        }
        time("with \(goal) entries: store and invalidate", 100) { _ in
            write(own)
            cache.removeAll(url: own.url)
        }
    }
    time("usage", 1) { _ in _ = cache.usage() }
    let clock = SystemClock.shared
    let start = clock.now()
    let gone = cache.removeAll(path: "http://example.org:80/things")
    say("clear \(gone): \(clock.now().since(start))")
}

let arguments = CommandLine.arguments
guard arguments.count >= 3 else { exit(2) }
let workers = WorkerPool(limit: 1)
if arguments[1] == "write", let mask = arguments.last.flatMap({ UInt32($0, radix: 8) }) {
    umask(mask)
}
do {
    let limit: Int64 = ["time", "queries"].contains(arguments[1]) ? 1 << 40 : 4 << 20
    let store = try EntryStore(
        arguments[2], limit: limit, workers: workers, clock: SystemClock.shared)
    switch arguments[1] {
    case "write":
        let isDone = store.write(entry(0, body(1, 1000)), to: "0", in: store.folder(of: "0"))
        store.waitUntilSwept()
        say(isDone ? "done" : "not written")
    case "loop":
        for round in 0... {
            let number = round % 4
            store.write(
                entry(number, body(UInt8(truncatingIfNeeded: round), 100 + round % 8 * 20_000)),
                to: "0", in: store.folder(of: "\(number)"))
            if round % 16 == 15 { say(".") }
        }
    case "timed-loop":
        let cache = TimedCacheStore(store, memoryLimit: 0)
        let answers = try (0..<4).map { try TimedResponse($0) }
        for round in 0... {
            let answer = answers[round % 4]
            let body = body(UInt8(truncatingIfNeeded: round), 100 + round % 8 * 20_000)
            cache.write(answer.entry(body), for: answer.key)
            if round % 16 == 15 { say(".") }
        }
    case "timed-mix":
        guard arguments.count == 5, let name = UInt8(arguments[3]), let count = Int(arguments[4])
        else { exit(2) }
        say("torn \(try mixTimed(store, name: name, count: count))")
        store.waitUntilSwept()
    case "mix":
        guard arguments.count == 5, let name = UInt8(arguments[3]), let count = Int(arguments[4])
        else { exit(2) }
        say("torn \(mix(store, name: name, count: count))")
        store.waitUntilSwept()
    case "time":
        guard let count = arguments.last.flatMap({ Int($0) }) else { exit(2) }
        try time(store, count: count)
        store.close()
    case "queries":
        guard let count = arguments.last.flatMap({ Int($0) }) else { exit(2) }
        try timeQueries(store, count: count)
        store.close()
    default: exit(2)
    }
    workers.close()
} catch {
    say("\(error)")
    exit(1)
}
