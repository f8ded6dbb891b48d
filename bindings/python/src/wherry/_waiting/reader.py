# Wherry: readers of a client's events
# SPDX-License-Identifier: Apache-2.0
"""Reads a queue that one client fills, for blocking and asyncio loops."""

from __future__ import annotations

from .._core import Generic
from .._errors import WherryError
from .._native.library import lib
from .._native.memory import EVENT, KIND, Records
from .blocking import deadline_after, read_events, slice_until
from .queue import Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Tuple, TypeVar

    Item = TypeVar("Item")
    Reader = TypeVar("Reader", bound="ClientReader[Any]")
else:
    Item = None


class ClientReader(Generic[Item]):
    """Iterates over events of a client, with ``for`` and ``async for``.

    The iteration ends when the client or the reader is closed.
    """

    def __init__(self) -> None:
        self._queue = Queue()
        self._records = Records(1)
        #: Whether the iteration has ended.
        self._ended = False

    def _item(self, kind: int, record: Tuple[int, ...]) -> Optional[Item]:
        """Converts an event to an item; None for the event that ends the iteration."""
        raise NotImplementedError

    def read(self, timeout: Optional[float] = None) -> Optional[Item]:
        """Returns the next item; None after ``timeout`` seconds, or at the end."""
        deadline = deadline_after(timeout)
        while True:
            wait = slice_until(deadline)
            item = self._take(wait)
            if item is not None or self._ended or not wait:
                return item

    def _take(self, wait: int) -> Optional[Item]:
        """Returns an item that arrives within ``wait`` milliseconds, or None."""
        if self._ended:
            return None
        records = self._records
        try:
            if not read_events(self._queue.handle, records, wait):
                return None
        except WherryError:
            if self._ended:
                return None  # Closed by another thread.
            raise
        record = records.at()
        try:
            item = self._item(record[KIND], record)
            self._ended = item is None
            return item
        finally:
            lib.wherry_event_free(record[EVENT])

    def end(self) -> None:
        """Ends the iteration after the items that already arrived."""
        self._queue.wake()

    def close(self) -> None:
        """Closes the reader and ends every wait.

        Any thread can call this method, and may do so more than once.
        """
        self._ended = True
        self._queue.close()

    def __iter__(self: Reader) -> Reader:
        return self

    def __next__(self) -> Item:
        record = self.read()
        if record is None:
            raise StopIteration
        return record

    def __aiter__(self: Reader) -> Reader:
        return self

    async def __anext__(self) -> Item:
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
                pass  # At interpreter exit, the library may be partly unloaded.
