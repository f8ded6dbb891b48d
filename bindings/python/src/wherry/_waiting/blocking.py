# Wherry: blocking waits
# SPDX-License-Identifier: Apache-2.0
"""Waits in short slices, so that signals are handled. Also contains the queue that a waiting thread reads."""

from __future__ import annotations

from _thread import RLock
from time import perf_counter

from .._core.calls import SLICE_MS, check, check_freed, create
from .._errors import TimeoutError
from .._native import codes
from .._native.library import lib
from .._native.memory import EVENT, Records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from .._core.exchange.events import Exchange
    from .._native.memory import Record


def deadline_after(timeout: Optional[float]) -> Optional[float]:
    """Returns the time at which a timeout ends; None for no timeout."""
    return None if timeout is None else perf_counter() + timeout


def slice_until(deadline: Optional[float]) -> int:
    """Returns the milliseconds of the next native wait, at most `SLICE_MS`; 0 at the deadline."""
    if deadline is None:
        return SLICE_MS
    left = deadline - perf_counter()
    return min(SLICE_MS, int(left * 1000) + 1) if left > 0 else 0


def read_events(queue: int, records: Records, wait: int) -> int:
    """Reads events into ``records`` and returns their number.

    Waits up to ``wait`` milliseconds for the first event. Returns 0 if none arrives.
    """
    status = lib.wherry_queue_read(queue, records.address, records.capacity, wait, records.count.address)
    if status == codes.E_TIMEOUT:
        return 0
    check(status)
    return records.count.take()


class Channel:
    """A separate queue for one transfer. The thread that waits for the transfer reads it."""

    __slots__ = ("queue", "_records", "_turn")

    def __init__(self) -> None:
        self.queue = create(lib.wherry_queue_new)
        self._records = Records(1)
        #: The lock that the reading thread holds.
        self._turn = RLock()

    def next(self, deadline: Optional[float] = None) -> Record:
        """Returns the next event, which the caller must free.

        Raises TimeoutError after the deadline.
        """
        while True:
            wait = slice_until(deadline)
            if not wait:
                raise wait_timed_out()
            if read_events(self.queue, self._records, wait):
                return self._records.at()

    def pass_next(self, read: Callable[[Record], Any], deadline: Optional[float] = None) -> Any:
        """Waits for the next event, passes it to ``read``, and frees it. Returns the result."""
        record = self.next(deadline)
        try:
            return read(record)
        finally:
            lib.wherry_event_free(record[EVENT])

    def run(self, exchange: Exchange, deadline: Optional[float] = None) -> None:
        """Reads events until the transfer is done.

        If several threads call it, one reads and the others wait.
        """
        turn = self._turn
        while not exchange.done:
            left = -1.0 if deadline is None else max(0.0, deadline - perf_counter())
            if not turn.acquire(timeout=left):
                raise wait_timed_out()
            try:
                if exchange.done:
                    return
                self.pass_next(exchange.read, deadline)
            finally:
                turn.release()

    def close(self) -> None:
        """Frees the queue and cancels its transfers."""
        queue, self.queue = self.queue, 0
        if queue:
            check_freed(lib.wherry_queue_free(queue))


def wait_timed_out() -> TimeoutError:
    """Returns the error for a wait that has timed out."""
    return TimeoutError("the wait timed out, but the transfer is still running", "timeout")
