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
context | none | Any value of yours, returned with the response, the download, or the error
metrics | False | True: the response has `Response.metrics`
base | the one without a name | The name of a base URL of the client, or several to try in turn
accept_status | none | Additional statuses that `raise_for_status` accepts
"""

HOOKS = """\
adapt | none | Called with the final Request before each attempt, to edit or sign it. An exception cancels the request
on_credentials | none | Called with a 401 response and its realm. Returns (user, password), or None
on_retry | none | Called with the error and the number of earlier failed attempts. Returns None (max_retries decides), False, True, or seconds to wait
refresh_token | none | Called with the 401 response to auth=Bearer(...), once for all requests that got one. Returns the new token, or None
on_headers | none | Called with the response headers. None continues, False ends the transfer, a path saves the body to a file
on_redirect | none | Called with a redirect and the Request that would follow, to edit. None sends it, False returns the redirect response
accept_status_range | below 400 | (lowest, highest) or a range: the statuses that `raise_for_status` accepts
hooks | the client's | Functions for "response", called with the response, in place of the client's. False calls none
overwrite | False | True replaces an existing file
rename | False | True adds a number to the name if the file exists
"""

BODY = """\
parameters | none | With GET, HEAD, DELETE, or an explicit body (json=, data=): query parameters. Otherwise a JSON body or form fields
json | none | The body, encoded as JSON
data | none | bytes, str, a dictionary (form), a file, a path, an iterator, or a Sized object
content | none | The same as data= without dictionaries, as in httpx
files | none | name: file, bytes, path, Sized, or (file name, content, content type, headers)
"""

COLLECTED = """\
json_shape | none | The required structure of a successful JSON response, such as {"name": str, "friends": [{"id": int}]}. Otherwise `bad_json_body`
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
part_headers | none | Additional headers of the part of each image
progress | none | Called with a Progress as bytes are transferred
method | "POST" | The method
"""

DOWNLOAD = """\
directory | none | A directory, used instead of a path. The server determines the file name
overwrite | False | True replaces an existing file
rename | False | True adds a number to the name if the file exists
mirrors | none | Other URLs of the same file, tried in turn. They need a digest
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
on_headers | none | Called with the response headers. None continues, False ends the transfer, a path saves the body to a file
on_redirect | none | Called with a redirect and the Request that would follow, to edit. None sends it, False returns the redirect response
accept_status_range | below 400 | (lowest, highest) or a range: the statuses that `raise_for_status` accepts
secret_names | none | Additional names of headers and parameters whose values are omitted from logs
default_encoding | "utf-8" | The charset of a text without one, or a function of the body that returns it
"""

FIXED = """\
proxies | those of the environment | The proxy of each scheme: {"http": URL, "https": URL, "all": URL}. None or "" uses none
pin_expiry | never | By host: when its pins expire, in seconds since 1970
"""

CHANGES = """\
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
