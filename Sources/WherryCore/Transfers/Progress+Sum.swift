// Wherry: how far several transfers have come together.
// SPDX-License-Identifier: Apache-2.0

extension Progress {
    /// The sum; the total is unknown if one of them is, or if there are none. The time left is what
    /// is missing at the speed of all together.
    package init(sumOf parts: [Progress]) {
        self.init()
        total = parts.isEmpty ? nil : 0
        decodedCount = parts.reduce(0) { $0.addingSaturating($1.decoded) }
        for part in parts {
            completed = completed.addingSaturating(part.completed)
            resumedAt = resumedAt.addingSaturating(part.resumedAt)
            wire = wire.addingSaturating(part.wire)
            if let sum = total, let more = part.total {
                total = sum.addingSaturating(more)
            } else {
                total = nil
            }
            if let speed = part.bytesPerSecond {
                bytesPerSecond = (bytesPerSecond ?? 0).addingSaturating(speed)
            }
        }
        if let total, let speed = bytesPerSecond, speed > 0 {
            let seconds = Double(max(0, total - completed)) / Double(speed)
            remaining = .nanoseconds(Int64(min(seconds * 1e9, 9e18)))
        }
    }
}
