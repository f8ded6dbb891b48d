# Wherry: a client without a network, for tests
# SPDX-License-Identifier: Apache-2.0
"""`MockTransport` answers by rules and remembers what was asked."""

from __future__ import annotations

from ._bridge import Cell, bytes_at, check, lib, made, text, text_at
from ._errors import shown
from ._forking import Forkable
from ._headers import Headers
from ._options import json_bytes, pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Mapping, Optional, Tuple


class MockRequest:
    """A request as it would have been sent."""

    __slots__ = ("method", "url", "headers", "content")

    def __init__(self, method: str, url: str, headers: Headers, content: bytes) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.content = content

    def json(self) -> Any:
        """The body as JSON."""
        import json

        return json.loads(self.content)

    def __repr__(self) -> str:
        return f"<MockRequest {self.method} {shown(self.url)}>"


class MockTransport(Forkable):
    """Give it to a client as ``transport=``; no rule for a request is a NetworkError.

    The oldest rule that fits answers first, each as often as its ``times`` says (-1: always).
    """

    def __init__(self) -> None:
        self._handle = made(lib.wherry_stub_new)
        #: The rules, for a forked child.
        self._rules: List[Tuple[Any, Tuple[Any, ...]]] = []
        self._survive_forks()

    def _rebuild(self, noted: Any) -> None:
        self._handle = made(lib.wherry_stub_new)
        for function, arguments in self._rules:
            check(function(self._handle, *arguments))

    def _rule(self, function: Any, *arguments: Any) -> None:
        check(function(self._handle, *arguments))
        self._rules.append((function, arguments))

    def add(
        self,
        method: Optional[str],
        url: str,
        status: int = 200,
        *,
        headers: Optional[Mapping[str, str]] = None,
        content: bytes = b"",
        text: Optional[str] = None,
        json: Any = None,
        times: int = -1,
        delay: Optional[float] = None,
    ) -> None:
        """Answers requests of that method (None: any) and URL ("*" at its end: any rest)."""
        fields = [(name, str(value)) for name, value in pairs(headers or {})]
        named = {name.lower() for name, _ in fields}
        kind = None
        if json is not None:
            content, kind = json_bytes(json), "application/json"
        elif text is not None:
            content, kind = text.encode(), "text/plain; charset=utf-8"
        if kind is not None and "content-type" not in named:
            fields.append(("Content-Type", kind))
        head = "".join(f"{name}: {value}\n" for name, value in fields)
        self._rule(
            lib.wherry_stub_add_answer, _word(method), _word(url), times, status,
            _word(head) if head else None, content, len(content),
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
        """Fails such requests with a reason of docs/errors.md, after so many bytes."""
        self._rule(
            lib.wherry_stub_add_failure, _word(method), _word(url), times, _word(reason), after_bytes
        )
        self._delay(delay)

    def advance(self, seconds: float) -> None:
        """Moves the clock; from the first call on, time moves only so for clients with this."""
        check(lib.wherry_stub_advance_ms(self._handle, round(seconds * 1000)))

    @property
    def requests(self) -> List[MockRequest]:
        """What was asked, in order."""
        count = lib.wherry_stub_request_count(self._handle)
        return [self._request(index) for index in range(count)]

    def close(self) -> None:
        """Frees it; clients that have it keep it alive."""
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
                pass  # At the interpreter's end the library may be half gone.

    def _delay(self, seconds: Optional[float]) -> None:
        if seconds is not None:
            self._rule(lib.wherry_stub_set_delay_ms, round(seconds * 1000))

    def _request(self, index: int) -> MockRequest:
        echo = made(lib.wherry_stub_copy_request, self._handle, index)
        try:
            fields: List[Tuple[str, str]] = []
            name, value = Cell(), Cell()
            while lib.wherry_response_header_at(echo, len(fields), name.address, value.address):
                fields.append((text_at(name.take()) or "", text_at(value.take()) or ""))
            count = Cell()
            body = lib.wherry_response_body(echo, count.address)
            content = bytes_at(body, count.take()) if body else b""
            url = (lib.wherry_response_url(echo) or b"").decode("utf-8", "replace")
            method = [v for n, v in fields if n == ":method"]
            headers = Headers([(n, v) for n, v in fields if not n.startswith(":")])
            return MockRequest(method[0] if method else "", url, headers, content)
        finally:
            lib.wherry_response_free(echo)


def _word(value: Optional[str]) -> Optional[bytes]:
    return None if value is None else text(value)
