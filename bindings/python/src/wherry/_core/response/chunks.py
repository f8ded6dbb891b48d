# Wherry: splitting of streams into chunks and lines
# SPDX-License-Identifier: Apache-2.0
"""Splitters for the bytes of a body that arrives in parts of any size."""

from __future__ import annotations

from ..._errors import ArgumentError, brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional, Union


def chunk_size_of(size: Any) -> Optional[int]:
    """Checks ``chunk_size=``, which is a positive number or None."""
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"chunk_size= takes a whole number or None, not {brief(size)}")
    if size < 1:
        raise ArgumentError(f"chunk_size= must be 1 or more, or None for chunks of any size, not {size}", "bad_value")
    return size


class Chunks:
    """Splits a stream into chunks of one size."""

    __slots__ = ("_size", "_rest")

    def __init__(self, size: Optional[int]) -> None:
        self._size = chunk_size_of(size)
        self._rest = b""

    def feed(self, data: bytes) -> List[bytes]:
        """Returns the chunks that are now complete."""
        if self._size is None:
            return [data] if data else []
        data = self._rest + data
        whole = len(data) - len(data) % self._size
        self._rest = data[whole:]
        return [data[at : at + self._size] for at in range(0, whole, self._size)]

    def end(self) -> List[bytes]:
        """Returns the remaining bytes or text."""
        rest, self._rest = self._rest, b""
        return [rest] if rest else []


class Lines:
    """Splits a stream into lines, which end with LF, CRLF, or CR, or with a delimiter.

    The input may be split anywhere.
    """

    __slots__ = ("_decoder", "_delimiter", "_rest", "_after_cr")

    def __init__(self, encoding: str, delimiter: Union[str, bytes, None] = None) -> None:
        import codecs

        if isinstance(delimiter, bytes):
            delimiter = delimiter.decode(encoding, "replace")
        if delimiter is not None and not isinstance(delimiter, str):
            raise TypeError(f"delimiter= takes str, bytes, or None, not {brief(delimiter)}")
        if delimiter == "":
            raise ArgumentError("delimiter= must not be empty", "bad_value")
        self._delimiter = delimiter
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._rest: List[str] = []
        self._after_cr = False

    def feed(self, data: bytes) -> List[str]:
        """Returns the lines that are now complete."""
        return self._split(self._decoder.decode(data))

    def end(self) -> List[str]:
        """Returns the last line, if it has no line ending."""
        lines = self._split(self._decoder.decode(b"", True))
        if self._rest:
            lines.append("".join(self._rest))
            self._rest = []
        return lines

    def _split(self, text: str) -> List[str]:
        if self._delimiter is not None:
            # The delimiter may be split between this text and the one before.
            found = "".join((*self._rest, text)).split(self._delimiter)
            last = found.pop()
            self._rest = [last] if last else []
            return found
        if self._after_cr and text:
            self._after_cr = False
            if text[0] == "\n":
                text = text[1:]
        if not text:
            return []
        self._after_cr = text[-1] == "\r"
        found = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if len(found) == 1:
            self._rest.append(text)
            return []
        found[0] = "".join(self._rest) + found[0]
        last = found.pop()
        self._rest = [last] if last else []
        return found


class TextChunks:
    """Decodes a stream, and splits its text into pieces of one size."""

    __slots__ = ("_decoder", "_size", "_rest")

    def __init__(self, encoding: str, size: Optional[int]) -> None:
        import codecs

        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._size = chunk_size_of(size)
        self._rest = ""

    def feed(self, data: bytes, is_last: bool = False) -> List[str]:
        """Returns the pieces that are now complete."""
        text = self._decoder.decode(data, is_last)
        if self._size is None:
            return [text] if text else []
        text = self._rest + text
        whole = len(text) - len(text) % self._size
        self._rest = text[whole:]
        return [text[at : at + self._size] for at in range(0, whole, self._size)]

    def end(self) -> List[str]:
        """Returns the remaining bytes or text."""
        found = self.feed(b"", True)
        rest, self._rest = self._rest, ""
        return [*found, rest] if rest else found
