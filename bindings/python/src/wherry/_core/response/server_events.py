# Wherry: server-sent events
# SPDX-License-Identifier: Apache-2.0
"""Parser for server-sent events: a body of type ``text/event-stream``, in chunks of any size."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, NamedTuple, Optional

from ..._errors import ArgumentError
from ..._native.library import lib
from ..._native.memory import Cell, bytes_at, text_at
from ..calls import create, last_error

if TYPE_CHECKING:
    from typing import Iterator


class ServerEvent(NamedTuple):
    """A server-sent event: its data lines joined by LF, its name, and the last event id so far."""

    data: str
    name: str = "message"
    id: str = ""


class ServerEvents:
    """Parses chunks of bytes into events, as specified in the HTML standard, 9.2.6."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ArgumentError(f"max_bytes= must be at least 1, not {limit}", "bad_value")
        self._parser = create(lib.wherry_sse_new, limit)
        self._count = Cell()
        weakref.finalize(self, lib.wherry_sse_free, self._parser)

    @property
    def retry(self) -> Optional[float]:
        """The delay before reconnecting, in seconds, that the server set; None if it set none."""
        found: int = lib.wherry_sse_retry_ms(self._parser)
        return None if found < 0 else found / 1000

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """Parses a chunk.

        Yields the events that are complete, and then raises the error, if any.
        """
        parser = self._parser
        status = lib.wherry_sse_feed(parser, piece, len(piece))
        error = last_error(status) if status else None
        while lib.wherry_sse_next(parser):
            data = bytes_at(lib.wherry_sse_data(parser, self._count.address) or 0, self._count.take())
            name, number = text_at(lib.wherry_sse_name(parser)), text_at(lib.wherry_sse_id(parser))
            yield ServerEvent(data.decode("utf-8", "replace"), name or "message", number or "")
        if error is not None:
            raise error
