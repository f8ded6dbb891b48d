# Wherry: a client without a network, for tests
# SPDX-License-Identifier: Apache-2.0
"""`MockTransport`, which responds by rules or by a function, and records the requests."""

from __future__ import annotations

from .._core.calls import check, create
from .._core.exchange.replies import Failure
from .._core.forms import pairs
from .._core.request.sent import SentRequest
from .._core.response.native import request_parts
from .._core.response.response import Response
from .._core.values import keyword_int, milliseconds, text, whole
from .._errors import ArgumentError, Keyword, NetworkError, without_query
from .._native.forking import Forkable
from .._native.library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, List, Mapping, Optional, Tuple, Union


class MockRequest(SentRequest):
    """A request that a `MockTransport` received instead of a server."""

    __slots__ = ()

    if TYPE_CHECKING:
        content: bytes


class MockTransport(Forkable):
    """Responds to requests without a network.

    Pass it to a client as ``transport=``, or in ``mounts=``.

    ::

        def handle(request):
            return wherry.Response(200, json={"path": request.url})

        client = wherry.Client(transport=wherry.MockTransport(handle))

    The rules of `add` and `fail` are checked first. The oldest matching rule responds, at most
    ``times`` times (-1: no limit). If no rule matches, the function is called with a `SentRequest`,
    which has the final URL, headers, and body. Without a function, the request raises a
    NetworkError.

    With an `AsyncClient`, the function may be a coroutine function. It runs on the thread, or in
    the event loop, that waits for the response. Its exceptions reach the caller of the request.
    """

    def __init__(self, handler: Optional[Callable[[SentRequest], Any]] = None) -> None:
        if handler is not None and not callable(handler):
            raise TypeError(f"MockTransport takes a function, not {type(handler).__name__}")
        self._handler = handler
        self._handle = create(lib.wherry_stub_new)
        #: The native rules, which a forked child adds again.
        self._native_rules: List[Tuple[Any, Tuple[Any, ...]]] = []
        #: The rules that Python matches: with a function, or in ``mounts=``.
        self._rules: List[_Rule] = []
        #: The requests that Python matched; the library records the others.
        self._matched: List[MockRequest] = []
        if handler is not None:
            self._rule(lib.wherry_stub_add_hook, None, b"*", -1)
        self._survive_forks()

    def _rebuild(self, saved: Any) -> None:
        self._handle = create(lib.wherry_stub_new)
        for function, arguments in self._native_rules:
            check(function(self._handle, *arguments))

    def _rule(self, function: Any, *arguments: Any) -> None:
        check(function(self._handle, *arguments))
        self._native_rules.append((function, arguments))

    def add(
        self,
        method: Optional[str],
        url: str,
        status: int = 200,
        *,
        headers: Union[Mapping[str, str], Iterable[Tuple[str, str]], None] = None,
        content: bytes = b"",
        text: Optional[str] = None,
        html: Optional[str] = None,
        json: Any = None,
        times: int = -1,
        delay: Optional[float] = None,
    ) -> None:
        """Adds a response for a method (None: any) and a URL ("*" matches any text).

        ``delay`` is in seconds, on the clock that `advance` moves. ``delay`` requires a
        MockTransport without a function.
        """
        own_fields = [(name, str(value)) for name, value in pairs(headers or {}, "headers")]
        response = Response(status, headers=own_fields, content=content or None, text=text, html=html, json=json)
        times = keyword_int("times", whole, times)
        rule = _Rule(method, url, times, response, "", delay is not None)
        fields = [
            field for field in response.headers.multi_items()
            if field[0] != "Content-Length" or field in own_fields
        ]  # fmt: skip
        head = "".join(f"{name}: {value}\n" for name, value in fields)
        self._add(
            rule, lib.wherry_stub_add_response, _encoded(method, "method"), _encoded(url), times,
            response.status_code, _encoded(head) if head else None, response.content,
            len(response.content),
        )  # fmt: skip
        self._delay(delay)

    def fail(
        self,
        method: Optional[str],
        url: str,
        reason: str = "connect",
        *,
        times: int = -1,
        after_bytes: int = 0,
        delay: Optional[float] = None,
    ) -> None:
        """Adds a failure for a method (None: any) and a URL ("*" matches any text).

        ``reason`` is a reason from docs/errors.md. ``after_bytes`` and ``delay`` require a
        MockTransport without a function.
        """
        times = keyword_int("times", whole, times)
        after_bytes = keyword_int("after_bytes", whole, after_bytes)
        rule = _Rule(method, url, times, None, reason, delay is not None or after_bytes > 0)
        self._add(
            rule, lib.wherry_stub_add_failure, _encoded(method, "method"), _encoded(url), times,
            _encoded(reason, "reason"), after_bytes,
        )  # fmt: skip
        self._delay(delay)

    def advance(self, seconds: float) -> None:
        """Moves the clock forward.

        After the first call, the clock of clients with this transport advances only when you call
        this method.
        """
        check(lib.wherry_stub_advance_ms(self._handle, round(seconds * 1000)))

    @property
    def requests(self) -> List[MockRequest]:
        """The received requests, in order."""
        count = lib.wherry_stub_request_count(self._handle)
        return [*(self._request(index) for index in range(count)), *self._matched]

    def handle_request(self, request: SentRequest) -> Any:
        """Responds to a request according to the rules and the function."""
        self._matched.append(MockRequest(request.method, request.url, request.headers.multi_items(), request.content))
        for rule in self._rules:
            if rule.matches(request):
                if rule.is_timed:
                    raise timed_rule_error()
                if rule.response is None:
                    message = f"The MockTransport fails {request.method} {without_query(request.url)}"
                    raise Failure(message, rule.reason)
                return rule.response
        if self._handler is None:
            raise NetworkError(
                f"No rule of the MockTransport matches {request.method} {without_query(request.url)}", "connect"
            )
        return self._handler(request)

    def close(self) -> None:
        """Releases the transport. It is freed when no client uses it any more."""
        handle = self._take_handle()
        if handle:
            lib.wherry_stub_free(handle)

    def __enter__(self) -> MockTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._has_handle:
            try:
                self.close()
            except (TypeError, AttributeError):
                pass  # At interpreter exit, the library may be partly unloaded.

    def _add(self, rule: _Rule, function: Any, *arguments: Any) -> None:
        if self._handler is None:
            self._rule(function, *arguments)
        elif rule.is_timed:
            raise timed_rule_error()
        self._rules.append(rule)

    def _delay(self, seconds: Optional[float]) -> None:
        if seconds is not None:
            self._rule(lib.wherry_stub_set_delay_ms, milliseconds(seconds, "delay="))

    def _request(self, index: int) -> MockRequest:
        echo = create(lib.wherry_stub_copy_request, self._handle, index)
        try:
            return MockRequest(*request_parts(echo))
        finally:
            lib.wherry_response_free(echo)


