# Wherry: the common part of blocking and asyncio page lists
# SPDX-License-Identifier: Apache-2.0
"""How pages are requested, the list of their items, and the page that is loading."""

from __future__ import annotations

from typing import (
    TYPE_CHECKING, Any, Callable, Generic, List, Mapping as MappingType, Optional, TypeVar,
)  # fmt: skip

from .._core.calls import check, create
from .._core.exchange.events import Exchange
from .._core.request.auth_flow import refuse_flow
from .._core.values import keyword_int, text, whole
from .._errors import ArgumentError, BusyError, DecodeError, StateError, WherryError, brief
from .._native import codes
from .._native.library import lib
from .._native.memory import TRANSFER_ID
from .mapping import Mapping, json_value

if TYPE_CHECKING:
    from .._client.base import BaseClient
    from .._core.exchange.draft import Draft
    from .._native.memory import Record

Item = TypeVar("Item")

ENDS = {
    "short_page": codes.PAGER_END_SHORT_PAGE, "last_page": codes.PAGER_END_LAST_PAGE,
    "has_next": codes.PAGER_END_HAS_NEXT, "total": codes.PAGER_END_TOTAL,
    "cursor": codes.PAGER_END_CURSOR, "link": codes.PAGER_END_LINK,
}  # fmt: skip


class Paging:
    """The keywords of `Client.pages` that are not request keywords."""

    NAMES = (
        "items", "parameter", "first_page", "size", "size_parameter", "by_items", "end", "end_path",
        "key", "newest_wins", "kept_pages", "prefetch", "type", "on_event",
    )  # fmt: skip

    def __init__(self, options: MappingType[str, Any]) -> None:
        self.items: str = options.get("items", "")
        self.parameter: str = options.get("parameter", "nextPage")
        self.first_page: int = keyword_int("first_page", whole, options.get("first_page", 0))
        size = options.get("size")
        self.size: Optional[int] = None if size is None else keyword_int("size", whole, size)
        self.size_parameter: Optional[str] = options.get("size_parameter")
        self.by_items: bool = options.get("by_items", False)
        self.end: str = options.get("end", "short_page")
        self.end_path: Optional[str] = options.get("end_path")
        self.key: Optional[str] = options.get("key")
        self.newest_wins: bool = options.get("newest_wins", False)
        self.kept_pages: int = keyword_int("kept_pages", whole, options.get("kept_pages", 0))
        self.prefetch: int = max(0, keyword_int("prefetch", whole, options.get("prefetch", 1)))
        self.on_event: Optional[Callable[..., object]] = options.get("on_event")
        kind = options.get("type")
        self.mapping: Optional[Mapping[Any]] = None if kind is None else Mapping.of(kind)
        if self.end not in ENDS:
            raise ArgumentError(f"end= must be one of {', '.join(ENDS)}, not {brief(self.end)}", "bad_value")

    def pager(self, client: BaseClient[Any], request: int, queue: int, key: int) -> int:
        """Creates a native pager."""
        pager = create(lib.wherry_pager_new, client._live(), request, text(self.items), queue, key)
        try:
            name = text(self.parameter)
            check(lib.wherry_pager_set_parameter(pager, name, self.first_page))
            if self.size is not None or self.size_parameter is not None or self.by_items:
                parameter = None if self.size_parameter is None else text(self.size_parameter)
                check(lib.wherry_pager_set_size(pager, self.size or 0, parameter, self.by_items))
            path = None if self.end_path is None else text(self.end_path)
            check(lib.wherry_pager_set_end(pager, ENDS[self.end], path))
            key_path = None if self.key is None else text(self.key)
            check(lib.wherry_pager_set_key(pager, key_path, self.newest_wins))
            check(lib.wherry_pager_set_kept_pages(pager, self.kept_pages))
        except BaseException:
            lib.wherry_pager_free(pager)
            raise
        return pager


