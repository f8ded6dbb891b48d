# Wherry: one interface of a server, and the value it gives
# SPDX-License-Identifier: Apache-2.0
"""`Endpoint` and `Model`, blocking and for asyncio."""

from __future__ import annotations

import struct
import threading
import weakref
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Generic, Mapping as Named, Optional, Tuple, Type, TypeVar,
)  # fmt: skip

from . import _codes as codes
from ._bridge import Records, check, filled, last_error, lib, made, text
from ._flows import refuse_flow
from ._errors import CancelledError, StateError, WherryError
from ._exchange import SLICE_MS, Exchange
from ._mapping import Mapping, printed
from ._options import json_bytes

if TYPE_CHECKING:
    from ._async import AsyncClient, Pump, Sink
    from ._bridge import Record
    from ._client import Client
    from ._response import Response

Value = TypeVar("Value")

#: wherry_timing behind its size.
TIMING = struct.Struct("=Q9q")


class Timing:
    """When an access began, and how long its parts took, in seconds."""

    __slots__ = (
        "started", "queued", "lookup", "connect", "tls", "first_byte", "network", "total", "parse",
    )  # fmt: skip

    def __init__(self, microseconds: Tuple[int, ...]) -> None:
        for name, value in zip(self.__slots__, microseconds):
            setattr(self, name, value / 1e6)

    started: float
    queued: float
    lookup: float
    connect: float
    tls: float
    first_byte: float
    network: float
    total: float
    parse: float


class BaseEndpoint:
    """What both kinds share: the pattern, and the last answer."""

    _handle = 0

    def __init__(
        self, client: Any, server: str, path: str = "", method: str = "POST", **options: Any
    ) -> None:
        """An interface at a path of a server: "example.org", "https://example.org/" and so on,
        without a scheme http. The other keywords are those of every request, files= too."""
        self._client = client
        refuse_flow(client, options, "an endpoint")
        self._draft = client._draft(method, "", options)
        try:
            check(
                lib.wherry_request_set_server(
                    self._draft.handle, text(server, "bad_url"), text(path, "bad_url")
                )
            )
        except BaseException:
            self._draft.free()
            raise
        self._draft.url = server
        self.response: Optional[Response] = None

    @property
    def state(self) -> str:
        """ "none", "running", "done", "failed" or "cancelled"."""
        return codes.STATES[lib.wherry_endpoint_state(self._handle)] if self._handle else "none"

    @property
    def timing(self) -> Timing:
        """The times of the last access that ended; StateError before."""
        return Timing(filled(TIMING, lib.wherry_endpoint_timing, self._native()))

    def json(self) -> Any:
        """The last answer as JSON; the time that takes counts as `Timing.parse`."""
        handle = made(lib.wherry_endpoint_json, self._native())
        try:
            return printed(handle)
        finally:
            lib.wherry_json_free(handle)

    def cancel(self) -> None:
        """Cancels the access that is on its way."""
        if self._handle:
            check(lib.wherry_endpoint_cancel(self._handle))

    def _native(self) -> int:
        if not self._handle:
            raise StateError("the endpoint was not accessed yet", "wrong_state")
        return self._handle

    def _access(self, parameters: Optional[Named[str, Any]]) -> int:
        """Starts an access; its transfer."""
        if parameters is None:
            return made(lib.wherry_endpoint_access, self._handle, None)
        content = json_bytes(dict(parameters))
        given = made(lib.wherry_json_parse, content, len(content))
        try:
            return made(lib.wherry_endpoint_access, self._handle, given)
        finally:
            lib.wherry_json_free(given)

    def _result(self, exchange: Exchange) -> Response:
        response = exchange.result()
        self.response = response
        response.raise_for_status()
        return response


