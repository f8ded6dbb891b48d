# Wherry: custom authentication flows
# SPDX-License-Identifier: Apache-2.0
"""`Auth`: custom authentication flows, as in httpx.

``auth=`` also accepts a function, as in requests.

Each request of a flow is sent separately, with its own redirects, retries, and cache lookup.
"""

from __future__ import annotations

from ..._errors import ArgumentError
from ..._native.library import lib
from ..calls import copy_text
from ..credentials import is_flow
from ..forms import BODIES, pairs, query_pairs
from .sent import COMPLETE, SentRequest, keywords_to_send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, AsyncGenerator, Callable, Dict, Generator, Mapping, Optional, Tuple

    from ..._client.requests import ClientRequests
    from ..response.response import Response

    Flow = Generator[SentRequest, Response, None]
    AsyncFlow = AsyncGenerator[SentRequest, Response]


class Auth:
    """The base class of authentication flows. Subclasses override `auth_flow`, as in httpx::

        class Token(wherry.Auth):
            def auth_flow(self, request):
                request.headers["X-Token"] = self.token
                response = yield request
                if response.status_code == 401:
                    self.token = new_token()
                    request.headers["X-Token"] = self.token
                    yield request

    The request is a `SentRequest` with its final URL, headers, and body, and may be edited. The call
    returns the last response. To do I/O in a flow, override `sync_auth_flow` or `async_auth_flow`.
    """

    #: Whether the flow needs `SentRequest.content`. A streamed body is then read first.
    requires_request_body = False
    #: Whether the flow needs `Response.content`. This only matters for streamed responses.
    requires_response_body = False

    def auth_flow(self, request: SentRequest) -> Flow:
        """Yields requests, and receives the response to each request."""
        yield request

    def sync_auth_flow(self, request: SentRequest) -> Flow:
        """The flow for a `Client` (default: `auth_flow`)."""
        yield from self.auth_flow(request)

    async def async_auth_flow(self, request: SentRequest) -> AsyncFlow:
        """The flow for an `AsyncClient` (default: `auth_flow`)."""
        flow = self.auth_flow(request)
        try:
            request = next(flow)
            while True:
                response = yield request
                request = flow.send(response)
        except StopIteration:
            pass
        finally:
            flow.close()


class FunctionAuth(Auth):
    """The flow for a function as ``auth=``.

    The function receives the request and returns the request to send.
    """

    def __init__(self, function: Callable[[SentRequest], Any]) -> None:
        if hasattr(function, "handle_401"):  # It needs the connection objects of the requests library.
            raise TypeError(f"auth= cannot use {type(function).__name__} of requests. Use wherry.DigestAuth.")
        self._function = function

    def auth_flow(self, request: SentRequest) -> Flow:
        found = self._function(request)
        if hasattr(found, "__await__"):
            if hasattr(found, "close"):
                found.close()
            raise TypeError("auth= is a coroutine function, which needs an AsyncClient")
        yield _checked(found)

    async def async_auth_flow(self, request: SentRequest) -> AsyncFlow:
        found = self._function(request)
        yield _checked(await found if hasattr(found, "__await__") else found)


def _checked(request: Any) -> SentRequest:
    if not isinstance(request, SentRequest):
        raise TypeError(f"auth= must return the request, not {type(request).__name__}")
    return request


def flow_of(client: ClientRequests[Any], options: Mapping[str, Any]) -> Any:
    """Returns the auth flow of a request: its own, the client's, or None."""
    auth = options["auth"] if "auth" in options else client._settings.get("auth")
    if auth is None or isinstance(auth, tuple) or not is_flow(auth):
        return None
    if hasattr(auth, "auth_flow") or hasattr(auth, "sync_auth_flow") or hasattr(auth, "async_auth_flow"):
        return auth
    return FunctionAuth(auth)


#: The result of `FlowRun.next` after the last request.
FLOW_END: Any = type("nothing", (), {})()


class FlowRun:
    """A running flow of a blocking client."""

    def __init__(self, auth: Any, request: SentRequest) -> None:
        start = getattr(auth, "sync_auth_flow", None) or getattr(auth, "auth_flow", None)
        if start is None:
            raise TypeError(f"auth= has only async_auth_flow: {type(auth).__name__} needs an AsyncClient")
        self._flow: Flow = start(request)

    def next(self, response: Optional[Response]) -> Any:
        """Passes a response to the flow, and returns its next request, or `FLOW_END`."""
        try:
            return next(self._flow) if response is None else self._flow.send(response)
        except StopIteration:
            return FLOW_END

    def close(self) -> None:
        """Ends the flow."""
        self._flow.close()


class AsyncFlowRun:
    """Like `FlowRun`, for an asyncio client."""

    def __init__(self, auth: Any, request: SentRequest) -> None:
        start = getattr(auth, "async_auth_flow", None)
        self._flow: AsyncFlow = Auth.async_auth_flow(auth, request) if start is None else start(request)

    async def next(self, response: Optional[Response]) -> Any:
        """Like `FlowRun.next`."""
        flow = self._flow
        try:
            return await (flow.__anext__() if response is None else flow.asend(response))
        except StopAsyncIteration:
            return FLOW_END

    async def close(self) -> None:
        """Ends the flow."""
        await self._flow.aclose()


