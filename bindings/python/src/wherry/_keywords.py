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

#: What ``url=``, ``tag=``, ``identifier=`` and ``path=`` of `Client.cancel` and its kind take: the
#: name of transfers; ``url=`` takes several.
Which = Union[str, Collection[str]]


class CommonOptions(TypedDict, total=False):
    """The keywords of every request, download and upload."""

    #: Always into the query; lists repeat the name.
    params: Union[Pairs, str, None]
    #: None as a value leaves the client's field out.
    headers: Union[Mapping[str, Optional[str]], Sequence[Tuple[str, Optional[str]]], None]
    auth: AuthLike
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
    max_retries: int
    #: Seconds that a server may ask a download to wait before it is tried again.
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

    #: Where the method wants them: query for GET, HEAD and DELETE, else a JSON body.
    parameters: Optional[Mapping[str, Any]]
    json: Any
    #: bytes, str, a dictionary (form), a file, a path, or an iterator.
    data: Any
    #: The same without the dictionary, as httpx has it.
    content: Any
    #: name -> file, bytes, path, or (file name, content, content type), as requests has it.
    files: Union[Pairs, None]

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
    max_per_host: int
    max_connections: int
    #: True: the HTTP cache (RFC 9111) serves and keeps answers; see ``cache_policy=``.
    cache: bool
    #: Bytes that stored answers may have on disk, and of those in memory, in each of the caches.
    cache_max_bytes: int
    cache_memory_bytes: int
    make_directories: bool
    durability: int
    segments: Union[int, str]
    stall_bytes_per_second: int
    stall_timeout: float
    max_retry_after: float
    debug: bool
    app_version: Optional[str]
    user_agent: Optional[str]
    image_names: Optional[str]
    jpeg_type: Optional[str]

class Settings(LiveSettings, total=False):
    """The settings of a new client."""

    storage_name: Optional[str]
    storage_directory: Optional[str]
    proxy: Optional[str]

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
auth | the client's | (user, password), Basic or Bearer
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
max_retries | 5 | how often a download goes on after a broken connection
max_retry_after | 60 | seconds a server may ask a download to wait; more is `retry_later`
"""

_BODY = """\
parameters | none | query for GET, HEAD and DELETE, else a JSON body or form fields beside files
json | none | the body as JSON
data | none | bytes, str, a dictionary (form), a file, a path, or an iterator
content | none | the same without the dictionary, as httpx has it
files | none | name: file, bytes, path, or (file name, content, content type), as in requests
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
progress | none | called with a Progress while bytes move
method | "POST" | the method
"""

_DOWNLOAD = """\
directory | none | a folder instead of a path: the file gets the server's name for it
resume | True | False starts at the first byte, whatever an earlier run has kept
overwrite | False | True replaces a target that exists
rename | False | True takes a name with a number where the target exists
make_directories | False | True makes the folders of the target
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
max_retries | 5 | how often a download goes on after a broken connection
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
max_per_host | 6 | connections to one host
max_connections | 32 | connections in all
cache | False | True: the HTTP cache (RFC 9111) serves requests and keeps answers
cache_max_bytes | 268435456 | what stored answers may have on disk; the longest unused goes first
cache_memory_bytes | 16777216 | what of them is held in memory
make_directories | False | True makes the folders of download targets
durability | 1 | downloads: 0 leaves it to the system, 1 makes checkpoints, 2 waits for the disk
segments | "auto" | connections for one download: as many as help, or 1 to 16
stall_bytes_per_second | 1000 | a download that is slower for `stall_timeout` is `stalled`
stall_timeout | 10 | seconds
max_retry_after | 60 | seconds a server may ask a download to wait; more is `retry_later`
debug | False | True writes what happens to stderr
app_version | "1" | what was stored under another version counts as missing
user_agent | "Wherry/..." | the User-Agent field
image_names | "index" | parts of uploads: "index" name0, name1; "repeat" name; "brackets" name[]
jpeg_type | "image/jpeg" | the type of JPEG parts; old servers want "image/jpg"
"""

_FIXED = """\
storage_name | the program's name | the folder in the user's cache for what is kept
storage_directory | none | an absolute path instead of a name
proxy | the environment's | the URL of a proxy; "" is none
"""

_CHANGES = """\
base_url | none | what relative URLs are joined to
bases | none | further base URLs by name; None as a value removes one
timeout | 20, 10, 30 s | the limits of every request; see Timeout
auth | none | (user, password), Basic or Bearer for every request
follow_redirects | True | False: a redirect is the answer
"""


def _tell(kind: Any, *tables: str) -> None:
    """Puts the keywords into what `help` shows."""
    rows = [row.split(" | ") for table in tables for row in table.splitlines()]
    told = [f"``{name}`` (default {default}): {meaning}" for name, default, meaning in rows]
    kind.__doc__ = "\n\n".join((kind.__doc__ or "", *told))


_tell(CommonOptions, _COMMON)
_tell(CacheKey, _KEY)
_tell(StreamOptions, _BODY, _COMMON)
_tell(RequestOptions, _BODY, _COLLECTED, _KEY, _COMMON)
_tell(UploadOptions, _UPLOAD, _COMMON)
_tell(DownloadOptions, _DOWNLOAD, _COMMON)
_tell(LiveSettings, _LIVE)
_tell(Settings, _FIXED, _LIVE)
_tell(Changes, _CHANGES, _LIVE)
