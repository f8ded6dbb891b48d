# Wherry: the status codes of HTTP by name
# SPDX-License-Identifier: Apache-2.0
"""`codes` names statuses as requests and httpx do: ``codes.ok``, ``codes.OK``, ``codes["not_found"]``."""

from __future__ import annotations

from http import HTTPStatus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator

#: Names that requests has beside those of `http.HTTPStatus`.
OTHERS = {
    "okay": 200, "all_ok": 200, "all_okay": 200, "all_good": 200, "moved": 301,
    "other": 303, "see_other": 303, "temporary_moved": 307, "permanent_redirect": 308,
    "resume": 308, "bad": 400, "payment": 402, "not_allowed": 405, "timeout": 408,
    "im_a_teapot": 418, "teapot": 418, "unprocessable": 422, "unprocessable_content": 422,
    "content_too_large": 413, "request_entity_too_large": 413, "payload_too_large": 413,
    "unordered": 425, "too_early": 425, "early_hints": 103, "too_many": 429, "server_error": 500,
    "unavailable": 503,
}  # fmt: skip


class Codes:
    """The status codes of HTTP by name, in lower or upper case; numbers are `http.HTTPStatus`."""

    def __getattr__(self, name: str) -> HTTPStatus:
        found = OTHERS.get(name.lower())
        if found is not None:
            return HTTPStatus(found)
        try:
            return HTTPStatus[name.upper()]
        except KeyError:
            raise AttributeError(f"no status code is called {name!r}") from None

    def __getitem__(self, name: str) -> HTTPStatus:
        try:
            return getattr(self, name)  # type: ignore[no-any-return]
        except AttributeError:
            raise KeyError(name) from None

    def __call__(self, value: int) -> HTTPStatus:
        return HTTPStatus(value)

    def __iter__(self) -> Iterator[HTTPStatus]:
        return iter(HTTPStatus)

    def __dir__(self) -> list[str]:
        return [*OTHERS, *(status.name for status in HTTPStatus)]


codes = Codes()

__all__ = ["Codes", "codes"]
