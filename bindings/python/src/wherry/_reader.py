# Wherry: what a client tells of itself, one thing after the other
# SPDX-License-Identifier: Apache-2.0
"""Reads a queue that one client fills, in loops of both kinds."""

from __future__ import annotations

from . import _codes as codes
from ._bridge import Records, last_error, lib
from ._queue import Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Generic, Optional, Tuple, TypeVar

    Told = TypeVar("Told")
    Reader = TypeVar("Reader", bound="ClientReader[Any]")
else:

    class Generic:
        """Stands for `typing.Generic`, which would take long to import."""

        def __class_getitem__(cls, _: object) -> type:
            return cls

    Told = None

#: A wait is never longer, so that Ctrl-C is answered.
SLICE_MS = 100


class ClientReader(Generic[Told]):
    """What a client tells, for ``for`` and ``async for``; ends when the client or it is closed."""

    def __init__(self) -> None:
        self._queue = Queue()
        self._records = Records(1)
        #: No more will come.
        self._ended = False

    def _told(self, kind: int, record: Tuple[int, ...]) -> Optional[Told]:
        """What an event of this kind tells; None for what ends it."""
        raise NotImplementedError

    def read(self, timeout: Optional[float] = None) -> Optional[Told]:
        """The next one; None when the time is over, or no more will come."""
        from time import perf_counter

        deadline = None if timeout is None else perf_counter() + timeout
        while True:
            wait = SLICE_MS
            if deadline is not None:
                wait = max(0, min(SLICE_MS, int((deadline - perf_counter()) * 1000)))
            record = self._take(wait)
            if record is not None or self._ended:
                return record
            if deadline is not None and perf_counter() >= deadline:
                return None

    def _take(self, wait: int) -> Optional[Told]:
        """One that comes within so many milliseconds."""
        if self._ended:
            return None
        records = self._records
        status = lib.wherry_queue_read(
            self._queue.handle, records.address, 1, wait, records.count.address
        )
        if status == codes.E_TIMEOUT:
            return None
        if status:
            if self._ended:
                return None  # Closed by another thread.
            raise last_error(status)
        record = records.at()
        try:
            told = self._told(record[4], record)
            self._ended = told is None
            return told
        finally:
            lib.wherry_event_free(record[1])

    def end(self) -> None:
        """What has been told can still be read, and then the iteration ends."""
        self._queue.wake()

    def close(self) -> None:
        """No more is read, and who waits for it comes to the end. From any thread; twice is fine."""
        self._ended = True
        self._queue.close()

    def __iter__(self: Reader) -> Reader:
        return self

    def __next__(self) -> Told:
        record = self.read()
        if record is None:
            raise StopIteration
        return record

    def __aiter__(self: Reader) -> Reader:
        return self

    async def __anext__(self) -> Told:
        while True:
            record = self._take(0)
            if record is not None:
                return record
            if self._ended:
                raise StopAsyncIteration
            await self._queue.readable()

    def __enter__(self: Reader) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_queue", None) is not None:
            try:
                self.close()
            except (TypeError, AttributeError):
                pass  # At the interpreter's end the library may be half gone.
