// Wherry: a copy of a streamed body for the caches.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Collects a body that is also handed over in pieces, up to the size that a cache takes.
///
/// A larger body passes the caches by: its copy is dropped and the stream goes on.
struct BodyCopy: Sendable {
    private let limit: Int
    private var bytes: [UInt8] = []
    private(set) var isTooLarge = false

    init(limit: Int) { self.limit = limit }

    mutating func append(_ piece: Bytes) {
        guard !isTooLarge else { return }
        guard bytes.count + piece.count <= limit else {
            isTooLarge = true
            bytes = []
            return
        }
        bytes += piece.array
    }

    /// The body so far; `nil` for one that is too large.
    var body: Bytes? { isTooLarge ? nil : Bytes(bytes) }
}
