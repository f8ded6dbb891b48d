// Wherry: what an upload's stored body is checked by.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The length and digest of an upload's body as the caller handed it over.
///
/// The agent sends a body only if it still has both: a disk, a power cut, or another program may
/// have changed the file since.
package struct BodySeal: Sendable, Hashable {
    package let length: Int64
    /// SHA-256, in lowercase hexadecimal.
    package let digest: String

    /// Reads a file of that length from its start to its end.
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

    /// `nil` for an object that is no seal.
    package init?(_ json: JSONObject) {
        guard let length = json.integer("length"), length >= 0, let digest = json.text("sha_256"),
            digest.utf8.count == 64
        else { return nil }
        self.length = length
        self.digest = digest
    }

    /// Opens a stored body and checks it against the seal.
    ///
    /// Send the body through the file that this returns: nobody can put another one in its place.
    ///
    /// - Throws: `damaged_job` if the file is missing, a link, of another length, or has other bytes.
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
            "The stored body of an upload, \(path), was not sent: \(problem). Start the upload again.")
    }
}
