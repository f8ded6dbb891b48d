# Wherry: proxies, addresses, and the .netrc file of a new client
# SPDX-License-Identifier: Apache-2.0
"""Settings of a new client whose values need conversion."""

from __future__ import annotations

import os

from .._errors import ArgumentError, Keyword, brief
from .._native import codes
from .._native.library import lib
from .calls import check
from .forms import mapping
from .values import as_names, path_text, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Tuple


def _proxy_auth(value: Any) -> bytes:
    is_pair = isinstance(value, (tuple, list)) and len(value) == 2
    if not is_pair or not all(isinstance(each, str) for each in value):
        # The message omits the value, which may contain a password.
        raise TypeError(f"proxy_auth= takes (user, password), each a str, not {type(value).__name__}")
    user, password = value
    if ":" in user:
        raise ArgumentError("the user name of a proxy must not contain a colon", "bad_value")
    return text(f"{user}:{password}")


def _no_proxy(value: Any) -> bytes:
    return text(",".join(as_names(value)))


def _resolve(value: Any) -> bytes:
    words = []
    for place, addresses in mapping(value, "resolve").items():
        words.append(f"{place}:{','.join(as_names(addresses))}")
    return text(" ".join(words))


def _unix_socket(value: Any) -> bytes:
    return path_text(os.path.abspath(os.fspath(value)))


def _netrc(value: Any) -> bytes:
    if value is True:
        return b"~/.netrc"
    if value is False:
        return b""
    path = os.fspath(value)
    return path_text(path if path[:2] in ("~/", b"~/") else os.path.abspath(path))


#: The option for each scheme in ``proxies=``, as requests and httpx write it.
SCHEMES = {
    "http": codes.TEXT_PROXY_HTTP,
    "https": codes.TEXT_PROXY_HTTPS,
    "all": codes.TEXT_PROXY,
    "no_proxy": codes.TEXT_NO_PROXY,
}


def _proxies(value: Any) -> Iterator[Tuple[int, bytes]]:
    for scheme, url in value.items():
        if not isinstance(scheme, str):
            raise TypeError(f'proxies= takes schemes such as "http" as keys, not {brief(scheme)}')
        if url is not None and not isinstance(url, (str, bytes)):
            raise TypeError(f"proxies= takes the URL of a proxy for {scheme!r}, not {type(url).__name__}")
        option = SCHEMES.get(scheme[:-3] if scheme.endswith("://") else scheme)
        if option is None:
            raise ArgumentError(
                f"Could not use the proxy of {scheme!r}: proxies= chooses by scheme. Use "
                '"http", "https", or "all", and pass hosts without a proxy as no_proxy=.',
                "bad_value",
            )
        yield option, text(url or "")


#: The option for each keyword, and the function that converts its value to text.
ROUTES: Dict[str, Tuple[int, Callable[[Any], bytes]]] = {
    "proxy_auth": (codes.TEXT_PROXY_CREDENTIALS, _proxy_auth),
    "no_proxy": (codes.TEXT_NO_PROXY, _no_proxy),
    "resolve": (codes.TEXT_RESOLVE, _resolve),
    "unix_socket": (codes.TEXT_UNIX_SOCKET, _unix_socket),
    "netrc": (codes.TEXT_NETRC, _netrc),
}


def apply_network(config: int, settings: Dict[str, Any]) -> Dict[str, Any]:
    """Applies the settings of this module, removes them from `settings`, and returns them."""
    proxies = settings.get("proxies") or {}
    if not hasattr(proxies, "items"):
        raise TypeError(
            'proxies= takes a mapping such as {"all": "http://proxy:8080"}, not '
            f"{type(proxies).__name__}. Use proxy= for one URL."
        )
    if settings.get("proxy") or any(proxies.values()):
        # NO_PROXY of the environment does not apply to explicit proxies, as in requests and httpx.
        if settings.get("no_proxy") is None and not proxies.get("no_proxy"):
            check(lib.wherry_config_set_text(config, codes.TEXT_NO_PROXY, b""))
    if settings.get("proxy") is not None and any(name in proxies for name in ("all", "all://")):
        raise TypeError('pass proxy= or proxies={"all": ...}, not both')
    applied = {name: settings.pop(name) for name in list(settings) if name in ROUTES or name == "proxies"}
    with Keyword("proxies"):
        for option, value in _proxies(proxies):
            check(lib.wherry_config_set_text(config, option, value))
    for name, value in applied.items():
        if value is not None and name != "proxies":
            option, convert = ROUTES[name]
            with Keyword(name):
                check(lib.wherry_config_set_text(config, option, convert(value)))
    return applied
