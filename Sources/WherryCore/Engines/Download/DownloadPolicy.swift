// Wherry: how one download is to be done
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The settings of a download that its rules read.
package struct DownloadPolicy: Hashable, Sendable {
    /// What a checkpoint waits for.
    package enum Durability: Hashable, Sendable {
        /// Nothing: the journal is right after a crash of the program, not after one of the system.
        case none
        /// Data before journal, at most 1 s or 4 MiB after it has arrived; the file before its name.
        case checkpoint
        /// The same after every 1 MiB.
        case full
    }

    /// Whether a partial is kept and gone on with. Default true.
    package var isResumable = true
    /// Attempts after the first without progress between them. Default 5.
    package var retries = 5
    /// How many connections bring the file: 1 to 16, opened as soon as the first answer shows a
    /// length and a strong validator; 0, the default, begins with one and adds more while they help.
    package var segments = 0
    /// How many it may be where ``segments`` is 0. Default 5.
    package var mostSegments = 5
    /// How many other places there are for the same bytes, which ``expected`` proves (D27).
    package var mirrors = 0
    /// How often the server's file may change within one run (DR9). Default 3.
    package var maximumRestarts = 3
    /// The longest wait a server may ask for before the download ends with `retry_later`; `nil` for
    /// any. Default 60 s, in nanoseconds.
    package var maximumRetryAfter: Int64? = 60_000_000_000
    package var durability = Durability.checkpoint
    /// The digest the caller asks for. With it a partial may be gone on with although the server
    /// offers no strong validator: the digest decides at the end (DR4).
    package var expected: DownloadDigest?
    /// The finished file gets the time that the server says it was changed at. Default false.
    package var keepsServerTime = false
    /// A digest that the caller wants to be told, whatever it is.
    package var computed: DigestAlgorithm?
    /// Whether a digest of the server is checked. Default true.
    package var checksAnnounced = true
    /// The caller says that the URL is another one for the same file: the partial of the old URL
    /// is offered to the new one, and DR5 judges.
    package var isNewURLForSameFile = false
    /// The same, but only the query may have changed, as with a new signature.
    package var mayQueryChange = false
    /// Whether a download that the server names may resume the part of another query of its URL.
    var resumesOtherQueries: Bool { isResumable && (mayQueryChange || isNewURLForSameFile) }
    /// The umask that the finished file gets: of the program that started a background job. `nil`
    /// for this process's.
    package var creationMask: UInt32?

    package init() {}
}

/// Why a download began again at byte 0.
package enum RestartReason: String, Hashable, Sendable {
    /// The server's file is another one now.
    case changed
    /// Nothing proves that the rest belongs to what is there.
    case noValidator = "no_validator"
    /// The server sends whole files only.
    case rangesUnsupported = "ranges_unsupported"
    /// The piece that came was not the piece that was asked for.
    case badRange = "bad_range"
    /// Nothing lies beyond what is there, and that is not the whole either.
    case rangeNotSatisfiable = "416"
    /// Another content coding than before.
    case encoding
    /// The finished file did not have its digest.
    case checksum
}
