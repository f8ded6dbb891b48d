# Wherry: the keywords of requests and clients
# SPDX-License-Identifier: Apache-2.0
"""The keywords of requests and clients, with types and descriptions.

Type checkers and `help` read these classes; calls do not use them.
"""

from __future__ import annotations

import os
from typing import (
    TYPE_CHECKING, Any, Callable, Collection, Iterable, Mapping, Optional, Sequence, Tuple, TypedDict,
    Union,
)  # fmt: skip

from . import keyword_docs as tables
from .option_keywords import (
    BodyKeywords, ChangeKeywords, CollectedKeywords, CommonKeywords, HookKeywords,
    DownloadKeywords, FixedKeywords, LiveKeywords, SessionKeywords, UploadKeywords, rows,
)  # fmt: skip

if TYPE_CHECKING:
    from http.cookiejar import CookieJar

    from .._errors import WherryError
    from .cookies import Cookies
    from .credentials import AuthLike
    from .images import Compression
    from .options import TimeoutLike, Unset
    from .progress import Progress
    from .request.editable import Request
    from .response.response import Response

Pairs = Union[Mapping[str, Any], Sequence[Tuple[str, Any]]]
Target = Union[str, "os.PathLike[str]", None]

#: The type of ``verify=``: True or False, the path of a CA file or folder, or PEM bytes.
Verify = Union[bool, str, "os.PathLike[str]", bytes]
_Certificate = Union[str, "os.PathLike[str]", Tuple[Any, ...]]
#: The type of ``cert=``: a certificate for the origin of the base URL, or certificates by origin.
Cert = Union[_Certificate, Mapping[str, _Certificate], None]
_Pin = Union[str, bytes, "os.PathLike[str]"]
#: The type of ``pins=``: one or more pins for each host.
Pins = Mapping[str, Union[_Pin, Sequence[_Pin]]]

#: The type of ``url=``, ``tag=``, ``identifier=``, and ``path=`` in `Client.cancel` and similar
#: methods: the value that selects transfers. ``url=`` accepts several values.
Which = Union[str, Collection[str]]


class CommonOptions(CommonKeywords, total=False):
    """The keywords of every request, download, and upload."""

    #: Query parameters, for every method. A list repeats its name.
    params: Union[Pairs, str, None]
    #: Headers. A value of None removes the client's header.
    headers: Union[Mapping[str, Optional[str]], Sequence[Tuple[str, Optional[str]]], None]
    #: Credentials, sent only to the origin of the URL. (user, password) and Basic are sent with the
    #: first request; DigestAuth waits for a challenge.
    auth: AuthLike
    #: Cookies for the origin of the URL: a mapping, or the cookies of a jar that match the URL. The
    #: client's cookies with other names are sent too. False neither sends nor stores cookies.
    cookies: Union[Mapping[str, str], CookieJar, Cookies, bool, None]
    timeout: TimeoutLike
    #: True uses the client's ``max_redirects``, or the default limit if the client's limit is 0.
    follow_redirects: bool
    #: Any object; available as ``context`` on the response, the download, or the error.
    context: Any
    #: Whether to collect `Response.metrics`.
    metrics: bool
    #: The name of a base URL of the client, or several names. If no connection can be made to one
    #: base URL, a request tries the next. A download uses only the first.
    base: Union[str, Sequence[str], None]
    #: Additional statuses that `Response.raise_for_status` accepts, such as (404, 410).
    accept_status: Iterable[int]


class CacheKey(TypedDict, total=False):
    """The keywords that select a cache entry."""

    #: Names of parameters, in the query or a form, that are not part of the cache key, such as a
    #: timestamp or a signature.
    cache_ignore: Iterable[str]
    #: Names of headers whose values are part of the cache key. Authorization and Cookie are always
    #: part of it. Other headers, and the client's default parameters, CA file, and proxy, are not.
    cache_headers: Iterable[str]
    #: A string that keeps cache entries separate, such as a user name.
    cache_partition: Optional[str]
    #: The version of cache entries. An entry of another version is deleted and counts as a miss.
    cache_version: int


