// Wherry: bytes put together.
// SPDX-License-Identifier: Apache-2.0

extension Bytes {
    /// These bytes and the UTF-8 form of `text` after them; these alone if no memory can be had.
    package func appending(_ text: String) -> Bytes {
        var text = text
        var buffer = ByteBuffer()
        let isWhole = text.withUTF8 { tail in
            buffer.reserve(count + tail.count)
                && withUnsafeBytes { buffer.append($0) }
                && buffer.append(UnsafeRawBufferPointer(tail))
        }
        return isWhole ? buffer.take() : self
    }
}