class PageLoad:
    """A page that is loading: its number, its position in the list, and its transfer."""

    __slots__ = (
        "exchange", "number", "wanted", "refresh", "first", "appends", "is_last", "take",
        "is_cancelled", "waiter",
    )  # fmt: skip

    def __init__(
        self, draft: Draft, transfer: int, wanted: int, refresh: bool, first: int, appends: bool,
        is_last: bool, take: Optional[Callable[[List[Any]], object]],
    ) -> None:  # fmt: skip
        self.exchange = Exchange(draft)
        self.exchange.transfer = transfer
        #: The id of the transfer. All pages of a list use the same queue and the same key.
        self.number: int = lib.wherry_transfer_id(transfer)
        self.wanted = wanted
        self.refresh = refresh
        #: The number of items before this page.
        self.first = first
        #: Whether the items before this page stay unchanged.
        self.appends = appends
        #: Whether this page will be the last one in the list.
        self.is_last = is_last
        #: The function that receives the new items for an iteration; None for a call that waits.
        self.take = take
        #: Whether another call cancelled this page instead of waiting for it.
        self.is_cancelled = False
        #: The future that an asyncio task awaits. Cancelling the task cancels the future.
        self.waiter: Any = None

    def is_of(self, record: Record) -> bool:
        """Returns whether an event belongs to this page.

        An event without a transfer id is the last event of the queue.
        """
        return record[TRANSFER_ID] in (self.number, 0)

    def read(self, record: Record) -> bool:
        """Reads an event if it belongs to this page, and returns whether the page is done."""
        return self.exchange.read(record) if self.is_of(record) else self.exchange.done

    def cancel_page(self) -> None:
        """Cancels the page. The caller must still read its last event."""
        self.is_cancelled = True
        if self.exchange.transfer:
            lib.wherry_transfer_cancel(self.exchange.transfer)


