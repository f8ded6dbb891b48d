# Wherry: from JSON to dataclasses
# SPDX-License-Identifier: Apache-2.0
"""`Mapping`, which reads the fields of a dataclass from JSON and converts them."""

from __future__ import annotations

import dataclasses
import json
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Generic, List, Optional, Tuple, Type, TypeVar, Union,
    get_type_hints,
)  # fmt: skip

from .._core.calls import check, create
from .._core.forms import json_bytes
from .._core.values import text
from .._errors import DecodeError, brief
from .._native import codes
from .._native.forking import clear_after_fork
from .._native.library import lib
from .._native.memory import raw_text_at

if TYPE_CHECKING:
    from typing import Mapping as MappingType

Item = TypeVar("Item")

#: The metadata key for the JSON path of a field.
PATH = "wherry.path"

PLAIN = {
    str: codes.FIELD_TEXT, int: codes.FIELD_INTEGER, float: codes.FIELD_NUMBER,
    bool: codes.FIELD_BOOL, Any: codes.FIELD_VALUE, object: codes.FIELD_VALUE,
    dict: codes.FIELD_VALUE, list: codes.FIELD_VALUE,
}  # fmt: skip


def at(path: str) -> MappingType[str, str]:
    """Returns metadata with the JSON path of a field: ``field(metadata=wherry.at("address/city"))``."""
    return {PATH: path}


class Problem:
    """A field that could not be read: ``kind`` is "missing", "null", or "wrong_type"."""

    __slots__ = ("path", "kind")

    def __init__(self, path: str, kind: str) -> None:
        self.path = path
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and (self.path, self.kind) == (other.path, other.kind)

    def __hash__(self) -> int:
        return hash((self.path, self.kind))

    def __repr__(self) -> str:
        return f"<Problem {self.path}: {self.kind}>"


class Kind:
    """The type of a field: a plain type or a dataclass, nested in zero or more lists."""

    __slots__ = ("code", "lists", "item", "is_float")

    def __init__(self, hint: Any, where: str, inside: Tuple[type, ...]) -> None:
        self.lists = 0
        self.item: Optional[Mapping[Any]] = None
        while True:
            origin, arguments = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
            if origin is list:
                hint = arguments[0] if arguments else Any
                self.lists += 1
            elif (origin is Union or type(hint).__name__ == "UnionType") and type(None) in arguments:
                rest = [one for one in arguments if one is not type(None)]
                if len(rest) != 1:
                    raise TypeError(
                        f"{where} is a union of several types, which JSON cannot distinguish. Use one type or Any."
                    )
                hint = rest[0]
            elif origin is dict:
                hint = dict
            else:
                break
        self.is_float = hint is float
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            self.code = codes.FIELD_ITEM
            self.item = Mapping.of(hint, inside)
        elif hint in PLAIN:
            self.code = PLAIN[hint]
        else:
            raise TypeError(
                f"{where} has the unsupported type {brief(hint)}. Use str, int, float, bool, Any, a dataclass, or a list of them."
            )

    def value(self, found: Any, depth: int) -> Any:
        """Converts a value of the native record to the type of the field."""
        if depth:
            return [self.value(one, depth - 1) for one in found]
        if self.item is not None:
            return self.item._new_item(found, None)
        return float(found) if self.is_float else found