class _Rule:
    """A rule that Python matches."""

    __slots__ = ("_method", "_url", "_left", "response", "reason", "is_timed")

    def __init__(
        self, method: Optional[str], url: str, times: int, response: Optional[Response], reason: str,
        is_timed: bool,
    ) -> None:  # fmt: skip
        self._method = method
        self._url = url
        self._left = times
        self.response = response
        self.reason = reason
        #: Whether the rule needs the library's clock or byte count.
        self.is_timed = is_timed

    def matches(self, request: SentRequest) -> bool:
        """Returns whether the rule matches the request. A match counts against ``times``."""
        import re

        if self._left == 0 or self._method not in (None, request.method):
            return False
        globs, parts = _parts(self._url), _parts(request.url)
        if len(globs) != len(parts):
            globs, parts = [self._url], ["".join(parts)]
        for glob, part in zip(globs, parts):
            pattern = ".*".join(re.escape(piece) for piece in glob.split("*"))
            if re.fullmatch(pattern, part, re.DOTALL) is None:
                return False
        self._left -= self._left > 0
        return True


def _parts(url: str) -> List[str]:
    """Splits a URL into scheme, host, and rest, so that "*" matches only within one of them."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    if not mark or not slash and "*" in url:
        return [url]
    return [scheme.lower() + mark, host.lower(), "/" + path]


def timed_rule_error() -> ArgumentError:
    """Returns the error for a rule that Python cannot apply."""
    return ArgumentError(
        "delay= and after_bytes= need a MockTransport without a function, as transport= of a client. "
        "Wait in the function instead.", "bad_argument",
    )  # fmt: skip


def _encoded(value: Optional[str], name: str = "url") -> Optional[bytes]:
    with Keyword(name):
        return None if value is None else text(value)
