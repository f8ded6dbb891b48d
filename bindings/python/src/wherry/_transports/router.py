# Wherry: selection of transports by URL
# SPDX-License-Identifier: Apache-2.0
"""The transports of one client: ``transport=`` and ``mounts=``."""

from __future__ import annotations

from .._core.calls import check, create
from .._core.request.sent import SentRequest
from .._core.response.response import Response
from .._core.values import text
from .._errors import ArgumentError, InternalError, brief, without_query
from .._native.library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, List, Mapping, Optional, Tuple, Union

    from .._client.base import BaseClient

    #: An object with ``handle_request`` or ``handle_async_request``.
    Transport = Any


class Pattern:
    """A key of ``mounts=``, with the rules of httpx.

    Examples are "https://", "all://*.example.org", and "http://h:8080".
    """

    __slots__ = ("scheme", "host", "port")

    def __init__(self, key: str) -> None:
        if not isinstance(key, str):
            raise TypeError(f"the keys of mounts= must be str, not {type(key).__name__}")
        scheme, mark, place = key.partition("://")
        place = place.rstrip("/")
        host, colon, port = place.rpartition(":") if place.rpartition(":")[2].isdigit() else (place, "", "")
        known = scheme.lower() in ("all", "http", "https")
        if not mark or not known or any(c in place for c in "/?#@ ") or "*" in host.lstrip("*") or "**" in host:
            raise ArgumentError(
                f"Could not mount a transport: {brief(key)} is not a pattern. Use one such as 'https://', "
                "'all://*.example.org', or 'http://example.org:8080'.", "bad_value",
            )  # fmt: skip
        self.scheme = "" if scheme.lower() == "all" else scheme.lower()
        self.host = "" if host == "*" else host.lower()
        if not self.host.isascii():
            self.host = self.host.encode("idna").decode()
        self.port = int(port) if port else None

    @property
    def rank(self) -> Tuple[int, int, int]:
        """A sort key that puts the most specific pattern first: with a port, then by host length,
        then with a scheme."""
        return 0 if self.port is not None else 1, -len(self.host), -len(self.scheme)

    def matches(self, url: str) -> bool:
        """Returns whether the pattern matches an absolute URL."""
        from urllib.parse import urlsplit

        parts = urlsplit(url)
        host, scheme = (parts.hostname or "").lower(), parts.scheme.lower()
        if self.scheme and self.scheme != scheme:
            return False
        usual = {"http": 80, "https": 443}.get(scheme) if self.host else None
        if self.port is not None and self.port != (parts.port or usual):
            return False
        if self.host.startswith("*."):
            return host.endswith(self.host[1:]) and len(host) >= len(self.host)
        if self.host.startswith("*"):
            return host == self.host[1:] or host.endswith("." + self.host[1:])
        return not self.host or host == self.host.strip("[]")

    def globs(self) -> Iterator[str]:
        """Yields the pattern as rules of the library: "*" is any text within the host, or within the rest of
        the URL."""
        hosts = [self.host or "*"]
        if self.host.startswith("*") and not self.host.startswith("*."):
            hosts = [self.host[1:], "*." + self.host[1:]]
        for scheme in (self.scheme,) if self.scheme else ("http", "https"):
            for host in hosts:
                if self.port is not None:
                    yield f"{scheme}://{host}:{self.port}/*"
                elif self.host:
                    yield f"{scheme}://{host}:*/*"
                if self.port is None or self.host and self.port == {"http": 80, "https": 443}[scheme]:
                    yield f"{scheme}://{host}/*"


