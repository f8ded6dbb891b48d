// Wherry: bytes put together.
// SPDX-License-Identifier: Apache-2.0

extension Bytes {
    /// These bytes and the UTF-8 form of `text` after them; ends the program where there is no memory.
    package func appending(_ text: String) -> Bytes {
        var text = text
        var buffer = ByteBuffer()
        let isWhole = text.withUTF8 { tail in
            buffer.reserve(count + tail.count)
                && withUnsafeBytes { buffer.append($0) }
                && buffer.append(UnsafeRawBufferPointer(tail))
        }
        guard isWhole else { fatalError("There is no memory for \(count + text.utf8.count) bytes") }
        return buffer.take()
    }
}
