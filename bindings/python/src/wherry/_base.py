# Wherry: what blocking and asyncio clients share
# SPDX-License-Identifier: Apache-2.0
"""Configuration, live settings and the management of running transfers."""

from __future__ import annotations

from . import _codes as codes
from ._bridge import (
    Cell, check, copy_text, freed, last_error, lib, made, progress_of, text, transfer_rows,
)  # fmt: skip
from ._errors import ArgumentError, StateError, WherryError
from ._headers import ClientHeaders
from ._options import Timeout, Unset, credentials, flat, pairs, word
from ._progress import Progress, TransferInfo
from ._request import PLAIN, Draft, array_style, http_version, path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Generic, List, Mapping, Optional, Tuple, TypedDict
    from typing import TypeVar, Union

    from typing_extensions import Unpack

    from ._mock import MockTransport
    from ._options import AuthLike, TimeoutLike
    from ._request import Pairs, RequestOptions

    class LiveSettings(TypedDict, total=False):
        """The settings that can be changed at any time; wherry.h explains each."""

        max_redirects: int
        max_retries: int
        keep_auth_across_hosts: bool
        http_version: Union[str, int, None]
        compressed: int
        max_body_bytes: int
        max_header_bytes: int
        max_send_bytes_per_second: int
        max_receive_bytes_per_second: int
        json_only: bool
        array_style: str
        max_per_host: int
        max_connections: int
        make_directories: bool
        durability: int
        stall_bytes_per_second: int
        debug: bool
        app_version: Optional[str]
        user_agent: Optional[str]
        image_names: Optional[str]
        jpeg_type: Optional[str]

    class Settings(LiveSettings, total=False):
        """The settings of a new client."""

        storage_name: Optional[str]
        storage_directory: Optional[str]
        proxy: Optional[str]

    class Changes(LiveSettings, total=False):
        """What `BaseClient.configure` can change."""

        base_url: str
        bases: Optional[Mapping[str, Optional[str]]]
        timeout: Union[TimeoutLike, Unset]
        auth: AuthLike
        follow_redirects: bool

_NUMBERS: Dict[str, Tuple[int, Callable[[Any], int]]] = {
    "max_redirects": (codes.OPTION_MAX_REDIRECTS, int),
    "max_retries": (codes.OPTION_MAX_RETRIES, int),
    "keep_auth_across_hosts": (codes.OPTION_KEEP_AUTH_ACROSS_HOSTS, int),
    "http_version": (codes.OPTION_HTTP_VERSION, http_version),
    "compressed": (codes.OPTION_COMPRESSED, int),
    "max_body_bytes": (codes.OPTION_MAX_BODY_BYTES, int),
    "max_header_bytes": (codes.OPTION_MAX_HEADER_BYTES, int),
    "max_send_bytes_per_second": (codes.OPTION_MAX_SEND_BYTES_PER_SECOND, int),
    "max_receive_bytes_per_second": (codes.OPTION_MAX_RECEIVE_BYTES_PER_SECOND, int),
    "json_only": (codes.OPTION_JSON_ONLY, int),
    "array_style": (codes.OPTION_ARRAY_STYLE, array_style),
    "max_per_host": (codes.OPTION_MAX_PER_HOST, int),
    "max_connections": (codes.OPTION_MAX_CONNECTIONS, int),
    "make_directories": (codes.OPTION_MAKE_DIRECTORIES, int),
    "durability": (codes.OPTION_DURABILITY, int),
    "stall_bytes_per_second": (codes.OPTION_STALL_BYTES_PER_SECOND, int),
    "debug": (codes.OPTION_DEBUG, int),
    "follow_redirects": (codes.OPTION_MAX_REDIRECTS, lambda value: 10 if value else 0),
}
_TEXTS: Dict[str, int] = {
    "base_url": codes.TEXT_BASE_URL,
    "app_version": codes.TEXT_APP_VERSION,
    "user_agent": codes.TEXT_USER_AGENT,
    "image_names": codes.TEXT_IMAGE_NAMES,
    "jpeg_type": codes.TEXT_JPEG_TYPE,
}
#: Settings that only a new client can have.
_FIXED: Dict[str, int] = {
    "storage_name": codes.TEXT_STORAGE_NAME,
    "storage_directory": codes.TEXT_STORAGE_DIRECTORY,
    "proxy": codes.TEXT_PROXY,
}


if TYPE_CHECKING:
    Answer = TypeVar("Answer")
else:

    class Generic:
        """Stands for `typing.Generic`: typing would take longer to import than this package."""

        def __class_getitem__(cls, _: object) -> type:
            return cls

    Answer = None


