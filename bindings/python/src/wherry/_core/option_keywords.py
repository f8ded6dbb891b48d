# Wherry: the keywords that each set one option
# SPDX-License-Identifier: Apache-2.0
# Written by scripts/make-options from options.toml.
"""The types and descriptions of the keywords that each set one option.

Type checkers and `help` read them; calls do not use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Tuple, TypedDict, Union

if TYPE_CHECKING:
    from .keywords import Target


class CommonKeywords(TypedDict, total=False):
    """Options of the group "common"."""

    #: The maximum number of redirects. 0 returns the redirect response. From 0 to 100.
    max_redirects: int
    #: Whether to send credentials, the headers that you set, and the body after a redirect to another scheme,
    #: host, or port. Enable it only for servers that trust each other.
    keep_auth_across_hosts: bool
    #: The maximum number of automatic retries of transient failures. From 0 to 1,000. Transient failures are
    #: dropped connections, timeouts, and the statuses 408, 429, 500, 502, 503, and 504. Before each retry, a
    #: request waits a random time of up to 0.5, 1, 2, ... 30 s, or as long as `Retry-After` says. All
    #: requests of a client share a budget of 100 retries, which grows by one for every five successes.
    max_retries: int
    #: Whether to retry requests with methods that are not idempotent, such as POST. The server may execute
    #: such a request twice.
    retry_unsafe_methods: bool
    #: The maximum time that a transfer waits while its host is unreachable. 0: no wait. In seconds. A request
    #: waits before it is sent, in state `waiting` with the reason `offline`. A download waits after each
    #: dropped connection.
    wait_for_network: float
    #: "1.1", or "2" if the server supports it.
    http_version: Union[str, int, None]
    #: The maximum size in bytes of a body collected in memory, after decoding.
    max_body_bytes: int
    #: The maximum send rate of one transfer in bytes per second. 0: no limit.
    max_send_bytes_per_second: int
    #: The maximum receive rate of one transfer in bytes per second. 0: no limit.
    max_receive_bytes_per_second: int
    #: Whether to add the client's default parameters. Parameters of the request override them.
    default_parameters: bool
    #: Whether to ignore the client's base URL, both for the request's URL and for its identifier.
    ignore_base: bool
    #: Whether a response fails if its content type is not JSON or its body is not valid JSON.
    json_only: bool
    #: The encoding of arrays in queries and forms. "brackets": `a[]=1&a[]=2`. "repeat": `a=1&a=2`. "index":
    #: `a[0]=1&a[1]=2`.
    array_style: str
    #: The priority among requests that wait for a connection, and among queued downloads. The highest
    #: priority starts first. Equal priorities start in the order of submission. From -100 to 100. Requests
    #: with a lower priority wait while requests with a higher priority keep arriving. Over HTTP/2, the
    #: priority is also the weight of the stream.
    priority: int
    #: The encoding of object members in queries and forms. "brackets": `a[b]=1`. "dots": `a.b=1`.
    member_style: str
    #: The encoding of bools in queries and forms. "digits": `1` and `0`. "words": `true` and `false`.
    bool_style: str
    #: Whether to fail with `metered` instead of connecting over a mobile network. Name lookups are not
    #: restricted.
    deny_metered: bool
    #: The maximum wait that a server may request with Retry-After. If the server requests more, a download
    #: fails with `retry_later`, and a request returns the error response. In seconds.
    max_retry_after: float
    #: Whether a response over TLS whose body may be incomplete fails with `length_unverified`. Downloads
    #: always fail in this case.
    require_verified_length: bool
    #: Whether to reuse connections. If false, each request uses a separate connection, sends `Connection:
    #: close`, and closes it.
    keep_alive: bool
    #: A name that you choose for a group of transfers.
    tag: Optional[str]


class HookKeywords(TypedDict, total=False):
    """Options of the group "hooks"."""

    #: The timeout of a hook. After the timeout, the default behavior applies. 0 applies the default at once.
    #: In seconds.
    hook_timeout: float
    #: Whether to create the missing directories of a file.
    make_directories: bool


class BodyKeywords(TypedDict, total=False):
    """Options of the group "body"."""

    #: Whether to send non-ASCII file names a second time as `filename*`. RFC 7578 advises against it, and few
    #: servers need it.
    extended_names: bool
    #: The digest of the body, sent in a header. The body is then read twice. "none": no digest. "md5":
    #: Content-MD5. "sha256": Content-Digest with SHA-256. "sha512": Content-Digest with SHA-512. A streamed
    #: body fails with `bad_option`. A header set on the request overrides it.
    body_digest: str
    #: The digest of each image and file of a form, sent in the headers of its part. "none": no digest. "md5":
    #: Content-MD5. "sha256": Content-Digest with SHA-256. "sha512": Content-Digest with SHA-512.
    part_digests: str
    #: The content encoding of request bodies. The server must support the encoding, and few servers announce
    #: their support. "identity": no coding. "gzip": the gzip format. "deflate": the zlib format. Bytes, JSON,
    #: and URL-encoded forms of at most 1 MiB are compressed as a whole, and sent unchanged if compression
    #: does not make them smaller. Larger bodies, files, and streamed bodies are compressed during the
    #: transfer, without a Content-Length. Multipart forms are not compressed.
    body_coding: str
    #: The minimum body size in bytes for body_coding. Smaller bodies are sent unchanged.
    body_coding_min_bytes: int
    #: How body_coding treats a request with a Content-Encoding header, set on the request or on the client.
    #: "skip": the body is sent unchanged. "replace": the body is compressed, and the header names only the
    #: new encoding. "error": the request fails with `bad_header`.
    coded_body: str
    #: Whether the caches also serve and store a streamed response. A body larger than an eighth of
    #: cache_max_bytes is streamed but not stored.
    cache_stream: bool


class CollectedKeywords(TypedDict, total=False):
    """Options of the group "collected"."""

    #: Whether to share the response of an identical request of this client that is in progress, instead of
    #: sending a second one. A failure is shared too.
    coalesce: bool


class UploadKeywords(TypedDict, total=False):
    """Options of the group "upload"."""

    #: What an upload does with an image that it cannot read. "fail": nothing is sent. With separate, only
    #: these images fail. "skip": the image is omitted. "send": the file is sent unchanged, with all metadata.
    unreadable: str
    #: The number of images to send concurrently, each in a separate request. 0 sends one form.
    separate: int
    #: The maximum number of retries of an image after a transient failure, with separate. The server may
    #: receive the image twice. From 0 to 1,000. Independent of max_retries.
    image_retries: int
    #: Whether to send non-ASCII file names a second time as `filename*`. RFC 7578 advises against it, and few
    #: servers need it.
    extended_names: bool
    #: The digest of the body, sent in a header. The body is then read twice. "none": no digest. "md5":
    #: Content-MD5. "sha256": Content-Digest with SHA-256. "sha512": Content-Digest with SHA-512. A streamed
    #: body fails with `bad_option`. A header set on the request overrides it.
    body_digest: str
    #: The digest of each image and file of a form, sent in the headers of its part. "none": no digest. "md5":
    #: Content-MD5. "sha256": Content-Digest with SHA-256. "sha512": Content-Digest with SHA-512.
    part_digests: str


class DownloadKeywords(TypedDict, total=False):
    """Options of the group "download"."""

    #: Whether a download resumes an existing partial file.
    resume: bool
    #: Whether to create the missing directories of a file.
    make_directories: bool
    #: Connections per file: 1 to 16, or "auto", which adds connections as long as they increase the speed.
    segments: Union[int, str]
    #: The time that a download may be slower than stall_bytes_per_second before it counts as stalled. In
    #: seconds. If set, for the client or the request, it also limits the wait for the first byte of a
    #: response. Otherwise first_byte_timeout alone does.
    stall_timeout: float
    #: The partial files that a download resumes, if the server confirms their validator and length. "url":
    #: those of the same URL. "same_path": those of the same URL with any query. "any": any partial file for
    #: the same output file.
    partial_of: str
    #: Whether to set the modification time of a downloaded file to the server's Last-Modified. Otherwise, the
    #: file keeps the time of the last write.
    server_time: bool


class LiveKeywords(TypedDict, total=False):
    """Options of the group "live"."""

    #: The timeout of a hook. After the timeout, the default behavior applies. 0 applies the default at once.
    #: In seconds.
    hook_timeout: float
    #: The maximum number of redirects. 0 returns the redirect response. From 0 to 100.
    max_redirects: int
    #: Whether to send credentials, the headers that you set, and the body after a redirect to another scheme,
    #: host, or port. Enable it only for servers that trust each other.
    keep_auth_across_hosts: bool
    #: The maximum number of automatic retries of transient failures. From 0 to 1,000. Transient failures are
    #: dropped connections, timeouts, and the statuses 408, 429, 500, 502, 503, and 504. Before each retry, a
    #: request waits a random time of up to 0.5, 1, 2, ... 30 s, or as long as `Retry-After` says. All
    #: requests of a client share a budget of 100 retries, which grows by one for every five successes.
    max_retries: int
    #: Whether to retry requests with methods that are not idempotent, such as POST. The server may execute
    #: such a request twice.
    retry_unsafe_methods: bool
    #: The maximum time that a transfer waits while its host is unreachable. 0: no wait. In seconds. A request
    #: waits before it is sent, in state `waiting` with the reason `offline`. A download waits after each
    #: dropped connection.
    wait_for_network: float
    #: Whether to send the user's languages as Accept-Language, taken from the environment (`LANGUAGE`,
    #: `LC_ALL`, `LC_MESSAGES`, `LANG`). A header that you set overrides it.
    send_languages: bool
    #: "1.1", or "2" if the server supports it.
    http_version: Union[str, int, None]
    #: 0 requests no content encoding, 1 requests gzip and deflate, 2 also br and zstd.
    compressed: int
    #: The maximum size in bytes of a body collected in memory, after decoding.
    max_body_bytes: int
    #: The maximum size of the response headers in bytes. From 1,024 to 307,200.
    max_header_bytes: int
    #: The maximum send rate of one transfer in bytes per second. 0: no limit.
    max_send_bytes_per_second: int
    #: The maximum receive rate of one transfer in bytes per second. 0: no limit.
    max_receive_bytes_per_second: int
    #: The maximum total receive rate of all downloads in bytes per second. A new value also applies to
    #: running downloads. 0: no limit.
    max_download_bytes_per_second: int
    #: Whether a response fails if its content type is not JSON or its body is not valid JSON.
    json_only: bool
    #: The encoding of arrays in queries and forms. "brackets": `a[]=1&a[]=2`. "repeat": `a=1&a=2`. "index":
    #: `a[0]=1&a[1]=2`.
    array_style: str
    #: False neither stores nor sends cookies. "isolated" keeps them for one request and its redirects. The
    #: cookies of a mapping are sent to the host of every request's URL; see `Client.cookies`.
    cookies: Union[bool, str, Mapping[str, str], Iterable[Any]]
    #: What an upload does with an image that it cannot read. "fail": nothing is sent. With separate, only
    #: these images fail. "skip": the image is omitted. "send": the file is sent unchanged, with all metadata.
    unreadable: str
    #: Whether to send non-ASCII file names a second time as `filename*`. RFC 7578 advises against it, and few
    #: servers need it.
    extended_names: bool
    #: The digest of the body, sent in a header. The body is then read twice. "none": no digest. "md5":
    #: Content-MD5. "sha256": Content-Digest with SHA-256. "sha512": Content-Digest with SHA-512. A streamed
    #: body fails with `bad_option`. A header set on the request overrides it.
    body_digest: str
    #: The digest of each image and file of a form, sent in the headers of its part. "none": no digest. "md5":
    #: Content-MD5. "sha256": Content-Digest with SHA-256. "sha512": Content-Digest with SHA-512.
    part_digests: str
    #: The maximum number of connections to one origin. From 1 to 100,000.
    max_per_host: int
    #: The maximum number of connections. From 1 to 100,000.
    max_connections: int
    #: The maximum number of concurrent downloads. Further downloads wait in the order of their priority. A
    #: paused download gives up its slot. 0: no limit. From 0 to 100,000.
    max_downloads: int
    #: The encoding of object members in queries and forms. "brackets": `a[b]=1`. "dots": `a.b=1`.
    member_style: str
    #: The encoding of bools in queries and forms. "digits": `1` and `0`. "words": `true` and `false`.
    bool_style: str
    #: The content encoding of request bodies. The server must support the encoding, and few servers announce
    #: their support. "identity": no coding. "gzip": the gzip format. "deflate": the zlib format. Bytes, JSON,
    #: and URL-encoded forms of at most 1 MiB are compressed as a whole, and sent unchanged if compression
    #: does not make them smaller. Larger bodies, files, and streamed bodies are compressed during the
    #: transfer, without a Content-Length. Multipart forms are not compressed.
    body_coding: str
    #: Whether to fail with `metered` instead of connecting over a mobile network. Name lookups are not
    #: restricted.
    deny_metered: bool
    #: The minimum body size in bytes for body_coding. Smaller bodies are sent unchanged.
    body_coding_min_bytes: int
    #: How body_coding treats a request with a Content-Encoding header, set on the request or on the client.
    #: "skip": the body is sent unchanged. "replace": the body is compressed, and the header names only the
    #: new encoding. "error": the request fails with `bad_header`.
    coded_body: str
    #: Whether requests without a cache policy use the HTTP cache (RFC 9111).
    cache: bool
    #: The maximum size in bytes of each of the two caches on disk. The least recently used entries are
    #: removed first. A response larger than an eighth of the size is not stored.
    cache_max_bytes: int
    #: The maximum size in bytes of the responses that each of the two caches keeps in memory. 0 keeps none.
    cache_memory_bytes: int
    #: The maximum size in bytes of the decoded images that the image loader keeps in memory. The least
    #: recently used ones are removed first. 0 keeps none.
    image_memory_bytes: int
    #: The maximum number of requests per rate_interval. Further requests wait in the order of their priority.
    #: 0: no limit. From 0 to 1,000,000. The limit is a token bucket: tokens arrive at even intervals, and at
    #: most rate_burst of them are saved. Redirects, retries, and the segments of a download count; cache hits
    #: do not. If the number of connections of a download was set, its additional connections count but do not
    #: wait. total_timeout includes the wait.
    rate_limit: int
    #: The maximum number of requests per rate_interval to each origin (scheme, host, and port), in addition
    #: to rate_limit. 0: no limit. From 0 to 1,000,000.
    host_rate_limit: int
    #: The maximum number of requests that may start at once after an idle period. 0: the number that may
    #: start in one rate_interval. From 0 to 10,000.
    rate_burst: int
    #: The interval of rate_limit and host_rate_limit. From 0.001 to 86400. In seconds.
    rate_interval: float
    #: Whether to create the missing directories of a file.
    make_directories: bool
    #: For downloads: 0 lets the system decide when to write to the disk, 1 writes every second or 4 MiB,
    #: 2 every second or 1 MiB.
    durability: int
    #: Connections per file: 1 to 16, or "auto", which adds connections as long as they increase the speed.
    segments: Union[int, str]
    #: The minimum speed of a download in bytes per second. A download that is slower for stall_timeout has
    #: stalled and is retried. With 0, only the idle timeout applies.
    stall_bytes_per_second: int
    #: The time that a download may be slower than stall_bytes_per_second before it counts as stalled. In
    #: seconds. If set, for the client or the request, it also limits the wait for the first byte of a
    #: response. Otherwise first_byte_timeout alone does.
    stall_timeout: float
    #: The maximum wait that a server may request with Retry-After. If the server requests more, a download
    #: fails with `retry_later`, and a request returns the error response. In seconds.
    max_retry_after: float
    #: Whether to write all events to standard error, without secrets or bodies. A new value applies
    #: immediately. The warning about insecure is written in any case. The environment variable `WHERRY_LOG`
    #: also enables logging; see docs/logging.md.
    debug: bool
    #: Whether to set the modification time of a downloaded file to the server's Last-Modified. Otherwise, the
    #: file keeps the time of the last write.
    server_time: bool
    #: Whether a response over TLS whose body may be incomplete fails with `length_unverified`. Downloads
    #: always fail in this case.
    require_verified_length: bool
    #: Whether to reuse connections. If false, each request uses a separate connection, sends `Connection:
    #: close`, and closes it.
    keep_alive: bool
    #: The application's version. Cache entries of other versions are misses.
    app_version: Optional[str]
    #: The User-Agent header. With app_name the default is "name/appVersion (Linux x86_64) Wherry/<version>".
    user_agent: Optional[str]
    #: The application's name for user_agent. Accents are removed, and other non-ASCII characters are
    #: percent-encoded.
    app_name: Optional[str]
    #: Names of image parts: "index" name0, name1; "repeat" name; "brackets" name[].
    image_names: Optional[str]
    #: The content type of JPEG images. Old servers need "image/jpg".
    jpeg_type: Optional[str]


class SessionKeywords(TypedDict, total=False):
    """Options of the group "session"."""

    #: Classes of addresses that the client never connects to: "loopback", "private", "link_local",
    #: "metadata", "multicast", or "not_public".
    deny_addresses: Union[str, Iterable[str]]
    #: Whether to reject requests without https before anything is sent.
    https_only: bool
    #: Whether to require TLS 1.3. Otherwise TLS 1.2 or later is required.
    require_tls_1_3: bool
    #: Whether to refuse servers that do not staple a good OCSP response.
    require_staple: bool
    #: Whether the certificate must match the host name. If False, one warning per process is printed to
    #: standard error.
    check_name: bool
    #: The URL of a proxy for all requests, with the scheme http, https, socks4, socks4a, socks5, or socks5h.
    #: "" uses no proxy. Any other value fails with `bad_value`. If this option is not set, the client reads
    #: the environment (`http_proxy`, `https_proxy`, `all_proxy`) when it is created.
    proxy: Optional[str]
    #: Hosts without a proxy: "example.org" including subdomains, "10.0.0.0/8", "[::1]", or "*". ":port"
    #: restricts an entry. An entry is a name (`example.org` or `.example.org`, for the host and its
    #: subdomains), an address, a network (`10.0.0.0/8`, `fe80::/10`), or `*` for every host. A port restricts
    #: an entry: `example.org:8080`, `[::1]:8080`. Any other value fails with `bad_value`. If this option is
    #: not set, the client reads `no_proxy` from the environment when it is created.
    no_proxy: Union[str, Iterable[str], None]
    #: The path of a PEM file of revocation lists. Every CA in the chain needs a revocation list; otherwise,
    #: the connection fails.
    crl_file: Target
    #: Addresses of hosts, used instead of a DNS lookup: {"host:port": "127.0.0.1"}. The host name does not
    #: change, including in the certificate check.
    resolve: Optional[Mapping[str, Union[str, Iterable[str]]]]
    #: The network interface ("eth0") or local address of outgoing connections.
    interface: Optional[str]
    #: The absolute path of a Unix socket for all connections, regardless of the URL's host. Proxies are then
    #: not used.
    unix_socket: Optional[Target]


class FixedKeywords(TypedDict, total=False):
    """Options of the group "fixed"."""

    #: Whether pins alone decide if a pinned host is trusted. The issuer is not checked. With key pins, the
    #: validity dates are not checked either. Prints one warning per process to standard error.
    allow_invalid: bool
    #: How certificates in the pins are used. "keys": the server's key must be the key of one of them.
    #: "certificates": they are trust anchors, and the chain must lead to one of them.
    pin_mode: str
    #: Whether to refuse hosts without pins.
    require_pins: bool
    #: Whether a pin mismatch only prints a warning to standard error, once per host, and the connection
    #: continues.
    report_pins: bool
    #: The name of the storage directory in the user's cache directory.
    storage_name: Optional[str]
    #: The absolute path of the storage directory, used instead of storage_name.
    storage_directory: Optional[str]
    #: (user, password), sent only to proxies.
    proxy_auth: Optional[Tuple[str, str]]
    #: True reads user names and passwords by host from ~/.netrc when the client is created. A path reads
    #: another file.
    netrc: Union[bool, Target]


class ChangeKeywords(TypedDict, total=False):
    """Options of the group "changes"."""

    #: The base URL against which relative URLs are resolved (RFC 3986). A missing trailing slash is added.
    base_url: str


#: A line for each keyword: keyword | default | description
ROWS = """\
hook_timeout | 30 | The timeout of a hook. After the timeout, the default behavior applies. 0 applies the default at once. In seconds
max_redirects | 10 | The maximum number of redirects. 0 returns the redirect response. From 0 to 100
keep_auth_across_hosts | False | Whether to send credentials, the headers that you set, and the body after a redirect to another scheme, host, or port. Enable it only for servers that trust each other
max_retries | 5 for downloads, 0 for requests | The maximum number of automatic retries of transient failures. From 0 to 1,000
retry_unsafe_methods | False | Whether to retry requests with methods that are not idempotent, such as POST. The server may execute such a request twice
wait_for_network | 0 for requests, 60 s for downloads | The maximum time that a transfer waits while its host is unreachable. 0: no wait. In seconds
send_languages | False | Whether to send the user's languages as Accept-Language, taken from the environment (`LANGUAGE`, `LC_ALL`, `LC_MESSAGES`, `LANG`). A header that you set overrides it
http_version | 2 over TLS; 1.1 for downloads and bodies over 16 KiB | "1.1", or "2" if the server supports it
compressed | 1 | 0 requests no content encoding, 1 requests gzip and deflate, 2 also br and zstd
max_body_bytes | 67108864 | The maximum size in bytes of a body collected in memory, after decoding
max_header_bytes | 307200 | The maximum size of the response headers in bytes. From 1,024 to 307,200
max_send_bytes_per_second | 0 | The maximum send rate of one transfer in bytes per second. 0: no limit
max_receive_bytes_per_second | 0 | The maximum receive rate of one transfer in bytes per second. 0: no limit
max_download_bytes_per_second | 0 | The maximum total receive rate of all downloads in bytes per second. A new value also applies to running downloads. 0: no limit
default_parameters | True | Whether to add the client's default parameters. Parameters of the request override them
ignore_base | False | Whether to ignore the client's base URL, both for the request's URL and for its identifier
json_only | False | Whether a response fails if its content type is not JSON or its body is not valid JSON
array_style | "brackets" | The encoding of arrays in queries and forms. "brackets": `a[]=1&a[]=2`. "repeat": `a=1&a=2`. "index": `a[0]=1&a[1]=2`
cookies | True | False neither stores nor sends cookies. "isolated" keeps them for one request and its redirects. The cookies of a mapping are sent to the host of every request's URL; see `Client.cookies`
priority | 0 | The priority among requests that wait for a connection, and among queued downloads. The highest priority starts first. Equal priorities start in the order of submission. From -100 to 100
unreadable | "fail" | What an upload does with an image that it cannot read. "fail": nothing is sent. With separate, only these images fail. "skip": the image is omitted. "send": the file is sent unchanged, with all metadata
separate | 0 | The number of images to send concurrently, each in a separate request. 0 sends one form
image_retries | 0 | The maximum number of retries of an image after a transient failure, with separate. The server may receive the image twice. From 0 to 1,000
extended_names | False | Whether to send non-ASCII file names a second time as `filename*`. RFC 7578 advises against it, and few servers need it
body_digest | "none" | The digest of the body, sent in a header. The body is then read twice. "none": no digest. "md5": Content-MD5. "sha256": Content-Digest with SHA-256. "sha512": Content-Digest with SHA-512
part_digests | "none" | The digest of each image and file of a form, sent in the headers of its part. "none": no digest. "md5": Content-MD5. "sha256": Content-Digest with SHA-256. "sha512": Content-Digest with SHA-512
max_per_host | 6 | The maximum number of connections to one origin. From 1 to 100,000
max_connections | 32 | The maximum number of connections. From 1 to 100,000
max_downloads | 0 | The maximum number of concurrent downloads. Further downloads wait in the order of their priority. A paused download gives up its slot. 0: no limit. From 0 to 100,000
member_style | "brackets" | The encoding of object members in queries and forms. "brackets": `a[b]=1`. "dots": `a.b=1`
bool_style | "digits" | The encoding of bools in queries and forms. "digits": `1` and `0`. "words": `true` and `false`
coalesce | False | Whether to share the response of an identical request of this client that is in progress, instead of sending a second one. A failure is shared too
body_coding | "identity" | The content encoding of request bodies. The server must support the encoding, and few servers announce their support. "identity": no coding. "gzip": the gzip format. "deflate": the zlib format
deny_metered | False | Whether to fail with `metered` instead of connecting over a mobile network. Name lookups are not restricted
body_coding_min_bytes | 1024 | The minimum body size in bytes for body_coding. Smaller bodies are sent unchanged
coded_body | "skip" | How body_coding treats a request with a Content-Encoding header, set on the request or on the client. "skip": the body is sent unchanged. "replace": the body is compressed, and the header names only the new encoding. "error": the request fails with `bad_header`
cache | False | Whether requests without a cache policy use the HTTP cache (RFC 9111)
cache_max_bytes | 268435456 | The maximum size in bytes of each of the two caches on disk. The least recently used entries are removed first. A response larger than an eighth of the size is not stored
cache_memory_bytes | 16777216 | The maximum size in bytes of the responses that each of the two caches keeps in memory. 0 keeps none
image_memory_bytes | 67108864 | The maximum size in bytes of the decoded images that the image loader keeps in memory. The least recently used ones are removed first. 0 keeps none
rate_limit | 0 | The maximum number of requests per rate_interval. Further requests wait in the order of their priority. 0: no limit. From 0 to 1,000,000
host_rate_limit | 0 | The maximum number of requests per rate_interval to each origin (scheme, host, and port), in addition to rate_limit. 0: no limit. From 0 to 1,000,000
rate_burst | 0 | The maximum number of requests that may start at once after an idle period. 0: the number that may start in one rate_interval. From 0 to 10,000
rate_interval | 1 | The interval of rate_limit and host_rate_limit. From 0.001 to 86400. In seconds
deny_addresses | none | Classes of addresses that the client never connects to: "loopback", "private", "link_local", "metadata", "multicast", or "not_public"
https_only | False | Whether to reject requests without https before anything is sent
require_tls_1_3 | False | Whether to require TLS 1.3. Otherwise TLS 1.2 or later is required
require_staple | False | Whether to refuse servers that do not staple a good OCSP response
allow_invalid | False | Whether pins alone decide if a pinned host is trusted. The issuer is not checked. With key pins, the validity dates are not checked either. Prints one warning per process to standard error
check_name | True | Whether the certificate must match the host name. If False, one warning per process is printed to standard error
pin_mode | "keys" | How certificates in the pins are used. "keys": the server's key must be the key of one of them. "certificates": they are trust anchors, and the chain must lead to one of them
require_pins | False | Whether to refuse hosts without pins
report_pins | False | Whether a pin mismatch only prints a warning to standard error, once per host, and the connection continues
resume | True | Whether a download resumes an existing partial file
make_directories | False | Whether to create the missing directories of a file
durability | 1 | For downloads: 0 lets the system decide when to write to the disk, 1 writes every second or 4 MiB, 2 every second or 1 MiB
segments | "auto" | Connections per file: 1 to 16, or "auto", which adds connections as long as they increase the speed
stall_bytes_per_second | 1000 | The minimum speed of a download in bytes per second. A download that is slower for stall_timeout has stalled and is retried. With 0, only the idle timeout applies
stall_timeout | 10 | The time that a download may be slower than stall_bytes_per_second before it counts as stalled. In seconds
partial_of | "same_path" | The partial files that a download resumes, if the server confirms their validator and length. "url": those of the same URL. "same_path": those of the same URL with any query. "any": any partial file for the same output file
max_retry_after | 60 | The maximum wait that a server may request with Retry-After. If the server requests more, a download fails with `retry_later`, and a request returns the error response. In seconds
debug | False | Whether to write all events to standard error, without secrets or bodies. A new value applies immediately
server_time | False | Whether to set the modification time of a downloaded file to the server's Last-Modified. Otherwise, the file keeps the time of the last write
require_verified_length | False | Whether a response over TLS whose body may be incomplete fails with `length_unverified`. Downloads always fail in this case
keep_alive | True | Whether to reuse connections. If false, each request uses a separate connection, sends `Connection: close`, and closes it
cache_stream | False | Whether the caches also serve and store a streamed response. A body larger than an eighth of cache_max_bytes is streamed but not stored
base_url | none | The base URL against which relative URLs are resolved (RFC 3986). A missing trailing slash is added
app_version | "1" | The application's version. Cache entries of other versions are misses
user_agent | Wherry and its version | The User-Agent header
storage_name | the script's name | The name of the storage directory in the user's cache directory
storage_directory | none | The absolute path of the storage directory, used instead of storage_name
app_name | none | The application's name for user_agent. Accents are removed, and other non-ASCII characters are percent-encoded
proxy | from the environment | The URL of a proxy for all requests, with the scheme http, https, socks4, socks4a, socks5, or socks5h. "" uses no proxy
proxy_auth | that of the URL | (user, password), sent only to proxies
no_proxy | from the environment | Hosts without a proxy: "example.org" including subdomains, "10.0.0.0/8", "[::1]", or "*". ":port" restricts an entry
crl_file | none | The path of a PEM file of revocation lists. Every CA in the chain needs a revocation list; otherwise, the connection fails
tag | none | A name that you choose for a group of transfers
image_names | "index" | Names of image parts: "index" name0, name1; "repeat" name; "brackets" name[]
jpeg_type | "image/jpeg" | The content type of JPEG images. Old servers need "image/jpg"
resolve | none | Addresses of hosts, used instead of a DNS lookup: {"host:port": "127.0.0.1"}
interface | chosen by the system | The network interface ("eth0") or local address of outgoing connections
unix_socket | none | The absolute path of a Unix socket for all connections, regardless of the URL's host. Proxies are then not used
netrc | False | True reads user names and passwords by host from ~/.netrc when the client is created. A path reads another file
"""


def rows(kind: Any) -> str:
    """Returns the lines of the keywords of a class."""
    known = {row.partition(" | ")[0]: row for row in ROWS.splitlines()}
    return "\n".join(known[name] for name in kind.__annotations__)
