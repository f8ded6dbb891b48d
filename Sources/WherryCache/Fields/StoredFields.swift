// Wherry: stored response headers, and their update by a 304.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Edits a block of response headers: one `name: value\n` per line.
///
/// Lines are copied as bytes; only names are interpreted.
package enum StoredFields {
    /// Headers for a connection or a proxy (RFC 9111, section 3.1; RFC 9110, section 7.6.1), and
    /// headers that are not stored: Age is computed for each hit, and a cookie is for one user.
    private static let dropped: Set<String> = [
        "age", "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info",
        "proxy-authorization", "proxy-connection", "set-cookie", "set-cookie2", "te",
        "transfer-encoding", "upgrade",
    ]

    /// Returns the headers to store.
    ///
    /// - Parameters:
    ///   - isDecoded: Whether the body is stored without its content encoding. Content-Encoding and
    ///     Content-Length would then contradict the body.
    ///   - leavingOut: Further names, in lower case.
    package static func stored(
        _ head: ResponseHead, isDecoded: Bool, leavingOut: [String] = []
    ) -> Bytes {
        var names = dropped.union(leavingOut).union(namedByConnection(head))
        if isDecoded { names.formUnion(["content-encoding", "content-length"]) }
        return filtered(head.block) { !names.contains($0) }
    }

    /// Returns stored headers updated by a 304, or by a 200 to HEAD (section 3.2): new headers
    /// replace those of the same name, all others stay.
    package static func updated(
        _ block: Bytes, by head: ResponseHead, isDecoded: Bool, leavingOut: [String] = []
    ) -> Bytes {
        // The body is unchanged, so the headers that describe its bytes stay (section 3.2).
        var names = ["content-encoding", "content-length", "content-range"] + leavingOut
        if isDecoded { names.append("content-type") }
        let new = stored(head, isDecoded: isDecoded, leavingOut: names)
        let replaced = Set(lines(new).map { $0.name })
        return Bytes(filtered(block) { !replaced.contains($0) }.array + new.array)
    }

    /// Returns the block with a header set, or removed.
    package static func setting(_ name: String, _ value: String?, in block: Bytes) -> Bytes {
        let rest = filtered(block) { $0 != name.lowercased() }
        guard let value else { return rest }
        return Bytes(rest.array + Array("\(name): \(value)\n".utf8))
    }

    /// Returns the block without headers that describe a body, for a 304 (RFC 9110, section
    /// 15.4.5).
    package static func withoutBodyFields(_ block: Bytes) -> Bytes {
        filtered(block) {
            !["content-length", "content-encoding", "content-type", "content-range"].contains($0)
        }
    }

    /// Returns the block without headers, by case-insensitive name.
    package static func without(_ names: [String], in block: Bytes) -> Bytes {
        let names = Set(names.map { $0.asciiLowercased })
        return names.isEmpty ? block : filtered(block) { !names.contains($0) }
    }

    private static func namedByConnection(_ head: ResponseHead) -> [String] {
        head.values("connection").flatMap { $0.split(separator: ",") }.map {
            String($0).trimmingFieldSpace.lowercased()
        }
    }

    private static func filtered(_ block: Bytes, _ keeps: (String) -> Bool) -> Bytes {
        let all = lines(block)
        let kept = all.filter { keeps($0.name) }
        if kept.count == all.count { return block }
        return Bytes(kept.flatMap { $0.line })
    }

    /// Returns each line with its line feed, and its name in lower case. Leaves out lines without a
    /// name.
    private static func lines(_ block: Bytes) -> [(name: String, line: ArraySlice<UInt8>)] {
        var result: [(name: String, line: ArraySlice<UInt8>)] = []
        let bytes = block.array
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
            let line = bytes[start..<end]
            if let colon = line.firstIndex(of: 0x3A), colon > start {
                let name = String(decoding: line[start..<colon], as: UTF8.self)
                result.append((name.lowercased(), line + [0x0A]))
            }
            start = end + 1
        }
        return result
    }
}
