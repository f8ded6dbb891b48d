# Wherry: the keyword descriptions for `help`
# SPDX-License-Identifier: Apache-2.0
"""One line for every keyword: its name, its default, and its description."""

from __future__ import annotations

from typing import Any

# Each line: keyword | default | description

COMMON = """\
params | none | Query parameters: a mapping, pairs, or text that is sent as written. A list repeats its name; None is empty
headers | the client's | Headers. None as a value removes the client's header
auth | the client's | (user, password), Basic, Bearer, DigestAuth, an Auth, or a function. None sends no credentials of the client
cookies | the client's | A mapping of names to values, or a cookie jar. The client's cookies of other names are sent too. False neither sends nor stores cookies
timeout | the client's | Seconds for each wait, (connect, idle), a Timeout, or None for no limit
follow_redirects | True | False returns the redirect response itself
max_redirects | 10 | Maximum number of redirects to follow
tag | none | A name of yours, to select a group of transfers
context | none | Any value of yours, returned with the response, the download, or the error
metrics | False | True: the response has `Response.metrics`
default_parameters | True | False omits the client's default parameters
base | the one without a name | The name of a base URL of the client, or several to try in turn
ignore_base | False | True uses the URL without the base URL
array_style | "brackets" | Arrays in queries: "brackets" a[]=, "repeat" a=, "index" a[0]=
member_style | "brackets" | Members of objects in queries: "brackets" a[b]=, "dots" a.b=
bool_style | "digits" | Booleans in queries: "digits" 1 and 0, "words" true and false
http_version | 2 over TLS, downloads 1.1 | "1.1", or "2" if the server supports it
priority | 0 | From -100 to 100. Among requests that wait for a connection, and queued downloads, higher priorities start first
max_body_bytes | 67108864 | Maximum size of a decoded response body in memory
max_send_bytes_per_second | 0: no limit | Maximum send speed of a transfer
max_receive_bytes_per_second | 0: no limit | Maximum receive speed of a transfer
keep_auth_across_hosts | False | True sends credentials to other hosts after a redirect
json_only | False | True: a response that is not JSON, or is not labeled as JSON, is an error
accept_status | none | Additional statuses that `raise_for_status` accepts
wait_for_network | 0; downloads 60 | Seconds to wait if there is no route to the host
deny_metered | False | True: fail with a NetworkError `metered` instead of using a mobile network
require_verified_length | False | True: a TLS body that may be incomplete is a NetworkError `length_unverified`
keep_alive | True | False uses a new connection for each request, and closes it afterwards
max_retries | downloads 5, requests 0 | Maximum number of retries after a transient failure
retry_unsafe_methods | False | True retries POST and PATCH too; the server may carry them out twice
max_retry_after | 60 | Maximum Retry-After in seconds. A longer one fails a download with `retry_later`
"""

DECISIONS = """\
adapt | none | Called with the final Request before each attempt, to edit or sign it. An exception cancels the request
on_credentials | none | Called with a 401 response and its realm. Returns (user, password), or None
on_retry | none | Called with the error and the number of earlier failed attempts. Returns None (max_retries decides), False, True, or seconds to wait
refresh_token | none | Called with the 401 response to auth=Bearer(...), once for all requests that got one. Returns the new token, or None
on_head | none | Called with the response headers. None continues, False ends the transfer, a path saves the body to a file
on_redirect | none | Called with a redirect and the Request that would follow, to edit. None sends it, False returns the redirect response
decision_timeout | 30 | Seconds that such a callback may take. After that, the request continues as if there were none
accept_status_range | below 400 | (lowest, highest) or a range: the statuses that `raise_for_status` accepts
hooks | the client's | Functions for "response", called with the response, in place of the client's. False calls none
overwrite | False | True replaces an existing file
rename | False | True adds a number to the name if the file exists
make_directories | False | True creates missing directories
"""

