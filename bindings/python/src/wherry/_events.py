# Wherry: server-sent events
# SPDX-License-Identifier: Apache-2.0
"""Finds the events in a body of the type ``text/event-stream``, however its bytes are cut."""

from __future__ import annotations

from typing import List, NamedTuple, Optional

from ._errors import LimitError


class ServerEvent(NamedTuple):
    """One event: its lines of data joined by LF, its name, and the last id of the stream so far."""

    data: str
    name: str = "message"
    id: str = ""


class ServerEvents:
    """Takes pieces of bytes, gives events; the rules are those of the HTML standard, 9.2.6."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = b""
        self._is_first = True
        self._is_after_cr = False
        self._name = ""
        self._data: List[bytes] = []
        self._size = 0
        self._id = ""
        #: How long the server asked to wait before the stream is asked for again, in seconds.
        self.retry: Optional[float] = None

    def feed(self, piece: bytes) -> List[ServerEvent]:
        """The events that are whole now."""
        if not piece:
            return []
        # The LF of a CR that has ended its line.
        start = 1 if self._is_after_cr and piece.startswith(b"\n") else 0
        self._is_after_cr = piece.endswith(b"\r")
        text = self._rest + piece[start:]
        lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop()
        events: List[ServerEvent] = []
        for line in lines:
            self._line(line, events)
            self._check(0)
        self._check(len(self._rest))
        return events

    def _check(self, more: int) -> None:
        if self._size + more > self._limit:
            raise LimitError(
                f"an event of the stream is longer than {self._limit} bytes", "too_large"
            )

    def _line(self, line: bytes, events: List[ServerEvent]) -> None:
        if self._is_first:
            self._is_first = False
            if line.startswith(b"\xef\xbb\xbf"):
                line = line[3:]
        if not line:
            if self._data:
                data = b"\n".join(self._data).decode("utf-8", "replace")
                events.append(ServerEvent(data, self._name or "message", self._id))
            self._name, self._data, self._size = "", [], 0
            return
        field, _, value = line.partition(b":")
        if value.startswith(b" "):
            value = value[1:]
        if field == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit():
            self.retry = int(value) / 1000
