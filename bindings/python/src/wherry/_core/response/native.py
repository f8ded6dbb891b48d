# Wherry: copies of native responses and requests
# SPDX-License-Identifier: Apache-2.0
"""Copies the data of a native handle into Python objects. The caller keeps ownership of the handles."""

from __future__ import annotations

from ..._native.library import lib
from ..._native.memory import Cell, bytes_at, raw_text_at, text_at
from ..request.sent import SentRequest
from .response import Response, received

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Tuple


def fill_from_native(response: Response, handle: int) -> Response:
    """Copies all data from a native response, which is borrowed or owned by the caller."""
    response.status_code = lib.wherry_response_http_code(handle)
    response.from_cache = lib.wherry_response_is_from_cache(handle)
    response.is_length_unverified = lib.wherry_response_is_length_unverified(handle)
    response.is_stale = lib.wherry_response_is_stale(handle)
    response.is_revalidated = lib.wherry_response_is_revalidated(handle)
    found = lib.wherry_response_url(handle)
    if found is not None:
        response.url = found.decode("utf-8", "replace")
    count = Cell()
    place = lib.wherry_response_body(handle, count.address)
    size = count.take()
    if size:
        response._body = bytes_at(place, size)
    name, value = Cell(), Cell()
    fields: List[bytes] = []
    while lib.wherry_response_header_at(handle, len(fields), name.address, value.address):
        fields.append(b"%s: %s\n" % (raw_text_at(name.take()), raw_text_at(value.take())))
    response._raw_headers = b"".join(fields)
    response.history = redirects(handle)
    response.informational = informational(handle)
    return response


def informational(borrowed: int) -> Tuple[Response, ...]:
    """Returns the informational responses (1xx) that preceded a native response."""
    found: List[Response] = []
    code, fields = Cell(), Cell()
    read = lib.wherry_response_informational_at
    while read(borrowed, len(found), code.address, fields.address):
        headers = text_at(fields.take()) or ""
        found.append(received(code.take() & 0xFFFFFFFF, headers.encode()))
    return tuple(found)


def redirects(borrowed: int) -> Any:
    """Returns the redirect responses of a native response."""
    found: List[Response] = []
    code, url = Cell(), Cell()
    name, value = Cell(), Cell()
    while lib.wherry_response_redirect_at(borrowed, len(found), code.address, url.address):
        fields: List[bytes] = []
        while lib.wherry_response_redirect_header_at(borrowed, len(found), len(fields), name.address, value.address):
            fields.append(b"%s: %s\n" % (raw_text_at(name.take()), raw_text_at(value.take())))
        status, place = code.take() & 0xFFFFFFFF, text_at(url.take()) or ""
        found.append(received(status, b"".join(fields), url=place))
    return tuple(found)


def response_from_native(borrowed: int) -> Response:
    """Returns a copy of a borrowed native response."""
    count = Cell()
    body = lib.wherry_response_body(borrowed, count.address)
    headers: List[str] = []
    name, value = Cell(), Cell()
    while lib.wherry_response_header_at(borrowed, len(headers), name.address, value.address):
        headers.append(f"{text_at(name.take())}: {text_at(value.take())}\n")
    found = lib.wherry_response_url(borrowed) or b""
    return received(
        lib.wherry_response_http_code(borrowed), "".join(headers).encode(),
        bytes_at(body, count.take()) if body else b"", found.decode("utf-8", "replace"),
    )  # fmt: skip


def request_from_native(borrowed: int) -> SentRequest:
    """Returns the request of an event, or of a stub."""
    method, url, fields, content = request_parts(borrowed)
    return SentRequest(method, url, fields, content)


def request_parts(borrowed: int) -> Tuple[str, str, List[Tuple[str, str]], bytes]:
    """Returns the method, URL, headers, and body of such a request."""
    fields: List[Tuple[str, str]] = []
    name, value = Cell(), Cell()
    while lib.wherry_response_header_at(borrowed, len(fields), name.address, value.address):
        fields.append((text_at(name.take()) or "", text_at(value.take()) or ""))
    count = Cell()
    body = lib.wherry_response_body(borrowed, count.address)
    content = bytes_at(body, count.take()) if body else b""
    url = (lib.wherry_response_url(borrowed) or b"").decode("utf-8", "replace")
    method = [value for name, value in fields if name == ":method"]
    rest = [field for field in fields if not field[0].startswith(":")]
    return (method[0] if method else "GET"), url, rest, content