BODY = """\
parameters | none | With GET, HEAD, DELETE, or an explicit body (json=, data=): query parameters. Otherwise a JSON body or form fields
json | none | The body, encoded as JSON
data | none | bytes, str, a dictionary (form), a file, a path, an iterator, or a Sized object
content | none | The same as data= without dictionaries, as in httpx
files | none | name: file, bytes, path, Sized, or (file name, content, content type, headers)
extended_names | False | True also sends filename* for file names that are not ASCII
body_digest | "none" | Send the digest of the body: "md5" (Content-MD5), "sha256", "sha512" (Content-Digest)
part_digests | "none" | The same in the headers of each file or image part
body_coding | "identity" | Compress the body: "gzip" or "deflate". Not for forms with files
body_coding_min_bytes | 1024 | Bodies known to be smaller are not compressed
coded_body | "skip" | If there is a Content-Encoding header already: "skip" compression, "replace", or "error"
cache_stream | False | True: the caches also serve and store a streamed response, up to an eighth of cache_max_bytes
"""

COLLECTED = """\
json_shape | none | The required structure of a successful JSON response, such as {"name": str, "friends": [{"id": int}]}. Otherwise `bad_json_body`
coalesce | False | True: an equal request that is running, also with True, is not sent again. Both get its response
cache | not stored | Seconds for which the response serves later requests. 0 stores nothing
cache_policy | "use" with cache=, "protocol" with the client's cache=True | "off". For the timed cache: "use", "only", "refresh", "then_network". For the HTTP cache: "protocol", "reload", "any_age", "any_age_only"
stale_if_error | 0 | If the server fails, seconds for which a stale response of the HTTP cache is accepted. Not for responses that must be validated (no-cache)
on_cached | none | Implies cache_policy="then_network". A plain function, called with the stored response before the network request
store | all | Called with a response before it is stored. Returns True, False, or header names to omit, now and after each 304
progress | none | Called with a Progress as bytes are transferred
"""

KEY = """\
cache_ignore | none | Names of parameters that the cache key ignores
cache_headers | none | Names of headers that are part of the cache key
cache_partition | none | A text that is part of the cache key, such as a user name
cache_version | 0 | Responses stored with another version are deleted and count as missing
"""

UPLOAD = """\
name | "image" | Parts are named name0, name1, ...
quality | 1.0 | JPEG quality from 0 to 1. 1, or a value outside, sends the original if possible
compression | none | A Compression, which has more settings than the quality
fields | none | Form fields, sent before the images
separate | 0 | Send each image in a separate request, this many at once. 0 sends one form
image_retries | 0 | With separate=, the maximum number of retries of an image after a transient failure
unreadable | "fail" | What to do with unreadable images: "fail" before anything is sent (with separate=, only these fail), "skip", or "send"
part_headers | none | Additional headers of the part of each image
extended_names | False | True also sends filename* for file names that are not ASCII
body_digest | "none" | Send the digest of the body: "md5" (Content-MD5), "sha256", "sha512" (Content-Digest)
part_digests | "none" | The same in the headers of each file or image part
progress | none | Called with a Progress as bytes are transferred
method | "POST" | The method
"""

DOWNLOAD = """\
directory | none | A directory, used instead of a path. The server determines the file name
resume | True | False starts over, and ignores a partial file
overwrite | False | True replaces an existing file
rename | False | True adds a number to the name if the file exists
make_directories | False | True creates missing directories
server_time | False | True sets the modification time of the file to Last-Modified
segments | "auto" | Connections per file: 1 to 16, or as many as increase the speed
stall_timeout | 10 | Seconds below stall_bytes_per_second after which an attempt is `stalled` and retried. If set, it also shortens the limit for the first byte
mirrors | none | Other URLs of the same file, tried in turn. They need a digest
partial_of | "same_path" | Partial files to resume: those of the same "url", of the "same_path" (any query), or of "any" URL
sha256 | none | The required digest of the complete file. Give at most one
sha512 | none | The same
sha1 | none | The same
md5 | none | The same
digest | none | A digest to compute, such as "sha256". `Download.digests` returns it
progress | none | Called with a Progress as bytes are transferred
"""