class Router:
    """The transports of one client, selected by URL."""

    def __init__(self, transport: Transport, mounts: Optional[Mapping[str, Transport]], is_async: bool) -> None:
        self._is_async = is_async
        self._default = transport
        #: The transports that were entered, and are therefore exited instead of closed.
        self._entered: List[Transport] = []
        found = [(Pattern(key), value) for key, value in (mounts or {}).items()]
        self._mounts = sorted(found, key=lambda pair: pair[0].rank)
        for each in self.transports():
            refuse_transport(each, is_async)

    def transports(self) -> List[Transport]:
        """Returns all transports, without duplicates."""
        found: List[Transport] = []
        for each in (self._default, *(value for _, value in self._mounts)):
            if each is not None and not any(each is other for other in found):
                found.append(each)
        return found

    def attach(self, config: int) -> None:
        """Makes the library ask the transports for the responses to their URLs."""
        stub = create(lib.wherry_stub_new)
        try:
            for pattern, transport in self._mounts:
                add = lib.wherry_stub_add_network if transport is None else lib.wherry_stub_add_hook
                for glob in pattern.globs():
                    check(add(stub, None, text(glob), -1))
            add = lib.wherry_stub_add_network if self._default is None else lib.wherry_stub_add_hook
            check(add(stub, None, b"*", -1))
            check(lib.wherry_config_set_stub(config, stub))
        finally:
            lib.wherry_stub_free(stub)  # The client keeps a reference.

    def respond(self, request: SentRequest) -> Any:
        """Returns the response to a request, or a coroutine for it."""
        transport = self._default
        for pattern, mounted in self._mounts:
            if pattern.matches(request.url):
                transport = mounted
                break
        if transport is None:  # The library and `Pattern` parsed the URL differently.
            url = without_query(request.url)
            raise InternalError(f"No transport is mounted for {url}. Add one to mounts=.", "internal")
        return respond(transport, request, self._is_async)

    def enter(self) -> None:
        """Enters the transports of a blocking client that is used in a ``with`` statement."""
        for each in self._to_enter("__enter__", "__exit__"):
            each.__enter__()
            self._entered.append(each)

    async def aenter(self) -> None:
        """Like `enter`, for an `AsyncClient`."""
        for each in self._to_enter("__aenter__", "__aexit__"):
            await each.__aenter__()
            self._entered.append(each)

    def _to_enter(self, *names: str) -> List[Transport]:
        """Returns the transports that have these methods.

        Mocks are excluded: the program closes them.
        """
        return [
            each for each in self.transports()
            if not _is_mock(each) and all(hasattr(each, name) for name in names)
        ]  # fmt: skip

    def close(self) -> None:
        """Closes the transports of a blocking client."""
        for each in self.transports():
            if each in self._entered:
                self._entered.remove(each)
                each.__exit__(None, None, None)
            elif not _is_mock(each) and hasattr(each, "close"):
                each.close()

    async def aclose(self) -> None:
        """Closes the transports of an `AsyncClient`."""
        for each in self.transports():
            if _is_mock(each):
                continue
            if each in self._entered:
                self._entered.remove(each)
                await each.__aexit__(None, None, None)
            elif hasattr(each, "aclose"):
                await each.aclose()
            elif hasattr(each, "close"):
                each.close()


class MockRouter:
    """The function of a `MockTransport` that is the only transport of a client."""

    def __init__(self, transport: Any, is_async: bool) -> None:
        self._transport = transport
        self._is_async = is_async

    def respond(self, request: SentRequest) -> Any:
        """Like `Router.respond`."""
        return respond(self._transport, request, self._is_async)

    def enter(self) -> None:
        """Does nothing: the program closes a mock itself, after it has checked the requests."""

    async def aenter(self) -> None:
        """Does nothing, like `enter`."""

    def close(self) -> None:
        """Does nothing, like `enter`."""

    async def aclose(self) -> None:
        """Does nothing, like `enter`."""


def attach_transports(client: BaseClient[Any], config: int) -> Union[Router, MockRouter, None]:
    """Attaches a client's transports to its configuration. Returns None if no router is needed."""
    from .mock import MockTransport

    transport = client._transport
    if isinstance(transport, MockTransport) and not client._mounts:
        check(lib.wherry_config_set_stub(config, transport._handle))
        return None if transport._handler is None else MockRouter(transport, client._is_async)
    router = Router(transport, client._mounts, client._is_async)
    router.attach(config)
    return router


def _is_mock(transport: Transport) -> bool:
    """Returns whether the program closes the transport, after its clients, to check the requests."""
    from .mock import MockTransport

    return isinstance(transport, MockTransport)


def refuse_transport(transport: Transport, is_async: bool) -> None:
    """Raises TypeError for an object that is not a transport of this kind of client."""
    if isinstance(transport, type):
        name = transport.__name__
        raise TypeError(
            f"transport= takes an object with handle_request(request), not the class {name}. Call it first."
        )
    if hasattr(transport, "handle_request") or is_async and hasattr(transport, "handle_async_request"):
        return
    kind = type(transport).__name__
    if hasattr(transport, "handle_async_request"):
        raise TypeError(f"transport= of a Client needs handle_request(request): {kind} is for an AsyncClient")
    raise TypeError(f"transport= takes an object with handle_request(request), not {kind}")


def respond(transport: Transport, request: SentRequest, is_async: bool) -> Any:
    """Returns the response of a transport, or a coroutine for it."""
    if is_async and hasattr(transport, "handle_async_request"):
        return _complete(transport.handle_async_request(request))
    found = transport.handle_request(request)
    if is_async and (hasattr(found, "__await__") or _has_async_pieces(found)):
        return _complete(found)
    return found


def _has_async_pieces(response: Any) -> bool:
    return isinstance(response, Response) and hasattr(response._pieces, "__aiter__")


async def _complete(waits: Any) -> Any:
    response = await waits if hasattr(waits, "__await__") else waits
    if isinstance(response, Response):
        await response.aread()
    return response
