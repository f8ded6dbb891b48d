# Wherry: what blocking and asyncio lists in pages share
# SPDX-License-Identifier: Apache-2.0
"""How pages are asked for, the list they make, and the one that is on its way."""

from __future__ import annotations

from typing import (
    TYPE_CHECKING, Any, Callable, Generic, List, Mapping as Named, Optional, TypeVar,
)  # fmt: skip

from . import _codes as codes
from ._bridge import check, lib, made, text
from ._flows import refuse_flow
from ._errors import BusyError, DecodeError, StateError, WherryError, brief
from ._exchange import Exchange
from ._mapping import Mapping, printed

if TYPE_CHECKING:
    from ._base import BaseClient
    from ._bridge import Record
    from ._request import Draft

Item = TypeVar("Item")

ENDS = {
    "short_page": codes.PAGER_END_SHORT_PAGE, "last_page": codes.PAGER_END_LAST_PAGE,
    "has_next": codes.PAGER_END_HAS_NEXT, "total": codes.PAGER_END_TOTAL,
    "cursor": codes.PAGER_END_CURSOR, "link": codes.PAGER_END_LINK,
}  # fmt: skip


class Paging:
    """How pages are asked for: the keywords of `Client.pages` that are not those of a request."""

    NAMES = (
        "items", "parameter", "first_page", "size", "size_parameter", "by_items", "end", "end_path",
        "key", "newest_wins", "kept_pages", "prefetch", "type", "on_event",
    )  # fmt: skip

    def __init__(self, options: Named[str, Any]) -> None:
        self.items: str = options.get("items", "")
        self.parameter: str = options.get("parameter", "nextPage")
        self.first_page: int = options.get("first_page", 0)
        self.size: Optional[int] = options.get("size")
        self.size_parameter: Optional[str] = options.get("size_parameter")
        self.by_items: bool = options.get("by_items", False)
        self.end: str = options.get("end", "short_page")
        self.end_path: Optional[str] = options.get("end_path")
        self.key: Optional[str] = options.get("key")
        self.newest_wins: bool = options.get("newest_wins", False)
        self.kept_pages: int = options.get("kept_pages", 0)
        self.prefetch: int = max(0, options.get("prefetch", 1))
        self.on_event: Optional[Callable[..., object]] = options.get("on_event")
        kind = options.get("type")
        self.mapping: Optional[Mapping[Any]] = None if kind is None else Mapping.of(kind)
        if self.end not in ENDS:
            raise ValueError(f"end= takes one of {', '.join(ENDS)}, not {brief(self.end)}")

    def pager(self, client: BaseClient[Any], request: int, queue: int, key: int) -> int:
        """A native list."""
        pager = made(
            lib.wherry_pager_new, client._live(), request, text(self.items), queue, key
        )
        try:
            name = text(self.parameter)
            check(lib.wherry_pager_set_parameter(pager, name, self.first_page))
            if self.size is not None or self.size_parameter is not None or self.by_items:
                named = None if self.size_parameter is None else text(self.size_parameter)
                check(lib.wherry_pager_set_size(pager, self.size or 0, named, self.by_items))
            path = None if self.end_path is None else text(self.end_path)
            check(lib.wherry_pager_set_end(pager, ENDS[self.end], path))
            key_path = None if self.key is None else text(self.key)
            check(lib.wherry_pager_set_key(pager, key_path, self.newest_wins))
            check(lib.wherry_pager_set_kept_pages(pager, self.kept_pages))
        except BaseException:
            lib.wherry_pager_free(pager)
            raise
        return pager


class Way:
    """A page on its way: what was asked for, and the transfer that brings it."""

    __slots__ = (
        "exchange", "number", "wanted", "refresh", "first", "appends", "is_last", "take",
        "is_given_up", "waiter",
    )  # fmt: skip

    def __init__(
        self, draft: Draft, transfer: int, wanted: int, refresh: bool, first: int, appends: bool,
        is_last: bool, take: Optional[Callable[[List[Any]], object]],
    ) -> None:  # fmt: skip
        self.exchange = Exchange(draft)
        self.exchange.transfer = transfer
        #: The number of the transfer: every page of a list has the same queue and the same key.
        self.number: int = lib.wherry_transfer_id(transfer)
        self.wanted = wanted
        self.refresh = refresh
        #: How many items there were before.
        self.first = first
        #: Whether those stay as they are.
        self.appends = appends
        #: Whether it is the last page in the list once it has come.
        self.is_last = is_last
        #: Where an iteration that loads ahead takes the new items; None for a call that waits.
        self.take = take
        #: Whether another call did not want to wait for it.
        self.is_given_up = False
        #: What a task of asyncio waits for; cancelling the task cancels it.
        self.waiter: Any = None

    def is_of(self, record: Record) -> bool:
        """Whether an event is of this page; one without a number says that no more will come."""
        return record[3] in (self.number, 0)

    def read(self, record: Record) -> bool:
        """Takes in an event if it is of this page; whether it was the last one."""
        return self.exchange.read(record) if self.is_of(record) else self.exchange.done

    def give_up(self) -> None:
        """Cancels it; its end is still to be read."""
        self.is_given_up = True
        if self.exchange.transfer:
            lib.wherry_transfer_cancel(self.exchange.transfer)


