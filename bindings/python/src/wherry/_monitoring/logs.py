# Wherry: the log and the counters of a client
# SPDX-License-Identifier: Apache-2.0
"""Log records of a client, as an iterator or for `logging`, and its counters."""

from __future__ import annotations

import atexit
import threading
import weakref

from .._core.calls import check, read_struct
from .._errors import ArgumentError, brief
from .._native import codes
from .._native.library import lib
from .._native.memory import EVENT, LOG_RECORD, path_at, text_at
from .._waiting.reader import ClientReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from typing import Dict, Optional, Tuple

    from .._client.monitoring import ClientMonitoring

#: The `logging` level of each Wherry level.
_LEVELS = {codes.LOG_ERROR: 40, codes.LOG_WARNING: 30, codes.LOG_INFO: 20, codes.LOG_DEBUG: 10}
_NAMES = {number: name for name, number in codes.LOG_LEVELS.items()}


def level_of(name: str) -> int:
    """Returns the number of a level name."""
    found = codes.LOG_LEVELS.get(name)
    if found is None:
        words = ", ".join(codes.LOG_LEVELS)
        raise ArgumentError(f"level= must be one of {words}, not {brief(name)}", "bad_value")
    return found


class LogRecord:
    """A log record of a client. ``text`` is human-readable."""

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
        #: The event: "started", "redirected", "retried", "succeeded", "failed", and others.
        self.event = codes.LOG_EVENTS.get(event, "none")
        #: The id of the transfer; 0 if the record belongs to no transfer.
        self.transfer_id = number
        #: One or more lines, without secrets and control characters.
        self.text = text_at(text) or ""
        self.method: Optional[str] = text_at(method)
        #: The URL without its query.
        self.url: Optional[str] = text_at(url)
        #: The HTTP status, or 0.
        self.status = status
        #: A reason listed in docs/errors.md, or None.
        self.reason: Optional[str] = text_at(reason)
        #: The path of a downloaded file.
        self.path: Optional[str] = path_at(path)
        #: The number of attempts, body bytes, or lost records, depending on the event.
        self.count = count
        #: For the end of a transfer: durations in seconds under the names of `Metrics`,
        #: ``sent_bytes``, and ``received_bytes``.
        self.metrics: Optional[Dict[str, float]] = None
        if known:
            names = ("queued", "lookup", "connect", "tls", "first_byte", "total")
            self.metrics = {name: value / 1e6 for name, value in zip(names, values[12:18])}
            self.metrics.update(sent_bytes=values[18], received_bytes=values[19])

    def __repr__(self) -> str:
        line = self.text.partition("\n")[0]
        return f"<LogRecord {self.level} {self.event} {line!r}>"


class LogReader(ClientReader[LogRecord]):
    """Iterates over the log records of one client: ``for record in client.log("debug")``.

    ``async for`` works too. The iteration ends when the client or the reader is closed, or when
    another log of the client is opened. A reader that falls 1,000 records behind loses records; a
    record with the event "lost" contains their number.
    """

    def __init__(self, client: ClientMonitoring, level: int) -> None:
        super().__init__()
        try:
            check(lib.wherry_client_set_log(client._live(), level, self._queue.handle, None))
        except BaseException:
            self.close()
            raise
        client._end_log()
        client._log = weakref.ref(self)

    def _item(self, kind: int, record: Tuple[int, ...]) -> Optional[LogRecord]:
        if kind != codes.EVENT_LOG:
            return None
        return LogRecord(read_struct(LOG_RECORD, lib.wherry_event_log, record[EVENT]))


class LogBridge:
    """Forwards the records of a client to `logging` on a separate thread, until `close` is called."""

    def __init__(self, client: ClientMonitoring, logger: logging.Logger, level: Optional[str]) -> None:
        self._level = level_of(level) if level is not None else _level_for(logger)
        self._logger = logger
        self.is_closed = False
        self._begin(client)

    def _begin(self, client: ClientMonitoring) -> None:
        """Starts to read the log of a client. Called again in a forked child."""
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
        """Forwards the remaining records, and stops. Can be called more than once."""
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
    """Returns the most detailed Wherry level that the logger currently accepts."""
    wanted = logger.getEffectiveLevel()
    fitting = [number for number, level in _LEVELS.items() if level >= wanted]
    return max(fitting, default=codes.LOG_OFF)


#: The bridges with running threads, which are closed when the interpreter exits.
_bridges: weakref.WeakSet[LogBridge] = weakref.WeakSet()


@atexit.register
def _close_bridges() -> None:
    for bridge in list(_bridges):
        bridge.close()


class Counters:
    """The totals of a client since its creation. Bytes are bytes on the wire, including headers."""

    __slots__ = (
        "started", "succeeded", "failed", "cancelled", "requests", "retried", "redirected",
        "cache_hits", "sent_bytes", "received_bytes",
    )  # fmt: skip

    def __init__(self, values: Tuple[int, ...]) -> None:
        #: Transfer counts.
        self.started, self.succeeded, self.failed, self.cancelled = values[:4]
        #: The number of requests sent, including each redirect, retry, and connection of a
        #: download.
        self.requests = values[4]
        self.retried, self.redirected = values[5:7]
        #: The number of transfers served from a cache without a request.
        self.cache_hits = values[7]
        self.sent_bytes, self.received_bytes = values[8:10]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counters):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)
        return f"<Counters {values}>"
