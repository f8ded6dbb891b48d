// Wherry: the known word that an unknown one probably means.
// SPDX-License-Identifier: Apache-2.0

enum Spelling {
    /// Returns the most similar of several words; `nil` if none is similar.
    static func nearest(to word: String, among known: [String], limit: Int) -> String? {
        // Comparing takes time, and no command or option is that long.
        guard word.utf8.count <= 40 else { return nil }
        return known.map { ($0, distance(Array($0.utf8), Array(word.utf8))) }
            .filter { $0.1 <= limit }.min { $0.1 < $1.1 }?.0
    }

    /// How many letters have to be inserted, removed, replaced, or exchanged with the next one.
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var rows = [Array(0...other.count)]
        for (index, letter) in one.enumerated() {
            var row = [index + 1]
            for (place, opposite) in other.enumerated() {
                var best = min(row[place] + 1, rows[index][place + 1] + 1)
                best = min(best, rows[index][place] + (letter == opposite ? 0 : 1))
                if index > 0, place > 0, letter == other[place - 1], one[index - 1] == opposite {
                    best = min(best, rows[index - 1][place - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[one.count][other.count]
    }
}
