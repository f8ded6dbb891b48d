// Wherry: tests of the entry store in a folder
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryCache
@testable import WherryHTTP
@testable import WherrySystem

@Suite struct EntryStoreTests {
    private let key = Array("key".utf8)

    @Test("A written entry is read back, by this store and the next one")
    func roundTrip() throws {
        let bench = try StoreBench()
        let store = try bench.store()
        let folder = store.folder(of: "http://a/")
        #expect(store.read("0", in: folder, key: key) == .missing)
        #expect(store.write(entry("one"), to: "0", in: folder))
        #expect(store.read("0", in: folder, key: key) == .entry(entry("one")))
        #expect(store.write(entry("two"), to: "0", in: folder))
        #expect(try bench.store().read("0", in: folder, key: key) == .entry(entry("two")))
        #expect(bench.entryFiles == [folder.path + "/0"])
        #expect(store.remove("0", in: folder) && !store.remove("0", in: folder))
        #expect(store.read("0", in: folder, key: key) == .missing)
    }

    @Test(
        "A body larger than the first read is read completely",
        arguments: [8000, 8192, 20_000, 3 << 20])
    func large(count: Int) throws {
        let bench = try StoreBench()
        let store = try bench.store()
        let folder = store.folder(of: "x")
        let body = String(repeating: "y", count: count)
        store.write(entry(body), to: "0", in: folder)
        #expect(store.read("0", in: folder, key: key) == .entry(entry(body)))
    }

