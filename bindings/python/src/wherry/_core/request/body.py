# Wherry: streamed request bodies
# SPDX-License-Identifier: Apache-2.0
"""Iterators and generators as request bodies.

The library requests data with WANT_BODY events.
"""

from __future__ import annotations

from ..._errors import ArgumentError, StateError
from ..._native import codes
from ..._native.library import lib
from ..._native.memory import Cell, address
from ..calls import check, last_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, AsyncIterator, Callable, Generator, Iterator, Optional, Sequence, Union

    Piece = Union[bytes, bytearray, memoryview, str]

#: The name of a chunk in errors.
CHUNK_NAME = "a chunk of a body"
#: Marks the end of an iterator. None does not, because it could silently end a body early.
END: Any = type("End", (), {})()
#: States in which a transfer accepts no more bytes.
ENDED = frozenset(("done", "failed", "cancelled"))


class Source:
    """A streamed body. It is written whenever the library has room for more bytes."""

    __slots__ = (
        "count", "asynchronous", "restart", "chunk_name", "_pieces", "_piece", "_at", "_read",
        "_written",
    )  # fmt: skip

    def __init__(
        self,
        pieces: Union[Iterator[Piece], AsyncIterator[Piece]],
        count: int = -1,
        restart: Optional[Callable[[], Union[Iterator[Piece], AsyncIterator[Piece]]]] = None,
    ) -> None:
        #: Creates an iterator that starts at the first byte; None if the body can be sent only
        #: once.
        self.restart = restart
        #: The announced number of bytes, or -1. The chunks must have exactly that size in total.
        self.count = count
        self.asynchronous = hasattr(pieces, "__anext__")
        #: The name of a chunk in errors.
        self.chunk_name = CHUNK_NAME
        self._pieces: Any = pieces
        self._piece = b""
        self._at = 0
        #: The number of bytes read from the iterator.
        self._read = 0
        self._written = Cell()

    def write(self, transfer: int) -> None:
        """Writes data for one WANT_BODY event. Exceptions of the iterator propagate."""
        if self.asynchronous:
            raise StateError("Could not send the body: its chunks are asynchronous. Use AsyncClient.", "wrong_state")
        feed = self._feed(transfer)
        try:
            next(feed)
            while True:
                feed.send(next(self._pieces, END))
        except StopIteration:
            pass

    async def write_async(self, transfer: int) -> None:
        """Like `write`, for an asynchronous iterator."""
        feed = self._feed(transfer)
        try:
            next(feed)
            while True:
                try:
                    piece = await self._pieces.__anext__()
                except StopAsyncIteration:
                    piece = END
                feed.send(piece)
        except StopIteration:
            pass

    def _feed(self, transfer: int) -> Generator[None, Piece, None]:
        """Writes until the transfer has no room.

        The caller passes in each chunk with `send`, and `END` after the last one.
        """
        self._rewind(transfer)
        while self._send(transfer):
            piece = yield
            data = b"" if piece is END else as_bytes(piece, self.chunk_name)
            self._count(data)
            # Read one chunk ahead: the body is complete only if nothing follows its last byte.
            while data and self._read == self.count:
                piece = yield
                if piece is END:
                    break
                self._count(as_bytes(piece, self.chunk_name))
            if piece is not END or data:
                self._piece, self._at = data, 0
                continue
            if self._read < self.count:
                raise wrong_size(self.count, self._read)
            _is_running(transfer, lib.wherry_transfer_finish(transfer))
            if not self._rewind(transfer):
                return

    def _count(self, data: bytes) -> None:
        """Counts bytes that were read. Raises an error if there are more than announced."""
        self._read += len(data)
        if 0 <= self.count < self._read:
            raise wrong_size(self.count, self._read)

    def _rewind(self, transfer: int) -> bool:
        """Restarts the iterator if the server needs the body again. Returns whether it did."""
        if self.restart is None or not lib.wherry_transfer_wants_rewind(transfer):
            return False
        self._pieces = self.restart()
        self._piece, self._at, self._read = b"", 0, 0
        return _is_running(transfer, lib.wherry_transfer_rewind(transfer))

    def _send(self, transfer: int) -> bool:
        """Sends the current chunk.

        Returns whether all of it was sent and there is room for more.
        """
        size = len(self._piece)
        base = address(self._piece)
        while self._at < size:
            status = lib.wherry_transfer_write(transfer, base + self._at, size - self._at, self._written.address)
            if status == codes.E_BUSY and self._rewind(transfer):
                return True
            if status == codes.E_BUSY or not _is_running(transfer, status):
                return False  # The transfer has no room or has ended; the next event shows which.
            self._at += self._written.take()
        return True


def wrong_size(announced: int, read: int) -> ArgumentError:
    """Returns the error for a body whose size differs from the announced size."""
    found = f"at least {read}" if read > announced else f"only {read}"
    return ArgumentError(
        f"Could not send the body: {announced} bytes were announced, but it has {found}. "
        "Announce the exact size, or no size.", "bad_value",
    )  # fmt: skip


def _is_running(transfer: int, status: int) -> bool:
    """Whether the transfer is still running, according to the status of a call. Raises other errors."""
    if status == codes.E_STATE:
        error = last_error(status)
        if codes.STATES.get(lib.wherry_transfer_state(transfer)) in ENDED:
            return False
        raise error
    check(status)
    return True


def join_sources(sources: Sequence[Source]) -> Source:
    """Concatenates sources. Each must have exactly its announced size."""
    count = sum(source.count for source in sources)
    if any(source.asynchronous for source in sources):
        return Source(_joined_async(sources), count)
    return Source(_joined(sources), count)


def _joined(sources: Sequence[Source]) -> Iterator[bytes]:
    for source in sources:
        feed = _checked_size(source)
        try:
            next(feed)
            while True:
                data = feed.send(next(source._pieces, END))
                if data:
                    yield data
        except StopIteration as end:
            yield end.value


async def _joined_async(sources: Sequence[Source]) -> AsyncIterator[bytes]:
    for source in sources:
        feed = _checked_size(source)
        last = b""
        try:
            next(feed)
            while True:
                if source.asynchronous:
                    try:
                        piece = await source._pieces.__anext__()
                    except StopAsyncIteration:
                        piece = END
                else:
                    piece = next(source._pieces, END)
                data = feed.send(piece)
                if data:
                    yield data
        except StopIteration as end:
            last = end.value
        yield last


def _checked_size(source: Source) -> Generator[bytes, Piece, bytes]:
    """Checks the size of a part while it is sent.

    The caller passes in each chunk with `send`, and `END` after the last one. Yields the bytes to
    send. The last chunk is yielded only when no more bytes follow.
    """
    held = b""
    while True:
        piece = yield held
        if piece is END:
            if source._read < source.count:
                raise wrong_size(source.count, source._read)
            return b""
        held = as_bytes(piece)
        source._count(held)
        if source._read < source.count:
            continue
        while True:
            piece = yield b""
            if piece is END:
                return held
            source._count(as_bytes(piece))


def as_bytes(piece: Any, chunk_name: str = CHUNK_NAME) -> bytes:
    """Converts one chunk of a body to bytes."""
    if isinstance(piece, str):
        return piece.encode()
    if not isinstance(piece, (bytes, bytearray, memoryview)):
        raise TypeError(f"{chunk_name} must be bytes or str, not {type(piece).__name__}")
    return bytes(piece)
