# Wherry: WSGI applications as transports
# SPDX-License-Identifier: Apache-2.0
"""`WSGITransport`, which calls a WSGI application (Flask, Django, ...) without a network."""

from __future__ import annotations

import io
import sys
from urllib.parse import unquote_to_bytes, urlsplit

from .._core.response.response import Response
from .base import BaseTransport, refuse_application

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Optional, TextIO, Tuple

    from .._core.request.sent import SentRequest


class WSGITransport(BaseTransport):
    """Responds to the requests of a `Client` with a WSGI application, on the thread of the request.

    With ``raise_app_exceptions=False``, an exception in the application becomes a 500 response, as
    on a server. ``script_name`` is the path where the application is mounted. ``remote_addr`` is
    the client's address. ``wsgi_errors`` replaces stderr for the application.
    """

    def __init__(
        self, app: Callable[..., Iterable[bytes]], raise_app_exceptions: bool = True,
        script_name: str = "", remote_addr: str = "127.0.0.1", wsgi_errors: Optional[TextIO] = None,
    ) -> None:  # fmt: skip
        refuse_application(app)
        self._app = app
        self._raises = raise_app_exceptions
        self._script_name = script_name
        self._remote_addr = remote_addr
        self._errors = wsgi_errors

    def handle_request(self, request: SentRequest) -> Response:
        """Returns the response of the application."""
        started: List[Tuple[str, List[Tuple[str, str]]]] = []
        written: List[bytes] = []
        raised: List[Any] = []

        def start_response(
            status: str, headers: List[Tuple[str, str]], exc_info: Any = None
        ) -> Callable[[bytes], object]:
            raised[:] = [exc_info] if exc_info else []
            started[:] = [(status, list(headers))]
            return written.append

        try:
            result = self._app(self._environ(request), start_response)
            try:
                written.extend(result)  # The application may call start_response during the first piece.
            finally:
                if hasattr(result, "close"):
                    result.close()
            if not started:
                raise RuntimeError("the WSGI application did not call start_response")
        except Exception:
            if self._raises:
                raise
            return Response(500, text="Internal Server Error")
        if raised and self._raises:
            raise raised[0][1]
        status, headers = started[0]
        return Response(int(status.split(" ")[0]), headers=headers, content=b"".join(written))

    def _environ(self, request: SentRequest) -> Dict[str, Any]:
        parts = urlsplit(request.url)
        path = unquote_to_bytes(parts.path).decode("latin-1")
        if self._script_name and path.startswith(self._script_name):
            path = path[len(self._script_name) :]
        body = request.read()
        environ: Dict[str, Any] = {
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": parts.scheme,
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": self._errors or sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "REQUEST_METHOD": request.method,
            "SCRIPT_NAME": self._script_name,
            "PATH_INFO": path,
            "QUERY_STRING": parts.query,
            "SERVER_NAME": parts.hostname or "",
            "SERVER_PORT": str(parts.port or (443 if parts.scheme == "https" else 80)),
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": self._remote_addr,
        }
        if body:
            environ["CONTENT_LENGTH"] = str(len(body))
        for name in request.headers:
            key = name.upper().replace("-", "_")
            key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else "HTTP_" + key
            # PEP 3333 requires bytes as ISO 8859-1 text.
            environ[key] = request.headers[name].encode("utf-8", "surrogateescape").decode("latin-1")
        return environ
