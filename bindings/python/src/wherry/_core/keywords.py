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


class CommonOptions(TypedDict, total=False):
    """The keywords of every request, download, and upload."""

    #: Query parameters, whatever the method. A list repeats its name.
    params: Union[Pairs, str, None]
    #: Headers. A value of None removes the client's header.
    headers: Union[Mapping[str, Optional[str]], Sequence[Tuple[str, Optional[str]]], None]
    #: Credentials, sent only to the origin of the URL. (user, password) and Basic are sent with the
    #: first request; DigestAuth waits for a challenge.
    auth: AuthLike
    #: Cookies for the origin of the URL: a mapping, or the cookies of a jar that match the URL. They are
    #: sent with the client's cookies of other names. False neither sends nor stores cookies.
    cookies: Union[Mapping[str, str], CookieJar, Cookies, bool, None]
    timeout: TimeoutLike
    #: True uses the client's ``max_redirects``, or the default limit if the client's limit is 0.
    follow_redirects: bool
    max_redirects: int
    #: A name of your choice for a group of transfers.
    tag: Optional[str]
    #: Any object. The response, the download, or the error returns it as ``context``.
    context: Any
    #: True: collect `Response.metrics`.
    metrics: bool
    #: False omits the client's default parameters.
    default_parameters: bool
    #: The name of a base URL of the client, or several names. If no connection can be made to one
    #: base URL, a request tries the next. A download uses only the first.
    base: Union[str, Sequence[str], None]
    #: True uses the URL as given, without the client's base URL.
    ignore_base: bool
    array_style: str
    member_style: str
    bool_style: str
    http_version: Union[str, int, None]
    #: -100 to 100. Among waiting requests and downloads, the highest priority starts first, and
    #: equal priorities start in order of arrival. Over HTTP/2, also the weight of the stream.
    priority: int
    max_body_bytes: int
    max_send_bytes_per_second: int
    max_receive_bytes_per_second: int
    keep_auth_across_hosts: bool
    #: True: a response that is not JSON, or is not declared as JSON, raises HTTPStatusError.
    json_only: bool
    #: Additional statuses that `Response.raise_for_status` accepts, such as (404, 410).
    accept_status: Iterable[int]
    #: Seconds to wait for a route to the host: a request before it is sent, a download after each
    #: dropped connection.
    wait_for_network: float
    #: True: never use a mobile network. A request without another route raises NetworkError
    #: `metered`.
    deny_metered: bool
    #: True: a TLS body that has no length and ends without close_notify is an error.
    require_verified_length: bool
    #: False: use a separate connection for each request, with ``Connection: close``.
    keep_alive: bool
    #: Maximum number of automatic retries after a dropped connection, a timeout, or a status 408,
    #: 429, 500, 502, 503, or 504. Before a retry, requests wait up to 0.5, 1, 2, ... 30 s, or as
    #: long as Retry-After requires.
    max_retries: int
    #: True: also retry POST and PATCH. The server may then process the request twice.
    retry_unsafe_methods: bool
    #: Longest wait, in seconds, that a server may request before a retry.
    max_retry_after: float

class CacheKey(TypedDict, total=False):
    """The keywords that select a cache entry."""

    #: Names of parameters, in the query or a form, that are not part of the cache key, such as a
    #: timestamp or a signature.
    cache_ignore: Iterable[str]
    #: Names of headers whose values are part of the cache key. Authorization and Cookie always are.
    #: No other header, default parameter, CA file, or proxy of the client is.
    cache_headers: Iterable[str]
    #: A text that keeps cache entries separate, such as a user name.
    cache_partition: Optional[str]
    #: The version of cache entries. An entry of another version is deleted and counts as a miss.
    cache_version: int

