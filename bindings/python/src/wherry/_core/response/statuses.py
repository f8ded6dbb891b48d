# Wherry: HTTP status codes by name
# SPDX-License-Identifier: Apache-2.0
"""`codes`: statuses by name, as in requests and httpx.

The forms are ``codes.ok``, ``codes.OK``, and ``codes["not_found"]``.
"""

from __future__ import annotations

from http import HTTPStatus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, Optional

#: Names in requests and httpx that `http.HTTPStatus` lacks in some Python versions from 3.9 on.
OTHERS = {
    "checkpoint": 103, "early_hints": 103,
    "okay": 200, "all_ok": 200, "all_okay": 200, "all_good": 200, "\\o/": 200, "✓": 200,
    "non_authoritative_info": 203, "reset": 205, "partial": 206,
    "multiple_status": 207, "multi_stati": 207, "multiple_stati": 207,
    "moved": 301, "\\o-": 301, "other": 303, "see_other": 303, "switch_proxy": 306,
    "temporary": 307, "temporary_moved": 307,
    "permanent_redirect": 308, "resume": 308, "resume_incomplete": 308,
    "bad": 400, "payment": 402, "-o-": 404, "not_allowed": 405,
    "proxy_auth": 407, "proxy_authentication": 407, "timeout": 408, "precondition": 428,
    "content_too_large": 413, "request_entity_too_large": 413, "payload_too_large": 413,
    "request_uri_too_large": 414, "request_uri_too_long": 414, "uri_too_long": 414,
    "unsupported_media": 415, "media_type": 415, "range_not_satisfiable": 416, "requested_range": 416,
    "requested_range_not_satisfiable": 416,
    "im_a_teapot": 418, "teapot": 418, "i_am_a_teapot": 418,
    "unprocessable": 422, "unprocessable_content": 422, "unprocessable_entity": 422, "dependency": 424,
    "too_early": 425, "unordered": 425, "unordered_collection": 425, "upgrade": 426, "too_many": 429,
    "header_fields_too_large": 431, "fields_too_large": 431, "no_response": 444, "none": 444,
    "retry": 449, "retry_with": 449, "parental_controls": 450, "blocked_by_windows_parental_controls": 450,
    "legal_reasons": 451, "client_closed_request": 499,
    "server_error": 500, "/o\\": 500, "✗": 500, "unavailable": 503, "http_version": 505,
    "bandwidth": 509, "bandwidth_limit_exceeded": 509, "network_auth": 511, "network_authentication": 511,
}  # fmt: skip


class Codes:
    """HTTP status codes by name, in lower or upper case. Standard codes are `http.HTTPStatus`."""

    def __getattr__(self, name: str) -> int:
        number = OTHERS.get(name.lower())
        if number is not None:
            return self(number)
        try:
            return HTTPStatus[name.upper()]
        except KeyError:
            raise AttributeError(f"no status code is named {name[:200]!r}") from None

    def __getitem__(self, name: str) -> int:
        try:
            return getattr(self, name)  # type: ignore[no-any-return]
        except AttributeError:
            raise KeyError(name) from None

    def get(self, name: str, default: Optional[int] = None) -> Optional[int]:
        """Returns the status with a name, or the default."""
        try:
            return self[name]
        except KeyError:
            return default

    def __call__(self, value: int) -> int:
        try:
            return HTTPStatus(value)
        except ValueError:
            if value not in OTHERS.values():
                raise
            return value

    def __iter__(self) -> Iterator[HTTPStatus]:
        return iter(HTTPStatus)

    def __dir__(self) -> list[str]:
        methods = [name for name in vars(Codes) if name[0] != "_"]
        return [*methods, *OTHERS, *(status.name for status in HTTPStatus)]

    @staticmethod
    def get_reason_phrase(value: int) -> str:
        """Returns the reason phrase of a status, "" for an unknown one."""
        try:
            return HTTPStatus(value).phrase
        except ValueError:
            return ""

    @staticmethod
    def is_informational(value: int) -> bool:
        """Whether a status is 100 to 199."""
        return 100 <= value <= 199

    @staticmethod
    def is_success(value: int) -> bool:
        """Whether a status is 200 to 299."""
        return 200 <= value <= 299

    @staticmethod
    def is_redirect(value: int) -> bool:
        """Whether a status is 300 to 399."""
        return 300 <= value <= 399

    @staticmethod
    def is_client_error(value: int) -> bool:
        """Whether a status is 400 to 499."""
        return 400 <= value <= 499

    @staticmethod
    def is_server_error(value: int) -> bool:
        """Whether a status is 500 to 599."""
        return 500 <= value <= 599

    @staticmethod
    def is_error(value: int) -> bool:
        """Whether a status is 400 to 599."""
        return 400 <= value <= 599


codes = Codes()
