# Wherry: the live settings of a client
# SPDX-License-Identifier: Apache-2.0
"""The part of a client that holds its live settings: those that can change at any time."""

from __future__ import annotations

from .._core.calls import check
from .._core.options import Timeout, Unset
from .._core.values import as_names, keyword_int, text
from .._errors import ArgumentError, name_keyword
from .._native import codes
from .._native.library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

    from typing_extensions import Unpack

    from .._core.cookies import Cookies, OwnCookies
    from .._core.credentials import AuthLike, DigestAuth
    from .._core.exchange.event_hooks import Hooks
    from .._core.headers import ClientHeaders
    from .._core.keywords import Changes, Pairs
    from .._core.options import TimeoutLike
    from .._core.query import ClientParams
    from .._core.request.arguments import RequestArguments


class LiveSettings:
    """See `BaseClient`."""

    if TYPE_CHECKING:
        _settings: Dict[str, Any]
        _defaults: Dict[str, Any]
        _defaults_version: int
        _query: List[Tuple[str, Any]]
        _fields: Dict[str, Tuple[str, List[str]]]
        _own_cookies: Optional[OwnCookies]
        _plain_arguments: Dict[Optional[str], RequestArguments]
        _url_depends: bool
        _is_loaded: bool
        _hooks: Optional[Hooks]
        _extras: bool
        _is_async: bool

        def _live(self) -> int:
            """See `BaseClient`."""

        def _redirects(self, options: Mapping[str, Any]) -> Dict[str, Any]:
            """See `ClientRequests`."""

        def add_secret_name(self, name: str) -> None:
            """See `ClientMonitoring`."""

    #: The charset of text responses that declare none; None uses the default of `Response`.
    _default_encoding: Any = None

    @property
    def trust_env(self) -> bool:
        """Whether the client uses the proxy settings of the environment."""
        return bool(self._settings.get("trust_env", True))

    def configure(self, **changes: Unpack[Changes]) -> None:
        """Changes settings for requests that start afterwards. Can be called from any thread."""
        self._configure(dict(changes))

    def _configure(self, settings: Dict[str, Any]) -> None:
        from .._core.settings import CHANGEABLE, FIXED

        if "follow_redirects" in settings:
            settings = self._redirects(settings)
        for name, value in settings.items():
            if name not in CHANGEABLE:
                from .._core.hints import SETTING, unknown

                known = (*CHANGEABLE, *FIXED, "verify")
                raise unknown("a client has no setting", name, SETTING, known)
            try:
                self._apply_setting(name, value)
            except (TypeError, ArgumentError) as error:
                name_keyword(name, error)
                raise
        self._plain_arguments = {}

    def _apply_setting(self, name: str, value: Any) -> None:
        from .._core.settings import DEFAULTS, NONE_IS_A_VALUE, NUMBERS, TEXTS

        if name in NUMBERS:
            option, convert = NUMBERS[name]
            if value is not None or name in NONE_IS_A_VALUE:
                number = keyword_int(name, convert, value)
                check(lib.wherry_client_set_option(self._live(), option, number))
        elif name in TEXTS:
            sent = text(value) if value else None
            check(lib.wherry_client_set_text(self._live(), TEXTS[name], sent))
            if name == "base_url":
                self._url_depends = self._is_loaded or bool(value or self._settings.get("parameters"))
        elif name == "bases":
            value = self._set_bases(value)
        elif name == "secret_names":
            for secret in as_names(value or ()):
                self.add_secret_name(secret)
            return
        elif name == "timeout":
            limits = Timeout() if isinstance(value, Unset) else Timeout.of(value)
            for option, number in limits.options():
                check(lib.wherry_client_set_option(self._live(), option, number))
        elif name == "auth":
            self._set_auth(value)
        elif name in DEFAULTS:
            self._set_default(name, value)
        else:
            from .._core.response.response import checked_encoding

            self._default_encoding = None if value is None else checked_encoding(value)
            self._extras = self._extras or value is not None
        self._settings[name] = value

    def _set_auth(self, value: Any) -> None:
        from .._core.credentials import Basic, Bearer, DigestAuth, credentials, is_flow

        known = self._settings.get("auth")
        found = None if is_flow(value) else credentials(value)
        before = None if is_flow(known) else credentials(known)
        self._extras = self._extras or is_flow(value)
        if isinstance(found, DigestAuth) or isinstance(before, DigestAuth):
            self._set_digest(found if isinstance(found, DigestAuth) else None)
        token = text(found.token, "bad_header") if isinstance(found, Bearer) else None
        if token is not None or isinstance(before, Bearer):
            option = codes.TEXT_BEARER_TOKEN
            check(lib.wherry_client_set_text(self._live(), option, token))
        field = found.field() if isinstance(found, Basic) else None
        if field is not None or isinstance(before, Basic):
            self._set_header("Authorization", field)

    def _set_default(self, name: str, value: Any) -> None:
        """Sets the default of a request keyword; None removes the default."""
        from .._core.exchange.draft import KEYWORDS, Draft

        rest = {known: of for known, of in self._defaults.items() if known != name}
        if value is not None:
            draft = Draft(None, "/")
            try:
                KEYWORDS[name](draft, value)  # Raises an error for an invalid value.
            finally:
                draft.free()
            rest[name] = value
        self._defaults = rest
        self._defaults_version += 1

    def _has_token(self, token: str) -> None:
        """Stores the token that a ``refresh_token=`` hook returned."""
        from .._core.credentials import Bearer

        self._settings["auth"] = Bearer(token)

    def _set_digest(self, auth: Optional[DigestAuth]) -> None:
        kind = codes.AUTH_ANY if auth is not None and auth.basic else codes.AUTH_DIGEST
        user = None if auth is None else text(auth.username)
        password = None if auth is None else text(auth.password)
        check(lib.wherry_client_set_credentials(self._live(), None, kind, user, password))

    def _set_bases(self, bases: Optional[Mapping[str, Optional[str]]]) -> Dict[str, str]:
        """Adds base URLs, or removes those whose value is None. Returns all base URLs."""
        from .._core.forms import mapping

        known: Dict[str, str] = dict(self._settings.get("bases") or {})
        for name, url in mapping(bases or {}, "bases").items():
            sent = text(url) if url else None
            check(lib.wherry_client_set_base(self._live(), text(name), sent))
            known.pop(name, None)
            if url:
                known[name] = url
        return known

    @property
    def base_url(self) -> str:
        """The URL that relative URLs are joined to; "" if there is none."""
        return str(self._settings.get("base_url") or "")

    @base_url.setter
    def base_url(self, value: str) -> None:
        self.configure(base_url=value)

    @property
    def timeout(self) -> Timeout:
        """The timeouts of the client."""
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
        """The cookies that servers and the program have set; see `Cookies`.

        Assignment replaces all cookies.
        """
        from .._core.cookies import Cookies, OwnCookies

        if self._own_cookies is None:
            self._own_cookies = OwnCookies()
        return Cookies(self._live, self._own_cookies)

    @cookies.setter
    def cookies(self, values: Any) -> None:
        from .._core.cookies import checked

        jar = self.cookies
        cookies = checked(values or ())
        jar.clear()
        jar.update(cookies)

    @property
    def headers(self) -> ClientHeaders:
        """The headers sent with every request.

        Changes apply to later requests. Assignment replaces all headers.
        """
        from .._core.headers import ClientHeaders

        return ClientHeaders(self._fields, self._set_header, self._add_header)

    @headers.setter
    def headers(self, values: Any) -> None:
        from .._core.forms import pairs
        from .._core.headers import refuse_field

        items = pairs(values or {}, "headers")
        for name, value in items:
            refuse_field(name, value)
        self.headers.clear()
        for name, value in items:
            self.headers.add(name, value)

    @property
    def params(self) -> ClientParams:
        """The parameters added to every query. Changes apply to later requests.

        A name that occurs several times has a list of values. Assignment replaces all parameters.
        Assign a mapping, pairs, or a query string. A query string is sent as written.
        """
        from .._core.query import ClientParams

        return ClientParams(lambda: self._query, self._set_query)

    @params.setter
    def params(self, values: Union[Pairs, str, bytes, None]) -> None:
        from .._core.forms import LISTS, pairs, query_pairs

        if isinstance(values, (str, bytes)):
            self._set_query(query_pairs(values))
            return
        items = pairs(values or {}, "params")
        # Copy iterators, because every request needs the items.
        self._set_query([(name, list(of) if isinstance(of, LISTS) else of) for name, of in items])

    @property
    def event_hooks(self) -> Hooks:
        """The hooks called with each request and response: lists under "request" and "response".

        The lists can be edited. Assignment replaces all hooks.
        """
        from .._core.exchange.event_hooks import hooks_by_name

        if self._hooks is None:
            self._hooks = hooks_by_name(None)
            self._extras = True
        return self._hooks

    @event_hooks.setter
    def event_hooks(self, hooks: Optional[Mapping[str, Any]]) -> None:
        from .._core.exchange.event_hooks import hooks_by_name

        self._hooks = hooks_by_name(hooks)
        self._extras = True

    @property
    def hooks(self) -> Hooks:
        """Alias of `event_hooks`, named as in requests."""
        return self.event_hooks

    @hooks.setter
    def hooks(self, hooks: Optional[Mapping[str, Any]]) -> None:
        self.event_hooks = hooks

    def _with_hooks(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the keywords with the request hooks added to the ``adapt=`` hook."""
        rest = {name: value for name, value in options.items() if name != "hooks"}
        before = [] if self._hooks is None or options.get("hooks") is False else self._hooks["request"]
        if before:
            from .._core.exchange.event_hooks import adapt_with_hooks

            rest["adapt"] = adapt_with_hooks(before, rest.get("adapt"), self._is_async)
        return rest

    def _set_query(self, values: List[Tuple[str, Any]]) -> None:
        self._query = values

    @property
    def bases(self) -> Mapping[str, str]:
        """The named base URLs, read-only. Use `configure` to change them."""
        from types import MappingProxyType

        return MappingProxyType(dict(self._settings.get("bases") or {}))

    def set_parameter(self, name: str, value: Any) -> None:
        """Sets a parameter of every request; None removes it.

        A parameter of the request itself takes precedence.
        """
        from .._core.forms import as_text

        sent = None if value is None else text(as_text(value), "bad_parameters")
        check(lib.wherry_client_set_parameter(self._live(), text(name, "bad_parameters"), sent))
        parameters = {k: v for k, v in self._settings.get("parameters", {}).items() if k != name}
        if value is not None:
            parameters[name] = value
        self._settings["parameters"] = parameters
        self._url_depends = self._is_loaded or bool(parameters or self.base_url)

    def _set_header(self, name: str, value: Optional[str]) -> None:
        sent = None if value is None else text(value, "bad_header")
        check(lib.wherry_client_set_header(self._live(), text(name, "bad_header"), sent))
        self._plain_arguments = {}

    def _add_header(self, name: str, value: str) -> None:
        sent = text(name, "bad_header"), text(value, "bad_header")
        check(lib.wherry_client_add_header(self._live(), *sent))
        self._plain_arguments = {}

    if not TYPE_CHECKING:  # Otherwise, type checkers would accept any name.

        def __setattr__(self, name: str, value: Any) -> None:
            if name[0] != "_":
                from .._core.hints import refuse

                refuse(self, name, value)
            object.__setattr__(self, name, value)

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # A property raised this error: show the error itself.
                return object.__getattribute__(self, name)
            from .._core.hints import client_hint, missing

            raise missing(self, name, client_hint(name, self._is_async))
