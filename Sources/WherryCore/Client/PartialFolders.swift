// Wherry: which directories have partial downloads, kept for later processes.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Records the directories that a program downloads into, in its storage folder: one small file in
/// `downloads` for each directory, with its path. Later processes find the partial files of a process
/// that ended before its downloads did, for usage and clearing.
///
/// If the storage folder cannot be written, downloads still run, and only the directories of this
/// process are known.
final class PartialFolders: Sendable {
    private let storage: StorageFolder
    /// The directories that this process has recorded.
    private let noted = Lock<Set<String>>([])

    /// The longest path.
    private static let mostBytes = 4096

    init(_ storage: StorageFolder) { self.storage = storage }

    /// Records a directory, once in a process. Never waits for the disk.
    func note(_ directory: String, on workers: WorkerPool) {
        guard noted.withLock({ $0.insert(directory).inserted }) else { return }
        workers.submit { [self] in
            guard let folder = try? open() else { return }
            let name = Self.name(of: directory)
            if (try? folder.status(of: name)) ?? nil != nil { return }
            guard let temporary = try? EntryStore.temporaryName() else { return }
            try? folder.write([Bytes(directory)], to: name, temporary: temporary)
        }
    }

    /// The recorded directories in order. Records of directories without partial files are deleted,
    /// unless this process made them. Makes nothing.
    var directories: [String] {
        guard let place = try? storage.place(),
            let folder = try? Directory.open(place + "/downloads", following: false),
            let names = try? folder.names()
        else { return [] }
        let own = noted.withLock { $0 }
        var found: [String] = []
        for name in names where !name.hasPrefix(".") {
            guard let bytes = folder.contents(of: name, limit: Self.mostBytes) else { continue }
            let directory = String(decoding: bytes.array, as: UTF8.self)
            guard Self.name(of: directory) == name else { continue }
            let partials = (try? PartialDownload.list(in: directory)) ?? []
            if partials.isEmpty, !own.contains(directory) {
                // A record that cannot be deleted is looked at again the next time.
                _ = try? folder.remove(name)
            } else {
                found.append(directory)
            }
        }
        return found.sorted()
    }

    private func open() throws -> Directory {
        try Directory.openPrivate(try storage.path() + "/downloads")
    }

    private static func name(of directory: String) -> String {
        Hex.encode(Array(Digest.hash(of: directory, .sha256).prefix(16)))
    }
}
