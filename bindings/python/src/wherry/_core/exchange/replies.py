# Wherry: replies of custom transports
# SPDX-License-Identifier: Apache-2.0
"""Passes the response or the failure of a custom transport to the library."""

from __future__ import annotations

from ..._errors import NetworkError, TimeoutError, TLSError
from ..._native import codes
from ..._native.library import lib
from ..response.response import Response
from ..values import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Errors of a transport that count as a failed attempt, which may be retried.
FAILURES = (NetworkError, TimeoutError, TLSError)


def send_response(event: int, response: Any) -> int:
    """Passes the response of a transport to the library."""
    if not isinstance(response, Response):
        raise TypeError(f"transport= must return a Response, not {type(response).__name__}")
    body = decoded(response.content, response.headers.get("content-encoding", ""))
    headers = "".join(
        f"{name}: {value}\n" for name, value in response.headers.multi_items()
        if name.lower() not in ("transfer-encoding", "connection")
        and not (body and name.lower() == "content-length")
    )  # fmt: skip
    sent = text(headers, "bad_header")
    status: int = lib.wherry_event_resolve_response(event, response.status_code, sent, body, len(body))
    return status


def decoded(body: bytes, coding: str) -> bytes:
    """Decodes a gzip or deflate body.

    The library decodes only bodies from the network.
    """
    import zlib

    known = {"gzip": 31, "x-gzip": 31, "deflate": 15}
    try:
        for name in reversed([name.strip().lower() for name in coding.split(",")]):
            if not body or name not in known:
                break
            try:
                body = zlib.decompress(body, known[name])
            except zlib.error:
                if name != "deflate":
                    raise
                body = zlib.decompress(body, -15)  # Many servers send deflate without the zlib header.
    except zlib.error as error:
        raise NetworkError(f"Could not decode the {coding} body of a transport: {error}", "bad_encoding") from error
    return body


def report_failure(event: int, error: BaseException) -> bool:
    """Reports a NetworkError or TimeoutError to the library as a failed attempt. Returns False for other
    errors."""
    if not isinstance(error, FAILURES) or not error.reason:
        return False
    reason, message = error.reason.encode(), error.message.encode("utf-8", "replace").replace(b"\0", b"")
    return bool(lib.wherry_event_resolve_failure(event, reason, message) == codes.OK)


class Failure(NetworkError):
    """Raised for a rule of `MockTransport.fail`; the library converts it to the final error."""
