# Wherry: the keywords of requests and clients
# SPDX-License-Identifier: Apache-2.0
"""What every keyword is, means and is by default; type checkers and `help` read it, calls do not."""

from __future__ import annotations

import os
from typing import (
    TYPE_CHECKING, Any, Callable, Collection, Iterable, Mapping, Optional, Sequence, Tuple, TypedDict,
    Union,
)  # fmt: skip

from . import _keyword_tables as tables

if TYPE_CHECKING:
    from http.cookiejar import CookieJar

    from ._adapt import Request
    from ._cookies import Cookies
    from ._errors import WherryError
    from ._compression import Compression
    from ._options import AuthLike, TimeoutLike, Unset
    from ._progress import Progress
    from ._response import Response

Pairs = Union[Mapping[str, Any], Sequence[Tuple[str, Any]]]
Target = Union[str, "os.PathLike[str]", None]

#: What ``verify=`` takes: whether to check, a CA file or folder, or PEM.
Verify = Union[bool, str, "os.PathLike[str]", bytes]
_Certificate = Union[str, "os.PathLike[str]", Tuple[Any, ...]]
#: What ``cert=`` takes: a certificate for the base URL's origin, or some by origin.
Cert = Union[_Certificate, Mapping[str, _Certificate], None]
_Pin = Union[str, bytes, "os.PathLike[str]"]
#: What ``pins=`` takes: by host, one or several.
Pins = Mapping[str, Union[_Pin, Sequence[_Pin]]]

#: What ``url=``, ``tag=``, ``identifier=`` and ``path=`` of `Client.cancel` and its kind take: the
#: name of transfers; ``url=`` takes several.
Which = Union[str, Collection[str]]


class CommonOptions(TypedDict, total=False):
    """The keywords of every request, download and upload."""

    #: Always into the query; lists repeat the name.
    params: Union[Pairs, str, None]
    #: None as a value leaves the client's field out.
    headers: Union[Mapping[str, Optional[str]], Sequence[Tuple[str, Optional[str]]], None]
    #: (user, password) and Basic are sent unasked, DigestAuth answers a challenge. All stay with the
    #: origin of the URL.
    auth: AuthLike
    #: A mapping, or the cookies of a jar that belong to the URL, are sent in place of the client's cookies,
    #: to the origin of the URL only. False sends and keeps none.
    cookies: Union[Mapping[str, str], CookieJar, Cookies, bool, None]
    timeout: TimeoutLike
    #: True keeps the limit of the client, unless that is 0.
    follow_redirects: bool
    max_redirects: int
    #: Your name for a group of transfers.
    tag: Optional[str]
    #: Anything of yours. It comes back with the answer, the download, or the error.
    context: Any
    #: True: the answer has `Response.metrics`.
    metrics: bool
    #: False leaves the client's default parameters out.
    default_parameters: bool
    #: A base URL of the client by its name; of several, the next one is tried when no
    #: connection can be made to the one before. A download keeps to the first.
    base: Union[str, Sequence[str], None]
    #: True takes the URL as it is, whatever the client's base.
    ignore_base: bool
    array_style: str
    member_style: str
    bool_style: str
    http_version: Union[str, int, None]
    #: -100 to 100: of what waits, requests for a connection and downloads for their turn, the highest
    #: goes first, and equals as they come. Over HTTP/2 it is the stream's weight too.
    priority: int
    max_body_bytes: int
    max_send_bytes_per_second: int
    max_receive_bytes_per_second: int
    keep_auth_across_hosts: bool
    #: True: an answer that is no JSON, or does not say that it is, is an HTTPStatusError.
    json_only: bool
    #: Statuses that are no refusals to `Response.raise_for_status`, such as (404, 410).
    accept_status: Iterable[int]
    #: Seconds to wait where there is no way to the host: a request before it is sent, a download after
    #: each broken connection.
    wait_for_network: float
    #: True: no connection over a mobile network; such a request is a NetworkError `metered`.
    deny_metered: bool
    #: True: a TLS body without a length whose connection ended without close_notify is an error.
    require_verified_length: bool
    #: False: a separate connection for each request, with ``Connection: close``, closed afterwards.
    keep_alive: bool
    #: How often what failed goes again by itself after a broken connection, a time limit, or 408,
    #: 429, 500, 502, 503, 504. Requests wait up to 0.5, 1, 2... 30 s before, or what Retry-After says.
    max_retries: int
    #: True: also a POST or PATCH goes again, so that the server may do it twice.
    retry_unsafe_methods: bool
    #: Seconds that a server may ask for before an attempt again.
    max_retry_after: float

