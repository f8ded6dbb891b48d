// Wherry: items in sections, for whatever shows them.
// SPDX-License-Identifier: Apache-2.0

/// Items in sections, with a word for every change, from which a view of any kind keeps up (O15).
///
///     var list = SectionedList<Book>()
///     for change in list.append(contentsOf: books) { table.apply(change) }
///
/// A place out of range is answered with `nil`, 0 or no change, never a trap.
public struct SectionedList<Item> {
    /// A header, items and a footer.
    public struct Section {
        /// "" for none.
        public var header: String
        /// "" for none.
        public var footer: String
        /// Its rows.
        public var items: [Item]

        /// A section; without anything by default.
        public init(header: String = "", footer: String = "", items: [Item] = []) {
            self.header = header
            self.footer = footer
            self.items = items
        }
    }

    /// The sections in order.
    public private(set) var sections: [Section] = []

    /// Without sections: the first item that is appended makes one.
    public init() {}

    /// With sections.
    public init(_ sections: [Section]) { self.sections = sections }

    // MARK: Looking

    /// How many sections there are.
    public var sectionCount: Int { sections.count }

    /// How many rows a section has; 0 out of range.
    public func rowCount(in section: Int) -> Int {
        sections.indices.contains(section) ? sections[section].items.count : 0
    }

    /// How many items there are in all.
    public var count: Int { sections.reduce(0) { $0 + $1.items.count } }

    /// The item at a place; `nil` out of range.
    public func item(section: Int, row: Int) -> Item? {
        guard sections.indices.contains(section), sections[section].items.indices.contains(row)
        else { return nil }
        return sections[section].items[row]
    }

    /// The title above a section; `nil` if it is empty or out of range.
    public func header(of section: Int) -> String? {
        guard sections.indices.contains(section) else { return nil }
        return sections[section].header.isEmpty ? nil : sections[section].header
    }

    /// The title below a section; `nil` if it is empty or out of range.
    public func footer(of section: Int) -> String? {
        guard sections.indices.contains(section) else { return nil }
        return sections[section].footer.isEmpty ? nil : sections[section].footer
    }

    // MARK: Changing

    /// Takes everything away and leaves one empty section.
    @discardableResult
    public mutating func removeAll() -> [ListChange] { replaceAll(with: [Section()]) }

    /// Puts other sections in the place of all.
    @discardableResult
    public mutating func replaceAll(with sections: [Section]) -> [ListChange] {
        self.sections = sections
        return [.reloadAll]
    }

    /// Adds an item to the first section, which is made if there is none.
    @discardableResult
    public mutating func append(_ item: Item) -> [ListChange] { append(contentsOf: [item]) }

    /// Adds items to a section: by default the first, which is made if there is none.
    @discardableResult
    public mutating func append(contentsOf items: [Item], section: Int = 0) -> [ListChange] {
        insert(contentsOf: items, section: section, row: rowCount(in: section))
    }

    /// Puts items into a section before a row, or at its end.
    @discardableResult
    public mutating func insert(
        contentsOf items: [Item], section: Int, row: Int
    ) -> [ListChange] {
        var changes: [ListChange] = []
        if section == 0 && sections.isEmpty && row == 0 && !items.isEmpty {
            changes = insert(Section(), at: 0)
        }
        guard !items.isEmpty, sections.indices.contains(section), row >= 0,
            row <= sections[section].items.count
        else { return changes }
        sections[section].items.insert(contentsOf: items, at: row)
        return changes + [.insertRows(section: section, rows: row..<(row + items.count))]
    }

    /// Takes rows away, as far as they are there.
    @discardableResult
    public mutating func remove(section: Int, rows: Range<Int>) -> [ListChange] {
        guard sections.indices.contains(section) else { return [] }
        let rows = rows.clamped(to: sections[section].items.indices)
        guard !rows.isEmpty else { return [] }
        sections[section].items.removeSubrange(rows)
        return [.removeRows(section: section, rows: rows)]
    }

    /// Takes one row away.
    @discardableResult
    public mutating func remove(section: Int, row: Int) -> [ListChange] {
        guard item(section: section, row: row) != nil else { return [] }
        return remove(section: section, rows: row..<(row + 1))
    }

    /// Puts another item in the place of one.
    @discardableResult
    public mutating func replace(section: Int, row: Int, with item: Item) -> [ListChange] {
        guard self.item(section: section, row: row) != nil else { return [] }
        sections[section].items[row] = item
        return [.reloadRows(section: section, rows: row..<(row + 1))]
    }

    /// Adds a section at the end.
    @discardableResult
    public mutating func append(_ section: Section) -> [ListChange] {
        insert(section, at: sections.count)
    }

    /// Puts a section before another one, or at the end.
    @discardableResult
    public mutating func insert(_ section: Section, at index: Int) -> [ListChange] {
        guard index >= 0, index <= sections.count else { return [] }
        sections.insert(section, at: index)
        return [.insertSections(index..<(index + 1))]
    }

    /// Takes a section away with its items.
    @discardableResult
    public mutating func removeSection(_ index: Int) -> [ListChange] {
        guard sections.indices.contains(index) else { return [] }
        sections.remove(at: index)
        return [.removeSections(index..<(index + 1))]
    }

    /// Puts another section in the place of one.
    @discardableResult
    public mutating func replaceSection(_ index: Int, with section: Section) -> [ListChange] {
        guard sections.indices.contains(index) else { return [] }
        sections[index] = section
        return [.reloadSections(index..<(index + 1))]
    }
}

/// One change of a ``SectionedList``; the numbers are those after the changes before it.
public enum ListChange: Sendable, Hashable {
    /// Rows are new in a section.
    case insertRows(section: Int, rows: Range<Int>)
    /// Rows are gone from a section.
    case removeRows(section: Int, rows: Range<Int>)
    /// Rows of a section have other items.
    case reloadRows(section: Int, rows: Range<Int>)
    /// Sections are new.
    case insertSections(Range<Int>)
    /// Sections are gone.
    case removeSections(Range<Int>)
    /// Sections have other items or titles.
    case reloadSections(Range<Int>)
    /// Everything is another.
    case reloadAll
}

extension SectionedList.Section: Sendable where Item: Sendable {}
extension SectionedList.Section: Equatable where Item: Equatable {}
extension SectionedList: Sendable where Item: Sendable {}
extension SectionedList: Equatable where Item: Equatable {}
