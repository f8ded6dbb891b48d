// Wherry: tests of counters shared by several processes
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherrySystem

@Suite struct SharedCountersTests {
    private let folder: URL
    private let directory: Directory
    private var path: String { folder.appendingPathComponent("counters").path }

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("wherry-counters-\(UUID().uuidString)")
        directory = try Directory.openPrivate(folder.path)
    }

    private func make() throws -> SharedCounters {
        try SharedCounters(
            "counters", count: 64, epoch: 1, afterDamage: [0: 1 << 60], in: directory)
    }

    @Test func `every opening sees the additions of others`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let one = try make()
        let other = try make()
        #expect(one[5] == 0 && one[1] != 0 && other[1] == one[1])
        #expect(one.add(3, to: 5) == 3)
        #expect(other.add(-1, to: 5) == 2)
        #expect(one[5] == 2 && one[0] == 0)
    }

    @Test func `no addition of many threads and openings is lost`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let openings = try (0..<4).map { _ in try make() }
        DispatchQueue.concurrentPerform(iterations: 8) { number in
            for _ in 0..<500 { openings[number % 4].add(1, to: 9) }
        }
        #expect(openings[0][9] == 4000)
    }

    /// The file was mapped: reading a lost page of a truncated file ended the process.
    @Test(arguments: [0, 8, 100, 511])
    func `a truncated file is read as zeros and repaired by a change`(
        length: Int
    ) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let counters = try make()
        counters.add(7, to: 40)
        counters.add(7, to: 63)
        let epoch = counters[1]
        #expect(truncate(path, length) == 0)
        #expect(counters[63] == 0)
        #expect(counters.add(1, to: 63) == 1)
        #expect(counters[1] != epoch && counters[1] != 0)
        #expect(counters[0] == 1 << 60)
        #expect(counters[63] == 1)
        #expect(counters[40] == (length < 328 ? 0 : 7))
    }

    @Test func `a file filled with zeros gets another epoch`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let counters = try make()
        let epoch = counters[1]
        #expect(truncate(path, 0) == 0 && truncate(path, 512) == 0)
        let other = try make()
        #expect(other[1] != 0 && other[1] != epoch && counters[1] == other[1])
    }
}
