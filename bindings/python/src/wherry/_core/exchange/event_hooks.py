# Wherry: event hooks and auth flows around a request
# SPDX-License-Identifier: Apache-2.0
"""Event hooks, and auth flows, which may send several requests."""

from __future__ import annotations

from ..._errors import brief
from ..request.auth_flow import FLOW_END, AsyncFlowRun, FlowRequest, FlowRun, flow_of
from ..response.response import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Generator, List, Mapping, Optional

    from ..._client.requests import ClientRequests
    from ..request.editable import Request

    Hooks = Dict[str, List[Callable[..., Any]]]
    #: Sends a request: (method, url, keywords). Returns the response, or an awaitable that returns
    #: it.
    Send = Callable[[Optional[str], str, Mapping[str, Any]], Any]
    Steps = Generator[Any, Any, Response]


def hooks_by_name(hooks: Any, names: Any = ("request", "response")) -> Hooks:
    """Returns the hooks by name, each as a list of functions."""
    if hooks is None:
        hooks = {}
    if not hasattr(hooks, "items"):
        raise TypeError(f"hooks= takes a dictionary of functions, not {type(hooks).__name__}")
    found: Hooks = {name: [] for name in names}
    for name, functions in hooks.items():
        if name not in found:
            raise TypeError(f"unknown hook {brief(name)}: use {' or '.join(names)}")
        is_one = callable(functions) or not hasattr(functions, "__iter__")
        listed = [functions] if is_one else list(functions)
        if functions is None:
            listed = []
        for function in listed:
            if not callable(function):
                raise TypeError(f"hooks= takes functions for {brief(name)}, not {type(function).__name__}")
        found[name] = listed
    return found


def hook_functions(hooks: Any) -> List[Callable[..., Any]]:
    """Returns hooks as a list: a program may have assigned one function to ``client.hooks[name]``."""
    functions = [hooks] if callable(hooks) else list(hooks or ())
    for function in functions:
        if not callable(function):
            raise TypeError(f"hooks= takes functions, not {type(function).__name__}")
    return functions


def adapt_with_hooks(
    hooks: List[Callable[..., Any]], adapt: Optional[Callable[..., Any]], is_async: bool
) -> Callable[..., Any]:
    """Returns an ``adapt=`` function that calls the given one, and then the request hooks."""
    functions = hook_functions(hooks)

    def run(request: Request) -> Any:
        if adapt is not None:
            found = adapt(request)
            if hasattr(found, "__await__"):
                return finish(found, functions, request, True) if is_async else found
            if found is not None and found is not request:
                return found  # The caller rejects this result.
        for place, function in enumerate(functions):
            found = function(request)
            if hasattr(found, "__await__"):
                if not is_async:
                    raise coroutine_error(found)
                return finish(found, functions[place + 1 :], request, False)
        return None

    async def finish(waits: Any, rest: List[Callable[..., Any]], request: Request, is_adapt: bool) -> Any:
        found = await waits
        if is_adapt and found is not None and found is not request:
            return found
        for function in rest:
            found = function(request)
            if hasattr(found, "__await__"):
                await found
        return None

    return run


def coroutine_error(found: Any) -> TypeError:
    """Returns the error for a coroutine function used as a hook of a blocking client."""
    if hasattr(found, "close"):
        found.close()
    return TypeError("a hook is a coroutine function, which needs an AsyncClient")


def middleware_of(client: ClientRequests[Any], options: Mapping[str, Any]) -> Optional[Middleware]:
    """Returns the auth flow and the response hooks of a request; None if it needs neither."""
    flow = flow_of(client, options)
    own = options.get("hooks")
    functions: List[Callable[..., Any]] = []
    if own is not False:
        functions = hooks_by_name(own, ("response",))["response"] if own else []
        if not functions and client._hooks is not None:
            functions = hook_functions(client._hooks["response"])
    if flow is None and not functions and client._default_encoding is None:
        return None
    return Middleware(client, flow, functions)


class Middleware:
    """The auth flow and the response hooks of one request."""

    __slots__ = ("_client", "_flow", "_hooks")

    def __init__(self, client: ClientRequests[Any], flow: Any, hooks: List[Callable[..., Any]]) -> None:
        self._client = client
        self._flow = flow
        self._hooks = hooks

    def steps(
        self, send: Send, method: Optional[str], url: str, options: Mapping[str, Any],
        discard: Optional[Callable[[Response], Any]] = None,
    ) -> Steps:  # fmt: skip
        """Runs the auth flow and the response hooks, and returns the last response.

        A generator, as described in `wherry._waiting.running`. `send` sends one request. `discard`
        ends every stream except the last one.
        """
        response: Response = yield from self._authenticated(send, method, url, options, discard)
        if self._client._default_encoding is not None:
            response._default_encoding = self._client._default_encoding
        for hook in self._hooks:
            found = yield hook(response)
            if hasattr(found, "__await__"):
                raise coroutine_error(found)
            response = found if isinstance(found, Response) else response
        return response

    def _authenticated(
        self, send: Send, method: Optional[str], url: str, options: Mapping[str, Any],
        discard: Optional[Callable[[Response], Any]],
    ) -> Steps:  # fmt: skip
        if self._flow is None:
            response: Response = yield send(method, url, options)
            return response
        needs_body = bool(getattr(self._flow, "requires_request_body", False))
        reads = bool(getattr(self._flow, "requires_response_body", False))
        is_async = self._client._is_async
        built = FlowRequest(self._client, method, url, options, needs_body)
        flow = (AsyncFlowRun if is_async else FlowRun)(self._flow, built.request)
        before: List[Response] = []
        try:
            request = yield flow.next(None)
            while True:
                keywords = built.keywords(request)
                response = yield send(request.method, request.url, keywords)
                response._before = tuple(before)
                if reads:
                    yield response.aread() if is_async else response.read()
                request = yield flow.next(response)
                if request is FLOW_END:
                    return response
                if discard is not None:
                    yield discard(response)
                before = [*before, *response._hops, response]
        finally:
            yield flow.close()
