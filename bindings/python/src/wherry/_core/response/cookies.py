# Wherry: the cookies that a response sets
# SPDX-License-Identifier: Apache-2.0
"""`ResponseCookies`, the type of `Response.cookies`."""

from __future__ import annotations

from _collections_abc import Mapping  # Importing `collections.abc` takes longer.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterator, List


class ResponseCookies(Mapping):  # type: ignore[type-arg]
    """The cookies that a response sets, by name. The client's jar decides which to keep."""

    __slots__ = ("_values",)

    def __init__(self, fields: List[str]) -> None:
        self._values: Dict[str, str] = {}
        for field in fields:
            pair, *attributes = field.split(";")
            name, mark, value = pair.partition("=")
            name, value = name.strip(), value.strip()
            if not mark or not name:
                continue
            if _has_ended(attributes):
                self._values.pop(name, None)
            else:
                self._values[name] = value

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def get_dict(self) -> Dict[str, str]:
        """Returns the cookies as a dictionary, as in requests."""
        return dict(self._values)

    def __repr__(self) -> str:
        return f"ResponseCookies({sorted(self._values)!r})"


def _has_ended(attributes: List[str]) -> bool:
    """Whether the attributes of a cookie delete the cookie."""
    known = {
        name.strip().lower(): value.strip() for name, _, value in (attribute.partition("=") for attribute in attributes)
    }
    age = known.get("max-age", "")
    if age.lstrip("-").isdigit():
        return int(age) <= 0
    if known.get("expires"):
        import time
        from email.utils import mktime_tz, parsedate_tz

        parsed = parsedate_tz(known["expires"].replace("-", " "))
        return parsed is not None and mktime_tz(parsed) <= time.time()
    return False
