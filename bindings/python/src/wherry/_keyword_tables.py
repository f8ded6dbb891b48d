# Wherry: the keyword descriptions for `help`
# SPDX-License-Identifier: Apache-2.0
"""One line for every keyword: its name, its default, and its description."""

from __future__ import annotations

from typing import Any

# Each line: keyword | default | description

COMMON = """\
params | none | pairs, or a text that is sent as written, for the query; a list repeats its name, None is empty
headers | the client's | fields; None as a value leaves the client's field out
auth | the client's | (user, password), Basic, Bearer, DigestAuth, an Auth, or a function; None: no credentials of the client
cookies | the client's | a mapping of names to values, or a cookie jar, sent together with the client's cookies of other names; False sends and keeps none
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
member_style | "brackets" | members of objects in queries: "brackets" a[b]=, "dots" a.b=
bool_style | "digits" | bools in queries: "digits" 1 and 0, "words" true and false
http_version | 2 over TLS, downloads 1.1 | "1.1", or "2" where the server offers it
priority | 0 | of what waits for a connection, or for its turn, the highest goes first; -100 to 100
max_body_bytes | 67108864 | the largest body that is collected, decoded
max_send_bytes_per_second | 0: no limit | what is sent at most
max_receive_bytes_per_second | 0: no limit | what is received at most
keep_auth_across_hosts | False | True sends credentials on to other hosts after a redirect
json_only | False | True: an answer that is no JSON, or does not say that it is, is an error
accept_status | none | further statuses that `raise_for_status` lets pass
wait_for_network | 0, of downloads 60 | seconds to wait where there is no way to the host
deny_metered | False | True: no connection over a mobile network; that is a NetworkError `metered`
require_verified_length | False | True: a TLS body that may have been cut is a NetworkError `length_unverified`
keep_alive | True | False: a separate connection for each request, closed afterwards
max_retries | downloads 5, requests 0 | how often it goes again after a failure that may pass
retry_unsafe_methods | False | True: POST and PATCH go again too; the server may do it twice
max_retry_after | 60 | seconds a server may ask for before that; after more a download is `retry_later`
"""

QUESTIONS = """\
adapt | none | called with the final Request before every attempt, to edit or sign it; an exception refuses the request
on_credentials | none | called with a 401 and its realm; gives (user, password), or None
on_retry | none | called with a failure and how many attempts failed before: None (max_retries), False, True, or seconds
refresh_token | none | called with the 401 to auth=Bearer(...), once for all requests that met it; gives the new token, or None
on_head | none | called when the head of the answer has come: None goes on, False ends it, a path has the body saved there
on_redirect | none | called with a redirect and the Request that would follow it, to edit: None sends it, False makes the redirect the answer
decision_timeout | 30 | seconds that such functions have to answer; then it goes on as if there were none
accept_status_range | below 400 | (least, greatest) or a range: the statuses that `raise_for_status` lets pass
hooks | the client's | functions by "response": called with the response, in place of the client's; False: none at all
overwrite | False | True replaces the file that `on_head` names, where it exists
rename | False | True takes a name with a number where it exists
make_directories | False | True makes the folders of that file
"""

BODY = """\
parameters | none | with GET, HEAD, DELETE, or a body of your own (json=, data=): the query; else a JSON body or form fields
json | none | the body as JSON
data | none | bytes, str, a dictionary (form), a file, a path, an iterator, or a Sized one
content | none | the same without the dictionary, as httpx has it
files | none | name: file, bytes, path, Sized, or (file name, content, content type, header fields)
extended_names | False | True sends names of files that are not ASCII as filename* too
body_digest | "none" | sent before the body: "md5" (Content-MD5), "sha256", "sha512" (Content-Digest)
part_digests | "none" | the same in the head of each file
body_coding | "identity" | the content coding of the body: "gzip" or "deflate"; not of forms with files
body_coding_min_bytes | 1024 | what is known to be shorter is not coded
coded_body | "skip" | where there is a Content-Encoding already: "skip" the coding, "replace", or "error"
cache_stream | False | True: the caches serve and store a streamed response too; a body over an eighth of cache_max_bytes is only streamed
"""

