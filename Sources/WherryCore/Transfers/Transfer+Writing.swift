// Wherry: streamed request bodies.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

extension Transfer {
    /// Writes more bytes of a streamed body, and returns the number of bytes accepted.
    ///
    /// - Throws: `busy` if the buffer is full and no byte was accepted; `wrong_state` if the body
    ///   is not streamed, is finished or would be longer than announced, or if the transfer has
    ///   ended.
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
            throw WherryError(
                .busy,
                "The buffer of the request body is full. Write again when the server has read more."
            )
        }
        return taken
    }

    /// Ends the streamed body. The transfer fails if fewer bytes were written than announced.
    ///
    /// - Throws: `wrong_state` if the body is not streamed, or if the transfer ended before all
    ///   bytes were written. Does not throw if all announced bytes were written: a server may
    ///   respond to the last byte before this call.
    package func finishWriting() throws(WherryError) {
        let stream = try streamedBody()
        if !stream.isWhole { try checkOpen() }
        stream.finish()
    }

    /// Whether the streamed body must be written again from its first byte, after a 401 response or
    /// a redirect. Until ``rewindWriting()`` is called, writes throw `busy`.
    package var wantsRewind: Bool { (self as? RequestTransfer)?.stream?.wantsRewind ?? false }

    /// Starts writing the body again from its first byte.
    ///
    /// - Throws: `wrong_state` unless ``wantsRewind`` is true.
    package func rewindWriting() throws(WherryError) {
        guard try openStream().beginAgain() else {
            throw WherryError(
                .wrongState,
                "The request body cannot be rewound: the transfer does not need it again")
        }
    }

    private func openStream() throws(WherryError) -> StreamedBody {
        let stream = try streamedBody()
        try checkOpen()
        return stream
    }

    private func streamedBody() throws(WherryError) -> StreamedBody {
        guard let stream = (self as? RequestTransfer)?.stream else {
            throw WherryError(.wrongState, "The body of this transfer is not streamed")
        }
        return stream
    }

    private func checkOpen() throws(WherryError) {
        guard !isFinal else { throw WherryError(.wrongState, "The transfer has ended") }
    }
}
