// Wherry: the decoder of previews for one target.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging
import WherrySystem

/// The bytes of a response that wait to be decoded for one target, and their decoder.
final class PreviewTrack: @unchecked Sendable {  // one step at a time uses `decoder`
    private let inbox = Lock<[Bytes]>([])
    private let decoder: PreviewDecoder

    init(_ target: ImageTarget) {
        decoder = PreviewDecoder(as: target.format, target.compression)
    }

    func add(_ bytes: Bytes) { inbox.withLock { $0.append(bytes) } }

    /// Decodes all bytes that wait. Returns a preview if a scan or pass is complete.
    func decode() throws(ImagingError) -> DecodedPreview? {
        let pieces = inbox.withLock { pieces in
            defer { pieces = [] }
            return pieces
        }
        return try decoder.decode(pieces)
    }

    /// Whether no further previews follow.
    var isEnded: Bool { decoder.isEnded }
}
