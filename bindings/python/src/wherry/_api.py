# Wherry: the functions of the module, on one shared client
# SPDX-License-Identifier: Apache-2.0
"""``wherry.get(url)`` and its kind; the client behind them lives as long as the program."""

from __future__ import annotations

from ._client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from typing_extensions import Unpack

    from ._keywords import (
        DownloadOptions, RequestOptions, StreamOptions, Target, UploadOptions,
    )  # fmt: skip
    from ._response import Response
    from ._stream import Stream


class _Shared(Client):
    _warns = False


_shared: Dict[str, Client] = {}


def client() -> Client:
    """The client behind the functions of the module, made when first needed."""
    found = _shared.get("client")
    if found is None:
        mine = _Shared()
        found = _shared.setdefault("client", mine)
        if found is not mine:
            mine.close()  # Another thread was quicker.
    return found


def forget() -> None:
    """Lets a new shared client be made, after a fork."""
    _shared.clear()


def request(method: Optional[str], url: str, **options: Unpack[RequestOptions]) -> Response:
    """Sends a request; method None is GET without parameters or body, else POST.

    The keywords are those of `RequestOptions`: see help(wherry.RequestOptions).
    """
    return client().request(method, url, **options)


def get(url: str, **options: Unpack[RequestOptions]) -> Response:
    """GET. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
    return client().request("GET", url, **options)


def head(url: str, **options: Unpack[RequestOptions]) -> Response:
    """HEAD. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
    return client().request("HEAD", url, **options)


def post(url: str, **options: Unpack[RequestOptions]) -> Response:
    """POST. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
    return client().request("POST", url, **options)


def put(url: str, **options: Unpack[RequestOptions]) -> Response:
    """PUT. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
    return client().request("PUT", url, **options)


def patch(url: str, **options: Unpack[RequestOptions]) -> Response:
    """PATCH. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
    return client().request("PATCH", url, **options)


def delete(url: str, **options: Unpack[RequestOptions]) -> Response:
    """DELETE. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
    return client().request("DELETE", url, **options)


def options(url: str, **options: Unpack[RequestOptions]) -> Response:
    """OPTIONS. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
    return client().request("OPTIONS", url, **options)


def stream(method: str, url: str, **options: Unpack[StreamOptions]) -> Stream:
    """See `Client.stream`; the keywords: help(wherry.StreamOptions)."""
    return client().stream(method, url, **options)


def upload(url: str, pictures: Any, **options: Unpack[UploadOptions]) -> Response:
    """See `Client.upload`; the keywords: help(wherry.UploadOptions)."""
    return client().upload(url, pictures, **options)


def download(url: str, path: Target = None, **options: Unpack[DownloadOptions]) -> str:
    """See `Client.download`; the keywords: help(wherry.DownloadOptions)."""
    return client().download(url, path, **options)
