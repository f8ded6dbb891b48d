# Wherry: a queue of events that one reader has
# SPDX-License-Identifier: Apache-2.0
"""A queue that is waited for in an event loop, and may be closed meanwhile."""

from __future__ import annotations

import os
import threading

from ._bridge import freed, lib, made

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Set, Tuple


class Queue:
    """A queue of the library. It can be closed by any thread, also while somebody waits for it."""

    __slots__ = ("handle", "_lock", "_waits")

    def __init__(self) -> None:
        #: What the library calls it; 0 once it is closed.
        self.handle = made(lib.wherry_queue_new)
        self._lock = threading.Lock()
        self._waits: Set[Tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = set()

    async def readable(self) -> None:
        """Returns when something can be read, or it is closed."""
        import asyncio

        loop = asyncio.get_running_loop()
        wait = loop, loop.create_future()
        with self._lock:
            if not self.handle:
                return
            descriptor = lib.wherry_queue_fd(self.handle)
            if descriptor < 0:
                raise OSError("there is no file descriptor left to wait with")
            # The loop's own: closing the queue cannot take it away under the loop.
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
        """Puts an event of no kind behind what waits."""
        with self._lock:
            if self.handle:
                lib.wherry_queue_wake(self.handle, None)

    def close(self) -> None:
        """Ends every wait for it. Twice is fine."""
        with self._lock:
            handle, self.handle = self.handle, 0
            waits = list(self._waits)
        for loop, ready in waits:
            try:
                loop.call_soon_threadsafe(_set, ready)
            except RuntimeError:
                pass  # That loop is closed, and nobody waits in it any more.
        if handle and lib is not None:
            freed(lib.wherry_queue_free(handle))


def _set(ready: asyncio.Future[None]) -> None:
    """Called again and again until the queue is read: the first call counts."""
    if not ready.done():
        ready.set_result(None)