class DecisionOptions(CommonOptions, total=False):
    """The callbacks of requests and uploads, and related keywords.

    With an AsyncClient, each callback may be a coroutine function. An exception raised by a
    callback ends the request.
    """

    #: Called with a `Request` before every attempt and after every redirect. The callback edits the
    #: URL, params, headers, and body in place, for example to sign the request. If it raises an
    #: exception, nothing is sent. None disables the client's callback.
    adapt: Optional[Callable[[Request], Any]]
    #: Called with a 401 response and its realm if no credentials are known or they were rejected.
    #: Return (user, password), or None to receive the 401 response.
    on_credentials: Optional[Callable[[Response, str], Any]]
    #: Called with each failure that could be retried, and the number of earlier failed attempts.
    #: Return None to follow ``max_retries=``, False to give up, True to retry after the usual
    #: delay, or the delay in seconds; the last two apply to every method. `WherryError.response` is
    #: the response, if one was received. Not called if the body cannot be sent again or a stream
    #: has begun. None disables the client's callback.
    on_retry: Optional[Callable[[WherryError, int], Any]]
    #: Called with the 401 response to the client's ``auth=Bearer(...)``, or to a request without
    #: credentials. Return the token that the client uses from now on, or None to receive the 401
    #: response. All requests that received a 401 wait for one call and are then sent again. At most
    #: two tokens are used for one request, and five calls are made in 30 seconds. Not called for
    #: requests with their own Authorization header, nor for requests that the callback sends.
    refresh_token: Optional[Callable[[Response], Any]]
    #: Called once when the response headers arrive, with a response that has no body. Return None
    #: or True to continue, False to end the request with CancelledError `refused`, or a path. A
    #: path saves the decoded body to that file: `Response.saved_path`. The file appears when it is
    #: complete. An existing file raises FileError `exists`, unless ``overwrite=`` or ``rename=`` is
    #: True. Not called for followed redirects, nor for responses that cause a retry. If a response
    #: could cause either, or comes from a cache, the call is made at its end. The request is not
    #: retried after the call. A response whose status ``accept_status_range=`` rejects is not saved
    #: to a file.
    on_head: Optional[Callable[[Response], Any]]
    #: Called before a redirect is followed, with the redirect response and the `Request` that would
    #: be sent. The URL of the request is the absolute target; edit the request in place. Return
    #: None or True to follow the redirect, or False to receive the redirect response itself. The
    #: usual rules apply: the redirect counts, credentials stay with their origin, and https never
    #: leads to http. Values that the callback sets are sent to this target, whatever its origin.
    on_redirect: Optional[Callable[[Response, Request], Any]]
    #: Callbacks under the name "response", as in requests. Each is called with the response, may
    #: raise an exception, and may return another response. They replace the client's hooks. False
    #: disables all hooks.
    hooks: Union[Mapping[str, Any], bool, None]
    #: For the file that ``on_head=`` names: replace an existing file, choose a numbered name, or
    #: create the folders. Default: False. ``overwrite`` and ``rename`` exclude each other.
    overwrite: bool
    rename: bool
    make_directories: bool
    #: Seconds that each callback may take (default: 30). The request then continues as if there
    #: were no callback, and a later result is ignored.
    decision_timeout: float
    #: The lowest and the highest status that `raise_for_status` accepts, or a `range` (default: all
    #: statuses below 400).
    accept_status_range: Union[range, Tuple[int, int], None]

class StreamOptions(DecisionOptions, total=False):
    """The keywords of requests with a body."""

    #: Parameters in the usual place for the method: the query for GET, HEAD, and DELETE, otherwise
    #: a JSON body.
    parameters: Optional[Mapping[str, Any]]
    json: Any
    #: bytes, str, a dictionary (form), a file, a path, an iterator, or `Sized` pieces.
    data: Any
    #: Like ``data=`` without the dictionary, as in httpx.
    content: Any
    #: Files by name: a file, bytes, a path, `Sized` pieces, or (file name, content, content type,
    #: part headers), as in requests.
    files: Union[Pairs, None]
    #: True: also send non-ASCII file names as ``filename*``.
    extended_names: bool
    #: A digest of the body, sent in the headers: "md5" as Content-MD5, "sha256" and "sha512" as
    #: Content-Digest. "none" overrides the client's setting.
    body_digest: str
    #: A digest of each file, sent in the headers of its part.
    part_digests: str
    #: The content coding of the body: "gzip" or "deflate". "identity" overrides the client's
    #: setting. Not for forms with files. The server must support the coding.
    body_coding: str
    #: Bodies known to be shorter than this are not coded (default: 1024 bytes).
    body_coding_min_bytes: int
    #: What to do if the request already has a Content-Encoding: "skip" the coding, "replace", or
    #: "error".
    coded_body: str
    #: True: the caches also serve and store the response of `Client.stream`. A body larger than one
    #: eighth of ``cache_max_bytes`` is streamed but not stored.
    cache_stream: bool

class RequestOptions(StreamOptions, CacheKey, total=False):
    """The keywords of a request whose body is collected in memory."""

    #: True: if this client already runs an equal request with ``coalesce=True``, wait for its
    #: response instead of sending another request. Each call can be cancelled separately. Requests
    #: with callbacks that decide, ``on_cached``, files, or a streamed body are always sent
    #: separately.
    coalesce: bool

    #: The required shape of the JSON of a successful response: a type, a list with the shape of its
    #: elements, or a dictionary with the shapes of its members, such as ``{"name": str, "friends":
    #: [{"id": int}]}``. Named members must be present, and may be null. Use int or float for
    #: numbers and object for any value. Another shape, or a body that is not JSON, raises
    #: HTTPStatusError `bad_json_body`, which names the place.
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
    #: Path of the value that ``end=`` checks.
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


