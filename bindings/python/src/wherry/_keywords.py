# Wherry: the keywords of requests and clients
# SPDX-License-Identifier: Apache-2.0
"""What every keyword is, means and is by default; type checkers and `help` read it, calls do not."""

from __future__ import annotations

import os
from typing import (
    TYPE_CHECKING, Any, Callable, Collection, Iterable, Mapping, Optional, Sequence, Tuple, TypedDict,
    Union,
)  # fmt: skip

if TYPE_CHECKING:
    from ._options import AuthLike, Compression, TimeoutLike, Unset
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
    #: A mapping is sent in place of the client's cookies, to the origin of the URL alone; False sends and
    #: keeps none.
    cookies: Union[Mapping[str, str], bool, None]
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
    http_version: Union[str, int, None]
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

class StreamOptions(CommonOptions, total=False):
    """The keywords of requests with a body."""

    #: Called with a 401 and its realm where no credentials are known, or they were refused: gives
    #: (user, password), or None, and the 401 is the answer. What it raises ends the request. With an
    #: AsyncClient it may be a coroutine function.
    on_credentials: Optional[Callable[[Response, str], Any]]

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

class RequestOptions(StreamOptions, CacheKey, total=False):
    """The keywords of a request whose answer is collected."""

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
    #: list of header names stores it without these fields. What it raises ends the request.
    store: Optional[Callable[[Response], Union[bool, Sequence[str]]]]
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


class UploadOptions(CommonOptions, total=False):
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
    #: True leaves out pictures that cannot be read, which else fail the form before a byte is sent.
    skip_broken: bool
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
    #: -100 to 100: of the downloads that wait for their turn the highest goes first.
    priority: int
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

    max_redirects: int
    max_retries: int
    retry_unsafe_methods: bool
    wait_for_network: float
    deny_metered: bool
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
    extended_names: bool
    body_digest: str
    part_digests: str
    max_per_host: int
    max_connections: int
    #: False neither keeps nor sends cookies.
    cookies: bool
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
    user_agent: Optional[str]
    image_names: Optional[str]
    jpeg_type: Optional[str]

class Settings(LiveSettings, total=False):
    """The settings of a new client."""

    storage_name: Optional[str]
    storage_directory: Optional[str]
    proxy: Optional[str]
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

# Each line: the keyword | what it is where nobody says | what it means.

_COMMON = """\
params | none | pairs, or a text, that always go into the query; a list repeats its name
headers | the client's | fields; None as a value leaves the client's field out
auth | the client's | (user, password), Basic, Bearer or DigestAuth
cookies | the client's | a mapping of names to values in place of the client's; False: none are sent and kept
timeout | the client's | seconds for each wait, (connect, idle), a Timeout, or None: no limit
follow_redirects | True | False: a redirect is the answer
max_redirects | 10 | how many are followed
tag | none | your name for a group of transfers
context | none | anything of yours; it comes back with the answer, the download or the error
metrics | False | True: the answer has `Response.metrics`
default_parameters | True | False leaves the client's default parameters out
base | the one without a name | a base URL of the client by its name, or several to be tried in turn
ignore_base | False | True takes the URL as it is
array_style | "brackets" | arrays in queries: "brackets" a[]=, "repeat" a=, "index" a[0]=
http_version | by itself | "1.1" or "2"
max_body_bytes | 67108864 | the largest body that is collected, decoded
max_send_bytes_per_second | 0: no limit | what is sent at most
max_receive_bytes_per_second | 0: no limit | what is received at most
keep_auth_across_hosts | False | True sends credentials on to other hosts after a redirect
json_only | False | True: an answer that is no JSON, or does not say that it is, is an error
accept_status | none | further statuses that `raise_for_status` lets pass
wait_for_network | 0, of downloads 60 | seconds to wait where there is no way to the host
deny_metered | False | True: no connection over a mobile network; that is a NetworkError `metered`
max_retries | downloads 5, requests 0 | how often it goes again after a failure that may pass
retry_unsafe_methods | False | True: POST and PATCH go again too; the server may do it twice
max_retry_after | 60 | seconds a server may ask for before that; after more a download is `retry_later`
"""

_BODY = """\
parameters | none | query for GET, HEAD and DELETE, else a JSON body or form fields beside files
json | none | the body as JSON
data | none | bytes, str, a dictionary (form), a file, a path, an iterator, or a Sized one
content | none | the same without the dictionary, as httpx has it
on_credentials | none | called with a 401 and its realm; gives (user, password), or None
files | none | name: file, bytes, path, Sized, or (file name, content, content type, header fields)
extended_names | False | True sends names of files that are not ASCII as filename* too
body_digest | "none" | sent before the body: "md5" (Content-MD5), "sha256", "sha512" (Content-Digest)
part_digests | "none" | the same in the head of each file
"""

