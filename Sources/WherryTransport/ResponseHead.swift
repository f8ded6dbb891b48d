// Wherry: the status and headers of a response.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// The status and headers of a final response. The headers are stored as one block and parsed on
/// demand.
package struct ResponseHead: Sendable {
    /// The status code, usually 200 to 599; 100 to 199 only in ``interim``.
    package var status: Int
    /// 10, 11 or 20.
    package var httpVersion: Int
    /// One "name: value\n" per header, in the order of arrival.
    package var block: Bytes
    /// The informational responses (1xx) before this one, in the order of arrival.
    package var interim: [ResponseHead] = []
    /// Whether the block may contain Set-Cookie. `false` is certain.
    package var mayHaveCookies = true

    package init(status: Int, httpVersion: Int = 11, block: Bytes) {
        self.status = status
        self.httpVersion = httpVersion
        self.block = block
    }

    /// The value of the first header with a name (case-insensitive). UTF-8, or else ISO-8859-1.
    package subscript(name: String) -> String? {
        var found: String?
        forEachValue(of: name) { value in
            found = Self.text(value)
            return false
        }
        return found
    }

    /// Returns the first header with a name as a URI reference. Bytes that are not UTF-8 are
    /// percent-encoded unchanged, since only the server knows their meaning.
    package func reference(_ name: String) -> String? {
        var found: String?
        forEachValue(of: name) { value in
            found =
                String(validating: value, as: UTF8.self)
                ?? String(
                    decoding: value.reduce(into: []) { bytes, byte in
                        if byte < 0x80 {
                            bytes.append(byte)
                        } else {
                            PercentCoding.append(byte, to: &bytes)
                        }
                    }, as: UTF8.self)
            return false
        }
        return found
    }

    /// Decodes UTF-8, or else ISO-8859-1, which never fails (RFC 9110, section 5.5).
    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// Returns the values of all headers with a name, in order.
    package func values(_ name: String) -> [String] {
        var result: [String] = []
        forEachValue(of: name) { value in
            result.append(Self.text(value))
            return true
        }
        return result
    }

    /// All headers in order, with names as received.
    package var fields: [(name: String, value: String)] {
        var result: [(name: String, value: String)] = []
        forEachField { name, value in
            result.append((Self.text(name), Self.text(value)))
            return true
        }
        return result
    }

    /// Content-Length, if it is a valid number.
    package var contentLength: Int64? {
        self["content-length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Calls `body` with each name and trimmed value until it returns `false`.
    package func forEachField(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
    ) {
        block.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let end = bytes.firstIndex(of: 0x0A, in: start..<bytes.count)
                let colon = bytes.firstIndex(of: 0x3A, in: start..<end)
                if colon < end && colon > start {
                    var first = colon + 1
                    var last = end
                    while first < last && (bytes[first] == 0x20 || bytes[first] == 0x09) {
                        first += 1
                    }
                    while last > first && (bytes[last - 1] == 0x20 || bytes[last - 1] == 0x09) {
                        last -= 1
                    }
                    let name = UnsafeRawBufferPointer(rebasing: bytes[start..<colon])
                    let value = UnsafeRawBufferPointer(rebasing: bytes[first..<last])
                    if !body(name, value) { return }
                }
                start = end + 1
            }
        }
    }

    /// Calls `body` with each trimmed value of a name (case-insensitive) until it returns `false`.
    private func forEachValue(of name: String, _ body: (UnsafeRawBufferPointer) -> Bool) {
        var name = name
        name.withUTF8 { wanted in
            forEachField { fieldName, value in
                guard fieldName.count == wanted.count else { return true }
                for index in 0..<wanted.count
                where fieldName[index].asciiLowercased != wanted[index].asciiLowercased {
                    return true
                }
                return body(value)
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the index of the first such byte in a range, found by `memchr`; the end of the range if
    /// there is none.
    fileprivate func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int {
        guard let start = baseAddress, !range.isEmpty,
            let found = memchr(start + range.lowerBound, Int32(byte), range.count)
        else { return range.upperBound }
        return start.distance(to: found)
    }
}
