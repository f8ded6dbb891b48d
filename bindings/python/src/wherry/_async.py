# Wherry: the asyncio client
# SPDX-License-Identifier: Apache-2.0
"""Requests as coroutines: one queue per event loop, watched by `add_reader`; no threads."""

from __future__ import annotations

import asyncio
import itertools
import weakref
from time import perf_counter

from . import _codes as codes
from ._base import BaseClient
from ._bridge import Records, bytes_at, check, last_error, lib, made, text
from ._errors import CancelledError
from ._exchange import Exchange, settle
from ._request import PLAIN, plain
from ._response import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Coroutine, Dict, Mapping, Optional, Set, Tuple, TypeVar

    from typing_extensions import Unpack

    from ._bridge import Record
    from ._download import AsyncDownload
    from ._request import Draft, DownloadOptions, StreamOptions, Target, UploadOptions
    from ._stream import AsyncStream

    Self = TypeVar("Self", bound="AsyncClient")
    Answer = Coroutine[Any, Any, Response]
    #: Where the answer goes, the URL, when it was asked for, whether the answer's URL will be that
    #: one unless it was redirected, and the draft where there is one.
    Waiting = Tuple["asyncio.Future[Response]", str, float, bool, Optional[Draft]]
    #: Takes in an event; True keeps it.
    Sink = Callable[[Record], bool]

BATCH = 256


