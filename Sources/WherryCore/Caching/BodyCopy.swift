// Wherry: a copy of a streamed body for the caches.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Collects a copy of a streamed body, up to the size that a cache stores.
///
/// A larger body is not cached: the copy is dropped and the stream continues.
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

    /// The body so far; `nil` if it is too large.
    var body: Bytes? { isTooLarge ? nil : Bytes(bytes) }
}
