// Wherry: handing over a body while it is sent.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

extension Transfer {
    /// Hands over more of a streamed body, and returns how many bytes were taken.
    ///
    /// - Throws: `busy` if the buffer is full, and nothing was taken; `wrong_state` if the body is
    ///   not a streamed one, is finished, would be longer than announced, or the transfer has ended.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(WherryError) -> Int {
        let stream = try openStream()
        guard unsafe !bytes.isEmpty else { return 0 }
        let taken: Int
        do {
            taken = unsafe try stream.write(bytes)
        } catch {
            throw WherryError(error.kind == .noMemory ? .noMemory : .wrongState, error.message)
        }
        guard taken > 0 else {
            throw WherryError(.busy, "The buffer of the request body is full for the moment")
        }
        return taken
    }

    /// Says that the streamed body has no more bytes. Fewer than announced fail the transfer.
    package func finishWriting() throws(WherryError) { try openStream().finish() }

    private func openStream() throws(WherryError) -> StreamedBody {
        guard let stream = (self as? RequestTransfer)?.stream else {
            throw WherryError(.wrongState, "The body of this transfer is not a streamed one")
        }
        guard !isFinal else { throw WherryError(.wrongState, "The transfer has ended") }
        return stream
    }
}
