# Wherry: what Python programs import
# SPDX-License-Identifier: Apache-2.0
"""HTTP requests, image uploads and resumable downloads, on one native engine.

    import wherry
    print(wherry.get("http://127.0.0.1:8080/items", params={"page": 2}).json())

Importing loads neither the library nor any module of this package: names come when first used.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._api import (
        client, delete, download, get, head, patch, post, put, request, stream, upload,
    )  # fmt: skip
    from ._async import AsyncClient
    from ._base import restart
    from ._cache import AsyncCache, Cache, CacheEntry, CacheUsage
    from ._client import Client
    from ._download import (
        AsyncDownload, Download, discard_partial, partial_ratio, partials,
    )  # fmt: skip
    from ._errors import (
        ArgumentError, BusyError, CacheMissError, CancelledError, DecodeError,
        FileError, ForkedError, HTTPStatusError, ImageError, ImageResult, InternalError, LimitError, NetworkError, StateError,
        TimeoutError, TLSError, WherryError,
    )  # fmt: skip
    from ._headers import Headers
    from ._image import Image, ImageInfo
    from ._keywords import (
        DownloadOptions, RequestOptions, Settings, StreamOptions, UploadOptions, Which,
    )  # fmt: skip
    from ._metrics import Metrics
    from ._mock import MockRequest, MockTransport
    from ._options import Basic, Bearer, Compression, Timeout
    from ._progress import Partial, Progress, TransferInfo
    from ._response import Response

_HOMES = {
    "_api": "client delete download get head patch post put request stream upload",
    "_async": "AsyncClient",
    "_base": "restart",
    "_cache": "AsyncCache Cache CacheEntry CacheUsage",
    "_client": "Client",
    "_download": "AsyncDownload Download discard_partial partial_ratio partials",
    "_errors": "ArgumentError BusyError CacheMissError CancelledError DecodeError FileError"
    " ForkedError HTTPStatusError ImageError ImageResult InternalError LimitError NetworkError StateError"
    " TimeoutError TLSError WherryError",
    "_headers": "Headers",
    "_image": "Image ImageInfo",
    "_keywords": "DownloadOptions RequestOptions Settings StreamOptions UploadOptions Which",
    "_metrics": "Metrics",
    "_mock": "MockRequest MockTransport",
    "_options": "Basic Bearer Compression Timeout",
    "_progress": "Partial Progress TransferInfo",
    "_response": "Response",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "ArgumentError", "AsyncCache", "AsyncClient", "AsyncDownload", "Basic", "Bearer", "BusyError",
    "Cache", "CacheEntry", "CacheMissError", "CacheUsage", "CancelledError", "Client", "Compression", "DecodeError", "Download",
    "DownloadOptions", "FileError", "ForkedError", "HTTPStatusError", "Headers", "Image", "ImageError", "ImageInfo", "ImageResult", "InternalError",
    "LimitError", "Metrics", "MockRequest", "MockTransport", "NetworkError", "Partial",
    "Progress", "RequestOptions", "Response", "Settings", "StateError", "StreamOptions", "TLSError", "Timeout", "TimeoutError",
    "TransferInfo", "UploadOptions", "WherryError", "Which", "client", "delete", "discard_partial", "download", "get", "head",
    "partial_ratio", "partials", "patch", "post", "put", "request", "restart", "stream", "upload",
]  # fmt: skip


if not TYPE_CHECKING:  # Else type checkers would take any name for one of ours.

    def __getattr__(name: str) -> object:
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module 'wherry' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"wherry.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
