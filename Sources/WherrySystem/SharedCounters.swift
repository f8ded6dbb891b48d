// Wherry: numbers that several processes see.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A small file of 64-bit counters that several processes read and change.
///
/// The file is read and written by system calls and never mapped: whoever may write the file can
/// truncate it, and touching a page that a truncated file has lost ends the process with SIGBUS.
///
/// One counter is the file's *epoch*: a random number that is never 0, drawn when the file is made.
/// A change that finds the file short, or the epoch 0, repairs the file with a new epoch. Values
/// that are compared together with the epoch therefore never repeat.
package final class SharedCounters: Sendable {
    private let file: File
    private let epoch: Int
    private let afterDamage: [Int: Int64]
    /// Orders the changes of this process: the lock of the file excludes other openings only.
    private let changes = Lock(())
    package let count: Int

    /// Opens or makes the file, 0600, with so many counters; new ones are 0.
    ///
    /// - Parameters:
    ///   - epoch: the index of the epoch.
    ///   - afterDamage: values of counters in a repaired file; the others are as they were, or 0.
    package init(
        _ name: String, count: Int, epoch: Int, afterDamage: [Int: Int64] = [:],
        in directory: Directory
    ) throws(SystemError) {
        precondition(epoch >= 0 && epoch < count, "the epoch is no counter")
        file = try File.open(name, [.read, .write, .create], in: directory)
        self.count = count
        self.epoch = epoch
        self.afterDamage = afterDamage
        let status = try file.status()
        guard status.kind == .regular, status.isOurs else {
            throw SystemError(EPERM, "use a file of another user", path: file.path)
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

    /// The counter's value; 0 while the file is damaged. What other processes did before they
    /// changed the counter is visible.
    package subscript(index: Int) -> Int64 { value(index) ?? 0 }

    /// Adds to the counter, and returns its new value. Repairs a damaged file first. On a disk error
    /// the counter may stay as it is.
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
    /// A process that was stopped inside of a change keeps the file's lock: after 5 ms the change is
    /// made all the same, and at worst one of the two is lost.
    private func change<Result>(_ body: () -> Result) -> Result {
        changes.withLock { _ in
            var isLocked = false
            for _ in 0..<100 {
                // `nil`: the file system has no locks.
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
        // The last counter tells whether the file is short.
        value(count - 1) == nil || (value(epoch) ?? 0) == 0
    }

    private func repair() throws(SystemError) {
        try fill(from: min(try file.status().size / 8, Int64(count)))
        for (index, value) in afterDamage { try store(value, at: index) }
    }

    /// Appends zeros up to the full size, and draws an epoch. Zeros, not a hole: a full disk is
    /// noticed now and not with the first change.
    private func fill(from first: Int64) throws(SystemError) {
        let missing = count - Int(first)
        if missing > 0 {
            try file.write([UInt8](repeating: 0, count: missing * 8), at: first * 8)
        }
        try store(Int64.random(in: 1...(.max >> 1)), at: epoch)
    }
}
