# Wherry: the asyncio client
# SPDX-License-Identifier: Apache-2.0
"""The asyncio client.

Each event loop has one queue. Requests use no threads; closing a client and reading its cache do.
"""

from __future__ import annotations

import asyncio
import weakref
from time import perf_counter

from .._core.exchange.events import Exchange
from .._core.response.response import Response
from .._core.values import text, url_text
from .._errors import WherryError
from .._native import codes
from .._native.library import lib, pointer
from .._waiting.pump import Completion, Pump, pumps
from .base import BaseClient, free_client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Coroutine, Mapping, Optional, Tuple, TypeVar

    from typing_extensions import Unpack

    from .._core.exchange.draft import Draft
    from .._core.exchange.event_hooks import Send
    from .._core.keywords import DownloadOptions, PageOptions, StreamOptions, Target, UploadOptions
    from .._core.progress import Progress
    from .._models.async_pages import AsyncPages
    from .._transfers.chains import AsyncChain
    from .._transfers.downloads import AsyncDownload
    from .._transfers.groups import AsyncGroup
    from .._transfers.streams import AsyncStream
    from .cache import AsyncCache
    from .images import AsyncImageLoader

    Self = TypeVar("Self", bound="AsyncClient")
    ResponseCoroutine = Coroutine[Any, Any, Response]


