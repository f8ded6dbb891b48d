// Wherry: a journal on disk
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// The two slots of a journal in their file. One thread at a time.
final class JournalFile {
    let name: String
    private var directory: Directory
    private var file: File
    private var sequence: UInt64 = 0
    /// The slot written last.
    private var slot = 1

    private init(_ file: File, in directory: Directory, name: String) {
        self.file = file
        self.directory = directory
        self.name = name
    }

    /// Opens a journal that is there.
    ///
    /// - Returns: `nil` if there is none.
    /// - Throws: `unsafe` for whatever is not a plain file of ours with one name; `unreadable`.
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

    /// Closes the journal: a download that waits holds no descriptor.
    func close() {
        file = file.closed
        directory = directory.closed
    }

    /// Opens the journal again after ``close()``.
    func reopen(in directory: Directory) throws(SystemError) {
        file = try File.open(name, [.read, .write], in: directory)
        self.directory = directory
    }

    /// Makes a new one in place of whatever has the name.
    static func create(_ name: String, in directory: Directory) throws(SystemError) -> JournalFile {
        try directory.remove(name)
        let file = try File.open(name, [.read, .write, .create, .exclusive], in: directory)
        return JournalFile(file, in: directory, name: name)
    }

    /// The newest record that is whole.
    ///
    /// - Throws: why there is none: the defect of the slot that came closer to being one.
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

    /// Whether the file under our name is still this one.
    func isInPlace() throws(SystemError) -> Bool {
        guard let there = try directory.status(of: name) else { return false }
        return there.isSameFile(as: try file.status())
    }

    /// Writes the record into the older slot.
    ///
    /// - Parameter isDurable: whether to wait for the device.
    func write(_ record: JournalRecord, isDurable: Bool) throws(SystemError) {
        let next = slot == 0 ? 1 : 0
        var record = record
        record.sequence = sequence &+ 1
        guard let bytes = Journal.encode(record) else {
            throw SystemError(
                ENAMETOOLONG, "describe the download in", path: directory.path(of: name))
        }
        try file.write(bytes, at: Int64(next * Journal.slotSize))
        if isDurable { try file.synchronizeData() }
        sequence = record.sequence
        slot = next
    }

    /// Writes the record into both slots, so that nothing older is left.
    func reset(_ record: JournalRecord, isDurable: Bool) throws(SystemError) {
        try write(record, isDurable: false)
        try write(record, isDurable: isDurable)
    }

    /// Makes both slots say nothing, durably, and removes the file.
    func remove() throws(SystemError) {
        // The name may outlive a power cut; what it claims must not.
        try file.truncate(to: 0)
        try file.synchronizeData()
        try directory.remove(name)
    }
}

extension FileStatus {
    /// A regular file of this user under one name only: nothing that somebody planted.
    var isPlainAndOurs: Bool { kind == .regular && isOurs && links == 1 }
}