class FlowRequest:
    """The request of a flow, and the keywords to send it with."""

    __slots__ = ("request", "_client", "_rest", "_body")

    def __init__(
        self, client: ClientRequests[Any], method: Optional[str], url: str, options: Mapping[str, Any],
        needs_body: bool = False,
    ) -> None:  # fmt: skip
        self._client = client
        known: Dict[str, Any] = {name: value for name, value in options.items() if name != "hooks"}
        if flow_of(client, options) is not None:
            known["auth"] = None
        if known.get("headers") is not None:
            known["headers"] = pairs(known["headers"], "headers")
        if known.get("params") is not None:
            known["params"] = query_pairs(known["params"])
        if known.get("files"):
            known["files"] = _resolved(known["files"])
        elif needs_body:
            _read_body(known)
        self._body = {name: known[name] for name in BODIES if known.get(name) is not None}
        #: The request, including the client's headers and parameters.
        self.request = self._first_request(method, url, known)
        if needs_body and self.request._is_streamed:
            raise ArgumentError(
                "Could not authenticate the request: the flow needs the body, which is a form with files. "
                "Encode the form, and pass it as content=.", "bad_argument",
            )  # fmt: skip
        applied = {
            *BODIES, COMPLETE, "headers", "params", "parameters", "base", "ignore_base", "default_parameters",
        }  # fmt: skip
        if not isinstance(known.get("cookies"), bool):
            applied.add("cookies")
        self._rest = {name: value for name, value in known.items() if name not in applied}

    def _first_request(self, method: Optional[str], url: str, known: Mapping[str, Any]) -> SentRequest:
        client = self._client
        shape = {name: value for name, value in known.items() if name in SHAPE_KEYWORDS or name in BODIES}
        files = shape.pop("files", None)
        draft = client._draft(method, url, shape)
        try:
            if files:
                draft.record_body("", None)
                method = method or "POST"
            if method is None and draft.arguments is not None and draft.arguments.kind is not None:
                method = "POST"
            absolute = copy_text(lib.wherry_client_copy_url, client._live(), draft.handle)
            assert draft.arguments is not None
            request = draft.arguments.at(absolute)
        finally:
            draft.free()
        if method is not None:
            request.method = method.upper()
        return request

    def for_send(self, options: Mapping[str, Any]) -> SentRequest:
        """Returns the request with the other keywords, for `Client.send`."""
        others = {name: value for name, value in self._rest.items() if name != "auth"}
        if options.get("hooks") is not None:
            others["hooks"] = options["hooks"]
        self.request._options = others
        return self.request

    def keywords(self, request: SentRequest) -> Dict[str, Any]:
        """Returns the keyword arguments that send a request yielded by the flow."""
        if not isinstance(request, SentRequest):
            raise TypeError(f"an auth flow must yield the request, not {type(request).__name__}")
        request._left_out = tuple(name.lower() for name in self._client.headers if name not in request.headers)
        rest = self._rest
        if request._is_streamed and request.content is None:
            rest = {**rest, **self._body}
        else:
            request._is_streamed = False
        return {**keywords_to_send(self._client, request, rest), "auth": None}


#: The keywords that affect the URL and headers of a request.
SHAPE_KEYWORDS = frozenset(
    ("params", "parameters", "base", "ignore_base", "array_style", "member_style", "bool_style",
     "default_parameters", "headers", "cookies", "auth", COMPLETE)
)  # fmt: skip


def _resolved(files: Any) -> Any:
    """Reads the file objects in ``files=`` into memory, so that they can be sent more than once."""
    from .files import parts

    found = parts((field, item) for field, item in pairs(files, "files"))
    return [(field, (name, content, kind, headers)) for field, name, content, kind, headers in found]


def _read_body(options: Dict[str, Any]) -> None:
    """Reads a streamed body into memory."""
    from .body import Source, as_bytes
    from .files import body_of
    from ..forms import is_form

    name = next((name for name in ("content", "data") if options.get(name) is not None), None)
    if name is None or name == "data" and is_form(options[name]):
        return
    body = body_of(options[name])
    if isinstance(body, str):
        with open(body, "rb") as file:
            body = file.read()
    elif isinstance(body, Source):
        if body.asynchronous:
            raise ArgumentError(
                "Could not authenticate the request: the flow needs the body, which is asynchronous. "
                "Read the body first.", "bad_argument",
            )  # fmt: skip
        body = b"".join(as_bytes(piece) for piece in body._pieces)
    options[name] = body


def first_step(
    client: ClientRequests[Any], method: Optional[str], url: str, options: Mapping[str, Any]
) -> Tuple[Optional[str], str, Mapping[str, Any]]:
    """Returns the method, URL, and options after the first step of the auth flow.

    Used for downloads and group members, which cannot return a response to the flow.
    """
    auth = flow_of(client, options)
    if auth is None:
        return method, url, options
    built = FlowRequest(client, method, url, options, getattr(auth, "requires_request_body", False))
    flow = FlowRun(auth, built.request)
    try:
        request = flow.next(None)
        keywords = built.keywords(request)
        return request.method, request.url, keywords
    finally:
        flow.close()


def refuse_hooks(options: Mapping[str, Any], what: str) -> None:
    """Raises an error if the request has hooks, which would be ignored."""
    if options.get("hooks"):
        raise TypeError(f"{what} takes no hooks=. Use on_headers=, or inspect its responses.")


def refuse_flow(client: ClientRequests[Any], options: Mapping[str, Any], what: str) -> None:
    """Raises an error if the request has an auth flow or hooks, which would be ignored."""
    refuse_hooks(options, what)
    if flow_of(client, options) is not None:
        raise TypeError(f"{what} cannot use an auth flow. Use Basic, Bearer, DigestAuth, refresh_token=, or adapt=.")
