# Wherry: values loaded from endpoints
# SPDX-License-Identifier: Apache-2.0
"""`Model` and `AsyncModel`: values that are loaded from an endpoint."""

from __future__ import annotations

import threading
from typing import (
    TYPE_CHECKING, Any, Callable, Generic, Mapping as MappingType, Optional, Type, TypeVar,
)  # fmt: skip

from .._core.calls import SLICE_MS
from .._core.values import text
from .._errors import WherryError
from .._native.library import lib
from .mapping import Mapping, json_value, with_json

if TYPE_CHECKING:
    from .._core.response.response import Response
    from .endpoint import AsyncEndpoint, Endpoint

Value = TypeVar("Value")


class BaseModel(Generic[Value]):
    """The common base of `Model` and `AsyncModel`: how the value is read."""

    value: Optional[Value]

    def __init__(
        self, type: Optional[Type[Value]], at: str, read: Optional[Callable[[Response], Value]],
        did_read: Optional[Callable[[Value], object]],
    ) -> None:  # fmt: skip
        self._read_function = read
        self._mapping: Optional[Mapping[Value]] = None if type is None else Mapping.of(type)
        self._at = at
        self._did_read = did_read
        #: The running load.
        self._load: Any = None

    def _read(self, response: Response) -> Value:
        """Reads and stores the value of a response."""
        if self._read_function is not None:
            value = self._read_function(response)
        else:
            value = read(response, self._mapping, self._at)
        if self._did_read is not None:
            self._did_read(value)
        self.value = value
        return value


class Model(BaseModel[Value]):
    """A value loaded from an endpoint. Concurrent loads share one request."""

    def __init__(
        self, endpoint: Endpoint, type: Optional[Type[Value]] = None, at: str = "", *,
        read: Optional[Callable[[Response], Value]] = None,
        did_read: Optional[Callable[[Value], object]] = None,
    ) -> None:  # fmt: skip
        """Creates a model.

        :param endpoint: The endpoint to load from.
        :param type: The dataclass of the value. None returns plain JSON values.
        :param at: The path of the value in the JSON document.
        :param read: A function that converts the response to the value, in place of ``type`` and ``at``.
        :param did_read: A function that is called with each new value before `load` returns.
        """
        super().__init__(type, at, read, did_read)
        self.endpoint = endpoint
        self._lock = threading.Lock()
        #: The last loaded value; None before the first load. A failed load does not change it.
        self.value: Optional[Value] = None

    def load(self, parameters: Optional[MappingType[str, Any]] = None) -> Value:
        """Loads and returns the value, or waits for a load that is already running.

        Without parameters, the previous parameters are used.
        """
        with self._lock:
            load: Optional[_Load] = self._load
            is_first = load is None
            if load is None:
                load = self._load = _Load()
        if is_first:
            try:
                endpoint = self.endpoint
                response = endpoint.refresh() if parameters is None else endpoint.access(parameters)
                load.value = self._read(response)
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


class AsyncModel(BaseModel[Value]):
    """Like `Model`, with coroutines."""

    def __init__(
        self, endpoint: AsyncEndpoint, type: Optional[Type[Value]] = None, at: str = "", *,
        read: Optional[Callable[[Response], Value]] = None,
        did_read: Optional[Callable[[Value], object]] = None,
    ) -> None:  # fmt: skip
        super().__init__(type, at, read, did_read)
        self.endpoint = endpoint
        #: The last loaded value; None before the first load. A failed load does not change it.
        self.value: Optional[Value] = None

    async def load(self, parameters: Optional[MappingType[str, Any]] = None) -> Value:
        """Like `Model.load`. Cancelling a waiting task does not cancel the load for other tasks."""
        import asyncio

        if self._load is None or self._load.done():
            self._load = asyncio.ensure_future(self._run(parameters))
        found: Value = await asyncio.shield(self._load)
        return found

    async def _run(self, parameters: Optional[MappingType[str, Any]]) -> Value:
        endpoint = self.endpoint
        return self._read(await (endpoint.refresh() if parameters is None else endpoint.access(parameters)))


class _Load:
    """A running load that several threads may wait for."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.value: Any = None
        self.error: Optional[BaseException] = None


def read(response: Response, mapping: Optional[Mapping[Any]], path: str) -> Any:
    """Reads the value from a response. Errors contain the response as ``response``."""
    try:
        if mapping is not None:
            return mapping.read(response.content or b"null", path)
        content = response.content or b"null"
        return with_json(content, lambda handle: json_value(lib.wherry_json_copy, handle, text(path)))
    except WherryError as error:
        error.response = response
        raise
