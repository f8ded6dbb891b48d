# Wherry: how far a transfer has come, and what runs
# SPDX-License-Identifier: Apache-2.0
"""Plain values that `progress=` functions, handles and listings give out."""

from __future__ import annotations

from ._codes import KINDS, STATES
from ._errors import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Tuple

    from ._errors import ImageResult


class Progress:
    """How far a transfer has come; None is not known."""

    __slots__ = (
        "done_bytes", "total_bytes", "resumed_at_bytes", "wire_bytes", "bytes_per_second",
        "remaining", "generation", "decoded_bytes", "images", "count", "ended",
    )  # fmt: skip

    def __init__(self, values: Tuple[int, ...]) -> None:
        done, total, resumed, wire, speed, remaining, generation, decoded, count, ended = values
        #: Sent or received, from the start of the file or body; of an answer in a coding those on
        #: the wire, and of a body with ``body_coding=`` those before it: of these the whole is known.
        self.done_bytes = done
        self.total_bytes: Optional[int] = None if total < 0 else total
        #: Already there when this run began.
        self.resumed_at_bytes = resumed
        #: Moved by this run, before decoding.
        self.wire_bytes = wire
        #: Over the last five seconds.
        self.bytes_per_second: Optional[int] = None if speed < 0 else speed
        #: Seconds that are left.
        self.remaining: Optional[float] = None if remaining < 0 else remaining / 1000
        #: Goes up, and done_bytes back to 0, when the server's file changed.
        self.generation = generation
        #: `done_bytes` as the program gets them: more where gzip is undone.
        self.decoded_bytes = decoded
        #: How many transfers this is the sum of: of a group how many members it has.
        self.count = count
        #: Of a group, how many of its members have ended.
        self.ended = ended
        #: How far each picture has come, of uploads with ``separate=``.
        self.images: Tuple[ImageResult, ...] = ()

    @property
    def fraction(self) -> Optional[float]:
        """0.0 to 1.0, None while the total is unknown."""
        if self.total_bytes is None:
            return None
        return min(1.0, self.done_bytes / self.total_bytes) if self.total_bytes else 1.0

    def __repr__(self) -> str:
        total = "?" if self.total_bytes is None else self.total_bytes
        return f"<Progress {self.done_bytes}/{total}>"


class TransferInfo:
    """A running transfer, as it stood when it was listed."""

    __slots__ = (
        "id", "method", "url", "tag", "path", "done_bytes", "total_bytes", "kind", "state",
    )  # fmt: skip

    def __init__(self, row: Tuple[Any, ...]) -> None:
        number, method, url, tag, path, done, total, kind, state = row
        self.id: int = number
        self.method: str = method or ""
        self.url: str = url or ""
        self.tag: Optional[str] = tag
        #: A download's destination.
        self.path: Optional[str] = path
        self.done_bytes: int = done
        self.total_bytes: Optional[int] = None if total < 0 else total
        #: request, upload or download.
        self.kind: str = KINDS.get(kind, "none")
        #: queued, running, waiting, paused, restarted, verifying, done, failed or cancelled.
        self.state: str = STATES.get(state, "none")

    def __repr__(self) -> str:
        return f"<TransferInfo {self.id} {self.kind} {self.state} {self.method} {shown(self.url)}>"


class Partial:
    """An unfinished download on disk."""

    __slots__ = ("path", "partial_path", "url", "done_bytes", "total_bytes", "ratio")

    def __init__(self, row: Tuple[Any, ...]) -> None:
        path, partial, url, done, total, ratio = row
        #: Where the whole file will be.
        self.path: str = path or ""
        #: Where its part is.
        self.partial_path: str = partial or ""
        self.url: str = url or ""
        self.done_bytes: int = done
        self.total_bytes: Optional[int] = None if total < 0 else total
        #: 0.00 to 1.00; None if the whole is unknown.
        self.ratio: Optional[float] = None if ratio < 0 else ratio

    def __repr__(self) -> str:
        return f"<Partial {self.path!r} {self.done_bytes}>"
