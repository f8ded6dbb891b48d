# Wherry: the common base of blocking and asyncio clients
# SPDX-License-Identifier: Apache-2.0
"""Creating a client, sending its requests, and closing it."""

from __future__ import annotations

import os
import re

from .._core import Generic
from .._core.calls import check, check_freed, copy_text, create, last_error
from .._core.credentials import is_flow
from .._core.exchange.decisions import refreshing
from .._core.exchange.draft import PLAIN_REQUESTS, Draft, plain_request
from .._core.forms import as_text, mapping, pairs, query_pairs
from .._core.network import apply_route
from .._core.options import Timeout, Unset
from .._core.request.arguments import RequestArguments
from .._core.request.sent import COMPLETE, keywords_to_send
from .._core.settings import FIXED, MAX_REDIRECTS
from .._core.trust import apply
from .._core.values import path_text, text, url_text
from .._errors import (
    ArgumentError, Keyword, StateError, WherryError, name_keyword, warn_unclosed, without_query,
)  # fmt: skip
from .._native import codes
from .._native.forking import Forkable, after_in_child, is_forked
from .._native.library import lib
from .live_settings import LiveSettings
from .management import TransferManagement
from .monitoring import ClientMonitoring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

    from typing_extensions import Unpack

    from .._core.cookies import OwnCookies
    from .._core.credentials import AuthLike
    from .._core.exchange.hooks import Hooks, Send, Steps
    from .._core.keywords import Cert, Pairs, Pins, RequestOptions, Settings, Verify
    from .._core.options import TimeoutLike
    from .._core.request.sent import SentRequest
    from .._core.response.response import Response
    from .._monitoring.reachability import Reachability
    from .._transports.router import MockRouter, Router

#: URLs that are sent unchanged: absolute, with a path, no segment that starts with a dot, and no
#: empty query. For any other URL the native library computes the final form, which takes longer.
CLEAN = re.compile(
    r"https?://(?:[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*|127\.0\.0\.1)(?::[1-9][0-9]*)?"
    r"/X*(?:\.[A-Za-z0-9_]X*)*(?<!\?)\Z".replace("X", "[A-Za-z0-9_~?=&+,;!$()*'/%:@-]")
).match

#: Keywords of a request that affect its URL.
URL_OPTIONS = (
    "params", "parameters", "base", "ignore_base", "array_style", "member_style", "bool_style",
    "default_parameters", COMPLETE,
)  # fmt: skip

#: The default timeouts of a client.
DEFAULT_TIMEOUT = Timeout()

if TYPE_CHECKING:
    ResponseT = TypeVar("ResponseT")
else:
    ResponseT = None


def _through_request(name: str) -> Any:
    """Returns a method of a client that calls `request`."""
    from functools import wraps

    @wraps(getattr(BaseClient, name))
    def send(self: Any, url: str, **options: Any) -> Any:
        return self.request(name.upper(), url, **options)

    return send


