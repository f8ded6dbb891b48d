// Wherry: concatenation of bytes.
// SPDX-License-Identifier: Apache-2.0

extension Bytes {
    /// Returns these bytes followed by `text` in UTF-8. Ends the program if out of memory.
    package func appending(_ text: String) -> Bytes {
        var text = text
        var buffer = ByteBuffer()
        let isWhole = text.withUTF8 { tail in
            buffer.reserve(count + tail.count)
                && withUnsafeBytes { buffer.append($0) }
                && buffer.append(UnsafeRawBufferPointer(tail))
        }
        guard isWhole else { fatalError("Not enough memory for \(count + text.utf8.count) bytes") }
        return buffer.take()
    }
}
