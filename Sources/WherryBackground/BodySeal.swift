// Wherry: the integrity check of an upload's stored body.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

/// The length and digest of an upload's body at the time the caller passed it.
///
/// The agent sends a body only if both still match. A disk error, a power failure, or another
/// program may have changed the file since.
package struct BodySeal: Sendable, Hashable {
    package let length: Int64
    /// The SHA-256 digest, in lowercase hexadecimal.
    package let digest: String

    /// Computes the seal of a file with this length.
    package init(of file: File, length: Int64) throws(SystemError) {
        var digest = Digest(.sha256)
        var offset: Int64 = 0
        while offset < length {
            let piece = try file.read(Int(min(262_144, length - offset)), at: offset)
            if piece.isEmpty { break }
            digest.update(piece)
            offset += Int64(piece.count)
        }
        self.length = offset
        self.digest = Hex.encode(digest.finalize())
    }

    package var json: JSONObject {
        var json = JSONObject()
        json.set("length", length)
        json.set("sha_256", digest)
        return json
    }

    /// Parses a seal. Returns `nil` if the object is not a valid seal.
    package init?(_ json: JSONObject) {
        guard let length = json.integer("length"), length >= 0, let digest = json.text("sha_256"),
            digest.utf8.count == 64
        else { return nil }
        self.length = length
        self.digest = digest
    }

    /// Opens a stored body and checks it against the seal.
    ///
    /// Read the body from the returned file only. No other file can replace it then.
    ///
    /// - Throws: `damaged_job` if the file is missing or a link, or its length or digest differs.
    package func open(_ name: String, in folder: Directory) throws(WherryError) -> File {
        let path = folder.path(of: name)
        let problem: String
        do throws(SystemError) {
            let file = try File.open(name, [.read], in: folder)
            let status = try file.status()
            if status.kind != .regular || !status.isOurs {
                problem = "it is not a regular file of this user"
            } else if status.size != length {
                problem = "it has \(status.size) bytes instead of \(length)"
            } else if try BodySeal(of: file, length: length) != self {
                problem = "its SHA-256 digest has changed"
            } else {
                return file
            }
        } catch {
            problem = WherryError(error).message
        }
        throw WherryError(
            .damagedJob,
            "The stored body of an upload, \(path), was not sent: \(problem). Start the upload again."
        )
    }
}
