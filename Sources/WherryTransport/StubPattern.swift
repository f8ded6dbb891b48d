// Wherry: the URLs that a rule of a stub matches.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A URL, or a pattern in which each "*" stands for any text.
///
/// Scheme and host match in any case, the rest exactly. A URL without "*" is compared in its
/// normal form.
struct StubPattern: Sendable {
    /// The text between the stars, in order.
    private let pieces: [[UInt8]]

    init(_ text: String) {
        guard text.utf8.contains(UInt8(ascii: "*")) else {
            pieces = [Self.folded((try? HTTPURL(text).text) ?? text)]
            return
        }
        pieces = Self.folded(text)
            .split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(Array.init)
    }

    /// Scheme and host of a URL in lower case.
    static func folded(_ url: String) -> [UInt8] {
        // In a pattern without a scheme, nothing says where the host ends.
        guard url.contains("://") else { return Array(url.utf8) }
        var slashes = 0
        return url.utf8.map { byte in
            if byte == UInt8(ascii: "/") { slashes += 1 }
            return slashes < 3 ? byte.asciiLowercased : byte
        }
    }

    /// Whether a URL in the form of ``folded(_:)`` matches.
    func matches(_ url: [UInt8]) -> Bool {
        guard pieces.count > 1, let first = pieces.first, let last = pieces.last else {
            return url == pieces.first
        }
        guard url.count >= first.count + last.count, url.starts(with: first),
            url.suffix(last.count).elementsEqual(last)
        else { return false }
        var rest = url[first.count..<(url.count - last.count)]
        for piece in pieces[1..<(pieces.count - 1)] where !piece.isEmpty {
            // The leftmost match leaves the most room for the pieces that follow.
            guard rest.count >= piece.count,
                let start = (rest.startIndex...(rest.endIndex - piece.count)).first(where: {
                    rest[$0..<($0 + piece.count)].elementsEqual(piece)
                })
            else { return false }
            rest = rest[(start + piece.count)...]
        }
        return true
    }
}
