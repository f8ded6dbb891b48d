# Wherry: lists that come in pages
# SPDX-License-Identifier: Apache-2.0
"""`Pages` and `AsyncPages`: what `Client.pages` gives. One list, loaded page by page."""

from __future__ import annotations

import weakref
from collections import deque
from typing import (
    TYPE_CHECKING, Any, Callable, Deque, Generic, List, Mapping as Named, Optional, TypeVar,
)  # fmt: skip

from . import _codes as codes
from ._bridge import check, lib, made, text
from ._errors import CancelledError, StateError, WherryError
from ._exchange import Channel, Exchange
from ._mapping import Mapping, printed

if TYPE_CHECKING:
    from typing import AsyncIterator, Iterator

    from ._async import AsyncClient, Pump
    from ._base import BaseClient
    from ._bridge import Record
    from ._client import Client

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
            raise ValueError(f"end= takes one of {', '.join(ENDS)}, not {self.end!r}")

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


class BasePages(Generic[Item]):
    """What blocking and asyncio lists share."""

    _pager = 0

    def __init__(
        self, client: Any, method: Optional[str], url: str, options: Named[str, Any]
    ) -> None:
        rest = {name: value for name, value in options.items() if name not in Paging.NAMES}
        self._client = client
        self._paging = Paging(options)
        self._draft = client._draft(method, url, rest)
        #: The items as the program gets them; made of the native ones when first asked for.
        self._made: Optional[List[Item]] = None

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

    def _ended(self, wanted: int, refresh: bool, error: Optional[WherryError] = None) -> None:
        """Takes in that a page has come, or has not."""
        if error is None:
            self._made = None
            self._tell("refreshed" if refresh else "loaded", wanted)
        else:
            self._tell("failed", wanted, error)
        self._tell("finished", wanted)

    def _is_refresh(self, function: Any) -> bool:
        if function is lib.wherry_pager_load_previous and not self.has_previous:
            self._tell("first_page", self.page)
            return True
        return function is lib.wherry_pager_refresh

    def __repr__(self) -> str:
        return f"<{type(self).__name__} page {self.page}, {len(self)} items>"


