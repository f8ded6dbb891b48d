# Wherry: case-insensitive headers
# SPDX-License-Identifier: Apache-2.0
"""The headers of responses, requests, and clients."""

from __future__ import annotations

from _collections_abc import Mapping, MutableMapping

from .._errors import brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Callable, Dict, Iterable, Iterator, List, Optional, Tuple, TypeVar, Union,
    )  # fmt: skip

    Field = Union[str, bytes]
    Fields = Union["Headers", Mapping[str, Field], Mapping[bytes, Field], Iterable[Tuple[Field, Field]], None]
    Self = TypeVar("Self", bound="Headers")


#: Headers whose values are not printed.
SECRET = frozenset(("authorization", "proxy-authorization", "cookie", "set-cookie"))


def _line(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


class Headers(Mapping):  # type: ignore[type-arg]
    """Headers with case-insensitive names, in their original order.

    A name may occur more than once.

    ``headers[name]`` joins repeated headers with ", ". `get_list` returns separate values. The argument
    is a mapping or pairs, of str or bytes.
    """

    __slots__ = ("_items", "_index")

    def __init__(self, items: Fields = ()) -> None:
        if isinstance(items, Headers):
            pairs: Iterable[Tuple[object, object]] = items._items
        else:
            pairs = items.items() if isinstance(items, Mapping) else items or ()
        try:
            fields = [(name, value) for name, value in pairs]
        except (TypeError, ValueError):
            raise TypeError(
                f"Headers takes a mapping or pairs, not {type(items).__name__}, or an item of it is no pair"
            ) from None
        self._set_items([(raw_field(name), raw_field(value)) for name, value in fields])

    def _set_items(self, items: List[Tuple[str, str]]) -> None:
        self._items = items
        self._index: Dict[str, List[str]] = {}
        for name, value in items:
            self._index.setdefault(name.lower(), []).append(value)

    @classmethod
    def parse(cls, head: bytes) -> Headers:
        """Parses "name: value\\n" lines. Each line is decoded as UTF-8, or as ISO-8859-1 if it is
        not valid UTF-8."""
        try:
            lines = head.decode("utf-8").split("\n")
        except UnicodeDecodeError:
            lines = [_line(line) for line in head.split(b"\n")]
        items = []
        for line in lines:
            name, colon, value = line.partition(":")
            if colon:
                items.append((name, value.strip(" \t\r")))
        made = cls.__new__(cls)
        made._set_items(items)
        return made

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

    def get_list(self, name: str, split_commas: bool = False) -> List[str]:
        """Returns all values of a header, in order.

        ``split_commas`` splits comma-separated values. Do not use it for Set-Cookie.
        """
        values = self._index.get(name.lower(), ())
        if split_commas:
            return [item.strip() for value in values for item in value.split(",")]
        return list(values)

    def multi_items(self) -> List[Tuple[str, str]]:
        """Returns all headers as (name, value) pairs, including repeated names."""
        return list(self._items)

    @property
    def raw(self) -> List[Tuple[bytes, bytes]]:
        """All headers as (name, value) pairs of bytes, as in httpx."""
        return [(name.encode(), value.encode()) for name, value in self._items]

    def copy(self: Self) -> Self:
        """Returns a copy."""
        return type(self)(self._items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Headers, Mapping, list, tuple)):
            return NotImplemented
        try:
            index = other._index if isinstance(other, Headers) else Headers(other)._index
        except (TypeError, ValueError):
            return NotImplemented
        return {k: ", ".join(v) for k, v in self._index.items()} == {k: ", ".join(v) for k, v in index.items()}

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        items = [(n, "[secure]" if n.lower() in SECRET else v) for n, v in self._items]
        fields = dict(items) if len(self._index) == len(items) else items
        return f"Headers({fields!r})"

    def __reduce__(self) -> Tuple[type, Tuple[List[Tuple[str, str]]]]:
        return Headers, (self._items,)


