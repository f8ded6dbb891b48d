# Wherry: the asyncio client
# SPDX-License-Identifier: Apache-2.0
"""The asyncio client.

Each event loop has one queue, watched by `add_reader`; threads only close clients.
"""

from __future__ import annotations

import asyncio
import itertools
import weakref
from time import perf_counter

from ._base import BaseClient, free_client
from ._core.calls import check, last_error, made
from ._core.errors import CancelledError, WherryError
from ._core.values import text, url_text
from ._exchange import VERSION_FLAGS, Exchange, settle, version
from ._native import codes
from ._native.forking import clear_after_fork
from ._native.library import lib
from ._native.memory import Records, bytes_at
from ._questions import answering
from ._request import PLAIN, plain
from ._response import Response, received

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any, Callable, Coroutine, Dict, Mapping, Optional, Set, Tuple, TypeVar,
    )  # fmt: skip

    from typing_extensions import Unpack

    from ._async_pages import AsyncPages
    from ._cache import AsyncCache
    from ._chains import AsyncChain
    from ._download import AsyncDownload
    from ._groups import AsyncGroup
    from ._keywords import DownloadOptions, PageOptions, StreamOptions, Target, UploadOptions
    from ._layers import AsyncSend
    from ._native.memory import Record
    from ._progress import Progress
    from ._request import Draft
    from ._stream import AsyncStream

    Self = TypeVar("Self", bound="AsyncClient")
    Answer = Coroutine[Any, Any, Response]
    #: The future of the response, the URL, the start time, whether the response URL equals that URL
    #: without a redirect, and the draft, if any.
    Waiting = Tuple["asyncio.Future[Response]", str, float, bool, Optional[Draft]]
    #: Handles an event. Returns True to keep the event.
    Sink = Callable[[Record], bool]
    Sinks = Dict[int, Tuple[Sink, Exchange]]

