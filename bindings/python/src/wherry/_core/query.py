# Wherry: query parameters
# SPDX-License-Identifier: Apache-2.0
"""``params=`` of requests, and the live params of a client."""

from __future__ import annotations

from _collections_abc import MutableMapping

from .._native.library import lib
from .calls import check
from .forms import EncodedPair, query_pairs
from .values import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Tuple


def add_query(handle: int, values: Any) -> None:
    """Adds ``params=`` to the query of a native request."""
    written: List[str] = []

    def flush() -> None:
        if written:
            sent = text("&".join(written), "bad_parameters")
            check(lib.wherry_request_add_query_text(handle, sent))
            written.clear()

    for name, value in query_pairs(values):
        if isinstance(value, EncodedPair):
            written.append(value)
            continue
        flush()
        sent = text(name, "bad_parameters"), text(value, "bad_parameters")
        check(lib.wherry_request_add_query(handle, *sent))
    flush()


class ClientParams(MutableMapping):  # type: ignore[type-arg]
    """The parameters that a client adds to every query. Changes apply to later requests.

    A name that occurs several times has a list of values.
    """

    __slots__ = ("_get", "_set")

    def __init__(
        self,
        get: Callable[[], List[Tuple[str, Any]]],
        set_all: Callable[[List[Tuple[str, Any]]], None],
    ) -> None:
        self._get = get
        self._set = set_all

    def _values(self) -> Dict[str, List[Any]]:
        from urllib.parse import unquote_plus

        found: Dict[str, List[Any]] = {}
        for name, value in self._get():
            if isinstance(value, EncodedPair):
                value = unquote_plus(value.partition("=")[2])
            found.setdefault(name, []).append(value)
        return found

    def __getitem__(self, name: str) -> Any:
        values = self._values()[name]
        return values[0] if len(values) == 1 else values

    def __setitem__(self, name: str, value: Any) -> None:
        pairs = self._get()
        places = [at for at, pair in enumerate(pairs) if pair[0] == name]
        rest = [pair for pair in pairs if pair[0] != name]
        rest.insert(places[0] if places else len(rest), (name, value))
        self._set(rest)

    def __delitem__(self, name: str) -> None:
        pairs = self._get()
        rest = [pair for pair in pairs if pair[0] != name]
        if len(rest) == len(pairs):
            raise KeyError(name)
        self._set(rest)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._values()))

    def __len__(self) -> int:
        return len(self._values())

    def __repr__(self) -> str:
        return f"ClientParams({list(self)!r})"
