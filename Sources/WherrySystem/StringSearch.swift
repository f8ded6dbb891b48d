// Wherry: searches in strings.
// SPDX-License-Identifier: Apache-2.0

// The library does not link _StringProcessing, which would add 1.4 MB. These methods replace those of
// that module. They compare UTF-8 bytes, not characters.
extension StringProtocol {
    /// Returns whether the string contains a text.
    package func contains(_ text: String) -> Bool { firstRange(of: text) != nil }

    /// Returns the range of the first occurrence of a text; `nil` if it does not occur.
    package func firstRange(of text: String) -> Range<Index>? {
        let wanted = text.utf8
        guard let first = wanted.first else { return startIndex..<startIndex }
        var rest = utf8[...]
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: wanted) {
                return start..<rest.index(start, offsetBy: wanted.count)
            }
            rest.removeFirst()
        }
        return nil
    }
}