COLLECTED = """\
json_shape | none | what the JSON of a success has to look like, as {"name": str, "friends": [{"id": int}]}; else `bad_json_body`
coalesce | False | True: an equal request on its way, with True too, is not sent again: its answer serves both
cache | not stored | seconds for which the answer serves later requests; 0 stores nothing
cache_policy | "use" with cache=, "protocol" with the client's cache=True | "off", or of the timed \
cache "use", "only", "refresh", "then_network", or of the HTTP cache "protocol", "reload", "any_age", \
"any_age_only"
stale_if_error | 0 | seconds past its end for which an answer of the HTTP cache serves where the server fails; not one that must be validated (no-cache)
on_cached | none | means cache_policy="then_network"; a plain function, called with the stored answer before the network is asked
store | all | called with an answer before it is stored: True, False, or header names to leave out, now and after each 304
progress | none | called with a Progress while bytes move
"""

KEY = """\
cache_ignore | none | names of parameters that do not count for what is stored or made invalid
cache_headers | none | names of header fields that count too
cache_partition | none | a text that counts too, such as the user's name
cache_version | 0 | what was stored under another number is deleted and misses
"""

UPLOAD = """\
name | "image" | the parts are called name0, name1, ...
quality | 1.0 | 0...1 for JPEG; 1, and what is outside, sends the original where it fits
compression | none | a Compression: more than the quality
fields | none | fields beside the pictures
separate | 0 | so many pictures at once, each in a request of its own; 0 sends one form
image_retries | 0 | with separate=, how often a picture is sent again whose failure may pass
unreadable | "fail" | pictures that cannot be read: "fail" before a byte is sent (with separate=, those alone), "skip", "send"
part_headers | none | further fields in the head of each picture's part
extended_names | False | True sends names of files that are not ASCII as filename* too
body_digest | "none" | sent before the body: "md5" (Content-MD5), "sha256", "sha512" (Content-Digest)
part_digests | "none" | the same in the head of each picture
progress | none | called with a Progress while bytes move
method | "POST" | the method
"""

DOWNLOAD = """\
directory | none | a folder instead of a path: the file gets the server's name for it
resume | True | False starts at the first byte, whatever an earlier run has kept
overwrite | False | True replaces a target that exists
rename | False | True takes a name with a number where the target exists
make_directories | False | True makes the folders of the target
server_time | False | True: the file gets the time that the server says it was changed at
segments | "auto" | connections for one file: as many as help, or 1 to 16
stall_timeout | 10 | seconds under 1 kB/s that make it `stalled`; if set, also for the first byte
mirrors | none | other URLs of the same bytes, tried one after the other; they need a digest
partial_of | "same_path" | partial files to resume: of the same "url", "same_path" (any query), "any"
sha256 | none | the digest that the whole file must have; at most one of these
sha512 | none | the same
sha1 | none | the same
md5 | none | the same
digest | none | a digest to compute and tell, such as "sha256": `Download.digests` has it
progress | none | called with a Progress while bytes move
"""

