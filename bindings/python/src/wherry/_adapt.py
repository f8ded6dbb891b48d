# Wherry: a request that is edited before it is sent
# SPDX-License-Identifier: Apache-2.0
"""`Request` is what functions of `adapt=` and `on_redirect=` are given."""

from __future__ import annotations

from ._bridge import Cell, bytes_at, check, lib, text, text_at
from ._errors import StateError, shown
from ._headers import ClientHeaders
from ._options import json_bytes, word
from ._query import add_query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

    from ._keywords import Pairs


class RequestHeaders(ClientHeaders):
    """The headers of a request that is about to be sent, to be edited in place. Names ignore case.

    They include the headers of the client. ``headers[name] = value`` replaces the client's header for
    this request, and ``del headers[name]`` leaves it out. ``del`` never raises KeyError, because the client
    may add a header later, such as ``Authorization``.
    """

    __slots__ = ()

    def __delitem__(self, name: str) -> None:
        self._set(name, None)
        self._fields.pop(name.lower(), None)

    def __setitem__(self, name: str, value: Optional[str]) -> None:
        if value is None:
            del self[name]
        else:
            super().__setitem__(name, value)

    def __repr__(self) -> str:
        return f"RequestHeaders({sorted(self._fields)!r})"


class Request:
    """A request about to be sent. Functions of ``adapt=`` and ``on_redirect=`` read it and edit it in
    place.

    ``adapt=`` receives the request that will be sent, so that it can sign it. `url` is absolute and
    contains the whole query, `headers` include those of the client and the ``Content-Type`` of the body,
    `parameters` include the client's default parameters, and `content` is the body. The client adds its
    own ``Authorization`` and ``Cookie`` later, because they must not reach another origin, and
    ``Content-Digest``, ``Content-Encoding``, ``Accept``, ``Accept-Encoding``, and ``User-Agent``. Each
    attempt starts without the edits of earlier attempts.

    After the function has returned, reading and editing raise StateError. Programs do not create
    requests: they call `Client.request` and its kind.
    """

    __slots__ = ("_handle", "_context")

    _handle: int
    _context: Any

    def __init__(self, *_: object) -> None:
        raise TypeError("Request is given to adapt= and on_redirect=: client.request() sends a new one")

    @classmethod
    def _lent(cls, handle: int, context: Any) -> Request:
        """The request of a question, until `_end`."""
        request = cls.__new__(cls)
        request._handle = handle
        request._context = context
        return request

    @property
    def method(self) -> str:
        """Such as "GET"; after a redirect that of the request that follows."""
        return (lib.wherry_request_method(self._live()) or b"").decode()

    @method.setter
    def method(self, value: str) -> None:
        check(lib.wherry_request_set_method(self._live(), text(value.upper(), "bad_method")))

    @property
    def url(self) -> str:
        """The absolute URL with the whole query. A new URL is complete: the client's base, `params`, and
        `parameters` are not added to it, only what you add afterwards."""
        return (lib.wherry_request_url(self._live()) or b"").decode("utf-8", "replace")

    @url.setter
    def url(self, value: str) -> None:
        check(lib.wherry_request_set_url(self._live(), text(value, "bad_url")))

    @property
    def headers(self) -> RequestHeaders:
        """The headers, with names that ignore case: ``request.headers["X-Signature"] = "..."``. They
        include those of the client; deleting one leaves it out of this request."""
        handle = self._live()
        found: Dict[str, Tuple[str, List[str]]] = {}
        for name, value in _pairs(lib.wherry_request_header_at, handle):
            if value is not None:
                found.setdefault(name.lower(), (name, []))[1].append(value)
        return RequestHeaders(found, self._set_header, self._add_header)

    @property
    def params(self) -> List[Tuple[str, str]]:
        """The pairs of ``params=``, in order, unescaped. `url` contains them too."""
        return [(name, value or "") for name, value in _pairs(lib.wherry_request_query_at, self._live())]

    def add_params(self, params: Union[Pairs, str]) -> None:
        """Adds to the query, as the keyword ``params=`` does."""
        add_query(self._live(), params)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """A copy of the parameters, with the client's default parameters. They are in `url` with GET,
        HEAD, and DELETE and beside a body that you gave; else they are the body, or fields of it."""
        import json

        found: Dict[str, Any] = json.loads(
            lib.wherry_request_parameters(self._live(), None) or b"{}")
        return found

    def set_parameter(self, name: str, value: Any) -> None:
        """Sets one of them, to anything that JSON has; None removes it."""
        if value is None:
            sent = text(name, "bad_parameters")
            check(lib.wherry_request_set_parameter(self._live(), sent, None))
            return
        body = json_bytes({word(name): value})
        check(lib.wherry_request_set_parameters_json(self._live(), body, len(body)))

    @property
    def content(self) -> Optional[bytes]:
        """The bytes of a body in memory: bytes, text, JSON, or a form. None without a body, and for files,
        iterators, and parts. Bytes or text replace any body but one that is written while it is sent."""
        count = Cell()
        place = lib.wherry_request_body(self._live(), count.address)
        size = count.take()
        return bytes_at(place, size) if place else None

    @content.setter
    def content(self, value: Union[bytes, str]) -> None:
        if not isinstance(value, (bytes, str)):
            raise TypeError(f"content of a request is bytes or str, not {type(value).__name__}")
        sent = value if isinstance(value, bytes) else value.encode()
        check(lib.wherry_request_set_body(self._live(), sent, len(sent), None))

    def set_json(self, value: Any) -> None:
        """Makes it the body, as the keyword ``json=`` does."""
        body = json_bytes(value)
        check(lib.wherry_request_set_json(self._live(), body, len(body)))

    @property
    def context(self) -> Any:
        """What the keyword ``context=`` has given."""
        return self._context

    def _all_fields(self) -> List[Tuple[str, Optional[str]]]:
        """Its own fields; None for those of the client that it leaves out."""
        return _pairs(lib.wherry_request_header_at, self._live())

    def _set_header(self, name: str, value: Optional[str]) -> None:
        sent = None if value is None else text(value, "bad_header")
        check(lib.wherry_request_set_header(self._live(), text(name, "bad_header"), sent))

    def _add_header(self, name: str, value: str) -> None:
        sent = text(name, "bad_header"), text(value, "bad_header")
        check(lib.wherry_request_add_header(self._live(), *sent))

    def _live(self) -> int:
        if not self._handle:
            raise StateError("this request has been sent: edit it where it is given", "wrong_state")
        return self._handle

    def _end(self) -> None:
        """It goes on its way."""
        self._handle = 0

    def __repr__(self) -> str:
        if not self._handle:
            return "<Request, sent>"
        return f"<Request {self.method} {shown(self.url)}>"


def adapted(event: int, found: Any, request: Request) -> int:
    """Sends the request as the function has left it."""
    if found is not None and found is not request:
        kind = type(found).__name__
        raise TypeError(f"adapt= returns None or the request that it was given, not {kind}")
    status: int = lib.wherry_event_answer_adapt(event, True)
    return status


def redirected(event: int, found: Any, request: Request) -> int:
    """Follows the redirect with the request as the function has left it; False: it is the answer."""
    if found is not None and found is not request and not isinstance(found, bool):
        kind = type(found).__name__
        raise TypeError(f"on_redirect= returns None, True, False or its request, not {kind}")
    status: int = lib.wherry_event_answer_redirect(event, found is not False)
    return status


def _pairs(function: Any, handle: int) -> List[Tuple[str, Optional[str]]]:
    found: List[Tuple[str, Optional[str]]] = []
    name, value = Cell(), Cell()
    while function(handle, len(found), name.address, value.address):
        found.append((text_at(name.take()) or "", text_at(value.take())))
    return found


__all__ = ["Request"]
