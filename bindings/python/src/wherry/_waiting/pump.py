# Wherry: waiting in an event loop
# SPDX-License-Identifier: Apache-2.0
"""The queue of an event loop, watched by `add_reader`."""

from __future__ import annotations

import asyncio
import itertools
import weakref
from contextvars import copy_context
from time import perf_counter

from .._core.calls import check, create, last_error
from .._core.exchange.events import Exchange, finish_response
from .._core.response.response import VERSION_FLAGS, Response, received, version
from .._errors import CancelledError, WherryError
from .._native import codes
from .._native.forking import clear_after_fork
from .._native.library import lib, pointer, prepared
from .._native.memory import EVENT, KIND, Records, bytes_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Set, Tuple

    from .._client.async_client import AsyncClient
    from .._core.exchange.hooks import HookCall
    from .._core.exchange.draft import Draft
    from .._native.memory import Record

    #: The future of the response, the URL, the start time, whether the response URL equals the
    #: request URL if there is no redirect, and the draft, if any.
    Waiting = Tuple["asyncio.Future[Response]", str, float, bool, Optional[Draft]]
    #: Handles an event. Returns True to keep the event.
    Sink = Callable[[Record], bool]
    Sinks = Dict[int, Tuple[Sink, Exchange]]

BATCH = 256
#: A substitute for the DONE event of a transfer whose queue was closed early.
ENDED: Record = (0, 0, 0, 0, codes.EVENT_DONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class Completion:
    """The end of a transfer or a group, for the task that waits for it."""

    __slots__ = ("_transfer", "future")

    def __init__(self, transfer: Any, loop: asyncio.AbstractEventLoop) -> None:
        #: An `Exchange`, or the run of a group.
        self._transfer = transfer
        self.future: asyncio.Future[None] = loop.create_future()

    def read(self, record: Record) -> bool:
        """Passes an event to the transfer. A `Sink`."""
        self._transfer.read(record)
        if self._transfer.done:
            self.finish()
        return False

    def finish(self) -> None:
        """Wakes the waiting task."""
        if not self.future.done():
            self.future.set_result(None)

    async def wait(self) -> None:
        """Waits for the end. Cancelling the waiting task cancels the transfer."""
        try:
            await self.future
        except asyncio.CancelledError:
            self._transfer.fail(CancelledError("the waiting task was cancelled", "cancelled"))
            raise


class Pump:
    """The queue of one event loop. Reads events and passes them to the waiting requests."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        #: The `_mark` of each client that uses this queue.
        self.clients: Set[object] = set()
        self.waiting: Dict[int, Waiting] = {}
        self.sinks: Sinks = {}
        self.key = itertools.count(1).__next__
        self.queue = create(lib.wherry_queue_new)
        self.queue_argument = pointer(self.queue)
        self.send_url = prepared("wherry_client_send_url")
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
        status = lib.wherry_queue_read(self.queue, records.address, BATCH, 0, count_cell.address)
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
            for (
                _, key, kind, status, code, flags, body, size, headers, length,
            ) in records.plain_records(count):  # fmt: skip
                index += 1
                if kind != codes.EVENT_DONE or key not in waiting:
                    self._dispatch(records, index, key, kind)
                    continue
                future, url, started, is_plain, draft = waiting.pop(key)
                if future.done():
                    continue
                if status or flags & ~VERSION_FLAGS or not is_plain:
                    self._set_result(future, records.at(index), url, now - started, draft)
                    continue
                # Equivalent to `finish_response` for a plain success.
                response = received(code, bytes_at(headers, length), bytes_at(body, size), url)
                response._seconds = now - started
                if flags:
                    response._version = version(flags)
                future.set_result(response)
        finally:
            self._is_reading = False
            status = lib.wherry_queue_release(self.queue, records.address, count)
        check(status)
        return True

    def _dispatch(self, records: Records, index: int, key: int, kind: int) -> None:
        """Passes an event to its sink, if there is one."""
        found = self.sinks.get(key)
        if kind == codes.EVENT_DONE:
            # Remove the sink first, so that it can register another transfer with this key.
            self.sinks.pop(key, None)
        if found is not None and found[0](records.at(index)):
            records.keep(index)

    @staticmethod
    def _set_result(
        future: asyncio.Future[Response],
        record: Record,
        url: str,
        seconds: float,
        draft: Optional[Draft],
    ) -> None:
        response = received(url=url) if draft is None else draft.new_response()
        response._seconds = seconds
        try:
            finish_response(response, record, draft)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(response)

    def send(self, client: AsyncClient, draft: Draft, exchange: Exchange, sink: Sink) -> None:
        """Starts a transfer. Its events go to ``sink``."""
        key = self.key()
        exchange.transfer = client._begin(lib.wherry_client_send, draft.handle, self.queue, key)
        self.sinks[key] = self.wrap_sink(exchange, draft, sink), exchange

    def download(self, client: AsyncClient, draft: Draft, target: bytes, exchange: Exchange, sink: Sink) -> int:
        """Starts a download. Its events go to ``sink``. Returns the transfer."""
        key = self.key()
        transfer = client._begin(lib.wherry_client_download, draft.handle, target, self.queue, key)
        self.sinks[key] = self.wrap_sink(exchange, draft, sink), exchange
        return transfer

    def load_image(
        self, client: AsyncClient, draft: Draft, target: Tuple[int, int], exchange: Exchange, sink: Sink
    ) -> None:
        """Starts to load an image, with a pixel format and a compression. Its events go to ``sink``."""
        key = self.key()
        exchange.transfer = client._begin(lib.wherry_client_load_image, draft.handle, None, *target, self.queue, key)
        self.sinks[key] = self.wrap_sink(exchange, draft, sink), exchange

    def wrap_sink(self, exchange: Exchange, draft: Draft, sink: Sink) -> Sink:
        """Wraps a sink to await the request's asynchronous callbacks and body."""
        if draft.functions:
            sink = with_async_hooks(exchange, sink, self._tasks)
        source = draft.source
        if source is None or not source.asynchronous:
            return sink

        async def feed() -> None:
            try:
                await source.write_async(exchange.transfer)
            except Exception as error:
                exchange.fail(error)

        running: Optional[asyncio.Task[None]] = None

        def read(record: Record) -> bool:
            nonlocal running
            if record[KIND] == codes.EVENT_WANT_BODY:
                if running is None or running.done():
                    running = asyncio.ensure_future(feed())
                    self._tasks.add(running)
                    running.add_done_callback(self._tasks.discard)
                return False
            if record[KIND] == codes.EVENT_DONE and running is not None:
                running.cancel()
            return sink(record)

        return read

    def release_soon(self, client: object) -> None:
        """Calls `release` in the event loop.

        Used by other threads, and by the garbage collector, which may run in the middle of a
        `read`.
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
        """Removes a closed client, identified by its `_mark`.

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
            pumps.pop(loop, None)
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
                future.set_exception(_closed_error(problem))
        for sink, exchange in sinks.values():
            exchange.fail(_closed_error(problem))
            sink(ENDED)


def _closed_error(problem: Optional[WherryError]) -> CancelledError:
    return CancelledError("the client was closed", "cancelled", underlying=problem)


def _free_queue(queue: int) -> None:
    lib.wherry_queue_free(queue)


#: The pumps of the event loops that clients have used.
pumps: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pump] = weakref.WeakKeyDictionary()
clear_after_fork(pumps.clear)