class BasePages(Generic[Item]):
    """What blocking and asyncio lists share."""

    _pager = 0

    def __init__(
        self, client: Any, method: Optional[str], url: str, options: Named[str, Any]
    ) -> None:
        rest = {name: value for name, value in options.items() if name not in Paging.NAMES}
        self._client = client
        self._paging = Paging(options)
        refuse_flow(client, rest, "a list of pages")
        self._draft = client._draft(method, url, rest)
        #: The page on its way, until its end is read.
        self._way: Optional[Way] = None
        #: The items as the program gets them; made of the native ones when first asked for.
        self._made: Optional[List[Item]] = None
        #: Whether the page that was loaded last is the last one in the list.
        self._is_at_end = True

    # Looking

    @property
    def items(self) -> List[Item]:
        """The items of all pages in the list, in the order of the pages."""
        if self._made is None:
            self._made = self._from(0)
        return list(self._made)

    @property
    def page(self) -> Optional[int]:
        """The number of the page that was loaded last; None before the first."""
        before = self._paging.first_page - 1
        found: int = lib.wherry_pager_page(self._pager, before)
        return None if found == before else found

    @property
    def has_next(self) -> bool:
        """Whether a page follows, as far as the last answer says; True before the first."""
        return not self._pager or bool(lib.wherry_pager_has_next(self._pager))

    @property
    def has_previous(self) -> bool:
        """Whether a page comes before the one that was loaded last."""
        return bool(lib.wherry_pager_has_previous(self._pager))

    @property
    def is_loading(self) -> bool:
        """Whether a page is on its way."""
        return bool(lib.wherry_pager_is_loading(self._pager))

    def __len__(self) -> int:
        return int(lib.wherry_pager_count(self._pager))

    def cancel(self) -> None:
        """Cancels the page that is on its way."""
        if self._pager:
            check(lib.wherry_pager_cancel(self._pager))

    def _from(self, first: int) -> List[Any]:
        """The items from one on."""
        if not self._pager:
            return []
        count = len(self)
        if first >= count:
            return []
        handle = made(lib.wherry_pager_copy_items, self._pager, first, count - first)
        try:
            found: List[Any] = printed(handle)
        finally:
            lib.wherry_json_free(handle)
        mapping = self._paging.mapping
        return found if mapping is None else mapping.read_all(found)

    # Loading

    def _tell(self, event: str, page: Optional[int], error: Optional[WherryError] = None) -> None:
        if self._paging.on_event is not None:
            self._paging.on_event(event, page, error)

    def _begin(self, function: Any, *arguments: Any) -> int:
        """Starts to load: the transfer, 0 for a kept page, -1 at the end."""
        try:
            return made(function, self._pager, *arguments)
        except StateError as error:
            if error.reason != "last_page":
                raise
            self._tell("last_page", self.page)
            return -1

    def _wanted(self, function: Any, *arguments: Any) -> int:
        """Which page a call asks for."""
        page, first = self.page, self._paging.first_page
        if arguments:
            return int(arguments[0])
        if function is lib.wherry_pager_refresh or page is None:
            return first
        return page + 1 if function is lib.wherry_pager_load_next else max(first, page - 1)

    def _read(self, way: Way) -> List[Any]:
        """The items that a page has brought; one with items that cannot be read is no part of the list."""
        paging = self._paging
        try:
            if way.appends or paging.mapping is None:
                self._made = None
                return self._from(way.first) if way.take is not None or paging.mapping else []
            self._made = self._from(0)
            return self._made[way.first :]
        except DecodeError:
            check(lib.wherry_pager_take_back(self._pager))
            raise

    def _ended(self, wanted: int, refresh: bool, error: Optional[WherryError] = None) -> None:
        """Takes in that a page has come, or has not."""
        if error is None:
            self._tell("refreshed" if refresh else "loaded", wanted)
        else:
            self._tell("failed", wanted, error)
        self._tell("finished", wanted)

    def _open(
        self, take: Optional[Callable[[List[Any]], object]], function: Any, *arguments: Any
    ) -> Optional[bool]:
        """Whether a page is on its way now; None at the end, False for one that was kept."""
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
            self._way = Way(self._draft, transfer, wanted, refresh, first, appends, is_last, take)
            self._expect(self._way)
        self._tell("will_load", wanted)
        if transfer:
            return True
        self._is_at_end = is_last
        self._made = None
        self._ended(wanted, False)
        if take is not None:
            take(self._from(first))
        return False

    def _expect(self, way: Way) -> None:
        """Its events will come."""

    def _settle(self, way: Way) -> None:
        """Takes in that a page has ended; raises what kept it away."""
        way.exchange.free()
        try:
            way.exchange.result()
            error = way.exchange.response._error
            if error is not None:
                error.response = way.exchange.response
                raise error
            found = self._read(way)
        except WherryError as error:
            self._ended(way.wanted, way.refresh, error)
            raise
        self._is_at_end = way.is_last
        self._ended(way.wanted, way.refresh)
        if way.take is not None:
            way.take(found)

    def _is_refresh(self, function: Any) -> bool:
        if function is lib.wherry_pager_load_previous and not self.has_previous:
            self._tell("first_page", self.page)
            return True
        return function is lib.wherry_pager_refresh

    def __repr__(self) -> str:
        return f"<{type(self).__name__} page {self.page}, {len(self)} items>"


def busy() -> BusyError:
    """What a call is told that comes while another one waits for its page."""
    return BusyError("a page is on its way: wait for it, or cancel it", "busy")


def free_pager(pager: int) -> None:
    """Lets go of a native list."""
    lib.wherry_pager_free(pager)