class Mapping(Generic[Item]):
    """Reads a dataclass from JSON: each field by its name, or by the path in its metadata.

    Numbers and strings are converted to each other if nothing is lost; docs/paging.md has the
    table. A field whose value is missing, null, or of another type keeps its default or previous
    value.
    """

    _known: Dict[type, Mapping[Any]] = {}
    _handle = 0

    def __init__(self, kind: Type[Item], inside: Tuple[type, ...] = ()) -> None:
        if kind in inside:
            raise TypeError(
                f"{kind.__name__} contains itself, which a mapping does not support. Use the type Any for that field."
            )
        if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
            raise TypeError(f"a mapping needs a dataclass, not {brief(kind)}")
        self._type: Any = kind
        self._handle = create(lib.wherry_mapping_new)
        self._fields: Dict[str, Kind] = {}
        hints = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            if not field.init:
                continue
            found = Kind(hints[field.name], f"{kind.__name__}.{field.name}", (*inside, kind))
            path = field.metadata.get(PATH)
            check(
                lib.wherry_mapping_add(
                    self._handle, text(field.name), None if path is None else text(path), found.code,
                    found.lists, None if found.item is None else found.item._handle,
                )
            )  # fmt: skip
            self._fields[field.name] = found

    @classmethod
    def of(cls, kind: Type[Any], inside: Tuple[type, ...] = ()) -> Mapping[Any]:
        """Returns the mapping of a dataclass, created once.

        ``inside`` contains the dataclasses that have this one as a field.
        """
        found = cls._known.get(kind)
        if found is None:
            found = cls._known.setdefault(kind, cls(kind, inside))
        return found

    def read(self, value: Any, path: str = "", *, strict: bool = False) -> Item:
        """Reads an item from JSON: a decoded value, or JSON text as bytes, at a path.

        Raises DecodeError if a field without a default cannot be read, or with ``strict`` if any
        field cannot be read.
        """
        return self._read(value, path, None, strict)

    def update(self, item: Item, value: Any, path: str = "") -> Item:
        """Returns a copy of the item, with the fields that the JSON contains replaced."""
        return self._read(value, path, item, False)

    def problems(self, value: Any, path: str = "") -> List[Problem]:
        """Returns the fields that cannot be read, and why; empty if all fields can be read."""
        found = with_json(value, lambda handle: self._problems(handle, text(path)))
        return [Problem(one["path"], one["kind"]) for one in found]

    def read_all(self, values: List[Any]) -> List[Item]:
        """Reads all items of an array."""
        return [self.read(value) for value in values]

    def _read(self, value: Any, path: str, before: Optional[Item], strict: bool) -> Item:
        path_bytes = text(path)

        def work(handle: int) -> Tuple[Dict[str, Any], Any]:
            record = create(lib.wherry_json_new)
            try:
                check(lib.wherry_mapping_apply(self._handle, handle, path_bytes, record))
                problems = self._problems(handle, path_bytes) if strict else None
                return to_python(record), problems
            finally:
                lib.wherry_json_free(record)

        record, problems = with_json(value, work)
        if problems:
            raise self._refusal(problems)
        try:
            item: Item = self._new_item(record, before)
            return item
        except TypeError:
            # A field without a default is missing, in this dataclass or a nested one.
            found = with_json(value, lambda handle: self._problems(handle, path_bytes))
            if not found:
                raise
            raise self._refusal(found) from None

    def _refusal(self, problems: List[Dict[str, str]]) -> DecodeError:
        problem_texts = ", ".join(f"{one['path']}: {one['kind']}" for one in problems[:5])
        more = f", and {len(problems) - 5} more" if len(problems) > 5 else ""
        return DecodeError(
            f"the JSON lacks valid fields of {self._type.__name__}: {problem_texts}{more}", "bad_json_body"
        )

    def _new_item(self, record: Dict[str, Any], before: Optional[Item]) -> Any:
        values = {name: self._fields[name].value(found, self._fields[name].lists)
                  for name, found in record.items()}  # fmt: skip
        return self._type(**values) if before is None else dataclasses.replace(before, **values)  # type: ignore[type-var]

    def _problems(self, handle: int, path_bytes: bytes) -> Any:
        return json_value(lib.wherry_mapping_check, self._handle, handle, path_bytes)

    def __del__(self) -> None:
        handle, self._handle = self._handle, 0
        if handle:
            try:
                lib.wherry_mapping_free(handle)
            except (TypeError, AttributeError):
                pass  # At interpreter exit, the library may be partly unloaded.


@dataclasses.dataclass
class BaseItem:
    """An item with the fields that most lists show. The image fields are URLs or names; your program loads
    the images.

    A subclass can give its fields other paths: ``title: str = field(default="",
    metadata=at("name"))``.
    """

    identifier: str = ""
    title: str = ""
    subtitle: Optional[str] = None
    image: Optional[str] = None
    accessory_image: Optional[str] = None


def with_json(value: Any, work: Callable[[int], Any]) -> Any:
    """Calls a function with the native form of a JSON value, or of JSON text as bytes."""
    content = bytes(value) if isinstance(value, (bytes, bytearray)) else json_bytes(value)
    handle = create(lib.wherry_json_parse, content, len(content))
    try:
        return work(handle)
    finally:
        lib.wherry_json_free(handle)


def json_value(function: Any, *arguments: Any) -> Any:
    """Calls a function whose out-parameter is a native JSON value, and converts the value."""
    handle = create(function, *arguments)
    try:
        return to_python(handle)
    finally:
        lib.wherry_json_free(handle)


def to_python(handle: int) -> Any:
    """Converts a native JSON value to Python objects."""
    found = lib.wherry_json_print(handle, False, None)
    if found is None:
        raise DecodeError("Could not print a JSON value", "bad_json_body")
    return json.loads(raw_text_at(found))


clear_after_fork(Mapping._known.clear)
