# Wherry: the cookies of a client
# SPDX-License-Identifier: Apache-2.0
"""What servers have asked a client to send back."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ._bridge import check, lib, made, rows, text, text_at
from ._errors import ArgumentError
from ._request import path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Callable, NamedTuple, Optional, Union

    class Cookie(NamedTuple):
        """One cookie."""

        name: str
        value: str
        #: Without a dot before it.
        domain: str
        path: str
        #: Seconds since 1970; None for one that goes with its client.
        expires: Optional[int]
        #: Sent to ``domain`` alone, and not to the names below it.
        host_only: bool
        #: Sent over https alone.
        secure: bool
        http_only: bool

else:
    from collections import namedtuple

    Cookie = namedtuple(
        "Cookie", "name value domain path expires host_only secure http_only"
    )
    Cookie.__doc__ = "One cookie."

#: wherry_cookie_row with its size.
ROW = struct.Struct("=Q4Qq3i4x")


class Cookies:
    """The cookie jar of a client (RFC 6265): what any of its requests set, all of them send.

    Iterating gives every `Cookie`. The jar lives in memory and goes with its client; `save` and
    `load` use a file that curl, wget and ``http.cookiejar`` understand. Requests of a client made
    with ``cookies=False``, or with that keyword, have nothing to do with it.
    """

    def __init__(self, live: Callable[[], int]) -> None:
        self._live = live

    def __iter__(self) -> Iterator[Cookie]:
        listing = made(lib.wherry_client_list_cookies, self._live())
        found = []
        for name, value, domain, path, expires, host, secure, http in rows(
            listing, lib.wherry_list_cookie, ROW
        ):
            end = None if expires < 0 else expires
            found.append(
                Cookie(
                    text_at(name) or "", text_at(value) or "", text_at(domain) or "",
                    text_at(path) or "", end, host == 1, secure == 1, http == 1,
                )  # fmt: skip
            )
        return iter(found)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> str:
        """The value of the first cookie of that name; KeyError if there is none."""
        for cookie in self:
            if cookie.name == name:
                return cookie.value
        raise KeyError(name)

    def get(self, name: str, default: Optional[str] = None) -> Optional[str]:
        """The value of the first cookie of that name, or the default."""
        try:
            return self[name]
        except KeyError:
            return default

    def set(self, name: str, value: str, url: str, attributes: str = "Path=/") -> None:
        """Adds a cookie for the host of a URL; ``attributes`` as in Set-Cookie: "Path=/; Secure"."""
        if any(c in name + value for c in ";\r\n\0") or "=" in name:
            raise ArgumentError("a cookie has no ; and no line in it, and no = in its name", "bad_value")
        field = f"{name}={value}; {attributes}"
        check(lib.wherry_client_set_cookie(self._live(), text(url, "bad_url"), text(field)))

    def _restore(self, cookie: Cookie) -> None:
        """Adds a cookie of another jar as it was."""
        import time

        host = f"[{cookie.domain}]" if ":" in cookie.domain else cookie.domain
        field = f"{cookie.name}={cookie.value}; Path={cookie.path}"
        if not cookie.host_only:
            field += f"; Domain={cookie.domain}"
        if cookie.expires is not None:
            field += f"; Max-Age={cookie.expires - int(time.time())}"
        if cookie.http_only:
            field += "; HttpOnly"
        if cookie.secure:
            field += "; Secure"
        scheme = "https" if cookie.secure else "http"
        sent = text(f"{scheme}://{host}{cookie.path}", "bad_url"), text(field)
        check(lib.wherry_client_set_cookie(self._live(), *sent))

    def clear(self, url: Optional[str] = None) -> None:
        """Removes those that would go to a URL; all without one."""
        sent = None if url is None else text(url, "bad_url")
        check(lib.wherry_client_clear_cookies(self._live(), sent))

    def save(self, path: Union[str, os.PathLike[str]], *, sessions: bool = True) -> None:
        """Writes them into a file for its owner alone; ``sessions=False`` only those with an end."""
        import os

        name = path_text(os.fspath(path))
        check(lib.wherry_client_save_cookies(self._live(), name, sessions))

    def load(self, path: Union[str, os.PathLike[str]]) -> None:
        """Adds those of a file; lines that make no sense are passed over."""
        import os

        check(lib.wherry_client_load_cookies(self._live(), path_text(os.fspath(path))))

    def __repr__(self) -> str:
        return f"<Cookies {len(self)}>"
