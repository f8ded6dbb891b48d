# Wherry: responses whose body is streamed
# SPDX-License-Identifier: Apache-2.0
"""Streamed responses for both clients.

The sender has to wait while received chunks are unread.
"""

from __future__ import annotations

from .._core.calls import check
from .._core.exchange.events import Exchange
from .._core.hints import missing
from .._core.response.chunks import Chunks
from .._core.response.response import Response
from .._errors import StateError, WherryError, warn_unclosed, without_query
from .._native import codes
from .._native.library import lib
from .._native.memory import BODY, BODY_SIZE, EVENT, KIND, bytes_at
from .._waiting.blocking import Channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from typing import Any, AsyncIterator, Iterator, List, Mapping, Optional

    from .._client.async_client import AsyncClient
    from .._client.base import BaseClient
    from .._client.client import Client
    from .._core.exchange.draft import Draft
    from .._core.response.server_events import ServerEvent
    from .._native.memory import Record


#: Attributes that the status and headers do not determine. Some are known only at the end.
LATE = (
    "from_cache", "is_stale", "is_revalidated", "is_length_unverified", "unchanged", "informational",
    "metrics", "saved_path", "_version", "_seconds", "_error",
)  # fmt: skip


class StreamedResponse(Response):
    """A response whose body has not arrived yet. Iterate over it once, or `read` it completely."""

    def __init__(self, exchange: Exchange) -> None:
        head = exchange.response
        self.status_code = head.status_code
        self.url = head.url
        self.tag = head.tag
        self._body = b""
        self._raw_headers = head._raw_headers
        self._hops = head._hops
        self._arguments = head._arguments
        self.context = head.context
        self._accepted = head._accepted
        self._accepted_range = head._accepted_range
        self._exchange = exchange
        self._is_read = False
        self._is_consumed = False
        #: The stream that created this response. The stream closes the exchange when neither object
        #: is referenced any more.
        self._stream: object = None
        self._copy_late()

    def _copy_late(self) -> None:
        """Copies the attributes that are known after the headers, or at the end of the response."""
        known = self._exchange.response.__dict__
        self.__dict__.update({name: known[name] for name in LATE if name in known})

    @property
    def content(self) -> bytes:
        """The body, after it was read completely."""
        if not self._is_read:
            raise StateError(
                "the body was not read. Call read(), or await aread(), instead of iterating.", "wrong_state"
            )
        return self._body

    def _consume(self) -> None:
        if self._is_consumed:
            raise StateError("the body was already streamed", "wrong_state")
        self._is_consumed = True

    @property
    def is_closed(self) -> bool:
        """Whether the body has ended: no more data can arrive."""
        return self._is_read or self._is_ended()

    @property
    def is_stream_consumed(self) -> bool:
        """Whether the body was read, or is being read."""
        return self._is_consumed

    def _is_ended(self) -> bool:
        """Whether the complete body was read, or the stream was closed."""
        raise NotImplementedError

    def _end(self) -> None:
        """Raises the error that ended the stream early."""
        self._copy_late()
        self._exchange.result()


class SyncStreamedResponse(StreamedResponse):
    """The response of `Client.stream`."""

    def __init__(self, exchange: Exchange, channel: Channel) -> None:
        super().__init__(exchange)
        self._channel = channel

    def _is_ended(self) -> bool:
        return self._exchange.done or not self._channel.queue

    def aiter_bytes(self, chunk_size: Optional[int] = None) -> AsyncIterator[bytes]:
        """Raises StateError unless the body was read, because waiting would block the event loop."""
        if not self._is_read:
            raise StateError(
                "the response belongs to a blocking Client. Use iter_bytes(), or AsyncClient.", "wrong_state"
            )
        return super().aiter_bytes(chunk_size)

    def iter_bytes(self, chunk_size: Optional[int] = None) -> Iterator[bytes]:
        """Iterates over the body as it arrives, or in chunks of ``chunk_size`` bytes."""
        if self._is_read:
            yield from super().iter_bytes(chunk_size)
            return
        self._consume()
        pieces = Chunks(chunk_size)
        exchange, channel = self._exchange, self._channel
        while not exchange.done:
            if not channel.queue:
                raise StateError("the stream is closed", "closed")
            yield from pieces.feed(channel.pass_next(self._read_body))
        self._end()
        yield from pieces.end()

    def _read_body(self, record: Record) -> bytes:
        """Handles an event, and returns the data of a body event."""
        data = b""
        if record[KIND] == codes.EVENT_BODY:
            data = bytes_at(record[BODY], record[BODY_SIZE])
        if not data:
            self._exchange.read(record)
        return data

    def iter_events(self, max_bytes: int = 1 << 20) -> Iterator[ServerEvent]:
        """Iterates over the server-sent events of the body as they arrive.

        An incomplete event at the end of the body is dropped. Raises LimitError for an event that
        is longer than ``max_bytes``.
        """
        from .._core.response.server_events import ServerEvents

        parser = ServerEvents(max_bytes)
        for piece in self.iter_bytes():
            yield from parser.feed(piece)

    def read(self) -> bytes:
        """Reads and returns the complete body."""
        if not self._is_read:
            self._body = b"".join(self.iter_bytes())
            self._is_read = True
        return self._body

    def close(self) -> None:
        """Closes the stream and drops unread data. Can be called more than once."""
        if isinstance(self._stream, Stream):
            self._stream.__exit__()


