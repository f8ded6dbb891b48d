# Wherry: ASGI applications as transports
# SPDX-License-Identifier: Apache-2.0
"""`ASGITransport`: calls an ASGI application, such as Starlette or FastAPI, without a network."""

from __future__ import annotations

import asyncio
from urllib.parse import unquote, urlsplit

from .._core.headers import raw_field
from .._core.response.response import Response
from .base import AsyncBaseTransport, refuse_application

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Awaitable, Callable, List, MutableMapping, Optional, Tuple

    from .._core.request.sent import SentRequest

    Message = MutableMapping[str, Any]
    App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


class ASGITransport(AsyncBaseTransport):
    """A transport that sends the requests of an `AsyncClient` to an ASGI application.

    The application runs in the client's event loop. The response is returned when its body is
    complete. Lifespan events are not sent, as in httpx.

    ``raise_app_exceptions=False`` turns an exception of the application into a 500 response.
    ``root_path`` is the mount path of the application. ``client`` is the client address and port that
    the application sees.
    """

    def __init__(
        self, app: App, raise_app_exceptions: bool = True, root_path: str = "",
        client: Tuple[str, int] = ("127.0.0.1", 123),
    ) -> None:  # fmt: skip
        refuse_application(app)
        self._app = app
        self._raises = raise_app_exceptions
        self._root_path = root_path
        self._client = client

    async def handle_async_request(self, request: SentRequest) -> Response:
        """Returns the application's response."""
        body = request.read()
        status: Optional[int] = None
        headers: List[Tuple[str, str]] = []
        pieces: List[bytes] = []
        is_sent = False
        is_complete = asyncio.Event()

        async def receive() -> Message:
            nonlocal is_sent
            if not is_sent:
                is_sent = True
                return {"type": "http.request", "body": body, "more_body": False}
            await is_complete.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                if status is not None:
                    raise RuntimeError("the ASGI application sent http.response.start twice")
                status = int(message["status"])
                headers = [  # Some applications send str.
                    (raw_field(name), raw_field(value)) for name, value in message.get("headers", ())
                ]
            elif message["type"] == "http.response.body":
                if status is None or is_complete.is_set():
                    raise RuntimeError("the ASGI application sent http.response.body out of order")
                if request.method != "HEAD":
                    pieces.append(bytes(message.get("body", b"")))
                if not message.get("more_body", False):
                    is_complete.set()

        try:
            await self._app(self._scope(request), receive, send)
            if status is None or not is_complete.is_set():
                raise RuntimeError("the ASGI application ended without a complete response")
        except Exception:
            if self._raises:
                raise
            if status is None or not is_complete.is_set():
                return Response(500, text="Internal Server Error")
        return Response(status, headers=headers, content=b"".join(pieces))

    def _scope(self, request: SentRequest) -> Message:
        parts = urlsplit(request.url)
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [
                (name.lower().encode("latin-1", "replace"), value.encode("utf-8"))
                for name, value in request.headers.multi_items()
            ],
            "scheme": parts.scheme,
            "path": unquote(parts.path),
            "raw_path": parts.path.encode("ascii", "replace"),
            "query_string": parts.query.encode("ascii", "replace"),
            "server": (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)),
            "client": self._client,
            "root_path": self._root_path,
        }
