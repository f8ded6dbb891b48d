// Wherry: an in-memory cache of pages.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

/// A least-recently-used cache of values by page number (O13).
struct PageCache<Value> {
    private var values: [Int64: (value: Value, used: UInt64)] = [:]
    private var clock: UInt64 = 0
    private let limit: Int

    /// - Parameter limit: The maximum number of pages; 0 keeps none.
    init(limit: Int) { self.limit = limit }

    var count: Int { values.count }

    /// Returns the value of a page and marks it as used.
    mutating func take(_ page: Int64) -> Value? {
        guard let found = values[page]?.value else { return nil }
        clock += 1
        values[page]?.used = clock
        return found
    }

    mutating func put(_ value: Value, at page: Int64) {
        guard limit > 0 else { return }
        clock += 1
        values[page] = (value, clock)
        guard values.count > limit, let oldest = values.min(by: { $0.value.used < $1.value.used })
        else { return }
        values[oldest.key] = nil
    }

    mutating func removeAll() { values = [:] }
}

extension PageCache: Sendable where Value: Sendable {}