LIVE = """\
adapt | none | Called with the final Request before each attempt, to edit or sign it. An exception cancels the request
on_retry | none | Called with the error and the number of earlier failed attempts. Returns None (max_retries decides), False, True, or seconds to wait
refresh_token | none | Called with the 401 response to auth=Bearer(...), once for all requests that got one. Returns the new token, or None
on_head | none | Called with the response headers. None continues, False ends the transfer, a path saves the body to a file
on_redirect | none | Called with a redirect and the Request that would follow, to edit. None sends it, False returns the redirect response
decision_timeout | 30 | Seconds that such a callback may take. After that, the request continues as if there were none
accept_status_range | below 400 | (lowest, highest) or a range: the statuses that `raise_for_status` accepts
max_redirects | 10 | Maximum number of redirects to follow
wait_for_network | 0; downloads 60 | Seconds to wait if there is no route to the host
deny_metered | False | True: fail with a NetworkError `metered` instead of using a mobile network
require_verified_length | False | True: a TLS body that may be incomplete is a NetworkError `length_unverified`
keep_alive | True | False uses a new connection for each request, and closes it afterwards
max_retries | downloads 5, requests 0 | Maximum number of retries after a transient failure
retry_unsafe_methods | False | True retries POST and PATCH too; the server may carry them out twice
keep_auth_across_hosts | False | True sends credentials to other hosts after a redirect
http_version | 2 over TLS, downloads 1.1 | "1.1", or "2" if the server supports it
compressed | 1 | 0 requests no content coding, 1 gzip and deflate, 2 also br and zstd
max_body_bytes | 67108864 | Maximum size of a decoded response body in memory
max_header_bytes | 307200 | Maximum size of response headers
max_send_bytes_per_second | 0: no limit | Maximum send speed of a transfer
max_receive_bytes_per_second | 0: no limit | Maximum receive speed of a transfer
max_download_bytes_per_second | 0: no limit | Maximum receive speed of all downloads together. Changes apply at once
json_only | False | True: a response that is not JSON, or is not labeled as JSON, is an error
array_style | "brackets" | Arrays in queries: "brackets" a[]=, "repeat" a=, "index" a[0]=
member_style | "brackets" | Members of objects in queries: "brackets" a[b]=, "dots" a.b=
bool_style | "digits" | Booleans in queries: "digits" 1 and 0, "words" true and false
extended_names | False | True also sends filename* for file names that are not ASCII
unreadable | "fail" | What to do with unreadable images: "fail" before anything is sent (with separate=, only these fail), "skip", or "send"
body_digest | "none" | Send the digest of the body: "md5" (Content-MD5), "sha256", "sha512" (Content-Digest)
part_digests | "none" | The same in the headers of file and image parts
body_coding | "identity" | Compress the body: "gzip" or "deflate". Not for forms with files
body_coding_min_bytes | 1024 | Bodies known to be smaller are not compressed
coded_body | "skip" | If there is a Content-Encoding header already: "skip" compression, "replace", or "error"
max_per_host | 6 | Connections to one host
max_connections | 32 | Connections in total
rate_limit | 0: no limit | Requests, including redirects, that may start per rate_interval, up to 1,000,000. Others wait, and their timeouts continue
host_rate_limit | 0: no limit | The same limit for each host
rate_burst | 0: all of them | How many of these may start at once, up to 10,000
rate_interval | 1 | Seconds, 0.001 to 86400
cookies | True | False neither stores nor sends cookies. "isolated" keeps them for one request and its redirects. A mapping is sent to every host; see `Client.cookies`
cache | False | True: the HTTP cache (RFC 9111) serves requests and stores responses
cache_max_bytes | 268435456 | Maximum size of each cache on disk. The least recently used responses are deleted first
cache_memory_bytes | 16777216 | Maximum size of each cache in memory
make_directories | False | True creates missing directories
durability | 1 | Downloads: 0 leaves writing to the system, 1 makes checkpoints, 2 makes one every MiB
max_downloads | 0: no limit | Downloads that run at once. The others wait
server_time | False | True sets the modification time of the file to Last-Modified
segments | "auto" | Connections per file: 1 to 16, or as many as increase the speed
stall_bytes_per_second | 1000 | The speed below which a download counts as stalled
stall_timeout | 10 | Seconds below stall_bytes_per_second after which an attempt is `stalled` and retried. If set, it also shortens the limit for the first byte
max_retry_after | 60 | Maximum Retry-After in seconds. A longer one fails a download with `retry_later`
debug | False | True logs to stderr. Changes apply at once
secret_names | none | Additional names of headers and parameters whose values are omitted from logs
app_version | "1" | Responses stored with another version count as missing
app_name | none | The application's name in the User-Agent header
user_agent | "Wherry/...", or of app_name and app_version | The User-Agent header
default_encoding | "utf-8" | The charset of a text without one, or a function of the body that returns it
send_languages | False | True: Accept-Language lists the languages of the environment
image_names | "index" | Names of image parts: "index" name0, name1; "repeat" name; "brackets" name[]
jpeg_type | "image/jpeg" | The content type of JPEG parts. Old servers expect "image/jpg"
"""