class BaseClient(Generic[Answer]):
    """Connections, settings and running transfers; see `Client` and `AsyncClient`."""

    #: Whether an unclosed client is told of.
    _warns = True
    _handle = 0

    def __init__(
        self,
        *,
        base_url: str = "",
        bases: Union[Mapping[str, Optional[str]], None] = None,
        headers: Union[Mapping[str, str], None] = None,
        params: Union[Pairs, None] = None,
        parameters: Union[Mapping[str, Any], None] = None,
        auth: AuthLike = None,
        timeout: Union[TimeoutLike, Unset] = Timeout(),
        verify: Union[bool, str] = True,
        follow_redirects: bool = True,
        transport: Optional[MockTransport] = None,
        trust_env: bool = True,
        **settings: Unpack[Settings],
    ) -> None:
        """Every setting is a keyword, and all are optional.

        ``bases`` are further base URLs by name, which a request takes by ``base=``. ``params`` go
        into every query, ``parameters`` where the method wants them. ``verify`` is
        True, False (trusts anybody, and is logged) or the path of a CA file. ``trust_env=False``
        leaves the proxies of the environment alone. The others stand in `Settings`, named as the
        options of wherry.h.
        """
        others: Dict[str, Any] = dict(settings)
        self._settings: Dict[str, Any] = {}
        self._url_depends = True
        self._query: Dict[str, Any] = {}
        self._transport = transport
        self._fields: Dict[str, Tuple[str, str]] = {}
        config = made(lib.wherry_config_new)
        try:
            for name in list(others):
                if name in _FIXED:
                    value = others.pop(name)
                    if value is not None:
                        self._settings[name] = value
                        check(lib.wherry_config_set_text(config, _FIXED[name], text(value)))
            if verify is False:
                check(lib.wherry_config_set_option(config, codes.OPTION_INSECURE, 1))
            elif verify is not True:
                bundle = path_text(verify)
                check(lib.wherry_config_set_text(config, codes.TEXT_CA_FILE, bundle))
            if not trust_env:
                option = codes.OPTION_IGNORE_PROXY_ENVIRONMENT
                check(lib.wherry_config_set_option(config, option, 1))
            if transport is not None:
                check(lib.wherry_config_set_stub(config, transport._handle))
            self._handle = made(lib.wherry_client_new, config)
        finally:
            lib.wherry_config_free(config)
        self._settings.update(verify=verify, trust_env=trust_env)
        try:
            if not follow_redirects:
                others.setdefault("max_redirects", 0)
            said = {"base_url": base_url, "bases": bases, "timeout": timeout, "auth": auth}
            self._configure({**said, **others})
            for name, value in pairs(headers or {}):
                self.headers[name] = value
            self.params = params or {}
            self._settings["parameters"] = {}
            for name, value in pairs(parameters or {}):
                self.set_parameter(name, value)
        except BaseException:
            self._free()
            raise

    # Live settings

    def configure(self, **changes: Unpack[Changes]) -> None:
        """Changes settings for requests started afterwards; any thread may do so at any time."""
        self._configure(dict(changes))

    def _configure(self, settings: Dict[str, Any]) -> None:
        for name, value in settings.items():
            if name in _NUMBERS:
                option, convert = _NUMBERS[name]
                if value is not None:
                    check(lib.wherry_client_set_option(self._live(), option, convert(value)))
            elif name in _TEXTS:
                sent = text(value) if value else None
                check(lib.wherry_client_set_text(self._live(), _TEXTS[name], sent))
                if name == "base_url":
                    self._url_depends = bool(value)
            elif name == "bases":
                value = self._set_bases(value or {})
            elif name == "timeout":
                limits = Timeout() if isinstance(value, Unset) else Timeout.of(value)
                for option, number in limits.options():
                    check(lib.wherry_client_set_option(self._live(), option, number))
            elif name == "auth":
                found = credentials(value)
                if found is not None or self._settings.get("auth") is not None:
                    self._set_header("Authorization", None if found is None else found.field())
            else:
                raise TypeError(f"a client has no setting {name!r}")
            self._settings[name] = value

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
    def headers(self) -> ClientHeaders:
        """The fields sent with every request; changing them counts from the next one on."""
        return ClientHeaders(self._fields, self._set_header)

    @property
    def params(self) -> Mapping[str, Any]:
        """What goes into every query."""
        return dict(self._query)

    @params.setter
    def params(self, values: Pairs) -> None:
        self._query = dict(pairs(values))

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
        self._settings["parameters"] = kept if value is None else {**kept, name: value}

    @property
    def storage(self) -> str:
        """The folder for what this client keeps, made when first asked for."""
        return copy_text(lib.wherry_client_copy_storage, self._live())

    def _set_header(self, name: str, value: Optional[str]) -> None:
        sent = None if value is None else text(value, "bad_header")
        check(lib.wherry_client_set_header(self._live(), text(name, "bad_header"), sent))

    def _refusal(self, status: int) -> WherryError:
        """Why a request was not started."""
        error = last_error(status)
        return error if self._handle else StateError("this client is closed", "closed")

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
        """Sends a request; method None is GET without parameters or body, else POST."""
        return self._request(method, url, options)

    def get(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """GET."""
        return self._request("GET", url, options)

    def head(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """HEAD."""
        return self._request("HEAD", url, options)

    def post(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """POST."""
        return self._request("POST", url, options)

    def put(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """PUT."""
        return self._request("PUT", url, options)

    def patch(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """PATCH."""
        return self._request("PATCH", url, options)

    def delete(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """DELETE."""
        return self._request("DELETE", url, options)

    def options(self, url: str, **options: Unpack[RequestOptions]) -> Answer:
        """OPTIONS."""
        return self._request("OPTIONS", url, options)

    def _draft(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Draft:
        self._live()
        draft = Draft(method, url)
        if self._query:
            query = self._query
            own = options.get("params")
            if own is not None and not isinstance(own, (str, bytes)):
                named = {word(name) for name, _ in flat(own)}
                query = {k: v for k, v in query.items() if k not in named}
            draft.apply({"params": query})
        return draft.apply(options) if options else draft

    def identifier(self, method: Optional[str], url: str, **options: Any) -> str:
        """The name of such a request, for `cancel`, `count` and the like."""
        draft = self._draft(method, url, options)
        try:
            name = lib.wherry_request_identifier(draft.handle, self._live())
            if name is None:
                raise ArgumentError(f"{url!r} has no identifier", "bad_url")
            return str(name.decode())
        finally:
            draft.free()

    # Management

    def transfers(self, **which: Optional[str]) -> List[TransferInfo]:
        """What runs: all, or by one of ``url=``, ``tag=``, ``identifier=`` or ``path=``."""
        listing = made(lib.wherry_client_list, self._live(), *_match(which))
        return [TransferInfo(row) for row in transfer_rows(listing)]

    def count(self, **which: Optional[str]) -> int:
        """How many of them run."""
        return int(lib.wherry_client_count(self._live(), *_match(which)))

    def cancel(self, **which: Optional[str]) -> int:
        """Cancels them and tells how many; downloads keep what they have."""
        return self._verb(lib.wherry_client_cancel, which)

    def pause(self, **which: Optional[str]) -> int:
        """Pauses them and tells how many."""
        return self._verb(lib.wherry_client_pause, which)

    def resume(self, **which: Optional[str]) -> int:
        """Lets paused ones go on and tells how many."""
        return self._verb(lib.wherry_client_resume, which)

    def discard(self, **which: Optional[str]) -> int:
        """Cancels them and deletes what downloads have kept, also of earlier runs."""
        return self._verb(lib.wherry_client_discard, which)

    def progress(self, **which: Optional[str]) -> Progress:
        """How far they have come, added up."""
        match = _match(which)
        return Progress(progress_of(lib.wherry_client_progress, self._live(), *match))

    def _verb(self, function: Any, which: Mapping[str, Optional[str]]) -> int:
        count = Cell()
        check(function(self._live(), *_match(which), count.address))
        return count.take()

    # The end

    @property
    def is_closed(self) -> bool:
        """Whether the client takes no more requests."""
        return not self._handle

    def _free(self) -> None:
        handle, self._handle = self._handle, 0
        if handle:
            free_client(handle)

    def __del__(self) -> None:
        if not self._handle:
            return
        if self._warns:
            import warnings

            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        try:
            self._free()
        except (WherryError, TypeError, AttributeError):
            pass  # At the interpreter's end the library may be half gone.

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        return f"<{type(self).__name__} {self.base_url or '(no base)'} {state}>"

    def __getstate__(self) -> Dict[str, Any]:
        if self._transport is not None:
            raise TypeError("a client with a MockTransport cannot be pickled")
        state = dict(self._settings)
        state["headers"] = dict(self.headers.items())
        state["params"] = dict(self._query)
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        type(self).__init__(self, **state)


def free_client(handle: int) -> None:
    """Frees a native client and what it runs."""
    freed(lib.wherry_client_free(handle))


def _match(which: Mapping[str, Optional[str]]) -> Tuple[int, Optional[bytes]]:
    """The match and key behind ``url=``, ``tag=``, ``identifier=``, ``path=`` or nothing."""
    matches = {
        "url": codes.MATCH_URL,
        "tag": codes.MATCH_TAG,
        "identifier": codes.MATCH_IDENTIFIER,
        "path": codes.MATCH_PATH,
    }
    for name in which:
        if name not in matches:
            raise TypeError(f"transfers are found by {', '.join(matches)}, not by {name!r}")
    said = [(matches[name], key) for name, key in which.items() if key is not None]
    if len(said) > 1:
        raise ArgumentError("only one of url=, tag=, identifier= and path= at a time", "bad_option")
    if not said:
        return codes.MATCH_ALL, None
    match, key = said[0]
    return match, path_text(str(key)) if match == codes.MATCH_PATH else text(key)


def restart() -> None:
    """In a forked child: makes the library usable again. Every older object stays dead."""
    from . import _api

    check(lib.wherry_library_restart())
    PLAIN.clear()
    _api.forget()


