# Wherry: the requests of a client
# SPDX-License-Identifier: Apache-2.0
"""The part of a client that builds and sends requests."""

from __future__ import annotations

from .._core import Deferred, Generic
from .._core.calls import copy_text, create
from .._core.values import METHODS, url_text
from .._errors import WherryError
from .._native import codes
from .._native.forking import clear_after_fork
from .._native.library import lib, pointer
from .live_settings import LiveSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping, Optional, TypeVar, Union

    from typing_extensions import Unpack

    from .._core.exchange import drafting
    from .._core.exchange.draft import Draft
    from .._core.exchange.event_hooks import Send, Steps
    from .._core.keywords import RequestOptions
    from .._core.request import arguments
    from .._core.request.arguments import RequestArguments
    from .._core.request.sent import SentRequest
    from .._core.response.response import Response
    from .._transports.router import MockRouter, Router

    ResponseT = TypeVar("ResponseT")
else:
    ResponseT = None

    @Deferred
    def drafting():
        from .._core.exchange import drafting

        return drafting

    @Deferred
    def arguments():
        from .._core.request import arguments

        return arguments


_LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789-"
#: The characters of a clean path and query, except the dot.
_PATH = _LETTERS + _LETTERS.upper() + b"_~?=&+,;!$()*'/%:@"
#: The characters that may follow a dot in a path.
_AFTER_DOT = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def clean_origin(url: str) -> str:
    """Returns the start of a URL up to the first slash of the path, if the library sends it unchanged.

    Otherwise returns "".
    """
    scheme, _, rest = url.partition("://")
    host, slash, _ = rest.partition("/")
    name, colon, port = host.partition(":")
    if not slash or scheme not in ("http", "https") or not host.isascii():
        return ""
    if colon and (not port.isdigit() or port[0] == "0"):
        return ""
    if name != "127.0.0.1":
        others = name.encode().translate(None, _LETTERS)
        if not "a" <= name[:1] <= "z" or others.strip(b".") or ".." in name or name[-1] == ".":
            return ""
    return f"{scheme}://{host}/"


def _has_clean_dots(path: str) -> bool:
    """Whether no dot of a path may belong to a dot segment."""
    place = path.find(".")
    while place >= 0:
        if path[place + 1 : place + 2] not in _AFTER_DOT:
            return False
        place = path.find(".", place + 1)
    return True


#: Keywords of a request that affect its URL.
URL_OPTIONS = (
    "params", "parameters", "base", "ignore_base", "array_style", "member_style", "bool_style",
    "default_parameters",
)  # fmt: skip

#: Native requests without keywords, by method, as arguments of `prepared` functions. They are sent with
#: the URL of each call and never changed, so all clients and threads share them.
PLAIN_REQUESTS: Dict[Optional[str], Any] = {}
clear_after_fork(PLAIN_REQUESTS.clear)


def plain_request(method: Optional[str]) -> Any:
    """Creates the native request that plain requests with a method share, and adds it to `PLAIN_REQUESTS`.

    Returns None if the method is not a common one.
    """
    name = METHODS.get(method)
    if name is None:
        return None
    handle = create(lib.wherry_request_new, name, b"/")
    request = pointer(handle)
    shared = PLAIN_REQUESTS.setdefault(method, request)
    if shared is not request:
        lib.wherry_request_free(handle)  # Another thread was faster.
    return shared


def _through_request(name: str) -> Any:
    """Returns a method of a client that calls `request`."""
    from functools import wraps

    @wraps(getattr(ClientRequests, name))
    def send(self: Any, url: str, **options: Any) -> Any:
        return self.request(name.upper(), url, **options)

    return send


