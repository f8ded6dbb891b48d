# Wherry: the cache of a client
# SPDX-License-Identifier: Apache-2.0
"""`Cache` and `AsyncCache`: read, list, and clear cached responses."""

from __future__ import annotations

from .._core.calls import check, copy_text, create, entry_rows, read_struct
from .._core.response.native import fill_from_native
from .._core.response.response import Response, received
from .._core.values import cut_milliseconds, text
from .._errors import ArgumentError, brief, without_query
from .._native import codes
from .._native.library import lib
from .._native.memory import CACHE_USAGE, Cell
from .._waiting.running import in_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, List, Optional, Tuple, TypeVar, Union

    from typing_extensions import Unpack

    from .._core.exchange.draft import Draft
    from .._core.keywords import RequestOptions
    from .base import BaseClient

    Result = TypeVar("Result")
    Stores = Union[str, Iterable[str]]


#: The names of the caches by number, and the default value of ``stores=``.
STORE_NAMES = {number: name for name, number in codes.STORES.items()}
BOTH_STORES = tuple(codes.STORES)


class CacheEntry:
    """A cached response, without its body."""

    __slots__ = (
        "id", "identifier", "method", "url", "stored_at", "expires_in", "body_bytes",
        "status_code", "store",
    )  # fmt: skip

    def __init__(self, row: Tuple[Any, ...]) -> None:
        number, identifier, method, url, stored, fresh, size, code, store = row
        self.id: str = number or ""
        #: The cache that contains the entry: "timed" or "http".
        self.store: str = STORE_NAMES.get(store, "")
        #: The value of `Client.identifier` for the request; "" in the HTTP cache.
        self.identifier: str = identifier or ""
        self.method: str = method or ""
        #: The absolute URL of the request. Secret values in its query are replaced by digests, such
        #: as ``token=***3f0c...``; `Cache.entries` and `Cache.clear` accept this form.
        self.url: str = url or ""
        #: The time of storage, in seconds since 1970.
        self.stored_at: float = stored / 1000
        #: Seconds until the entry expires, counted from the listing. In the HTTP cache, 0 means
        #: that the entry must be validated before use.
        self.expires_in: float = fresh / 1000
        self.body_bytes: int = size
        self.status_code: int = code

    def __repr__(self) -> str:
        return f"<CacheEntry {self.method} {without_query(self.url)} {self.status_code}>"


class CacheUsage:
    """The storage used by both caches of a client."""

    __slots__ = ("entries", "entry_bytes", "partials", "partial_bytes", "memory_bytes")

    def __init__(self, values: Tuple[int, ...]) -> None:
        #: The number of entries, and their size on disk in bytes.
        self.entries, self.entry_bytes = values[:2]
        #: The number of partial files, and their size in bytes, in directories that this client has
        #: used.
        self.partials, self.partial_bytes = values[2:4]
        #: The size in bytes of entries that are also in memory.
        self.memory_bytes = values[4]

    def __str__(self) -> str:
        """The size on disk, such as "1.2385 MB"."""
        return copy_text(lib.wherry_format_bytes, self.entry_bytes + self.partial_bytes)

    def __repr__(self) -> str:
        return f"<CacheUsage {self.entries} entries, {self}>"


class BaseCache:
    """The common base of `Cache` and `AsyncCache`. All methods block."""

    __slots__ = ("_client",)

    def __init__(self, client: BaseClient[Any]) -> None:
        self._client = client

    def _with_draft(self, method: Optional[str], url: str, options: Any, use: Callable[[Draft], Result]) -> Result:
        draft = self._client._draft(method, url, options)
        try:
            return use(draft)
        finally:
            draft.free()

    def _read(self, draft: Draft) -> Response:
        handle = create(lib.wherry_client_read_cache, self._client._live(), draft.handle)
        return _response(handle, draft.new_response())

    def _write(self, draft: Draft, content: bytes, kind: Optional[str], seconds: float) -> None:
        sent = None if kind is None else text(kind, "bad_header")
        duration = cut_milliseconds(seconds)
        live = self._client._live()
        check(lib.wherry_client_write_cache(live, draft.handle, content, len(content), sent, duration))

    def _remove(self, draft: Draft) -> bool:
        count = Cell()
        live = self._client._live()
        check(lib.wherry_client_remove_cache(live, draft.handle, count.address))
        return count.take() > 0

    def _entries(
        self, url: Optional[str], method: Optional[str], base: Optional[str], stores: Stores
    ) -> List[CacheEntry]:
        choice = _selection(url, method, base)
        live = self._client._live()
        listing = create(lib.wherry_client_list_cache, live, _stores(stores), *choice)
        return [CacheEntry(row) for row in entry_rows(listing)]

    def _open(self, entry: CacheEntry) -> Response:
        live = self._client._live()
        handle = create(lib.wherry_client_read_cache_entry, live, text(entry.id))
        return _response(handle, received(url=entry.url))

    def _delete(self, entry: CacheEntry) -> bool:
        count = Cell()
        live = self._client._live()
        check(lib.wherry_client_remove_cache_entry(live, text(entry.id), count.address))
        return count.take() > 0

    def _clear(
        self,
        url: Optional[str],
        method: Optional[str],
        base: Optional[str],
        stores: Stores,
        partials: bool,
    ) -> int:
        bits = _stores(stores) | (codes.STORE_PARTIALS if partials else 0)
        choice = _selection(url, method, base)
        count = Cell()
        live = self._client._live()
        check(lib.wherry_client_clear_cache(live, bits, *choice, count.address))
        return count.take()

    def _usage(self) -> CacheUsage:
        live = self._client._live()
        return CacheUsage(read_struct(CACHE_USAGE, lib.wherry_client_cache_usage, live))


