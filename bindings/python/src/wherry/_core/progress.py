# Wherry: progress, listings, and metrics of transfers
# SPDX-License-Identifier: Apache-2.0
"""Plain values for ``progress=`` callbacks, handles, listings, and ``metrics=True``."""

from __future__ import annotations

from .._errors import without_query
from .._native.codes import KINDS, STATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Tuple

    from .._errors import ImageResult


def fraction_of(done: int, total: Optional[int]) -> Optional[float]:
    """Returns the progress from 0.0 to 1.0; None without a total."""
    if total is None:
        return None
    return min(1.0, done / total) if total else 1.0


class Progress:
    """The progress of a transfer. None means unknown. Attributes:

    ``done_bytes``       bytes sent or received, from the start of the file or body. For a compressed
                         response, bytes on the wire; for a body compressed with ``body_coding=``,
                         bytes before compression
    ``total_bytes``      the expected total of ``done_bytes``
    ``fraction``         ``done_bytes`` divided by ``total_bytes``, 0.0 to 1.0
    ``resumed_at_bytes`` the size of the partial file that this transfer resumed, or 0
    ``wire_bytes``       bytes on the wire during this transfer, as compressed
    ``decoded_bytes``    like ``done_bytes``, but after decoding: larger for a gzip response
    ``bytes_per_second`` the rate over the last five seconds
    ``remaining``        the estimated seconds until the end
    ``generation``       increases when the file on the server has changed, which resets ``done_bytes``
    ``count``            the number of transfers in these numbers; for a group, the number of its members
    ``ended``            for a group, the number of members that have ended
    ``images``           the progress of each image, for uploads with ``separate=``
    """

    __slots__ = (
        "done_bytes", "total_bytes", "resumed_at_bytes", "wire_bytes", "bytes_per_second",
        "remaining", "generation", "decoded_bytes", "images", "count", "ended",
    )  # fmt: skip

    def __init__(self, values: Tuple[int, ...]) -> None:
        done, total, resumed, wire, speed, remaining, generation, decoded, count, ended = values
        self.done_bytes = done
        self.total_bytes: Optional[int] = None if total < 0 else total
        self.resumed_at_bytes = resumed
        self.wire_bytes = wire
        self.bytes_per_second: Optional[int] = None if speed < 0 else speed
        self.remaining: Optional[float] = None if remaining < 0 else remaining / 1000
        self.generation = generation
        self.decoded_bytes = decoded
        self.count = count
        self.ended = ended
        self.images: Tuple[ImageResult, ...] = ()

    @property
    def fraction(self) -> Optional[float]:
        """0.0 to 1.0, or None while the total is unknown."""
        return fraction_of(self.done_bytes, self.total_bytes)

    def __repr__(self) -> str:
        total = "?" if self.total_bytes is None else self.total_bytes
        return f"<Progress {self.done_bytes}/{total}>"


class TransferInfo:
    """A running transfer, as of the time of the listing."""

    __slots__ = (
        "id", "method", "url", "tag", "path", "done_bytes", "total_bytes", "kind", "state",
    )  # fmt: skip

    def __init__(self, row: Tuple[Any, ...]) -> None:
        number, method, url, tag, path, done, total, kind, state = row
        self.id: int = number
        self.method: str = method or ""
        self.url: str = url or ""
        self.tag: Optional[str] = tag
        #: The destination of a download.
        self.path: Optional[str] = path
        self.done_bytes: int = done
        self.total_bytes: Optional[int] = None if total < 0 else total
        #: request, upload or download.
        self.kind: str = KINDS.get(kind, "none")
        #: queued, running, waiting, paused, restarted, verifying, done, failed or cancelled.
        self.state: str = STATES.get(state, "none")

    def __repr__(self) -> str:
        url = without_query(self.url)
        return f"<TransferInfo {self.id} {self.kind} {self.state} {self.method} {url}>"


class Partial:
    """An unfinished download on disk."""

    __slots__ = ("path", "partial_path", "url", "done_bytes", "total_bytes", "ratio")

    def __init__(self, row: Tuple[Any, ...]) -> None:
        path, partial, url, done, total, ratio = row
        #: The path of the complete file.
        self.path: str = path or ""
        #: The path of the partial file.
        self.partial_path: str = partial or ""
        self.url: str = url or ""
        self.done_bytes: int = done
        self.total_bytes: Optional[int] = None if total < 0 else total
        #: 0.00 to 1.00, or None if the total is unknown.
        self.ratio: Optional[float] = None if ratio < 0 else ratio

    def __repr__(self) -> str:
        return f"<Partial {self.path!r} {self.done_bytes}>"


_VERSIONS = {10: "1.0", 11: "1.1", 20: "2"}


class Metrics:
    """The durations of a request's phases, in seconds, and the transferred bytes.

    Each duration covers only its own phase. A phase that did not happen is 0.
    """

    __slots__ = (
        "queued", "lookup", "connect", "tls", "first_byte", "total", "sent_bytes",
        "received_bytes", "http_version", "redirects", "retries", "is_reused", "remote_address",
        "suggested_name",
    )  # fmt: skip

    def __init__(self, values: Tuple[int, ...], address: Optional[bytes], name: Optional[bytes]) -> None:
        queued, lookup, connect, tls, first_byte, total, sent, received, version = values[:9]
        #: The wait for a connection.
        self.queued = queued / 1e6
        self.lookup = lookup / 1e6
        self.connect = connect / 1e6
        self.tls = tls / 1e6
        #: The wait for the first byte of the response.
        self.first_byte = first_byte / 1e6
        self.total = total / 1e6
        #: Bytes on the wire, including headers.
        self.sent_bytes = sent
        self.received_bytes = received
        #: "1.0", "1.1", or "2"; "" if no request was sent.
        self.http_version = _VERSIONS.get(version, "")
        self.redirects = values[9]
        self.retries = values[10]
        #: Whether an existing connection was reused.
        self.is_reused = values[11] != 0
        #: The address of the server; None if no server responded.
        self.remote_address = address.decode("utf-8", "replace") if address else None
        #: A file name for the body: the name that the server sent, or else a name from the URL.
        #: Never a path.
        self.suggested_name = (name or b"download").decode("utf-8", "replace")

    def __repr__(self) -> str:
        return f"<Metrics {self.total:.6f} s {self.received_bytes} bytes>"