class Pages(BasePages[Item]):
    """A list that a server hands out in pages. Iterating loads page after page.

    ``refresh`` is what pulling down does, ``load_next`` what pulling up does. The list moves when a
    page has come, never before. One thread at a time uses it.
    """

    def __init__(
        self, client: Client, method: Optional[str], url: str, options: Named[str, Any]
    ) -> None:
        super().__init__(client, method, url, options)
        self._channel = Channel()
        self._finalizer = weakref.finalize(self, _let_go, self._draft, self._channel)
        try:
            self._pager = self._paging.pager(client, self._draft.handle, self._channel.queue, 1)
        except BaseException:
            self.close()
            raise
        self._free_pager = weakref.finalize(self, _free_pager, self._pager)
        #: The page on its way: what is loaded, whether it is a refresh, and its transfer.
        self._way: Optional[Exchange] = None
        self._load = (0, False)

    def refresh(self) -> None:
        """Loads the first page anew, past all caches; the list is made of it alone."""
        self._run(lib.wherry_pager_refresh)

    def load_next(self) -> bool:
        """Loads the next page; False, and nothing is loaded, after the last."""
        return self._run(lib.wherry_pager_load_next)

    def load_previous(self) -> None:
        """Loads the page before; on the first one it is a refresh."""
        self._run(lib.wherry_pager_load_previous)

    def load(self, page: int) -> None:
        """Loads any page: a neighbour joins the list, another one begins a new one."""
        self._run(lib.wherry_pager_load_page, page)

    def pages(self) -> Iterator[List[Item]]:
        """The pages that follow, each as its items that were not in one before.

        ``prefetch=`` of them are loaded while one is worked on.
        """
        walk = _Walk(self)
        while True:
            page = walk.next()
            if page is None:
                return
            yield page

    def __iter__(self) -> Iterator[Item]:
        """The items of the pages that follow, one by one."""
        walk = _Walk(self)
        while True:
            page = walk.next()
            if page is None:
                return
            for item in page:
                yield item
                walk.look()

    def close(self) -> None:
        """Cancels what is on its way and drops the items. Twice is fine."""
        pager, self._pager = self._pager, 0
        if pager:
            self._free_pager()
        self._finalizer()

    def __enter__(self) -> Pages[Item]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, function: Any, *arguments: Any) -> bool:
        started = self._start(function, *arguments)
        if started is None:
            return False
        if started:
            try:
                self._wait()
            except BaseException:  # Ctrl-C: the page must not outlive the call.
                self._give_up()
                raise
        return True

    def _start(self, function: Any, *arguments: Any) -> Optional[bool]:
        """Whether a page is on its way now; None at the end."""
        if not self._pager:
            raise StateError("these pages are closed", "closed")
        wanted = self._wanted(function, *arguments)
        refresh = self._is_refresh(function)
        transfer = self._begin(function, *arguments)
        if transfer < 0:
            return None
        self._tell("will_load", wanted)
        if not transfer:
            self._ended(wanted, False)
            return False
        self._way = Exchange(self._draft)
        self._way.transfer = transfer
        self._load = (wanted, refresh)
        return True

    def _wait(self) -> None:
        while not self._look(block=True):
            pass

    def _look(self, block: bool) -> bool:
        """Takes events in; whether no page is on its way any more. Raises what kept it away."""
        way = self._way
        if way is None:
            return True
        while not way.done:
            if not block and not lib.wherry_queue_count(self._channel.queue):
                return False
            record = self._channel.next()
            try:
                way.read(record)
            finally:
                lib.wherry_event_free(record[1])
        self._way = None
        way.free()
        wanted, refresh = self._load
        try:
            way.result()
            error = way.response._error
            if error is not None:
                error.response = way.response
                raise error
        except WherryError as error:
            self._ended(wanted, refresh, error)
            raise
        self._ended(wanted, refresh)
        return True

    def _give_up(self) -> None:
        way = self._way
        if way is not None and self._pager:
            lib.wherry_pager_cancel(self._pager)
            try:
                self._wait()
            except WherryError:
                pass  # That it was cancelled.


class _Walk(Generic[Item]):
    """Loads pages ahead of who reads them."""

    def __init__(self, pages: Pages[Item]) -> None:
        self._pages = pages
        self._ready: Deque[List[Item]] = deque()
        self._seen = len(pages)
        self._is_over = False
        self._error: Optional[WherryError] = None

    def next(self) -> Optional[List[Item]]:
        """The next page; None after the last."""
        if not self._ready:
            self._work(1, block=True)
        if not self._ready:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return None
        page = self._ready.popleft()
        self.look()
        return page

    def look(self) -> None:
        """Takes in what has come, and starts what is wanted, without waiting."""
        self._work(self._pages._paging.prefetch, block=False)

    def _work(self, wanted: int, block: bool) -> None:
        pages = self._pages
        try:
            while pages._pager and not self._is_over:
                if pages._way is None:
                    if len(self._ready) >= wanted:
                        return
                    if pages._start(lib.wherry_pager_load_next) is None:
                        self._is_over = True
                        return
                if not pages._look(block and not self._ready):
                    return
                new = pages._from(self._seen)
                self._seen = len(pages)
                self._ready.append(new)
        except WherryError as error:
            self._is_over = True
            self._error = error
        except BaseException:
            self._is_over = True
            pages._give_up()
            raise