class Pump:
    """The queue of one event loop: reads its events and hands them to whoever waits."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self.clients: Set[int] = set()
        self.waiting: Dict[int, Waiting] = {}
        self.sinks: Dict[int, Sink] = {}
        self.key = itertools.count(1).__next__
        self.queue = made(lib.wherry_queue_new)
        self._fd = lib.wherry_queue_fd(self.queue)
        self._records = Records(BATCH)
        self._finalizer = weakref.finalize(loop, _free_queue, self.queue)
        self._tasks: Set[asyncio.Task[None]] = set()
        loop.add_reader(self._fd, self.read)

    def read(self) -> None:
        """Takes one batch of events; the loop calls again while there are more."""
        records = self._records
        count_cell = records.count
        status = lib.wherry_queue_read(
            self.queue, records.address, BATCH, 0, count_cell.address
        )
        if status:
            if status != codes.E_TIMEOUT:
                raise last_error(status)
            return
        count = count_cell.take()
        waiting = self.waiting
        now = perf_counter()
        index = -1
        try:
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
                if status or flags or not is_plain:
                    self._settle(future, records.at(index), url, now - started, draft)
                    continue
                # What `settle` does with a plain success.
                response = Response(code, bytes_at(head, length), bytes_at(body, size), url)
                response._seconds = now - started
                future.set_result(response)
        finally:
            status = lib.wherry_queue_release(self.queue, records.address, count)
        check(status)

    def _hand_on(self, records: Records, index: int, key: int, kind: int) -> None:
        """Gives an event to its sink, if there is one."""
        sink = self.sinks.get(key)
        if sink is not None and sink(records.at(index)):
            records.keep(index)
        if kind == codes.EVENT_DONE:
            self.sinks.pop(key, None)

    @staticmethod
    def _settle(
        future: asyncio.Future[Response],
        record: Record,
        url: str,
        seconds: float,
        draft: Optional[Draft],
    ) -> None:
        response = Response(url=url, tag=None if draft is None else draft.tag)
        response._seconds = seconds
        try:
            settle(response, record, draft is not None and draft.has_images)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(response)

    def send(self, client: AsyncClient, draft: Draft, exchange: Exchange, sink: Sink) -> None:
        """Starts a transfer whose events go to a sink."""
        key = self.key()
        exchange.transfer = made(
            lib.wherry_client_send, client._handle, draft.handle, self.queue, key
        )
        self.sinks[key] = self._feeding(exchange, draft, sink)

    def download(self, client: AsyncClient, draft: Draft, target: bytes, sink: Sink) -> int:
        """Starts a download whose events go to a sink."""
        key = self.key()
        transfer = made(
            lib.wherry_client_download, client._handle, draft.handle, target, self.queue, key
        )
        self.sinks[key] = sink
        return transfer

    def _feeding(self, exchange: Exchange, draft: Draft, sink: Sink) -> Sink:
        source = draft.source
        if source is None or not source.asynchronous:
            return sink

        async def feed(offset: int) -> None:
            try:
                await source.give_async(exchange.transfer, offset)
            except Exception as error:
                exchange.fail(error)

        running: Optional[asyncio.Task[None]] = None

        def read(record: Record) -> bool:
            nonlocal running
            if record[4] == codes.EVENT_WANT_BODY:
                if running is None or running.done():
                    running = asyncio.ensure_future(feed(record[13]))
                    self._tasks.add(running)
                    running.add_done_callback(self._tasks.discard)
                return False
            if record[4] == codes.EVENT_DONE and running is not None:
                running.cancel()
            return sink(record)

        return read

    def release(self, client: AsyncClient) -> None:
        """A client has closed: hands out its last events; without clients the queue goes."""
        self.clients.discard(id(client))
        loop = self._loop()
        if self.queue and (self.waiting or self.sinks) and loop and not loop.is_closed():
            self.read()
        if self.clients or not self.queue:
            return
        if loop is not None:
            _pumps.pop(loop, None)
            if not loop.is_closed():
                loop.remove_reader(self._fd)
        self.queue = 0
        self._finalizer()


def _free_queue(queue: int) -> None:
    lib.wherry_queue_free(queue)


_pumps: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pump] = weakref.WeakKeyDictionary()


class AsyncClient(BaseClient["Answer"]):
    """An asyncio client. Use it in ``async with``, or call `aclose`.

    Its settings and keywords are those of `Client`. Cancelling a task that waits cancels the
    transfer. A client may be used in several event loops, one after the other.
    """

    _last: Tuple[Any, Any] = (None, None)

    # One coroutine per request, and none that only awaits another: that would cost as much as the
    # call into the library.

    def stream(self, method: str, url: str, **options: Unpack[StreamOptions]) -> AsyncStream:
        """``async with client.stream("GET", url) as r: async for piece in r.aiter_bytes()``."""
        from ._stream import AsyncStream

        return AsyncStream(self, method, url, options)

    async def upload(
        self, url: str, pictures: Any, **options: Unpack[UploadOptions]
    ) -> Response:
        """As `Client.upload`; ``progress`` runs in the event loop."""
        from ._images import prepare

        return await self._request(None, url, {}, prepare(self, url, pictures, options))

    def start_download(
        self, url: str, path: Target = None, **options: Unpack[DownloadOptions]
    ) -> AsyncDownload:
        """As `Client.start_download`; the handle can be awaited."""
        from ._download import AsyncDownload, prepare

        draft, target = prepare(self, url, path, options)
        try:
            return AsyncDownload(self, draft, target)
        finally:
            draft.free()

    async def download(
        self, url: str, path: Target = None, **options: Unpack[DownloadOptions]
    ) -> str:
        """As `Client.download`."""
        return await self.start_download(url, path, **options)

    async def aclose(self) -> None:
        """Cancels what is in flight and frees the connections. Twice is fine."""
        self._free()

    async def __aenter__(self: Self) -> Self:
        self._live()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # How it waits

    def _pump(self, loop: asyncio.AbstractEventLoop) -> Pump:
        known, pump = self._last
        if known is not None and known() is loop and pump.queue:
            return pump  # type: ignore[no-any-return]
        pump = _pumps.get(loop)
        if pump is None:
            pump = _pumps[loop] = Pump(loop)
        pump.clients.add(id(self))
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
        if draft is None and (options or self._query or not request):
            draft = self._draft(method, url, options)
        if draft is None:
            address: Optional[bytes] = text(url, "bad_url")
        elif draft.needs_events:
            return await self._converse(draft)
        else:
            request, address = draft.handle, None
        try:
            loop = asyncio.get_running_loop()
            pump = self._pump(loop)
            key = pump.key()
            status = lib.wherry_client_send_url(
                self._handle, request, address, pump.queue, key, None
            )
            if status:
                raise self._refusal(status)
        finally:
            if draft is not None:
                draft.free()
        future: asyncio.Future[Response] = loop.create_future()
        is_plain = draft is None and not self._url_depends
        pump.waiting[key] = future, url, perf_counter(), is_plain, draft
        try:
            return await future
        except asyncio.CancelledError:
            lib.wherry_queue_cancel(pump.queue, key, None)
            raise

    async def _converse(self, draft: Draft) -> Response:
        """A request somebody has to talk to while it runs."""
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
            exchange.fail(CancelledError("the task that waited was cancelled", "cancelled"))
            raise
        finally:
            exchange.free()
        return exchange.result()

    def _free(self) -> None:
        super()._free()
        _, pump = self._last
        self._last = (None, None)
        if pump is not None:
            pump.release(self)
