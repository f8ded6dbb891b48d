# Wherry: base classes of custom transports
# SPDX-License-Identifier: Apache-2.0
"""``transport=`` and ``mounts=``: objects that respond to requests in place of the network.

The client still handles redirects, retries, cookies, caches, streams, and downloads.
"""

from __future__ import annotations

from .._core.request.sent import SentRequest
from .._core.response.response import Response


class BaseTransport:
    """Responds to requests in place of the network.

    Subclasses implement `handle_request`, as in httpx.

    `handle_request` runs on the thread that waits for the response. Its exceptions reach the caller
    of the request; a NetworkError or TimeoutError may be retried first. Any object with this method
    is also a transport. A client closes its transports when it is closed.
    """

    def handle_request(self, request: SentRequest) -> Response:
        """Returns the response to a request, which has its final URL, headers, and body."""
        raise NotImplementedError("a transport must implement handle_request(request)")

    def close(self) -> None:
        """Called when a client that uses the transport is closed."""

    def __enter__(self) -> BaseTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncBaseTransport:
    """Like `BaseTransport`, for `AsyncClient`. Runs in the client's event loop."""

    async def handle_async_request(self, request: SentRequest) -> Response:
        """Returns the response to a request, which has its final URL, headers, and body."""
        raise NotImplementedError("a transport must implement handle_async_request(request)")

    async def aclose(self) -> None:
        """Called when a client that uses the transport is closed."""

    async def __aenter__(self) -> AsyncBaseTransport:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def refuse_application(app: object) -> None:
    """Raises TypeError for an object that cannot be a WSGI or ASGI application."""
    if not callable(app):
        raise TypeError(f"app= takes the application, a function or a callable object, not {type(app).__name__}")
