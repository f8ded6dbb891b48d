# Wherry: the hooks of a request
# SPDX-License-Identifier: Apache-2.0
"""The hooks of a transfer (see wherry.h), and the keywords that set them.

An AsyncClient also accepts coroutine functions, and runs other requests while it awaits them.
"""

from __future__ import annotations

from ..._native.memory import DETAIL, EVENT
from contextvars import ContextVar

from ..._errors import brief, without_query
from ..._native import codes
from ..._native.library import lib
from ..calls import check, error_at, last_error
from ..credentials import Bearer, hook_credentials
from ..request.editable import Request, resolve_adapt, resolve_redirect
from ..values import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Awaitable, Callable, Dict, Mapping, Optional, Tuple

    from ..._native.memory import Record
    from .draft import Draft
    from .events import Exchange

#: The keyword of each hook.
KEYWORDS: Dict[int, str] = {
    codes.HOOK_ADAPT: "adapt",
    codes.HOOK_REDIRECT: "on_redirect",
    codes.HOOK_CREDENTIALS: "on_credentials",
    codes.HOOK_RETRY: "on_retry",
    codes.HOOK_HEADERS: "on_headers",
    codes.HOOK_STORE: "store",
    codes.HOOK_TOKEN: "refresh_token",
    codes.HOOK_RESPOND: "transport",
}

#: The clients that refresh a token in this thread or task. The requests they send for this purpose
#: must not wait for that token.
refreshing: ContextVar[Tuple[object, ...]] = ContextVar("wherry_refreshing", default=())


class HookCall:
    """One call of a hook. The caller owns the event."""

    __slots__ = ("_draft", "_kind", "_event", "_retries", "_request", "_url")

    def __init__(self, draft: Draft, record: Record, retries: int) -> None:
        self._draft = draft
        self._kind = record[DETAIL]
        self._event = record[EVENT]
        #: The number of earlier failed attempts.
        self._retries = retries
        #: The request passed to an ``adapt=`` or ``on_redirect=`` hook.
        self._request: Optional[Request] = None
        #: The URL of that request before the hook edits it.
        self._url = ""

    @property
    def keyword(self) -> str:
        """The keyword of the hook."""
        return KEYWORDS[self._kind]

    @property
    def is_success(self) -> bool:
        """Whether the hook is for a response that is not a failure.

        Such a response has a status below 400, and the request sets no range of accepted statuses.
        """
        if self._kind != codes.HOOK_RETRY or self._draft.accepted_range is not None:
            return False
        reason = lib.wherry_error_reason(lib.wherry_event_error(self._event))
        code = lib.wherry_response_http_code(lib.wherry_event_response(self._event))
        return bool(reason == b"http_status" and code < 400)

    def run(self, start: Optional[Callable[[Awaitable[Any]], Any]] = None) -> Any:
        """Calls the hook and returns its result. An awaitable result is passed to `start`."""
        from ..response.native import fill_from_native, request_from_native

        draft, function = self._draft, self._draft.functions[self._kind]
        borrowed = lib.wherry_event_response(self._event)
        if self._kind == codes.HOOK_RESPOND:
            found = function(request_from_native(borrowed))
            return start(found) if start is not None and hasattr(found, "__await__") else found
        response = fill_from_native(draft.new_response(), borrowed) if borrowed else None
        arguments: Tuple[Any, ...] = (response,)
        if self._kind == codes.HOOK_CREDENTIALS:
            realm = lib.wherry_event_text(self._event) or b""
            arguments = response, realm.decode("utf-8", "replace")
        elif self._kind == codes.HOOK_RETRY:
            error = error_at(lib.wherry_event_error(self._event))
            error.context = draft.context
            if response is not None:
                error.response = response
                error.http_status = error.http_status or response.status_code
            arguments = error, self._retries
        elif self._kind in (codes.HOOK_ADAPT, codes.HOOK_REDIRECT):
            self._request = Request._borrowed(lib.wherry_event_request(self._event), draft.context)
            self._url = self._request.url
            follows = self._kind == codes.HOOK_REDIRECT
            arguments = (response, self._request) if follows else (self._request,)
        token_clients = (draft.client,) if self._kind == codes.HOOK_TOKEN else ()
        before = refreshing.set((*refreshing.get(), *token_clients))
        try:
            found = function(*arguments)
            return start(found) if start is not None and hasattr(found, "__await__") else found
        finally:
            refreshing.reset(before)

    def resolve(self, result: Any) -> None:
        """Passes the result of the hook to the library.

        Raises an error for an invalid result. A result after the timeout is ignored.
        """
        if hasattr(result, "__await__"):
            if hasattr(result, "close"):
                result.close()
            url = without_query(self._draft.url)
            raise TypeError(f"{self.keyword}= is a coroutine function, so {url} needs an AsyncClient")
        if self._request is not None:
            is_adapt = self._kind == codes.HOOK_ADAPT
            resolver = resolve_adapt if is_adapt else resolve_redirect
            if self._draft.arguments is not None and result is not False:
                self._draft.arguments.record_edits(self._url, self._request)
            status = resolver(self._event, result, self._request)
            self._request._end()
        else:
            status = RESOLVERS[self._kind](self._event, result)
        if status:
            error = last_error(status)
            if error.reason != "hook_expired":
                raise error
        elif self._kind == codes.HOOK_TOKEN and result is not None:
            self._draft.client._has_token(_token(result))

    def report(self, error: BaseException) -> bool:
        """Reports a failed attempt, which may be retried, if a transport raised the error."""
        if self._kind != codes.HOOK_RESPOND:
            return False
        from .replies import Failure
        from .replies import report_failure

        if not report_failure(self._event, error):
            return False
        self._draft.transport_error = None if isinstance(error, Failure) else error
        return True

    def refuse(self) -> None:
        """Ends the transfer, because the hook raised an exception or returned an invalid result."""
        if self._request is not None:
            self._request._end()
        lib.wherry_event_resolve_refuse(self._event, f"{self.keyword}= failed".encode())


