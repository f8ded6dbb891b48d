// Wherry: journal file on disk.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// A journal file with its two slots. Not thread-safe.
final class JournalFile {
    let name: String
    private var directory: Directory
    private var file: File
    private var sequence: UInt64 = 0
    /// The slot that was written last.
    private var slot = 1

    private init(_ file: File, in directory: Directory, name: String) {
        self.file = file
        self.directory = directory
        self.name = name
    }

    /// Opens an existing journal.
    ///
    /// - Returns: The journal; `nil` if there is none.
    /// - Throws: `unsafe` if the file is not a regular file of this user with a single link;
    ///   `unreadable`.
    static func open(_ name: String, in directory: Directory, isReadOnly: Bool = false)
        throws(Journal.Defect) -> JournalFile?
    {
        do throws(SystemError) {
            guard let status = try directory.status(of: name) else { return nil }
            if status.isPlainAndOurs {
                let file = try File.open(
                    name, isReadOnly ? [.read] : [.read, .write], in: directory)
                if try file.status().isPlainAndOurs {
                    return JournalFile(file, in: directory, name: name)
                }
            }
        } catch {
            throw .unreadable
        }
        throw .unsafe
    }

    /// Closes the journal, so that a waiting download uses no file descriptor.
    func close() {
        file = file.closed
        directory = directory.closed
    }

    /// Opens the journal again after ``close()``.
    func reopen(in directory: Directory) throws(SystemError) {
        file = try File.open(name, [.read, .write], in: directory)
        self.directory = directory
    }

    /// Creates a new journal and replaces any file with that name.
    static func create(_ name: String, in directory: Directory) throws(SystemError) -> JournalFile {
        try directory.remove(name)
        let file = try File.open(name, [.read, .write, .create, .exclusive], in: directory)
        return JournalFile(file, in: directory, name: name)
    }

    /// Returns the newest valid record.
    ///
    /// - Throws: The defect of the more plausible slot if neither is valid.
    func read() throws(Journal.Defect) -> JournalRecord {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try file.read(Journal.fileSize, at: 0)
        } catch {
            throw .unreadable
        }
        guard !bytes.isEmpty else { throw .empty }
        var newest: JournalRecord?
        var defects: [Journal.Defect] = []
        for index in 0..<2 {
            let start = min(bytes.count, index * Journal.slotSize)
            let end = min(bytes.count, start + Journal.slotSize)
            do throws(Journal.Defect) {
                let record = try Journal.decode(bytes[start..<end])
                guard record.sequence >= newest?.sequence ?? 0 else { continue }
                newest = record
                slot = index
                sequence = record.sequence
            } catch {
                defects.append(error)
            }
        }
        if let newest { return newest }
        throw defects.first { $0 != .empty } ?? .empty
    }

    /// Returns whether the journal's name still leads to this file.
    func isInPlace() throws(SystemError) -> Bool {
        guard let there = try directory.status(of: name) else { return false }
        return there.isSameFile(as: try file.status())
    }

    /// Writes the record into the older slot.
    ///
    /// - Parameter isDurable: Whether to wait until the data is durable.
    func write(_ record: JournalRecord, isDurable: Bool) throws(SystemError) {
        let next = slot == 0 ? 1 : 0
        var record = record
        record.sequence = sequence &+ 1
        guard let bytes = Journal.encode(record) else {
            throw SystemError(
                ENAMETOOLONG, "store the state of the download in", path: directory.path(of: name))
        }
        try file.write(bytes, at: Int64(next * Journal.slotSize))
        if isDurable { try file.synchronizeData() }
        sequence = record.sequence
        slot = next
    }

    /// Writes the record into both slots, so that no older record remains.
    func reset(_ record: JournalRecord, isDurable: Bool) throws(SystemError) {
        try write(record, isDurable: false)
        try write(record, isDurable: isDurable)
    }

    /// Invalidates both slots durably and removes the file.
    func remove() throws(SystemError) {
        // The file name may survive a power failure. The record must not.
        try file.truncate(to: 0)
        try file.synchronizeData()
        try directory.remove(name)
    }
}

extension FileStatus {
    /// Whether this is a regular file of this user with a single link. Rejects files planted by
    /// others.
    var isPlainAndOurs: Bool { kind == .regular && isOurs && links == 1 }
}
