// Wherry: response headers as C text.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// A copy of a header block with NUL terminators, and the offsets of names and values. Bytes are
/// unchanged.
final class FieldTable: @unchecked Sendable {  // never changes after init
    struct Field {
        var name: UnsafePointer<CChar>
        var value: UnsafePointer<CChar>
    }

    private let memory: UnsafeMutablePointer<CChar>?
    private let fields: [Field]

    /// - Parameter block: Lines of "name: value\n".
    init(_ block: Bytes) {
        let count = block.count
        guard count > 0, let memory = malloc(count + 1)?.assumingMemoryBound(to: CChar.self) else {
            self.memory = nil
            fields = []
            return
        }
        block.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress { memcpy(memory, base, count) }
        }
        memory[count] = 0
        var fields: [Field] = []
        var start = 0
        while start < count {
            var end = start
            while end < count && memory[end] != 0x0A { end += 1 }
            // From the second byte on, because names in a stub's echo may begin with a colon.
            var colon = start + 1
            while colon < end && memory[colon] != 0x3A { colon += 1 }
            if colon < end {
                var first = colon + 1
                while first < end && Self.isBlank(memory[first]) { first += 1 }
                var last = end
                while last > first && Self.isBlank(memory[last - 1]) { last -= 1 }
                memory[colon] = 0
                memory[last] = 0
                fields.append(
                    Field(name: UnsafePointer(memory + start), value: UnsafePointer(memory + first))
                )
            }
            start = end + 1
        }
        self.memory = memory
        self.fields = fields
    }

    deinit { free(memory) }

    private static func isBlank(_ byte: CChar) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D
    }

    func field(at index: Int) -> Field? {
        fields.indices.contains(index) ? fields[index] : nil
    }

    /// Returns the first value of a case-insensitive name.
    func value(of name: UnsafePointer<CChar>) -> UnsafePointer<CChar>? {
        fields.first { strcasecmp($0.name, name) == 0 }?.value
    }
}
