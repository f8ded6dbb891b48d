# Wherry: reading the body of a response
# SPDX-License-Identifier: Apache-2.0
"""The part of `Response` that returns the body as bytes, text, or lines."""

from __future__ import annotations

from ..._errors import StateError, brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, AsyncIterator, Iterator, Optional, Union

    from .chunks import Lines


class ResponseBody:
    """See `Response`."""

    if TYPE_CHECKING:

        @property
        def encoding(self) -> str:
            """See `Response.encoding`."""

    _body: bytes
    #: Body pieces that were passed to the constructor and not read yet.
    _pieces: Any = None
    #: Why the pieces cannot be read any more; "" while they can.
    _spent: str = ""

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        if self._pieces is not None:
            from ..request.body import as_bytes

            if not hasattr(self._pieces, "__iter__"):
                raise StateError("Could not read the body: its chunks are asynchronous. Call aread().", "wrong_state")
            self._keep(b"".join(as_bytes(piece) for piece in self._take_pieces()))
        return self._body

    def read(self) -> bytes:
        """Returns the body as bytes, like `content`, as in httpx."""
        return self.content

    async def aread(self) -> bytes:
        """Like `read`, for an asynchronous body."""
        if self._pieces is not None and hasattr(self._pieces, "__aiter__"):
            from ..request.body import as_bytes

            self._keep(b"".join([as_bytes(piece) async for piece in self._take_pieces()]))
        return self.content

    def _keep(self, body: bytes) -> None:
        self._body, self._pieces, self._spent = body, None, ""

    def _take_pieces(self) -> Any:
        if self._spent:
            raise StateError(f"Could not read the body: {self._spent}", "wrong_state")
        self._spent = "it was already streamed. Call read() first to keep it."
        return self._pieces

    def iter_bytes(self, chunk_size: Optional[int] = None) -> Iterator[bytes]:
        """Iterates over the body in chunks of ``chunk_size`` bytes, or in one chunk by default."""
        if self._pieces is not None:
            from ..request.body import as_bytes

            if not hasattr(self._pieces, "__iter__"):
                raise StateError(
                    "Could not read the body: its chunks are asynchronous. Use aiter_bytes().", "wrong_state"
                )
            from .chunks import Chunks

            cutter = Chunks(chunk_size)
            for piece in self._take_pieces():
                yield from cutter.feed(as_bytes(piece))
            yield from cutter.end()
            return
        from .chunks import chunk_size_of

        body = self.content
        size = chunk_size_of(chunk_size) or len(body) or 1
        for start in range(0, len(body), size):
            yield body[start : start + size]

    async def aiter_bytes(self, chunk_size: Optional[int] = None) -> AsyncIterator[bytes]:
        """Like `iter_bytes`, as an asynchronous iterator."""
        if self._pieces is None or not hasattr(self._pieces, "__aiter__"):
            for piece in self.iter_bytes(chunk_size):
                yield piece
            return
        from ..request.body import as_bytes
        from .chunks import Chunks

        cutter = Chunks(chunk_size)
        async for piece in self._take_pieces():
            for cut in cutter.feed(as_bytes(piece)):
                yield cut
        for cut in cutter.end():
            yield cut

    def iter_text(self, chunk_size: Optional[int] = None) -> Iterator[str]:
        """Iterates over the text in chunks of ``chunk_size`` characters, or as received by default.

        Characters are never split.
        """
        from .chunks import TextChunks

        cutter = TextChunks(self.encoding, chunk_size)
        for piece in self.iter_bytes():
            yield from cutter.feed(piece)
        yield from cutter.end()

    async def aiter_text(self, chunk_size: Optional[int] = None) -> AsyncIterator[str]:
        """Like `iter_text`, as an asynchronous iterator."""
        from .chunks import TextChunks

        cutter = TextChunks(self.encoding, chunk_size)
        async for piece in self.aiter_bytes():
            for text in cutter.feed(piece):
                yield text
        for text in cutter.end():
            yield text

    def iter_lines(
        self, chunk_size: Optional[int] = None, decode_unicode: bool = True,
        delimiter: Union[str, bytes, None] = None,
    ) -> Iterator[str]:  # fmt: skip
        """Iterates over the lines of the text, without line endings.

        Takes the same arguments as in requests. ``chunk_size`` has no effect. Lines are always str, so
        ``decode_unicode=False`` raises an error. ``delimiter`` ends a line instead of LF, CRLF, or CR.
        """
        return self._lines(self._splitter(chunk_size, decode_unicode, delimiter))

    def _lines(self, splitter: Lines) -> Iterator[str]:
        for piece in self.iter_bytes():
            yield from splitter.feed(piece)
        yield from splitter.end()

    def _splitter(self, chunk_size: Any, decode_unicode: Any, delimiter: Any) -> Lines:
        from .chunks import Lines, chunk_size_of

        chunk_size_of(chunk_size)
        if decode_unicode is not True:
            raise TypeError(
                f"iter_lines() yields str, so decode_unicode= must be True, not {brief(decode_unicode)}. Encode the "
                "lines, or split the chunks of iter_bytes()."
            )
        return Lines(self.encoding, delimiter)

    def aiter_lines(
        self, chunk_size: Optional[int] = None, decode_unicode: bool = True,
        delimiter: Union[str, bytes, None] = None,
    ) -> AsyncIterator[str]:  # fmt: skip
        """Like `iter_lines`, as an asynchronous iterator."""
        return self._alines(self._splitter(chunk_size, decode_unicode, delimiter))

    async def _alines(self, splitter: Lines) -> AsyncIterator[str]:
        async for piece in self.aiter_bytes():
            for line in splitter.feed(piece):
                yield line
        for line in splitter.end():
            yield line

    @property
    def is_closed(self) -> bool:
        """Whether the body has ended: no more data can arrive."""
        return self._pieces is None or bool(self._spent)

    @property
    def is_stream_consumed(self) -> bool:
        """Whether the body was read."""
        return self.is_closed

    def close(self) -> None:
        """Closes a stream. Other responses are complete, and stay readable."""
        if self._pieces is not None and not self._spent:
            if not hasattr(self._pieces, "__iter__"):
                raise StateError(
                    "Could not close the response: its chunks are asynchronous. Call aclose().", "wrong_state"
                )
            self._spent = "the response was closed"

    async def aclose(self) -> None:
        """Like `close`, for responses of an `AsyncClient`."""
        if self._pieces is not None and not self._spent:
            self._spent = "the response was closed"
