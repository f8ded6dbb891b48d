// Wherry: destination of a download.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryHTTP
import WherrySystem

/// The location of the finished file, checked before any request (DR19, DR23).
package struct DownloadTarget: Sendable {
    /// What to do if a file with the name exists.
    package enum Existing: Hashable, Sendable {
        /// Fail with `exists`.
        case fail
        /// Replace the file atomically. A symbolic link is replaced itself, not the file it points
        /// to.
        case replace
        /// Use the next free name, such as `name (1)`.
        case number
    }

    package private(set) var directory: Directory
    /// The status of the directory when it was first opened.
    private let place: FileStatus
    /// The absolute path, with symbolic links not resolved.
    package let directoryPath: String
    /// The file name; `nil` until the response determines it.
    package private(set) var name: String?
    /// The name from which the names of the partial file are derived.
    package private(set) var stem: String
    package let existing: Existing
    /// Whether a file with the name exists. Only such a file can make the download unnecessary by
    /// its digest.
    package private(set) var isThere = false
    private var originalName: String?
    private var number = 0

    /// The absolute path of the finished file, as the caller wrote it. If the response determines
    /// the name: the path of the directory with a trailing slash.
    package var path: String { directory.path(of: name ?? "") }
    /// The same path with symbolic links and ".." resolved. Downloads with equal identities are the
    /// same download.
    package var identity: String {
        canonicalDirectory + (name ?? "")
    }
    /// With a trailing slash.
    private let canonicalDirectory: String

    /// Checks a target.
    ///
    /// - Parameters:
    ///   - path: The path of the file, or of the directory with `isDirectory`. Relative to the
    ///     working directory.
    ///   - isDirectory: Whether the path is that of a directory. Default: false.
    ///   - suggestedName: With `isDirectory`, the name for the partial file until the response
    ///     determines one.
    ///   - makesDirectories: Whether to create missing directories. Default: false.
    ///   - hasDigest: Whether the download has an expected digest. An existing file may then be the
    ///     wanted one, so it is not an error yet. Default: false.
    /// - Throws: `exists`, `is_directory`, `bad_directory`, `no_file` for a missing directory,
    ///   `read_only`, `no_permission`, `bad_path`.
    package static func locate(
        _ path: String, isDirectory: Bool = false, suggestedName: String = "download",
        existing: Existing = .fail, makesDirectories: Bool = false, hasDigest: Bool = false
    ) throws(DownloadError) -> DownloadTarget {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DownloadError(
                .badPath, "The path of the download is empty or contains a NUL byte")
        }
        let absolute = try DownloadError.naming { () throws(SystemError) in
            try Directory.absolute(path)
        }
        var (parent, name) = Directory.split(absolute)
        if isDirectory {
            parent = absolute
        } else if path.utf8.last == UInt8(ascii: "/") || ["", ".", ".."].contains(name) {
            throw DownloadError(
                .isDirectory,
                "\(path) is the path of a directory. Use the path of a file, or let the server name a file in this directory."
            )
        } else if name.utf8.count > 255 {
            throw DownloadError(
                .badPath, "The file name \(name) is too long. Use at most 255 bytes.")
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
            directory: directory, place: place, directoryPath: parent,
            name: isDirectory ? nil : name,
            stem: isDirectory ? suggestedName : name, existing: existing)
        try target.settleName(allowsExisting: hasDigest)
        do throws(SystemError) {
            try directory.checkWritable()
        } catch {
            let message =
                error.code == EROFS
                ? "The file system of the directory \(parent) is read-only. Use another directory."
                : "The directory \(parent) is not writable. Change its permissions, or use another directory."
            var refusal = DownloadError(.readOnly, message)
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
        canonicalDirectory = Directory.canonical(directory.path(of: ""))
        originalName = name
    }

    /// Closes the directory, so that a waiting download uses no file descriptor.
    package mutating func close() { directory = directory.closed }

    /// Opens the directory again if it is closed.
    ///
    /// - Throws: `bad_directory` if the path leads to another directory now, or a file system
    ///   error.
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
                    + "Start the download again.")
        }
        directory = opened
    }

    /// Sets the file name that the response determines.
    ///
    /// - Parameter suggested: A single, sanitized path component (DR25).
    /// - Throws: `exists`, `is_directory`.
    mutating func setName(_ suggested: String) throws(DownloadError) {
        originalName = suggested
        name = suggested
        number = 0
        try settleName(allowsExisting: false)
    }

    /// Changes to the next numbered name because the current name is taken.
    ///
    /// - Returns: False if the policy does not allow it, or after the last number.
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
            throw DownloadError(
                .isDirectory,
                "\(directory.path(of: name)) is a directory. Use the path of a file.")
        }
        // A device, a FIFO or a socket cannot be the finished file, and is never replaced.
        let isFile = found.kind != .other
        isThere = isFile
        forgetJournal(of: found, name)
        if allowsExisting, isFile { return }
        switch existing {
        case .replace:
            guard isFile else {
                throw DownloadError(
                    .exists,
                    "\(path) is not a regular file, so it is not replaced. Use another path.")
            }
        case .fail: throw existsError
        case .number:
            guard try takeNextNumber() else { throw existsError }
        }
    }

    /// Removes the journal of an existing file. A crash between the final rename and the end leaves
    /// such a journal (DR20, DR26). Journals of other or existing partial files stay.
    private func forgetJournal(of file: FileStatus, _ name: String) {
        for names in PartNames.candidates(for: DownloadID(target: identity), name: name) {
            guard
                let journal = try? JournalFile.open(names.journal, in: directory, isReadOnly: true),
                let record = try? journal.read(), record.inode == file.inode,
                (try? directory.status(of: names.part)) == nil
            else { continue }
            _ = try? directory.remove(names.journal)
        }
    }

    /// Handles an existing file that is not the wanted one.
    ///
    /// - Throws: `exists` if the policy forbids an existing file.
    package mutating func giveUpExisting() throws(DownloadError) {
        try settleName(allowsExisting: false)
    }

    /// The error for a final name that is taken.
    var existsError: DownloadError {
        DownloadError(
            .exists,
            "\(path) already exists. " + OptionAdvice.overwrite.text
        )
    }

    /// Returns the status of a name. Follows a link to a directory, but no other link.
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
    /// Runs `body` and converts its error.
    static func naming<Result>(_ body: () throws(SystemError) -> Result) throws(DownloadError)
        -> Result
    {
        do throws(SystemError) { return try body() } catch { throw DownloadError(error) }
    }
}
