// Wherry: the sizes of files by their last use.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The bytes of any number of files by the time of their last use, in a bounded number of bins.
///
/// A bin has at most about a thousandth of all bytes, unless it is one file or one point in time.
struct UseHistogram {
    /// Which files to remove, so that a number of bytes becomes free.
    struct Cutoff {
        /// All files that were last used before this time are removed.
        fileprivate let before: Int64
        /// Files that were last used from then until this time are removed until enough bytes are
        /// free.
        fileprivate let until: Int64
        fileprivate var bytes: Int64

        /// Returns whether to remove a file.
        mutating func takes(_ size: Int64, usedAt time: Int64) -> Bool {
            guard time >= before else { return true }
            guard time <= until, bytes > 0 else { return false }
            bytes -= size
            return true
        }
    }

    private struct Bin {
        let from: Int64
        var until: Int64
        var bytes: Int64
    }

    private static let share: Int64 = 1024
    private static let most = 4096

    private var bins: [Bin] = []
    var binCount: Int { bins.count }
    /// The bytes of all files.
    private(set) var total: Int64 = 0

    mutating func add(_ size: Int64, usedAt time: Int64) {
        if bins.count == Self.most { merge(upTo: total / Self.share) }
        bins.append(Bin(from: time, until: time, bytes: size))
        total += size
    }

    /// Returns which files to remove, the least recently used first, to free this many bytes.
    mutating func cutoff(freeing count: Int64) -> Cutoff {
        merge(upTo: 0)
        var missing = count
        for bin in bins {
            if bin.bytes >= missing {
                return Cutoff(before: bin.from, until: bin.until, bytes: missing)
            }
            missing -= bin.bytes
        }
        return Cutoff(before: .max, until: .max, bytes: missing)
    }

    /// Sorts the bins, and joins neighbors that overlap or have at most `bytes` together.
    private mutating func merge(upTo bytes: Int64) {
        bins.sort { $0.from < $1.from }
        var merged: [Bin] = []
        for bin in bins {
            if let last = merged.last, bin.from <= last.until || last.bytes + bin.bytes <= bytes {
                merged[merged.count - 1].until = max(last.until, bin.until)
                merged[merged.count - 1].bytes += bin.bytes
            } else {
                merged.append(bin)
            }
        }
        bins = merged
    }
}
