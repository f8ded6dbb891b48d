// Wherry: the progress of a transfer.
// SPDX-License-Identifier: Apache-2.0

/// The progress of a transfer.
public struct Progress: Sendable, Hashable {
    /// The number of bytes sent or received, counted from the start of the file or body. For a
    /// compressed response, the bytes on the wire; for a request body that the client compresses,
    /// the bytes before compression. Only those totals are known in advance.
    public var completed: Int64 = 0
    /// The number of bytes after decoding; greater than `completed` for a compressed response.
    public var decoded: Int64 { decodedCount ?? completed }
    package var decodedCount: Int64?
    /// The total number of bytes; `nil` if unknown.
    public var total: Int64?
    /// The number of bytes that were present when this run began.
    public var resumedAt: Int64 = 0
    /// The number of bytes on the wire in this run, before decoding.
    public var wire: Int64 = 0
    /// The speed over the last five seconds; `nil` if unknown.
    public var bytesPerSecond: Int64?
    /// The estimated remaining time; `nil` if unknown.
    public var remaining: Duration?
    /// The number of times that the file changed on the server, which resets `completed` to 0.
    public var generation = 0
    /// The number of transfers in these figures: 1, or the number of members of a group.
    public var count: Int { Int(memberCount) }
    /// The number of ended members of a group.
    public var ended: Int { Int(endedCount) }
    package var memberCount: Int32 = 1
    package var endedCount: Int32 = 0

    /// Creates progress of 0 bytes with an unknown total.
    public init() {}

    /// Returns whether the progress differs from an earlier report.
    package func hasMoved(since earlier: Progress?) -> Bool {
        guard let earlier else { return true }
        return completed != earlier.completed || total != earlier.total || wire != earlier.wire
            || decodedCount != earlier.decodedCount
    }

    /// The completed fraction, 0...1; `nil` if the total is unknown.
    public var fraction: Double? {
        guard let total else { return nil }
        return total == 0 ? 1 : min(1, Double(completed) / Double(total))
    }
}
