# Wherry: clients that outlive a fork
# SPDX-License-Identifier: Apache-2.0
"""Objects made before ``os.fork`` work in the child: each one is rebuilt there on its first use.

A native object belongs to the process that made it: its threads and connections do not exist in a
child. After a fork each `Forkable` of the child is dormant. Its first use makes a new native
object with the same settings, and so with new connections.
"""

from __future__ import annotations

import os
import sys
import weakref
from _thread import RLock

from . import _codes as codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

#: Keeps two threads from rebuilding one object.
_lock = RLock()
_process = 0
_living: weakref.WeakSet[Forkable] = weakref.WeakSet()


class _Handle:
    """The native handle of a `Forkable` that has none of its own: 0, or a new one after a fork.

    Not a data descriptor, so the value that an instance has goes first and costs nothing extra.
    """

    def __get__(self, owner: Optional[Forkable], _: Any) -> int:
        return 0 if owner is None else owner._wake()


class Forkable:
    """An object with a native handle that is rebuilt in a forked child."""

    if TYPE_CHECKING:
        _handle: int
    else:
        _handle = _Handle()

    #: What `_before_fork` has noted; set in the child until the object is rebuilt.
    _dormant: Optional[Any] = None

    def _survive_forks(self) -> None:
        """Has forked children rebuild this object."""
        _living.add(self)

    def _before_fork(self) -> Any:
        """What `_rebuild` needs and only the native object knows; called in the parent."""
        return ()

    def _rebuild(self, noted: Any) -> None:
        """Makes the native object again, in the child. It may raise; the next use tries again."""
        raise NotImplementedError

    def _forget_parent(self) -> None:
        """Drops what refers to the parent's threads and queues; called in the child."""

    def _wake(self) -> int:
        with _lock:
            known: Dict[str, Any] = self.__dict__
            noted = known.get("_dormant")
            if noted is None:
                return int(known.get("_handle", 0))
            before = dict(known)
            known["_dormant"] = None
            known["_handle"] = 0
            try:
                self._rebuild(noted)
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
        """The native handle, which the caller frees; 0 if there is none. The object is closed."""
        with _lock:
            known: Dict[str, Any] = self.__dict__
            handle = int(known.get("_handle", 0))
            known["_dormant"] = None
            known["_handle"] = 0
            return handle


def watch() -> None:
    """Registers with `os.fork`; called when the library is loaded."""
    global _process
    if _process == 0:
        os.register_at_fork(before=_before, after_in_child=after_in_child)
    _process = os.getpid()


def is_forked() -> bool:
    """Whether a fork went unnoticed: C code forked without calling Python's hooks."""
    return _process not in (0, os.getpid())


def _before() -> None:
    for each in list(_living):
        if each._has_handle:
            each.__dict__["_at_fork"] = each._before_fork()


def after_in_child() -> None:
    """Makes the library and all living objects usable in a forked child."""
    global _lock, _process
    from ._bridge import lib

    _process = os.getpid()
    _lock = RLock()  # A thread that does not exist here may have held it.
    if lib.wherry_library_restart() != codes.OK:
        return  # Each call says so.
    modules = sys.modules
    request, mapping = modules.get("wherry._request"), modules.get("wherry._mapping")
    if request is not None:
        request.PLAIN.clear()
    if mapping is not None:
        mapping.forget()
    if "wherry._async" in modules:
        modules["wherry._async"]._pumps.clear()
    for each in list(_living):
        known = each.__dict__
        if known.get("_handle"):
            del known["_handle"]
            known["_dormant"] = known.get("_at_fork", ())
            each._forget_parent()


__all__ = ["Forkable", "after_in_child", "is_forked", "watch"]
