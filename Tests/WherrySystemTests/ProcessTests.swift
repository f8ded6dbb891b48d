// Wherry: detached programs and local sockets
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherrySystem

@Suite struct ProcessTests {
    /// Runs a shell command detached, and returns its output on descriptor 3.
    private func run(_ command: String) throws -> String {
        func start() throws -> File {
            let (read, ready) = try DetachedProgram.pipe()
            try DetachedProgram.start(
                "/bin/sh", ["-c", command], environment: ["MARK=here", "PATH=/usr/bin:/bin"],
                ready: ready, waits: true)
            return read
        }
        let pipe = try start()
        let bytes = DetachedProgram.readLine(pipe, limit: 4096, nanoseconds: 60_000_000_000)
        return String(decoding: try #require(bytes), as: UTF8.self)
    }

    @Test(
        "DC-E02 a detached program has a new session, /, and only the given descriptor"
    )
    func detached() throws {
        let kept = try File.open("/dev/null", [.read])
        let pipe = Pipe()
        #expect(try run("cat /proc/$$/stat >&3").split(separator: " ")[5] != "\(getsid(0))")
        #expect(try run("pwd >&3") == "/\n")
        #expect(try run("echo $MARK $HOME >&3") == "here\n")
        #expect(
            try run(
                "n=3; for i in $(seq 4 60); do test -e /proc/$$/fd/$i && n=$i; done; echo $n >&3")
                == "3\n")
        #expect(try run("x=$(readlink /proc/$$/fd/0); echo $x >&3") == "/dev/null\n")
        withExtendedLifetime((kept, pipe)) {}
    }

    @Test func `a detached program ignores and blocks no signal`() throws {
        // The test runner ignores SIGPIPE, and Wherry's threads block everything.
        let lines = try run("grep -E 'SigBlk|SigIgn' /proc/$$/status | tr '\\n' ' ' >&3; echo >&3")
        let sets = lines.split(whereSeparator: { $0 == " " || $0 == "\t" }).filter {
            $0.count == 16
        }
        // Two belong to the C library, which does not allow changes.
        let own: UInt64 = 0x1_8000_0000
        #expect(sets.map { (UInt64(String($0), radix: 16) ?? 1) & ~own } == [0, 0], "\(lines)")
    }

    @Test func `a missing program is an error and starts nothing`() {
        #expect(throws: SystemError.self) {
            try DetachedProgram.start(
                "/nowhere/program", [], environment: [], ready: nil, waits: true)
        }
        #expect(!DetachedProgram.isExecutable("/nowhere/program"))
        #expect(!DetachedProgram.isExecutable("/etc"))
        #expect(DetachedProgram.isExecutable("/bin/sh"))
    }

    @Test func `the end of a program without output is reported`() throws {
        #expect(try run("true").isEmpty)
    }

    @Test func `a wait for output that times out is nil`() throws {
        let (read, write) = try DetachedProgram.pipe()
        #expect(DetachedProgram.readLine(read, limit: 10, nanoseconds: 1_000_000) == nil)
        withExtendedLifetime(write) {}
    }

    @Test func `bytes go both ways between sockets, whatever the length of the path`() throws {
        let scratch = try Scratch()
        let name = String(repeating: "d", count: 200)
        try scratch.open().makeDirectory(name)
        let folder = try Directory.open(name, in: scratch.open())
        #expect(try LocalSocket.connect("s", in: folder) == nil)
        let listener = try LocalSocket.listen("s", in: folder)
        #expect(listener.accept() == nil)
        var status = stat()
        #expect(lstat(folder.path(of: "s"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)

        let client = try #require(try LocalSocket.connect("s", in: folder))
        let server = try #require(listener.accept())
        #expect(client.isPeerOurs && server.isPeerOurs)
        var bytes: [UInt8] = [9]
        #expect(server.receive(into: &bytes) == .wait)
        #expect(client.send([1, 2, 3], from: 1) == .moved(2))
        #expect(server.receive(into: &bytes) == .moved(2))
        #expect(bytes == [9, 2, 3])
        var items = [
            Poll.Item(client.descriptor), Poll.Item(client.descriptor, read: false, write: true),
        ]
        Poll.wait(&items, nanoseconds: 0)
        #expect(!items[0].canRead && items[1].canWrite)
    }

    @Test func `reading and writing report the end of the other side`() throws {
        let scratch = try Scratch()
        let folder = try scratch.open()
        let listener = try LocalSocket.listen("s", in: folder)
        let client = try #require(try LocalSocket.connect("s", in: folder))
        func meet() -> Bool { listener.accept() != nil }
        #expect(meet())
        var bytes: [UInt8] = []
        #expect(client.receive(into: &bytes) == .closed)
        #expect(client.send([1], from: 0) == .closed)
        #expect(bytes.isEmpty)
    }

    @Test func `the file of this code can be found`() throws {
        let own = try DetachedProgram.ownFile()
        #expect(FileManager.default.fileExists(atPath: own))
    }
}