class HookOptions(CommonOptions, HookKeywords, total=False):
    """The hooks of requests and uploads, and related keywords.

    With an AsyncClient, each hook may be a coroutine function. An exception raised by a
    hook ends the request.
    """

    #: Called with a `Request` before every attempt and after every redirect. The hook edits the
    #: URL, params, headers, and body in place, for example to sign the request. If it raises an
    #: exception, nothing is sent. None disables the client's hook.
    adapt: Optional[Callable[[Request], Any]]
    #: Called with a 401 response and its realm if no credentials are known or they were rejected.
    #: Return (user, password), or None to receive the 401 response.
    on_credentials: Optional[Callable[[Response, str], Any]]
    #: Called with each failure that could be retried, and the number of earlier failed attempts.
    #: Return None to follow ``max_retries=``, False to give up, True to retry after the usual
    #: delay, or the delay in seconds; the last two apply to every method. `WherryError.response` is
    #: the response, if one was received. Not called if the body cannot be resent or a stream
    #: has begun. None disables the client's hook.
    on_retry: Optional[Callable[[WherryError, int], Any]]
    #: Called with the 401 response to the client's ``auth=Bearer(...)``, or to a request without
    #: credentials. Return the token that the client uses from now on, or None to receive the 401
    #: response. All requests that received a 401 wait for one call and are then resent. At most
    #: two tokens are used for one request, and five calls are made in 30 seconds. Not called for
    #: requests with their own Authorization header, nor for requests that the hook sends.
    refresh_token: Optional[Callable[[Response], Any]]
    #: Called once when the response headers arrive, with a response that has no body. Return None
    #: or True to continue, False to end the request with CancelledError `refused`, or a path. A
    #: path saves the decoded body to that file: `Response.saved_path`. The file appears when it is
    #: complete. An existing file raises FileError `exists`, unless ``overwrite=`` or ``rename=`` is
    #: True. Not called for followed redirects or for responses that cause a retry. If a response
    #: could cause a redirect or a retry, or comes from a cache, the callback is called when the
    #: response is complete. The request is not retried after the call. A response whose status
    #: ``accept_status_range=`` rejects is not saved to a file.
    on_headers: Optional[Callable[[Response], Any]]
    #: Called before a redirect is followed, with the redirect response and the `Request` that would
    #: be sent. The URL of the request is the absolute target; edit the request in place. Return
    #: None or True to follow the redirect, or False to receive the redirect response itself. The
    #: usual rules apply: the redirect counts toward the limit, credentials are sent only to their
    #: origin, and redirects from https to http are refused. Values that the hook sets are sent to
    #: this target, whatever its origin.
    on_redirect: Optional[Callable[[Response, Request], Any]]
    #: Hooks under the name "response", as in requests. Each is called with the response, may
    #: raise an exception, and may return another response. They replace the client's hooks. False
    #: disables all hooks.
    hooks: Union[Mapping[str, Any], bool, None]
    #: For the file that ``on_headers=`` names: replace an existing file, choose a numbered name, or
    #: create the directories. Default: False. ``overwrite`` and ``rename`` exclude each other.
    overwrite: bool
    rename: bool
    #: The lowest and the highest status that `raise_for_status` accepts, or a `range` (default: all
    #: statuses below 400).
    accept_status_range: Union[range, Tuple[int, int], None]


class StreamOptions(HookOptions, BodyKeywords, total=False):
    """The keywords of requests with a body."""

    #: Parameters in the usual place for the method: the query for GET, HEAD, and DELETE, otherwise
    #: a JSON body.
    parameters: Optional[Mapping[str, Any]]
    json: Any
    #: bytes, str, a dictionary (form), a file, a path, an iterator, or a `Sized` object.
    data: Any
    #: Like ``data=`` without the dictionary, as in httpx.
    content: Any
    #: Files by name: a file, bytes, a path, `Sized` pieces, or (file name, content, content type,
    #: part headers), as in requests.
    files: Union[Pairs, None]


