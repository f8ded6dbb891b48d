// Wherry: tests of a cache folder used by several processes
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryCache
@testable import WherryHTTP
@testable import WherrySystem

@Suite struct StoreProcessTests {
    /// The program next to the tests.
    private func child(_ arguments: String...) throws -> (Process, Pipe) {
        let child = Process()
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var folder = URL(fileURLWithPath: tests).deletingLastPathComponent()
        if !FileManager.default.fileExists(atPath: folder.appendingPathComponent("CacheChild").path)
        {
            // The tests run in a helper of the toolchain, which names them.
            let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
            folder = URL(fileURLWithPath: try #require(bundle)).deletingLastPathComponent()
        }
        child.executableURL = folder.appendingPathComponent("CacheChild")
        child.arguments = arguments
        let output = Pipe()
        child.standardOutput = output
        try child.run()
        return (child, output)
    }

    private func words(_ output: Pipe) -> String {
        String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    @Test(
        "SEC-C5 folders are 0700 and files 0600 whatever the umask",
        arguments: ["000", "022", "077", "777"])
    func permissions(mask: String) throws {
        let bench = try StoreBench()
        let (process, output) = try child("write", bench.path + "/store", mask)
        process.waitUntilExit()
        #expect(words(output) == "done\n")

        let store = try bench.store()
        let folder = store.folder(of: "0")
        func mode(_ path: String) throws -> UInt32? { try store.root.status(of: path)?.permissions }
        #expect(try store.root.file.status().permissions == 0o700)
        #expect(try mode(folder.path) == 0o700 && mode(folder.shard) == 0o700)
        for file in [folder.path + "/0", "counters", "secret"] {
            #expect(try mode(file) == 0o600)
        }
    }

    private let isFull = ProcessInfo.processInfo.environment["WHERRY_LOOPS"] == "full"

    /// Starts a program that writes endlessly and kills it after a while, repeatedly.
    private func kill(_ mode: String, _ bench: StoreBench, then check: (EntryStore) -> Bool) throws
    {
        for round in 1...(isFull ? 200 : 20) {
            let (process, output) = try child(mode, bench.path + "/store")
            // Each "." and line end is sixteen entries.
            _ = try output.fileHandleForReading.read(upToCount: 2 + round * 7 % 23)
            Foundation.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            #expect(process.terminationStatus == SIGKILL)

            let store = try bench.store()
            guard check(store) else { return }
            store.waitUntilSwept()
            #expect(bench.entryFiles.count == 4)
            #expect(bench.files.filter { !$0.contains("/") } == ["counters", "secret", "sweep"])
            #expect(store.counters[EntryStore.totalBytes] == store.usage().bytes)
        }
    }

    @Test("K4 kill -9 at any moment leaves the old entry or the new one, and nothing else for long")
    func killed() throws {
        try kill("loop", StoreBench()) { store in
            (0..<4).allSatisfy { number in
                guard
                    case .entry(let found) = store.read(
                        "0", in: store.folder(of: "\(number)"), key: Array("\(number)".utf8))
                else {
                    Issue.record("entry \(number) is lost or torn")
                    return false
                }
                #expect(isUniform(found.body))
                return true
            }
        }
    }

    @Test("K4 SEC-C6 kill -9 leaves complete and matching responses in the timed cache")
    func killedTimed() throws {
        try kill("timed-loop", StoreBench()) { store in
            let cache = TimedCacheStore(store, memoryLimit: 0)
            return (0..<4).allSatisfy { number in
                guard
                    let key = try? TimedKey(
                        base: "http://example.org/", url: "things/\(number)", method: "GET",
                        parameters: nil),
                    let found = try? cache.read(key, now: 1, appVersion: "1").get()
                else {
                    Issue.record("answer \(number) is lost or torn")
                    return false
                }
                #expect(isUniform(found.body) && found.identifier == key.identifier)
                #expect(found.block.text == "number: \(number)\n")
                return true
            }
        }
    }

    @Test(
        "K20 four processes on one folder: every read is one complete entry",
        arguments: ["mix", "timed-mix"])
    func several(mode: String) throws {
        let bench = try StoreBench()
        let children = try (1...4).map {
            try child(mode, bench.path + "/store", "\($0)", isFull ? "10000" : "1000")
        }
        for (process, output) in children {
            #expect(words(output) == "torn 0\n")
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
        }
        // Only entries: no temporary file remains.
        #expect(bench.entryFiles.allSatisfy { !$0.contains("/.") })
        let store = try bench.store()
        store.waitUntilSwept()
        #expect(store.counters[EntryStore.totalBytes] == store.usage().bytes)
    }
}