class CacheKey(TypedDict, total=False):
    """The keywords that say which stored answer is meant."""

    #: Parameters, and pairs of query and form, that do not count: a time, a signature.
    cache_ignore: Iterable[str]
    #: Header fields that count, with all values they are sent with. Authorization and Cookie
    #: always do; no other field, default parameter, CA file or proxy of the client does.
    cache_headers: Iterable[str]
    #: Keeps answers apart: a user's name, say.
    cache_partition: Optional[str]
    #: What was stored under another number is deleted and misses.
    cache_version: int

class QuestionOptions(CommonOptions, total=False):
    """The keywords of requests and uploads for what they ask while they run.

    With an AsyncClient each function may be a coroutine function. What it raises ends the request.
    """

    #: Called with a `Request` before every attempt and after every redirect: edits its URL, params,
    #: headers and body in place, to sign it, say. Nothing is sent where it raises. None in place of a
    #: function: the client's is not called.
    adapt: Optional[Callable[[Request], Any]]
    #: Called with a 401 and its realm where no credentials are known, or they were refused: gives
    #: (user, password), or None, and the 401 is the answer.
    on_credentials: Optional[Callable[[Response, str], Any]]
    #: Called with every failure that another attempt could follow, and how many attempts failed
    #: before: None leaves it to ``max_retries=`` and its rules, False gives up, True goes again
    #: after the usual wait, a number after so many seconds, whatever the method. The answer, where
    #: one came, is `WherryError.response`. Not called where the body cannot be sent again, or a
    #: stream has begun. None in place of a function: the client's is not called.
    on_retry: Optional[Callable[[WherryError, int], Any]]
    #: Called with the 401 to the client's ``auth=Bearer(...)``, or to none: gives the token that
    #: the client has from now on, or None, and the 401 stands. It is called once for all requests
    #: that met it, which wait and go again; at most two tokens for one request, and five calls in
    #: half a minute. Not called for requests with an Authorization of their own, nor for what it
    #: sends itself.
    refresh_token: Optional[Callable[[Response], Any]]
    #: Called once when the head of the answer has come, with a response that has no body: None or True
    #: goes on, False ends the request with CancelledError `refused`, and a path has the body saved
    #: there, its content coding undone: `Response.saved_path`. The file appears when it is whole; one
    #: that exists is FileError `exists`, unless ``overwrite=`` or ``rename=`` says otherwise. Not called
    #: for redirects that are followed, nor for answers after which it goes again; of one that could be
    #: such, or is out of a cache, at its end. It does not go again after the call. An answer whose
    #: status is a refusal by ``accept_status_range=`` goes on, and makes no file.
    on_head: Optional[Callable[[Response], Any]]
    #: Called before a redirect is followed, with it and the `Request` that would be sent, its URL the
    #: absolute target, to be edited in place: None or True sends it, False makes the redirect the
    #: answer. It is held to the rules of every redirect: it counts, credentials stay with their origin,
    #: and none leads from https to http. What is set here is sent to this target, wherever it is.
    on_redirect: Optional[Callable[[Response, Request], Any]]
    #: Functions by "response", as in requests: each is called with the response, may raise, and may
    #: return another response. They replace those of the client. False calls no hook at all.
    hooks: Union[Mapping[str, Any], bool, None]
    #: Of the file that ``on_head=`` names: replaces what has the name, takes a name with a number, makes
    #: its folders. False by default; of the first two only one can be True.
    overwrite: bool
    rename: bool
    make_directories: bool
    #: Seconds that these functions have to answer: 30 by default. Then the request goes on as if
    #: there were none, and what they answer counts no more.
    decision_timeout: float
    #: The least and the greatest status that are no refusals, or a `range`; without one, all below
    #: 400 are none.
    accept_status_range: Union[range, Tuple[int, int], None]

