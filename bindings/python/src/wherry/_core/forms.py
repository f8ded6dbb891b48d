# Wherry: form fields, query pairs, and JSON
# SPDX-License-Identifier: Apache-2.0
"""Converts mappings, pairs, form fields, query parameters, and JSON values to text."""

from __future__ import annotations

from .._errors import ArgumentError, brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

    Word = Union[str, bytes]

#: The keywords for a body. Only a form (``data=``) and ``files=`` can be combined.
BODIES = ("json", "data", "content", "files")


def refuse_pairs(options: Mapping[str, Any]) -> None:
    """Raises ArgumentError if keywords of one request exclude each other."""
    names = [name for name in BODIES if options.get(name) is not None]
    if len(names) < 2 or set(names) == {"data", "files"}:
        if len(names) == 2 and options["files"] and not is_form(options["data"]):
            raise ArgumentError(
                "data= with files= must be a form: a mapping or pairs of names and values, not "
                f"{type(options['data']).__name__}. Send a text as one of the fields.", "bad_argument",
            )  # fmt: skip
        if not (options.get("overwrite") and options.get("rename")):
            return
        names = ["overwrite", "rename"]
    words = " and ".join(f"{name}=" for name in names)
    raise ArgumentError(f"{words} cannot be combined", "bad_argument")


def is_form(data: Any) -> bool:
    """Returns whether ``data=`` contains form fields: a mapping, or pairs."""
    return hasattr(data, "keys") or (
        isinstance(data, (list, tuple)) and all(isinstance(pair, (list, tuple)) for pair in data)
    )


