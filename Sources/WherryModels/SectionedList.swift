// Wherry: a list of items in sections.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

/// A list of items in sections that reports every change, so that any kind of view can stay in
/// sync.
///
///     var list = SectionedList<Book>()
///     for change in list.append(contentsOf: books) { table.apply(change) }
///
/// An index out of range returns `nil`, 0 or no change; it never traps.
public struct SectionedList<Item> {
    /// A section with a header, items and a footer.
    public struct Section {
        /// The header; "" for none.
        public var header: String
        /// The footer; "" for none.
        public var footer: String
        /// The items, one per row.
        public var items: [Item]

        /// Creates a section; empty by default.
        public init(header: String = "", footer: String = "", items: [Item] = []) {
            self.header = header
            self.footer = footer
            self.items = items
        }
    }

    /// The sections in order.
    public private(set) var sections: [Section] = []

    /// Creates a list without sections. Appending the first item creates one.
    public init() {}

    /// Creates a list of sections.
    public init(_ sections: [Section]) { self.sections = sections }

    // MARK: Reading

    /// The number of sections.
    public var sectionCount: Int { sections.count }

    /// Returns the number of rows in a section; 0 if out of range.
    public func rowCount(in section: Int) -> Int {
        sections.indices.contains(section) ? sections[section].items.count : 0
    }

    /// The total number of items.
    public var count: Int { sections.reduce(0) { $0 + $1.items.count } }

    /// Returns an item; `nil` if out of range.
    public func item(section: Int, row: Int) -> Item? {
        guard sections.indices.contains(section), sections[section].items.indices.contains(row)
        else { return nil }
        return sections[section].items[row]
    }

    /// Returns the header of a section; `nil` if empty or out of range.
    public func header(of section: Int) -> String? {
        guard sections.indices.contains(section) else { return nil }
        return sections[section].header.isEmpty ? nil : sections[section].header
    }

    /// Returns the footer of a section; `nil` if empty or out of range.
    public func footer(of section: Int) -> String? {
        guard sections.indices.contains(section) else { return nil }
        return sections[section].footer.isEmpty ? nil : sections[section].footer
    }

    // MARK: Changing

    /// Removes everything except one empty section.
    @discardableResult
    public mutating func removeAll() -> [ListChange] { replaceAll(with: [Section()]) }

    /// Replaces all sections.
    @discardableResult
    public mutating func replaceAll(with sections: [Section]) -> [ListChange] {
        self.sections = sections
        return [.reloadAll]
    }

    /// Appends an item to the first section, which is created if there is none.
    @discardableResult
    public mutating func append(_ item: Item) -> [ListChange] { append(contentsOf: [item]) }

    /// Appends items to a section: by default the first, which is created if there is none.
    @discardableResult
    public mutating func append(contentsOf items: [Item], section: Int = 0) -> [ListChange] {
        insert(contentsOf: items, section: section, row: rowCount(in: section))
    }

    /// Inserts items into a section before a row, or at its end.
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

    /// Removes the rows of a range that exist.
    @discardableResult
    public mutating func remove(section: Int, rows: Range<Int>) -> [ListChange] {
        guard sections.indices.contains(section) else { return [] }
        let rows = rows.clamped(to: sections[section].items.indices)
        guard !rows.isEmpty else { return [] }
        sections[section].items.removeSubrange(rows)
        return [.removeRows(section: section, rows: rows)]
    }

    /// Removes a row.
    @discardableResult
    public mutating func remove(section: Int, row: Int) -> [ListChange] {
        guard item(section: section, row: row) != nil else { return [] }
        return remove(section: section, rows: row..<(row + 1))
    }

    /// Replaces an item.
    @discardableResult
    public mutating func replace(section: Int, row: Int, with item: Item) -> [ListChange] {
        guard self.item(section: section, row: row) != nil else { return [] }
        sections[section].items[row] = item
        return [.reloadRows(section: section, rows: row..<(row + 1))]
    }

    /// Appends a section.
    @discardableResult
    public mutating func append(_ section: Section) -> [ListChange] {
        insert(section, at: sections.count)
    }

    /// Inserts a section before another one, or at the end.
    @discardableResult
    public mutating func insert(_ section: Section, at index: Int) -> [ListChange] {
        guard index >= 0, index <= sections.count else { return [] }
        sections.insert(section, at: index)
        return [.insertSections(index..<(index + 1))]
    }

    /// Removes a section and its items.
    @discardableResult
    public mutating func removeSection(_ index: Int) -> [ListChange] {
        guard sections.indices.contains(index) else { return [] }
        sections.remove(at: index)
        return [.removeSections(index..<(index + 1))]
    }

    /// Replaces a section.
    @discardableResult
    public mutating func replaceSection(_ index: Int, with section: Section) -> [ListChange] {
        guard sections.indices.contains(index) else { return [] }
        sections[index] = section
        return [.reloadSections(index..<(index + 1))]
    }
}

/// A change of a ``SectionedList``. Indexes refer to the list after the preceding changes.
public enum ListChange: Sendable, Hashable {
    /// Rows were inserted into a section.
    case insertRows(section: Int, rows: Range<Int>)
    /// Rows were removed from a section.
    case removeRows(section: Int, rows: Range<Int>)
    /// Rows of a section were replaced.
    case reloadRows(section: Int, rows: Range<Int>)
    /// Sections were inserted.
    case insertSections(Range<Int>)
    /// Sections were removed.
    case removeSections(Range<Int>)
    /// Sections were replaced.
    case reloadSections(Range<Int>)
    /// The whole list was replaced.
    case reloadAll
}

extension SectionedList.Section: Sendable where Item: Sendable {}
extension SectionedList.Section: Equatable where Item: Equatable {}
extension SectionedList: Sendable where Item: Sendable {}
extension SectionedList: Equatable where Item: Equatable {}
