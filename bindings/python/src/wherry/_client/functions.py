# Wherry: module-level functions
# SPDX-License-Identifier: Apache-2.0
"""Module-level functions such as ``wherry.get(url)``.

All calls in the process share the connections of one client. Cookies are kept for one call and its
redirects; use a `Client` to keep them longer.
"""

from __future__ import annotations

from .client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from typing_extensions import Unpack

    from .._core.keywords import (
        DownloadOptions, RequestOptions, StreamOptions, Target, UploadOptions,
    )  # fmt: skip
    from .._core.response.response import Response
    from .._transfers.streams import Stream


class _Shared(Client):
    _warns = False


_shared: Dict[str, Client] = {}


def client() -> Client:
    """Returns the client that the module-level functions share. It is created on first use."""
    found = _shared.get("client")
    if found is None:
        created = _Shared(cookies="isolated")
        found = _shared.setdefault("client", created)
        if found is not created:
            created.close()  # Another thread created one first.
    return found


def request(method: Optional[str], url: str, **options: Unpack[RequestOptions]) -> Response:
    """Sends a request. Method None means GET, or POST if there are parameters or a body.

    See `RequestOptions` for the keyword arguments: help(wherry.RequestOptions).
    """
    return client().request(method, url, **options)


def get(url: str, **options: Unpack[RequestOptions]) -> Response:
    """Sends a GET request. See `RequestOptions` for the keyword arguments."""
    return client().request("GET", url, **options)


def head(url: str, **options: Unpack[RequestOptions]) -> Response:
    """Sends a HEAD request. See `RequestOptions` for the keyword arguments."""
    return client().request("HEAD", url, **options)


def post(url: str, **options: Unpack[RequestOptions]) -> Response:
    """Sends a POST request. See `RequestOptions` for the keyword arguments."""
    return client().request("POST", url, **options)


def put(url: str, **options: Unpack[RequestOptions]) -> Response:
    """Sends a PUT request. See `RequestOptions` for the keyword arguments."""
    return client().request("PUT", url, **options)


def patch(url: str, **options: Unpack[RequestOptions]) -> Response:
    """Sends a PATCH request. See `RequestOptions` for the keyword arguments."""
    return client().request("PATCH", url, **options)


def delete(url: str, **options: Unpack[RequestOptions]) -> Response:
    """Sends a DELETE request. See `RequestOptions` for the keyword arguments."""
    return client().request("DELETE", url, **options)


def options(url: str, **options: Unpack[RequestOptions]) -> Response:
    """Sends an OPTIONS request. See `RequestOptions` for the keyword arguments."""
    return client().request("OPTIONS", url, **options)


def stream(method: str, url: str, **options: Unpack[StreamOptions]) -> Stream:
    """Streams a response body. See `Client.stream` and help(wherry.StreamOptions)."""
    return client().stream(method, url, **options)


def upload(url: str, images: Any, **options: Unpack[UploadOptions]) -> Response:
    """Uploads images. See `Client.upload` and help(wherry.UploadOptions)."""
    return client().upload(url, images, **options)


def download(url: str, path: Target = None, **options: Unpack[DownloadOptions]) -> str:
    """Downloads a file and returns its path.

    See `Client.download` and help(wherry.DownloadOptions).
    """
    return client().download(url, path, **options)