class BaseStream:
    """The common base of `Stream` and `AsyncStream`."""

    #: The statement that opens the stream.
    _statement = "with"

    def __init__(self, client: BaseClient[Any], method: str, url: str, options: Mapping[str, Any]) -> None:
        self._client: Any = client
        self._request = (method, url, options)

    @property
    def _is_direct(self) -> bool:
        """Whether the request has neither an auth flow nor hooks."""
        return not self._client._needs_middleware(self._request[2])

    if not TYPE_CHECKING:  # Otherwise, type checkers would accept any name.

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name, open_hint(name, self._statement))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._request[0]} {without_query(self._request[1])}>"


class Stream(BaseStream):
    """The context manager that `Client.stream` returns."""

    def __init__(self, client: Client, method: str, url: str, options: Mapping[str, Any]) -> None:
        super().__init__(client, method, url, options)
        self._channel: Optional[Channel] = None
        self._exchange: Optional[Exchange] = None

    def __enter__(self) -> SyncStreamedResponse:
        if self._is_direct:
            return self._open(*self._request)
        from .._waiting.running import run

        steps = self._client._middleware(self._open, *self._request, self._discard)
        try:
            return run(steps)  # type: ignore[no-any-return]
        except BaseException:
            self.__exit__()
            raise

    def _discard(self, response: Response) -> None:
        """Reads and closes a stream that is not the last one of an auth flow."""
        response.read()
        self.__exit__()

    def _open(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> SyncStreamedResponse:
        client = self._client
        draft = client._draft(method, url, options)
        try:
            self._exchange = exchange = streamed_exchange(draft)
            self._channel = channel = Channel()
            exchange.transfer = client._begin(lib.wherry_client_send, draft.handle, channel.queue, 1)
            while not exchange.has_headers and not exchange.done:
                channel.pass_next(exchange.read)
            if exchange.done and exchange.error is not None:
                raise exchange.error
            response = SyncStreamedResponse(exchange, channel)
            response._stream = self
            return response
        except BaseException as error:
            self.__exit__()
            if isinstance(error, WherryError):
                client._add_request(error, method, url, options)
            raise
        finally:
            draft.free()

    def __exit__(self, *_: object) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._exchange is not None:
            self._exchange.free()

    def __del__(self) -> None:
        if self._channel is None or not self._channel.queue:
            return
        if self._exchange is not None and not self._exchange.done:
            warn_unclosed(self)
        self.__exit__()


def open_hint(name: str, way: str) -> Optional[str]:
    """Returns the hint for a stream whose response is read before the stream is opened."""
    if name[:1] == "_" or not hasattr(Response, name) and name not in ("status_code", "url", "iter_events"):
        return None
    return f"open the stream with `{way} client.stream(...) as response`"


def streamed_exchange(draft: Draft) -> Exchange:
    """Switches the request to streaming and returns its exchange."""
    check(lib.wherry_request_set_streamed(draft.handle, True))
    draft.option(codes.OPTION_WANT_HEADERS, 1)
    return Exchange(draft)


class AsyncStreamedResponse(StreamedResponse):
    """The response of `AsyncClient.stream`."""

    def __init__(self, exchange: Exchange, inbox: Inbox) -> None:
        super().__init__(exchange)
        self._inbox = inbox

    def _is_ended(self) -> bool:
        return self._inbox._is_closed or self._exchange.done and not self._inbox._records

    async def aiter_bytes(self, chunk_size: Optional[int] = None) -> AsyncIterator[bytes]:
        """Iterates over the body as it arrives, or in chunks of ``chunk_size`` bytes."""
        if self._is_read:
            for piece in super().iter_bytes(chunk_size):
                yield piece
            return
        self._consume()
        pieces = Chunks(chunk_size)
        while True:
            data = await self._inbox.piece()
            if data is None:
                break
            for piece in pieces.feed(data):
                yield piece
        self._end()
        for piece in pieces.end():
            yield piece

    async def aiter_events(self, max_bytes: int = 1 << 20) -> AsyncIterator[ServerEvent]:
        """Like `SyncStreamedResponse.iter_events`, as an asynchronous iterator."""
        from .._core.response.server_events import ServerEvents

        parser = ServerEvents(max_bytes)
        async for piece in self.aiter_bytes():
            for event in parser.feed(piece):
                yield event

    async def aread(self) -> bytes:
        """Reads and returns the complete body."""
        if not self._is_read:
            self._body = b"".join([piece async for piece in self.aiter_bytes()])
            self._is_read = True
        return self._body

    async def aclose(self) -> None:
        """Closes the stream and drops unread data. Can be called more than once."""
        if not self._inbox._is_closed:
            self._inbox.close()

    async def __aenter__(self) -> AsyncStreamedResponse:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Inbox:
    """The body events of one stream that are not read yet."""

    def __init__(self, loop: AbstractEventLoop, exchange: Exchange) -> None:
        self._loop = loop
        self._exchange = exchange
        self._records: List[Record] = []
        self._waiter: Any = None
        self._is_closed = False

    def put(self, record: Record) -> bool:
        """Reads an event. Returns True if the inbox keeps the event and must free it."""
        is_kept = record[KIND] == codes.EVENT_BODY and not self._is_closed
        if is_kept:
            self._records.append(record)
        else:
            self._exchange.read(record)
        self.nudge()
        return is_kept

    def nudge(self) -> None:
        """Wakes the waiting task."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    async def head(self) -> None:
        """Waits for the status and the headers."""
        exchange = self._exchange
        while not exchange.has_headers and not exchange.done:
            await self._wait()
        if exchange.done and not self._records and exchange.error is not None:
            raise exchange.error

    async def piece(self) -> Optional[bytes]:
        """Returns the next chunk, or None at the end."""
        while not self._records:
            if self._is_closed:
                raise StateError("the stream is closed", "closed")
            if self._exchange.done:
                return None
            await self._wait()
        record = self._records.pop(0)
        try:
            return bytes_at(record[BODY], record[BODY_SIZE])
        finally:
            lib.wherry_event_free(record[EVENT])

    def close(self) -> None:
        """Frees unread events, and ends the transfer."""
        if self._is_closed:
            return
        self._is_closed = True
        for record in self._records:
            lib.wherry_event_free(record[EVENT])
        self._records.clear()
        if not self._exchange.done:
            lib.wherry_transfer_cancel(self._exchange.transfer)
        self._exchange.free()
        self.nudge()


class AsyncStream(BaseStream):
    """The context manager that `AsyncClient.stream` returns."""

    _statement = "async with"

    def __init__(self, client: AsyncClient, method: str, url: str, options: Mapping[str, Any]) -> None:
        super().__init__(client, method, url, options)
        self._inbox: Optional[Inbox] = None

    async def __aenter__(self) -> AsyncStreamedResponse:
        if self._is_direct:
            return await self._open(*self._request)
        from .._waiting.running import run_async

        steps = self._client._middleware(self._open, *self._request, self._discard)
        try:
            return await run_async(steps)
        except BaseException:
            await self.__aexit__()
            raise

    async def _discard(self, response: Response) -> None:
        """Reads and closes a stream that is not the last one of an auth flow."""
        await response.aread()
        await self.__aexit__()

    async def _open(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> AsyncStreamedResponse:
        from asyncio import get_running_loop

        client = self._client
        loop = get_running_loop()
        pump = client._pump(loop)
        draft = client._draft(method, url, options)
        try:
            exchange = streamed_exchange(draft)
            self._inbox = inbox = Inbox(loop, exchange)
            pump.send(client, draft, exchange, inbox.put)
        finally:
            draft.free()
        try:
            await inbox.head()
        except BaseException as error:
            inbox.close()
            if isinstance(error, WherryError):
                client._add_request(error, method, url, options)
            raise
        response = AsyncStreamedResponse(exchange, inbox)
        response._stream = self
        return response

    async def __aexit__(self, *_: object) -> None:
        if self._inbox is not None:
            self._inbox.close()

    def __del__(self) -> None:
        if self._inbox is None or self._inbox._is_closed:
            return
        if not self._inbox._exchange.done:
            warn_unclosed(self)
        self._inbox.close()
