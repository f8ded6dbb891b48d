# Wherry: items in sections, for list views
# SPDX-License-Identifier: Apache-2.0
"""`SectionedList`, which returns every change, so that any kind of view can stay in sync."""

from __future__ import annotations

from typing import Generic, Iterable, List, NamedTuple, Optional, TypeVar

Item = TypeVar("Item")


class ListChange(NamedTuple):
    """A change of a `SectionedList`. Its indices refer to the list after all preceding changes.

    ``kind`` is "insert_rows", "remove_rows", "reload_rows" (of ``section``), "insert_sections",
    "remove_sections", "reload_sections", or "reload_all". ``indices`` are the rows or sections.
    """

    kind: str
    section: int = -1
    indices: range = range(0)


class Section(Generic[Item]):
    """A header, items, and a footer. "" means no title."""

    __slots__ = ("header", "footer", "items")

    def __init__(self, items: Iterable[Item] = (), header: str = "", footer: str = "") -> None:
        self.header = header
        self.footer = footer
        self.items: List[Item] = list(items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Section):
            return NotImplemented
        return (self.header, self.footer, self.items) == (other.header, other.footer, other.items)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Section {self.header!r}: {len(self.items)} items>"


class SectionedList(Generic[Item]):
    """Items in sections. An out-of-range index returns None, 0, or no change.

    Methods that change the list return the changes in order, as `ListChange`.
    """

    def __init__(self, sections: Iterable[Section[Item]] = ()) -> None:
        self.sections: List[Section[Item]] = list(sections)

    # Reading

    def row_count(self, section: int) -> int:
        """Returns the number of rows in a section; 0 out of range."""
        found = self._section(section)
        return 0 if found is None else len(found.items)

    def __len__(self) -> int:
        return sum(len(section.items) for section in self.sections)

    def item(self, section: int, row: int) -> Optional[Item]:
        """Returns the item at a row; None out of range."""
        found = self._section(section)
        return found.items[row] if found is not None and 0 <= row < len(found.items) else None

    def header(self, section: int) -> Optional[str]:
        """Returns the title above a section; None if it is empty or out of range."""
        found = self._section(section)
        return None if found is None else found.header or None

    def footer(self, section: int) -> Optional[str]:
        """Returns the title below a section; None if it is empty or out of range."""
        found = self._section(section)
        return None if found is None else found.footer or None

    # Changing

    def clear(self) -> List[ListChange]:
        """Removes all sections, and adds one empty section."""
        return self.replace_all([Section()])

    def replace_all(self, sections: Iterable[Section[Item]]) -> List[ListChange]:
        """Replaces all sections."""
        self.sections = list(sections)
        return [ListChange("reload_all")]

    def append(self, item: Item) -> List[ListChange]:
        """Adds an item to the first section, which is created if necessary."""
        return self.extend([item])

    def extend(self, items: Iterable[Item], section: int = 0) -> List[ListChange]:
        """Adds items to a section.

        The default is the first section, which is created if necessary.
        """
        return self.insert(section, self.row_count(section), items)

    def insert(self, section: int, row: int, items: Iterable[Item]) -> List[ListChange]:
        """Inserts items before a row of a section, or at its end."""
        new = list(items)
        changes: List[ListChange] = []
        if section == 0 and row == 0 and not self.sections and new:
            changes = self.insert_section(0, Section())
        found = self._section(section)
        if not new or found is None or not 0 <= row <= len(found.items):
            return changes
        found.items[row:row] = new
        return [*changes, ListChange("insert_rows", section, range(row, row + len(new)))]

    def remove(self, section: int, row: int, count: int = 1) -> List[ListChange]:
        """Removes up to ``count`` existing rows."""
        found = self._section(section)
        if found is None or row < 0:
            return []
        rows = range(row, min(row + max(0, count), len(found.items)))
        if not rows:
            return []
        del found.items[rows.start : rows.stop]
        return [ListChange("remove_rows", section, rows)]

    def replace(self, section: int, row: int, item: Item) -> List[ListChange]:
        """Replaces an item."""
        found = self._section(section)
        if found is None or not 0 <= row < len(found.items):
            return []
        found.items[row] = item
        return [ListChange("reload_rows", section, range(row, row + 1))]

    def append_section(self, section: Section[Item]) -> List[ListChange]:
        """Adds a section at the end."""
        return self.insert_section(len(self.sections), section)

    def insert_section(self, index: int, section: Section[Item]) -> List[ListChange]:
        """Inserts a section before another one, or at the end."""
        if not 0 <= index <= len(self.sections):
            return []
        self.sections.insert(index, section)
        return [ListChange("insert_sections", -1, range(index, index + 1))]

    def remove_section(self, index: int) -> List[ListChange]:
        """Removes a section and its items."""
        if self._section(index) is None:
            return []
        del self.sections[index]
        return [ListChange("remove_sections", -1, range(index, index + 1))]

    def replace_section(self, index: int, section: Section[Item]) -> List[ListChange]:
        """Replaces a section."""
        if self._section(index) is None:
            return []
        self.sections[index] = section
        return [ListChange("reload_sections", -1, range(index, index + 1))]

    def _section(self, index: int) -> Optional[Section[Item]]:
        return self.sections[index] if 0 <= index < len(self.sections) else None