_COLLECTED = """\
cache | not stored | seconds for which the answer serves later requests; 0 stores nothing
cache_policy | "use" with cache=, "protocol" with the client's cache=True | "off", or of the timed \
cache "use", "only", "refresh", "then_network", or of the HTTP cache "protocol", "reload", "any_age", \
"any_age_only"
stale_if_error | 0 | seconds past its end for which an answer of the HTTP cache serves where the server fails; not one that must be validated (no-cache)
on_cached | none | means cache_policy="then_network"; a plain function, called with the stored answer before the network is asked
store | all | called with an answer before it is stored: True, False, or header names to leave out, now and after each 304
progress | none | called with a Progress while bytes move
"""

_KEY = """\
cache_ignore | none | names of parameters that do not count for what is stored or made invalid
cache_headers | none | names of header fields that count too
cache_partition | none | a text that counts too, such as the user's name
cache_version | 0 | what was stored under another number is deleted and misses
"""

_UPLOAD = """\
name | "image" | the parts are called name0, name1, ...
quality | 1.0 | 0...1 for JPEG; 1, and what is outside, sends the original where it fits
compression | none | a Compression: more than the quality
fields | none | fields beside the pictures
separate | 0 | so many pictures at once, each in a request of its own; 0 sends one form
image_retries | 0 | with separate=, how often a picture is sent again whose failure may pass
skip_broken | False | True leaves out pictures that cannot be read
part_headers | none | further fields in the head of each picture's part
extended_names | False | True sends names of files that are not ASCII as filename* too
body_digest | "none" | sent before the body: "md5" (Content-MD5), "sha256", "sha512" (Content-Digest)
part_digests | "none" | the same in the head of each picture
progress | none | called with a Progress while bytes move
method | "POST" | the method
"""

_DOWNLOAD = """\
directory | none | a folder instead of a path: the file gets the server's name for it
resume | True | False starts at the first byte, whatever an earlier run has kept
overwrite | False | True replaces a target that exists
rename | False | True takes a name with a number where the target exists
make_directories | False | True makes the folders of the target
priority | 0 | of the downloads that wait for their turn the highest goes first; -100 to 100
server_time | False | True: the file gets the time that the server says it was changed at
segments | "auto" | connections for one file: as many as help, or 1 to 16
stall_timeout | 10 | seconds of next to nothing that make it `stalled`
mirrors | none | other URLs of the same bytes, tried one after the other; they need a digest
partial_of | "url" | whose partials it goes on with: "url", "same_path" (any query), "any"
sha256 | none | the digest that the whole file must have; at most one of these
sha512 | none | the same
sha1 | none | the same
md5 | none | the same
digest | none | a digest to compute and tell, such as "sha256": `Download.digests` has it
progress | none | called with a Progress while bytes move
"""

_LIVE = """\
max_redirects | 10 | how many redirects are followed
wait_for_network | 0, of downloads 60 | seconds to wait where there is no way to the host
deny_metered | False | True: no connection over a mobile network; that is a NetworkError `metered`
max_retries | downloads 5, requests 0 | how often it goes again after a failure that may pass
retry_unsafe_methods | False | True: POST and PATCH go again too; the server may do it twice
keep_auth_across_hosts | False | True sends credentials on to other hosts after a redirect
http_version | by itself | "1.1" or "2"
compressed | 1 | 0 asks for no coding, 1 for gzip and deflate, 2 for br and zstd too
max_body_bytes | 67108864 | the largest body that is collected, decoded
max_header_bytes | 307200 | the largest head of an answer
max_send_bytes_per_second | 0: no limit | what a transfer sends at most
max_receive_bytes_per_second | 0: no limit | what a transfer receives at most
max_download_bytes_per_second | 0: no limit | what all downloads receive together; counts at once
json_only | False | True: an answer that is no JSON, or does not say that it is, is an error
array_style | "brackets" | arrays in queries: "brackets" a[]=, "repeat" a=, "index" a[0]=
extended_names | False | True sends names of files that are not ASCII as filename* too
body_digest | "none" | sent before bodies: "md5" (Content-MD5), "sha256", "sha512" (Content-Digest)
part_digests | "none" | the same in the heads of pictures and files of forms
max_per_host | 6 | connections to one host
max_connections | 32 | connections in all
cookies | True | False neither keeps nor sends cookies; see `Client.cookies`
cache | False | True: the HTTP cache (RFC 9111) serves requests and keeps answers
cache_max_bytes | 268435456 | what stored answers may have on disk; the longest unused goes first
cache_memory_bytes | 16777216 | what of them is held in memory
make_directories | False | True makes the folders of download targets
durability | 1 | downloads: 0 leaves it to the system, 1 makes checkpoints, 2 waits for the disk
max_downloads | 0: no limit | downloads that run at once; the others wait for their turn
server_time | False | True: downloaded files get the time that the server says
segments | "auto" | connections for one download: as many as help, or 1 to 16
stall_bytes_per_second | 1000 | a download that is slower for `stall_timeout` is `stalled`
stall_timeout | 10 | seconds
max_retry_after | 60 | seconds a server may ask for before that; after more a download is `retry_later`
debug | False | True writes what happens to stderr; counts at once
secret_names | none | further names of fields and parameters whose values logs leave out
app_version | "1" | what was stored under another version counts as missing
user_agent | "Wherry/..." | the User-Agent field
image_names | "index" | parts of uploads: "index" name0, name1; "repeat" name; "brackets" name[]
jpeg_type | "image/jpeg" | the type of JPEG parts; old servers want "image/jpg"
"""

