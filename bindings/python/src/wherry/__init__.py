# Wherry: the public names of the package
# SPDX-License-Identifier: Apache-2.0
"""An HTTP client with image uploads and resumable downloads, on one native engine.

    import wherry
    print(wherry.get("http://127.0.0.1:8080/items", params={"page": 2}).json())

Importing `wherry` does not load the native library or any submodule. Each name is imported on
first use.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._activity import ActivityReader
    from ._adapt import Request
    from ._api import (
        client, delete, download, get, head, options, patch, post, put, request, stream, upload,
    )  # fmt: skip
    from ._asgi import ASGITransport
    from ._async import AsyncClient
    from ._async_pages import AsyncPages
    from ._background import AsyncBackgroundSession, BackgroundSession
    from ._base import restart
    from ._body import Sized
    from ._cache import AsyncCache, Cache, CacheEntry, CacheUsage
    from ._chains import AsyncChain, Chain
    from ._client import Client, Session
    from ._compression import Compression
    from ._cookies import Cookie, Cookies
    from ._core.errors import (
        ArgumentError, BusyError, CacheMissError, CancelledError, DecodeError, FileError,
        ForkedError, HTTPStatusError, ImageError, ImageResult, InternalError, LimitError,
        NetworkError, StateError, TimeoutError, TLSError, WherryError,
    )  # fmt: skip
    from ._download import AsyncDownload, Download, discard_partial, partial_ratio, partials
    from ._endpoint import AsyncEndpoint, AsyncModel, Endpoint, Model, Timing
    from ._events import ServerEvent
    from ._flows import Auth
    from ._groups import AsyncGroup, Group
    from ._headers import Headers
    from ._image import Image, ImageInfo
    from ._jobs import Job
    from ._keywords import (
        DownloadOptions, PageOptions, RequestOptions, Settings, StreamOptions, UploadOptions, Which,
    )  # fmt: skip
    from ._logging import Counters, LogBridge, LogReader, LogRecord
    from ._mapping import BaseItem, Mapping, Problem, at
    from ._metrics import Metrics
    from ._mock import MockRequest, MockTransport
    from ._options import Basic, BasicAuth, Bearer, DigestAuth, Timeout
    from ._pages import Pages
    from ._progress import Partial, Progress, TransferInfo
    from ._reachability import (
        NOT_REACHABLE, REACHABLE_VIA_WIFI, REACHABLE_VIA_WWAN, UNKNOWN, Reachability,
        ReachabilityChange, ReachabilityObserver, reach_text, set_interface, set_reach_text,
    )  # fmt: skip
    from ._response import Response
    from ._sections import ListChange, Section, SectionedList
    from ._sent import SentRequest
    from ._statuses import codes
    from ._transports import AsyncBaseTransport, BaseTransport
    from ._wsgi import WSGITransport

_HOMES = {
    "_activity": "ActivityReader",
    "_adapt": "Request",
    "_api": "client delete download get head options patch post put request stream upload",
    "_asgi": "ASGITransport",
    "_async": "AsyncClient",
    "_async_pages": "AsyncPages",
    "_background": "AsyncBackgroundSession BackgroundSession",
    "_base": "restart",
    "_body": "Sized",
    "_cache": "AsyncCache Cache CacheEntry CacheUsage",
    "_chains": "AsyncChain Chain",
    "_client": "Client Session",
    "_compression": "Compression",
    "_cookies": "Cookie Cookies",
    "_core.errors": "ArgumentError BusyError CacheMissError CancelledError DecodeError FileError"
    " ForkedError HTTPStatusError ImageError ImageResult InternalError LimitError NetworkError"
    " StateError TimeoutError TLSError WherryError",
    "_download": "AsyncDownload discard_partial Download partial_ratio partials",
    "_endpoint": "AsyncEndpoint AsyncModel Endpoint Model Timing",
    "_events": "ServerEvent",
    "_flows": "Auth",
    "_groups": "AsyncGroup Group",
    "_headers": "Headers",
    "_image": "Image ImageInfo",
    "_jobs": "Job",
    "_keywords": "DownloadOptions PageOptions RequestOptions Settings StreamOptions UploadOptions"
    " Which",
    "_logging": "Counters LogBridge LogReader LogRecord",
    "_mapping": "at BaseItem Mapping Problem",
    "_metrics": "Metrics",
    "_mock": "MockRequest MockTransport",
    "_options": "Basic BasicAuth Bearer DigestAuth Timeout",
    "_pages": "Pages",
    "_progress": "Partial Progress TransferInfo",
    "_reachability": "NOT_REACHABLE reach_text Reachability ReachabilityChange"
    " ReachabilityObserver REACHABLE_VIA_WIFI REACHABLE_VIA_WWAN set_interface set_reach_text"
    " UNKNOWN",
    "_response": "Response",
    "_sections": "ListChange Section SectionedList",
    "_sent": "SentRequest",
    "_statuses": "codes",
    "_transports": "AsyncBaseTransport BaseTransport",
    "_wsgi": "WSGITransport",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "ASGITransport", "ActivityReader", "ArgumentError", "AsyncBackgroundSession",
    "AsyncBaseTransport", "AsyncCache", "AsyncChain", "AsyncClient", "AsyncDownload",
    "AsyncEndpoint", "AsyncGroup", "AsyncModel", "AsyncPages", "Auth", "BackgroundSession",
    "BaseItem", "BaseTransport", "Basic", "BasicAuth", "Bearer", "BusyError", "Cache", "CacheEntry",
    "CacheMissError", "CacheUsage", "CancelledError", "Chain", "Client", "Compression", "Cookie",
    "Cookies", "Counters", "DecodeError", "DigestAuth", "Download", "DownloadOptions", "Endpoint",
    "FileError", "ForkedError", "Group", "HTTPStatusError", "Headers", "Image", "ImageError",
    "ImageInfo", "ImageResult", "InternalError", "Job", "LimitError", "ListChange", "LogBridge",
    "LogReader", "LogRecord", "Mapping", "Metrics", "MockRequest", "MockTransport", "Model",
    "NOT_REACHABLE", "NetworkError", "PageOptions", "Pages", "Partial", "Problem", "Progress",
    "REACHABLE_VIA_WIFI", "REACHABLE_VIA_WWAN", "Reachability", "ReachabilityChange",
    "ReachabilityObserver", "Request", "RequestOptions", "Response", "Section", "SectionedList",
    "SentRequest", "ServerEvent", "Session", "Settings", "Sized", "StateError", "StreamOptions",
    "TLSError", "Timeout", "TimeoutError", "Timing", "TransferInfo", "UNKNOWN", "UploadOptions",
    "WSGITransport", "WherryError", "Which", "at", "client", "codes", "delete", "discard_partial",
    "download", "get", "head", "options", "partial_ratio", "partials", "patch", "post", "put",
    "reach_text", "request", "restart", "set_interface", "set_reach_text", "stream", "upload",
]  # fmt: skip


#: What to use in place of a name of requests or httpx.
_ELSEWHERE = {
    "AsyncHTTPTransport": "the keywords of wherry.AsyncClient",
    "ConnectError": "wherry.NetworkError", "ConnectTimeout": "wherry.TimeoutError",
    "ConnectionError": "wherry.NetworkError", "HTTPError": "wherry.HTTPStatusError, or wherry.WherryError for all errors",
    "HTTPBasicAuth": "wherry.Basic", "HTTPDigestAuth": "wherry.DigestAuth", "HTTPTransport": "the keywords of wherry.Client",
    "InvalidURL": "wherry.ArgumentError, whose reason is bad_url", "JSONDecodeError": "wherry.DecodeError",
    "Limits": "max_connections= and max_per_host= of a client", "PreparedRequest": "wherry.SentRequest",
    "Proxy": "proxy= and proxy_auth= of a client", "ReadTimeout": "wherry.TimeoutError",
    "RequestError": "wherry.WherryError", "RequestException": "wherry.WherryError", "SSLError": "wherry.TLSError",
    "TimeoutException": "wherry.TimeoutError", "TooManyRedirects": "wherry.WherryError, whose reason is too_many_redirects",
    "TransportError": "wherry.WherryError", "URL": "a str", "adapters": "transport= and mounts= of a client",
    "auth": "wherry.Basic, Bearer, DigestAuth, or Auth", "cookies": "client.cookies", "exceptions": "wherry.WherryError "
    "and its subclasses", "session": "wherry.Session", "sessions": "wherry.Session",
}  # fmt: skip

if not TYPE_CHECKING:  # Otherwise type checkers would accept any attribute name.

    def __getattr__(name: str) -> object:
        home = _HOME.get(name)
        if home is None:
            hint = f": use {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
            raise AttributeError(f"module 'wherry' has no attribute {name!r}{hint}")
        from importlib import import_module

        value = getattr(import_module(f"wherry.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
