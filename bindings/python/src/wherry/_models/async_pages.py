# Wherry: paginated lists for asyncio
# SPDX-License-Identifier: Apache-2.0
"""`AsyncPages`: the result of `AsyncClient.pages`."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, List, Mapping as MappingType, Optional

from .._errors import CancelledError, StateError
from .._native.library import lib
from .paging import BasePages, Item, busy, free_pager

if TYPE_CHECKING:
    from typing import AsyncIterator

    from .._client.async_client import AsyncClient
    from .._native.memory import Record
    from .._waiting.pump import Pump, Sink
    from .paging import PageLoad


class AsyncPages(BasePages[Item]):
    """Like `Pages`, with coroutines: ``async for item in client.pages(...)``.

    Calling a method while another call waits for its page raises BusyError.
    """

    def __init__(self, client: AsyncClient, method: Optional[str], url: str, options: MappingType[str, Any]) -> None:
        super().__init__(client, method, url, options)
        self._pump: Optional[Pump] = None
        self._key = 0
        #: The lock for loading, and a future for the end of the page that is being loaded.
        self._lock: Optional[asyncio.Lock] = None
        self._ended_page: Optional[asyncio.Future[None]] = None
        self._finalizer = weakref.finalize(self, _free_draft, self._draft)
        self._free_pager: Any = None

    async def refresh(self) -> None:
        """Like `Pages.refresh`."""
        await self._run(lib.wherry_pager_refresh)

    async def load_next(self) -> bool:
        """Like `Pages.load_next`."""
        return await self._run(lib.wherry_pager_load_next)

    async def load_previous(self) -> None:
        """Like `Pages.load_previous`."""
        await self._run(lib.wherry_pager_load_previous)

    async def load(self, page: int) -> None:
        """Like `Pages.load`."""
        await self._run(lib.wherry_pager_load_page, page)

    async def pages(self) -> AsyncIterator[List[Item]]:
        """Like `Pages.pages`."""
        ready: Deque[List[Item]] = deque()
        changed = asyncio.Condition()
        requested = loaded = 0
        is_over = False

        async def work() -> None:
            nonlocal loaded, is_over
            try:
                while True:
                    async with changed:
                        await changed.wait_for(lambda: loaded - requested < self._paging.prefetch)
                    new: List[List[Item]] = []
                    if not await self._load_ahead(new.append):
                        return
                    if not new:
                        continue  # Another call has cancelled this page.
                    async with changed:
                        ready.extend(new)
                        loaded += 1
                        changed.notify_all()
            finally:
                is_over = True
                async with changed:
                    changed.notify_all()

        requested = 1
        task = asyncio.ensure_future(work())
        try:
            while True:
                async with changed:
                    await changed.wait_for(lambda: bool(ready) or is_over)
                    page = ready.popleft() if ready else None
                if page is None:
                    await task
                    return
                yield page
                async with changed:
                    requested += 1
                    changed.notify_all()
        finally:
            task.cancel()
            # Its error has been raised already, or the caller has stopped iterating.
            await asyncio.gather(task, return_exceptions=True)

    async def __aiter__(self) -> AsyncIterator[Item]:
        """Iterates over the items of the following pages."""
        pages = self.pages()
        try:
            async for page in pages:
                for item in page:
                    yield item
        finally:
            await pages.aclose()  # type: ignore[attr-defined]

    def close(self) -> None:
        """Cancels a running load and drops the items. You may call it more than once."""
        pager, self._pager = self._pager, 0
        if pager:
            self._free_pager()
        self._finalizer()

    async def __aenter__(self) -> AsyncPages[Item]:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def _run(self, function: Any, *arguments: Any) -> bool:
        """Loads a page for a method call. Returns False at the end of the list."""
        lock = self._ready()
        load = self._loading
        if load is not None:
            # The waiter may be cancelled although its task has not run yet.
            if load.take is None and not load.waiter.cancelled():
                raise busy()
            load.cancel_page()
        async with lock:
            return await self._load_page(None, function, *arguments)

    async def _load_ahead(self, take: Callable[[List[Any]], object]) -> bool:
        """Loads the next page for an iteration. Returns False at the end of the list."""
        async with self._ready():
            return await self._load_page(take, lib.wherry_pager_load_next)

    def _ready(self) -> asyncio.Lock:
        """Creates the native list in the running loop if needed. Returns the lock for loading."""
        pump = self._client._pump(asyncio.get_running_loop())
        if not self._draft.handle:
            raise StateError("these pages are closed", "closed")
        if self._lock is None:
            self._key = pump.key()
            self._pager = self._paging.pager(self._client, self._draft.handle, pump.queue, self._key)
            self._free_pager = weakref.finalize(self, free_pager, self._pager)
            self._pump = pump
            self._lock = asyncio.Lock()
        elif pump is not self._pump:
            raise StateError("these pages belong to another event loop", "wrong_state")
        return self._lock

    async def _load_page(self, take: Optional[Callable[[List[Any]], object]], function: Any, *arguments: Any) -> bool:
        if self._ended_page is not None:
            # Otherwise the end of an abandoned load would be mistaken for the end of this one.
            await asyncio.shield(self._ended_page)
        if not self._pager:
            raise StateError("these pages are closed", "closed")
        started = self._open(take, function, *arguments)
        load = self._loading
        if not started or load is None:
            return started is not None
        try:
            await load.waiter
        except asyncio.CancelledError:
            error = CancelledError("the waiting task was cancelled", "cancelled")
            load.exchange.fail(error)
            self._ended(load.wanted, load.refresh, error)
            raise
        try:
            self._settle(load)
        except CancelledError:
            if load.take is None or not load.is_cancelled:
                raise
        return True

    def _expect(self, load: PageLoad) -> None:
        pump = self._client._pump(asyncio.get_running_loop())
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def end(record: Record) -> bool:
            if load.read(record):
                load.exchange.free()
                # The page may be in the list although its task was cancelled.
                self._items = self._loading = self._ended_page = None
                over.set_result(None)
            return False

        read: Sink = pump.wrap_sink(load.exchange, self._draft, end)

        def sink(record: Record) -> bool:
            if load.is_of(record):
                return read(record)
            # The end of another load removed this sink.
            pump.sinks[self._key] = sink, load.exchange
            return False

        self._ended_page = over
        load.waiter = asyncio.shield(over)
        pump.sinks[self._key] = sink, load.exchange


def _free_draft(draft: Any) -> None:
    draft.free()
