// Wherry: the files that a sweep removes to make room.
// SPDX-License-Identifier: Apache-2.0

/// The least recently used files of a store, up to a total size and a fixed number.
///
/// The fixed number limits the memory of a sweep.
struct EvictionList {
    struct File {
        let shard: String
        let rest: String
        let name: String
        let size: Int64
        let modified: Int64
        /// The time of the last use, by which the files are ordered.
        let used: Int64
    }

    /// The number of files that a list returns at most. They take about 250 bytes each.
    static let limit = 65_536

    private let bytes: Int64
    private let limit: Int
    private var files: [File] = []
    private var total: Int64 = 0
    /// Files that were last used at this time or later are not needed.
    private var end = Int64.max

    /// - Parameter bytes: The wanted size of all files together.
    init(bytes: Int64, limit: Int = Self.limit) {
        self.bytes = bytes
        self.limit = limit
    }

    /// Adds a file if it is among the least recently used.
    mutating func add(_ file: File) {
        guard bytes > 0, file.used < end else { return }
        files.append(file)
        total += file.size
        // Sorting is slow, so the list may first grow to twice its size.
        if total / 2 > bytes || files.count > 2 * limit { shorten() }
    }

    /// Returns the files in the order of their use.
    mutating func sorted() -> [File] {
        shorten()
        return files
    }

    private mutating func shorten() {
        files.sort { $0.used < $1.used }
        var count = 0
        total = 0
        while count < files.count, count < limit, total < bytes {
            total += files[count].size
            count += 1
        }
        guard count < files.count, let last = files[..<count].last else { return }
        files.removeSubrange(count...)
        end = last.used
    }
}
