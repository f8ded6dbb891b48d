# Wherry: the way that connections take
# SPDX-License-Identifier: Apache-2.0
"""Settings of a new client that have a form of their own in Python (row C19)."""

from __future__ import annotations

import os

from . import _codes as codes
from ._bridge import check, lib, text
from ._errors import ArgumentError
from ._request_values import path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Tuple


def _proxy_auth(given: Any) -> bytes:
    if isinstance(given, str) or len(given) != 2:
        raise TypeError("proxy_auth= takes (user, password)")
    user, password = given
    if ":" in user:
        raise ArgumentError("the user name of a proxy cannot hold a colon", "bad_value")
    return text(f"{user}:{password}")


def _no_proxy(given: Any) -> bytes:
    return text(given if isinstance(given, str) else ",".join(given))


def _resolve(given: Any) -> bytes:
    words = []
    for place, addresses in given.items():
        several = addresses if isinstance(addresses, str) else ",".join(addresses)
        words.append(f"{place}:{several}")
    return text(" ".join(words))


def _unix_socket(given: Any) -> bytes:
    return path_text(os.path.abspath(os.fspath(given)))


#: The option behind each, and what makes its text.
ROUTES: Dict[str, Tuple[int, Callable[[Any], bytes]]] = {
    "proxy_auth": (codes.TEXT_PROXY_CREDENTIALS, _proxy_auth),
    "no_proxy": (codes.TEXT_NO_PROXY, _no_proxy),
    "resolve": (codes.TEXT_RESOLVE, _resolve),
    "unix_socket": (codes.TEXT_UNIX_SOCKET, _unix_socket),
}


def apply_route(config: int, settings: Dict[str, Any]) -> Dict[str, Any]:
    """Takes those of `settings` that are about the way of connections out, and sets them."""
    taken = {name: settings.pop(name) for name in list(settings) if name in ROUTES}
    for name, value in taken.items():
        if value is not None:
            option, convert = ROUTES[name]
            check(lib.wherry_config_set_text(config, option, convert(value)))
    return taken
