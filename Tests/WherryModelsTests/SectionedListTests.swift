// Wherry: tests of items in sections
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryCore
import WherryModels

@Suite struct SectionedListTests {
    private typealias List = SectionedList<Int>

    /// The state of a view that follows only the changes, and reads only the rows they name.
    private struct View {
        var rows: [[Int]] = []

        mutating func apply(_ changes: [ListChange], _ list: List) {
            for change in changes {
                switch change {
                case .insertRows(let section, let range):
                    rows[section].insert(
                        contentsOf: range.compactMap { list.item(section: section, row: $0) },
                        at: range.lowerBound)
                case .removeRows(let section, let range): rows[section].removeSubrange(range)
                case .reloadRows(let section, let range):
                    for row in range {
                        rows[section][row] = list.item(section: section, row: row) ?? -1
                    }
                case .insertSections(let range):
                    // Their rows have their own changes, or existed from the start.
                    for section in range {
                        let isFilledNext = changes.contains {
                            if case .insertRows(section, _) = $0 { true } else { false }
                        }
                        rows.insert(isFilledNext ? [] : list.sections[section].items, at: section)
                    }
                case .removeSections(let range): rows.removeSubrange(range)
                case .reloadSections(let range):
                    for section in range { rows[section] = list.sections[section].items }
                case .reloadAll: rows = list.sections.map(\.items)
                }
            }
        }
    }

    @Test("O15 an index out of range is an error, and empty titles are none")
    func bounds() {
        let list = List([.init(header: "A", items: [1, 2]), .init(footer: "end")])
        #expect(list.item(section: 0, row: 1) == 2)
        for (section, row) in [(0, 2), (0, -1), (1, 0), (2, 0), (-1, 0), (Int.max, Int.min)] {
            #expect(list.item(section: section, row: row) == nil)
        }
        #expect(list.rowCount(in: 0) == 2 && list.rowCount(in: 1) == 0)
        #expect(list.rowCount(in: 2) == 0 && list.rowCount(in: -1) == 0)
        #expect(list.header(of: 0) == "A" && list.footer(of: 0) == nil)
        #expect(list.header(of: 1) == nil && list.footer(of: 1) == "end")
        #expect(list.header(of: 2) == nil && list.footer(of: -1) == nil)
        #expect(list.count == 2 && list.sectionCount == 2)
    }

    @Test("O15 appending to an empty list creates a section; clearing leaves one")
    func sections() {
        var list = List()
        #expect(list.append(7) == [.insertSections(0..<1), .insertRows(section: 0, rows: 0..<1)])
        #expect(list.item(section: 0, row: 0) == 7)
        #expect(list.append(8) == [.insertRows(section: 0, rows: 1..<2)])
        #expect(list.removeAll() == [.reloadAll])
        #expect(list.sectionCount == 1 && list.count == 0)
        #expect(list.append(contentsOf: []) == [])
    }

    @Test("O15 a missing item is not changed")
    func outOfRange() {
        var list = List([.init(items: [1])])
        let before = list
        #expect(list.append(contentsOf: [1], section: 1) == [])
        #expect(list.append(contentsOf: [1], section: -1) == [])
        #expect(list.insert(contentsOf: [1], section: 0, row: 2) == [])
        #expect(list.insert(contentsOf: [1], section: 0, row: -1) == [])
        #expect(list.insert(.init(), at: 2) == [] && list.insert(.init(), at: -1) == [])
        #expect(list.remove(section: 0, row: 1) == [] && list.remove(section: 3, row: 0) == [])
        #expect(list.remove(section: 0, rows: 5..<9) == [])
        #expect(list.remove(section: 0, row: .max) == [])
        #expect(list.replace(section: 0, row: 1, with: 2) == [])
        #expect(list.removeSection(1) == [] && list.replaceSection(-1, with: .init()) == [])
        #expect(list == before)
        #expect(list.remove(section: 0, rows: 0..<9) == [.removeRows(section: 0, rows: 0..<1)])
    }

    @Test("O15 a follower of the changes has the same list, after any operations")
    func following() {
        var generator = Numbers(state: 42)
        var list = List()
        var view = View()
        for step in 0..<3000 {
            let section = Int(generator.next() % 4) - 1
            let row = Int(generator.next() % 6) - 1
            let changes: [ListChange] =
                switch generator.next() % 10 {
                case 0: list.append(step)
                case 1: list.append(contentsOf: [step, -step], section: section)
                case 2: list.insert(contentsOf: [step], section: section, row: row)
                case 3: list.remove(section: section, row: row)
                case 4: list.remove(section: section, rows: max(0, row)..<(max(0, row) + 2))
                case 5: list.replace(section: section, row: row, with: step)
                case 6: list.insert(.init(items: [step]), at: section)
                case 7: list.removeSection(section)
                case 8: list.replaceSection(section, with: .init(items: [step, step]))
                default: step % 97 == 0 ? list.removeAll() : list.append(.init())
                }
            view.apply(changes, list)
            #expect(view.rows == list.sections.map(\.items), "step \(step)")
        }
    }

    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
    }
}
