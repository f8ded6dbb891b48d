# Wherry: blocking waits
# SPDX-License-Identifier: Apache-2.0
"""A queue for one transfer, read by the thread that waits for the transfer."""

from __future__ import annotations

from _thread import RLock
from time import perf_counter

from .._core.calls import check_freed, create, last_error
from .._errors import TimeoutError
from .._native import codes
from .._native.library import lib
from .._native.memory import Records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from .._core.exchange.events import Exchange
    from .._native.memory import Record

#: The maximum duration of one native wait, so that Ctrl-C is handled soon.
SLICE_MS = 100


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
        records = self._records
        read, queue, count = lib.wherry_queue_read, self.queue, records.count.address
        wait = SLICE_MS
        while True:
            if deadline is not None:
                wait = min(SLICE_MS, int((deadline - perf_counter()) * 1000) + 1)
                if wait <= 0:
                    raise wait_timed_out()
            status = read(queue, records.address, 1, wait, count)
            if status == codes.OK:
                return records.at()
            if status != codes.E_TIMEOUT:
                raise last_error(status)

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
                record = self.next(deadline)
                try:
                    exchange.read(record)
                finally:
                    lib.wherry_event_free(record[1])
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
