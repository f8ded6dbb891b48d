// Wherry: tests of the timed cache
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryCache
@testable import WherryHTTP
@testable import WherrySystem

@Suite struct TimedStoreTests {
    private func key(
        _ method: String = "POST", _ url: String = "toutiao/index",
        base: String? = "http://v.juhe.cn",
        _ parameters: JSON? = ["key": "0c60", "type": "top"],
        varying: [Headers.Field] = [], sensitive: String = "", partition: String = ""
    ) throws -> TimedKey {
        try TimedKey(
            base: base, url: url, method: method, parameters: parameters, varying: varying,
            sensitive: sensitive, partition: partition)
    }

    private func entry(
        _ key: TimedKey, duration: Int64 = 180_000, at time: Int64 = noon, body: String = "{}",
        appVersion: String? = "1", cacheVersion: Int64 = 0
    ) -> TimedEntry {
        TimedEntry(
            key, head: head(200, [("Content-Type", "application/json")]), body: Bytes(body),
            storedAt: time, duration: duration, appVersion: appVersion, cacheVersion: cacheVersion)
    }

    private func read(_ cache: TimedCacheStore, _ key: TimedKey, at time: Int64 = noon) -> String {
        switch cache.read(key, now: time, appVersion: "1") {
        case .success(let entry): entry.body.text
        case .failure(let refusal): refusal.rawValue
        }
    }