BATCH = 256
#: A substitute for the DONE event of a transfer whose queue was closed early.
ENDED: Record = (0, 0, 0, 0, codes.EVENT_DONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class Pump:
    """The queue of one event loop. Reads events and passes them to the waiting requests."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        #: The marks of the clients that use this queue.
        self.clients: Set[object] = set()
        self.waiting: Dict[int, Waiting] = {}
        self.sinks: Sinks = {}
        self.key = itertools.count(1).__next__
        self.queue = made(lib.wherry_queue_new)
        self._fd = lib.wherry_queue_fd(self.queue)
        self._records = Records(BATCH)
        self._finalizer = weakref.finalize(loop, _free_queue, self.queue)
        #: The tasks that run for requests: asynchronous bodies and callbacks.
        self._tasks: Set[asyncio.Future[Any]] = set()
        self._is_reading = False
        loop.add_reader(self._fd, self.read)

    def read(self) -> bool:
        """Reads one batch of events. Returns whether there was one.

        The loop calls `read` again while there are more events. Functions called from here must not
        call `read`, because the records are in use.
        """
        if self._is_reading:
            return False
        records = self._records
        count_cell = records.count
        status = lib.wherry_queue_read(
            self.queue, records.address, BATCH, 0, count_cell.address
        )
        if status:
            if status != codes.E_TIMEOUT:
                raise last_error(status)
            return False
        count = count_cell.take()
        waiting = self.waiting
        now = perf_counter()
        index = -1
        try:
            self._is_reading = True
            for _, key, kind, status, code, flags, body, size, head, length in records.answers(
                count
            ):
                index += 1
                if kind != codes.EVENT_DONE or key not in waiting:
                    self._hand_on(records, index, key, kind)
                    continue
                future, url, started, is_plain, draft = waiting.pop(key)
                if future.done():
                    continue
                if status or flags & ~VERSION_FLAGS or not is_plain:
                    self._settle(future, records.at(index), url, now - started, draft)
                    continue
                # The same as `settle`, for a plain success.
                response = received(code, bytes_at(head, length), bytes_at(body, size), url)
                response._seconds = now - started
                if flags:
                    response._version = version(flags)
                future.set_result(response)
        finally:
            self._is_reading = False
            status = lib.wherry_queue_release(self.queue, records.address, count)
        check(status)
        return True

    def _hand_on(self, records: Records, index: int, key: int, kind: int) -> None:
        """Passes an event to its sink, if there is one."""
        found = self.sinks.get(key)
        if kind == codes.EVENT_DONE:
            # Remove the sink first, so that it can register another transfer with this key.
            self.sinks.pop(key, None)
        if found is not None and found[0](records.at(index)):
            records.keep(index)

    @staticmethod
    def _settle(
        future: asyncio.Future[Response],
        record: Record,
        url: str,
        seconds: float,
        draft: Optional[Draft],
    ) -> None:
        response = received(url=url) if draft is None else draft.answer()
        response._seconds = seconds
        try:
            settle(response, record, draft)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(response)

    def send(self, client: AsyncClient, draft: Draft, exchange: Exchange, sink: Sink) -> None:
        """Starts a transfer. Its events go to ``sink``."""
        key = self.key()
        exchange.transfer = client._begin(
            lib.wherry_client_send, draft.handle, self.queue, key
        )
        self.sinks[key] = self.reading(exchange, draft, sink), exchange

    def download(
        self, client: AsyncClient, draft: Draft, target: bytes, exchange: Exchange, sink: Sink
    ) -> int:
        """Starts a download. Its events go to ``sink``. Returns the transfer."""
        key = self.key()
        transfer = client._begin(
            lib.wherry_client_download, draft.handle, target, self.queue, key
        )
        self.sinks[key] = self.reading(exchange, draft, sink), exchange
        return transfer

    def reading(self, exchange: Exchange, draft: Draft, sink: Sink) -> Sink:
        """Wraps a sink to await the request's asynchronous callbacks and body."""
        if draft.functions:
            sink = answering(exchange, sink, self._tasks)
        source = draft.source
        if source is None or not source.asynchronous:
            return sink

        async def feed() -> None:
            try:
                await source.give_async(exchange.transfer)
            except Exception as error:
                exchange.fail(error)

        running: Optional[asyncio.Task[None]] = None

        def read(record: Record) -> bool:
            nonlocal running
            if record[4] == codes.EVENT_WANT_BODY:
                if running is None or running.done():
                    running = asyncio.ensure_future(feed())
                    self._tasks.add(running)
                    running.add_done_callback(self._tasks.discard)
                return False
            if record[4] == codes.EVENT_DONE and running is not None:
                running.cancel()
            return sink(record)

        return read

    def leave(self, client: object) -> None:
        """Calls `release` in the event loop.

        For other threads, and for the garbage collector, which may run in the middle of a `read`.
        """
        loop = self._loop()
        if loop is None or loop.is_closed():
            self.release(client)
            return
        try:
            loop.call_soon_threadsafe(self.release, client)
        except RuntimeError:
            self.release(client)  # The loop has been closed in the meantime.

    def release(self, client: object) -> None:
        """Removes a closed client, given by its mark.

        The last client frees the queue, after the remaining events are delivered.
        """
        self.clients.discard(client)
        if self.clients or not self.queue:
            return
        loop = self._loop()
        if loop is not None and self._is_reading:
            loop.call_soon(self.release, client)
            return
        if loop is not None:
            _pumps.pop(loop, None)
            if not loop.is_closed():
                loop.remove_reader(self._fd)
                self._drain()
        self.queue = 0
        self._finalizer()

    def _drain(self) -> None:
        """Delivers all remaining events, and ends the waiting requests with CancelledError."""
        problem: Optional[WherryError] = None
        try:
            while (self.waiting or self.sinks) and self.read():
                pass
        except WherryError as error:
            problem = error
        waiting, self.waiting = self.waiting, {}
        sinks, self.sinks = self.sinks, {}
        for future, *_ in waiting.values():
            if not future.done():
                future.set_exception(_closed(problem))
        for sink, exchange in sinks.values():
            exchange.fail(_closed(problem))
            sink(ENDED)


def _closed(problem: Optional[WherryError]) -> CancelledError:
    return CancelledError("the client was closed", "cancelled", underlying=problem)


def _free_queue(queue: int) -> None:
    lib.wherry_queue_free(queue)


_pumps: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pump] = weakref.WeakKeyDictionary()
clear_after_fork(_pumps.clear)


