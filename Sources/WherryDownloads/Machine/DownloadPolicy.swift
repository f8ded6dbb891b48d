// Wherry: settings of one download.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The settings of a download that its state machine uses.
package struct DownloadPolicy: Hashable, Sendable {
    /// What a checkpoint waits for.
    package enum Durability: Hashable, Sendable {
        /// Nothing. The journal survives a crash of the program, but not of the system.
        case none
        /// Data is durable before the journal, at most 1 s or 4 MiB after arrival. The file is
        /// durable before the final rename.
        case checkpoint
        /// The same as `checkpoint`, but after every 1 MiB.
        case full
    }

    /// Whether to keep and resume partial files. Default: true.
    package var isResumable = true
    /// The maximum number of consecutive retries without progress. Default: 5.
    package var retries = 5
    /// The number of connections, 1 to 16. They are opened as soon as the first response has a
    /// length and a strong validator. 0, the default, starts with one connection and adds more
    /// while they help.
    package var segments = 0
    /// The maximum number of connections if ``segments`` is 0. Default: 5.
    package var mostSegments = 5
    /// The number of mirrors with the same bytes, which ``expected`` proves (D27).
    package var mirrors = 0
    /// The maximum number of restarts because of a changed file within one run (DR9). Default: 3.
    package var maximumRestarts = 3
    /// The longest delay that a server may require before the download fails with `retry_later`, in
    /// nanoseconds; `nil` for any. Default: 60 s.
    package var maximumRetryAfter: Int64? = 60_000_000_000
    package var durability = Durability.checkpoint
    /// The digest that the caller expects. It allows resuming without a strong validator, because
    /// the digest decides at the end (DR4).
    package var expected: DownloadDigest?
    /// Whether the finished file gets the server's modification time. Default: false.
    package var keepsServerTime = false
    /// An additional digest to compute and report to the caller.
    package var computed: DigestAlgorithm?
    /// Whether to check a digest that the server sends. Default: true.
    package var checksAnnounced = true
    /// Whether the URL is a new one for the same file. The download may then resume the partial
    /// file of the old URL, if the response passes the checks of DR5.
    package var isNewURLForSameFile = false
    /// The same as ``isNewURLForSameFile``, but only the query may have changed, as with a new
    /// signature.
    package var mayQueryChange = false
    /// Whether a download named by the server may resume a partial file whose URL has another
    /// query.
    package var resumesOtherQueries: Bool { isResumable && (mayQueryChange || isNewURLForSameFile) }
    /// The umask for the finished file: that of the program that started a background job. `nil`
    /// for the umask of this process.
    package var creationMask: UInt32?

    package init() {}
}

/// The reason for a restart at byte 0.
package enum RestartReason: String, Hashable, Sendable {
    /// The file on the server has changed.
    case changed
    /// No validator proves that the missing bytes belong to the received ones.
    case noValidator = "no_validator"
    /// The server only sends whole files.
    case rangesUnsupported = "ranges_unsupported"
    /// The server sent another range than the requested one.
    case badRange = "bad_range"
    /// The server has no bytes after the received ones, but these are not the whole file.
    case rangeNotSatisfiable = "416"
    /// The content coding has changed.
    case encoding
    /// The finished file did not have the expected digest.
    case checksum
}
