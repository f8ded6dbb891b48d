// Wherry: numbers that several processes see.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc
import Synchronization

/// A small file of 64-bit counters, mapped into every process that opens it.
///
/// The file is made long enough, with its blocks, before it is mapped, and never made shorter: a
/// look at it can then not fail.
package final class SharedCounters: @unchecked Sendable {  // atomics in memory that never moves
    private let memory: UnsafeMutablePointer<Atomic<Int64>>
    package let count: Int

    /// Opens or makes the file, 0600, and maps so many counters of it; new ones are 0.
    package init(_ name: String, count: Int, in directory: Directory) throws(SystemError) {
        let file = try File.open(name, [.read, .write, .create], in: directory)
        let status = try file.status()
        let size = Int64(count * 8)
        guard status.kind == .regular, status.isOurs else {
            throw SystemError(EPERM, "use a file of another user", path: file.path)
        }
        try file.setPermissions(0o600)
        if status.size < size {
            // Holes would have to be filled when they are first touched, which a full disk
            // answers with a signal.
            let zeros = [UInt8](repeating: 0, count: Int(size - status.size))
            try file.write(zeros, at: status.size)
        }
        let mapped = mmap(
            nil, Int(size), PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0)
        guard let mapped, mapped != MAP_FAILED else { throw .last("map", path: file.path) }
        memory = mapped.bindMemory(to: Atomic<Int64>.self, capacity: count)
        self.count = count
    }

    deinit { munmap(memory, count * 8) }

    /// The counter's value. What other processes did before they changed it is visible.
    package subscript(index: Int) -> Int64 {
        precondition(index >= 0 && index < count, "a counter that is none")
        return memory[index].load(ordering: .acquiring)
    }

    /// Adds to the counter, and gives the value after that.
    @discardableResult
    package func add(_ number: Int64, to index: Int) -> Int64 {
        precondition(index >= 0 && index < count, "a counter that is none")
        return memory[index].wrappingAdd(number, ordering: .acquiringAndReleasing).newValue
    }

    /// Sets the counter.
    package func set(_ number: Int64, at index: Int) {
        precondition(index >= 0 && index < count, "a counter that is none")
        memory[index].store(number, ordering: .releasing)
    }
}
