# Wherry: an event queue with one reader
# SPDX-License-Identifier: Apache-2.0
"""A native queue that an event loop can wait for, and that can be closed at any time."""

from __future__ import annotations

import os
import threading

from .._core.calls import check_freed, create
from .._native.library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Set, Tuple


class Queue:
    """A native event queue.

    Any thread can close it, even while another thread waits for an event.
    """

    __slots__ = ("handle", "_lock", "_waits")

    def __init__(self) -> None:
        #: The native handle; 0 after closing.
        self.handle = create(lib.wherry_queue_new)
        self._lock = threading.Lock()
        self._waits: Set[Tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = set()

    async def readable(self) -> None:
        """Waits until an event can be read, or the queue is closed."""
        import asyncio

        loop = asyncio.get_running_loop()
        wait = loop, loop.create_future()
        with self._lock:
            if not self.handle:
                return
            descriptor = lib.wherry_queue_fd(self.handle)
            if descriptor < 0:
                raise OSError(
                    "Could not wait for events: no file descriptor is available. Close files, or raise the limit."
                )
            # A duplicate for the event loop, which stays valid when the queue is closed.
            descriptor = os.dup(descriptor)
            self._waits.add(wait)
        try:
            loop.add_reader(descriptor, _set, wait[1])
            await wait[1]
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            with self._lock:
                self._waits.discard(wait)

    def wake(self) -> None:
        """Appends an event of kind NONE to the queue, which wakes the reader."""
        with self._lock:
            if self.handle:
                lib.wherry_queue_wake(self.handle, None)

    def close(self) -> None:
        """Closes the queue and ends every wait. Can be called more than once."""
        with self._lock:
            handle, self.handle = self.handle, 0
            waits = list(self._waits)
        for loop, ready in waits:
            try:
                loop.call_soon_threadsafe(_set, ready)
            except RuntimeError:
                pass  # The event loop is closed, so no task waits in it.
        if handle and lib is not None:
            check_freed(lib.wherry_queue_free(handle))


def _set(ready: asyncio.Future[None]) -> None:
    """Called repeatedly until the queue is read. Only the first call has an effect."""
    if not ready.done():
        ready.set_result(None)
