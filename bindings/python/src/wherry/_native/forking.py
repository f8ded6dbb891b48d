# Wherry: use after fork
# SPDX-License-Identifier: Apache-2.0
"""Clients, mock transports, and background sessions created before ``os.fork`` work in the child process.

Each is rebuilt on its first use there.

A native object belongs to the process that created it: its threads and connections do not exist in a
child. After a fork, every `Forkable` in the child is dormant. Its first use creates a new native object
with the same settings and new connections.
"""

from __future__ import annotations

import os
from _thread import RLock, _count as _thread_count
from _weakref import ref  # Importing `weakref` takes longer than the rest of this package's start.

from . import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

#: Prevents two threads from rebuilding the same object.
_lock = RLock()
_process = 0
_restart: Callable[[], int] = lambda: codes.OK  # noqa: E731, it is a variable
#: The objects to rebuild in forked children, by their id.
_objects: Dict[int, ref[Forkable]] = {}
#: The modules that requests and their responses import when they are first used.
_DEFERRED = (
    "binascii",
    "http",
    "ipaddress",
    "json",
    "urllib.parse",
    "wherry._core.exchange.drafting",
    "wherry._core.exchange.event_hooks",
    "wherry._core.exchange.events",
    "wherry._core.hints",
    "wherry._core.request.arguments",
    "wherry._core.request.auth_flow",
    "wherry._core.response.cookies",
    "wherry._core.response.response",
    "wherry._core.response.statuses",
    "wherry._transfers.downloads",
    "wherry._transfers.streams",
    "wherry._transfers.uploads",
    "wherry._waiting.blocking",
    "wherry._waiting.running",
)
#: The functions that clear caches of native objects.
_caches: List[Callable[[], object]] = []


class _Handle:
    """A descriptor for a `Forkable` without a native handle.

    Returns 0, or a new handle after a fork.

    It is not a data descriptor, so the instance attribute takes precedence and costs nothing extra.
    """

    def __get__(self, owner: Optional[Forkable], _: Any) -> int:
        return 0 if owner is None else owner._revive()


class Forkable:
    """An object with a native handle that is rebuilt in a forked child."""

    if TYPE_CHECKING:
        _handle: int
    else:
        _handle = _Handle()

    #: The result of `_before_fork`. Set in the child until the object is rebuilt.
    _dormant: Optional[Any] = None

    def _survive_forks(self) -> None:
        """Registers this object to be rebuilt in forked children."""
        key = id(self)
        _objects[key] = ref(self, lambda _: _objects.pop(key, None))

    def _before_fork(self) -> Any:
        """Returns the state of the native object that `_rebuild` needs. Called in the parent."""
        return ()

    def _rebuild(self, saved: Any) -> None:
        """Creates the native object again, in the child. If it raises, the next use tries again."""
        raise NotImplementedError

    def _forget_parent(self) -> None:
        """Drops references to the parent's threads and queues. Called in the child."""

    def _revive(self) -> int:
        with _lock:
            known: Dict[str, Any] = self.__dict__
            saved = known.get("_dormant")
            if saved is None:
                return int(known.get("_handle", 0))
            before = dict(known)
            known["_dormant"] = None
            known["_handle"] = 0
            try:
                self._rebuild(saved)
            except BaseException:
                known.clear()
                known.update(before)
                raise
            return int(known["_handle"])

    @property
    def _has_handle(self) -> bool:
        """Whether there is a native object to free in this process."""
        return bool(self.__dict__.get("_handle", 0))

    def _take_handle(self) -> int:
        """Closes the object and returns its native handle, or 0. The caller must free the handle."""
        with _lock:
            known: Dict[str, Any] = self.__dict__
            handle = int(known.get("_handle", 0))
            known["_dormant"] = None
            known["_handle"] = 0
            return handle


def watch(restart: Callable[[], int]) -> None:
    """Registers the fork hooks. Called when the library is loaded.

    :param restart: Makes the library usable in a forked child, and returns its status.
    """
    global _process, _restart
    _restart = restart
    if _process == 0:
        os.register_at_fork(before=_before, after_in_child=after_in_child)
    _process = os.getpid()


def clear_after_fork(clear: Callable[[], object]) -> None:
    """Registers a function that clears a cache of native objects in each forked child."""
    _caches.append(clear)


def is_forked() -> bool:
    """Whether C code has forked this process without calling Python's fork hooks."""
    return _process not in (0, os.getpid())


def _existing() -> List[Forkable]:
    found = [reference() for reference in list(_objects.values())]
    return [each for each in found if each is not None]


def _complete_imports() -> None:
    """Imports what another thread may be importing. A child would wait forever for the import lock of that thread."""
    if not _thread_count():
        return
    for name in _DEFERRED:
        try:
            __import__(name)
        except (ImportError, OSError):
            # The program can no longer read the package, perhaps because it changed its user. No other thread can import it
            # either. A request that needs it raises this error.
            return


def _before() -> None:
    _complete_imports()
    for each in _existing():
        if each._has_handle:
            each.__dict__["_at_fork"] = each._before_fork()


def after_in_child() -> None:
    """Makes the library and all existing objects usable in a forked child."""
    global _lock, _process
    _process = os.getpid()
    _lock = RLock()  # A thread of the parent may have held the lock.
    if _restart() != codes.OK:
        return  # Every later call raises the error.
    for clear in _caches:
        clear()
    for each in _existing():
        known = each.__dict__
        if known.get("_handle"):
            del known["_handle"]
            known["_dormant"] = known.get("_at_fork", ())
            each._forget_parent()
