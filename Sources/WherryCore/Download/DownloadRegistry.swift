// Wherry: the running downloads of a client by destination.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// The destinations of a client's running downloads. Prevents duplicate downloads (D15).
package final class DownloadRegistry: Sendable {
    package struct Key: Hashable, Sendable {
        /// The URL without its fragment.
        package var url: String
        /// The canonical path of the file, or of the directory with a trailing slash.
        package var target: String
    }

    private struct State {
        var running: [String: Set<String>] = [:]
        /// The directories of downloads, for finding partial files by URL.
        var directories: Set<String> = []
    }
    private let state = Lock(State())

    package init() {}

    /// Adds a download.
    ///
    /// - Parameter sharesTarget: Whether the file gets a free name, so that another URL may use the
    ///   same target.
    /// - Throws: `already_running` for the same URL and target. `busy` for another URL with the
    ///   same target.
    package func enter(_ key: Key, directory: String, sharesTarget: Bool) throws(WherryError) {
        try state.withLock { state throws(WherryError) in
            let urls = state.running[key.target] ?? []
            guard !urls.contains(key.url) else {
                throw WherryError(
                    .alreadyRunning, "This URL is already being downloaded to \(key.target)")
            }
            guard urls.isEmpty || sharesTarget else {
                throw WherryError(
                    .busy,
                    "Another URL is being downloaded to \(key.target). Use another path, or wait.")
            }
            state.running[key.target, default: []].insert(key.url)
            state.directories.insert(directory)
        }
    }

    package func leave(_ key: Key) {
        state.withLock { state in
            state.running[key.target]?.remove(key.url)
            if state.running[key.target]?.isEmpty == true { state.running[key.target] = nil }
        }
    }

    package var directories: [String] { state.withLock { $0.directories.sorted() } }
}