class UploadOptions(DecisionOptions, total=False):
    """The keywords of an image upload."""

    #: Prefix of the part names name0, name1, ... (default: "image").
    name: str
    #: JPEG quality, 0 to 1 (default: 1.0, which sends the original file if it fits the limits).
    quality: float
    #: Compression settings beyond ``quality=``.
    compression: Optional[Compression]
    #: Form fields sent with the images.
    fields: Optional[Mapping[str, Any]]
    #: Number of images sent at once, each in its own request with all fields. 0, the default, sends
    #: one form. A failed image does not stop the others; `Response.images` has each response.
    separate: int
    #: With ``separate=``: maximum number of retries of an image after a transient failure (default:
    #: 0).
    image_retries: int
    #: What to do with an image that is damaged, unsupported (GIF, WebP, HEIC), or above a limit.
    #: "fail", the default, raises an error before a byte is sent; the error names every such image.
    #: "skip" omits the image. "send" sends the file unchanged, with all metadata.
    unreadable: str
    #: Additional headers for the part of each image.
    part_headers: Optional[Pairs]
    #: True: also send non-ASCII file names as ``filename*``.
    extended_names: bool
    #: A digest of the body, sent in the headers: "md5" as Content-MD5, "sha256" and "sha512" as
    #: Content-Digest. "none" overrides the client's setting.
    body_digest: str
    #: A digest of each image, sent in the headers of its part.
    part_digests: str
    progress: Optional[Callable[[Progress], object]]
    #: The HTTP method (default: "POST").
    method: str

class DownloadOptions(CommonOptions, total=False):
    """The keywords of a download."""

    #: A folder instead of a path. The server determines the file name.
    directory: Target
    #: False: start at the first byte, even if an earlier run left a partial file.
    resume: bool
    #: True: replace an existing target.
    overwrite: bool
    #: True: choose a numbered name if the target exists.
    rename: bool
    make_directories: bool
    #: True: give the file the modification time that the server reports.
    server_time: bool
    #: Number of connections for one file: "auto", or 1 to 16.
    segments: Union[int, str]
    #: Seconds below ``stall_bytes_per_second`` after which the download counts as `stalled`.
    stall_timeout: float
    #: Other URLs of the same file, tried in order. Mirrors require a digest.
    mirrors: Iterable[str]
    #: Which partial files to resume: of the same "url", the "same_path" (with any query), or "any"
    #: URL.
    partial_of: str
    #: The required digest of the complete file. Set at most one of these keywords.
    sha256: Optional[str]
    sha512: Optional[str]
    sha1: Optional[str]
    md5: Optional[str]
    #: A digest to compute, such as "sha256"; `Download.digests` contains the result.
    digest: Optional[str]
    progress: Optional[Callable[[Progress], object]]


class LiveSettings(TypedDict, total=False):
    """The settings that can be changed at any time."""

    #: Default callbacks for requests that set none; see `RequestOptions`.
    adapt: Optional[Callable[[Request], Any]]
    on_retry: Optional[Callable[[WherryError, int], Any]]
    refresh_token: Optional[Callable[[Response], Any]]
    on_head: Optional[Callable[[Response], Any]]
    on_redirect: Optional[Callable[[Response, Request], Any]]
    decision_timeout: float
    accept_status_range: Union[range, Tuple[int, int], None]
    max_redirects: int
    max_retries: int
    retry_unsafe_methods: bool
    wait_for_network: float
    deny_metered: bool
    #: True: a TLS body that has no length and ends without close_notify is an error.
    require_verified_length: bool
    keep_alive: bool
    keep_auth_across_hosts: bool
    http_version: Union[str, int, None]
    compressed: int
    max_body_bytes: int
    max_header_bytes: int
    max_send_bytes_per_second: int
    max_receive_bytes_per_second: int
    #: Maximum rate of all downloads of the client together.
    max_download_bytes_per_second: int
    json_only: bool
    array_style: str
    member_style: str
    bool_style: str
    extended_names: bool
    #: What uploads do with unreadable images: "fail", "skip", or "send".
    unreadable: str
    body_digest: str
    part_digests: str
    body_coding: str
    body_coding_min_bytes: int
    coded_body: str
    max_per_host: int
    max_connections: int
    #: Number of requests that may start in ``rate_interval`` seconds, in total and to each host: up
    #: to 1,000,000. 0 means no limit.
    rate_limit: int
    host_rate_limit: int
    #: Number of these requests that may start at once: up to 10,000. 0 means all.
    rate_burst: int
    #: Seconds, 0.001 to 86,400 (one day); default: 1.
    rate_interval: float
    #: False neither stores nor sends cookies. "isolated" keeps them for one request, redirects included.
    #: For a new client, a mapping sets cookies that are sent to every host that a request names.
    cookies: Union[bool, str, Mapping[str, str], Iterable[Any]]
    #: True: the HTTP cache (RFC 9111) serves requests and stores responses; see ``cache_policy=``.
    cache: bool
    #: Maximum size of each cache in bytes, on disk and in memory.
    cache_max_bytes: int
    cache_memory_bytes: int
    make_directories: bool
    #: Number of downloads that run at once; the others wait. 0 means no limit.
    max_downloads: int
    server_time: bool
    durability: int
    segments: Union[int, str]
    stall_bytes_per_second: int
    stall_timeout: float
    max_retry_after: float
    debug: bool
    #: Names of additional values to omit from logs. Names can only be added.
    secret_names: Iterable[str]
    app_version: Optional[str]
    #: The application's name in the User-Agent header.
    app_name: Optional[str]
    user_agent: Optional[str]
    #: The charset of a text whose Content-Type has none, or a function that returns the charset of
    #: a body.
    default_encoding: Union[str, Callable[[bytes], Optional[str]], None]
    #: True: send the languages of the environment in the Accept-Language header.
    send_languages: bool
    image_names: Optional[str]
    jpeg_type: Optional[str]

