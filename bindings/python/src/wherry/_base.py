# Wherry: what blocking and asyncio clients share
# SPDX-License-Identifier: Apache-2.0
"""Configuration, live settings and the management of running transfers."""

from __future__ import annotations

import os
import re

from . import _codes as codes
from ._attributes import refuse
from ._bridge import check, copy_text, freed, last_error, lib, made, text
from ._errors import StateError, WherryError, shown
from ._forking import Forkable, after_in_child, is_forked
from ._headers import ClientHeaders
from ._managed import Managed
from ._numbers import named
from ._observed import Observed
from ._options import (
    BODIES, Basic, Bearer, DigestAuth, Timeout, Unset, credentials, pairs, queried, word,
)  # fmt: skip
from ._query import ClientParams
from ._questions import refreshing
from ._request import KEYWORDS, NONE_SAYS_SOMETHING, Draft, path_text
from ._route import apply_route
from ._sent import Asked
from ._settings import DEFAULTS, FIXED, MAX_REDIRECTS, NUMBERS, TEXTS
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
    "default_parameters",
)  # fmt: skip

#: The limits of a client that is given none.
USUAL = Timeout()

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any, Dict, Generic, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union,
    )  # fmt: skip

    from typing_extensions import Unpack

    from ._mock import MockTransport
    from ._cookies import Cookies, OwnCookies
    from ._options import AuthLike, TimeoutLike
    from ._keywords import (
        Cert, Changes, Pairs, Pins, RequestOptions, Settings, Verify,
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


class BaseClient(Forkable, Managed, Observed, Generic[Answer]):
    """Connections, settings and running transfers; see `Client` and `AsyncClient`."""

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
        transport: Optional[MockTransport] = None,
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
        proxies of the environment alone. ``config`` is the path of a file of settings (see
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
            if transport is not None:
                check(lib.wherry_config_set_stub(handle, transport._handle))
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

    # Live settings

    def configure(self, **changes: Unpack[Changes]) -> None:
        """Changes settings for requests started afterwards; any thread may do so at any time."""
        self._configure(dict(changes))

    def _configure(self, settings: Dict[str, Any]) -> None:
        if "follow_redirects" in settings:
            settings = self._redirects(settings)
        for name, value in settings.items():
            if name in NUMBERS:
                option, convert = NUMBERS[name]
                if value is not None or name in NONE_SAYS_SOMETHING:
                    check(lib.wherry_client_set_option(self._live(), option, named(name, convert, value)))
            elif name in TEXTS:
                sent = text(value) if value else None
                check(lib.wherry_client_set_text(self._live(), TEXTS[name], sent))
                if name == "base_url":
                    self._url_depends = self._is_loaded or bool(
                        value or self._settings.get("parameters"))
            elif name == "bases":
                value = self._set_bases(value or {})
            elif name == "secret_names":
                for secret in value or ():
                    self.add_secret_name(secret)
                continue
            elif name == "timeout":
                limits = Timeout() if isinstance(value, Unset) else Timeout.of(value)
                for option, number in limits.options():
                    check(lib.wherry_client_set_option(self._live(), option, number))
            elif name == "auth":
                found = credentials(value)
                before = credentials(self._settings.get("auth"))
                if isinstance(found, DigestAuth) or isinstance(before, DigestAuth):
                    self._set_digest(found if isinstance(found, DigestAuth) else None)
                token = text(found.token, "bad_header") if isinstance(found, Bearer) else None
                if token is not None or isinstance(before, Bearer):
                    option = codes.TEXT_BEARER_TOKEN
                    check(lib.wherry_client_set_text(self._live(), option, token))
                field = found.field() if isinstance(found, Basic) else None
                if field is not None or isinstance(before, Basic):
                    self._set_header("Authorization", field)
            elif name in DEFAULTS:
                self._set_default(name, value)
            else:
                raise TypeError(f"a client has no setting {name!r}")
            self._settings[name] = value
        self._plain_asked = {}

    def _set_default(self, name: str, value: Any) -> None:
        """A keyword of each request that does not say otherwise; None for none."""
        rest = {known: of for known, of in self._defaults.items() if known != name}
        if value is not None:
            draft = Draft(None, "/")
            try:
                KEYWORDS[name](draft, value)  # Is it one?
            finally:
                draft.free()
            rest[name] = value
        self._defaults = rest

    def _has_token(self, token: str) -> None:
        """A `refresh_token=` function has given it."""
        self._settings["auth"] = Bearer(token)

    def _set_digest(self, auth: Optional[DigestAuth]) -> None:
        kind = codes.AUTH_ANY if auth is not None and auth.basic else codes.AUTH_DIGEST
        user = None if auth is None else text(auth.username)
        password = None if auth is None else text(auth.password)
        check(lib.wherry_client_set_credentials(self._live(), None, kind, user, password))

    def _set_bases(self, bases: Mapping[str, Optional[str]]) -> Dict[str, str]:
        """Adds bases, or removes those that are None; all there are then."""
        known: Dict[str, str] = dict(self._settings.get("bases") or {})
        for name, url in bases.items():
            sent = text(url) if url else None
            check(lib.wherry_client_set_base(self._live(), text(name), sent))
            known.pop(name, None)
            if url:
                known[name] = url
        return known

    @property
    def base_url(self) -> str:
        """What relative URLs are joined to, "" for none."""
        return str(self._settings.get("base_url") or "")

    @base_url.setter
    def base_url(self, value: str) -> None:
        self.configure(base_url=value)

    @property
    def timeout(self) -> Timeout:
        """The time limits."""
        value = self._settings.get("timeout")
        return Timeout() if isinstance(value, Unset) else Timeout.of(value)

    @timeout.setter
    def timeout(self, value: TimeoutLike) -> None:
        self.configure(timeout=value)

    @property
    def auth(self) -> AuthLike:
        """The credentials sent with every request."""
        return self._settings.get("auth")

    @auth.setter
    def auth(self, value: AuthLike) -> None:
        self.configure(auth=value)

    @property
    def cookies(self) -> Cookies:
        """The cookies that servers and the program have set; see `Cookies`. Setting it replaces them."""
        from ._cookies import Cookies, OwnCookies

        if self._own_cookies is None:
            self._own_cookies = OwnCookies()
        return Cookies(self._live, self._own_cookies)

    @cookies.setter
    def cookies(self, values: Any) -> None:
        jar = self.cookies
        kept = values if hasattr(values, "keys") else list(values or ())
        kept = dict(pairs(kept)) if hasattr(kept, "keys") else kept
        jar.clear()
        jar.update(kept)

    @property
    def headers(self) -> ClientHeaders:
        """The fields sent with every request; changing them counts from the next one on. Setting it
        replaces them."""
        return ClientHeaders(self._fields, self._set_header, self._add_header)

    @headers.setter
    def headers(self, values: Any) -> None:
        given = [(name, value) for name, value in pairs(values or {}, "headers")]
        self.headers.clear()
        for name, value in given:
            self.headers.add(name, value)

    @property
    def params(self) -> ClientParams:
        """What goes into every query, live; a name that occurs several times has a list. Setting it
        replaces them: by a mapping, pairs, or the text of a query, which is sent as written."""
        return ClientParams(lambda: self._query, self._set_query)

    @params.setter
    def params(self, values: Union[Pairs, str, bytes, None]) -> None:
        self._set_query(queried(values) if isinstance(values, (str, bytes)) else pairs(values or {}, "params"))

    def _set_query(self, values: List[Tuple[str, Any]]) -> None:
        self._query = values

    @property
    def bases(self) -> Mapping[str, str]:
        """The base URLs that requests take by name."""
        return dict(self._settings.get("bases") or {})

    def set_parameter(self, name: str, value: Any) -> None:
        """A parameter of every request, beneath the request's own; None removes it."""
        sent = None if value is None else text(word(value), "bad_parameters")
        check(
            lib.wherry_client_set_parameter(self._live(), text(name, "bad_parameters"), sent)
        )
        kept = {k: v for k, v in self._settings.get("parameters", {}).items() if k != name}
        if value is not None:
            kept[name] = value
        self._settings["parameters"] = kept
        self._url_depends = self._is_loaded or bool(kept or self.base_url)

    @property
    def storage(self) -> str:
        """The folder for what this client keeps, made when first asked for."""
        return copy_text(lib.wherry_client_copy_storage, self._live())

    def _set_header(self, name: str, value: Optional[str]) -> None:
        sent = None if value is None else text(value, "bad_header")
        check(lib.wherry_client_set_header(self._live(), text(name, "bad_header"), sent))
        self._plain_asked = {}

    def _add_header(self, name: str, value: str) -> None:
        sent = text(name, "bad_header"), text(value, "bad_header")
        check(lib.wherry_client_add_header(self._live(), *sent))
        self._plain_asked = {}

    if not TYPE_CHECKING:  # Else type checkers would let any name pass.

        def __setattr__(self, name: str, value: Any) -> None:
            if name[0] != "_":
                refuse(self, name)
            object.__setattr__(self, name, value)

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
            error.request = self._asked(method, url, options).at(url)
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
        """Sends a request, such as `Response.next_request`; keywords go before what it has."""
        given: Dict[str, Any] = {"headers": request.headers.multi_items(), "auth": None}
        if request.content is not None and not any(name in options for name in BODIES):
            given["content"] = request.content
        return self._request(request.method, request.url, {**given, **options})

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
        if self._own_cookies is not None:
            self._seed_cookies(url, options)
        if self._defaults:
            options = {**self._defaults, **options}
        if "refresh_token" in options and self in refreshing.get():
            # Its own function sends this: it would wait for itself.
            options = {**options, "refresh_token": None}
        query = self._query
        own = options.get("params")
        if query and own is not None:
            own = queried(own)  # It may be an iterator, and is needed twice.
            options = {**options, "params": own}
            named = {name for name, _ in own}
            query = [(name, value) for name, value in query if word(name) not in named]
        if "follow_redirects" in options:
            options = self._redirects(options)
        draft = Draft(method, url)
        draft.asked = self._asked(method, url, options)
        if query:
            draft.apply({"params": query})
        if options:
            draft.apply(options)
            if codes.DECISION_TOKEN in draft.functions:
                draft.client = self
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
        return tuple(self.cookies)

    def _rebuild(self, noted: Any) -> None:
        bridge, log_file = self.__dict__.pop("_bridge", None), self._log_file
        BaseClient.__init__(self, transport=self._transport, **self._state())
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
        if self._transport is not None:
            raise TypeError("a client with a MockTransport cannot be pickled")
        return self._state()

    def _state(self) -> Dict[str, Any]:
        """The settings as keywords of a new client, except the transport."""
        state = dict(self._settings)
        state["headers"] = self.headers.multi_items()
        if self._own_cookies is not None and self._own_cookies.values:
            state["cookies"] = dict(self._own_cookies.values)
        state["params"] = list(self._query)
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
