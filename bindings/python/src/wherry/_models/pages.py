# Wherry: paged lists
# SPDX-License-Identifier: Apache-2.0
"""`Pages`, the result of `Client.pages`: a list that is loaded page by page."""

from __future__ import annotations

import weakref
from collections import deque
from typing import (
    TYPE_CHECKING, Any, Callable, Deque, Generic, List, Mapping as MappingType, Optional,
)  # fmt: skip

from .._errors import StateError, WherryError
from .._native.library import lib
from .._waiting.blocking import Channel
from .paging import BasePages, Item, busy, free_pager

if TYPE_CHECKING:
    from typing import Iterator

    from .._client.client import Client
    from .._core.exchange.events import Exchange
    from .._native.memory import Record
    from .paging import PageLoad


class Pages(BasePages[Item]):
    """A list that a server returns in pages. Iterating loads one page after another.

    `refresh` reloads the first page (pull to refresh), and `load_next` loads the next one (load
    more). The list changes only after a page has arrived. Use a list from one thread at a time. A
    page that an iteration loads ahead is cancelled if the iteration ends early, or if another call
    loads a page.
    """

    def __init__(self, client: Client, method: Optional[str], url: str, options: MappingType[str, Any]) -> None:
        super().__init__(client, method, url, options)
        self._channel = Channel()
        self._is_reading = False
        #: The running exchange, to be freed with the list.
        self._exchanges: List[Exchange] = []
        self._finalizer = weakref.finalize(self, _free, self._draft, self._channel, self._exchanges)
        try:
            self._pager = self._paging.pager(client, self._draft.handle, self._channel.queue, 1)
        except BaseException:
            self.close()
            raise
        self._free_pager = weakref.finalize(self, free_pager, self._pager)

    def refresh(self) -> None:
        """Reloads the first page from the server, and replaces the list with it."""
        self._run(lib.wherry_pager_refresh)

    def load_next(self) -> bool:
        """Loads the next page. Returns False, without a request, after the last page."""
        return self._run(lib.wherry_pager_load_next)

    def load_previous(self) -> None:
        """Loads the previous page; on the first page, the same as `refresh`."""
        self._run(lib.wherry_pager_load_previous)

    def load(self, page: int) -> None:
        """Loads any page. A page adjacent to the list extends it; any other page starts a new list."""
        self._run(lib.wherry_pager_load_page, page)

    def pages(self) -> Iterator[List[Item]]:
        """Iterates over the following pages.

        Each is a list of the items that no earlier page contained.

        ``prefetch=`` sets how many pages are loaded ahead.
        """
        prefetcher: _Prefetcher[Item] = _Prefetcher(self)
        try:
            while True:
                page = prefetcher.next()
                if page is None:
                    return
                yield page
        finally:
            prefetcher.stop()

    def __iter__(self) -> Iterator[Item]:
        """Iterates over the items of the following pages."""
        prefetcher: _Prefetcher[Item] = _Prefetcher(self)
        try:
            while True:
                page = prefetcher.next()
                if page is None:
                    return
                for item in page:
                    yield item
                    prefetcher.poll()
        finally:
            prefetcher.stop()

    def close(self) -> None:
        """Cancels the page that is loading, and drops the items. Can be called more than once."""
        pager, self._pager = self._pager, 0
        if pager:
            self._free_pager()
        self._loading = None
        self._finalizer()

    def __enter__(self) -> Pages[Item]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, function: Any, *arguments: Any) -> bool:
        try:
            if self._start(None, function, *arguments) is None:
                return False
            self._read_events(block=True)
        except WherryError:
            raise
        except BaseException:  # Ctrl-C: cancel the page together with the call.
            self._cancel_page()
            raise
        return True

    def _start(self, take: Optional[Callable[[List[Any]], object]], function: Any, *arguments: Any) -> Optional[bool]:
        """Starts to load a page.

        Returns True if the page is loading, False if it was kept in memory, and None at the end of
        the list.
        """
        if not self._pager:
            raise StateError("these pages are closed", "closed")
        if self._is_reading:
            raise busy()
        self._cancel_page()
        return self._open(take, function, *arguments)

    def _expect(self, load: PageLoad) -> None:
        self._exchanges[:] = [load.exchange]

    def _read_events(self, block: bool) -> bool:
        """Reads events. Returns whether loading has finished.

        Raises the error of the page.
        """
        load = self._loading
        if load is None:
            return True
        while not load.exchange.done:
            if not block and not lib.wherry_queue_count(self._channel.queue):
                return False
            self._channel.pass_next(self._read_page)
        self._loading = None
        self._settle(load)
        return True

    def _read_page(self, record: Record) -> None:
        """Passes an event to the page that is loading."""
        try:
            self._is_reading = True
            if self._loading is not None:
                self._loading.read(record)
        finally:
            self._is_reading = False

    def _cancel_page(self) -> None:
        """Cancels the loading page and reads its last event, so that the next page does not receive it."""
        load = self._loading
        if load is None or not self._pager:
            return
        load.cancel_page()
        try:
            self._read_events(block=True)
        except WherryError:
            pass  # The page was cancelled, or it failed and can be loaded later.


class _Prefetcher(Generic[Item]):
    """Loads pages ahead of the reader."""

    def __init__(self, pages: Pages[Item]) -> None:
        self._pages = pages
        self._ready: Deque[List[Item]] = deque()
        self._take = self._ready.append
        self._is_over = False
        self._error: Optional[WherryError] = None

    def next(self) -> Optional[List[Item]]:
        """Returns the next page, or None after the last one."""
        if not self._ready:
            self._load(1, block=True)
        if not self._ready:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return None
        page = self._ready.popleft()
        self.poll()
        return page

    def poll(self) -> None:
        """Reads the events that have arrived, and starts to load wanted pages, without blocking."""
        self._load(self._pages._paging.prefetch, block=False)

    def stop(self) -> None:
        """Cancels the page that is loading ahead, because the iteration has ended."""
        load = self._pages._loading
        if load is not None and load.take is self._take:
            self._pages._cancel_page()

    def _load(self, wanted: int, block: bool) -> None:
        pages = self._pages
        try:
            while pages._pager and not self._is_over:
                if pages._loading is None:
                    if len(self._ready) >= wanted:
                        return
                    if pages._start(self._take, lib.wherry_pager_load_next) is None:
                        self._is_over = True
                        return
                if not pages._read_events(block and not self._ready):
                    return
        except WherryError as error:
            self._is_over = True
            self._error = error
        except BaseException:
            self._is_over = True
            pages._cancel_page()
            raise


def _free(draft: Any, channel: Channel, exchanges: List[Exchange]) -> None:
    draft.free()
    for exchange in exchanges:
        exchange.free()
    channel.close()