    @Test("SEC-C1 two keys with one digest stay two entries")
    func collision() throws {
        let bench = try StoreBench()
        let store = try bench.store(hash: { _ in [UInt8](repeating: 7, count: 32) })
        let folder = store.folder(of: "a")
        #expect(folder == store.folder(of: "b"))
        store.write(entry("of a", key: "a"), to: "0", in: folder)
        #expect(store.read("0", in: folder, key: Array("b".utf8)) == .missing)
        #expect(
            store.read("0", in: folder, key: Array("a".utf8)) == .entry(entry("of a", key: "a")))
    }

    @Test("Damage is detected, also in an empty file")
    func damage() throws {
        let bench = try StoreBench()
        let store = try bench.store()
        // The sweep at opening would remove files that are not entries.
        bench.workers.close()
        let folder = store.folder(of: "a")
        store.write(entry("body"), to: "0", in: folder)
        let file = folder.path + "/0"
        let bytes = try bench.bytes(file)
        for bad in [[], Array(bytes.dropLast()), bytes + [0], Array(bytes.reversed())] {
            try bench.write(bad, to: file)
            #expect(store.read("0", in: folder, key: key) == .damaged)
        }
        #expect(store.write(entry("again"), to: "0", in: folder))
        #expect(store.read("0", in: folder, key: key) == .entry(entry("again")))
    }

    @Test("SEC-C5 a folder writable by others is refused, a readable one is made private")
    func sharedFolder() throws {
        let bench = try StoreBench()
        mkdir(bench.path + "/store", 0o700)
        for mode in [0o770, 0o702] as [mode_t] {
            chmod(bench.path + "/store", mode)
            #expect(throws: SystemError.self) { _ = try bench.store() }
        }
        chmod(bench.path + "/store", 0o755)
        _ = try bench.store()
        #expect(try Directory.open(bench.path).status(of: "store")?.permissions == 0o700)
    }

    @Test("SEC-C5 a folder of another user is refused", .enabled(if: geteuid() == 0, "needs root"))
    func foreignFolder() throws {
        let bench = try StoreBench()
        mkdir(bench.path + "/store", 0o700)
        chown(bench.path + "/store", 65_534, 65_534)
        #expect(throws: SystemError.self) { _ = try bench.store() }
    }

    @Test(
        "SEC-C9 on a full disk the cache works without storing, and leaves no file",
        .enabled(if: geteuid() == 0, "needs root and mount"))
    func fullDisk() throws {
        let bench = try StoreBench()
        guard mount("tmpfs", bench.path, "tmpfs", 0, "size=256k") == 0 else { return }
        defer { umount2(bench.path, Int32(MNT_DETACH)) }
        let store = try bench.store()
        let body = String(repeating: "z", count: 3000)
        var kept = 0
        while kept < 1000, store.write(entry(body), to: "0", in: store.folder(of: "\(kept)")) {
            kept += 1
        }
        #expect(kept > 0 && kept < 100)
        #expect(!store.write(entry(body), to: "0", in: store.folder(of: "more")))
        for number in 0..<kept {
            #expect(
                store.read("0", in: store.folder(of: "\(number)"), key: key) == .entry(entry(body)))
        }
        store.waitUntilSwept()
        #expect(bench.entryFiles.count == kept)
        #expect(store.remove("0", in: store.folder(of: "0")))
        #expect(store.write(entry(body), to: "0", in: store.folder(of: "more")))
    }

    @Test("SEC-C5 no link is followed, wherever it is planted")
    func links() throws {
        let bench = try StoreBench()
        let outside = try StoreBench()
        let folder = try bench.store().folder(of: "a")
        let root = bench.path + "/store/"
        _ = try outside.store().write(entry("planted"), to: "0", in: folder)
        outside.workers.close()
        let before = outside.files
        let elsewhere = outside.path + "/store/"
        let store = try bench.store()
        // The sweeps of both openings would remove files that are not entries, and what replaced
        // them.
        bench.workers.close()
        // In place of the entry, of its folder, and of the folder above.
        mkdir(root + folder.shard, 0o700)
        mkdir(root + folder.path, 0o700)
        symlink(elsewhere + folder.path + "/0", root + folder.path + "/0")
        #expect(store.read("0", in: folder, key: key) == .missing)
        #expect(store.write(entry("own"), to: "0", in: folder))
        #expect(store.read("0", in: folder, key: key) == .entry(entry("own")))
        unlink(root + folder.path + "/0")
        rmdir(root + folder.path)
        symlink(elsewhere + folder.path, root + folder.path)
        #expect(store.read("0", in: folder, key: key) == .missing)
        #expect(!store.write(entry("own"), to: "0", in: folder))
        #expect(!store.remove("0", in: folder) && store.names(in: folder).isEmpty)
        unlink(root + folder.path)
        rmdir(root + folder.shard)
        symlink(elsewhere + folder.shard, root + folder.shard)
        #expect(store.read("0", in: folder, key: key) == .missing)
        #expect(!store.write(entry("own"), to: "0", in: folder) && store.clear() == 0)
        #expect(outside.files == before)
        // And of the files of the store itself: the secret is created again.
        let other = try StoreBench()
        mkdir(other.path + "/store", 0o700)
        symlink(elsewhere + "secret", other.path + "/store/secret")
        #expect(try other.store().root.status(of: "secret")?.kind == .regular)
        #expect(try other.bytes("secret") != outside.bytes("secret"))
        try FileManager.default.removeItem(atPath: other.path + "/store/counters")
        symlink(elsewhere + "counters", other.path + "/store/counters")
        #expect(throws: SystemError.self) { _ = try other.store() }
        let linked = try StoreBench()
        symlink(elsewhere, linked.path + "/store")
        #expect(throws: SystemError.self) { _ = try linked.store() }
    }

    @Test("K18 ten thousand entries stay within the limit: the least recently used are gone")
    func limit() throws {
        let bench = try StoreBench()
        let store = try bench.store(limit: 1 << 20)
        let body = String(repeating: "z", count: 900)
        for number in 0..<10_000 {
            store.write(entry(body), to: "0", in: store.folder(of: "\(number)"))
        }
        store.waitUntilSwept()
        #expect(store.usage().bytes <= 1 << 20)
        // Entries written during a sweep may count twice, so that it removes more than necessary; a
        // few at a time, this is little more than a tenth.
        for number in 0..<1_000 {
            store.write(entry(body), to: "0", in: store.folder(of: "more \(number)"))
            if number % 50 == 0 { store.waitUntilSwept() }
        }
        store.waitUntilSwept()
        #expect(store.usage().bytes <= 1 << 20 && store.usage().bytes >= 1 << 19)
        // While others write, the sum is a guess; now it must be exact.
        store.sweeper.request()
        store.waitUntilSwept()
        let usage = store.usage()
        #expect(store.counters[EntryStore.totalBytes] == usage.bytes)
        #expect(store.read("0", in: store.folder(of: "more 999"), key: key) == .entry(entry(body)))
        #expect(store.read("0", in: store.folder(of: "0"), key: key) == .missing)
        #expect(bench.entryFiles.count == usage.count)
    }

    @Test("K18 recently used entries stay")
    func recentlyUsed() throws {
        let bench = try StoreBench()
        let body = String(repeating: "z", count: 10_000)
        let store = try bench.store(limit: 200_000)
        for number in 0..<18 {
            store.write(entry(body), to: "0", in: store.folder(of: "\(number)"))
        }
        // Written in one moment, they may all have the same time.
        for number in 0..<18 {
            let time = Date(timeIntervalSince1970: 1_000_000_000 + Double(number))
            try bench.setTime(time, in: store.folder(of: "\(number)"))
        }
        store.touch("0", in: store.folder(of: "0"))
        for number in 18..<21 {
            store.write(entry(body), to: "0", in: store.folder(of: "\(number)"))
        }
        store.waitUntilSwept()
        #expect(store.read("0", in: store.folder(of: "0"), key: key) == .entry(entry(body)))
        #expect(store.read("0", in: store.folder(of: "1"), key: key) == .missing)
        for number in 18..<21 {
            #expect(
                store.read("0", in: store.folder(of: "\(number)"), key: key) == .entry(entry(body)))
        }
    }

    @Test("K18 entries are removed even if the counter of their sizes was too low")
    func wrongCounter() throws {
        let bench = try StoreBench()
        let body = String(repeating: "z", count: 10_000)
        let store = try bench.store(limit: 200_000)
        for number in 0..<19 {
            store.write(entry(body), to: "0", in: store.folder(of: "\(number)"))
        }
        store.waitUntilSwept()
        let size = store.usage().bytes
        store.limits.bytes.store(size - 1, ordering: .relaxed)
        store.counters.add(-size, to: EntryStore.totalBytes)
        store.sweeper.request()
        store.waitUntilSwept()
        #expect(store.usage().bytes <= size / 10 * 9)
        #expect(store.counters[EntryStore.totalBytes] == store.usage().bytes)
    }

    @Test("K18 entries of the same time and from the future: only as many as necessary are removed")
    func sameTime() throws {
        let bench = try StoreBench()
        let body = String(repeating: "z", count: 10_000)
        let store = try bench.store(limit: 1 << 20)
        for number in 0..<40 {
            store.write(entry(body), to: "0", in: store.folder(of: "\(number)"))
            let time = number < 20 ? Date(timeIntervalSince1970: 1e9) : .distantFuture
            try bench.setTime(time, in: store.folder(of: "\(number)"))
        }
        store.setLimit(200_000)
        store.waitUntilSwept()
        let isThere = (0..<40).map { store.entry(at: store.folder(of: "\($0)").path + "/0") != nil }
        #expect(isThere.dropFirst(20).allSatisfy { !$0 })
        #expect(isThere.count(where: \.self) == 17)
    }

    @Test(
        "An entry larger than an eighth of the store is not written, and the older one is removed")
    func tooLarge() throws {
        let bench = try StoreBench()
        let store = try bench.store(limit: 80_000)
        let folder = store.folder(of: "a")
        store.write(entry("old"), to: "0", in: folder)
        #expect(!store.write(entry(String(repeating: "z", count: 10_000)), to: "0", in: folder))
        #expect(store.read("0", in: folder, key: key) == .missing)
    }

    @Test("SEC-C6 opening removes leftovers, useless entries, foreign files, and empty folders")
    func sweep() throws {
        let bench = try StoreBench()
        var store = try bench.store()
        let folder = store.folder(of: "a")
        let other = store.folder(of: "b")
        store.write(entry("kept"), to: "0", in: folder)
        var useless = entry("useless")
        useless.uselessAfter = noon - 1
        store.write(useless, to: "0", in: other)
        store.waitUntilSwept()
        try bench.write([1, 2], to: folder.path + "/.t0123")
        try bench.write([1, 2], to: folder.path + "/stranger")
        try bench.write([1, 2], to: ".t4567")
        // A file that is being written is locked.
        let open = try Directory.open(bench.path + "/store/" + folder.path)
        let busy = try File.open(".tbusy", [.write, .create], in: open)
        #expect(try busy.lock())

        store = try bench.store()
        store.waitUntilSwept()

        #expect(bench.entryFiles == [folder.path + "/.tbusy", folder.path + "/0"].sorted())
        #expect(!bench.files.contains(".t4567"))
        #expect(!FileManager.default.fileExists(atPath: bench.path + "/store/" + other.path))
        #expect(store.usage() == (1, store.counters[EntryStore.totalBytes]))
        withExtendedLifetime(busy) {}
    }

    // On a slow machine it ran after a request had stored an entry that the next one should find
    // expired.
    @Test("K11 SEC-C6 a late sweep removes only entries that were useless when it was requested")
    func lateSweep() throws {
        let bench = try StoreBench()
        let clock = ManualClock()
        let workers = WorkerPool(limit: 1)
        let gate = DispatchSemaphore(value: 0)
        workers.submit { gate.wait() }
        let store = try EntryStore(
            bench.path + "/store", limit: 64 << 20, workers: workers, clock: clock)
        let asked = Int64(clock.wallSeconds() * 1000)
        func write(_ name: String, uselessAfter: Int64) {
            var file = entry(name)
            file.uselessAfter = uselessAfter
            #expect(store.write(file, to: "0", in: store.folder(of: name)))
        }
        func isThere(_ name: String) -> Bool {
            store.read("0", in: store.folder(of: name), key: key) != .missing
        }
        write("useless before", uselessAfter: asked - 1)
        write("useless after", uselessAfter: asked + 1)
        clock.advance(by: 60_000_000_000)

        gate.signal()
        store.waitUntilSwept()
        #expect(!isThere("useless before") && isThere("useless after"))

        store.sweeper.request()
        store.waitUntilSwept()
        #expect(!isThere("useless after"))
        workers.close()
    }

    // It was reported as "File exists", and the cache was not opened.
    @Test("K20 a key created by one process and swept by another is not a failure")
    func outrun() throws {
        let bench = try StoreBench()
        let store = try bench.store()
        store.waitUntilSwept()
        func isOutrun(_ code: Int32) throws -> Bool {
            try EntryStore.isOutrun(
                SystemError(code, "rename to", path: "secret"), removing: ".tk", in: store.root)
        }
        #expect(try isOutrun(EEXIST) && isOutrun(ENOENT) && !isOutrun(ENOSPC))
        try bench.write([1], to: ".tk")
        #expect(try isOutrun(EEXIST) && !bench.files.contains(".tk"))
    }

    @Test("Clearing and listing see every entry")
    func all() throws {
        let bench = try StoreBench()
        let store = try bench.store()
        for number in 0..<20 {
            store.write(entry("x", key: "\(number)"), to: "0", in: store.folder(of: "\(number)"))
        }
        var keys: Set<String> = []
        store.forEach { folder, name, head, size in
            keys.insert(String(decoding: head.key, as: UTF8.self))
            #expect(head.body.isEmpty && size == 48 + Int64(head.key.count) + 8 + 1)
            #expect(folder == store.folder(of: String(decoding: head.key, as: UTF8.self)))
            return true
        }
        #expect(keys.count == 20 && store.usage().count == 20)
        var seen = 0
        store.forEach { _, _, _, _ in
            seen += 1
            return seen < 3
        }
        #expect(seen == 3)
        let stamp = store.stamp(store.folder(of: "1"))
        #expect(store.clear() == 20 && store.clear() == 0 && store.usage() == (0, 0))
        #expect(store.stamp(store.folder(of: "1")) != stamp)
    }

    @Test("A change by another opening of the folder changes the stamp")
    func stamps() throws {
        let bench = try StoreBench()
        let (one, two) = (try bench.store(), try bench.store())
        let folder = one.folder(of: "a")
        var last = one.stamp(folder)
        func hasChanged() -> Bool {
            defer { last = one.stamp(folder) }
            return one.stamp(folder) != last
        }
        #expect(!hasChanged())
        two.write(entry("x"), to: "0", in: folder)
        #expect(hasChanged() && !hasChanged())
        two.remove("0", in: folder)
        #expect(hasChanged())
        two.clear()
        #expect(hasChanged())
        _ = two.read("0", in: folder, key: key)
        #expect(!hasChanged())
    }

    @Test("K20 many threads on one folder: every read is one complete write")
    func threads() throws {
        let bench = try StoreBench()
        let stores = try (0..<4).map { _ in try bench.store() }
        let torn = Lock(0)
        let done = Lock(0)
        let threads = try (0..<4).map { thread in
            try NativeThread(name: "store-\(thread)") {
                let store = stores[thread]
                for round in 0..<600 {
                    let folder = store.folder(of: "\(round % 7)")
                    let body = String(repeating: "\(thread)", count: 100 + round % 50 * 400)
                    switch round % 3 {
                    case 0: store.write(entry(body), to: "0", in: folder)
                    case 1 where round % 10 == 1: store.remove("0", in: folder)
                    default:
                        switch store.read("0", in: folder, key: Array("key".utf8)) {
                        case .damaged: torn.withLock { $0 += 1 }
                        case .missing: break
                        case .entry(let found):
                            if !isUniform(found.body) { torn.withLock { $0 += 1 } }
                        }
                    }
                    if round % 100 == 0 { store.sweeper.request() }
                }
                done.withLock { $0 += 1 }
            }
        }
        for thread in threads { thread.join() }
        for store in stores { store.waitUntilSwept() }
        #expect(torn.withLock { $0 } == 0 && done.withLock { $0 } == 4)
        #expect(bench.entryFiles.allSatisfy { $0.hasSuffix("/0") })
    }
}
