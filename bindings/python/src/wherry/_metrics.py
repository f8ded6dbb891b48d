# Wherry: metrics of a request
# SPDX-License-Identifier: Apache-2.0
"""Times and byte counts of a response, for requests with ``metrics=True``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

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

    def __init__(
        self, values: Tuple[int, ...], address: Optional[bytes], name: Optional[bytes]
    ) -> None:
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
        #: A file name for the body: the server's, otherwise from the URL. Never a path.
        self.suggested_name = (name or b"download").decode("utf-8", "replace")

    def __repr__(self) -> str:
        return f"<Metrics {self.total:.6f} s {self.received_bytes} bytes>"