class AsyncPages(BasePages[Item]):
    """As `Pages`, with coroutines: ``async for item in client.pages(...)``."""

    def __init__(
        self, client: AsyncClient, method: Optional[str], url: str, options: Named[str, Any]
    ) -> None:
        super().__init__(client, method, url, options)
        self._pump: Optional[Pump] = None
        self._key = 0
        self._finalizer = weakref.finalize(self, _free_draft, self._draft)
        self._free_pager: Any = None

    async def refresh(self) -> None:
        """As `Pages.refresh`."""
        await self._run(lib.wherry_pager_refresh)

    async def load_next(self) -> bool:
        """As `Pages.load_next`."""
        return await self._run(lib.wherry_pager_load_next)

    async def load_previous(self) -> None:
        """As `Pages.load_previous`."""
        await self._run(lib.wherry_pager_load_previous)

    async def load(self, page: int) -> None:
        """As `Pages.load`."""
        await self._run(lib.wherry_pager_load_page, page)

    async def pages(self) -> AsyncIterator[List[Item]]:
        """As `Pages.pages`."""
        import asyncio

        ready: Deque[List[Item]] = deque()
        moved = asyncio.Condition()
        asked = loaded = 0
        is_over = False

        async def work() -> None:
            nonlocal loaded, is_over
            seen = len(self)
            try:
                while True:
                    async with moved:
                        await moved.wait_for(lambda: loaded - asked < self._paging.prefetch)
                    if not await self.load_next():
                        return
                    new, seen = self._from(seen), len(self)
                    async with moved:
                        ready.append(new)
                        loaded += 1
                        moved.notify_all()
            finally:
                is_over = True
                async with moved:
                    moved.notify_all()

        asked = 1
        task = asyncio.ensure_future(work())
        try:
            while True:
                async with moved:
                    await moved.wait_for(lambda: bool(ready) or is_over)
                    page = ready.popleft() if ready else None
                if page is None:
                    await task
                    return
                yield page
                async with moved:
                    asked += 1
                    moved.notify_all()
        finally:
            task.cancel()
            # What it failed with has been raised, or nobody wants to know.
            await asyncio.gather(task, return_exceptions=True)

    async def __aiter__(self) -> AsyncIterator[Item]:
        """The items of the pages that follow, one by one."""
        pages = self.pages()
        try:
            async for page in pages:
                for item in page:
                    yield item
        finally:
            await pages.aclose()  # type: ignore[attr-defined]

    def close(self) -> None:
        """Cancels what is on its way and drops the items. Twice is fine."""
        pager, self._pager = self._pager, 0
        if pager:
            self._free_pager()
        self._finalizer()

    async def __aenter__(self) -> AsyncPages[Item]:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def _run(self, function: Any, *arguments: Any) -> bool:
        import asyncio

        loop = asyncio.get_running_loop()
        pump = self._client._pump(loop)
        if not self._draft.handle:
            raise StateError("these pages are closed", "closed")
        if self._pump is None:
            self._key = pump.key()
            self._pager = self._paging.pager(
                self._client, self._draft.handle, pump.queue, self._key
            )
            self._free_pager = weakref.finalize(self, _free_pager, self._pager)
            self._pump = pump
        elif pump is not self._pump:
            raise StateError("pages stay in the event loop that they began in", "wrong_state")
        wanted = self._wanted(function, *arguments)
        refresh = self._is_refresh(function)
        transfer = self._begin(function, *arguments)
        if transfer < 0:
            return False
        self._tell("will_load", wanted)
        if not transfer:
            self._ended(wanted, False)
            return True
        way = Exchange(self._draft)
        way.transfer = transfer
        end = loop.create_future()

        def sink(record: Record) -> bool:
            if way.read(record) and not end.done():
                end.set_result(None)
            return False

        pump.sinks[self._key] = sink, way
        error: Optional[WherryError] = None
        try:
            await end
        except asyncio.CancelledError:
            error = CancelledError("the task that waited was cancelled", "cancelled")
            way.fail(error)
            self._ended(wanted, refresh, error)
            raise
        finally:
            way.free()
        try:
            way.result()
            error = way.response._error
            if error is not None:
                error.response = way.response
                raise error
        except WherryError as caught:
            self._ended(wanted, refresh, caught)
            raise
        self._ended(wanted, refresh)
        return True


def _free_pager(pager: int) -> None:
    lib.wherry_pager_free(pager)


def _free_draft(draft: Any) -> None:
    draft.free()


def _let_go(draft: Any, channel: Channel) -> None:
    draft.free()
    channel.close()


__all__ = ["AsyncPages", "Pages"]
