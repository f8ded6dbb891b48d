// Wherry: counters shared between processes.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A small file of 64-bit counters that several processes read and change.
///
/// The file is accessed by system calls and never mapped: another process can truncate it, and
/// touching a page of a mapping beyond the end of the file ends the process with SIGBUS.
///
/// One counter is the *epoch* of the file: a random number, never 0, chosen when the file is
/// created. A change that finds the file too short, or the epoch 0, repairs the file with a new
/// epoch. Therefore values that are compared together with the epoch never repeat.
package final class SharedCounters: Sendable {
    private let file: File
    private let epoch: Int
    private let afterDamage: [Int: Int64]
    /// Serializes the changes of this process: the file lock excludes other openings only.
    private let changes = Lock(())
    package let count: Int

    /// Opens or creates the file with mode 0600. New counters are 0.
    ///
    /// - Parameters:
    ///   - epoch: The index of the epoch.
    ///   - afterDamage: Values of counters in a repaired file; other counters keep their value or
    ///     are 0.
    package init(
        _ name: String, count: Int, epoch: Int, afterDamage: [Int: Int64] = [:],
        in directory: Directory
    ) throws(SystemError) {
        precondition(epoch >= 0 && epoch < count, "the epoch is out of range")
        file = try File.open(name, [.read, .write, .create], in: directory)
        self.count = count
        self.epoch = epoch
        self.afterDamage = afterDamage
        let status = try file.status()
        guard status.kind == .regular, status.isOurs else {
            throw SystemError(EPERM, "use a file owned by another user,", path: file.path)
        }
        try file.setPermissions(0o600)
        var failure: SystemError?
        change {
            do throws(SystemError) {
                let size = try file.status().size
                if size == 0 { try fill(from: 0) } else if isDamaged { try repair() }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    /// The value of a counter; 0 while the file is damaged. Everything that another process did
    /// before it changed the counter is visible.
    package subscript(index: Int) -> Int64 { value(index) ?? 0 }

    /// Adds to a counter and returns the new value. Repairs a damaged file first. On a disk error,
    /// the counter may stay unchanged.
    @discardableResult
    package func add(_ number: Int64, to index: Int) -> Int64 {
        change {
            if isDamaged { try? repair() }
            let sum = (value(index) ?? 0) &+ number
            try? store(sum, at: index)
            return sum
        }
    }

    private func value(_ index: Int) -> Int64? {
        precondition(index >= 0 && index < count, "no such counter")
        var value: Int64 = 0
        let read = withUnsafeMutableBytes(of: &value) { bytes in
            try? file.read(into: bytes, at: Int64(index * 8))
        }
        return read == 8 ? value : nil
    }

    private func store(_ value: Int64, at index: Int) throws(SystemError) {
        let bytes = withUnsafeBytes(of: value) { Array($0) }
        try file.write(bytes, at: Int64(index * 8))
    }

    /// Runs `body` while no other thread or process changes a counter.
    ///
    /// A process stopped during a change keeps the file lock. After 5 ms `body` runs without the
    /// lock; at worst one of the two changes is lost.
    private func change<Result>(_ body: () -> Result) -> Result {
        changes.withLock { _ in
            var isLocked = false
            for _ in 0..<100 {
                // `nil`: the file system does not support locks.
                guard let answer = try? file.lock() else { break }
                isLocked = answer
                if isLocked { break }
                Poll.rest(nanoseconds: 50_000)
            }
            defer { if isLocked { try? file.unlock() } }
            return body()
        }
    }

    // MARK: Damage

    private var isDamaged: Bool {
        // The last counter shows whether the file is too short.
        value(count - 1) == nil || (value(epoch) ?? 0) == 0
    }

    private func repair() throws(SystemError) {
        try fill(from: min(try file.status().size / 8, Int64(count)))
        for (index, value) in afterDamage { try store(value, at: index) }
    }

    /// Appends zeros up to the full size, and chooses an epoch. Writing zeros instead of leaving a
    /// hole reports a full disk now, not on the first change.
    private func fill(from first: Int64) throws(SystemError) {
        let missing = count - Int(first)
        if missing > 0 {
            try file.write([UInt8](repeating: 0, count: missing * 8), at: first * 8)
        }
        try store(Int64.random(in: 1...(.max >> 1)), at: epoch)
    }
}
