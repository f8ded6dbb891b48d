# Wherry: what a client tells of itself
# SPDX-License-Identifier: Apache-2.0
"""Records of a client's log, to iterate over or for `logging`; and what it has done, in numbers."""

from __future__ import annotations

import atexit
import threading
import weakref

from . import _codes as codes
from ._bridge import LOG_RECORD, check, filled, lib, path_at, text_at
from ._errors import ArgumentError, brief
from ._reader import ClientReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from typing import Dict, Optional, Tuple

    from ._observed import Observed

#: The levels of `logging` by ours.
_LEVELS = {codes.LOG_ERROR: 40, codes.LOG_WARNING: 30, codes.LOG_INFO: 20, codes.LOG_DEBUG: 10}
_NAMES = {number: name for name, number in codes.LOG_LEVELS.items()}


def level_of(name: str) -> int:
    """The number of a level by its name."""
    found = codes.LOG_LEVELS.get(name)
    if found is None:
        words = ", ".join(codes.LOG_LEVELS)
        raise ArgumentError(f"level= is one of {words}, not {brief(name)}", "bad_value")
    return found


class LogRecord:
    """One thing that happened to a client's transfers; the text is for people."""

    __slots__ = (
        "time", "level", "event", "transfer_id", "text", "method", "url", "status", "reason", "path",
        "count", "metrics",
    )  # fmt: skip

    def __init__(self, values: Tuple[int, ...]) -> None:
        time, number, text, method, url, reason, path, count, level, event, status, known = values[:12]
        #: Seconds since 1970.
        self.time = time / 1000
        #: "error", "warning", "info" or "debug".
        self.level = _NAMES.get(level, "debug")
        #: What happened: "started", "redirected", "retried", "succeeded", "failed" and others.
        self.event = codes.LOG_EVENTS.get(event, "none")
        #: The transfer it happened to; 0 for none.
        self.transfer_id = number
        #: Lines without secrets and control characters.
        self.text = text_at(text) or ""
        self.method: Optional[str] = text_at(method)
        #: Without its query.
        self.url: Optional[str] = text_at(url)
        #: The HTTP status, or 0.
        self.status = status
        #: A word of docs/errors.md, where there is one.
        self.reason: Optional[str] = text_at(reason)
        #: Where the file of a download lies.
        self.path: Optional[str] = path_at(path)
        #: Attempts, bytes of a body, or missing records, as the event has it.
        self.count = count
        #: Of an end: seconds by the names of `Metrics`, ``sent_bytes`` and ``received_bytes``.
        self.metrics: Optional[Dict[str, float]] = None
        if known:
            names = ("queued", "lookup", "connect", "tls", "first_byte", "total")
            self.metrics = {name: value / 1e6 for name, value in zip(names, values[12:18])}
            self.metrics.update(sent_bytes=values[18], received_bytes=values[19])

    def __repr__(self) -> str:
        line = self.text.partition("\n")[0]
        return f"<LogRecord {self.level} {self.event} {line!r}>"


class LogReader(ClientReader[LogRecord]):
    """The records of one client from now on: ``for record in client.log("debug")``.

    Also for ``async for``. The iteration ends when the client or the reader is closed, or another
    log of the client is begun. A reader that falls 1,000 records behind misses some; a record whose
    event is "lost" says how many.
    """

    def __init__(self, client: Observed, level: int) -> None:
        super().__init__()
        try:
            check(lib.wherry_client_set_log(client._live(), level, self._queue.handle, None))
        except BaseException:
            self.close()
            raise
        client._end_log()
        client._log = weakref.ref(self)

    def _told(self, kind: int, record: Tuple[int, ...]) -> Optional[LogRecord]:
        if kind != codes.EVENT_LOG:
            return None
        return LogRecord(filled(LOG_RECORD, lib.wherry_event_log, record[1]))


class LogBridge:
    """Hands a client's records to `logging`, on a thread of its own; `close` ends it."""

    def __init__(
        self, client: Observed, logger: logging.Logger, level: Optional[str]
    ) -> None:
        self._level = level_of(level) if level is not None else _level_for(logger)
        self._logger = logger
        self.is_closed = False
        self._begin(client)

    def _begin(self, client: Observed) -> None:
        """Reads the log of a client: also again, in a forked child."""
        self._reader = LogReader(client, self._level)
        self._thread = threading.Thread(target=self._run, name="wherry-log", daemon=True)
        self._thread.start()
        client._bridged = weakref.ref(self)
        _bridges.add(self)

    def _run(self) -> None:
        for record in self._reader:
            level = _LEVELS[codes.LOG_LEVELS[record.level]]
            self._logger.log(level, "%s", record.text, extra={"wherry": record})

    def close(self) -> None:
        """Returns when what was told by now has been handed on. Twice is fine."""
        self.is_closed = True
        self._reader.end()
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._reader.close()
        _bridges.discard(self)

    def __enter__(self) -> LogBridge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _level_for(logger: logging.Logger) -> int:
    """Our level for what the logger takes now."""
    wanted = logger.getEffectiveLevel()
    fitting = [number for number, level in _LEVELS.items() if level >= wanted]
    return max(fitting, default=codes.LOG_OFF)


#: Those whose threads run; at the interpreter's end they are ended before it goes.
_bridges: weakref.WeakSet[LogBridge] = weakref.WeakSet()


@atexit.register
def _close_bridges() -> None:
    for bridge in list(_bridges):
        bridge.close()


class Counters:
    """What a client has done since it was made; bytes are those on the wire, heads included."""

    __slots__ = (
        "started", "succeeded", "failed", "cancelled", "requests", "retried", "redirected",
        "cache_hits", "sent_bytes", "received_bytes",
    )  # fmt: skip

    def __init__(self, values: Tuple[int, ...]) -> None:
        #: Transfers.
        self.started, self.succeeded, self.failed, self.cancelled = values[:4]
        #: That went out: one for each redirect, attempt and connection of a download too.
        self.requests = values[4]
        self.retried, self.redirected = values[5:7]
        #: Transfers that a cache answered without asking the server.
        self.cache_hits = values[7]
        self.sent_bytes, self.received_bytes = values[8:10]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counters):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)
        return f"<Counters {said}>"
