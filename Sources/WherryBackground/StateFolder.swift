// Wherry: the state folder of a background session.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryCore
import WherryDownloads
import WherryHTTP
import WherrySystem

/// The folder `$XDG_STATE_HOME/wherry/<session>` with mode 0700, owned by the user. Contains the
/// jobs, the lock that a running agent holds, the agent's socket, and its log. All access goes
/// through the open directory.
package final class StateFolder: Sendable {
    package static let lockName = "agent.lock"
    package static let socketName = "agent.sock"
    package static let logName = "log"

    /// The absolute path.
    package let path: String
    package let directory: Directory
    /// The subfolder `jobs` with mode 0700.
    package let jobs: Directory

    /// Whether the folder was removed. Nothing can be stored in it then.
    var isGone: Bool { (try? jobs.file.status())?.links == 0 }

    private init(path: String, directory: Directory, jobs: Directory) {
        self.path = path
        self.directory = directory
        self.jobs = jobs
    }

    /// Returns the default path of a session's folder.
    package static func path(of session: String) throws(WherryError) -> String {
        // A relative path in the variable is invalid and ignored (XDG base directories).
        if let state = Environment["XDG_STATE_HOME"], state.hasPrefix("/") {
            return "\(state)/wherry/\(session)"
        }
        guard let home = Environment["HOME"], home.hasPrefix("/") else {
            throw WherryError(
                .unsafeStateDirectory,
                "Could not find a folder for background jobs: neither XDG_STATE_HOME nor HOME is set. Set a state directory."
            )
        }
        return "\(home)/.local/state/wherry/\(session)"
    }

    /// Opens the folder, and creates it if necessary.
    ///
    /// - Throws: `unsafe_state_dir` for a symbolic link, a folder of another user, or a folder that
    ///   others can access. Such a folder is not changed.
    package static func open(_ path: String) throws(WherryError) -> StateFolder {
        do throws(SystemError) {
            try Directory.makePrivate(path)
            let directory = try Directory.open(path, following: false)
            let status = try directory.file.status()
            guard status.isOurs, status.permissions & 0o077 == 0 else {
                throw SystemError(EPERM, "keep background jobs in", path: path)
            }
            return StateFolder(
                path: path, directory: directory,
                jobs: try Directory.openPrivate("jobs", in: directory))
        } catch {
            let failure = WherryError(error)
            // A link gives ENOTDIR or ELOOP. EPERM is the check above: the folder is not private.
            guard [EPERM, ENOTDIR, ELOOP, EEXIST].contains(error.code) else { throw failure }
            throw failure.with {
                $0.reason = .unsafeStateDirectory
                $0.message +=
                    ". Use a folder of mode 0700 that belongs to you and is not a link."
            }
        }
    }

    // MARK: The lock

    /// Takes the lock. The agent holds it while it runs; callers hold it briefly.
    ///
    /// - Returns: `nil` if another process holds the lock. Releasing the file releases the lock.
    package func lock() throws(WherryError) -> File? {
        do throws(SystemError) {
            let file = try File.open(Self.lockName, [.read, .write, .create], in: directory)
            let status = try file.status()
            guard status.kind == .regular, status.isOurs else {
                throw SystemError(EPERM, "lock", path: file.path)
            }
            return try file.lock() ? file : nil
        } catch {
            throw WherryError(error)
        }
    }

    // MARK: Jobs

    /// The file names of a job's record and of an upload's body.
    static func recordName(_ id: String) -> String { id + ".job" }
    package static func bodyName(_ id: String) -> String { id + ".body" }

    /// The path of an upload's body.
    package func bodyPath(_ id: String) -> String { jobs.path(of: Self.bodyName(id)) }

    /// Returns all jobs, oldest first. A record that cannot be read becomes a failed job.
    ///
    /// The progress of inactive downloads comes from their partial files.
    package func load() throws(WherryError) -> [JobRecord] {
        let names: [String]
        do throws(SystemError) {
            names = try jobs.names()
        } catch {
            throw WherryError(error)
        }
        let all = Set(names)
        var records: [JobRecord] = []
        for name in names where name.hasSuffix(".job") {
            let id = String(name.dropLast(4))
            guard BackgroundJob.isID(id) else { continue }
            if var record = record(id) {
                record.refresh()
                if record.job.kind == .upload, !record.job.isFinal {
                    record.remains = remains(id, all)
                }
                records.append(record)
            } else if let record = damaged(id, hasBody: all.contains(Self.bodyName(id))) {
                records.append(record)
            }
        }
        records.sort { ($0.job.startedAt, $0.job.id) < ($1.job.startedAt, $1.job.id) }
        return records
    }

    /// Whether a job has a record, readable or not.
    package func hasRecord(_ id: String) -> Bool {
        BackgroundJob.isID(id) && (try? jobs.status(of: Self.recordName(id))) != nil
    }

    /// Returns the saved record of a job. `nil` if there is none or it cannot be read.
    package func record(_ id: String) -> JobRecord? {
        guard BackgroundJob.isID(id),
            let bytes = jobs.contents(of: Self.recordName(id), limit: JobRecord.mostBytes),
            let record = JobRecord.parse(bytes.array), record.job.id == id
        else { return nil }
        return record
    }

    /// Replaces a record atomically and waits for the disk.
    package func save(_ record: JobRecord) throws(WherryError) {
        let text = try record.text()
        let name = Self.recordName(record.job.id)
        do throws(SystemError) {
            let temporary = name + ".new"
            try jobs.remove(temporary)
            let file = try File.open(temporary, [.write, .create, .exclusive], in: jobs)
            do throws(SystemError) {
                try file.setPermissions(0o600)
                try file.write(text, at: 0)
                try file.synchronizeData()
                try jobs.rename(temporary, to: name, replacing: true)
            } catch {
                _ = try? jobs.remove(temporary)
                throw error
            }
            try jobs.synchronize()
        } catch {
            throw WherryError(error)
        }
    }

    /// Removes a job's record, body, and stored result.
    package func remove(_ id: String) throws(WherryError) {
        do throws(SystemError) {
            try jobs.remove(Self.recordName(id))
            try jobs.remove(Self.bodyName(id))
            try jobs.remove(Self.endingName(id))
            try jobs.synchronize()
        } catch {
            throw WherryError(error)
        }
    }

    /// Opens an upload's body. Send the body through the returned file only.
    ///
    /// - Throws: `damaged_job` if the body has changed since it was stored.
    func body(of record: JobRecord) throws(WherryError) -> File {
        guard let seal = record.seal else {
            throw WherryError(
                .damagedJob,
                "The upload \(record.job.id) was not sent: its record has no digest of the body. Start the upload again."
            )
        }
        return try seal.open(Self.bodyName(record.job.id), in: jobs)
    }

    /// Removes an upload's body, which is useless once the upload is finished.
    package func removeBody(_ id: String) { _ = try? jobs.remove(Self.bodyName(id)) }

    /// Creates the file for an upload's body.
    package func makeBody(_ id: String) throws(WherryError) -> File {
        do throws(SystemError) {
            let file = try File.open(
                Self.bodyName(id), [.read, .write, .create, .exclusive], in: jobs)
            try file.setPermissions(0o600)
            return file
        } catch {
            throw WherryError(error)
        }
    }

    /// Removes files without a record that are older than a day: bodies whose program died before
    /// it started the job, results of removed jobs, and incomplete records.
    package func sweep(wall: Double) {
        let names = (try? jobs.names()) ?? []
        let all = Set(names)
        for name in names {
            let length = [".body", ".end"].first { name.hasSuffix($0) }?.utf8.count
            guard length != nil || name.hasSuffix(".new"),
                let status = try? jobs.status(of: name),
                wall - Double(status.modifiedNanoseconds) / 1e9 > 86_400
            else { continue }
            if let length, all.contains(Self.recordName(String(name.dropLast(length)))) { continue }
            _ = try? jobs.remove(name)
        }
    }
}

extension JobRecord {
    /// Updates the progress of an unfinished download from its partial file.
    mutating func refresh() {
        guard job.kind == .download, !job.isFinal, let partial else { return }
        job.progress.completed = partial.bytes
        job.progress.total = partial.total ?? job.progress.total
    }

    /// The partial file of an unfinished download.
    private var partial: PartialDownload? {
        guard let path = job.path, let request else { return nil }
        let identity = request.identity
        return partials(path).first { $0.identity == identity } ?? partials(path).first
    }

    private func partials(_ path: String) -> [PartialDownload] {
        guard path.utf8.last == 0x2F else { return (try? PartialDownload.of(path)) ?? [] }
        // In a directory, only the partial files of this URL belong to the job.
        let identity = request?.identity
        return ((try? PartialDownload.list(in: path)) ?? []).filter { $0.identity == identity }
    }

    /// Deletes the partial files of an unfinished download. No transfer may be using them.
    func discardPartials() {
        guard job.kind == .download, let path = job.path else { return }
        if path.utf8.last == 0x2F {
            for partial in partials(path) { _ = try? PartialDownload.discard(partial.partialPath) }
        } else {
            _ = try? PartialDownload.discard(path)
        }
    }
}
