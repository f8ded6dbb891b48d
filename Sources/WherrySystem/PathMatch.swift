// Wherry: comparison of file paths.
// SPDX-License-Identifier: Apache-2.0

/// Finds the paths that lead to the same file as a given one, however they are written.
package struct PathMatch: Sendable {
    private let absolute: String
    private let canonical: String
    /// The last component, which stays as it is in a canonical path.
    private let name: String

    package init(_ path: String) {
        absolute = (try? Directory.absolute(path)) ?? path
        canonical = Directory.canonical(path)
        name = Directory.split(canonical).name
    }

    /// Returns whether the absolute path `other` leads to the file.
    package func contains(_ other: String) -> Bool {
        // The file system is asked only about paths with the same last component.
        other == absolute
            || Directory.split(other).name == name && Directory.canonical(other) == canonical
    }
}
