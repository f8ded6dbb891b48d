// Wherry: which downloads of a client are running, and where.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The targets of a client's running downloads, so that none is started twice (D15).
package final class DownloadRegistry: Sendable {
    package struct Key: Hashable, Sendable {
        /// Without its fragment.
        package var url: String
        /// Absolute: the file, or the directory with a slash at its end.
        package var target: String
    }

    private struct State {
        var running: [String: Set<String>] = [:]
        /// Directories downloaded into, to find partials by their URL.
        var directories: Set<String> = []
    }
    private let state = Lock(State())

    package init() {}

    /// Enters a download.
    ///
    /// - Parameter sharesTarget: the file gets a name that is still free, so that another URL may
    ///   have the same target.
    /// - Throws: `already_running` for an equal URL and target, `busy` for an equal target.
    package func enter(_ key: Key, directory: String, sharesTarget: Bool) throws(WherryError) {
        try state.withLock { state throws(WherryError) in
            let urls = state.running[key.target] ?? []
            guard !urls.contains(key.url) else {
                throw WherryError(
                    .alreadyRunning, "This URL is being downloaded to \(key.target)")
            }
            guard urls.isEmpty || sharesTarget else {
                throw WherryError(.busy, "Another URL is being downloaded to \(key.target)")
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
