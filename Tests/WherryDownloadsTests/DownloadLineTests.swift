// Wherry: the queue of waiting downloads, and groups of transfers
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryDownloads
@testable import WherryHTTP

@Suite("The download queue") struct DownloadLineTests {
    private func line(_ limit: Int, _ entries: KeyValuePairs<UInt64, Int>) -> DownloadLine {
        var line = DownloadLine(limit: limit)
        for (id, priority) in entries { line.enter(id, priority: priority) }
        return line
    }

    /// The downloads that start, each when the previous one has ended.
    private func turns(_ line: DownloadLine) -> [UInt64] {
        var line = line
        var turns: [UInt64] = []
        while let next = line.next() {
            turns.append(next)
            line.leave(next)
        }
        return turns
    }

    @Test("D25 the highest priority starts first, and equal ones in order")
    func order() {
        #expect(turns(line(1, [1: 0, 2: 5, 3: 0, 4: -1, 5: 5])) == [2, 5, 1, 3, 4])
    }

    @Test("D25 no more are active than the limit allows; 0 means no limit")
    func limit() {
        var some = line(2, [1: 0, 2: 0, 3: 0])
        #expect([some.next(), some.next(), some.next()] == [1, 2, nil])
        #expect(some.isFull && some.activeCount == 2)
        some.limit = 3
        #expect(some.next() == 3)
        // Running downloads continue if the limit falls below them.
        some.limit = 1
        some.leave(1)
        some.leave(2)
        some.enter(4, priority: 0)
        #expect(some.next() == nil)
        some.leave(3)
        #expect(some.next() == 4)

        var all = line(0, [1: 0, 2: 0])
        #expect([all.next(), all.next(), all.next()] == [1, 2, nil] && !all.isFull)
    }

    @Test("D25 a paused download keeps its position and frees its slot")
    func pause() {
        var line = line(1, [1: 0, 2: 0, 3: 0])
        _ = line.next()
        #expect(line.place(of: 1) == nil)
        line.pause(1)
        line.pause(2)
        #expect(line.standing(of: 1) == .paused)
        #expect((1...3).map { line.place(of: $0) } == [0, 1, 2])
        #expect(line.next() == 3)
        line.resume(2)
        line.resume(1)
        #expect(line.next() == nil)
        line.leave(3)
        #expect(turns(line) == [1, 2])
    }

    @Test("D25 no download starts while the queue is held")
    func held() {
        var line = line(0, [1: 0])
        line.holds += 1
        #expect(line.isFull && line.next() == nil)
        line.holds -= 1
        #expect(line.next() == 1)
    }

    @Test("D25 a new priority sorts after its equals, and the same one moves nothing")
    func priority() {
        var line = line(1, [1: 0, 2: 0, 3: 0, 4: 1])
        line.setPriority(of: 3, to: 1)
        line.setPriority(of: 1, to: 0)
        line.setPriority(of: 99, to: 0)
        #expect(line.priority(of: 3) == 1)
        #expect(turns(line) == [4, 3, 1, 2])
    }

    @Test(
        "D25 a move goes to any position, with a priority that fits there",
        arguments: [
            (3, 0, [3, 1, 2, 4, 5], 5), (5, 0, [5, 1, 2, 3, 4], 5), (1, 4, [2, 3, 4, 5, 1], -5),
            (1, .max, [2, 3, 4, 5, 1], -5), (2, 3, [1, 3, 4, 2, 5], 0), (4, 1, [1, 4, 2, 3, 5], 5),
            (2, 1, [1, 2, 3, 4, 5], 5), (3, -7, [3, 1, 2, 4, 5], 5),
        ] as [(UInt64, Int, [UInt64], Int)])
    func move(_ id: UInt64, _ place: Int, _ expected: [UInt64], _ priority: Int) {
        var line = line(1, [1: 5, 2: 5, 3: 0, 4: 0, 5: -5])
        line.move(id, to: place)
        #expect(line.priority(of: id) == priority)
        #expect(line.place(of: id) == min(max(place, 0), 4))
        #expect(turns(line) == expected)
    }

