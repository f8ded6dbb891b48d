# Wherry: the common base of blocking and asyncio clients
# SPDX-License-Identifier: Apache-2.0
"""Creating a client, using it in forked children, and closing it."""

from __future__ import annotations

import os

from .._core.calls import check, check_freed, copy_text, create, last_error
from .._core.options import Timeout, Unset
from .._core.values import path_text, text
from .._errors import (
    ArgumentError, Keyword, StateError, WherryError, name_keyword, warn_unclosed, without_query,
)  # fmt: skip
from .._native import codes
from .._native.forking import Forkable, after_in_child, is_forked
from .._native.library import lib
from .management import TransferManagement
from .monitoring import ClientMonitoring
from .requests import ClientRequests, ResponseT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

    from typing_extensions import Unpack

    from .._core.cookies import OwnCookies
    from .._core.credentials import AuthLike
    from .._core.exchange.event_hooks import Hooks
    from .._core.keywords import Cert, Pairs, Pins, Settings, Verify
    from .._core.options import TimeoutLike
    from .._core.request.arguments import RequestArguments
    from .._monitoring.reachability import Reachability
    from .._transports.router import MockRouter, Router

#: The default timeouts of a client.
DEFAULT_TIMEOUT = Timeout()


class BaseClient(Forkable, ClientRequests[ResponseT], TransferManagement, ClientMonitoring):
    """The connections, settings and running transfers of a client.

    See `Client` and `AsyncClient`.
    """

    _is_async = False
    #: Whether an unclosed client causes a ResourceWarning.
    _warns = True

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
        :param bases: Additional base URLs by name. A request selects one with ``base=``.
        :param headers: Headers of every request.
        :param params: Query parameters of every request.
        :param parameters: Default parameters, sent in the query or in the body, depending on the method.
        :param auth: The default credentials or auth flow.
        :param timeout: The default timeouts, in seconds.
        :param verify: True to verify certificates, the path of a CA file or folder, or PEM bytes. False
            turns verification off and prints one warning to stderr.
        :param cert: The client certificate: the path of a file (PEM or PKCS #12), (certificate, key), or
            (certificate, key, password). It is presented to the origin of ``base_url``. For other
            origins, pass a dictionary of certificates by origin.
        :param pins: Public key pins by host ("example.org", "*.example.org", "*"). The server's key must
            match one of them: "sha256/...", paths of certificates or folders, or bytes.
        :param follow_redirects: Whether redirects are followed.
        :param transport: Handles requests in place of the network: a `MockTransport`, a
            `WSGITransport`, or another `BaseTransport`.
        :param mounts: Transports by URL pattern. None means the network.
        :param event_hooks: Functions for "request" and "response", as in httpx.
        :param hooks: Alias of ``event_hooks``, named as in requests.
        :param trust_env: False ignores the proxy environment variables.
        :param config: The path of a settings file (see docs/configuration.md), or True to use the file
            that $WHERRY_CONFIG names. Keyword arguments take precedence over the file.

        The other keywords are named after the options in wherry.h; see help(wherry.Settings).
        """
        others: Dict[str, Any] = dict(settings)
        self._settings: Dict[str, Any] = {}
        #: Whether the response URL may differ from the request URL without a redirect.
        self._url_depends = True
        self._query: List[Tuple[str, Any]] = []
        #: Default keywords of every request.
        self._defaults: Dict[str, Any] = {}
        #: Increases with every change of the defaults.
        self._defaults_version = 1
        self._transport = transport
        self._mounts: Dict[str, Any] = {}
        if mounts:
            from .._core.forms import mapping

            self._mounts.update(mapping(mounts, "mounts"))
        #: Handles requests in place of the network.
        self._router: Union[Router, MockRouter, None] = None
        #: The event hooks, or None.
        self._hooks: Optional[Hooks] = None
        #: Whether requests pass through hooks, a transport, or an auth flow.
        self._extras = False
        self._fields: Dict[str, Tuple[str, List[str]]] = {}
        #: Cookies for every host, or None.
        self._own_cookies: Optional[OwnCookies] = None
        #: The request arguments that responses to requests without keywords share, by method.
        self._plain_arguments: Dict[Optional[str], RequestArguments] = {}
        #: Whether settings may come from a configuration file.
        self._is_loaded = bool(config)
        handle = create(lib.wherry_config_new)
        try:
            program = _program_name()
            if program:
                check(lib.wherry_config_set_text(handle, codes.TEXT_STORAGE_NAME, text(program)))
            if config:
                with Keyword("config"):
                    place = None if config is True else os.path.abspath(os.fspath(config))
                check(lib.wherry_config_load(handle, place and path_text(place)))
                self._settings["config"] = place or True
            if others:
                self._apply_fixed(handle, others)
            trust: Dict[str, Any] = {}
            if others or verify is not True or cert is not None or pins:
                from .._core.trust import apply_trust

                trust = apply_trust(handle, verify, cert, pins, base_url, others)
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
            # Other settings have their defaults, or come from the file.
            given: Dict[str, Any] = {}
            if not self._is_loaded:
                self._settings.update(base_url=base_url, bases={}, timeout=timeout, auth=None)
            if base_url:
                given["base_url"] = base_url
            if bases:
                given["bases"] = bases
            if timeout is not DEFAULT_TIMEOUT:
                given["timeout"] = timeout
            if auth is not None:
                given["auth"] = auth
            self._url_depends = self._is_loaded
            if given or others:
                self._configure({**given, **others})
            if headers:
                self._add_headers(headers)
            if params:
                self.params = params
            if cookies is not None:
                with Keyword("cookies"):
                    self.cookies.update(cookies)
            if event_hooks is not None or hooks is not None:
                from .._core.exchange.event_hooks import hooks_by_name

                own, by_event = hooks_by_name(hooks), hooks_by_name(event_hooks)
                self.event_hooks = {name: [*by_event[name], *own[name]] for name in by_event}
            self._settings["parameters"] = {}
            if parameters:
                from .._core.forms import pairs

                with Keyword("parameters"):
                    for name, value in pairs(parameters, "parameters"):
                        self.set_parameter(name, value)
        except BaseException:
            self._free()
            raise

    def _apply_fixed(self, config: int, others: Dict[str, Any]) -> None:
        """Applies the settings that only a new client accepts, and removes them from `others`."""
        from .._core.network import apply_network
        from .._core.settings import FIXED

        self._settings.update(apply_network(config, others))
        for name in [name for name in others if name in FIXED]:
            value = others.pop(name)
            if value is not None:
                self._settings[name] = value
                with Keyword(name):
                    check(lib.wherry_config_set_text(config, FIXED[name], text(value)))

    def _add_headers(self, values: Any) -> None:
        from .._core.forms import pairs

        with Keyword("headers"):
            headers = self.headers
            for name, value in pairs(values, "headers"):
                headers.add(name, value)

    @property
    def reachability(self) -> Reachability:
        """A monitor that reports whether any network is available. It runs only after `start` or
        `wait_until_reachable`."""
        from .._monitoring.reachability import of_client

        return of_client(self)

    @property
    def storage(self) -> str:
        """The storage directory of this client, created on first access."""
        return copy_text(lib.wherry_client_copy_storage, self._live())

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

    # Forks

    def _before_fork(self) -> Any:
        return tuple(self.cookies._jar())  # `_state` contains the cookies that were set without a domain.

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


def _program_name() -> str:
    """Returns the name of the running script for the storage folder; "" without a script."""
    import sys

    script = (getattr(sys, "argv", None) or [""])[0]
    if not isinstance(script, str) or not script or script.startswith("-"):
        return ""  # python -c, python -m while it starts, or a program on standard input
    path = os.path.abspath(script)
    if os.path.basename(path) == "__main__.py":  # python -m package, python folder
        path = os.path.dirname(path)
    name = os.path.splitext(os.path.basename(path))[0]
    is_usual = name.isascii() and name.replace("-", "_").replace(".", "_").isidentifier()
    return name if is_usual and not name.startswith((".", "-")) else ""


def restart() -> None:
    """Makes the library usable in a child process that C code forked without Python's fork hooks.

    After ``os.fork`` you do not need to call it: clients created before the fork work in the child,
    with the same settings and new connections.
    """
    if is_forked():
        after_in_child()
    check(lib.wherry_library_restart())
