// Wherry: acceptance tests of background jobs among several processes
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct BackgroundProcessTests {
    /// Starts a job from another process, and kills that process with its process group.
    private func startAndDie(_ bench: BackgroundBench, _ url: String) throws -> String {
        let (child, output) = try bench.start(["start", url, bench.path])
        let id = try #require(output.fileHandleForReading.readLine())
        // The child created a process group, so it consists of the child and its descendants.
        kill(-child.processIdentifier, SIGKILL)
        child.waitUntilExit()
        #expect(BackgroundJob.isID(id), "\(id)")
        return id
    }

    @Test(
        "D14 the program is killed with its process group, and the file arrives: DC-E01, DC-E02, DC-E10"
    )
    func outliving() async throws {
        try await withBackground { bench in
            // Held, so that no job finishes before the program ends.
            let url = bench.url("hold=200000&gate=go")
            let (child, output) = try bench.start(["start", url, bench.path])
            let id = try #require(output.fileHandleForReading.readLine())
            try await bench.scope.wait("sent=200000")
            #expect(!FileManager.default.fileExists(atPath: bench.path))
            kill(-child.processIdentifier, SIGKILL)
            child.waitUntilExit()
            // The agent has none of its descriptors: no process holds its output open any more.
            #expect(try output.fileHandleForReading.readToEnd() == nil)
            #expect(try bench.hasAgent)

            try bench.scope.open(gate: "go")
            let end = try await bench.session.end(of: id)

            #expect(end.state == .done)
            #expect(try bench.folder.contents("a.bin") == Contents.v1)
            #expect(try bench.folder.names == ["a.bin"])
            #expect(try bench.scope.requests().count == 1)
            try await bench.wait("the agent has left") { try !bench.hasAgent }
            let agent = try #require(bench.agent)
            try await bench.wait("its process is gone") { kill(agent, 0) != 0 }
        }
    }

    @Test("DC-E03 another process lists the job with its state and progress")
    func listing() async throws {
        try await withBackground { bench in
            let id = try startAndDie(bench, bench.url("hold=400000&gate=go"))
            try await bench.wait(forBytes: 1, of: id)

            let words =
                try bench.other("list").split(separator: "\n").first?.split(separator: " ") ?? []

            #expect(words.count == 4)
            #expect(words.first.map(String.init) == id)
            #expect(words[1] == "running")
            let bytes = try #require(Int(words[2]))
            #expect((1...400_000).contains(bytes))
            #expect(words[3] == "\(Contents.size)")
            try bench.scope.open(gate: "go")
        }
    }

    @Test("DC-E04 another process cancels the job, and no file remains")
    func cancelling() async throws {
        try await withBackground { bench in
            let id = try startAndDie(bench, bench.url("hold=400000&gate=go"))
            try await bench.wait(forBytes: 1, of: id)

            #expect(try bench.other("cancel", id).isEmpty)

            #expect(try bench.folder.names.isEmpty)
            let job = try #require(try await bench.session.job(id))
            #expect(job.state == .cancelled)
            #expect(job.error?.reason == "cancelled")
            try bench.scope.open(gate: "go")
        }
    }

    @Test("DC-E05 another process pauses and a third resumes, without and with an agent")
    func pausing() async throws {
        try await withBackground { bench in
            let id = try startAndDie(bench, bench.url("hold=400000&gate=go"))
            try await bench.wait(forBytes: 300_000, of: id)

            #expect(try bench.other("pause", id).isEmpty)
            let paused = try #require(try await bench.session.job(id))
            #expect(paused.state == .paused)
            // The agent exits: a paused job does not need it.
            try await bench.wait("the agent has left") { try !bench.hasAgent }
            let kept = try #require(try await bench.session.job(id))
            #expect(kept.state == .paused)
            #expect(kept.progress.completed > 0)
            #expect(try !bench.hasAgent)

            try bench.scope.open(gate: "go")
            #expect(try bench.other("resume", id).isEmpty)
            #expect(try bench.other("end", id) == "done\n")
            #expect(try bench.folder.contents("a.bin") == Contents.v1)
            #expect(
                try bench.scope.requests().last?.header("range")
                    == "bytes=\(kept.progress.completed)-")
        }
    }

    @Test("DC-E07 the same job started twice, from two processes, is one job and one request")
    func twice() async throws {
        try await withBackground { bench in
            let url = bench.url("hold=400000&gate=go")
            let id = try startAndDie(bench, url)
            let again = try await bench.session.download(url, to: bench.path)
            #expect(again == id)
            #expect(try await bench.session.jobs().count == 1)
            let other = await failure { () throws(WherryError) in
                try await bench.session.download(bench.url(), to: bench.path)
            }
            #expect(other?.reason == "busy")

            try bench.scope.open(gate: "go")
            #expect(try await bench.session.end(of: id).state == .done)
            #expect(try bench.scope.requests().count == 1)
            // Done and not acknowledged, it is still the same job.
            #expect(try await bench.session.download(url, to: bench.path) == id)
            #expect(try bench.scope.requests().count == 1)
        }
    }

    @Test("D14 every follower gets the end, and exactly one of many acknowledges it")
    func acknowledging() async throws {
        try await withBackground { bench in
            let id = try await bench.session.download(bench.url(), to: bench.path)
            for _ in 0..<2 { #expect(try bench.other("end", id) == "done\n") }

            let children = try (0..<4).map { _ in try bench.start(["acknowledge", id]) }
            var words: [String] = []
            for (child, output) in children {
                child.waitUntilExit()
                words.append(
                    String(
                        decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self))
            }

            #expect(words.sorted() == ["", "not_found\n", "not_found\n", "not_found\n"])
            #expect(try bench.other("end", id) == "not_found\n")
        }
    }

    @Test("DC-E08 a dead agent's process id is ignored: no process gets a signal")
    func strangers() async throws {
        try await withBackground { bench in
            let id = try startAndDie(bench, bench.url("hold=400000&gate=go"))
            try await bench.killAgent()
            // Another process, whose id the lock file names.
            let stranger = Process()
            stranger.executableURL = URL(fileURLWithPath: "/bin/cat")
            stranger.standardInput = Pipe()
            try stranger.run()
            try Data("\(stranger.processIdentifier)\n".utf8).write(
                to: URL(fileURLWithPath: bench.state + "/agent.lock"))

            try await bench.session.cancel(id)

            #expect(stranger.isRunning)
            kill(stranger.processIdentifier, SIGKILL)
            stranger.waitUntilExit()
            #expect(try bench.folder.names.isEmpty)
            try bench.scope.open(gate: "go")
        }
    }

    @Test(
        "DC-E09 folder 0700, files 0600, whatever the umask; the target follows the umask: SEC-C5"
    )
    func permissions() async throws {
        try await withBackground { bench in
            let id = try await bench.session.download(bench.url(), to: bench.path)
            _ = try await bench.session.end(of: id)

            var status = stat()
            #expect(lstat(bench.state, &status) == 0)
            #expect(status.st_mode & 0o7777 == 0o700)
            #expect(lstat(bench.state + "/jobs", &status) == 0)
            #expect(status.st_mode & 0o7777 == 0o700)
            for name in ["agent.lock", "log", "jobs/\(id).job"] {
                #expect(lstat(bench.state + "/" + name, &status) == 0, "\(name)")
                #expect(status.st_mode & 0o7777 == 0o600, "\(name)")
            }
            let mask = try #require(Directory.umask())
            #expect(lstat(bench.path, &status) == 0)
            #expect(UInt32(status.st_mode) & 0o7777 == 0o666 & ~mask)
        }
    }

    @Test("DC-E11 a folder that is a link, or open to others, is refused and unchanged")
    func unsafeFolders() async throws {
        let folder = try TemporaryFolder()
        let manager = FileManager.default
        let target = folder.file("target")
        try manager.createDirectory(
            atPath: target, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        try manager.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: target)
        try manager.createDirectory(atPath: folder.file("open"), withIntermediateDirectories: false)
        chmod(folder.file("open"), 0o777)
        #expect(manager.createFile(atPath: folder.file("file"), contents: Data()))

        for name in ["link", "open", "file"] {
            let error = await failure { () throws(WherryError) in
                try BackgroundSession("tests") { $0.stateDirectory = folder.file(name) }
            }
            #expect(error?.reason == "unsafe_state_dir", "\(name)")
        }
        #expect(try manager.contentsOfDirectory(atPath: target).isEmpty)
        #expect(try manager.contentsOfDirectory(atPath: folder.file("open")).isEmpty)
    }

    @Test("SEC-C10 a token is only in the job's own file while it runs, and nowhere afterwards")
    func secrets() async throws {
        try await withBackground { bench in
            var request = Request(bench.url("hold=400000&gate=go&sig=S3CRETQUERY"))
            request.headers["Authorization"] = "Bearer S3CRETTOKEN"
            let id = try await bench.session.download(request, to: bench.path)
            try await bench.wait(forBytes: 1, of: id)
            func finds(_ secret: String) throws -> [String] {
                let names = try FileManager.default.subpathsOfDirectory(atPath: bench.state)
                return names.filter { name in
                    let path = bench.state + "/" + name
                    guard let data = FileManager.default.contents(atPath: path) else {
                        return false
                    }
                    return data.range(of: Data(secret.utf8)) != nil
                }
            }
            #expect(try finds("S3CRETTOKEN") == ["jobs/\(id).job"])
            let agent = try #require(bench.agent)
            for file in ["cmdline", "environ"] {
                let words = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(agent)/\(file)"))
                #expect(words.range(of: Data("S3CRET".utf8)) == nil)
            }

            try bench.scope.open(gate: "go")
            _ = try await bench.session.end(of: id)

            #expect(try finds("S3CRET").isEmpty)
            #expect(
                try bench.scope.requests().last?.header("authorization") == "Bearer S3CRETTOKEN")
        }
    }
}

extension FileHandle {
    /// The next line, without its end; `nil` after the last.
    func readLine() -> String? {
        var bytes = Data()
        while let byte = try? read(upToCount: 1), !byte.isEmpty {
            if byte.first == 0x0A { return String(decoding: bytes, as: UTF8.self) }
            bytes += byte
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
