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
    ///
    /// - Throws: `wrong_state` if the body is not a streamed one, or the transfer has ended before all
    ///   bytes were written. Of all that were announced a server may answer to the last one before
    ///   this word comes, and that is well.
    package func finishWriting() throws(WherryError) {
        let stream = try streamedBody()
        if !stream.isWhole { try checkOpen() }
        stream.finish()
    }

    /// Whether a streamed body is to be written from its first byte again: the server wanted to know
    /// who asks, or redirected, and the bytes have gone. What is written before ``rewindWriting()`` is
    /// `busy`.
    package var wantsRewind: Bool { (self as? RequestTransfer)?.stream?.wantsRewind ?? false }

    /// Says that what is written from now on is the body from its first byte.
    ///
    /// - Throws: `wrong_state` where nobody wants it.
    package func rewindWriting() throws(WherryError) {
        guard try openStream().beginAgain() else {
            throw WherryError(.wrongState, "The body is not to be written again")
        }
    }

    private func openStream() throws(WherryError) -> StreamedBody {
        let stream = try streamedBody()
        try checkOpen()
        return stream
    }

    private func streamedBody() throws(WherryError) -> StreamedBody {
        guard let stream = (self as? RequestTransfer)?.stream else {
            throw WherryError(.wrongState, "The body of this transfer is not a streamed one")
        }
        return stream
    }

    private func checkOpen() throws(WherryError) {
        guard !isFinal else { throw WherryError(.wrongState, "The transfer has ended") }
    }
}
