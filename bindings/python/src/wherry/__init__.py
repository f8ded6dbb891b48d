# Wherry: the public names of the package
# SPDX-License-Identifier: Apache-2.0
"""An HTTP client with image uploads and resumable downloads, built on a native engine.

    import wherry
    print(wherry.get("http://127.0.0.1:8080/items", params={"page": 2}).json())

Importing `wherry` does not load the native library or any submodule. Each name is imported on
first use.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._background.jobs import Job
    from ._background.session import AsyncBackgroundSession, BackgroundSession
    from ._client.async_client import AsyncClient
    from ._client.base import restart
    from ._client.cache import AsyncCache, Cache, CacheEntry, CacheUsage
    from ._client.client import Client, Session
    from ._client.functions import (
        client, delete, download, get, head, options, patch, post, put, request, stream, upload,
    )  # fmt: skip
    from ._client.images import AsyncImageLoader, ImageLoader, ImageUsage
    from ._core.cookies import Cookie, Cookies
    from ._core.credentials import Basic, BasicAuth, Bearer, DigestAuth
    from ._core.headers import Headers
    from ._core.image_values import ImageComparison, ImageHash
    from ._core.images import Compression, Image, ImageInfo
    from ._core.keywords import (
        DownloadOptions, PageOptions, RequestOptions, Settings, StreamOptions, UploadOptions, Which,
    )  # fmt: skip
    from ._core.options import Timeout
    from ._core.progress import Metrics, Partial, Progress, TransferInfo
    from ._core.request.auth_flow import Auth
    from ._core.request.editable import Request
    from ._core.request.files import Sized
    from ._core.request.sent import SentRequest
    from ._core.response.response import Response
    from ._core.response.server_events import ServerEvent
    from ._core.response.statuses import codes
    from ._errors import (
        ArgumentError, BusyError, CacheMissError, CancelledError, DecodeError, FileError,
        ForkedError, HTTPStatusError, ImageError, ImageResult, InternalError, LimitError,
        NetworkError, StateError, TimeoutError, TLSError, WherryError,
    )  # fmt: skip
    from ._models.async_pages import AsyncPages
    from ._models.endpoint import AsyncEndpoint, Endpoint, Timing
    from ._models.mapping import BaseItem, Mapping, Problem, at
    from ._models.model import AsyncModel, Model
    from ._models.pages import Pages
    from ._models.sections import ListChange, Section, SectionedList
    from ._monitoring.activity import ActivityReader
    from ._monitoring.logs import Counters, LogBridge, LogReader, LogRecord
    from ._monitoring.reachability import (
        NOT_REACHABLE, REACHABLE_VIA_WIFI, REACHABLE_VIA_WWAN, UNKNOWN, Reachability,
        ReachabilityChange, ReachabilityObserver, reach_text, set_interface, set_reach_text,
    )  # fmt: skip
    from ._transfers.chains import AsyncChain, Chain
    from ._transfers.downloads import (
        AsyncDownload, Download, discard_partial, partial_ratio, partials,
    )  # fmt: skip
    from ._transfers.groups import AsyncGroup, Group
    from ._transports.asgi import ASGITransport
    from ._transports.base import AsyncBaseTransport, BaseTransport
    from ._transports.mock import MockRequest, MockTransport
    from ._transports.wsgi import WSGITransport

_HOMES = {
    "_background.jobs": "Job",
    "_background.session": "AsyncBackgroundSession BackgroundSession",
    "_client.async_client": "AsyncClient",
    "_client.base": "restart",
    "_client.cache": "AsyncCache Cache CacheEntry CacheUsage",
    "_client.client": "Client Session",
    "_client.functions": "client delete download get head options patch post put request stream upload",
    "_client.images": "AsyncImageLoader ImageLoader ImageUsage",
    "_core.cookies": "Cookie Cookies",
    "_core.credentials": "Basic BasicAuth Bearer DigestAuth",
    "_core.headers": "Headers",
    "_core.image_values": "ImageComparison ImageHash",
    "_core.images": "Compression Image ImageInfo",
    "_core.keywords": "DownloadOptions PageOptions RequestOptions Settings StreamOptions UploadOptions Which",
    "_core.options": "Timeout",
    "_core.progress": "Metrics Partial Progress TransferInfo",
    "_core.request.auth_flow": "Auth",
    "_core.request.editable": "Request",
    "_core.request.files": "Sized",
    "_core.request.sent": "SentRequest",
    "_core.response.response": "Response",
    "_core.response.server_events": "ServerEvent",
    "_core.response.statuses": "codes",
    "_errors": "ArgumentError BusyError CacheMissError CancelledError DecodeError FileError"
    " ForkedError HTTPStatusError ImageError ImageResult InternalError LimitError NetworkError"
    " StateError TimeoutError TLSError WherryError",
    "_models.async_pages": "AsyncPages",
    "_models.endpoint": "AsyncEndpoint Endpoint Timing",
    "_models.mapping": "at BaseItem Mapping Problem",
    "_models.model": "AsyncModel Model",
    "_models.pages": "Pages",
    "_models.sections": "ListChange Section SectionedList",
    "_monitoring.activity": "ActivityReader",
    "_monitoring.logs": "Counters LogBridge LogReader LogRecord",
    "_monitoring.reachability": "NOT_REACHABLE reach_text Reachability ReachabilityChange"
    " ReachabilityObserver REACHABLE_VIA_WIFI REACHABLE_VIA_WWAN set_interface set_reach_text"
    " UNKNOWN",
    "_transfers.chains": "AsyncChain Chain",
    "_transfers.downloads": "AsyncDownload discard_partial Download partial_ratio partials",
    "_transfers.groups": "AsyncGroup Group",
    "_transports.asgi": "ASGITransport",
    "_transports.base": "AsyncBaseTransport BaseTransport",
    "_transports.mock": "MockRequest MockTransport",
    "_transports.wsgi": "WSGITransport",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "ASGITransport", "ActivityReader", "ArgumentError", "AsyncBackgroundSession",
    "AsyncBaseTransport", "AsyncCache", "AsyncChain", "AsyncClient", "AsyncDownload",
    "AsyncEndpoint", "AsyncGroup", "AsyncImageLoader", "AsyncModel", "AsyncPages", "Auth", "BackgroundSession",
    "BaseItem", "BaseTransport", "Basic", "BasicAuth", "Bearer", "BusyError", "Cache", "CacheEntry",
    "CacheMissError", "CacheUsage", "CancelledError", "Chain", "Client", "Compression", "Cookie",
    "Cookies", "Counters", "DecodeError", "DigestAuth", "Download", "DownloadOptions", "Endpoint",
    "FileError", "ForkedError", "Group", "HTTPStatusError", "Headers", "Image", "ImageComparison", "ImageError",
    "ImageHash", "ImageInfo", "ImageLoader", "ImageResult", "ImageUsage", "InternalError", "Job", "LimitError", "ListChange", "LogBridge",
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


#: Suggested replacements for names from requests and httpx.
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
        # With names to import, `__import__` returns the submodule. Importing `importlib` takes longer.
        value = getattr(__import__(f"wherry.{home}", fromlist=[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