def run_hook(exchange: Exchange, record: Record) -> None:
    """Runs a hook of a blocking client."""
    call = exchange.hook_call(record)
    if call is None:
        return
    try:
        call.resolve(call.run())
    except BaseException as error:
        if not call.report(error):
            call.refuse()
            raise


def _resolve_headers(event: int, result: Any) -> int:
    """Passes the result of ``on_headers=``: None and True continue, False ends the request.

    A path saves the body to that file.
    """
    from ..values import path_text  # Avoids an import cycle.

    status: int
    if result is None or isinstance(result, bool):
        status = lib.wherry_event_resolve_headers(event, result is not False)
        return status
    if not isinstance(result, (str, bytes)) and not hasattr(result, "__fspath__"):
        kind = type(result).__name__
        raise TypeError(f"on_headers= must return None, True, False or a path, not {kind}")
    status = lib.wherry_event_resolve_save(event, path_text(result))
    return status


def _resolve_credentials(event: int, result: Any) -> int:
    found = hook_credentials(result)
    user = None if found is None else text(found.username)
    password = None if found is None else text(found.password)
    status: int = lib.wherry_event_resolve_credentials(event, user, password)
    return status


def _resolve_store(event: int, result: Any) -> int:
    """Passes the result of ``store=``: whether to store the response, or the headers to omit.

    The HTTP cache does not store a response without a header that reuse requires: Age,
    Cache-Control, Content-Encoding, Content-Type and similar headers, Date, ETag, Expires,
    Last-Modified, Location, and Vary.
    """
    names = None
    if not isinstance(result, bool):
        if not isinstance(result, (list, tuple, set, frozenset)) or not all(isinstance(name, str) for name in result):
            kind = type(result).__name__
            raise TypeError(f"store= must return True, False or a list of header names, not {kind}")
        names = text(", ".join(result), "bad_header")
    status: int = lib.wherry_event_resolve_store(event, result is not False, names)
    return status


def _resolve_retry(event: int, result: Any) -> int:
    """Passes the result of ``on_retry=``. None applies the retry rules, False gives up, and True or
    a number of seconds retries.
    """
    if result is None:
        return codes.OK  # Freeing the event without a result has the same effect.
    delay = -1
    if not isinstance(result, bool):
        if not isinstance(result, (int, float)):
            kind = type(result).__name__
            raise TypeError(f"on_retry= must return None, True, False or seconds, not {kind}")
        if not 0 <= result < 1e12:
            raise ValueError(f"on_retry= must return 0 or more and below 1e12 seconds, not {brief(result)}")
        delay = round(result * 1000)
    status: int = lib.wherry_event_resolve_retry(event, result is not False, delay)
    return status


def _resolve_token(event: int, result: Any) -> int:
    token = None if result is None else text(_token(result), "bad_header")
    status: int = lib.wherry_event_resolve_token(event, token)
    return status


def _resolve_response(event: int, result: Any) -> int:
    from .replies import send_response

    return send_response(event, result)


def _token(result: Any) -> str:
    token = result.token if isinstance(result, Bearer) else result
    if not isinstance(token, str):
        kind = type(result).__name__
        raise TypeError(f"refresh_token= must return a token or None, not {kind}")
    return token


RESOLVERS: Dict[int, Callable[[int, Any], int]] = {
    codes.HOOK_CREDENTIALS: _resolve_credentials,
    codes.HOOK_RETRY: _resolve_retry,
    codes.HOOK_HEADERS: _resolve_headers,
    codes.HOOK_STORE: _resolve_store,
    codes.HOOK_TOKEN: _resolve_token,
    codes.HOOK_RESPOND: _resolve_response,
}


def refuse_functions(options: Mapping[str, Any], what: str) -> None:
    """Raises TypeError for hooks that an operation does not support."""
    for name in (*KEYWORDS.values(), "hooks"):
        if options.get(name) is not None:
            raise TypeError(f"{what} does not support hooks such as {brief(name)}")


def set_function(draft: Draft, kind: int, function: Any) -> None:
    """Sets a hook of a request."""
    if not callable(function):
        found = type(function).__name__
        raise TypeError(f"{KEYWORDS[kind]}= takes a function, not {found}")
    draft.functions[kind] = function
    kinds = sum(each for each in draft.functions if each != codes.HOOK_RESPOND)
    check(lib.wherry_request_set_hooks(draft.handle, kinds))
