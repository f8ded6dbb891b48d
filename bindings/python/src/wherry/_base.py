# Wherry: what blocking and asyncio clients share
# SPDX-License-Identifier: Apache-2.0
"""Creating a client, sending its requests, and closing it."""

from __future__ import annotations

import os
import re

from . import _codes as codes
from ._bridge import check, copy_text, freed, last_error, lib, made, text, url_text
from ._errors import StateError, WherryError, shown
from ._forking import Forkable, after_in_child, is_forked
from ._live_settings import LiveSettings
from ._managed import Managed
from ._numbers import named
from ._observed import Observed
from ._options import Timeout, Unset, is_flow, pairs, queried, word
from ._questions import refreshing
from ._request import Draft
from ._request_values import path_text
from ._route import apply_route
from ._sending import COMPLETE, sendable
from ._sent import Asked
from ._settings import FIXED, MAX_REDIRECTS
from ._trust import apply

#: URLs that are sent to the letter: whole, with a path, no segment that begins with a dot, and no
#: empty query. What it does not know is asked of the library, which takes longer.
CLEAN = re.compile(
    r"https?://(?:[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*|127\.0\.0\.1)(?::[1-9][0-9]*)?"
    r"/X*(?:\.[A-Za-z0-9_]X*)*(?<!\?)\Z".replace("X", "[A-Za-z0-9_~?=&+,;!$()*'/%:@-]")
).match

#: Keywords of a request that its URL is made of.
URL_OPTIONS = (
    "params", "parameters", "base", "ignore_base", "array_style", "member_style", "bool_style",
    "default_parameters", COMPLETE,
)  # fmt: skip

#: The limits of a client that is given none.
USUAL = Timeout()

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any, Dict, Generic, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union,
    )  # fmt: skip

    from typing_extensions import Unpack

    from ._layers import Hooks
    from ._transports import MockRouter, Router
    from ._cookies import Cookies, OwnCookies
    from ._options import AuthLike, TimeoutLike
    from ._keywords import (
        Cert, Pairs, Pins, RequestOptions, Settings, Verify,
    )  # fmt: skip
    from ._reachability import Reachability
    from ._sent import SentRequest


if TYPE_CHECKING:
    Answer = TypeVar("Answer")
else:

    class Generic:
        """Stands for `typing.Generic`: typing would take longer to import than this package."""

        def __class_getitem__(cls, _: object) -> type:
            return cls

    Answer = None


