// Wherry: acceptance tests of downloads on full, read-only, slow, or separate disks
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

/// Runs the program that downloads through another program, and returns its output.
private func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, said: String) {
    let child = Process()
    child.executableURL = URL(fileURLWithPath: program)
    child.arguments = arguments
    let output = Pipe()
    child.standardOutput = output
    try child.run()
    let said = output.fileHandleForReading.readDataToEndOfFile()
    child.waitUntilExit()
    let status =
        child.terminationReason == .exit
        ? child.terminationStatus : -child.terminationStatus
    return (status, String(decoding: said, as: UTF8.self))
}

/// Downloads with a file size limit of 512,000 bytes (dash) or 1,024,000 (bash).
private func limited(_ url: String, _ path: String) throws -> (status: Int32, said: String) {
    let script = "ulimit -f 1000; exec \"$@\""
    return try run("/bin/sh", ["-c", script, "sh", try DownloadProgram.path, url, path])
}

/// The strace log of a program; whether strace may run at all.
private enum Strace {
    static let path = "/usr/bin/strace"

    static let isPossible: Bool =
        FileManager.default.isExecutableFile(atPath: path)
        && (try? run(path, ["-f", "-qq", "-o", "/dev/null", "/bin/true"]))?.status == 0

    /// The calls of a log; a call that another thread interrupted is joined again.
    ///
    /// A call is listed at its start, but a disk sync at its end.
    static func calls(in log: String) -> [String] {
        var calls: [String] = []
        var begun: [Substring: Int] = [:]
        for line in log.split(separator: "\n") {
            let thread = line.prefix { $0 != " " }
            if let end = line.range(of: " <unfinished") {
                begun[thread] = calls.count
                calls.append(String(line[..<end.lowerBound]))
            } else if let rest = line.range(of: " resumed>"),
                let index = begun.removeValue(forKey: thread)
            {
                let call = calls[index] + line[rest.upperBound...]
                calls[index] = call.contains("sync(") ? "" : call
                if call.contains("sync(") { calls.append(call) }
            } else {
                calls.append(String(line))
            }
        }
        return calls
    }
}

@Suite struct DownloadDiskTests {
    @Test(
        "D28 DC-C09 a disk that fills up keeps durable bytes, and the download resumes later",
        .enabled(if: SmallDisk.isPossible, "needs root and mount"))
    func full() async throws {
        let bench = try DownloadBench()
        let disk = try #require(SmallDisk("size=3m"))
        let path = disk.path + "/a.bin"
        func load(_ url: String) async throws -> DownloadEnd {
            try await bench.client.run(url, to: path) { $0.maxRetries = 5 }
        }
        // Without room for the complete file no byte is written, and the error has the numbers.
        try disk.fill("filler", leaving: 100_000)
        let url = bench.url("cut=400000&times=2")
        let refused = try await load(url)
        #expect(refused.reason == "no_space" && refused.error?.code == .file)
        #expect(refused.error?.osCode == ENOSPC)
        #expect(refused.error?.message.contains("\(Contents.size)") == true)
        #expect(refused.error?.partialPath == nil)
        try FileManager.default.removeItem(atPath: disk.path + "/filler")

        // 400,000 bytes arrive; then other files take the space, as on a disk that cannot reserve
        // it.
        let cut = try await bench.client.run(url, to: path) { $0.maxRetries = 0 }
        #expect(cut.reason == "truncated")
        let part = try #require(cut.error?.partialPath)
        #expect(truncate(part, 400_000) == 0)
        try disk.fill("filler", leaving: 300_000)
        let full = try await load(url)

        #expect(full.reason == "no_space")
        #expect(full.error?.partialPath == part)
        #expect(!FileManager.default.fileExists(atPath: path))
        let kept = try #require(try bench.client.partial(of: path)).bytes
        #expect(kept >= 400_000 && kept < Int64(Contents.size))
        let bytes = try Data(contentsOf: URL(fileURLWithPath: part))
        #expect(bytes.prefix(Int(kept)) == Contents.v1.prefix(Int(kept)))
        // Space is checked once when the request starts; later requests do not add any.
        #expect((2...3).contains(try bench.scope.requests().count))

        try FileManager.default.removeItem(atPath: disk.path + "/filler")
        let end = try await load(url)
        #expect(end.error == nil && end.resumedAt == kept)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Contents.v1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["a.bin"])
    }

    @Test("D28 DC-C09 a file size limit is a full disk, and does not end the program")
    func sizeLimit() throws {
        let bench = try DownloadBench()
        // A known length is checked before the first byte, an unknown one at the limit.
        for query in ["", "chunked=1"] {
            let (status, said) = try limited(bench.url(query), bench.folder.file("a.bin"))
            #expect(said == "no_space\n" && status == 1, "\(query)")
            #expect(try bench.folder.names.isEmpty, "\(query)")
        }
    }

    @Test("DC-C09 an earlier partial file is resumed up to the limit, and then without it")
    func resumedLimit() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        _ = try await bench.runUntilCut()
        // No space is reserved in advance, as on a file system without that feature.
        #expect(truncate(try #require(try bench.leftovers().part), 400_000) == 0)

        let (status, said) = try limited(bench.url("cut=400000&times=1"), path)

