// Wherry: where a download's file is to be
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The place of the finished file, looked at before any traffic (DR19, DR23).
package struct DownloadTarget: Sendable {
    /// What happens when a file has the name already.
    package enum Existing: Hashable, Sendable {
        /// `exists`.
        case fail
        /// It goes, in the step in which the new one appears. A symbolic link goes itself, not what
        /// it points to.
        case replace
        /// The next free `name (1)` is taken.
        case number
    }

    package private(set) var directory: Directory
    /// What the directory was when it was first opened.
    private let place: FileStatus
    /// Absolute; links in it are not resolved.
    package let directoryPath: String
    /// `nil` until the answer says it.
    package private(set) var name: String?
    /// What the part is named after.
    package private(set) var stem: String
    package let existing: Existing
    /// Whether a file has the name. Only then may a digest show that nothing is to be done.
    package private(set) var isThere = false
    private var originalName: String?
    private var number = 0

    /// The absolute path of the file to be; of the directory with a slash where the answer names
    /// the file. Two downloads with the same one are one.
    package var identity: String {
        guard let name else { return directory.path(of: "") }
        return directory.path(of: name)
    }

    /// Looks at a target.
    ///
    /// - Parameters:
    ///   - path: of the file; of the directory with `isDirectory`. Relative to the working directory.
    ///   - suggestedName: with `isDirectory`, a name for the part until the answer has said one.
    ///   - makesDirectories: whether missing directories are made. Default false.
    ///   - hasDigest: an existing file may be the wanted one, so it is no error yet. Default false.
    /// - Throws: `exists`, `is_directory`, `bad_directory`, `no_file` for a missing directory,
    ///   `read_only`, `no_permission`, `bad_path`.
    package static func locate(
        _ path: String, isDirectory: Bool = false, suggestedName: String = "download",
        existing: Existing = .fail, makesDirectories: Bool = false, hasDigest: Bool = false
    ) throws(DownloadError) -> DownloadTarget {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DownloadError(.badPath, "A path is empty or has a NUL in it")
        }
        let absolute = try DownloadError.naming { () throws(SystemError) in
            try Directory.absolute(path)
        }
        var (parent, name) = Directory.split(absolute)
        if isDirectory {
            parent = absolute
        } else if path.utf8.last == UInt8(ascii: "/") || ["", ".", ".."].contains(name) {
            throw DownloadError(.isDirectory, "\(path) is the path of a directory")
        } else if name.utf8.count > 255 {
            throw DownloadError(.badPath, "\(name) is longer than a name can be")
        }
        let directory: Directory
        let place: FileStatus
        do throws(SystemError) {
            if makesDirectories { try Directory.create(parent) }
            directory = try Directory.open(parent)
            place = try directory.file.status()
        } catch {
            var refusal = DownloadError(error)
            if refusal.reason == .noFile, !makesDirectories {
                refusal.message = 
                    "There is no directory \(parent). " + OptionAdvice.makeDirectories.text
            }
            throw refusal
        }
        var target = DownloadTarget(
            directory: directory, place: place, directoryPath: parent, name: isDirectory ? nil : name,
            stem: isDirectory ? suggestedName : name, existing: existing)
        try target.settleName(allowsExisting: hasDigest)
        do throws(SystemError) {
            try directory.checkWritable()
        } catch {
            var refusal = DownloadError(.readOnly, "The directory \(parent) cannot be written")
            refusal.osCode = error.code
            throw refusal
        }
        return target
    }

    private init(
        directory: Directory, place: FileStatus, directoryPath: String, name: String?, stem: String,
        existing: Existing
    ) {
        self.directory = directory
        self.place = place
        self.directoryPath = directoryPath
        self.name = name
        self.stem = stem
        self.existing = existing
        originalName = name
    }

    /// Closes the directory: a download that waits holds no descriptor.
    package mutating func close() { directory = directory.closed }

    /// Opens the directory again, if it is closed.
    ///
    /// - Throws: `bad_directory` if another directory has its path now; what the file system says.
    package mutating func reopen() throws(DownloadError) {
        guard !directory.isOpen else { return }
        let path = directory.path
        let (opened, status) = try DownloadError.naming { () throws(SystemError) in
            let opened = try Directory.open(path)
            return (opened, try opened.file.status())
        }
        guard status.isSameFile(as: place) else {
            throw DownloadError(
                .badDirectory,
                "The directory \(path) was replaced by another one while the download waited. "
                    + "Start the download again")
        }
        directory = opened
    }

    /// The answer has named the file.
    ///
    /// - Parameter suggested: a single component, cleaned (DR25).
    /// - Throws: `exists`, `is_directory`.
    mutating func setName(_ suggested: String) throws(DownloadError) {
        originalName = suggested
        name = suggested
        number = 0
        try settleName(allowsExisting: false)
    }

    /// Takes the next number, because somebody took the present name.
    ///
    /// - Returns: false without the policy for it, or after the last number.
    mutating func takeNextNumber() throws(DownloadError) -> Bool {
        guard existing == .number, let originalName else { return false }
        while number < 9_999 {
            number += 1
            let next = originalName.numbered(number)
            guard try status(of: next) == nil else { continue }
            name = next
            stem = next
            isThere = false
            return true
        }
        return false
    }

    private mutating func settleName(allowsExisting: Bool) throws(DownloadError) {
        guard let name, let found = try status(of: name) else { return }
        if found.kind == .directory {
            throw DownloadError(.isDirectory, "\(directory.path(of: name)) is a directory")
        }
        // A device, a FIFO or a socket is no file that this one could be, or take the place of.
        let isFile = found.kind != .other
        isThere = isFile
        forgetJournal(of: found, name)
        if allowsExisting, isFile { return }
        switch existing {
        case .replace:
            guard isFile else {
                throw DownloadError(
                    .exists, "\(identity) is no regular file, and is not replaced: give another path")
            }
        case .fail: throw existsError
        case .number:
            guard try takeNextNumber() else { throw existsError }
        }
    }

    /// Removes the journal of the file that is there, which a crash between the name and the end
    /// has left (DR20, DR26). Any other one stays: of another part, or of one that is there.
    private func forgetJournal(of file: FileStatus, _ name: String) {
        for names in PartNames.candidates(for: DownloadID(target: identity), name: name) {
            guard let journal = try? JournalFile.open(names.journal, in: directory, isReadOnly: true),
                let record = try? journal.read(), record.inode == file.inode,
                (try? directory.status(of: names.part)) == nil
            else { continue }
            _ = try? directory.remove(names.journal)
        }
    }

    /// The target is there, and it is not the file wanted.
    ///
    /// - Throws: `exists` where that is an error.
    package mutating func giveUpExisting() throws(DownloadError) {
        try settleName(allowsExisting: false)
    }

    /// The final name is somebody else's.
    var existsError: DownloadError {
        DownloadError(
            .exists,
            "\(identity) is there already: give another path, or allow to overwrite it or to rename the new file"
        )
    }

    /// A link to a directory counts as one; any other link is itself.
    private func status(of name: String) throws(DownloadError) -> FileStatus? {
        try DownloadError.naming { () throws(SystemError) in
            guard let found = try directory.status(of: name) else { return nil }
            guard found.kind == .symbolicLink,
                let end = try? directory.status(of: name, following: true), end.kind == .directory
            else { return found }
            return end
        }
    }
}

extension DownloadError {
    /// Calls `body` and gives its trouble the word for it.
    static func naming<Result>(_ body: () throws(SystemError) -> Result) throws(DownloadError)
        -> Result
    {
        do throws(SystemError) { return try body() } catch { throw DownloadError(error) }
    }
}
