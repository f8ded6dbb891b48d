// Wherry: the storage folder of a client.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryHTTP
import WherrySystem

/// Finds and creates `$XDG_CACHE_HOME/wherry/<name>` with mode 0700 (C12). Never changes a folder
/// of another user.
package struct StorageFolder: Sendable {
    private let name: String?
    private let directory: String?

    package init(name: String?, directory: String?) {
        self.name = name
        self.directory = directory
    }

    /// Returns the path of the folder. On return, the folder exists and is private.
    package func path() throws(WherryError) -> String {
        let path = try place()
        do {
            try Directory.makePrivate(path)
        } catch {
            throw Self.refusal(error)
        }
        return path
    }

    /// Returns the path of the folder, whether it exists or not.
    package func place() throws(WherryError) -> String {
        if let directory { return directory }
        return try defaultPath()
    }

    /// Checks a folder that the program has set, without creating it. The default folder is checked
    /// when it is used.
    package func check() throws(WherryError) {
        guard let directory else { return }
        do {
            try Directory.checkPrivate(directory)
        } catch {
            throw Self.refusal(error)
        }
    }

    private static func refusal(_ error: SystemError) -> WherryError {
        WherryError(error).with {
            // EPERM is the result of our check: the folder is not private.
            if [.badDirectory, .exists].contains($0.reason) || $0.osCode == EPERM {
                $0.reason = .badStorage
                $0.message += ". Use a new folder, or one of mode 0700."
            }
        }
    }

    private func defaultPath() throws(WherryError) -> String {
        let name = name ?? ProgramName.current
        // A relative path in the variable is invalid and ignored (XDG base directories).
        if let cache = Environment["XDG_CACHE_HOME"], cache.hasPrefix("/") {
            return "\(cache)/wherry/\(name)"
        }
        guard let home = Environment["HOME"], home.hasPrefix("/") else {
            throw WherryError(
                .badStorage,
                "Could not find a storage folder: neither XDG_CACHE_HOME nor HOME is set. Set a storage directory."
            )
        }
        return "\(home)/.cache/wherry/\(name)"
    }
}