    @Test("D25 active downloads are not moved, and block no others")
    func moveBesideActive() {
        var line = line(2, [1: 5, 2: 3, 3: 3, 4: 0])
        _ = (line.next(), line.next())
        line.move(1, to: 9)
        line.move(4, to: 0)
        #expect(line.priority(of: 4) == 3)
        #expect(line.place(of: 4) == 0)
        line.pause(2)
        #expect((line.place(of: 2), line.place(of: 4), line.place(of: 3)) == (0, 1, 2))
    }

    // Entries were searched from the start of the queue: to resume, move, or end 10,000 downloads
    // out of order compared 50,000,000 of them.
    @Test("D25 the work per download grows with the logarithm of their number")
    func work() {
        func visits(_ count: UInt64) -> Int {
            var line = DownloadLine(limit: 4)
            for id in 1...count { line.enter(id, priority: Int(id % 3)) }
            for id in 1...count { line.pause(id) }
            for id in (1...count).reversed() { line.resume(id) }
            for id in stride(from: count, to: 0, by: -2) { line.setPriority(of: id, to: 9) }
            for id in stride(from: count, to: 0, by: -3) { line.move(id, to: Int(id / 2)) }
            for id in stride(from: count, to: 0, by: -5) { _ = line.place(of: id) }
            for id in (1...count).reversed() {
                _ = line.next()
                line.leave(id)
            }
            #expect(line.next() == nil && line.activeCount == 0)
            return line.visits
        }
        let (few, many) = (visits(1000), visits(16_000))
        // 16 times as many downloads and 1.4 times the logarithm; a search would cost 256 times.
        #expect(many < few * 16 * 3)
        #expect(many < 16_000 * 2000)
    }

    private struct Dice: RandomNumberGenerator {
        var numbers: SplitMix
        mutating func next() -> UInt64 { numbers.next() }
    }

    /// The rules of the queue, implemented by a search.
    private struct Model {
        var entries: [(id: UInt64, priority: Int, standing: DownloadLine.Standing)] = []

        mutating func insert(_ id: UInt64, _ priority: Int, _ standing: DownloadLine.Standing) {
            let index = entries.firstIndex { $0.priority < priority } ?? entries.count
            entries.insert((id, priority, standing), at: index)
        }
        mutating func remove(_ id: UInt64) -> (priority: Int, standing: DownloadLine.Standing)? {
            guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
            let entry = entries.remove(at: index)
            return (entry.priority, entry.standing)
        }
        func place(_ id: UInt64) -> Int? {
            let idle = entries.filter { $0.standing != .active }
            return idle.firstIndex { $0.id == id }
        }
    }

    @Test(
        "D25 any order of commands gives the same queue as a search",
        arguments: 1...8 as ClosedRange<UInt64>)
    func model(_ seed: UInt64) {
        var random = Dice(numbers: SplitMix(state: seed))
        var (line, model) = (DownloadLine(limit: 0), Model())
        for step in 0..<600 as Range<UInt64> {
            let id = UInt64.random(in: 1...40, using: &random)
            let priority = Int.random(in: -2...2, using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0, 1:
                line.enter(step + 1000, priority: priority)
                model.insert(step + 1000, priority, .waiting)
            case 2:
                let taken = line.next()
                let index = model.entries.firstIndex { $0.standing == .waiting }
                #expect(taken == index.map { model.entries[$0].id })
                if let index { model.entries[index].standing = .active }
            case let verb:
                guard !model.entries.isEmpty else { continue }
                let entry = model.entries[Int(id) % model.entries.count]
                switch verb {
                case 3:
                    line.pause(entry.id)
                    model.entries[Int(id) % model.entries.count].standing = .paused
                case 4:
                    line.resume(entry.id)
                    if entry.standing == .paused {
                        model.entries[Int(id) % model.entries.count].standing = .waiting
                    }
                case 5:
                    line.setPriority(of: entry.id, to: priority)
                    if priority != entry.priority, let old = model.remove(entry.id) {
                        model.insert(entry.id, priority, old.standing)
                    }
                default:
                    line.leave(entry.id)
                    _ = model.remove(entry.id)
                }
            }
            #expect(line.activeCount == model.entries.count { $0.standing == .active })
            for entry in model.entries {
                #expect(line.place(of: entry.id) == model.place(entry.id))
                #expect(line.priority(of: entry.id) == entry.priority)
                #expect(line.standing(of: entry.id) == entry.standing)
            }
        }
    }
}