LIVE = """\
adapt | none | called with the final Request before every attempt, to edit or sign it; an exception refuses the request
on_retry | none | called with a failure and how many attempts failed before: None (max_retries), False, True, or seconds
refresh_token | none | called with the 401 to auth=Bearer(...), once for all requests that met it; gives the new token, or None
on_head | none | called when the head of the answer has come: None goes on, False ends it, a path has the body saved there
on_redirect | none | called with a redirect and the Request that would follow it, to edit: None sends it, False makes the redirect the answer
decision_timeout | 30 | seconds that such functions have to answer; then it goes on as if there were none
accept_status_range | below 400 | (least, greatest) or a range: the statuses that `raise_for_status` lets pass
max_redirects | 10 | how many redirects are followed
wait_for_network | 0, of downloads 60 | seconds to wait where there is no way to the host
deny_metered | False | True: no connection over a mobile network; that is a NetworkError `metered`
require_verified_length | False | True: a TLS body that may have been cut is a NetworkError `length_unverified`
keep_alive | True | False: a separate connection for each request, closed afterwards
max_retries | downloads 5, requests 0 | how often it goes again after a failure that may pass
retry_unsafe_methods | False | True: POST and PATCH go again too; the server may do it twice
keep_auth_across_hosts | False | True sends credentials on to other hosts after a redirect
http_version | 2 over TLS, downloads 1.1 | "1.1", or "2" where the server offers it
compressed | 1 | 0 asks for no coding, 1 for gzip and deflate, 2 for br and zstd too
max_body_bytes | 67108864 | the largest body that is collected, decoded
max_header_bytes | 307200 | the largest head of an answer
max_send_bytes_per_second | 0: no limit | what a transfer sends at most
max_receive_bytes_per_second | 0: no limit | what a transfer receives at most
max_download_bytes_per_second | 0: no limit | what all downloads receive together; counts at once
json_only | False | True: an answer that is no JSON, or does not say that it is, is an error
array_style | "brackets" | arrays in queries: "brackets" a[]=, "repeat" a=, "index" a[0]=
member_style | "brackets" | members of objects in queries: "brackets" a[b]=, "dots" a.b=
bool_style | "digits" | bools in queries: "digits" 1 and 0, "words" true and false
extended_names | False | True sends names of files that are not ASCII as filename* too
unreadable | "fail" | pictures that cannot be read: "fail" before a byte is sent (with separate=, those alone), "skip", "send"
body_digest | "none" | sent before bodies: "md5" (Content-MD5), "sha256", "sha512" (Content-Digest)
part_digests | "none" | the same in the heads of pictures and files of forms
body_coding | "identity" | the content coding of bodies: "gzip" or "deflate"; not of forms with files
body_coding_min_bytes | 1024 | what is known to be shorter is not coded
coded_body | "skip" | where there is a Content-Encoding already: "skip" the coding, "replace", or "error"
max_per_host | 6 | connections to one host
max_connections | 32 | connections in all
rate_limit | 0: no limit | requests that start in rate_interval, redirects too, 1,000,000 at most; others wait, and their time limits go on
host_rate_limit | 0: no limit | the same for each host, beside it
rate_burst | 0: all of them | how many of these may start at once, 10,000 at most
rate_interval | 1 | seconds, 0.001 to 86400
cookies | True | False neither keeps nor sends cookies, "isolated" keeps them for one request and its redirects; a mapping is sent to every host; see `Client.cookies`
cache | False | True: the HTTP cache (RFC 9111) serves requests and keeps answers
cache_max_bytes | 268435456 | what stored answers may have on disk; the longest unused goes first
cache_memory_bytes | 16777216 | what of them is held in memory
make_directories | False | True makes the folders of download targets
durability | 1 | downloads: 0 leaves it to the system, 1 makes checkpoints, 2 makes one every MiB
max_downloads | 0: no limit | downloads that run at once; the others wait for their turn
server_time | False | True: downloaded files get the time that the server says
segments | "auto" | connections for one download: as many as help, or 1 to 16
stall_bytes_per_second | 1000 | a download that is slower for `stall_timeout` is `stalled`
stall_timeout | 10 | seconds
max_retry_after | 60 | seconds a server may ask for before that; after more a download is `retry_later`
debug | False | True writes what happens to stderr; counts at once
secret_names | none | further names of fields and parameters whose values logs leave out
app_version | "1" | what was stored under another version counts as missing
app_name | none | what the application is called, for the User-Agent field
user_agent | "Wherry/...", or of app_name and app_version | the User-Agent field
default_encoding | "utf-8" | the charset of a text whose Content-Type has none, or a function of the body that returns it
send_languages | False | True: Accept-Language names the languages of the environment
image_names | "index" | parts of uploads: "index" name0, name1; "repeat" name; "brackets" name[]
jpeg_type | "image/jpeg" | the type of JPEG parts; old servers want "image/jpg"
"""

FIXED = """\
storage_name | the program's name | the folder in the user's cache for what is kept
storage_directory | none | an absolute path instead of a name
proxy | the environment's | the URL of a proxy; "" is none
proxies | those of the environment | the proxy of each scheme: {"http": URL, "https": URL, "all": URL}; None or "" is none
proxy_auth | that of the URL | (user, password), sent to proxies only
no_proxy | the environment's | hosts without a proxy: "example.org" with the hosts below it, "10.0.0.0/8", "[::1]", or "*"; ":port" restricts an entry
resolve | none | the addresses of hosts, which are not looked up: {"host:port": "127.0.0.1"}
interface | the system's choice | the network interface or address of this machine to go out by
unix_socket | none | a path to which every connection goes, whatever the host
netrc | False | True reads user names and passwords by host from ~/.netrc when the client is made; a path reads that file
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

CHANGES = """\
base_url | none | what relative URLs are joined to
bases | none | further base URLs by name; None as a value removes one
timeout | 20, 10, 30 s | the limits of every request; see Timeout
auth | none | (user, password), Basic, Bearer, DigestAuth, an Auth, or a function for every request
follow_redirects | True | False: a redirect is the answer
"""

PAGES = """\
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


def tell(kind: Any, *tables: str) -> None:
    """Appends the keywords to the docstring of a class, for `help`."""
    rows = [row.split(" | ") for table in tables for row in table.splitlines()]
    told = [f"``{name}`` (default {default}): {meaning}" for name, default, meaning in rows]
    kind.__doc__ = "\n\n".join((kind.__doc__ or "", *told))