        #expect(said == "no_space\n" && status == 1)
        let kept = try #require(try bench.client.partial(of: path)).bytes
        #expect(kept >= 400_000 && kept <= 1_024_000)
        let end = try await bench.run(bench.url("cut=400000&times=1"))
        #expect(end.error == nil && end.resumedAt == kept)
        #expect(try bench.contents() == Contents.v1)
    }

    @Test(
        "DC-C10 a read-only directory sends no request",
        .enabled(if: SmallDisk.isPossible, "needs root and mount"))
    func readOnly() async throws {
        let bench = try DownloadBench()
        let disk = try #require(SmallDisk())
        #expect(disk.makeReadOnly())
        for (path, makes) in [("/a.bin", false), ("/x/a.bin", true)] {
            let error = await failure { () throws(WherryError) in
                _ = try bench.client.begin(bench.url(), to: disk.path + path) {
                    $0.makesDirectories = makes
                }
            }
            #expect(error?.reason == "read_only" && error?.osCode == EROFS)
            #expect(error?.message.contains(disk.path) == true)
        }
        #expect(try bench.scope.requests().isEmpty)
        #expect(bench.client.count() == 0)
    }

    @Test("DC-C10 a directory of another user sends no request")
    func foreignDirectory() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            for (mode, path, reason) in [
                (0o555, "a.bin", "read_only"), (0o444, "x/a.bin", "no_permission"),
            ] as [(mode_t, String, String)] {
                try #require(chmod(folder.path, mode) == 0)
                // Root may write anywhere, so the test drops root for a while.
                if getuid() == 0 { try #require(seteuid(65_534) == 0) }
                let client = try makeClient()
                let error = await failure { () throws(WherryError) in
                    _ = try client.begin("http://127.0.0.1:1/a", to: folder.file(path))
                }
                client.close()
                if geteuid() == 65_534 { try #require(seteuid(0) == 0) }
                try #require(chmod(folder.path, 0o700) == 0)
                try #require(error?.reason == reason, "\(String(describing: error))")
                try #require(error?.code == .file && error?.osCode == EACCES)
                try #require(try folder.names.isEmpty)
            }
        }
    }

    @Test(
        "DC-C15 data reach the disk before the rename, and the rename before the end is reported",
        .enabled(if: Strace.isPossible, "needs strace and ptrace"))
    func order() throws {
        let bench = try DownloadBench()
        let log = bench.folder.file("log")
        let calls = "trace=fsync,fdatasync,rename,renameat,renameat2,linkat,unlinkat,unlink"
        let (status, said) = try run(
            Strace.path,
            [
                "-f", "-qq", "-y", "-o", log, "-e", calls, try DownloadProgram.path, bench.url(),
                bench.folder.file("a.bin"),
            ])
        #expect(status == 0 && said == "done\n")

        // The calls that name the partial file, the folder, and the journal, in order.
        let folder = bench.folder.path
        let steps = Strace.calls(in: try String(contentsOfFile: log, encoding: .utf8))
            .compactMap { line -> String? in
                if line.contains("ENOENT") { return nil }
                if line.contains("rename") || line.contains("linkat(") && !line.contains("unlink") {
                    return line.contains("\"a.bin\"") ? "name" : nil
                }
                if line.contains("sync(") {
                    if line.contains(".part>") { return "data" }
                    if line.contains(".journal>") { return "journal" }
                    return line.contains("<\(folder)>") ? "folder" : nil
                }
                return line.contains("unlink") && line.contains(".journal\"") ? "forget" : nil
            }
        let name = try #require(steps.firstIndex(of: "name"), "\(steps)")
        let data = try #require(steps[..<name].lastIndex(of: "data"), "\(steps)")
        let folderAfter = try #require(steps[name...].firstIndex(of: "folder"), "\(steps)")
        let forget = try #require(steps.firstIndex(of: "forget"), "\(steps)")
        #expect(data < name && name < folderAfter && folderAfter < forget, "\(steps)")
        #expect(steps.filter { $0 == "name" }.count == 1)
        #expect(steps[..<name].contains("folder"), "the part's own name is durable first: \(steps)")
    }

    @Test("DC-C21 state and target may be on different file systems")
    func twoFileSystems() async throws {
        let bench = try DownloadBench()
        let elsewhere = "/dev/shm/wherry-" + UUID().uuidString
        func device(_ path: String) -> dev_t? {
            var status = stat()
            return stat(path, &status) == 0 ? status.st_dev : nil
        }
        guard mkdir(elsewhere, 0o700) == 0 else {
            Issue.record("/dev/shm cannot be written")
            return
        }
        defer { try? FileManager.default.removeItem(atPath: elsewhere) }
        try #require(device(elsewhere) != device(bench.folder.path), "one file system only")
        let client = try makeClient(bench.scope) {
            $0.storageDirectory = bench.folder.file("state")
        }
        #expect(try client.storageDirectory() == bench.folder.file("state"))

        let path = elsewhere + "/a.bin"
        let url = bench.url("cut=400000&times=1")
        let cut = try await client.run(url, to: path) { $0.maxRetries = 0 }
        // Next to the target, so that the final step is a rename and not a copy.
        #expect(cut.error?.partialPath?.hasPrefix(elsewhere + "/.a.bin.") == true)
        let end = try await client.run(url, to: path)

        #expect(end.error == nil && end.resumedAt == 400_000)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Contents.v1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere) == ["a.bin"])
        #expect(try bench.folder.names == ["state"])
    }
}