_FIXED = """\
storage_name | the program's name | the folder in the user's cache for what is kept
storage_directory | none | an absolute path instead of a name
proxy | the environment's | the URL of a proxy; "" is none
https_only | False | True: requests without https are an error
require_tls_1_3 | False | True: TLS 1.2 is too old; what is older than that always is
require_staple | False | True: a server must staple a good answer of its CA's OCSP responder
crl_file | none | a PEM file of revoked certificates, of every CA of a chain
pin_mode | "keys" | "certificates": certificates among the pins are anchors, one of which the chain must lead to
pin_expiry | never | by host: seconds since 1970 from which on its pins count no more
require_pins | False | True: a host without pins is refused
report_pins | False | True: what pins refuse goes on, and stderr is told
allow_invalid | False | True: pins alone vouch for the hosts that have some; stderr is told once
check_name | True | False: a certificate may be of any name; stderr is told once
deny_addresses | none | of "loopback", "private", "link_local", "metadata", "multicast", or "not_public": not connected to
"""

_CHANGES = """\
base_url | none | what relative URLs are joined to
bases | none | further base URLs by name; None as a value removes one
timeout | 20, 10, 30 s | the limits of every request; see Timeout
auth | none | (user, password), Basic, Bearer or DigestAuth for every request
follow_redirects | True | False: a redirect is the answer
"""


_PAGES = """\
items | "" | where the array of items stands in an answer, as "data/list"; "" is the answer itself
parameter | "nextPage" | the parameter that says which page is wanted
first_page | 0 | the number of the first page
size | the server's | how many items a page has
size_parameter | not sent | the parameter that the size is sent as
by_items | False | True: the page's parameter is how many items come before it, by the size
end | "short_page" | how the last page is known: also "last_page", "has_next", "total", "cursor", "link"
end_path | none | where what the end is known by stands in an answer
key | none | where an item has what it is known by; of equal ones one is kept; "" is the item itself
newest_wins | False | True keeps the last of equal items, at the place of the first
kept_pages | 0 | how many pages are kept to be shown again without a request
prefetch | 1 | how many pages an iteration loads before they are asked for
type | none | a dataclass that the items are read as
on_event | none | called with a word, a page and an error or None, as in docs/paging.md"""


def _tell(kind: Any, *tables: str) -> None:
    """Puts the keywords into what `help` shows."""
    rows = [row.split(" | ") for table in tables for row in table.splitlines()]
    told = [f"``{name}`` (default {default}): {meaning}" for name, default, meaning in rows]
    kind.__doc__ = "\n\n".join((kind.__doc__ or "", *told))


_tell(CommonOptions, _COMMON)
_tell(CacheKey, _KEY)
_tell(StreamOptions, _BODY, _COMMON)
_tell(RequestOptions, _BODY, _COLLECTED, _KEY, _COMMON)
_tell(PageOptions, _PAGES, _BODY, _COLLECTED, _KEY, _COMMON)
_tell(UploadOptions, _UPLOAD, _COMMON)
_tell(DownloadOptions, _DOWNLOAD, _COMMON)
_tell(LiveSettings, _LIVE)
_tell(Settings, _FIXED, _LIVE)
_tell(Changes, _CHANGES, _LIVE)
