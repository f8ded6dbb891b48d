// Wherry: files, directories, and locks
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherrySystem

/// A separate directory for one test, removed with its contents afterwards.
final class Scratch {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "wherry-test-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func open() throws -> Directory { try Directory.open(path) }
    func path(_ name: String) -> String { path + "/" + name }
    var names: Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
    }
}

@Suite("Files") struct FileTests {
    @Test func `bytes are read back from the offset they were written at`() throws {
        let scratch = try Scratch()
        let file = try File.open(
            "a", [.read, .write, .create, .exclusive], in: try scratch.open())

        try file.write([1, 2, 3, 4], at: 3)
        try file.write([], at: 0)

        #expect(try file.read(100, at: 0) == [0, 0, 0, 1, 2, 3, 4])
        #expect(try file.read(2, at: 5) == [3, 4])
        #expect(try file.read(2, at: 7) == [])
        #expect(try file.status().size == 7)
        #expect(try file.status().permissions == 0o600)
    }

    @Test func `exclusive creation refuses an existing name`() throws {
        let scratch = try Scratch()
        let directory = try scratch.open()
        symlink("nowhere", scratch.path("dangling"))
        _ = try File.open("a", [.write, .create], in: directory)

        for name in ["a", "dangling"] {
            #expect(throws: SystemError(EEXIST, "open", path: scratch.path(name))) {
                _ = try File.open(name, [.write, .create, .exclusive], in: directory)
            }
        }
        #expect(scratch.names == ["a", "dangling"])
    }

    @Test func `a symbolic link is opened only on request`() throws {
        let scratch = try Scratch()
        let directory = try scratch.open()
        try File.open("real", [.write, .create], in: directory).write([7], at: 0)
        symlink("real", scratch.path("link"))

        #expect(throws: SystemError(ELOOP, "open", path: scratch.path("link"))) {
            _ = try File.open("link", [.read], in: directory)
        }
        #expect(try File.open("link", [.read, .following], in: directory).read(1, at: 0) == [7])
        #expect(try directory.status(of: "link")?.kind == .symbolicLink)
        #expect(try directory.status(of: "link", following: true)?.kind == .regular)
    }

    @Test func `a path with a NUL names no file instead of another one`() throws {
        let scratch = try Scratch()
        let directory = try scratch.open()
        _ = try File.open("a", [.write, .create], in: directory)

        #expect(throws: SystemError.self) { _ = try File.open("a\0b", [.read], in: directory) }
        #expect(throws: SystemError.self) { try directory.remove("a\0b") }
        #expect(throws: SystemError.self) {
            try directory.rename("a", to: "b\0c", replacing: true)
        }
        #expect(scratch.names == ["a"])
    }

    @Test func `opening a FIFO does not block`() throws {
        let scratch = try Scratch()
        mkfifo(scratch.path("pipe"), 0o600)

        let file = try File.open("pipe", [.read], in: try scratch.open())

        #expect(try file.status().kind == .other)
    }

    @Test func `reserving space does not change the length`() throws {
        let scratch = try Scratch()
        let file = try File.open("a", [.read, .write, .create], in: try scratch.open())

        try file.reserve(from: 0, count: 1 << 20)
        #expect(try file.status().size == 0)
        try file.truncate(to: 5)
        #expect(try file.read(10, at: 0) == [0, 0, 0, 0, 0])
        try file.setPermissions(0o640)
        try file.setModificationTime(secondsSince1970: 1_000_000_000)
        try file.synchronizeData()
        try file.synchronize()
        #expect(try file.status().permissions == 0o640)
        #expect(try file.status().modifiedNanoseconds == 1_000_000_000 * 1_000_000_000)
    }

    @Test func `impossible offsets are refused, not wrapped around`() throws {
        let scratch = try Scratch()
        let file = try File.open("a", [.read, .write, .create], in: try scratch.open())

        #expect(throws: SystemError.self) { try file.write([1], at: -1) }
        #expect(throws: SystemError.self) { try file.write([1, 2], at: Int64.max) }
        #expect(throws: SystemError.self) { _ = try file.read(2, at: Int64.max) }
    }
}

@Suite("Locks on files") struct FileLockTests {
    @Test func `a second opening of the file waits for the first to close`() throws {
        let scratch = try Scratch()
        let directory = try scratch.open()
        var first: File? = try File.open("a", [.read, .write, .create], in: directory)
        let second = try File.open("a", [.read, .write], in: directory)

        #expect(try first?.lock() == true)
        #expect(try first?.lock() == true)
        #expect(try second.lock() == false)
        first = nil
        #expect(try second.lock())
        try second.unlock()
        #expect(try File.open("a", [.read, .write], in: directory).lock())
    }
}

@Suite("Directories") struct DirectoryTests {
    @Test func `renaming fails if the name exists, unless replacing is requested`() throws {
        let scratch = try Scratch()
        let directory = try scratch.open()
        try File.open("new", [.write, .create], in: directory).write([1], at: 0)
        try File.open("old", [.write, .create], in: directory).write([2], at: 0)

        #expect(throws: SystemError(EEXIST, "rename to", path: scratch.path("old"))) {
            try directory.rename("new", to: "old", replacing: false)
        }
        try directory.rename("new", to: "free", replacing: false)
        try directory.rename("free", to: "old", replacing: true)

        #expect(scratch.names == ["old"])
        #expect(try File.open("old", [.read], in: directory).read(9, at: 0) == [1])
    }

    @Test func `names are listed without the dots`() throws {
        let scratch = try Scratch()
        let directory = try scratch.open()
        let long = String(repeating: "n", count: 255)
        for name in ["a", "b", long] {
            _ = try File.open(name, [.write, .create], in: directory)
        }

        #expect(Set(try directory.names()) == ["a", "b", long])
        // Twice: the position of one read is independent of the next.
        #expect(try directory.names().count == 3)
        #expect(try directory.remove("a"))
        #expect(try directory.remove("a") == false)
        #expect(try directory.status(of: "a") == nil)
    }

    @Test func `missing parents are created, and existing ones are unchanged`() throws {
        let scratch = try Scratch()

        try Directory.create(scratch.path("x/y/z"))
        try Directory.create(scratch.path("x/y/z/"))
        _ = try File.open(scratch.path("file"), [.write, .create])

        #expect(throws: SystemError(ENOTDIR, "open", path: scratch.path("file"))) {
            try Directory.create(scratch.path("file"))
        }
        #expect(throws: SystemError.self) { try Directory.create(scratch.path("file/sub")) }
        #expect(try Directory.open(scratch.path("x/y/z")).names() == [])
    }

    @Test func `paths split at the last slash`() {
        #expect(Directory.split("/a/b") == ("/a", "b"))
        #expect(Directory.split("/a/b//") == ("/a", "b"))
        #expect(Directory.split("/a") == ("/", "a"))
        #expect(Directory.split("a") == (".", "a"))
        #expect(Directory.split("/") == ("/", ""))
        #expect(Directory.split("") == (".", ""))
    }

    @Test func `the file system reports its free space, locks, and limits`() throws {
        let scratch = try Scratch()
        let directory = try scratch.open()

        #expect(try directory.freeSpace() > 0)
        #expect(try directory.fileSystem() != .withoutLocks)
        try directory.checkWritable()
        #expect(Directory.fileSizeLimit() > 0)
        // No other test in the process changes the umask.
        let mask = umask(0o22)
        umask(mask)
        #expect(Directory.umask() == UInt32(mask))
        #expect(try Directory.absolute("/a/b") == "/a/b")
        #expect(try Directory.absolute("b").hasSuffix("/b"))
    }
}