class AsyncClient(BaseClient["Answer"]):
    """An asyncio client. Use it in an ``async with`` statement, or call `aclose`.

    It has the same settings and keyword arguments as `Client`. Cancelling the task that awaits a
    request cancels the transfer. You may use a client in several event loops, one after the other.
    """

    _is_async = True
    _last: Tuple[Any, Any] = (None, None)
    #: Identifies this client to pumps. id() would not do, because Python reuses ids.
    _mark: Optional[object] = None

    # Each request is one coroutine. A wrapper coroutine that only awaits another one would cost as
    # much as the call into the library.

    @property
    def cache(self) -> AsyncCache:
        """The cached responses of this client."""
        from ._cache import AsyncCache

        return AsyncCache(self)

    def stream(self, method: str, url: str, **options: Unpack[StreamOptions]) -> AsyncStream:
        """Streams a response::

            async with client.stream("GET", url) as r:
                async for piece in r.aiter_bytes():
                    ...
        """
        from ._stream import AsyncStream

        return AsyncStream(self, method, url, options)

    def pages(
        self, url: str, *, method: Optional[str] = None, **options: Unpack[PageOptions]
    ) -> AsyncPages[Any]:
        """Like `Client.pages`: ``async for item in client.pages("books")``."""
        from ._async_pages import AsyncPages

        return AsyncPages(self, method, url, options)

    def group(
        self, *, all_settled: bool = False,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> AsyncGroup:  # fmt: skip
        """Like `Client.group`: ``await group.run()``."""
        from ._groups import AsyncGroup

        policy = codes.GROUP_ALL_SETTLED if all_settled else codes.GROUP_FAIL_FAST
        return AsyncGroup(self, policy, progress)

    def chain(
        self, function: Callable[[AsyncChain, Any], object], *,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> AsyncChain:  # fmt: skip
        """Like `Client.chain`: ``await chain.run()``. The function may be a coroutine function."""
        from ._chains import AsyncChain

        return AsyncChain(self, function, progress)

    async def upload(
        self, url: str, pictures: Any, **options: Unpack[UploadOptions]
    ) -> Response:
        """Like `Client.upload`. The ``progress`` callback runs in the event loop."""
        from ._images import prepare, several

        pictures = several(pictures)

        async def send(method: Optional[str], url: str, options: Mapping[str, Any]) -> Response:
            draft = prepare(self, url, pictures, {**options, "method": method})
            return await self._request(None, url, {}, draft)

        return await self._layered(send, options.get("method", "POST"), url, options)

    def start_download(
        self, url: str, path: Target = None, **options: Unpack[DownloadOptions]
    ) -> AsyncDownload:
        """Like `Client.start_download`. The returned handle can be awaited."""
        from ._download import AsyncDownload, prepare

        draft, target = prepare(self, url, path, options)
        try:
            return AsyncDownload(self, draft, target)
        finally:
            draft.free()

    async def download(
        self, url: str, path: Target = None, **options: Unpack[DownloadOptions]
    ) -> str:
        """Like `Client.download`."""
        return await self.start_download(url, path, **options)

    async def aclose(self) -> None:
        """Cancels running requests and closes the connections. You may call it more than once."""
        handle = self._take_handle()
        if not handle:
            return
        try:
            # Freeing waits for the client's threads, which would block the event loop.
            freeing = asyncio.get_running_loop().run_in_executor(None, free_client, handle)
        except RuntimeError:  # The interpreter is exiting and starts no more threads.
            self._handle = handle
            self._free()
            return
        pump = self._unlinked()
        if pump is not None:
            # A callback also runs if the waiting task is cancelled.
            freeing.add_done_callback(lambda _: pump.leave(self._mark))
        freeing.add_done_callback(lambda _: self._end_readers())
        await asyncio.shield(freeing)
        if self._router is not None:
            await self._router.aclose()

    async def __aenter__(self: Self) -> Self:
        self._live()
        if self._router is not None:
            await self._router.aenter()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # Waiting

    def _pump(self, loop: asyncio.AbstractEventLoop) -> Pump:
        known, pump = self._last
        if known is not None and known() is loop and pump.queue:
            return pump  # type: ignore[no-any-return]
        self._live()
        pump = _pumps.get(loop)
        if pump is None:
            pump = _pumps[loop] = Pump(loop)
        if self._mark is None:
            self._mark = object()
        pump.clients.add(self._mark)
        self._last = weakref.ref(loop), pump
        return pump

    async def _request(
        self,
        method: Optional[str],
        url: str,
        options: Mapping[str, Any],
        draft: Optional[Draft] = None,
    ) -> Response:
        request = PLAIN.get(method) or plain(method)
        if isinstance(url, bytes):
            url = url_text(url)
        try:
            if draft is None and (
                options or self._query or self._defaults or self._extras or not request
            ):
                if self._extras or "auth" in options or "hooks" in options:
                    return await self._layered(self._drafted, method, url, options)
                draft = self._draft(method, url, options)
            if draft is None:
                address: Optional[bytes] = text(url, "bad_url")
                if self._own_cookies is not None:
                    self._seed_cookies(url, options)
            elif draft.needs_events:
                return await self._converse(draft)
            else:
                request, address = draft.handle, None
        except WherryError as error:
            self._blamed(error, method, url, options)
            raise
        try:
            loop = asyncio.get_running_loop()
            pump = self._pump(loop)
            key = pump.key()
            status = lib.wherry_client_send_url(
                self._handle, request, address, pump.queue, key, None
            )
            if status:
                raise self._refusal(status)
        except WherryError as error:
            self._blamed(error, method, url, options)
            raise
        finally:
            if draft is not None:
                draft.free()
        future: asyncio.Future[Response] = loop.create_future()
        is_plain = draft is None and not self._url_depends and (
            url == self._clean_url or self._is_clean(url)
        )
        pump.waiting[key] = future, url, perf_counter(), is_plain, draft
        try:
            response = await future
        except asyncio.CancelledError:
            lib.wherry_queue_cancel(pump.queue, key, None)
            raise
        except WherryError as error:
            self._blamed(error, method, url, options)
            raise
        if draft is None:
            response._asked = self._plain_asked.get(method) or self._plain(method, url)
        return response

    async def _layered(
        self, send: AsyncSend, method: Optional[str], url: str, options: Mapping[str, Any]
    ) -> Response:
        """Sends a request with its auth flow and hooks, if any."""
        from ._layers import layers

        found = layers(self, options)
        if found is None:
            return await send(method, url, options)
        return await found.arun(send, method, url, options)

    async def _drafted(
        self, method: Optional[str], url: str, options: Mapping[str, Any]
    ) -> Response:
        return await self._request(method, url, options, self._draft(method, url, options))

    async def _converse(self, draft: Draft) -> Response:
        """Sends a request that needs callbacks or a streamed body while it runs."""
        exchange = Exchange(draft)
        try:
            loop = asyncio.get_running_loop()
            pump = self._pump(loop)
            end = loop.create_future()

            def sink(record: Record) -> bool:
                if exchange.read(record) and not end.done():
                    end.set_result(None)
                return False

            pump.send(self, draft, exchange, sink)
        finally:
            draft.free()
        try:
            await end
        except asyncio.CancelledError:
            exchange.fail(CancelledError("the waiting task was cancelled", "cancelled"))
            raise
        finally:
            exchange.free()
        return exchange.result()

    def _unlinked(self) -> Optional[Pump]:
        """Detaches the client from the pump it used last, and returns that pump."""
        pump: Optional[Pump] = self._last[1]
        self._last = (None, None)
        return pump

    def _free(self) -> None:
        # Any thread may call this, and the garbage collector at any time.
        pump = self._unlinked()
        try:
            super()._free()
        finally:
            if pump is not None:
                pump.leave(self._mark)
