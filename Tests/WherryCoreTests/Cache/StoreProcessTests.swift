// Wherry: tests of a cache folder in the hands of several processes
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryCore
@testable import WherrySystem

@Suite struct StoreProcessTests {
    /// The program beside the tests.
    private func child(_ arguments: String...) throws -> (Process, Pipe) {
        let child = Process()
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var folder = URL(fileURLWithPath: tests).deletingLastPathComponent()
        if !FileManager.default.fileExists(atPath: folder.appendingPathComponent("CacheChild").path)
        {
            // The tests run in a helper of the toolchain's, which names them.
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

    @Test("K4 kill -9 at any moment leaves the old entry or the new one, and nothing else for long")
    func killed() throws {
        let bench = try StoreBench()
        for round in 1...6 {
            let (process, output) = try child("loop", bench.path + "/store")
            // Some way into it: each "." is sixteen entries.
            _ = try output.fileHandleForReading.read(upToCount: 2 * round * round / 3 + 2)
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            #expect(process.terminationStatus == SIGKILL)

            let store = try bench.store()
            for number in 0..<4 {
                guard
                    case .entry(let found) = store.read(
                        "0", in: store.folder(of: "\(number)"), key: Array("\(number)".utf8))
                else {
                    Issue.record("entry \(number) is lost or torn")
                    return
                }
                #expect(isUniform(found.body))
            }
            store.waitUntilSwept()
            #expect(bench.entryFiles.count == 4)
            #expect(store.counters[EntryStore.totalBytes] == store.usage().bytes)
        }
    }

    @Test("K20 four processes on one folder: every read is one whole entry")
    func several() throws {
        let bench = try StoreBench()
        let isFull = ProcessInfo.processInfo.environment["WHERRY_LOOPS"] == "full"
        let children = try (1...4).map {
            try child("mix", bench.path + "/store", "\($0)", isFull ? "10000" : "1000")
        }
        for (process, output) in children {
            #expect(words(output) == "torn 0\n")
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
        }
        #expect(bench.entryFiles.allSatisfy { $0.hasSuffix("/0") })
    }
}