class ClientRequests(LiveSettings, Generic[ResponseT]):
    """See `BaseClient`."""

    if TYPE_CHECKING:
        _handle: int
        _router: Union[Router, MockRouter, None]

        def _send_draft(self, draft: Draft) -> Any:
            """Sends a request and frees its draft. A coroutine in `AsyncClient`."""

    #: The last URL for which `_is_clean` returned True.
    _clean_url = ""
    #: The origin of the last such URL, with a slash.
    _clean_origin = ""

    def __init_subclass__(cls, **options: Any) -> None:
        """Makes `get` and the other methods call an overridden `request`, as in requests and httpx."""
        super().__init_subclass__(**options)
        if "request" in vars(cls):
            for name in ("get", "head", "post", "put", "patch", "delete", "options"):
                if name not in vars(cls):
                    setattr(cls, name, _through_request(name))

    def _new_plain_arguments(self, method: Optional[str]) -> RequestArguments:
        """Returns the arguments that all requests without keywords share."""
        found = self._plain_arguments.get(method)
        if found is None:
            found = self._arguments(method, "", {})
            self._plain_arguments = {**self._plain_arguments, method: found}
        return found

    def _arguments(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> RequestArguments:
        fields = [(name, value) for name, values in list(self._fields.values()) for value in values]
        return arguments.RequestArguments(method, url, options, fields, self._settings)

    def _add_request(self, error: WherryError, method: Optional[str], url: str, options: Mapping[str, Any]) -> None:
        """Adds the request to an error, with the URL that the request would have had."""
        from .._core.request.sent import COMPLETE

        if error.response is not None and error.request is not None:
            return
        if error.request is None:
            known = self._arguments(method, url, options)
            try:
                known.record_options(options)
            except Exception:
                pass  # The body is the cause of the error.
            error.request = known.at(url)
        if method is None:
            method = error.request.method
        with_query = {name: options[name] for name in (*URL_OPTIONS, COMPLETE) if options.get(name) is not None}
        try:
            draft = self._draft(method, url, with_query)
        except Exception:
            return  # The URL, a parameter, or the client is the cause of the error.
        try:
            error.request.url = copy_text(lib.wherry_client_copy_url, self._live(), draft.handle)
        except WherryError:
            pass  # The URL is the cause of the error.
        finally:
            draft.free()

    def _plain_request(self, method: Optional[str], options: Mapping[str, Any]) -> Any:
        """Returns the native request of a call without keywords. None if the call needs a `Draft`."""
        if options or self._query or self._defaults or self._extras:
            return None
        return PLAIN_REQUESTS.get(method) or plain_request(method)

    def _needs_middleware(self, options: Mapping[str, Any]) -> bool:
        """Whether a request may have an auth flow or hooks."""
        return self._extras or "auth" in options or "hooks" in options

    def _middleware(
        self, send: Send, method: Optional[str], url: str, options: Mapping[str, Any],
        discard: Optional[Callable[[Any], Any]] = None,
    ) -> Steps:  # fmt: skip
        """Sends a request with its auth flow and hooks, if any. See `Middleware.steps`."""
        from .._core.exchange.event_hooks import middleware_of

        found = middleware_of(self, options)
        if found is None:
            response: Response = yield send(method, url, options)
            return response
        return (yield from found.steps(send, method, url, options, discard))

    def _upload(self, url: str, images: Any, options: Mapping[str, Any]) -> Steps:
        """Uploads images. See `Client.upload`."""
        from .._transfers.uploads import as_list, prepare

        images = as_list(images)

        def send(method: Optional[str], url: str, options: Mapping[str, Any]) -> Any:
            return self._send_draft(prepare(self, url, images, {**options, "method": method}))

        return self._middleware(send, options.get("method", "POST"), url, options)

    def _is_clean(self, url: str) -> bool:
        """Whether the library sends the URL unchanged.

        For any other URL the native library computes the final form, which takes longer. A regular
        expression would be shorter, but importing `re` takes longer than creating a client.
        """
        origin = self._clean_origin
        if not origin or not url.startswith(origin):
            origin = self._clean_origin = clean_origin(url)
            if not origin:
                return False
        path = url[len(origin) :]
        if path[-1:] == "?":
            return False
        others = path.encode().translate(None, _PATH)
        if others and (others.strip(b".") or not _has_clean_dots(path)):
            return False
        self.__dict__["_clean_url"] = url  # Without the checks of `__setattr__`.
        return True

    def _request(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> ResponseT:
        """Sends a request. `Client` blocks; `AsyncClient` returns a coroutine."""
        raise NotImplementedError

    def request(self, method: Optional[str], url: str, **options: Unpack[RequestOptions]) -> ResponseT:
        """Sends a request. Method None means GET, or POST if there are parameters or a body.

        See `RequestOptions` for the keyword arguments: help(wherry.RequestOptions).
        """
        return self._request(method, url, options)

    def get(self, url: str, **options: Unpack[RequestOptions]) -> ResponseT:
        """Sends a GET request. See `RequestOptions` for the keyword arguments."""
        return self._request("GET", url, options)

    def head(self, url: str, **options: Unpack[RequestOptions]) -> ResponseT:
        """Sends a HEAD request. See `RequestOptions` for the keyword arguments."""
        return self._request("HEAD", url, options)

    def post(self, url: str, **options: Unpack[RequestOptions]) -> ResponseT:
        """Sends a POST request. See `RequestOptions` for the keyword arguments."""
        return self._request("POST", url, options)

    def put(self, url: str, **options: Unpack[RequestOptions]) -> ResponseT:
        """Sends a PUT request. See `RequestOptions` for the keyword arguments."""
        return self._request("PUT", url, options)

    def patch(self, url: str, **options: Unpack[RequestOptions]) -> ResponseT:
        """Sends a PATCH request. See `RequestOptions` for the keyword arguments."""
        return self._request("PATCH", url, options)

    def delete(self, url: str, **options: Unpack[RequestOptions]) -> ResponseT:
        """Sends a DELETE request. See `RequestOptions` for the keyword arguments."""
        return self._request("DELETE", url, options)

    def options(self, url: str, **options: Unpack[RequestOptions]) -> ResponseT:
        """Sends an OPTIONS request. See `RequestOptions` for the keyword arguments."""
        return self._request("OPTIONS", url, options)

    def send(self, request: SentRequest, **options: Unpack[RequestOptions]) -> ResponseT:
        """Sends an existing request, such as `Response.next_request`.

        Keyword arguments override the values of the request. The client's credentials are added unless
        the request has its own, was sent without credentials, or follows a redirect to another origin. A
        streamed body is not kept: pass it again.
        """
        from .._core.request.sent import keywords_to_send

        keywords = keywords_to_send(self, request, options)
        return self._request(request.method, request.url, keywords)

    def _add_own_cookies(self, url: str, options: Mapping[str, Any]) -> None:
        """Adds the program's cookies to the jar, for the hosts of the URL or its base URLs."""
        own = self._own_cookies
        if own is None or not own.values:
            return
        if "://" in url:
            own.add_to_jar(self._live(), url)
            return
        names = options.get("base") or ()
        for name in names.split(",") if isinstance(names, str) else names:
            own.add_to_jar(self._live(), self.bases.get(name, ""))
        if not names:
            own.add_to_jar(self._live(), self.base_url)

    def _draft(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Draft:
        self._live()
        if isinstance(url, bytes):
            url = url_text(url)
        return drafting.draft_of(self, method, url, options)

    def _redirects(self, options: Mapping[str, Any]) -> Dict[str, Any]:
        """Turns ``follow_redirects=`` into ``max_redirects=``.

        True keeps the current limit, or sets the default limit if the current limit is 0.
        """
        from .._core.settings import MAX_REDIRECTS

        rest = dict(options)
        follows = rest.pop("follow_redirects")
        if follows is None:
            return rest
        limit = rest.get("max_redirects")
        if limit is None:
            limit = lib.wherry_client_get_option(self._live(), codes.OPTION_MAX_REDIRECTS)
        rest["max_redirects"] = (limit or MAX_REDIRECTS) if follows else 0
        return rest
