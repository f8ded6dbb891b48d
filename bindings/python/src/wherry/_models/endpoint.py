# Wherry: server endpoints
# SPDX-License-Identifier: Apache-2.0
"""`Endpoint` and `AsyncEndpoint`: repeated requests to one path of a server."""

from __future__ import annotations

import threading
import weakref
from typing import (
    TYPE_CHECKING, Any, Dict, Mapping as MappingType, Optional, Tuple,
)  # fmt: skip

from .._core.calls import SLICE_MS, check, create, read_struct
from .._core.exchange.events import Exchange
from .._core.request.auth_flow import refuse_flow
from .._core.values import text
from .._errors import StateError
from .._native import codes
from .._native.library import lib
from .._native.memory import EVENT, TIMING, TRANSFER_ID, Records
from .._waiting.blocking import read_events
from .mapping import json_value, with_json

if TYPE_CHECKING:
    from .._client.async_client import AsyncClient
    from .._client.client import Client
    from .._core.response.response import Response
    from .._native.memory import Record
    from .._waiting.pump import Pump, Sink


class Timing:
    """The start time of an access and the duration of its phases, in seconds."""

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
    """The common base of `Endpoint` and `AsyncEndpoint`: the request and the last response."""

    _handle = 0

    def __init__(self, client: Any, server: str, path: str = "", method: str = "POST", **options: Any) -> None:
        """Creates an endpoint at a path of a server.

        :param client: The client that sends the requests.
        :param server: The server, such as "example.org" or "https://example.org/". Without a scheme,
            http is used.
        :param path: The path on the server.
        :param method: The method (default: POST).

        The other keywords are request keywords, including ``files=``.
        """
        self._client = client
        refuse_flow(client, options, "an endpoint")
        self._draft = client._draft(method, "", options)
        try:
            check(lib.wherry_request_set_server(self._draft.handle, text(server, "bad_url"), text(path, "bad_url")))
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
        """The timing of the last finished access. Raises StateError before the first access."""
        return Timing(read_struct(TIMING, lib.wherry_endpoint_timing, self._native()))

    def json(self) -> Any:
        """Parses the last response as JSON. The duration is added to `Timing.parse`."""
        return json_value(lib.wherry_endpoint_json, self._native())

    def cancel(self) -> None:
        """Cancels the running access."""
        if self._handle:
            check(lib.wherry_endpoint_cancel(self._handle))

    def _native(self) -> int:
        if not self._handle:
            raise StateError("the endpoint was not accessed yet. Call access() first.", "wrong_state")
        return self._handle

    def _access(self, parameters: Optional[MappingType[str, Any]]) -> int:
        """Starts an access and returns its transfer."""
        if parameters is None:
            return create(lib.wherry_endpoint_access, self._handle, None)
        access, handle = lib.wherry_endpoint_access, self._handle
        return int(with_json(dict(parameters), lambda sent: create(access, handle, sent)))

    def _result(self, exchange: Exchange) -> Response:
        response = exchange.result()
        self.response = response
        response.raise_for_status()
        return response


