// Wherry: comparison of file paths.
// SPDX-License-Identifier: Apache-2.0

/// Finds the paths that lead to the same file as a given one, however they are written.
package struct PathMatch: Sendable {
    private let absolute: String
    private let canonical: String

    package init(_ path: String) {
        absolute = (try? Directory.absolute(path)) ?? path
        canonical = Directory.canonical(path)
    }

    /// Returns whether the absolute path `other` leads to the file.
    package func contains(_ other: String) -> Bool {
        // The last component stays as it is, so most paths need no look at the file system.
        other == absolute
            || Directory.split(other).name == Directory.split(canonical).name
                && Directory.canonical(other) == canonical
    }
}