class RequestOptions(StreamOptions, CacheKey, CollectedKeywords, total=False):
    """The keywords of a request whose body is collected in memory."""

    #: The required shape of the JSON of a successful response: a type, a list with the shape of its
    #: elements, or a dictionary with the shapes of its members, such as ``{"name": str, "friends":
    #: [{"id": int}]}``. Named members must be present, and may be null. Use int or float for
    #: numbers and object for any value. JSON of another shape, or a body that is not JSON, raises
    #: HTTPStatusError `bad_json_body`, which names the path.
    json_shape: Any

    #: Seconds for which the response serves later requests. A stored response that is still fresh
    #: is returned instead of sending this request. 0 stores nothing.
    cache: Optional[float]
    #: How to use the caches. Timed cache: "use" (the default with ``cache=``), "only"
    #: (CacheMissError instead of a request), "refresh" (send the request, and store the response if
    #: ``cache=`` is above 0), "then_network", or "off". HTTP cache: "protocol" (RFC 9111; the
    #: default with the client's ``cache=True``), "reload" (read nothing, store), "any_age" (a
    #: stored response of any age, otherwise a request), or "any_age_only" (the same, but
    #: CacheMissError instead of a request).
    cache_policy: Optional[str]
    #: Seconds after expiry for which the HTTP cache may serve a stored response if the server
    #: cannot be reached or returns 500, 502, 503, or 504. 0 follows the headers of the stored
    #: response.
    stale_if_error: Optional[float]
    #: Called with the cached response, if any, before the request is sent; the call then returns
    #: the fresh response. Implies "then_network"; any other policy is an error.
    on_cached: Optional[Callable[[Response], object]]
    #: Called with a network response that could be stored. Return True to store it, False to skip
    #: it, or a list of header names to store it without these headers. An exception ends the
    #: request. With an AsyncClient, the callback may be a coroutine function.
    store: Optional[Callable[[Response], Any]]
    #: Called with a `Progress` during the transfer.
    progress: Optional[Callable[[Progress], object]]


class PageOptions(RequestOptions, total=False):
    """The keywords of a paged list; see docs/paging.md."""

    #: Path of the items array in a response, such as "data/list"; "" is the whole response.
    items: str
    #: Parameter for the page number (default: "nextPage").
    parameter: str
    #: Number of the first page (default: 0).
    first_page: int
    #: Number of items on a page, and the parameter that sends it; None does not send it.
    size: Optional[int]
    size_parameter: Optional[str]
    #: True: the page parameter is the number of items before the page, computed from ``size=``.
    by_items: bool
    #: How to detect the last page: "short_page", "last_page", "has_next", "total", "cursor",
    #: "link".
    end: str
    #: Path of the value that ``end=`` checks. With "link", the path of the URL of the next page; without a path,
    #: the Link header.
    end_path: Optional[str]
    #: Path of the key of an item. Of items with equal keys, one is kept. "" is the whole item.
    key: Optional[str]
    #: True: keep the last of the items with equal keys, at the position of the first.
    newest_wins: bool
    #: Number of pages that are kept and can be shown again without a request (default: 0).
    kept_pages: int
    #: Number of pages that an iteration loads ahead (default: 1).
    prefetch: int
    #: A dataclass for the items; None returns them as decoded JSON.
    type: Any
    #: Called with an event name, a page number, and an error or None. The events are "will_load",
    #: "refreshed", "loaded", "failed", "finished", "first_page", and "last_page".
    on_event: Optional[Callable[[str, Optional[int], Any], object]]


