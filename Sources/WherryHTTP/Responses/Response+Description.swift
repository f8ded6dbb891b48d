// Wherry: one-line descriptions of responses.
// SPDX-License-Identifier: Apache-2.0

import WherryTransport

extension Response: CustomStringConvertible, CustomDebugStringConvertible {
    /// The status, the URL, and the body's type, size, and source:
    /// "200 https://example.org/notes (application/json, 512 bytes, from cache)".
    ///
    /// Leaves out the query and credentials of the URL, all other headers, and the body.
    public var description: String {
        var facts: [String] = []
        if let type = header("content-type") {
            facts.append(String(type.prefix { $0 != ";" }.prefix(100)))
        }
        if let savedPath {
            facts.append("saved to \(savedPath)")
        } else {
            facts.append(body.count == 1 ? "1 byte" : "\(body.count) bytes")
        }
        if isFromCache { facts.append(isStale ? "stale, from cache" : "from cache") }
        if isRevalidated { facts.append("revalidated") }
        return "\(status) \(HTTPURL.redacted(url)) (\(facts.joined(separator: ", ")))"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }
}