    @Test("K3 the identifier matches the test vectors")
    func vectors() throws {
        #expect(
            try key().identifier
                == "b4b36793efabad54a14389cf09bc8133_a6a72ddee1dd86825cb5707c500784f5_"
                + "f882aed12c0b16ebdaecb1e9619f608d_d42fd88cf63a1c22520547ab3c4250d3")
        #expect(
            try key("GET", "toutiao/index", nil).identifier
                == "b4b36793efabad54a14389cf09bc8133_a6a72ddee1dd86825cb5707c500784f5_"
                + "7b65261ff298c6a386c89a632bd17b39_")
        #expect(try key(base: nil).identifier.hasPrefix("507e6fd9699c311e1e11850905939715_"))
        #expect(throws: JSONError.self) { _ = try key("GET", "a", .double(.nan)) }
    }

    @Test("K3 K19 the parts of the identity")
    func identity() throws {
        let plain = try key()
        #expect(try plain == key("POST", "toutiao/index", ["type": "top", "key": "0c60"]))
        let token = Headers.Field(name: "Authorization", value: "a")
        let others = [
            try key("GET"), try key("POST", "toutiao/index?x"), try key(base: "http://other"),
            try key("POST", "toutiao/index", ["key": "0c60"]),
            try key("POST", "toutiao/index", nil),
            try key("POST", "toutiao/index", [:]),
            try key(varying: [token]), try key(varying: [.init(name: "Authorization", value: "b")]),
            try key(varying: [.init(name: "Authorization", value: nil)]),
            try key(sensitive: "anna"), try key(partition: "anna"), plain,
        ]
        #expect(Set(others).count == others.count)
        #expect(
            try key(varying: [token]) == key(varying: [.init(name: "authorization", value: "a")]))
    }

    @Test(
        "K5 every miss reason, in order",
        arguments: [
            (180_000, 0, "1", 0, nil), (180_000, 180_000, "1", 0, nil), (1, 1, "1", 0, nil),
            (180_000, 180_001, "1", 0, .expired), (500, 501, "1", 0, .expired),
            (0, 0, "1", 0, .duration), (-1, -5, "2", 1, .duration), (180_000, -1, "2", 1, .clock),
            (180_000, 180_001, "2", 1, .expired), (180_000, 5, "2", 1, .appVersion),
            (180_000, 5, nil, 0, .appVersion), (180_000, 5, "1", 1, .cacheVersion),
            (.max, .max - noon, "1", 0, nil),
        ] as [(Int64, Int64, String?, Int64, TimedRefusal?)])
    func refusals(
        duration: Int64, age: Int64, appVersion: String?, cacheVersion: Int64,
        expected: TimedRefusal?
    ) throws {
        let stored = entry(try key(), duration: duration)
        #expect(
            stored.refusal(at: noon + age, appVersion: appVersion, cacheVersion: cacheVersion)
                == expected)
        let unversioned = entry(try key(), appVersion: nil)
        #expect(unversioned.refusal(at: noon, appVersion: nil) == .appVersion)
        #expect(unversioned.refusal(at: noon, appVersion: "1") == .appVersion)
    }

    @Test(
        "K2 K4 a written response is read back, by the next store too; a refused one is deleted")
    func roundTrip() throws {
        let bench = try StoreBench()
        let cache = try bench.timedStore()
        let key = try key()
        #expect(read(cache, key) == "missing")
        let written = entry(key, body: "{\"a\":1}")
        #expect(cache.write(written, for: key))
        for cache in [cache, try bench.timedStore(), try bench.timedStore(memory: 0)] {
            #expect(try cache.read(key, now: noon, appVersion: "1").get() == written)
            #expect(read(cache, key, at: noon + 180_000) == "{\"a\":1}")
        }
        #expect(written.head["content-type"] == "application/json" && written.status == 200)
        #expect(written.remaining(at: noon + 80_000) == 100_000)
        #expect(bench.entryFiles.count == 1)
        #expect(read(cache, key, at: noon + 180_001) == "expired")
        #expect(bench.entryFiles.isEmpty && read(cache, key) == "missing")
    }

    @Test("K1 no duration, no entry: milliseconds count")
    func durations() throws {
        let bench = try StoreBench()
        let cache = try bench.timedStore()
        let key = try key()
        for duration in [0, -1, .min] as [Int64] {
            #expect(!cache.write(entry(key, duration: duration), for: key))
        }
        #expect(bench.entryFiles.isEmpty)
        #expect(cache.write(entry(key, duration: 500), for: key))
        #expect(read(cache, key, at: noon + 500) == "{}")
        #expect(read(cache, key, at: noon + 501) == "expired")
    }

    @Test("K5 damage is a reason, and such an entry is deleted")
    func damaged() throws {
        let bench = try StoreBench()
        let cache = try bench.timedStore(memory: 0)
        // It would remove an entry written at that moment.
        cache.entries.waitUntilSwept()
        let key = try key()
        cache.write(entry(key), for: key)
        let file = try #require(bench.entryFiles.first)
        var bytes = try bench.bytes(file)
        bytes[bytes.count - 1] ^= 1
        try bench.write(bytes, to: file)
        #expect(read(cache, key) == "damaged" && read(cache, key) == "missing")
    }

    @Test("SEC-C4 a response with any changed or cut byte in its file is a miss and never wrong")
    func everyByte() throws {
        let bench = try StoreBench()
        let cache = try bench.timedStore(memory: 0)
        // It would remove the damaged files and the empty folder.
        cache.entries.waitUntilSwept()
        let key = try key(partition: "anna")
        cache.write(entry(key, body: "a small body"), for: key)
        let file = bench.entryFiles[0]
        let bytes = try bench.bytes(file)
        func found(_ changed: [UInt8]) throws -> String {
            try bench.write(changed, to: file)
            return read(cache, key)
        }
        for index in bytes.indices {
            var changed = bytes
            for change in [UInt8(1), 0x80, 0xFF] {
                changed[index] = bytes[index] ^ change
                #expect(try found(changed) == "damaged" && bench.entryFiles.isEmpty)
            }
            #expect(try found(Array(bytes[..<index])) == "damaged" && bench.entryFiles.isEmpty)
        }
        #expect(try found(bytes + [0]) == "damaged" && found(bytes) == "a small body")
    }

    @Test("K8 K9 lists and clears by URL, by URL and method, and all")
    func many() throws {
        let bench = try StoreBench()
        let cache = try bench.timedStore()
        let keys = [
            try key("GET", "a", nil), try key("GET", "a", ["x": 1]), try key("POST", "a", nil),
            try key("GET", "b", nil), try key("GET", "a", base: nil, nil),
            try key("GET", "a", nil, sensitive: "anna"),
        ]
        func fill() { for key in keys { cache.write(entry(key), for: key) } }
        fill()
        let base = "http://v.juhe.cn"
        func count(_ url: String?, _ method: String? = nil, at time: Int64 = noon) -> Int {
            cache.list(url.map { (base, $0) }, method: method, now: time, appVersion: "1").count
        }
        #expect(count(nil) == 6 && count("a") == 4 && count("a", "GET") == 3 && count("c") == 0)
        for listed in cache.list((base, "b"), now: noon, appVersion: "1") {
            #expect(listed.entry.body.isEmpty && listed.bodyBytes == 2)
            #expect(listed.entry.url == "http://v.juhe.cn/b")
            let place = listed.place
            #expect(cache.entry(at: place, now: noon, appVersion: "1") == entry(keys[3]))
            #expect(cache.entry(at: place, now: noon + 180_001, appVersion: "1") == nil)
        }
        for place in [
            "", "../../etc/passwd", "ab/cd/0", "ab/" + String(repeating: "c", count: 30) + "/.t",
        ] {
            #expect(cache.entry(at: place, now: noon, appVersion: "1") == nil)
        }
        #expect(cache.removeAll(base: base, url: "a", method: "GET") == 3)
        #expect(count(nil) == 3 && cache.removeAll(base: base, url: "a", method: "GET") == 0)
        fill()
        #expect(cache.removeAll(base: base, url: "a") == 4 && read(cache, keys[3]) == "{}")
        #expect(read(cache, keys[0]) == "missing" && read(cache, keys[4]) == "{}")
        fill()
        #expect(cache.remove(keys[1]) && !cache.remove(keys[1]) && count(nil) == 5)
        let short = try key("GET", "short", nil)
        cache.write(entry(short, duration: 1), for: short)
        #expect(count(nil, at: noon + 2) == 5 && bench.entryFiles.count == 5)
        #expect(cache.clear() == 5 && cache.clear() == 0 && count(nil) == 0)
    }

    @Test("K14 another process's clear takes effect")
    func cleared() throws {
        let bench = try StoreBench()
        let (one, two) = (try bench.timedStore(), try bench.timedStore())
        let key = try key()
        one.write(entry(key), for: key)
        #expect(read(one, key) == "{}" && read(two, key) == "{}" && two.memoryCost > 0)
        one.clear()
        #expect(read(two, key) == "missing")
        one.write(entry(key, body: "1"), for: key)
        #expect(read(two, key) == "1")
        two.write(entry(key, body: "2"), for: key)
        #expect(read(one, key) == "2")
    }

    @Test("K9 K14 entries cleared by method are removed from every memory")
    func clearedMethod() throws {
        let bench = try StoreBench()
        let (one, two) = (try bench.timedStore(), try bench.timedStore())
        let key = try key("GET")
        one.write(entry(key), for: key)
        #expect(read(one, key) == "{}" && read(two, key) == "{}")
        // As a sweep does it.
        try FileManager.default.removeItem(atPath: bench.path + "/store/" + bench.entryFiles[0])
        #expect(read(one, key) == "{}" && read(two, key) == "{}")
        #expect(one.removeAll(method: "GET") == 0)
        #expect(read(one, key) == "missing" && read(two, key) == "missing")
    }

    @Test("K18 an entry in memory is marked as used, once a minute")
    func touched() throws {
        let bench = try StoreBench()
        let cache = try bench.timedStore()
        let key = try key()
        cache.write(entry(key), for: key)
        #expect(read(cache, key) == "{}")
        let file = bench.path + "/store/" + bench.entryFiles[0]
        func isOld(afterUseAt time: Int64) throws -> Bool {
            let past = Date(timeIntervalSince1970: 1_000_000)
            let files = FileManager.default
            try files.setAttributes([.modificationDate: past], ofItemAtPath: file)
            #expect(read(cache, key, at: time) == "{}")
            return try files.attributesOfItem(atPath: file)[.modificationDate] as? Date == past
        }
        #expect(try isOld(afterUseAt: noon + 59_999))
        #expect(try !isOld(afterUseAt: noon + 60_000))
        #expect(try isOld(afterUseAt: noon + 119_999))
        #expect(try !isOld(afterUseAt: noon + 120_000))
    }

    @Test("K20 a refused entry is removed only while it is the entry that was read")
    func replaced() throws {
        let bench = try StoreBench()
        let store = try bench.store()
        // It would remove the damaged file.
        store.waitUntilSwept()
        let folder = store.folder(of: "url")
        func write(_ body: String, at time: Int64) -> EntryFile {
            let file = EntryFile(
                key: [1], description: [2], body: Bytes(body), storedAt: time)
            #expect(store.write(file, to: "name", in: folder))
            return file
        }
        let old = write("old", at: noon)
        let new = write("new", at: noon + 1)
        let stamp = store.stamp(folder)
        #expect(!store.remove("name", in: folder, ifStill: old))
        #expect(!store.remove("name", in: folder, ifStill: nil))
        #expect(store.read("name", in: folder, key: [1]) == .entry(new))
        #expect(store.stamp(folder) != stamp && bench.entryFiles.count == 1)
        #expect(store.remove("name", in: folder, ifStill: new))
        #expect(!store.remove("name", in: folder, ifStill: new))
        #expect(bench.entryFiles.isEmpty && store.read("name", in: folder, key: [1]) == .missing)
        _ = write("damaged", at: noon)
        try bench.write([1, 2, 3], to: bench.entryFiles[0])
        #expect(!store.remove("name", in: folder, ifStill: new))
        #expect(store.remove("name", in: folder, ifStill: nil) && bench.entryFiles.isEmpty)
    }

    // Such an entry has no name for a moment, and a sweep took it for the file of a dead writer.
    @Test("K20 SEC-C6 an entry checked before its removal is not a leftover for a sweep")
    func sweptAside() throws {
        let bench = try StoreBench()
        let store = try bench.store()
        let folder = store.folder(of: "url")
        let (old, new) = (
            EntryFile(key: [1], description: [1], storedAt: noon),
            EntryFile(key: [1], description: [2], storedAt: noon)
        )
        #expect(store.write(new, to: "name", in: folder))
        for _ in 0..<2_000 {
            store.sweeper.request()
            #expect(!store.remove("name", in: folder, ifStill: old))
            try #require(store.read("name", in: folder, key: [1]) == .entry(new))
        }
        // The other process that holds it decides.
        let held = try File.open(folder.path + "/name", [.read, .write], in: store.root)
        #expect(try held.lock() && !store.remove("name", in: folder, ifStill: new))
        try held.unlock()
        #expect(store.remove("name", in: folder, ifStill: new))
        store.waitUntilSwept()
    }

    @Test("K20 an entry that a request does not accept is removed only while it is unchanged")
    func unaccepted() throws {
        let bench = try StoreBench()
        let cache = try bench.timedStore()
        let key = try key()
        let (old, new) = (entry(key, body: "old"), entry(key, at: noon + 1, body: "new"))
        cache.write(old, for: key)
        let read = try cache.read(key, now: noon, appVersion: "1").get()
        #expect(read == old)
        // Another process stores a newer one between the read and the decision.
        try bench.timedStore().write(new, for: key)
        #expect(!cache.remove(key, ifStill: read))
        #expect(self.read(cache, key, at: noon + 1) == "new")
        #expect(cache.remove(key, ifStill: new))
        #expect(self.read(cache, key, at: noon + 1) == "missing" && bench.entryFiles.isEmpty)
    }

    @Test("SEC-C10 parameters, headers, and the query are not on disk in plain text")
    func secrets() throws {
        let bench = try StoreBench()
        let cache = try bench.timedStore()
        let key = try key(
            "GET", "a?token=planted", ["password": "planted"],
            varying: [.init(name: "Authorization", value: "planted")], sensitive: "planted")
        cache.write(entry(key), for: key)
        #expect(read(cache, key) == "{}")
        for file in bench.files {
            #expect(!file.contains("planted"))
            #expect(!String(decoding: try bench.bytes(file), as: UTF8.self).contains("planted"))
        }
    }
}