class UploadOptions(HookOptions, UploadKeywords, total=False):
    """The keywords of an image upload."""

    #: Prefix of the part names name0, name1, ... (default: "image").
    name: str
    #: JPEG quality, 0 to 1 (default: 1.0, which sends the original file if it fits the limits).
    quality: float
    #: Compression settings beyond ``quality=``.
    compression: Optional[Compression]
    #: Form fields sent with the images.
    fields: Optional[Mapping[str, Any]]
    #: Additional headers for the part of each image.
    part_headers: Optional[Pairs]
    progress: Optional[Callable[[Progress], object]]
    #: The HTTP method (default: "POST").
    method: str


class DownloadOptions(CommonOptions, DownloadKeywords, total=False):
    """The keywords of a download."""

    #: A directory, used instead of a path. The server determines the file name.
    directory: Target
    #: True: replace an existing target.
    overwrite: bool
    #: True: choose a numbered name if the target exists.
    rename: bool
    #: Other URLs of the same file, tried in order. Mirrors require a digest.
    mirrors: Iterable[str]
    #: The required digest of the complete file. Set at most one of these keywords.
    sha256: Optional[str]
    sha512: Optional[str]
    sha1: Optional[str]
    md5: Optional[str]
    #: A digest to compute, such as "sha256"; `Download.digests` contains the result.
    digest: Optional[str]
    progress: Optional[Callable[[Progress], object]]


class LiveSettings(LiveKeywords, total=False):
    """The settings that can be changed at any time."""

    #: Default hooks for requests that set none; see `RequestOptions`.
    adapt: Optional[Callable[[Request], Any]]
    on_retry: Optional[Callable[[WherryError, int], Any]]
    refresh_token: Optional[Callable[[Response], Any]]
    on_headers: Optional[Callable[[Response], Any]]
    on_redirect: Optional[Callable[[Response, Request], Any]]
    accept_status_range: Union[range, Tuple[int, int], None]
    #: Names of additional values to omit from logs. Names can only be added.
    secret_names: Iterable[str]
    #: The charset of text whose Content-Type has none, or a function that returns the charset of a
    #: body.
    default_encoding: Union[str, Callable[[bytes], Optional[str]], None]


class SessionSettings(LiveSettings, SessionKeywords, total=False):
    """The settings of a new client that background sessions also have."""

    #: Proxies by scheme: {"http": URL, "https": URL, "all": URL}. None as a URL uses no proxy.
    proxies: Optional[Mapping[str, Optional[str]]]


class Settings(SessionSettings, FixedKeywords, total=False):
    """The settings of a new client."""

    #: The expiry time of each host's pins, in seconds since 1970 (time.time()).
    pin_expiry: Mapping[str, float]


class Changes(LiveSettings, ChangeKeywords, total=False):
    """The settings that `BaseClient.configure` can change."""

    bases: Optional[Mapping[str, Optional[str]]]
    timeout: Union[TimeoutLike, Unset]
    auth: AuthLike
    follow_redirects: bool


_COMMON = (tables.COMMON, rows(CommonKeywords))
_EVERY_REQUEST = (tables.HOOKS, rows(HookKeywords), *_COMMON)
_BODY = (tables.BODY, rows(BodyKeywords), *_EVERY_REQUEST)
_COLLECTED = (tables.COLLECTED, rows(CollectedKeywords), tables.KEY, *_BODY)
_LIVE = (tables.LIVE, rows(LiveKeywords))
tables.document(CommonOptions, *_COMMON)
tables.document(CacheKey, tables.KEY)
tables.document(StreamOptions, *_BODY)
tables.document(RequestOptions, *_COLLECTED)
tables.document(PageOptions, tables.PAGES, *_COLLECTED)
tables.document(UploadOptions, tables.UPLOAD, rows(UploadKeywords), *_EVERY_REQUEST)
tables.document(DownloadOptions, tables.DOWNLOAD, rows(DownloadKeywords), *_COMMON)
tables.document(LiveSettings, *_LIVE)
tables.document(Settings, tables.FIXED, rows(SessionKeywords), rows(FixedKeywords), *_LIVE)
tables.document(Changes, tables.CHANGES, rows(ChangeKeywords), *_LIVE)