class EditableHeaders(Headers):
    """The editable headers of a request before it is sent. Names are case-insensitive.

    Setting a header replaces all headers with that name. Setting it to None removes them.
    """

    __slots__ = ()

    def __setitem__(self, name: str, value: Optional[str]) -> None:
        key = _key(name)
        items: List[Tuple[str, str]] = []
        for field in self._items:
            if field[0].lower() != key:
                items.append(field)
            elif value is not None:
                items.append((field[0], value))
                value = None
        if value is not None:
            items.append((name, value))
        self._set_items(items)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self[name] = None

    def add(self, name: str, value: str) -> None:
        """Adds a header without replacing others of the same name. All of them are sent."""
        self._set_items([*self._items, (name, value)])

    def setdefault(self, name: str, value: str) -> str:
        """Returns the value of a header. Adds the header if it is missing."""
        if name not in self:
            self[name] = value
        return self[name]

    def pop(self, name: str, default: Optional[str] = None) -> Optional[str]:
        """Removes a header and returns its value, or ``default`` if it is missing."""
        value: Optional[str] = self[name] if name in self else default
        self[name] = None
        return value

    def update(self, fields: Union[Mapping[str, str], Iterable[Tuple[str, str]]]) -> None:
        """Sets headers from a mapping or from pairs."""
        items = fields.items() if isinstance(fields, Mapping) else fields
        for name, value in items:
            self[name] = value

    def __reduce__(self) -> Tuple[type, Tuple[List[Tuple[str, str]]]]:
        return EditableHeaders, (self._items,)


class ClientHeaders(MutableMapping):  # type: ignore[type-arg]
    """The headers that a client sends with every request.

    Changes apply to requests that start later.

    ``headers[name]`` joins repeated headers with ", ". Setting a header replaces all headers with
    that name; None removes them. `add` keeps existing headers with the same name.
    """

    __slots__ = ("_fields", "_set", "_add")

    def __init__(
        self,
        fields: Dict[str, Tuple[str, List[str]]],
        set_field: Callable[[str, Optional[str]], None],
        add_field: Callable[[str, str], None],
    ) -> None:
        self._fields = fields
        self._set = set_field
        self._add = add_field

    def __getitem__(self, name: str) -> str:
        return ", ".join(self._fields[_key(name)][1])

    def __setitem__(self, name: str, value: Optional[str]) -> None:
        refuse_field(name, value)
        if value is None:
            if name in self:
                del self[name]
            return
        self._set(name, value)
        self._fields[_key(name)] = (name, [value])

    def __delitem__(self, name: str) -> None:
        field = self._fields[_key(name)]
        self._set(field[0], None)
        self._fields.pop(_key(name), None)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._fields.values()])

    def __len__(self) -> int:
        return len(self._fields)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, (str, bytes)) and _key(name) in self._fields

    def add(self, name: str, value: str) -> None:
        """Adds a header without replacing others of the same name. All of them are sent."""
        refuse_field(name, value)
        known = self._fields.get(_key(name))
        if known is None:
            self[name] = value
            return
        self._add(name, value)
        self._fields[_key(name)] = (known[0], [*known[1], value])

    def get_list(self, name: str) -> List[str]:
        """Returns all values of a header, in order."""
        return list(self._fields.get(_key(name), ("", []))[1])

    def multi_items(self) -> List[Tuple[str, str]]:
        """Returns all headers as (name, value) pairs, including repeated names."""
        return [(name, value) for name, values in list(self._fields.values()) for value in values]

    def clear(self) -> None:
        """Removes all headers."""
        for name in list(self):
            del self[name]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {k.lower(): self[k] for k in self} == {str(k).lower(): other[k] for k in other}

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ClientHeaders({sorted(self._fields)!r})"


def _key(name: Union[str, bytes]) -> str:
    return name.decode("latin-1").lower() if isinstance(name, bytes) else name.lower()


def refuse_field(name: object, value: object) -> None:
    """Raises TypeError for a header whose name or value has a wrong type. None removes a header."""
    if not isinstance(name, (str, bytes)):
        raise TypeError(f"the names in headers= must be str, not {type(name).__name__}")
    if value is not None and not isinstance(value, (str, bytes)):
        kind = type(value).__name__
        raise TypeError(f"headers= takes str for {brief(name)}, not {kind}. Convert the value with str().")


def raw_field(value: object) -> str:
    """Converts a header name or value to str."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    if not isinstance(value, str):
        raise TypeError(f"headers= takes str, not {type(value).__name__}. Convert the value with str().")
    return value
