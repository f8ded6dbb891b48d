// Wherry: finds image files in folders.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryAsync
import WherryImaging
import WherrySystem

/// The image files in folders and their subfolders.
struct ImageSearch {
    /// The path of each file, without duplicates. Arguments keep their order, and the files of a
    /// folder are sorted by name.
    private(set) var files: [String] = []
    /// Subfolders that could not be read.
    private(set) var failures: [(path: String, error: WherryError)] = []
    private var known: Set<Identity> = []

    /// The identity of a file, which is equal for all of its paths.
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64

        init(_ status: FileStatus) {
            device = status.device
            inode = status.inode
        }
    }

    /// Adds a file, whatever its name, or the images in a folder.
    ///
    /// - Throws: An error with code `file` if the path cannot be read.
    mutating func add(_ path: String) throws(WherryError) {
        do throws(SystemError) {
            try search(path)
        } catch {
            throw WherryError(error)
        }
    }

    private mutating func search(_ path: String) throws(SystemError) {
        let folder: Directory
        do throws(SystemError) {
            folder = try Directory.open(path)
        } catch {
            guard error.code == ENOTDIR else { throw error }
            try File.checkReadable(path)
            let (parent, name) = Directory.split(path)
            let status = try Directory.open(parent).status(of: name, following: true)
            if let status { append(path, status) }
            return
        }
        var waiting = try list(folder)
        while let next = waiting.popLast() {
            do throws(SystemError) {
                waiting += try list(Directory.open(next, following: false))
            } catch {
                failures.append((next, WherryError(error)))
            }
        }
    }

    /// Adds the images of a folder. Returns its subfolders in reverse order.
    private mutating func list(_ folder: Directory) throws(SystemError) -> [String] {
        var folders: [String] = []
        for name in try folder.names().sorted() {
            // The file may have been deleted since.
            guard let status = try folder.status(of: name) else { continue }
            let path = folder.path(of: name)
            if status.kind == .directory { folders.append(path) }
            if status.kind == .regular, Self.isImage(name) { append(path, status) }
        }
        return folders.reversed()
    }

    private mutating func append(_ path: String, _ status: FileStatus) {
        if known.insert(Identity(status)).inserted { files.append(path) }
    }

    private static func isImage(_ name: String) -> Bool {
        guard let dot = name.lastIndex(of: ".") else { return false }
        let suffix = name[name.index(after: dot)...].lowercased()
        return ImageFormat.readableExtensions.contains(suffix)
    }
}
