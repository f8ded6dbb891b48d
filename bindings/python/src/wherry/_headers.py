# Wherry: header fields without regard to case
# SPDX-License-Identifier: Apache-2.0
"""The fields of an answer, and the live fields of a client."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Iterator, List, Optional, Tuple


def _line(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


class Headers(Mapping):  # type: ignore[type-arg]
    """Fields in the order they came; a name may occur several times.

    ``headers[name]`` joins repeated fields with ", "; `get_list` keeps them apart.
    """

    __slots__ = ("_items", "_index")

    def __init__(self, items: List[Tuple[str, str]]) -> None:
        self._items = items
        self._index: Dict[str, List[str]] = {}
        for name, value in items:
            self._index.setdefault(name.lower(), []).append(value)

    @classmethod
    def parse(cls, head: bytes) -> Headers:
        """From "name: value\\n" lines, each UTF-8, or ISO-8859-1 where it is not UTF-8."""
        try:
            lines = head.decode("utf-8").split("\n")
        except UnicodeDecodeError:
            lines = [_line(line) for line in head.split(b"\n")]
        items = []
        for line in lines:
            name, colon, value = line.partition(":")
            if colon:
                items.append((name, value.strip(" \t\r")))
        return cls(items)

    def __getitem__(self, name: str) -> str:
        return ", ".join(self._index[name.lower()])

    def __iter__(self) -> Iterator[str]:
        first: Dict[str, str] = {}
        for name, _ in self._items:
            first.setdefault(name.lower(), name)
        return iter(first.values())

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._index

    def get_list(self, name: str) -> List[str]:
        """All values of that name, in order."""
        return list(self._index.get(name.lower(), ()))

    def multi_items(self) -> List[Tuple[str, str]]:
        """Every field as it came, repeats included."""
        return list(self._items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {k.lower(): self[k] for k in self} == {str(k).lower(): other[k] for k in other}

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Headers({self._items!r})"

    def __reduce__(self) -> Tuple[type, Tuple[List[Tuple[str, str]]]]:
        return Headers, (self._items,)


class ClientHeaders(MutableMapping):  # type: ignore[type-arg]
    """The fields a client sends with every request; a change counts for requests started later."""

    __slots__ = ("_fields", "_set")

    def __init__(
        self, fields: Dict[str, Tuple[str, str]], set_field: Callable[[str, Optional[str]], None]
    ) -> None:
        self._fields = fields
        self._set = set_field

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()][1]

    def __setitem__(self, name: str, value: str) -> None:
        self._set(name, value)
        self._fields[name.lower()] = (name, value)

    def __delitem__(self, name: str) -> None:
        field = self._fields[name.lower()]
        self._set(field[0], None)
        self._fields.pop(name.lower(), None)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._fields.values()])

    def __len__(self) -> int:
        return len(self._fields)

    def clear(self) -> None:
        """Removes every field."""
        for name in list(self):
            del self[name]

    def __repr__(self) -> str:
        return f"ClientHeaders({sorted(self._fields)!r})"