class SessionSettings(LiveSettings, total=False):
    """The settings of a new client that background sessions have as well."""

    proxy: Optional[str]
    #: Proxies by scheme: {"http": URL, "https": URL, "all": URL}. None as a URL uses no proxy.
    proxies: Optional[Mapping[str, Optional[str]]]
    #: Hosts that are reached without a proxy: names (including subdomains), addresses, networks, or
    #: "*", each with an optional port.
    no_proxy: Union[str, Iterable[str], None]
    #: Fixed addresses of hosts, used instead of DNS: {"host:port": "127.0.0.1"} or a list of
    #: addresses.
    resolve: Optional[Mapping[str, Union[str, Iterable[str]]]]
    #: The local network interface or address for outgoing connections.
    interface: Optional[str]
    #: Path of a Unix socket for every connection, whatever the host. No proxy is used.
    unix_socket: Optional[Target]
    #: True: requests without https raise ArgumentError `https_only`.
    https_only: bool
    #: True: require TLS 1.3 (default: TLS 1.2 or later).
    require_tls_1_3: bool
    #: True: the server must staple a good OCSP response of its CA.
    require_staple: bool
    #: A PEM file with the revocation list of every CA in the chain.
    crl_file: Target
    #: False: accept a certificate for any host name. A warning is printed to stderr once.
    check_name: bool
    #: Kinds of addresses that are never connected to, even after a name lookup or a redirect:
    #: "loopback", "private", "link_local", "metadata", "multicast", or "not_public" (all of these).
    deny_addresses: Union[str, Iterable[str]]

class Settings(SessionSettings, total=False):
    """The settings of a new client."""

    storage_name: Optional[str]
    storage_directory: Optional[str]
    #: (user, password), sent only to proxies.
    proxy_auth: Optional[Tuple[str, str]]
    #: True reads user names and passwords by host from ~/.netrc; a path selects another such file.
    netrc: Union[bool, Target]
    #: "keys" (the default) pins the keys of the certificates in ``pins=``. "certificates" treats
    #: these certificates as anchors, and the chain must lead to one of them.
    pin_mode: str
    #: By host: the time at which its pins expire, in seconds since 1970 (time.time()).
    pin_expiry: Mapping[str, float]
    #: True: reject hosts without pins.
    require_pins: bool
    #: True: continue after a pin mismatch, and print a warning to stderr.
    report_pins: bool
    #: True: hosts with pins are verified by their pins only. A warning is printed to stderr once.
    allow_invalid: bool

class Changes(LiveSettings, total=False):
    """The settings that `BaseClient.configure` can change."""

    base_url: str
    bases: Optional[Mapping[str, Optional[str]]]
    timeout: Union[TimeoutLike, Unset]
    auth: AuthLike
    follow_redirects: bool


tables.document(CommonOptions, tables.COMMON)
tables.document(CacheKey, tables.KEY)
_EVERY_REQUEST = (tables.DECISIONS, tables.COMMON)
tables.document(StreamOptions, tables.BODY, *_EVERY_REQUEST)
tables.document(RequestOptions, tables.BODY, tables.COLLECTED, tables.KEY, *_EVERY_REQUEST)
tables.document(
    PageOptions, tables.PAGES, tables.BODY, tables.COLLECTED, tables.KEY, *_EVERY_REQUEST
)
tables.document(UploadOptions, tables.UPLOAD, *_EVERY_REQUEST)
tables.document(DownloadOptions, tables.DOWNLOAD, tables.COMMON)
tables.document(LiveSettings, tables.LIVE)
tables.document(Settings, tables.FIXED, tables.LIVE)
tables.document(Changes, tables.CHANGES, tables.LIVE)