class StreamOptions(QuestionOptions, total=False):
    """The keywords of requests with a body."""

    #: Where the method wants them: query for GET, HEAD and DELETE, else a JSON body.
    parameters: Optional[Mapping[str, Any]]
    json: Any
    #: bytes, str, a dictionary (form), a file, a path, an iterator, or a `Sized` one.
    data: Any
    #: The same without the dictionary, as httpx has it.
    content: Any
    #: name -> file, bytes, path, `Sized` pieces, or (file name, content, content type, header fields
    #: of the part), as requests has it.
    files: Union[Pairs, None]
    #: True sends names of files that are not ASCII as ``filename*`` too.
    extended_names: bool
    #: The digest of the whole body that goes before it: "md5" as Content-MD5, "sha256" and "sha512"
    #: as Content-Digest; "none" where the client has one.
    body_digest: str
    #: The same for each file, in the head of its part.
    part_digests: str
    #: The content coding that the body gets: "gzip" or "deflate"; "identity" where the client has one.
    #: Not of forms with files. The server must know it.
    body_coding: str
    #: Bodies that are known to be shorter are not coded: 1024 bytes by default.
    body_coding_min_bytes: int
    #: What becomes of that where there is a Content-Encoding already: "skip", "replace" or "error".
    coded_body: str
    #: True: the caches serve and store the response of `Client.stream` too. A body of more than an
    #: eighth of ``cache_max_bytes`` is only streamed.
    cache_stream: bool

class RequestOptions(StreamOptions, CacheKey, total=False):
    """The keywords of a request whose answer is collected."""

    #: True: an equal request of this client that is on its way, with True too, is waited for and not
    #: sent again; its answer is this one's. Each is cancelled by itself. With functions that decide,
    #: ``on_cached``, files or a written body it goes alone.
    coalesce: bool

    #: The shape that the JSON of a success has to have: types, a list with the shape of its elements,
    #: dictionaries with those of their members, as ``{"name": str, "friends": [{"id": int}]}``. Members
    #: that are named must be there, and may be None; numbers are int or float, whatever is object.
    #: Another shape, or no JSON, is an HTTPStatusError `bad_json_body` that names the place.
    json_shape: Any

    #: Seconds for which the answer serves later requests; a stored one that is still good is
    #: the answer to this one. 0 stores nothing.
    cache: Optional[float]
    #: "use" (the default with ``cache=``), "only" (CacheMissError rather than the network),
    #: "refresh" (the network, and store if ``cache=`` is more than 0), "then_network" or "off". Of
    #: the HTTP cache: "protocol" (as RFC 9111 says; the default with the client's ``cache=True``),
    #: "reload" (read nothing, store), "any_age" (what is stored, however old, else the network),
    #: "any_age_only" (the same, else CacheMissError).
    cache_policy: Optional[str]
    #: How many seconds past its end a stored answer of the HTTP cache may serve where the server
    #: cannot be reached or answers 500, 502, 503 or 504; 0 leaves it to what the answer said.
    stale_if_error: Optional[float]
    #: Called with the stored answer, if there is one, before the network is asked; the call
    #: returns the fresh one. Means "then_network"; with another policy it is refused.
    on_cached: Optional[Callable[[Response], object]]
    #: Called with an answer of the network that could be stored: True stores it, False does not, a
    #: list of header names stores it without these fields. What it raises ends the request. With an
    #: AsyncClient it may be a coroutine function.
    store: Optional[Callable[[Response], Any]]
    #: Called with a Progress while bytes move.
    progress: Optional[Callable[[Progress], object]]

class PageOptions(RequestOptions, total=False):
    """The keywords of a list in pages; docs/paging.md tells more."""

    #: Where the array of items stands in an answer, as "data/list"; "" is the answer itself.
    items: str
    #: The parameter that says which page is wanted: "nextPage" by default.
    parameter: str
    #: The number of the first page: 0 by default.
    first_page: int
    #: How many items a page has, and the parameter that it is sent as; None sends none.
    size: Optional[int]
    size_parameter: Optional[str]
    #: True: the page's parameter is how many items come before it, by ``size=``.
    by_items: bool
    #: How the last page is known: "short_page", "last_page", "has_next", "total", "cursor", "link".
    end: str
    #: Where what ``end=`` looks at stands.
    end_path: Optional[str]
    #: Where an item has what it is known by; of equal ones one is kept. "" is the item itself.
    key: Optional[str]
    #: True keeps the last of equal items, at the place of the first.
    newest_wins: bool
    #: How many pages are kept to be shown again without a request; 0 by default.
    kept_pages: int
    #: How many pages an iteration loads before they are asked for; 1 by default.
    prefetch: int
    #: A dataclass that the items are read as; None leaves them as JSON has them.
    type: Any
    #: Called with a word, a page and an error or None: "will_load", "refreshed", "loaded", "failed",
    #: "finished", "first_page", "last_page".
    on_event: Optional[Callable[[str, Optional[int], Any], object]]