class Endpoint(BaseEndpoint):
    """One interface of a server, accessed again and again: a new access cancels the last.

    ``access`` blocks; another thread's newer access ends it with CancelledError, `replaced`.
    """

    def __init__(
        self, client: Client, server: str, path: str = "", method: str = "POST", **options: Any
    ) -> None:
        super().__init__(client, server, path, method, **options)
        self._lock = threading.Lock()
        self._running: Dict[int, Exchange] = {}
        self._queue = made(lib.wherry_queue_new)
        self._handle = made(
            lib.wherry_endpoint_new, client._live(), self._draft.handle, self._queue, 1
        )
        self._finalizer = weakref.finalize(self, _free, self._handle, self._queue, self._draft)

    def access(self, parameters: Optional[Named[str, Any]] = None, **named: Any) -> Response:
        """Accesses the interface with these parameters and returns its answer."""
        return self._wait({**(parameters or {}), **named})

    def refresh(self) -> Response:
        """Repeats the last access; the first time without parameters."""
        return self._wait(None)

    def close(self) -> None:
        """Cancels what is on its way. Twice is fine."""
        self._handle = 0
        self._finalizer()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, parameters: Optional[Named[str, Any]]) -> Response:
        if not self._handle:
            raise StateError("this endpoint is closed", "closed")
        exchange = Exchange(self._draft)
        with self._lock:
            # Before another thread can read its end.
            exchange.transfer = self._access(parameters)
            number = lib.wherry_transfer_id(exchange.transfer)
            self._running[number] = exchange
        try:
            self._read(exchange)
        except BaseException:  # Ctrl-C: the access must not outlive the call.
            lib.wherry_transfer_cancel(exchange.transfer)
            raise
        finally:
            with self._lock:
                self._running.pop(number, None)
            exchange.free()
        return self._result(exchange)

    def _read(self, exchange: Exchange) -> None:
        """Reads events, also those of other threads' accesses, until this one's end."""
        records = Records(1)
        while not exchange.done:
            status = lib.wherry_queue_read(
                self._queue, records.address, 1, SLICE_MS, records.count.address
            )
            if status == codes.E_TIMEOUT:
                continue
            if status:
                raise last_error(status)
            record = records.at()
            try:
                with self._lock:
                    found = self._running.get(record[3])
                if found is not None:
                    found.read(record)
            finally:
                lib.wherry_event_free(record[1])


