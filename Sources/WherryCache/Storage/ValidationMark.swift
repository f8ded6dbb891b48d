// Wherry: marks for background validations.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A background validation of a stored response, unique among all processes that use the store.
///
/// The mark is a small file that its process keeps locked. The lock ends with the process.
/// Therefore a mark without a lock belongs to a program that ended before the response arrived,
/// such as a command that prints a stale response and exits.
package final class ValidationMark: Sendable {
    static let prefix = "validating-"
    /// The time that a sweep keeps an abandoned mark, in nanoseconds.
    static let longestNanoseconds: Int64 = 86_400 * 1_000_000_000

    private let file: File
    private let root: Directory
    private let name: String

    fileprivate init(_ file: File, _ root: Directory, _ name: String) {
        self.file = file
        self.root = root
        self.name = name
    }

    /// Removes the mark at the end of the validation, successful or not.
    package func remove() {
        // The lock is still held, so that no process considers the mark abandoned. If the file
        // cannot be removed, the next request validates once in the foreground.
        _ = try? root.remove(name)
    }

    /// Removes the marks that no process holds.
    ///
    /// - Parameter limit: Removes only marks created before this time, in nanoseconds since 1970.
    static func removeAll(in root: Directory, before limit: Int64 = .max) {
        for name in (try? root.names()) ?? [] where name.hasPrefix(ValidationMark.prefix) {
            guard let status = try? root.status(of: name), status.modifiedNanoseconds < limit,
                let file = try? File.open(name, [.read, .write], in: root),
                (try? file.isLockedElsewhere()) == false
            else { continue }
            _ = try? root.remove(name)
        }
    }
}

extension EntryStore {
    /// The state of the background validation of a response.
    package enum Validation: Sendable {
        /// The caller must validate it. `nil` if the mark could not be written.
        case begun(ValidationMark?)
        /// Another client or process is validating it.
        case elsewhere
        /// A program began to validate it, and ended before the response arrived. The mark has been
        /// removed.
        case abandoned
    }

    /// Begins the background validation of the response with a key.
    package func beginValidation(of key: [UInt8]) -> Validation {
        let digest: [UInt8] = secret.digest(key, of: "validation")
        let name = ValidationMark.prefix + Hex.encode(Array(digest.prefix(16)))
        if let known = try? File.open(name, [.read, .write], in: root) {
            if (try? known.isLockedElsewhere()) == true { return .elsewhere }
            _ = try? root.remove(name)
            return .abandoned
        }
        do {
            let file = try File.open(name, [.read, .write, .create, .exclusive], in: root)
            guard try file.lock() else { return .elsewhere }
            return .begun(ValidationMark(file, root, name))
        } catch {
            // Another process created the mark at the same time.
            return error.code == EntrySweeper.nameTaken ? .elsewhere : .begun(nil)
        }
    }
}
