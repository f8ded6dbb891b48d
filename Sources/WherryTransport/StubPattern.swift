// Wherry: URL patterns of stub rules.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A URL, or a pattern in which each "*" matches any text.
///
/// Scheme and host match case-insensitively, everything else exactly. In a pattern with a path, a
/// "*" in the scheme or host does not match beyond it. A URL without "*" is compared in its
/// normalized form.
struct StubPattern: Sendable {
    private let globs: [Glob]

    init(_ text: String) {
        let isPattern = text.utf8.contains(UInt8(ascii: "*"))
        let url = isPattern ? text : (try? HTTPURL(text).text) ?? text
        globs = (Self.parts(url) ?? [Array(url.utf8)[...]]).map(Glob.init)
    }

    /// Returns whether an absolute URL, given as its ``parts(_:)``, matches.
    func matches(_ parts: [ArraySlice<UInt8>]) -> Bool {
        guard globs.count == parts.count else { return globs[0].matches(Self.folded(parts)[...]) }
        return zip(globs, parts).allSatisfy { $0.matches($1) }
    }

    /// Returns the scheme, the authority, and the rest from the first "/" on. Scheme and authority
    /// are in lower case.
    static func parts(_ url: String) -> [ArraySlice<UInt8>]? {
        let bytes = Array(url.utf8)
        let slash = UInt8(ascii: "/")
        guard
            let mark = bytes.indices.first(where: { bytes[$0...].starts(with: Array("://".utf8)) }),
            let path = bytes[(mark + 3)...].firstIndex(of: slash)
        else { return nil }
        let scheme = bytes[..<mark].map(\.asciiLowercased)
        let authority = bytes[(mark + 3)..<path].map(\.asciiLowercased)
        return [scheme[...], authority[...], bytes[path...]]
    }

    private static func folded(_ parts: [ArraySlice<UInt8>]) -> [UInt8] {
        parts[0] + Array("://".utf8) + parts[1] + parts[2]
    }
}

/// A byte pattern in which each "*" matches any number of bytes, including none.
private struct Glob: Sendable {
    /// The bytes between the stars, in order.
    private let pieces: [ArraySlice<UInt8>]

    init(_ text: ArraySlice<UInt8>) {
        pieces = text.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
    }

    func matches(_ text: ArraySlice<UInt8>) -> Bool {
        guard pieces.count > 1, let first = pieces.first, let last = pieces.last else {
            return text == pieces.first
        }
        guard text.count >= first.count + last.count, text.starts(with: first),
            text.suffix(last.count).elementsEqual(last)
        else { return false }
        var rest = text.dropFirst(first.count).dropLast(last.count)
        for piece in pieces[1..<(pieces.count - 1)] where !piece.isEmpty {
            // The leftmost match leaves the most room for the remaining parts.
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