class BaseClient(Forkable, TransferManagement, ClientMonitoring, LiveSettings, Generic[ResponseT]):
    """The connections, settings and running transfers of a client.

    See `Client` and `AsyncClient`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Makes `get` and the other methods call an overridden `request`, as in requests and httpx."""
        super().__init_subclass__(**options)
        if "request" in vars(cls):
            for name in ("get", "head", "post", "put", "patch", "delete", "options"):
                if name not in vars(cls):
                    setattr(cls, name, _through_request(name))

    _is_async = False
    #: Whether an unclosed client causes a ResourceWarning.
    _warns = True
    #: The last URL for which `_is_clean` returned True.
    _clean_url = ""

    def __init__(
        self,
        *,
        base_url: str = "",
        bases: Union[Mapping[str, Optional[str]], None] = None,
        headers: Union[Mapping[str, str], Sequence[Tuple[str, str]], None] = None,
        params: Union[Pairs, str, bytes, None] = None,
        parameters: Union[Mapping[str, Any], None] = None,
        auth: AuthLike = None,
        timeout: Union[TimeoutLike, Unset] = DEFAULT_TIMEOUT,
        verify: Verify = True,
        cert: Cert = None,
        pins: Optional[Pins] = None,
        follow_redirects: bool = True,
        transport: Any = None,
        mounts: Optional[Mapping[str, Any]] = None,
        event_hooks: Optional[Mapping[str, Any]] = None,
        hooks: Optional[Mapping[str, Any]] = None,
        trust_env: bool = True,
        config: Union[str, os.PathLike[str], bool, None] = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Creates a client. All settings are optional keyword arguments.

        :param base_url: The URL that relative request URLs are resolved against.
        :param bases: Further base URLs by name. A request selects one with ``base=``.
        :param headers: Headers of every request.
        :param params: Query parameters of every request.
        :param parameters: Default parameters, sent in the query or in the body, depending on the method.
        :param auth: The default credentials or auth flow.
        :param timeout: The default timeouts, in seconds.
        :param verify: True to verify certificates, the path of a CA file or folder, or PEM bytes. False
            turns verification off and prints one warning to stderr.
        :param cert: The client certificate: the path of a file (PEM or PKCS #12), (certificate, key), or
            (certificate, key, password). It is presented to the origin of ``base_url``. To use other
            origins, pass a dictionary of certificates by origin.
        :param pins: Public key pins by host ("example.org", "*.example.org", "*"). The server's key must
            match one of them: "sha256/...", paths of certificates or folders, or bytes.
        :param follow_redirects: Whether redirects are followed.
        :param transport: Handles requests in place of the network: a `MockTransport`, a
            `WSGITransport`, or another `BaseTransport`.
        :param mounts: Transports by URL pattern. None means the network.
        :param event_hooks: Functions for "request" and "response", as in httpx.
        :param hooks: The same as ``event_hooks``, as in requests.
        :param trust_env: False ignores the proxy environment variables.
        :param config: The path of a settings file (see docs/configuration.md), or True to use the file
            that $WHERRY_CONFIG names. Keyword arguments take precedence over the file.

        The other keywords have the names of the options in wherry.h: see help(wherry.Settings).
        """
        others: Dict[str, Any] = dict(settings)
        self._settings: Dict[str, Any] = {}
        #: Whether the response URL may differ from the request URL without a redirect.
        self._url_depends = True
        self._query: List[Tuple[str, Any]] = []
        #: Default keywords of every request.
        self._defaults: Dict[str, Any] = {}
        self._transport = transport
        self._mounts = dict(mapping(mounts or {}, "mounts"))
        #: Handles requests in place of the network.
        self._router: Union[Router, MockRouter, None] = None
        #: The event hooks, or None.
        self._hooks: Optional[Hooks] = None
        #: Whether requests pass through hooks, a transport, or an auth flow.
        self._extras = False
        self._fields: Dict[str, Tuple[str, List[str]]] = {}
        #: Cookies for every host, or None.
        self._own_cookies: Optional[OwnCookies] = None
        #: The request objects of responses to requests without keywords, by method.
        self._plain_arguments: Dict[Optional[str], RequestArguments] = {}
        #: Whether settings may come from a configuration file.
        self._is_loaded = bool(config)
        handle = create(lib.wherry_config_new)
        try:
            if config:
                with Keyword("config"):
                    place = None if config is True else os.path.abspath(os.fspath(config))
                check(lib.wherry_config_load(handle, place and path_text(place)))
                self._settings["config"] = place or True
            self._settings.update(apply_route(handle, others))
            for name in list(others):
                if name in FIXED:
                    value = others.pop(name)
                    if value is not None:
                        self._settings[name] = value
                        with Keyword(name):
                            check(lib.wherry_config_set_text(handle, FIXED[name], text(value)))
            trust = apply(handle, verify, cert, pins, base_url, others)
            if not trust_env:
                option = codes.OPTION_IGNORE_PROXY_ENVIRONMENT
                check(lib.wherry_config_set_option(handle, option, 1))
            if transport is not None or mounts:
                from .._transports.router import attach_transports

                self._router = attach_transports(self, handle)
                self._extras = self._router is not None
            try:
                self._handle = create(lib.wherry_client_new, handle)
            except ArgumentError as error:
                if "client certificate" in error.message:
                    name_keyword("cert", error)
                raise
            self._survive_forks()
        finally:
            lib.wherry_config_free(handle)
        self._settings.update(verify=verify, trust_env=trust_env, **trust)
        try:
            if not follow_redirects:
                others["max_redirects"] = 0
            cookies = others.get("cookies")
            if cookies is not None and not isinstance(cookies, (bool, int, str)):
                del others["cookies"]
            else:
                cookies = None
            arguments = {"base_url": base_url, "bases": bases, "timeout": timeout, "auth": auth}
            if self._is_loaded:
                # Settings that are not given here come from the file.
                arguments = {name: value for name, value in arguments.items() if value}
                if timeout is not DEFAULT_TIMEOUT:
                    arguments["timeout"] = timeout
            self._configure({**arguments, **others})
            with Keyword("headers"):
                for name, value in pairs(headers or {}, "headers"):
                    self.headers.add(name, value)
            self.params = params or {}
            if cookies is not None:
                with Keyword("cookies"):
                    self.cookies.update(cookies)
            if event_hooks is not None or hooks is not None:
                from .._core.exchange.hooks import hooks_by_name

                own, by_event = hooks_by_name(hooks), hooks_by_name(event_hooks)
                self.event_hooks = {name: [*by_event[name], *own[name]] for name in by_event}
            self._settings["parameters"] = {}
            with Keyword("parameters"):
                for name, value in pairs(parameters or {}, "parameters"):
                    self.set_parameter(name, value)
        except BaseException:
            self._free()
            raise

    @property
    def reachability(self) -> Reachability:
        """Observes the reachability of any network. It starts when you start it or wait for it."""
        from .._monitoring.reachability import of_client

        return of_client(self)

    @property
    def storage(self) -> str:
        """The storage folder of this client. It is created when first read."""
        return copy_text(lib.wherry_client_copy_storage, self._live())

    def _new_plain_arguments(self, method: Optional[str]) -> RequestArguments:
        """Returns the arguments of requests without keywords, which share them."""
        arguments = self._plain_arguments.get(method)
        if arguments is None:
            arguments = self._arguments(method, "", {})
            self._plain_arguments = {**self._plain_arguments, method: arguments}
        return arguments

    def _arguments(
        self, method: Optional[str], url: str, options: Mapping[str, Any]
    ) -> RequestArguments:
        return RequestArguments(method, url, options, self.headers.multi_items(), self._settings)

    def _add_request(
        self, error: WherryError, method: Optional[str], url: str, options: Mapping[str, Any]
    ) -> None:
        """Adds the request to an error, with the URL that the request would have had."""
        if error.response is not None and error.request is not None:
            return
        if error.request is None:
            arguments = self._arguments(method, url, options)
            try:
                arguments.record_options(options)
            except Exception:
                pass  # The body is the cause of the error.
            error.request = arguments.at(url)
        if method is None:
            method = error.request.method
        with_query = {name: options[name] for name in URL_OPTIONS if options.get(name) is not None}
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

    def _plain_request(self, method: Optional[str], options: Mapping[str, Any]) -> int:
        """Returns the native request of a call without keywords. 0 if the call needs a `Draft`."""
        if options or self._query or self._defaults or self._extras:
            return 0
        return PLAIN_REQUESTS.get(method) or plain_request(method)

    def _needs_middleware(self, options: Mapping[str, Any]) -> bool:
        """Whether a request may have an auth flow or hooks."""
        return self._extras or "auth" in options or "hooks" in options

    def _middleware(
        self, send: Send, method: Optional[str], url: str, options: Mapping[str, Any],
        discard: Optional[Callable[[Any], Any]] = None,
    ) -> Steps:  # fmt: skip
        """Sends a request with its auth flow and hooks, if any. See `Middleware.steps`."""
        from .._core.exchange.hooks import middleware_of

        found = middleware_of(self, options)
        if found is None:
            response: Response = yield send(method, url, options)
            return response
        return (yield from found.steps(send, method, url, options, discard))

    def _is_clean(self, url: str) -> bool:
        """Whether the library sends the URL unchanged."""
        if CLEAN(url) is None:
            return False
        self._clean_url = url
        return True

    def _start_error(self, status: int) -> WherryError:
        """Returns the error for a request that could not be started."""
        error = last_error(status)
        return error if self._handle else StateError("this client is closed", "closed")

    def _begin(self, function: Any, *arguments: Any) -> int:
        """Starts a transfer and returns its handle.

        ``function`` takes the client as its first argument.
        """
        try:
            return create(function, self._handle, *arguments)
        except WherryError:
            # Another thread may have closed the client in the meantime.
            self._live()
            raise

    def _live(self) -> int:
        if not self._handle:
            raise StateError("this client is closed", "closed")
        return self._handle

    # Requests

    def _request(
        self, method: Optional[str], url: str, options: Mapping[str, Any]
    ) -> ResponseT:
        """Sends a request. `Client` blocks; `AsyncClient` returns a coroutine."""
        raise NotImplementedError

    def request(
        self, method: Optional[str], url: str, **options: Unpack[RequestOptions]
    ) -> ResponseT:
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
        query = self._query
        if COMPLETE in options:
            query = []
            options = {name: value for name, value in options.items() if name != COMPLETE}
        if self._own_cookies is not None:
            self._add_own_cookies(url, options)
        if self._defaults:
            options = {**self._defaults, **options}
        if "refresh_token" in options and self in refreshing.get():
            # The refresh_token= function itself sends this request and would wait for itself.
            options = {**options, "refresh_token": None}
        fields = options.get("headers")
        if fields is not None and not isinstance(fields, list):
            # They may be an iterator, and are needed twice.
            options = {**options, "headers": pairs(fields, "headers")}
        if hasattr(options.get("cookies"), "__next__"):
            options = {**options, "cookies": list(options["cookies"])}  # They are needed twice, too.
        own = options.get("params")
        if query and own is not None:
            own = query_pairs(own)  # They may be an iterator, and are needed twice.
            options = {**options, "params": own}
            names = {name for name, _ in own}
            query = [(name, value) for name, value in query if as_text(name) not in names]
        if "follow_redirects" in options:
            options = self._redirects(options)
        if self._hooks is not None or "hooks" in options:
            options = self._with_hooks(options)
        if "auth" in options and is_flow(options["auth"]):
            options = {**options, "auth": None}  # `Middleware` handles the flow.
        draft = Draft(method, url)
        draft.arguments = self._arguments(method, url, options)
        if query:
            draft.apply({"params": query})
        if options:
            draft.uses_jar = self._settings.get("cookies") in (None, True)
            draft.apply(options)
            if codes.DECISION_TOKEN in draft.functions:
                draft.client = self
        if self._router is not None:
            draft.functions[codes.DECISION_RESPOND] = self._router.respond
        return draft

    def _redirects(self, options: Mapping[str, Any]) -> Dict[str, Any]:
        """Turns ``follow_redirects=`` into ``max_redirects=``.

        True keeps the limit, or sets the default if it is 0.
        """
        rest = dict(options)
        follows = rest.pop("follow_redirects")
        if follows is None:
            return rest
        limit = rest.get("max_redirects")
        if limit is None:
            limit = lib.wherry_client_get_option(self._live(), codes.OPTION_MAX_REDIRECTS)
        rest["max_redirects"] = (limit or MAX_REDIRECTS) if follows else 0
        return rest

    # Forks

    def _before_fork(self) -> Any:
        return tuple(self.cookies._jar())  # `_state` has the cookies that were set without a domain.

    def _rebuild(self, saved: Any) -> None:
        bridge, log_file = self.__dict__.pop("_bridge", None), self._log_file
        state = self._state()
        BaseClient.__init__(self, transport=self._transport, mounts=self._mounts, **state)
        for cookie in saved:
            self.cookies._restore(cookie)
        if log_file is not None:
            self.set_log_file(**log_file)
        if bridge is not None:
            bridge._begin(self)

    def _forget_parent(self) -> None:
        known = self.__dict__
        known["_bridge"] = self._log_bridge()
        for name in ("_monitor", "_last", "_mark", "_log", "_activity"):
            known.pop(name, None)

    # Closing

    @property
    def is_closed(self) -> bool:
        """Whether the client is closed."""
        return not self._handle

    def _free(self) -> None:
        self.__dict__.pop("_monitor", None)
        handle = self._take_handle()
        if handle:
            free_client(handle)
            self._end_readers()

    def __del__(self) -> None:
        if not self._has_handle:
            return
        if self._warns:
            warn_unclosed(self)
        try:
            self._free()
        except (WherryError, TypeError, AttributeError):
            pass  # The library may be partly unloaded when the interpreter exits.

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        return f"<{type(self).__name__} {without_query(self.base_url) or '(no base)'} {state}>"

    def __getstate__(self) -> Dict[str, Any]:
        if self._transport is not None or self._mounts:
            raise TypeError("a client with transport= or mounts= cannot be pickled")
        return self._state()

    def _state(self) -> Dict[str, Any]:
        """Returns the settings as keyword arguments for a new client, without the transport."""
        state = dict(self._settings)
        state["headers"] = self.headers.multi_items()
        if self._own_cookies is not None and self._own_cookies.values:
            state["cookies"] = dict(self._own_cookies.values)
        state["params"] = list(self._query)
        if self._hooks is not None:
            state["event_hooks"] = self._hooks
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        type(self).__init__(self, **state)


def free_client(handle: int) -> None:
    """Frees a native client and cancels its transfers."""
    check_freed(lib.wherry_client_free(handle))


def restart() -> None:
    """Makes the library usable in a child process that C code forked without Python's fork hooks.

    After ``os.fork`` you do not need to call it: clients created before the fork work in the child,
    with the same settings and new connections.
    """
    if is_forked():
        after_in_child()
    check(lib.wherry_library_restart())