def pairs(values: Any, argument: str) -> List[Tuple[Any, Any]]:
    """Returns the items of a mapping or of an iterable of pairs. Errors name the argument."""
    if hasattr(values, "keys"):
        return [(name, values[name]) for name in values.keys()]
    if isinstance(values, NOT_PAIRS) or not hasattr(values, "__iter__"):
        raise TypeError(f"{argument}= takes a mapping or pairs, not {type(values).__name__}")
    found = []
    for place, pair in enumerate(values):
        # A string of two characters, a set, and a mapping can also be unpacked, but none of them is
        # a pair.
        if isinstance(pair, NOT_PAIRS) or hasattr(pair, "keys") or not hasattr(pair, "__iter__"):
            raise _not_a_pair(argument, place, f"is {_type_text(pair)}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise _not_a_pair(argument, place, f"has {count_text(pair)}")
        found.append(pair)
    return found


def mapping(values: Any, argument: str) -> Any:
    """Returns a mapping. The error for other values names the argument."""
    if not hasattr(values, "items"):
        raise TypeError(f"{argument}= takes a mapping, not {type(values).__name__}")
    return values


#: Iterables that are neither pairs nor a sequence of pairs.
NOT_PAIRS = (str, bytes, bytearray, memoryview, set, frozenset)


def _not_a_pair(argument: str, place: int, found: str) -> ArgumentError:
    """Returns the error for an item that is not a pair: a ValueError, as in requests."""
    return ArgumentError(f"{argument}= takes a mapping or pairs, but item {place} {found}", "bad_argument")


def _type_text(value: Any) -> str:
    """Describes a value without its content, which may be secret."""
    return "None" if value is None else f"of type {type(value).__name__}"


def count_text(values: Tuple[Any, ...]) -> str:
    return "1 value" if len(values) == 1 else f"{len(values)} values"


def flat(values: Any, argument: str = "data") -> Iterator[Tuple[Word, Word]]:
    """Yields the names and values of a query or form, as httpx does.

    A list repeats its name, None becomes an empty value, and True and False become "true" and
    "false". Bytes that are not UTF-8 stay bytes.
    """
    for name, value in pairs(values, argument):
        values_of_name = value if isinstance(value, LISTS) else (value,)
        for one in values_of_name:
            is_encoded = isinstance(one, EncodedPair)
            yield as_text_or_bytes(name), one if is_encoded else as_text_or_bytes(one)


def form_bytes(fields: Iterable[Tuple[Word, Word]]) -> bytes:
    """Encodes the fields of a form as ``application/x-www-form-urlencoded``."""
    from urllib.parse import quote

    encoded = ((quote(name, safe=""), quote(value, safe="")) for name, value in fields)
    return "&".join(f"{name}={value}" for name, value in encoded).encode()


class EncodedPair(str):
    """A "name=value" pair of a query, which is sent as written."""

    __slots__ = ()


def query_pairs(values: Any) -> List[Tuple[str, str]]:
    """Converts ``params=`` to pairs, like `flat`.

    ``params=`` may also be a query string; each value is then an `EncodedPair`.
    """
    if not isinstance(values, (str, bytes)):
        return [_quoted(name, value) for name, value in flat(values, "params")]
    from urllib.parse import quote_from_bytes, unquote_plus

    if isinstance(values, bytes):
        try:
            values = values.decode()
        except UnicodeDecodeError:
            values = quote_from_bytes(values, safe="!$%&'()*+,/:;=?@[]^`{|}~")
    pieces = values.split("&") if values else []
    return [(unquote_plus(piece.partition("=")[0]), EncodedPair(piece)) for piece in pieces]


def _quoted(name: Word, value: Word) -> Tuple[str, str]:
    """Returns a pair of a query.

    If it contains bytes that are not UTF-8, the value is `EncodedPair`.
    """
    if isinstance(name, str) and isinstance(value, str):
        return name, value
    return as_text(name), EncodedPair(form_bytes([(name, value)]).decode())


def as_text_or_bytes(value: Any) -> Word:
    """Converts a value like `as_text`, but bytes that contain NUL or are not UTF-8 stay bytes."""
    if isinstance(value, (bytes, bytearray)):
        raw = bytes(value)
        try:
            return raw if b"\0" in raw else raw.decode()
        except UnicodeDecodeError:
            return raw
    return as_text(value)


#: The types whose items are the values of a repeated name.
LISTS: Any = (
    list, tuple, set, frozenset, range, map, filter, zip, type({}.keys()), type({}.values()),
    type(_ for _ in ()),
)  # fmt: skip
#: Functions and classes. Other callable objects may have a string form.
FUNCTIONS: Any = (type, type(len), type(lambda: 0), type([].append), type(LISTS.__iter__))


def as_text(value: Any) -> str:
    """Converts a value to its string form in a query or form body."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "surrogateescape")
    if value is True:
        return "true"
    if value is False:
        return "false"
    kind: Any = type(value)
    has_none = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    if has_none or hasattr(value, "keys") or hasattr(value, "read") or isinstance(value, FUNCTIONS):
        raise TypeError(
            f"a value of a query, form, or cookie must have a text form, but {kind.__name__} has none. "
            "Use json= or parameters= for nested values, and files= for files."
        )
    return str(value)


def json_bytes(value: Any) -> bytes:
    """Encodes JSON without whitespace.

    Raises ArgumentError `bad_parameters` for values that JSON cannot represent.
    """
    import json

    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise ArgumentError(f"the value cannot be encoded as JSON: {error}", "bad_parameters") from error


def json_shape(value: Any) -> Optional[bytes]:
    """Encodes a JSON shape (types, type names, lists, and dictionaries) for the library. Returns None for None."""
    words = {str: "string", int: "integer", float: "number", bool: "bool", list: "array",
             dict: "object", object: "any"}  # fmt: skip

    def names(value: Any) -> Any:
        if isinstance(value, type) and value in words:
            return words[value]
        if isinstance(value, (list, tuple)):
            return [names(element) for element in value]
        if isinstance(value, dict):
            return {name: names(shape) for name, shape in value.items()}
        if isinstance(value, str):
            return value
        raise TypeError(
            f"json_shape= takes types ({', '.join(sorted(kind.__name__ for kind in words))}),"
            f" lists of one shape and dictionaries, not {brief(value)}"
        )

    return None if value is None else json_bytes(names(value))
