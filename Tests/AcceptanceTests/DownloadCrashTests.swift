// Wherry: acceptance tests of downloads whose program is killed
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct DownloadCrashTests {
    /// Starts the program that downloads.
    private static func start(_ url: String, _ path: String, segments: Int? = nil) throws
        -> (Process, Pipe)
    {
        let child = Process()
        child.executableURL = URL(fileURLWithPath: try DownloadProgram.path)
        child.arguments = [url, path] + (segments.map { ["\($0)"] } ?? [])
        let output = Pipe()
        child.standardOutput = output
        try child.run()
        return (child, output)
    }

    @Test(
        "D17 kill -9 at any point loses at most the bytes after the last checkpoint: DC-C01, DC-C02"
    )
    func killed() async throws {
        let bench = try DownloadBench()
        let size = 8_389_385
        let whole = Contents.make(seed: 1, size: size)
        let path = bench.folder.file("a.bin")
        // The server is slow, so that there is time to inspect, and stops before the end, so that
        // no run finishes before it is killed; both until the gate opens.
        let url = bench.url("rate=50000&hold_at=8000000&gate=go", size: size)
        var claims: [Int64] = [0]
        for isCheckpointed in [true, false, true, false] {
            let (child, _) = try Self.start(url, path)
            try await bench.scope.wait("requests=\(claims.count)")
            if isCheckpointed {
                while child.isRunning {
                    if let bytes = try bench.client.partial(of: path)?.bytes,
                        bytes > claims[claims.count - 1]
                    {
                        break
                    }
                    try await bench.scope.wait("requests=0")
                }
            }
            kill(child.processIdentifier, SIGKILL)
            child.waitUntilExit()
            #expect(child.terminationStatus == SIGKILL)

            #expect(!FileManager.default.fileExists(atPath: path))
            let partial = try bench.client.partial(of: path)
            let claimed = partial?.bytes ?? 0
            #expect(
                isCheckpointed
                    ? claimed > claims[claims.count - 1] : claimed >= claims[claims.count - 1])
            claims.append(claimed)
            if let partial {
                #expect(!partial.isRunning)
                let bytes = try Data(contentsOf: URL(fileURLWithPath: partial.partialPath))
                #expect(bytes.prefix(Int(claimed)) == whole.prefix(Int(claimed)))
            }
        }

        try bench.scope.open(gate: "go")
        let (child, output) = try Self.start(url, path)
        child.waitUntilExit()
        let words = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(words == "done\n")
        #expect(try bench.contents() == whole)
        #expect(try bench.folder.names == ["a.bin"])
        #expect(try bench.scope.requests().last?.header("range") == "bytes=\(claims[4])-")
    }

    @Test("DC-D05 DR21 repeated kill -9 of four connections, at any point")
    func loop() async throws {
        let bench = try DownloadBench()
        let size = 8_389_385
        let whole = Contents.make(seed: 1, size: size)
        let path = bench.folder.file("a.bin")
        // Slow enough for checkpoints, one per second.
        let url = bench.url("rate=1000000", size: size)
        var claimed = 0
        for round in 0..<loops(200) {
            let before = try bench.scope.stats().sent
            let (child, _) = try Self.start(url, path, segments: 4)
            // At once, early, anywhere, and when the last byte is sent and the file is renamed.
            // This much is always sent, unless the program has ended with its file.
            let left = size - claimed
            let more = [0, .random(in: 0...left / 8), .random(in: 0...left), left][round % 4]
            if more > 0 { try await bench.scope.wait("sent=\(before + more)") }
            kill(child.processIdentifier, SIGKILL)
            child.waitUntilExit()

            if FileManager.default.fileExists(atPath: path) {
                #expect(try bench.contents() == whole, "round \(round)")
                // If it is killed between the rename and the end, the journal still exists.
                let again = await failure { () throws(WherryError) in
                    try bench.client.begin(url, to: path)
                }
                #expect(again?.reason == "exists")
                #expect(try bench.folder.names == ["a.bin"], "round \(round)")
                try FileManager.default.removeItem(atPath: path)
                claimed = 0
                continue
            }
            let (part, journal) = try bench.leftovers()
            let kinds = [part, journal].compactMap { $0 }.count
            #expect(try bench.folder.names.count == kinds, "round \(round)")
            guard let part, journal != nil else {
                claimed = 0
                continue
            }
            let bytes = try Data(contentsOf: URL(fileURLWithPath: part))
            let found = try PartFile.open(
                DownloadTarget.locate(path), PartFile.Identity(url: url))
            // A journal is either complete or ignored; its claims are always true.
            let ranges = found.record?.ranges ?? ByteRanges()
            claimed = Int(ranges.count)
            for range in ranges.ranges {
                let range = Int(range.lowerBound)..<Int(range.upperBound)
                #expect(bytes[range] == whole[range], "round \(round), \(range)")
            }
        }

        let end = try await bench.run(url) { $0.segments = 4 }
        #expect(end.error == nil)
        #expect(end.resumedAt == Int64(claimed))
        #expect(try bench.contents() == whole)
        #expect(try bench.folder.names == ["a.bin"])
    }

    @Test("D13 a stopped program whose connection was dropped resumes on its own")
    func suspended() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        let (child, output) = try Self.start(bench.url("hold=400000&gate=go"), path)
        try await bench.scope.wait("sent=400000")
        kill(child.processIdentifier, SIGSTOP)
        try bench.scope.dropConnections()
        try bench.scope.open(gate: "go")
        kill(child.processIdentifier, SIGCONT)
        child.waitUntilExit()
        let words = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(words == "done\n")
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.scope.requests().count == 2)
    }

    @Test("D17 a download resumes after a crash before the first checkpoint")
    func killedEarly() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        let (child, _) = try Self.start(bench.url("hold=400000&gate=go"), path)
        try await bench.scope.wait("sent=400000")
        kill(child.processIdentifier, SIGKILL)
        child.waitUntilExit()
        #expect(!FileManager.default.fileExists(atPath: path))
        try bench.scope.open(gate: "go")

        let end = try await bench.run(bench.url("hold=400000&gate=go"))

        #expect(end.error == nil)
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.folder.names == ["a.bin"])
    }
}