def with_async_hooks(exchange: Exchange, sink: Sink, tasks: Set[Any]) -> Sink:
    """Returns a sink that runs hooks, and passes other events to `sink`.

    The sink awaits the results of coroutine functions. `tasks` keeps their tasks alive.
    """
    running: Set[asyncio.Future[Any]] = set()
    # The event loop calls readers in another context. Callbacks run in the context of the request.
    context = copy_context()

    def finish(task: asyncio.Future[Any], call: HookCall, event: int) -> None:
        running.discard(task)
        tasks.discard(task)
        try:
            call.resolve(task.result())
        except asyncio.CancelledError:
            call.refuse()  # Has no effect after the transfer has ended; the end of the transfer cancels the task.
        except BaseException as error:
            if not call.report(error):
                call.refuse()
                exchange.fail(error)
        finally:
            lib.wherry_event_free(event)

    def read(record: Record) -> bool:
        if record[KIND] == codes.EVENT_DONE:
            for task in running:
                task.cancel()
        call = exchange.hook_call(record) if record[KIND] == codes.EVENT_HOOK else None
        if call is None:
            return sink(record)
        try:
            result = context.run(call.run, asyncio.ensure_future)
            if not isinstance(result, asyncio.Future):
                call.resolve(result)
                return False
        except Exception as error:
            if not call.report(error):
                call.refuse()
                exchange.fail(error)
            return False
        awaited, event = call, record[EVENT]
        running.add(result)
        tasks.add(result)
        result.add_done_callback(lambda task: finish(task, awaited, event))
        return True

    return read