class AsyncEndpoint(BaseEndpoint):
    """As `Endpoint`, with coroutines."""

    def __init__(
        self, client: AsyncClient, server: str, path: str = "", method: str = "POST",
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(client, server, path, method, **options)
        self._pump: Optional[Pump] = None
        self._key = 0
        self._running: Dict[int, Tuple[Exchange, Sink]] = {}
        self._free_draft = weakref.finalize(self, _free_draft, self._draft)
        self._finalizer: Any = None

    async def access(
        self, parameters: Optional[Named[str, Any]] = None, **named: Any
    ) -> Response:
        """As `Endpoint.access`."""
        return await self._wait({**(parameters or {}), **named})

    async def refresh(self) -> Response:
        """As `Endpoint.refresh`."""
        return await self._wait(None)

    def close(self) -> None:
        """Cancels what is on its way. Twice is fine."""
        self._handle = 0
        if self._finalizer is not None:
            self._finalizer()
        self._free_draft()

    async def __aenter__(self) -> AsyncEndpoint:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def _wait(self, parameters: Optional[Named[str, Any]]) -> Response:
        import asyncio

        loop = asyncio.get_running_loop()
        pump = self._client._pump(loop)
        if not self._draft.handle:
            raise StateError("this endpoint is closed", "closed")
        if pump is not self._pump:
            if self._finalizer is not None:
                self._finalizer()
            self._key = pump.key()
            self._handle = made(
                lib.wherry_endpoint_new, self._client._live(), self._draft.handle, pump.queue,
                self._key,
            )  # fmt: skip
            self._finalizer = weakref.finalize(self, _free_endpoint, self._handle)
            self._pump = pump
        exchange = Exchange(self._draft)
        exchange.transfer = self._access(parameters)
        number = lib.wherry_transfer_id(exchange.transfer)
        end = loop.create_future()

        def sink(record: Record) -> bool:
            if exchange.read(record) and not end.done():
                end.set_result(None)
            return False

        self._running[number] = exchange, pump.reading(exchange, self._draft, sink)
        pump.sinks[self._key] = self._sink, exchange
        try:
            await end
        except asyncio.CancelledError:
            exchange.fail(CancelledError("the task that waited was cancelled", "cancelled"))
            raise
        finally:
            self._running.pop(number, None)
            exchange.free()
        return self._result(exchange)

    def _sink(self, record: Record) -> bool:
        # Without a number none of them will come any more.
        numbers = [record[3]] if record[3] else list(self._running)
        is_kept = False
        for number in numbers:
            found = self._running.get(number)
            if found is None:
                continue
            exchange, sink = found
            is_kept = sink(record)
            if exchange.done:
                self._running.pop(number, None)
        if self._running and record[3] and self._pump is not None:
            # The next access has the same key, and its end comes later.
            newest = self._running[max(self._running)][0]
            self._pump.sinks[self._key] = self._sink, newest
        return is_kept


class Model(Generic[Value]):
    """A value that an endpoint gives, loaded once at a time: two loads at once are one request."""

    def __init__(
        self, endpoint: Endpoint, type: Optional[Type[Value]] = None, at: str = "", *,
        read: Optional[Callable[[Response], Value]] = None,
        did_read: Optional[Callable[[Value], object]] = None,
    ) -> None:  # fmt: skip
        """``type`` is a dataclass, or None for JSON as it is; ``at`` the path of the value.

        ``read`` makes the value of the answer in their place, of any form. ``did_read`` is called
        with each value before the load that brought it returns.
        """
        self._reads = read
        self.endpoint = endpoint
        self._mapping: Optional[Mapping[Value]] = None if type is None else Mapping.of(type)
        self._at = at
        self._did_read = did_read
        self._lock = threading.Lock()
        self._load: Optional[_Load] = None
        #: The value that was loaded last; None before. A load that fails leaves it.
        self.value: Optional[Value] = None

    def load(self, parameters: Optional[Named[str, Any]] = None) -> Value:
        """Loads the value, or waits for the load that is on its way.

        Without parameters the last ones are repeated.
        """
        with self._lock:
            load = self._load
            mine = load is None
            if load is None:
                load = self._load = _Load()
        if mine:
            try:
                response = (
                    self.endpoint.refresh() if parameters is None
                    else self.endpoint.access(parameters)
                )  # fmt: skip
                load.value = self._read(response)
                self.value = load.value
            except BaseException as error:
                load.error = error
                raise
            finally:
                with self._lock:
                    self._load = None
                load.ended.set()
        else:
            while not load.ended.wait(SLICE_MS / 1000):
                pass
            if load.error is not None:
                raise load.error
        value: Value = load.value
        return value

    def _read(self, response: Response) -> Value:
        found = self._reads(response) if self._reads else read(response, self._mapping, self._at)
        if self._did_read is not None:
            self._did_read(found)
        value: Value = found
        return value


class AsyncModel(Generic[Value]):
    """As `Model`, with coroutines."""

    def __init__(
        self, endpoint: AsyncEndpoint, type: Optional[Type[Value]] = None, at: str = "", *,
        read: Optional[Callable[[Response], Value]] = None,
        did_read: Optional[Callable[[Value], object]] = None,
    ) -> None:  # fmt: skip
        self._reads = read
        self.endpoint = endpoint
        self._mapping: Optional[Mapping[Value]] = None if type is None else Mapping.of(type)
        self._at = at
        self._did_read = did_read
        self._load: Any = None
        #: The value that was loaded last; None before. A load that fails leaves it.
        self.value: Optional[Value] = None

    async def load(self, parameters: Optional[Named[str, Any]] = None) -> Value:
        """As `Model.load`. Cancelling a task that waits here leaves the load to the others."""
        import asyncio

        if self._load is None or self._load.done():
            self._load = asyncio.ensure_future(self._run(parameters))
        found: Value = await asyncio.shield(self._load)
        return found

    async def _run(self, parameters: Optional[Named[str, Any]]) -> Value:
        response = await (
            self.endpoint.refresh() if parameters is None else self.endpoint.access(parameters)
        )
        value: Value = (
            self._reads(response) if self._reads else read(response, self._mapping, self._at)
        )
        if self._did_read is not None:
            self._did_read(value)
        self.value = value
        return value


class _Load:
    """One load that threads wait for."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.value: Any = None
        self.error: Optional[BaseException] = None


def read(response: Response, mapping: Optional[Mapping[Any]], path: str) -> Any:
    """The value of an answer; errors have the answer."""
    try:
        if mapping is not None:
            return mapping.read(response.content or b"null", path)
        content = response.content or b"null"
        handle = made(lib.wherry_json_parse, content, len(content))
        try:
            found = made(lib.wherry_json_copy, handle, text(path))
            try:
                return printed(found)
            finally:
                lib.wherry_json_free(found)
        finally:
            lib.wherry_json_free(handle)
    except WherryError as error:
        error.response = response
        raise


def _free_endpoint(endpoint: int) -> None:
    lib.wherry_endpoint_free(endpoint)


def _free_draft(draft: Any) -> None:
    draft.free()


def _free(endpoint: int, queue: int, draft: Any) -> None:
    lib.wherry_endpoint_free(endpoint)
    lib.wherry_queue_free(queue)
    draft.free()


__all__ = ["AsyncEndpoint", "AsyncModel", "Endpoint", "Model", "Timing"]