FIXED = """\
storage_name | the program's name | The directory for stored data in the user's cache directory
storage_directory | none | An absolute path, used instead of a name
proxy | the environment's | The URL of a proxy. "" uses none
proxies | those of the environment | The proxy of each scheme: {"http": URL, "https": URL, "all": URL}. None or "" uses none
proxy_auth | that of the URL | (user, password), sent only to proxies
no_proxy | the environment's | Hosts without a proxy: "example.org" including subdomains, "10.0.0.0/8", "[::1]", or "*". ":port" restricts an entry
resolve | none | Addresses of hosts, used instead of name lookup: {"host:port": "127.0.0.1"}
interface | the system's choice | The local network interface or address to connect from
unix_socket | none | The path of a Unix socket for every connection, whatever the host
netrc | False | True reads user names and passwords by host from ~/.netrc when the client is created. A path reads another file
https_only | False | True: requests without https are errors
require_tls_1_3 | False | True requires TLS 1.3. Otherwise TLS 1.2 or later
require_staple | False | True: the server must staple a good OCSP response
crl_file | none | A PEM file with revocation lists of every CA in the chain
pin_mode | "keys" | "certificates": pinned certificates are anchors, and the chain must lead to one of them
pin_expiry | never | By host: when its pins expire, in seconds since 1970
require_pins | False | True rejects hosts without pins
report_pins | False | True continues after a pin mismatch, and prints a warning to stderr
allow_invalid | False | True: hosts with pins are verified by their pins only. A warning is printed once
check_name | True | False accepts a certificate for any host name. A warning is printed once
deny_addresses | none | Addresses that are never connected to: "loopback", "private", "link_local", "metadata", "multicast", or "not_public"
"""

CHANGES = """\
base_url | none | The URL that relative URLs are resolved against
bases | none | Additional base URLs by name. None as a value removes one
timeout | 20, 10, 30 s | The timeouts of every request; see Timeout
auth | none | (user, password), Basic, Bearer, DigestAuth, an Auth, or a function, for every request
follow_redirects | True | False returns the redirect response itself
"""

PAGES = """\
items | "" | The path of the array of items in a response, such as "data/list". "" is the response itself
parameter | "nextPage" | The parameter with the page number
first_page | 0 | The number of the first page
size | the server's | Items per page
size_parameter | not sent | The parameter with the size
by_items | False | True: the page parameter is the number of items before the page
end | "short_page" | How the last page is recognized: also "last_page", "has_next", "total", "cursor", "link"
end_path | none | The path of the value that marks the end
key | none | The path of the key of an item. Of items with equal keys, one is kept. "" is the item itself
newest_wins | False | True keeps the last of items with equal keys, at the position of the first
kept_pages | 0 | How many pages are kept, to return them again without a request
prefetch | 1 | How many pages an iteration requests in advance
type | none | A dataclass for the items
on_event | none | Called with a word, a page, and an error or None, as in docs/paging.md"""


def document(kind: Any, *tables: str) -> None:
    """Appends the keywords to the docstring of a class, for `help`."""
    rows = [row.split(" | ") for table in tables for row in table.splitlines()]
    told = [f"``{name}`` (default {default}): {meaning}" for name, default, meaning in rows]
    kind.__doc__ = "\n\n".join((kind.__doc__ or "", *told))
