# Wherry: the keyword descriptions for `help`
# SPDX-License-Identifier: Apache-2.0
"""One line for every keyword: its name, its default, and its description."""

from __future__ import annotations

from typing import Any

# Each line: keyword | default | description

COMMON = """\
params | none | Query parameters: a mapping, pairs, or a query string that is sent as written. A list repeats its name; None becomes an empty value
headers | the client's | Headers. None as a value removes the client's header
auth | the client's | (user, password), Basic, Bearer, DigestAuth, an Auth, or a function. None does not send the client's credentials
cookies | the client's | A mapping of names to values, or a cookie jar. The client's cookies of other names are sent too. False neither sends nor stores cookies
timeout | the client's | Seconds for each wait, (connect, idle), a Timeout, or None for no limit
follow_redirects | True | False returns the redirect response itself
context | none | Any object; returned with the response, the download, or the error
metrics | False | Whether the response has `Response.metrics`
base | the one without a name | The name of a base URL of the client, or several to try in turn
accept_status | none | Additional statuses that `raise_for_status` accepts
"""

HOOKS = """\
adapt | none | Called with the final Request before each attempt, to edit or sign it. An exception cancels the request
on_credentials | none | Called with a 401 response and its realm. Returns (user, password), or None
on_retry | none | Called with the error and the number of earlier failed attempts. Return None to apply max_retries, False to give up, True to retry, or the delay in seconds
refresh_token | none | Called with the 401 response to auth=Bearer(...), once for all requests that received a 401. Return the new token, or None
on_headers | none | Called with the response headers. Return None to continue, False to end the transfer, or a path to save the body to
on_redirect | none | Called with a redirect response and the Request that would follow it, which you can edit. Return None to follow the redirect, or False to receive the redirect response
accept_status_range | below 400 | (lowest, highest) or a range: the statuses that `raise_for_status` accepts
hooks | the client's | Functions under "response", called with the response instead of the client's hooks. False disables all hooks
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
stale_if_error | 0 | Seconds after expiry for which a response of the HTTP cache is accepted if the server fails. Not for responses that must be validated (no-cache)
on_cached | none | Implies cache_policy="then_network". A plain function, called with the stored response before the network request
store | all | Called with a response before it is stored. Return True, False, or the header names to omit from it and from later 304 updates
progress | none | A plain function, called with a Progress as bytes are transferred
"""

KEY = """\
cache_ignore | none | Names of parameters that the cache key ignores
cache_headers | none | Names of headers that are part of the cache key
cache_partition | none | A string that is part of the cache key, such as a user name
cache_version | 0 | Responses stored with another version are deleted and count as misses
"""

UPLOAD = """\
name | "image" | Parts are named name0, name1, ...
quality | 1.0 | JPEG quality from 0 to 1. 1, or a value outside this range, sends the original if possible
compression | none | A Compression, which has more settings than the quality
fields | none | Form fields, sent before the images
part_headers | none | Additional headers of the part of each image
progress | none | A plain function, called with a Progress as bytes are transferred
method | "POST" | The method
"""

DOWNLOAD = """\
directory | none | A directory, used instead of a path. The server determines the file name
overwrite | False | True replaces an existing file
rename | False | True adds a number to the name if the file exists
mirrors | none | Other URLs of the same file, tried in order. Mirrors require a digest
sha256 | none | The required digest of the complete file. Set at most one digest
sha512 | none | Like sha256 (also for sha1 and md5)
sha1 | none | The same
md5 | none | The same
digest | none | The algorithm of a digest to compute, such as "sha256". `Download.digests` returns the digest
progress | none | A plain function, called with a Progress as bytes are transferred
"""

LIVE = """\
adapt | none | Called with the final Request before each attempt, to edit or sign it. An exception cancels the request
on_retry | none | Called with the error and the number of earlier failed attempts. Return None to apply max_retries, False to give up, True to retry, or the delay in seconds
refresh_token | none | Called with the 401 response to auth=Bearer(...), once for all requests that received a 401. Return the new token, or None
on_headers | none | Called with the response headers. Return None to continue, False to end the transfer, or a path to save the body to
on_redirect | none | Called with a redirect response and the Request that would follow it, which you can edit. Return None to follow the redirect, or False to receive the redirect response
accept_status_range | below 400 | (lowest, highest) or a range: the statuses that `raise_for_status` accepts
secret_names | none | Additional names of headers and parameters whose values are omitted from logs
default_encoding | "utf-8" | The charset of text that declares none, or a function that returns the charset of a body
"""

FIXED = """\
proxies | those of the environment | The proxy for each scheme: {"http": URL, "https": URL, "all": URL}. None or "" uses no proxy
pin_expiry | never | The expiry time of each host's pins, in seconds since 1970
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
end | "short_page" | How to detect the last page: "short_page", "last_page", "has_next", "total", "cursor", or "link"
end_path | none | The path of the value that marks the end; with "link", of the URL of the next page (without a path: the Link header)
key | none | The path of the key of an item. Of items with equal keys, one is kept. "" is the item itself
newest_wins | False | True keeps the last of items with equal keys, at the position of the first
kept_pages | 0 | The number of pages to keep and show again without a request
prefetch | 1 | The number of pages that an iteration loads ahead
type | none | A dataclass for the items
on_event | none | Called with an event name, a page number, and an error or None; see docs/paging.md"""


def document(kind: Any, *tables: str) -> None:
    """Appends the keywords to the docstring of a class, for `help`."""
    rows = [row.split(" | ") for table in tables for row in table.splitlines()]
    told = [f"``{name}`` (default {default}): {meaning}" for name, default, meaning in rows]
    kind.__doc__ = "\n\n".join((kind.__doc__ or "", *told))
