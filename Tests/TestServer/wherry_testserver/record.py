# Wherry: the test server's log of requests.
# SPDX-License-Identifier: Apache-2.0
"""The log behind ``/_log``, ``/_wait`` and ``/_stats``."""

from __future__ import annotations

import asyncio
import collections
from typing import Any, Deque, Dict, List, Optional, Set

from .request import Request

LOG_LIMIT = 50_000


class Entry:
    """A logged request. Its counts grow while it is processed."""

    __slots__ = (
        "id", "connection", "index", "request", "attempt", "started", "ended",
        "status", "received", "sent", "body_complete", "outcome",
    )  # fmt: skip

    def __init__(self, number: int, connection: int, index: int, request: Request) -> None:
        self.id = number
        self.connection = connection
        self.index = index
        self.request = request
        self.attempt = 0
        self.started = 0
        self.ended: Optional[int] = None
        self.status = 0
        self.received = 0
        self.sent = 0
        self.body_complete = False
        self.outcome = "running"

    def json(self) -> Dict[str, Any]:
        """Returns the entry as ``/_log`` reports it."""
        request = self.request
        return {
            "id": self.id,
            "connection": self.connection,
            "index": self.index,
            "key": request.key,
            "method": request.method,
            "target": request.target,
            "path": request.path,
            "query": request.query,
            "headers": request.headers,
            "attempt": self.attempt,
            "started": self.started,
            "ended": self.ended,
            "status": self.status,
            "received": self.received,
            "body_complete": self.body_complete,
            "sent": self.sent,
            "outcome": self.outcome,
        }


class Record:
    """All entries, with a common sequence of events, and the waiters for the next change."""

    def __init__(self) -> None:
        self.entries: Deque[Entry] = collections.deque(maxlen=LOG_LIMIT)
        self.by_key: Dict[str, List[Entry]] = {}
        self.closed: Dict[int, int] = {}
        self.sequence = 0
        self.number = 0
        self.accepted = 0
        self.open: Set[int] = set()
        self.attempts: Dict[str, int] = {}
        self.active: Dict[str, int] = {}
        self._waiters: List[asyncio.Future[None]] = []

    def step(self) -> int:
        """Returns the next number in the common sequence of all events."""
        self.sequence += 1
        return self.sequence

    def begin(self, connection: int, index: int, request: Request) -> Entry:
        """Adds a request. Requests to control routes are not kept."""
        self.number += 1
        entry = Entry(self.number, connection, index, request)
        entry.started = self.step()
        if not request.control:
            self.entries.append(entry)
            if request.key is not None:
                self.by_key.setdefault(request.key, []).append(entry)
            entry.attempt = self.count(request.name)
            self.active[request.name] = self.active.get(request.name, 0) + 1
            self.changed()
        return entry

    def end(self, entry: Entry, outcome: str) -> None:
        """Closes an entry."""
        entry.outcome = outcome
        entry.ended = self.step()
        if not entry.request.control:
            name = entry.request.name
            left = self.active.get(name, 1) - 1
            if left > 0:
                self.active[name] = left
            else:
                self.active.pop(name, None)
            self.changed()

    def count(self, name: str) -> int:
        """Returns the number of this attempt under ``name``, from 1."""
        self.attempts[name] = self.attempts.get(name, 0) + 1
        return self.attempts[name]

    def connected(self, connection: int) -> None:
        self.accepted += 1
        self.open.add(connection)
        self.changed()

    def disconnected(self, connection: int) -> None:
        self.open.discard(connection)
        self.closed[connection] = self.step()
        if len(self.closed) > LOG_LIMIT:
            del self.closed[next(iter(self.closed))]
        self.changed()

    def select(self, key: Optional[str], path: Optional[str], method: Optional[str]) -> List[Entry]:
        """Returns the entries with a key, path prefix and method, as far as given."""
        found = list(self.entries) if key is None else self.by_key.get(key, [])
        if path is not None:
            found = [e for e in found if e.request.path.startswith(path)]
        if method is not None:
            found = [e for e in found if e.request.method == method]
        return found

    def stats(self, entries: List[Entry]) -> Dict[str, int]:
        """Returns counts and maximums over the given entries."""
        now = self.sequence + 1
        first: Dict[int, int] = {}
        for entry in entries:
            first.setdefault(entry.connection, entry.started)
        return {
            "requests": len(entries),
            "ended": sum(1 for e in entries if e.ended is not None),
            "active": sum(1 for e in entries if e.ended is None),
            "received": sum(e.received for e in entries),
            "sent": sum(e.sent for e in entries),
            "connections": len(first),
            "open": sum(1 for c in first if c in self.open),
            "peak_requests": _peak([(e.started, e.ended or now) for e in entries]),
            "peak_connections": _peak([(s, self.closed.get(c, now)) for c, s in first.items()]),
            "accepted": self.accepted,
            "accepted_open": len(self.open),
        }

    def forget(self, key: Optional[str]) -> None:
        """Clears the log and the attempt counters, of all keys or of one key."""
        if key is None:
            self.entries.clear()
            self.by_key.clear()
            self.attempts.clear()
            self.accepted = 0
        else:
            self.by_key.pop(key, None)
            kept = [e for e in self.entries if e.request.key != key]
            self.entries.clear()
            self.entries.extend(kept)
            for name in [n for n in self.attempts if n.startswith(key + "\0")]:
                del self.attempts[name]
        self.changed()

    def changed(self) -> None:
        """Wakes all waiters for a change."""
        if self._waiters:
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def change(self) -> asyncio.Future[None]:
        """Returns a future that completes at the next change."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(future)
        return future


def _peak(spans: List[tuple[int, int]]) -> int:
    """Returns the maximum number of overlapping spans."""
    events = sorted([(s, 1) for s, _ in spans] + [(e, -1) for _, e in spans])
    level = most = 0
    for _, change in events:
        level += change
        most = max(most, level)
    return most