class BasePages(Generic[Item]):
    """The common part of blocking and asyncio page lists."""

    _pager = 0

    def __init__(self, client: Any, method: Optional[str], url: str, options: MappingType[str, Any]) -> None:
        rest = {name: value for name, value in options.items() if name not in Paging.NAMES}
        self._client = client
        self._paging = Paging(options)
        refuse_flow(client, rest, "a list of pages")
        self._draft = client._draft(method, url, rest)
        #: The page that is loading, until its last event is read.
        self._loading: Optional[PageLoad] = None
        #: The items as Python objects, converted from the native items on first use.
        self._items: Optional[List[Item]] = None
        #: Whether the most recently loaded page is the last page of the list.
        self._is_at_end = True

    # State

    @property
    def items(self) -> List[Item]:
        """The items of all pages in the list, in page order."""
        if self._items is None:
            self._items = self._from(0)
        return list(self._items)

    @property
    def page(self) -> Optional[int]:
        """The number of the most recently loaded page; None before the first load."""
        before = self._paging.first_page - 1
        found: int = lib.wherry_pager_page(self._pager, before)
        return None if found == before else found

    @property
    def has_next(self) -> bool:
        """Whether another page follows, according to the last response; True before the first response."""
        return not self._pager or bool(lib.wherry_pager_has_next(self._pager))

    @property
    def has_previous(self) -> bool:
        """Whether there is a page before the most recently loaded one."""
        return bool(lib.wherry_pager_has_previous(self._pager))

    @property
    def is_loading(self) -> bool:
        """Whether a page is loading."""
        return bool(lib.wherry_pager_is_loading(self._pager))

    def __len__(self) -> int:
        return int(lib.wherry_pager_count(self._pager))

    def cancel(self) -> None:
        """Cancels the page that is loading."""
        if self._pager:
            check(lib.wherry_pager_cancel(self._pager))

    def _from(self, first: int) -> List[Any]:
        """Returns the items from index ``first`` on."""
        if not self._pager:
            return []
        count = len(self)
        if first >= count:
            return []
        found: List[Any] = json_value(lib.wherry_pager_copy_items, self._pager, first, count - first)
        mapping = self._paging.mapping
        return found if mapping is None else mapping.read_all(found)

    # Loading

    def _report(self, event: str, page: Optional[int], error: Optional[WherryError] = None) -> None:
        if self._paging.on_event is not None:
            self._paging.on_event(event, page, error)

    def _begin(self, function: Any, *arguments: Any) -> int:
        """Starts to load a page. Returns the transfer, 0 for a page kept in memory, or -1 at the end of the list."""
        try:
            return create(function, self._pager, *arguments)
        except StateError as error:
            if error.reason != "last_page":
                raise
            self._report("last_page", self.page)
            return -1

    def _wanted(self, function: Any, *arguments: Any) -> int:
        """Returns the number of the page that a call requests."""
        page, first = self.page, self._paging.first_page
        if arguments:
            return int(arguments[0])
        if function is lib.wherry_pager_refresh or page is None:
            return first
        return page + 1 if function is lib.wherry_pager_load_next else max(first, page - 1)

    def _read(self, load: PageLoad) -> List[Any]:
        """Returns the new items of a page.

        If an item cannot be read, the page is removed from the list.
        """
        paging = self._paging
        try:
            if load.appends or paging.mapping is None:
                self._items = None
                return self._from(load.first) if load.take is not None or paging.mapping else []
            self._items = self._from(0)
            return self._items[load.first :]
        except DecodeError:
            check(lib.wherry_pager_take_back(self._pager))
            raise

    def _ended(self, wanted: int, refresh: bool, error: Optional[WherryError] = None) -> None:
        """Reports the end of a page: loaded, or failed with an error."""
        if error is None:
            self._report("refreshed" if refresh else "loaded", wanted)
        else:
            self._report("failed", wanted, error)
        self._report("finished", wanted)

    def _open(self, take: Optional[Callable[[List[Any]], object]], function: Any, *arguments: Any) -> Optional[bool]:
        """Starts to load a page.

        Returns True if the page is loading, False if it was kept in memory, and None at the end of
        the list.
        """
        wanted = self._wanted(function, *arguments)
        refresh = self._is_refresh(function)
        first = len(self)
        transfer = self._begin(function, *arguments)
        if transfer < 0:
            return None
        follows = function is lib.wherry_pager_load_next and self._is_at_end
        is_last = refresh or follows
        if transfer:
            appends = follows and not self._paging.newest_wins
            self._loading = PageLoad(self._draft, transfer, wanted, refresh, first, appends, is_last, take)
            self._expect(self._loading)
        self._report("will_load", wanted)
        if transfer:
            return True
        self._is_at_end = is_last
        self._items = None
        self._ended(wanted, False)
        if take is not None:
            take(self._from(first))
        return False

    def _expect(self, load: PageLoad) -> None:
        """Called before the first event of a page."""

    def _settle(self, load: PageLoad) -> None:
        """Finishes a page. Raises the error that prevented it from loading."""
        load.exchange.free()
        try:
            load.exchange.result()
            error = load.exchange.response._error
            if error is not None:
                error.response = load.exchange.response
                raise error
            found = self._read(load)
        except WherryError as error:
            self._ended(load.wanted, load.refresh, error)
            raise
        self._is_at_end = load.is_last
        self._ended(load.wanted, load.refresh)
        if load.take is not None:
            load.take(found)

    def _is_refresh(self, function: Any) -> bool:
        if function is lib.wherry_pager_load_previous and not self.has_previous:
            self._report("first_page", self.page)
            return True
        return function is lib.wherry_pager_refresh

    def __repr__(self) -> str:
        return f"<{type(self).__name__} page {self.page}, {len(self)} items>"


def busy() -> BusyError:
    """Returns the error for a call while another call waits for its page."""
    return BusyError("a page is already loading. Wait for it, or cancel it.", "busy")


def free_pager(pager: int) -> None:
    """Frees a native pager."""
    lib.wherry_pager_free(pager)