class UploadOptions(QuestionOptions, total=False):
    """The keywords of an upload of pictures."""

    #: The parts are called name0, name1, ...; "image" by default.
    name: str
    #: 1.0, the default, sends the original where it fits.
    quality: float
    #: More than the quality.
    compression: Optional[Compression]
    #: Fields beside the pictures.
    fields: Optional[Mapping[str, Any]]
    #: So many pictures are sent at once, each in a request of its own with all fields; 0, the
    #: default, sends one form. What fails keeps no other back; `Response.images` has each answer.
    separate: int
    #: With ``separate=``, how often a picture is sent again whose failure may pass; 0 by default.
    image_retries: int
    #: What to do with a picture that is damaged, unsupported (GIF, WebP, HEIC), or above a limit.
    #: "fail", the default, raises before a byte is sent, and the error names every such picture. "skip"
    #: leaves it out. "send" sends the bytes as they are, with all metadata.
    unreadable: str
    #: Further fields in the head of each picture's part.
    part_headers: Optional[Pairs]
    #: True sends names of files that are not ASCII as ``filename*`` too.
    extended_names: bool
    #: The digest of the whole body that goes before it: "md5" as Content-MD5, "sha256" and "sha512"
    #: as Content-Digest; "none" where the client has one.
    body_digest: str
    #: The same for each picture, in the head of its part.
    part_digests: str
    progress: Optional[Callable[[Progress], object]]
    #: "POST" by default.
    method: str

class DownloadOptions(CommonOptions, total=False):
    """The keywords of a download."""

    #: A folder instead of a path: the file gets the server's name for it.
    directory: Target
    #: False starts at the first byte, whatever an earlier run has kept.
    resume: bool
    #: True replaces a target that exists.
    overwrite: bool
    #: True takes a name with a number where the target exists.
    rename: bool
    make_directories: bool
    #: True: the file gets the time that the server says it was changed at.
    server_time: bool
    #: How many connections bring the file: "auto", or 1 to 16.
    segments: Union[int, str]
    #: Seconds for which it may be slower than ``stall_bytes_per_second`` before it is `stalled`.
    stall_timeout: float
    #: Other URLs of the same bytes, tried one after the other; they need a digest.
    mirrors: Iterable[str]
    #: Whose partials it goes on with: "url", "same_path" (another query), or "any".
    partial_of: str
    #: The digest that the whole file must have, at most one of them.
    sha256: Optional[str]
    sha512: Optional[str]
    sha1: Optional[str]
    md5: Optional[str]
    #: A digest to compute and tell, such as "sha256": `Download.digests` has it then.
    digest: Optional[str]
    progress: Optional[Callable[[Progress], object]]


class LiveSettings(TypedDict, total=False):
    """The settings that can be changed at any time."""

    #: The functions of requests that have none of their own; see `RequestOptions`.
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
    #: True: a TLS body without a length whose connection ended without close_notify is an error.
    require_verified_length: bool
    keep_alive: bool
    keep_auth_across_hosts: bool
    http_version: Union[str, int, None]
    compressed: int
    max_body_bytes: int
    max_header_bytes: int
    max_send_bytes_per_second: int
    max_receive_bytes_per_second: int
    #: What all downloads of the client receive together.
    max_download_bytes_per_second: int
    json_only: bool
    array_style: str
    member_style: str
    bool_style: str
    extended_names: bool
    #: What uploads do with pictures that cannot be read: "fail", "skip", or "send".
    unreadable: str
    body_digest: str
    part_digests: str
    body_coding: str
    body_coding_min_bytes: int
    coded_body: str
    max_per_host: int
    max_connections: int
    #: How many requests may start in ``rate_interval`` seconds, in all and to each host: 0 to 1,000,000;
    #: 0 is no limit.
    rate_limit: int
    host_rate_limit: int
    #: How many of them may start at once, 10,000 at most; 0 is all.
    rate_burst: int
    #: Seconds: 1 by default, 0.001 to 86,400, which is a day.
    rate_interval: float
    #: False neither keeps nor sends cookies. A mapping, of a new client: cookies that are sent to every
    #: host that a request names.
    cookies: Union[bool, Mapping[str, str], Iterable[Any]]
    #: True: the HTTP cache (RFC 9111) serves and keeps answers; see ``cache_policy=``.
    cache: bool
    #: Bytes that stored answers may have on disk, and of those in memory, in each of the caches.
    cache_max_bytes: int
    cache_memory_bytes: int
    make_directories: bool
    #: How many downloads run at once; the others wait for their turn. 0 is no limit.
    max_downloads: int
    server_time: bool
    durability: int
    segments: Union[int, str]
    stall_bytes_per_second: int
    stall_timeout: float
    max_retry_after: float
    debug: bool
    #: Names whose values logs leave out too; they are only added.
    secret_names: Iterable[str]
    app_version: Optional[str]
    #: What the application is called, for the User-Agent field.
    app_name: Optional[str]
    user_agent: Optional[str]
    #: The charset of a text whose Content-Type has none, or a function of the body that returns it.
    default_encoding: Union[str, Callable[[bytes], Optional[str]], None]
    #: True: Accept-Language names the languages of the environment.
    send_languages: bool
    image_names: Optional[str]
    jpeg_type: Optional[str]