class BaseClient(Forkable, Managed, Observed, LiveSettings, Generic[Answer]):
    """Connections, settings and running transfers; see `Client` and `AsyncClient`."""

    _is_async = False
    #: Whether an unclosed client is told of.
    _warns = True
    #: The last URL that `_is_clean` found clean.
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
        timeout: Union[TimeoutLike, Unset] = USUAL,
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
        """Every setting is a keyword, and all are optional.

        ``bases`` are further base URLs by name, which a request takes by ``base=``. ``params`` go
        into every query, ``parameters`` where the method wants them. ``verify`` is True, False
        (trusts anybody; stderr is told once), the path of a CA file or folder, or PEM bytes.
        ``cert`` is shown to the origin of ``base_url``, or to those that it is a dictionary of: the
        path of a file (PEM or PKCS #12), (certificate, key) or (certificate, key, password).
        ``pins`` has by host ("example.org", "*.example.org", "*") what the server's key must be one
        of: "sha256/...", paths of certificates or folders, bytes. ``trust_env=False`` leaves the
        proxies of the environment alone. ``transport`` answers requests in place of the network, as a
        `MockTransport`, a `WSGITransport`, or another `BaseTransport` does; ``mounts`` has transports by
        URL pattern, None for the network. ``event_hooks`` has functions by "request" and "response";
        ``hooks`` is the same as requests names it. ``config`` is the path of a file of settings (see
        docs/configuration.md), or True for the one that $WHERRY_CONFIG names; keywords go before it.
        The others stand in `Settings`, named as the options of
        wherry.h: see help(wherry.Settings).
        """
        others: Dict[str, Any] = dict(settings)
        self._settings: Dict[str, Any] = {}
        #: Whether an answer's URL may be another than the one asked for, without a redirect.
        self._url_depends = True
        self._query: List[Tuple[str, Any]] = []
        #: Keywords that each request has unless it says otherwise.
        self._defaults: Dict[str, Any] = {}
        self._transport = transport
        self._mounts = dict(mounts or {})
        #: Answers requests in place of the network.
        self._router: Union[Router, MockRouter, None] = None
        #: The event hooks; None until there are some.
        self._hooks: Optional[Hooks] = None
        #: Whether something is around each request: hooks, a transport, or an auth flow.
        self._extras = False
        self._fields: Dict[str, Tuple[str, List[str]]] = {}
        #: Cookies for every host; None until there is one.
        self._own_cookies: Optional[OwnCookies] = None
        #: What responses of requests without keywords tell as their request, by method.
        self._plain_asked: Dict[Optional[str], Asked] = {}
        #: Whether a file may have set what keywords do not tell.
        self._is_loaded = bool(config)
        handle = made(lib.wherry_config_new)
        try:
            if config:
                place = None if config is True else os.path.abspath(os.fspath(config))
                check(lib.wherry_config_load(handle, place and path_text(place)))
                self._settings["config"] = place or True
            self._settings.update(apply_route(handle, others))
            for name in list(others):
                if name in FIXED:
                    value = others.pop(name)
                    if value is not None:
                        self._settings[name] = value
                        check(lib.wherry_config_set_text(handle, FIXED[name], text(value)))
            trust = apply(handle, verify, cert, pins, base_url, others)
            if not trust_env:
                option = codes.OPTION_IGNORE_PROXY_ENVIRONMENT
                check(lib.wherry_config_set_option(handle, option, 1))
            if transport is not None or mounts:
                from ._transports import attached

                self._router = attached(self, handle)
                self._extras = self._router is not None
            self._handle = made(lib.wherry_client_new, handle)
            self._survive_forks()
        finally:
            lib.wherry_config_free(handle)
        self._settings.update(verify=verify, trust_env=trust_env, **trust)
        try:
            if not follow_redirects:
                others["max_redirects"] = 0
            cookies = others.get("cookies")
            if cookies is not None and not isinstance(cookies, (bool, int)):
                del others["cookies"]
            else:
                cookies = None
            said = {"base_url": base_url, "bases": bases, "timeout": timeout, "auth": auth}
            if self._is_loaded:
                # What nobody said here is what the file says.
                said = {name: value for name, value in said.items() if value}
                if timeout is not USUAL:
                    said["timeout"] = timeout
            self._configure({**said, **others})
            for name, value in pairs(headers or {}, "headers"):
                self.headers.add(name, value)
            self.params = params or {}
            if cookies is not None:
                self.cookies.update(cookies)
            if event_hooks is not None or hooks is not None:
                from ._layers import hooks_of

                own, named = hooks_of(hooks), hooks_of(event_hooks)
                self.event_hooks = {name: [*named[name], *own[name]] for name in named}
            self._settings["parameters"] = {}
            for name, value in pairs(parameters or {}, "parameters"):
                self.set_parameter(name, value)
        except BaseException:
            self._free()
            raise

    @property
    def reachability(self) -> Reachability:
        """Watches any network for this client; it looks once it is started or waited for."""
        from ._reachability import of_client

        return of_client(self)

    @property
    def storage(self) -> str:
        """The folder for what this client keeps, made when first asked for."""
        return copy_text(lib.wherry_client_copy_storage, self._live())

    def _plain(self, method: Optional[str], url: str) -> Asked:
        """What a request without keywords asks for."""
        asked = self._plain_asked.get(method)
        if asked is None:
            asked = self._asked(method, "", {})
            self._plain_asked = {**self._plain_asked, method: asked}
        return asked

    def _asked(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Asked:
        return Asked(method, url, options, self.headers.multi_items(), self._settings)

    def _blamed(
        self, error: WherryError, method: Optional[str], url: str, options: Mapping[str, Any]
    ) -> None:
        """Notes the request of an error, with the URL that it would have had."""
        if error.response is not None and error.request is not None:
            return
        if error.request is None:
            asked = self._asked(method, url, options)
            try:
                asked.note_options(options)
            except Exception:
                pass  # The body is what the error is about.
            error.request = asked.at(url)
        if method is None:
            method = error.request.method
        with_query = {name: options[name] for name in URL_OPTIONS if options.get(name) is not None}
        try:
            draft = self._draft(method, url, with_query)
        except Exception:
            return  # The URL, a parameter, or the client is what the error is about.
        try:
            error.request.url = copy_text(lib.wherry_client_copy_url, self._live(), draft.handle)
        except WherryError:
            pass  # The same.
        finally:
            draft.free()

    def _is_clean(self, url: str) -> bool:
        """Whether the library sends that URL as it is, to the letter."""
        if CLEAN(url) is None:
            return False
        self._clean_url = url
        return True

    def _refusal(self, status: int) -> WherryError:
        """Why a request was not started."""
        error = last_error(status)
        return error if self._handle else StateError("this client is closed", "closed")

    def _begin(self, function: Any, *arguments: Any) -> int:
        """Starts a transfer: calls a function that takes the client first and gives a handle."""
        try:
            return made(function, self._handle, *arguments)
        except WherryError:
            # Another thread may have closed it since it was looked at.
            self._live()
            raise

    def _live(self) -> int:
        if not self._handle:
            raise StateError("this client is closed", "closed")
        return self._handle

    # Requests

    def _request(
        self, method: Optional[str], url: str, options: Mapping[str, Any]
    ) -> Answer:
        """Sends it, in the client's own way of waiting."""
        raise NotImplementedError

    def request(
        self, method: Optional[str], url: str, **options: Unpack[RequestOptions]
    ) -> Answer:
        """Sends a request; method None is GET without parameters or body, else POST.

        The keywords are those of `RequestOptions`: see help(wherry.RequestOptions).
        """
        return self._request(method, url, options)

    def get(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """GET. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
        return self._request("GET", url, options)

    def head(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """HEAD. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
        return self._request("HEAD", url, options)

    def post(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """POST. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
        return self._request("POST", url, options)

    def put(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """PUT. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
        return self._request("PUT", url, options)

    def patch(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """PATCH. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
        return self._request("PATCH", url, options)

    def delete(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """DELETE. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
        return self._request("DELETE", url, options)

    def options(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """OPTIONS. The keywords are those of `RequestOptions`: see help(wherry.RequestOptions)."""
        return self._request("OPTIONS", url, options)

    def send(self, request: SentRequest, **options: Unpack[RequestOptions]) -> Answer:
        """Sends a request, such as `Response.next_request`, as it is; keywords go before what it has.

        Credentials of the client are added unless the request has its own, was sent without any, or
        follows a redirect to another origin. A body that was streamed is not kept: pass it again.
        """
        return self._request(request.method, request.url, sendable(self, request, options))

    def _seed_cookies(self, url: str, options: Mapping[str, Any]) -> None:
        """Puts the program's own cookies into the jar, for the hosts of a URL."""
        own = self._own_cookies
        if own is None or not own.values:
            return
        if "://" in url:
            own.seed(self._live(), url)
            return
        names = options.get("base") or ()
        for name in names.split(",") if isinstance(names, str) else names:
            own.seed(self._live(), self.bases.get(name, ""))
        if not names:
            own.seed(self._live(), self.base_url)

    def _draft(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Draft:
        self._live()
        if isinstance(url, bytes):
            url = url_text(url)
        query = self._query
        if COMPLETE in options:
            query = []
            options = {name: value for name, value in options.items() if name != COMPLETE}
        if self._own_cookies is not None:
            self._seed_cookies(url, options)
        if self._defaults:
            options = {**self._defaults, **options}
        if "refresh_token" in options and self in refreshing.get():
            # Its own function sends this: it would wait for itself.
            options = {**options, "refresh_token": None}
        fields = options.get("headers")
        if fields is not None and not isinstance(fields, list):
            # It may be an iterator, and is needed twice.
            options = {**options, "headers": pairs(fields, "headers")}
        own = options.get("params")
        if query and own is not None:
            own = queried(own)  # It may be an iterator, and is needed twice.
            options = {**options, "params": own}
            named = {name for name, _ in own}
            query = [(name, value) for name, value in query if word(name) not in named]
        if "follow_redirects" in options:
            options = self._redirects(options)
        if self._hooks is not None or "hooks" in options:
            options = self._with_hooks(options)
        if "auth" in options and is_flow(options["auth"]):
            options = {**options, "auth": None}  # `Layers` has seen to it.
        draft = Draft(method, url)
        draft.asked = self._asked(method, url, options)
        if query:
            draft.apply({"params": query})
        if options:
            draft.apply(options)
            if codes.DECISION_TOKEN in draft.functions:
                draft.client = self
        if self._router is not None:
            draft.functions[codes.DECISION_RESPOND] = self._router.respond
        return draft

    def _redirects(self, options: Mapping[str, Any]) -> Dict[str, Any]:
        """Both keywords of redirects as one limit: True keeps the limit, unless it is 0."""
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
        return tuple(self.cookies._jar())  # `_state` has those that were set by their names alone.

    def _rebuild(self, noted: Any) -> None:
        bridge, log_file = self.__dict__.pop("_bridge", None), self._log_file
        state = self._state()
        BaseClient.__init__(self, transport=self._transport, mounts=self._mounts, **state)
        for cookie in noted:
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

    # The end

    @property
    def is_closed(self) -> bool:
        """Whether the client takes no more requests."""
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
            pass  # At the interpreter's end the library may be half gone.

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        return f"<{type(self).__name__} {shown(self.base_url) or '(no base)'} {state}>"

    def __getstate__(self) -> Dict[str, Any]:
        if self._transport is not None or self._mounts:
            raise TypeError("a client with transport= or mounts= cannot be pickled")
        return self._state()

    def _state(self) -> Dict[str, Any]:
        """The settings as keywords of a new client, except the transport."""
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


def warn_unclosed(thing: object) -> None:
    """Tells of something that nobody closed."""
    try:
        import warnings
    except ImportError:  # The interpreter is ending, and imports nothing any more.
        return
    warnings.warn(f"unclosed {thing!r}", ResourceWarning, source=thing, stacklevel=3)


def free_client(handle: int) -> None:
    """Frees a native client and what it runs."""
    freed(lib.wherry_client_free(handle))


def restart() -> None:
    """Makes the library usable in a child that was forked without Python's hooks, by C code.

    After ``os.fork`` and everything built on it, nothing has to be called: clients made before the
    fork work in the child, with the same settings and new connections.
    """
    if is_forked():
        after_in_child()
    check(lib.wherry_library_restart())
