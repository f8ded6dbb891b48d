# Wherry: what one request cost
# SPDX-License-Identifier: Apache-2.0
"""Times and counts of an answer, for those who ask for them by ``metrics=True``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

_VERSIONS = {10: "1.0", 11: "1.1", 20: "2"}


class Metrics:
    """Where the time of a request went, in seconds, and what moved.

    Each time is its own length, not a running sum; what did not happen took none.
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
        #: Before it had a connection.
        self.queued = queued / 1e6
        self.lookup = lookup / 1e6
        self.connect = connect / 1e6
        self.tls = tls / 1e6
        #: Until the first byte of the answer came.
        self.first_byte = first_byte / 1e6
        self.total = total / 1e6
        #: On the wire, heads included.
        self.sent_bytes = sent
        self.received_bytes = received
        #: "1.0", "1.1" or "2"; "" where nothing was asked.
        self.http_version = _VERSIONS.get(version, "")
        self.redirects = values[9]
        self.retries = values[10]
        #: Whether an earlier connection served.
        self.is_reused = values[11] != 0
        #: The address that answered, None where nobody did.
        self.remote_address = address.decode("utf-8", "replace") if address else None
        #: A name for a file of the body: the server's, else the URL's. Never a path.
        self.suggested_name = (name or b"download").decode("utf-8", "replace")

    def __repr__(self) -> str:
        return f"<Metrics {self.total:.6f} s {self.received_bytes} bytes>"
