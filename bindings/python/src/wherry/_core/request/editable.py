# Wherry: requests that are edited before they are sent
# SPDX-License-Identifier: Apache-2.0
"""`Request`: the argument of ``adapt=`` and ``on_redirect=`` functions."""

from __future__ import annotations

from ..._errors import StateError, without_query
from ..._native.library import lib
from ..._native.memory import Cell, bytes_at, raw_text_at, text_at
from ..calls import check
from ..forms import as_text, json_bytes
from ..headers import ClientHeaders
from ..query import add_query
from ..values import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

    from ..keywords import Pairs


class RequestHeaders(ClientHeaders):
    """The headers of a request before it is sent. Edit them in place; names are case-insensitive.

    They include the headers of the client. ``headers[name] = value`` replaces the client's header for
    this request, and ``del headers[name]`` omits the header. ``del`` never raises KeyError, because the
    client may add a header later, such as ``Authorization``.
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
    """A request before it is sent. ``adapt=`` and ``on_redirect=`` functions can edit it in place.

    An ``adapt=`` function receives the request that will be sent and can, for example, sign it.
    `url` is absolute and contains the complete query. `headers` include the client's headers and
    the ``Content-Type`` of the body. `parameters` include the client's default parameters, and
    `content` is the body.

    The client adds its own ``Authorization`` and ``Cookie`` later, because they must not reach another
    origin. It also adds ``Content-Digest``, ``Content-Encoding``, ``Accept``, ``Accept-Encoding``, and
    ``User-Agent`` later. Each attempt starts without the edits of earlier attempts.

    After the function has returned, reading and editing the request raise StateError. Programs do not
    create a `Request`: to send one, call `Client.request`.
    """

    __slots__ = ("_handle", "_context")

    _handle: int
    _context: Any

    def __init__(self, *_: object) -> None:
        raise TypeError(
            "Request objects are created only for adapt= and on_redirect=. Use client.request(), or "
            "client.send() with a wherry.SentRequest."
        )

    @classmethod
    def _borrowed(cls, handle: int, context: Any) -> Request:
        """The request that belongs to an event, usable until `_end`."""
        request = cls.__new__(cls)
        request._handle = handle
        request._context = context
        return request

    @property
    def method(self) -> str:
        """The method, such as "GET". In ``on_redirect=``, the method of the next request."""
        return (lib.wherry_request_method(self._live()) or b"").decode()

    @method.setter
    def method(self, value: str) -> None:
        check(lib.wherry_request_set_method(self._live(), text(value.upper(), "bad_method")))

    @property
    def url(self) -> str:
        """The absolute URL with the complete query.

        A URL that you assign is used as is: the client's base URL, `params`, and `parameters` are
        not added. Only parameters that you add afterwards are added.
        """
        return (lib.wherry_request_url(self._live()) or b"").decode("utf-8", "replace")

    @url.setter
    def url(self, value: str) -> None:
        check(lib.wherry_request_set_url(self._live(), text(value, "bad_url")))

    @property
    def headers(self) -> RequestHeaders:
        """The headers, with case-insensitive names: ``request.headers["X-Signature"] = "..."``.

        They include the client's headers. Deleting a header omits it from this request.
        """
        handle = self._live()
        found: Dict[str, Tuple[str, List[str]]] = {}
        for name, value in _pairs(lib.wherry_request_header_at, handle):
            if value is not None:
                found.setdefault(name.lower(), (name, []))[1].append(value)
        return RequestHeaders(found, self._set_header, self._add_header)

    @property
    def params(self) -> List[Tuple[str, str]]:
        """The ``params=`` pairs, in order and not percent-encoded. `url` contains them too."""
        return [(name, value or "") for name, value in _pairs(lib.wherry_request_query_at, self._live())]

    def add_params(self, params: Union[Pairs, str]) -> None:
        """Adds parameters to the query, like the ``params=`` keyword."""
        add_query(self._live(), params)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """A copy of the parameters, including the client's default parameters.

        They are part of `url` for GET, HEAD, and DELETE, and when you set a body explicitly. Otherwise they
        are the body, or fields of the body.
        """
        import json

        place = lib.wherry_request_parameters(self._live(), None)
        found: Dict[str, Any] = json.loads(raw_text_at(place) or b"{}")
        return found

    def set_parameter(self, name: str, value: Any) -> None:
        """Sets a parameter to any JSON value. None removes the parameter."""
        if value is None:
            sent = text(name, "bad_parameters")
            check(lib.wherry_request_set_parameter(self._live(), sent, None))
            return
        body = json_bytes({as_text(name): value})
        check(lib.wherry_request_set_parameters_json(self._live(), body, len(body)))

    @property
    def content(self) -> Optional[bytes]:
        """The body, if it is in memory: bytes, text, JSON, or a form.

        None without a body, and for files, iterators, and multipart bodies. Assigning bytes or str
        replaces the body, unless the body is streamed.
        """
        count = Cell()
        place = lib.wherry_request_body(self._live(), count.address)
        size = count.take()
        return bytes_at(place, size) if place else None

    @content.setter
    def content(self, value: Union[bytes, str]) -> None:
        if not isinstance(value, (bytes, str)):
            raise TypeError(f"content of a request must be bytes or str, not {type(value).__name__}")
        sent = value if isinstance(value, bytes) else value.encode()
        check(lib.wherry_request_set_body(self._live(), sent, len(sent), None))

    def set_json(self, value: Any) -> None:
        """Sets the body to a JSON value, like the ``json=`` keyword."""
        body = json_bytes(value)
        check(lib.wherry_request_set_json(self._live(), body, len(body)))

    @property
    def context(self) -> Any:
        """The value of the ``context=`` keyword."""
        return self._context

    def _all_fields(self) -> List[Tuple[str, Optional[str]]]:
        """The headers of this request. The value is None for client headers that are omitted."""
        return _pairs(lib.wherry_request_header_at, self._live())

    def _set_header(self, name: str, value: Optional[str]) -> None:
        sent = None if value is None else text(value, "bad_header")
        check(lib.wherry_request_set_header(self._live(), text(name, "bad_header"), sent))

    def _add_header(self, name: str, value: str) -> None:
        sent = text(name, "bad_header"), text(value, "bad_header")
        check(lib.wherry_request_add_header(self._live(), *sent))

    def _live(self) -> int:
        if not self._handle:
            raise StateError(
                "the request was already sent. Edit it inside the function that receives it.", "wrong_state"
            )
        return self._handle

    def _end(self) -> None:
        """Ends access to the request, because it is about to be sent."""
        self._handle = 0

    def __repr__(self) -> str:
        if not self._handle:
            return "<Request, sent>"
        return f"<Request {self.method} {without_query(self.url)}>"


def resolve_adapt(event: int, found: Any, request: Request) -> int:
    """Sends the request with the edits of the function."""
    if found is not None and found is not request:
        kind = type(found).__name__
        raise TypeError(f"adapt= must return None or the request that it received, not {kind}")
    status: int = lib.wherry_event_resolve_adapt(event, True)
    return status


def resolve_redirect(event: int, found: Any, request: Request) -> int:
    """Follows the redirect with the edited request. False returns the redirect response instead."""
    if found is not None and found is not request and not isinstance(found, bool):
        kind = type(found).__name__
        raise TypeError(f"on_redirect= must return None, True, False or the request that it received, not {kind}")
    status: int = lib.wherry_event_resolve_redirect(event, found is not False)
    return status


def _pairs(function: Any, handle: int) -> List[Tuple[str, Optional[str]]]:
    found: List[Tuple[str, Optional[str]]] = []
    name, value = Cell(), Cell()
    while function(handle, len(found), name.address, value.address):
        found.append((text_at(name.take()) or "", text_at(value.take())))
    return found