class Endpoint(BaseEndpoint):
    """An endpoint of a server for repeated requests. A new access cancels the previous one.

    `access` blocks. If another thread starts a newer access meanwhile, the older call raises CancelledError
    with the reason `replaced`.
    """

    def __init__(self, client: Client, server: str, path: str = "", method: str = "POST", **options: Any) -> None:
        super().__init__(client, server, path, method, **options)
        self._lock = threading.Lock()
        self._running: Dict[int, Exchange] = {}
        self._queue = create(lib.wherry_queue_new)
        self._handle = create(lib.wherry_endpoint_new, client._live(), self._draft.handle, self._queue, 1)
        self._finalizer = weakref.finalize(self, _free, self._handle, self._queue, self._draft)

    def access(self, parameters: Optional[MappingType[str, Any]] = None, **named: Any) -> Response:
        """Sends a request with these parameters and returns the response."""
        return self._wait({**(parameters or {}), **named})

    def refresh(self) -> Response:
        """Repeats the last access. If there was no access yet, sends one without parameters."""
        return self._wait(None)

    def close(self) -> None:
        """Cancels a running access. You may call it more than once."""
        self._handle = 0
        self._finalizer()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, parameters: Optional[MappingType[str, Any]]) -> Response:
        if not self._handle:
            raise StateError("this endpoint is closed", "closed")
        exchange = Exchange(self._draft)
        with self._lock:
            # Register the transfer before another thread can read its last event.
            exchange.transfer = self._access(parameters)
            number = lib.wherry_transfer_id(exchange.transfer)
            self._running[number] = exchange
        try:
            self._read(exchange)
        except BaseException:  # Ctrl-C: cancel the access.
            lib.wherry_transfer_cancel(exchange.transfer)
            raise
        finally:
            with self._lock:
                self._running.pop(number, None)
            exchange.free()
        return self._result(exchange)

    def _read(self, exchange: Exchange) -> None:
        """Reads events until this access ends, including events of other threads' accesses."""
        records = Records(1)
        while not exchange.done:
            if not read_events(self._queue, records, SLICE_MS):
                continue
            record = records.at()
            try:
                with self._lock:
                    found = self._running.get(record[TRANSFER_ID])
                if found is not None:
                    found.read(record)
            finally:
                lib.wherry_event_free(record[EVENT])


class AsyncEndpoint(BaseEndpoint):
    """Like `Endpoint`, with coroutines."""

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

    async def access(self, parameters: Optional[MappingType[str, Any]] = None, **named: Any) -> Response:
        """Like `Endpoint.access`."""
        return await self._wait({**(parameters or {}), **named})

    async def refresh(self) -> Response:
        """Like `Endpoint.refresh`."""
        return await self._wait(None)

    def close(self) -> None:
        """Cancels a running access. You may call it more than once."""
        self._handle = 0
        if self._finalizer is not None:
            self._finalizer()
        self._free_draft()

    async def __aenter__(self) -> AsyncEndpoint:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def _wait(self, parameters: Optional[MappingType[str, Any]]) -> Response:
        import asyncio

        from .._waiting.pump import Completion

        loop = asyncio.get_running_loop()
        pump = self._client._pump(loop)
        if not self._draft.handle:
            raise StateError("this endpoint is closed", "closed")
        if pump is not self._pump:
            if self._finalizer is not None:
                self._finalizer()
            self._key = pump.key()
            self._handle = create(
                lib.wherry_endpoint_new, self._client._live(), self._draft.handle, pump.queue,
                self._key,
            )  # fmt: skip
            self._finalizer = weakref.finalize(self, _free_endpoint, self._handle)
            self._pump = pump
        exchange = Exchange(self._draft)
        exchange.transfer = self._access(parameters)
        number = lib.wherry_transfer_id(exchange.transfer)
        completion = Completion(exchange, loop)
        sink = pump.wrap_sink(exchange, self._draft, completion.read)
        self._running[number] = exchange, sink
        pump.sinks[self._key] = self._sink, exchange
        try:
            await completion.wait()
        finally:
            self._running.pop(number, None)
            exchange.free()
        return self._result(exchange)

    def _sink(self, record: Record) -> bool:
        # An event without a transfer id means that the queue was closed: end all accesses.
        numbers = [record[TRANSFER_ID]] if record[TRANSFER_ID] else list(self._running)
        is_kept = False
        for number in numbers:
            found = self._running.get(number)
            if found is None:
                continue
            exchange, sink = found
            is_kept = sink(record)
            if exchange.done:
                self._running.pop(number, None)
        if self._running and record[TRANSFER_ID] and self._pump is not None:
            # A newer access has the same key and is still running.
            newest = self._running[max(self._running)][0]
            self._pump.sinks[self._key] = self._sink, newest
        return is_kept


def _free_endpoint(endpoint: int) -> None:
    lib.wherry_endpoint_free(endpoint)


def _free_draft(draft: Any) -> None:
    draft.free()


def _free(endpoint: int, queue: int, draft: Any) -> None:
    lib.wherry_endpoint_free(endpoint)
    lib.wherry_queue_free(queue)
    draft.free()