class AsyncClient(BaseClient["ResponseCoroutine"]):
    """An asyncio client. Use it in an ``async with`` statement, or call `aclose`.

    It has the same settings and keyword arguments as `Client`. Cancelling the task that awaits a
    request cancels the transfer. You may use a client in several event loops, one after the other.
    """

    _is_async = True
    #: The event loop of the last request (a weak reference), its pump, and this client as an argument.
    _last: Tuple[Any, Any, Any] = (None, None, None)
    #: Identifies this client to a `Pump`. id() is unsuitable, because Python reuses ids.
    _mark: Optional[object] = None

    # Each request is one coroutine. A wrapper coroutine that only awaits another one would cost as
    # much as the call into the library.

    @property
    def cache(self) -> AsyncCache:
        """The cached responses of this client."""
        from .cache import AsyncCache

        return AsyncCache(self)

    @property
    def images(self) -> AsyncImageLoader:
        """Loads images from URLs, and keeps them decoded in memory. See `AsyncImageLoader`."""
        from .images import AsyncImageLoader

        return AsyncImageLoader(self)

    def stream(self, method: str, url: str, **options: Unpack[StreamOptions]) -> AsyncStream:
        """Streams a response::

        async with client.stream("GET", url) as r:
            async for piece in r.aiter_bytes():
                ...
        """
        from .._transfers.streams import AsyncStream

        return AsyncStream(self, method, url, options)

    def pages(self, url: str, *, method: Optional[str] = None, **options: Unpack[PageOptions]) -> AsyncPages[Any]:
        """Like `Client.pages`: ``async for item in client.pages("books")``."""
        from .._models.async_pages import AsyncPages

        return AsyncPages(self, method, url, options)

    def group(
        self, *, all_settled: bool = False,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> AsyncGroup:  # fmt: skip
        """Like `Client.group`: ``await group.run()``."""
        from .._transfers.groups import AsyncGroup

        policy = codes.GROUP_ALL_SETTLED if all_settled else codes.GROUP_FAIL_FAST
        return AsyncGroup(self, policy, progress)

    def chain(
        self, function: Callable[[AsyncChain, Any], object], *,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> AsyncChain:  # fmt: skip
        """Like `Client.chain`: ``await chain.run()``. The function may be a coroutine function."""
        from .._transfers.chains import AsyncChain

        return AsyncChain(self, function, progress)

    async def upload(self, url: str, images: Any, **options: Unpack[UploadOptions]) -> Response:
        """Like `Client.upload`. The ``progress`` callback runs in the event loop."""
        from .._waiting.running import run_async

        return await run_async(self._upload(url, images, options))

    def start_download(self, url: str, path: Target = None, **options: Unpack[DownloadOptions]) -> AsyncDownload:
        """Like `Client.start_download`. The returned handle can be awaited."""
        from .._transfers.downloads import AsyncDownload, prepare

        draft, target = prepare(self, url, path, options)
        try:
            return AsyncDownload(self, draft, target)
        finally:
            draft.free()

    async def download(self, url: str, path: Target = None, **options: Unpack[DownloadOptions]) -> str:
        """Like `Client.download`."""
        return await self.start_download(url, path, **options)

    async def aclose(self) -> None:
        """Cancels running requests and closes the connections. You may call it more than once."""
        handle = self._take_handle()
        if not handle:
            return
        try:
            # Freeing the client waits for its threads, and that wait would block the event loop.
            freeing = asyncio.get_running_loop().run_in_executor(None, free_client, handle)
        except RuntimeError:  # The interpreter is exiting and starts no more threads.
            self._handle = handle
            self._free()
            return
        pump = self._detach_pump()
        if pump is not None:
            # A callback also runs if the waiting task is cancelled.
            freeing.add_done_callback(lambda _: pump.release_soon(self._mark))
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
        return self._pump_and_client(loop)[1]

    def _pump_and_client(self, loop: asyncio.AbstractEventLoop) -> Tuple[Any, Pump, Any]:
        """Returns `_last` for an event loop."""
        last = self._last
        known, pump, _ = last
        if known is not None and known() is loop and pump.queue:
            return last
        client = pointer(self._live())
        pump = pumps.get(loop)
        if pump is None:
            pump = pumps[loop] = Pump(loop)
        if self._mark is None:
            self._mark = object()
        pump.clients.add(self._mark)
        self._last = last = weakref.ref(loop), pump, client
        return last

    async def _request(
        self,
        method: Optional[str],
        url: str,
        options: Mapping[str, Any],
        draft: Optional[Draft] = None,
    ) -> Response:
        if isinstance(url, bytes):
            url = url_text(url)
        try:
            request = None
            if draft is None:
                request = self._plain_request(method, options)
                if not request:
                    if self._needs_middleware(options):
                        send = self._draft_and_send
                        return await self._with_middleware(send, method, url, options)
                    draft = self._draft(method, url, options)
            if draft is None:
                address: Optional[bytes] = text(url, "bad_url")
                if self._own_cookies is not None:
                    self._add_own_cookies(url, options)
            elif draft.needs_events:
                return await self._send_with_events(draft)
            else:
                request, address = pointer(draft.handle), None
        except WherryError as error:
            self._add_request(error, method, url, options)
            raise
        try:
            loop = asyncio.get_running_loop()
            _, pump, client = self._pump_and_client(loop)
            key = pump.key()
            status = pump.send_url(client, request, address, pump.queue_argument, pointer(key), None)
            if status:
                raise self._start_error(status)
        except WherryError as error:
            self._add_request(error, method, url, options)
            raise
        finally:
            if draft is not None:
                draft.free()
        future: asyncio.Future[Response] = loop.create_future()
        is_plain = draft is None and not self._url_depends and (url == self._clean_url or self._is_clean(url))
        pump.waiting[key] = future, url, perf_counter(), is_plain, draft
        try:
            response = await future
        except asyncio.CancelledError:
            lib.wherry_queue_cancel(pump.queue, key, None)
            raise
        except WherryError as error:
            self._add_request(error, method, url, options)
            raise
        if draft is None:
            known = self._plain_arguments.get(method)
            response._arguments = known or self._new_plain_arguments(method)
        return response

    async def _with_middleware(
        self, send: Send, method: Optional[str], url: str, options: Mapping[str, Any]
    ) -> Response:
        """Sends a request with its auth flow and hooks, if any."""
        from .._waiting.running import run_async

        return await run_async(self._middleware(send, method, url, options))

    async def _draft_and_send(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Response:
        return await self._request(method, url, options, self._draft(method, url, options))

    async def _send_draft(self, draft: Draft) -> Response:
        """Sends a request and frees its draft."""
        return await self._request(None, draft.url, {}, draft)

    async def _send_with_events(self, draft: Draft) -> Response:
        """Sends a request that uses callbacks or a streamed body."""
        exchange = Exchange(draft)
        try:
            loop = asyncio.get_running_loop()
            completion = Completion(exchange, loop)
            self._pump(loop).send(self, draft, exchange, completion.read)
        finally:
            draft.free()
        try:
            await completion.wait()
        finally:
            exchange.free()
        return exchange.result()

    def _detach_pump(self) -> Optional[Pump]:
        """Detaches the client from the pump it used last, and returns that pump."""
        pump: Optional[Pump] = self._last[1]
        self._last = (None, None, None)
        return pump

    def _free(self) -> None:
        # Any thread may call this method; the garbage collector may call it at any time.
        pump = self._detach_pump()
        try:
            super()._free()
        finally:
            if pump is not None:
                pump.release_soon(self._mark)