class Settings(LiveSettings, total=False):
    """The settings of a new client."""

    storage_name: Optional[str]
    storage_directory: Optional[str]
    proxy: Optional[str]
    #: Proxies by scheme: {"http": URL, "https": URL, "all": URL}. None uses none for that scheme.
    proxies: Optional[Mapping[str, Optional[str]]]
    #: (user, password), sent to proxies only.
    proxy_auth: Optional[Tuple[str, str]]
    #: Hosts without a proxy: names with the hosts below them, addresses, networks, "*", each with an
    #: optional port.
    no_proxy: Union[str, Iterable[str], None]
    #: The addresses of hosts, which are not looked up: {"host:port": "127.0.0.1"} or several.
    resolve: Optional[Mapping[str, Union[str, Iterable[str]]]]
    #: The network interface or address of this machine to go out by.
    interface: Optional[str]
    #: A path to which every connection goes, whatever the host; no proxy is used.
    unix_socket: Optional[Target]
    #: True reads user names and passwords by host from ~/.netrc; a path reads another such file.
    netrc: Union[bool, Target]
    #: True: requests without https are an ArgumentError, `https_only`.
    https_only: bool
    #: True: TLS 1.2 is too old; what is older than that always is.
    require_tls_1_3: bool
    #: True: a server must staple a good answer of its CA's OCSP responder.
    require_staple: bool
    #: A PEM file of revoked certificates, of every CA of a chain.
    crl_file: Target
    #: "keys" (the default): certificates among the pins stand for their keys; "certificates": for
    #: anchors, one of which the chain must lead to.
    pin_mode: str
    #: By host: seconds since 1970 (time.time()) from which on its pins count no more.
    pin_expiry: Mapping[str, float]
    #: True: a host without pins is refused.
    require_pins: bool
    #: True: what pins refuse goes on, and stderr is told.
    report_pins: bool
    #: True: pins alone vouch for the hosts that have some; stderr is told once.
    allow_invalid: bool
    #: False: a certificate may be of any name; stderr is told once.
    check_name: bool
    #: Addresses that are not connected to, wherever a name or a redirect leads: of "loopback",
    #: "private", "link_local", "metadata", "multicast", or "not_public", which is all of them.
    deny_addresses: Union[str, Iterable[str]]

class Changes(LiveSettings, total=False):
    """What `BaseClient.configure` can change."""

    base_url: str
    bases: Optional[Mapping[str, Optional[str]]]
    timeout: Union[TimeoutLike, Unset]
    auth: AuthLike
    follow_redirects: bool


tables.tell(CommonOptions, tables.COMMON)
tables.tell(CacheKey, tables.KEY)
_ASKED = (tables.QUESTIONS, tables.COMMON)
tables.tell(StreamOptions, tables.BODY, *_ASKED)
tables.tell(RequestOptions, tables.BODY, tables.COLLECTED, tables.KEY, *_ASKED)
tables.tell(PageOptions, tables.PAGES, tables.BODY, tables.COLLECTED, tables.KEY, *_ASKED)
tables.tell(UploadOptions, tables.UPLOAD, *_ASKED)
tables.tell(DownloadOptions, tables.DOWNLOAD, tables.COMMON)
tables.tell(LiveSettings, tables.LIVE)
tables.tell(Settings, tables.FIXED, tables.LIVE)
tables.tell(Changes, tables.CHANGES, tables.LIVE)