class Cache(BaseCache):
    """The cache of a `Client`: ``client.cache``. No method sends a request."""

    __slots__ = ()

    def read(self, method: Optional[str], url: str, **options: Unpack[RequestOptions]) -> Response:
        """Returns the cached response for a request.

        Raises CacheMissError, with a reason, if there is none.

        Reads the timed cache, or the HTTP cache if ``cache_policy=`` is "protocol", "reload", "any_age", or
        "any_age_only". A client with ``cache=True`` also reads the HTTP cache if the timed cache has no
        entry.
        """
        return self._with_draft(method, url, options, self._read)

    def write(
        self,
        method: Optional[str],
        url: str,
        body: bytes,
        seconds: float,
        content_type: Optional[str] = None,
        **options: Unpack[RequestOptions],
    ) -> None:
        """Stores a response body in the timed cache, with status 200.

        The entry expires after ``seconds``.
        """
        self._with_draft(method, url, options, lambda d: self._write(d, body, content_type, seconds))

    def remove(self, method: Optional[str], url: str, **options: Unpack[RequestOptions]) -> bool:
        """Deletes the cache entry for a request.

        Also deletes the entries of the HTTP cache for its URL with the same query.

        Returns whether there was an entry.
        """
        return self._with_draft(method, url, options, self._remove)

    def entries(
        self,
        url: Optional[str] = None,
        *,
        method: Optional[str] = None,
        base: Optional[str] = None,
        stores: Stores = BOTH_STORES,
    ) -> List[CacheEntry]:
        """Lists usable entries: all of them, or those for a URL, or for a URL and a method.

        :param url: The URL as written in the requests, or the URL of an entry. In the HTTP cache, a URL
            without a query matches all queries.
        :param method: The method. The HTTP cache contains only GET responses.
        :param base: The name of the base URL of the requests.
        :param stores: The caches to list: "timed", "http", or both (default: both).
        """
        return self._entries(url, method, base, stores)

    def open(self, entry: CacheEntry) -> Response:
        """Returns the response of a listed entry.

        Raises CacheMissError if the entry no longer exists.
        """
        return self._open(entry)

    def delete(self, entry: CacheEntry) -> bool:
        """Deletes a listed entry. Returns whether the entry existed."""
        return self._delete(entry)

    def clear(
        self,
        url: Optional[str] = None,
        *,
        method: Optional[str] = None,
        base: Optional[str] = None,
        stores: Stores = BOTH_STORES,
        partials: bool = False,
    ) -> int:
        """Deletes entries, selected as in `entries`, and returns their number.

        With ``partials=True`` it also deletes partial files of downloads.
        """
        return self._clear(url, method, base, stores, partials)

    def usage(self) -> CacheUsage:
        """Returns the storage used by both caches together."""
        return self._usage()


class AsyncCache(BaseCache):
    """The cache of an `AsyncClient`. Disk access runs on another thread."""

    __slots__ = ()

    async def read(self, method: Optional[str], url: str, **options: Unpack[RequestOptions]) -> Response:
        """See `Cache.read`."""
        return await in_thread(lambda: self._with_draft(method, url, options, self._read))

    async def write(
        self,
        method: Optional[str],
        url: str,
        body: bytes,
        seconds: float,
        content_type: Optional[str] = None,
        **options: Unpack[RequestOptions],
    ) -> None:
        """See `Cache.write`."""

        def store(draft: Draft) -> None:
            self._write(draft, body, content_type, seconds)

        await in_thread(lambda: self._with_draft(method, url, options, store))

    async def remove(self, method: Optional[str], url: str, **options: Unpack[RequestOptions]) -> bool:
        """See `Cache.remove`."""
        return await in_thread(lambda: self._with_draft(method, url, options, self._remove))

    async def entries(
        self,
        url: Optional[str] = None,
        *,
        method: Optional[str] = None,
        base: Optional[str] = None,
        stores: Stores = BOTH_STORES,
    ) -> List[CacheEntry]:
        """See `Cache.entries`."""
        return await in_thread(lambda: self._entries(url, method, base, stores))

    async def open(self, entry: CacheEntry) -> Response:
        """See `Cache.open`."""
        return await in_thread(lambda: self._open(entry))

    async def delete(self, entry: CacheEntry) -> bool:
        """See `Cache.delete`."""
        return await in_thread(lambda: self._delete(entry))

    async def clear(
        self,
        url: Optional[str] = None,
        *,
        method: Optional[str] = None,
        base: Optional[str] = None,
        stores: Stores = BOTH_STORES,
        partials: bool = False,
    ) -> int:
        """See `Cache.clear`."""
        return await in_thread(lambda: self._clear(url, method, base, stores, partials))

    async def usage(self) -> CacheUsage:
        """See `Cache.usage`."""
        return await in_thread(self._usage)


def _selection(*words: Optional[str]) -> Tuple[Optional[bytes], ...]:
    """Returns base, URL, and method, in the order that the library expects."""
    url, method, base = (None if word is None else text(word) for word in words)
    return base, url, method


def _stores(names: Stores) -> int:
    """Converts one or several cache names to bit flags."""
    bits = 0
    for name in (names,) if isinstance(names, str) else names:
        if name not in codes.STORES:
            known = ", ".join(codes.STORES)
            raise ArgumentError(f"stores= must be one or more of {known}, not {brief(name)}", "bad_value")
        bits |= codes.STORES[name]
    return bits


def _response(handle: int, response: Response) -> Response:
    """Fills a response from a native response, and frees the native response."""
    try:
        return fill_from_native(response, handle)
    finally:
        lib.wherry_response_free(handle)
