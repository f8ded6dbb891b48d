# Wherry: the cookies of a client
# SPDX-License-Identifier: Apache-2.0
"""What servers have asked a client to send back."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ._bridge import check, lib, made, rows, text, text_at
from ._errors import ArgumentError, brief
from ._options import word
from ._request_values import path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple, Union

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
    """The cookies of a client (RFC 6265): what any of its responses set, all of its requests send.

    Iterating gives every `Cookie`; names are its keys: ``client.cookies["session"] = "..."``. A
    cookie that is set by its name alone is sent to every host that a request names, and after a
    redirect to no other. The jar lives in memory and goes with its client; `save` and `load` use a
    file that curl, wget and ``http.cookiejar`` understand. Requests of a client made with
    ``cookies=False``, or with that keyword, have nothing to do with it.
    """

    def __init__(self, live: Callable[[], int], own: Optional[OwnCookies] = None) -> None:
        self._live = live
        self._own = OwnCookies() if own is None else own

    def __iter__(self) -> Iterator[Cookie]:
        found = self._jar()
        known = {cookie.name for cookie in found}
        for name, value in self._own.values.items():
            if name not in known:
                found.append(Cookie(name, value, "", "/", None, False, False, False))
        return iter(found)

    def _jar(self) -> List[Cookie]:
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
        return found

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __contains__(self, name: object) -> bool:
        return any(cookie.name == name for cookie in self)

    def __getitem__(self, name: str) -> str:
        """The value of the first cookie of that name; KeyError if there is none."""
        for cookie in self:
            if cookie.name == name:
                return cookie.value
        raise KeyError(name)

    def __setitem__(self, name: str, value: str) -> None:
        """Sends a cookie to every host that a request names."""
        refuse(name, value)
        self._own.set(name, value)

    def __delitem__(self, name: str) -> None:
        """Removes the cookies of that name; KeyError if there is none."""
        if name not in self:
            raise KeyError(name)
        self._own.remove(name)
        for cookie in self._jar():
            if cookie.name == name:
                self._restore(cookie._replace(expires=0))

    def get(
        self, name: str, default: Optional[str] = None, domain: Optional[str] = None,
        path: Optional[str] = None,
    ) -> Optional[str]:  # fmt: skip
        """The value of the first cookie of that name, domain, and path, or the default."""
        for cookie in self:
            if cookie.name == name and _is_of(cookie, domain, path):
                return cookie.value
        return default

    def delete(self, name: str, domain: Optional[str] = None, path: Optional[str] = None) -> None:
        """Removes the cookies of that name, domain, and path; KeyError if there is none."""
        found = [cookie for cookie in self if cookie.name == name and _is_of(cookie, domain, path)]
        if not found:
            raise KeyError(name)
        self._remove(found)

    def _remove(self, cookies: List[Cookie]) -> None:
        for cookie in cookies:
            if cookie.domain:
                self._restore(cookie._replace(expires=0))
            else:
                self._own.remove(cookie.name)

    def keys(self) -> List[str]:
        """The names, each once."""
        return list(dict.fromkeys(cookie.name for cookie in self))

    def values(self) -> List[str]:
        """A value for each name."""
        return list(self.get_dict().values())

    def items(self) -> List[Tuple[str, str]]:
        """Each name with a value."""
        return list(self.get_dict().items())

    def get_dict(self) -> Dict[str, str]:
        """A value for each name: that of the first cookie."""
        found: Dict[str, str] = {}
        for cookie in self:
            found.setdefault(cookie.name, cookie.value)
        return found

    def update(self, cookies: Any) -> None:
        """Sets cookies: those of a mapping or of pairs for every host, those of a jar for their own."""
        is_map = is_plain_map(cookies)
        for each in () if is_map else list(cookies):
            if hasattr(each, "domain"):  # Of `http.cookiejar`, or another client's.
                url = f"https://{each.domain.lstrip('.')}" if each.domain else None
                self.set(each.name, each.value or "", url, f"Path={each.path or '/'}")
            else:
                self[each[0]] = each[1]
        for name in cookies.keys() if is_map else ():
            self[name] = cookies[name]

    def set(
        self, name: str, value: str, url: Optional[str] = None, attributes: str = "Path=/",
        *, domain: Optional[str] = None, path: Optional[str] = None,
    ) -> None:  # fmt: skip
        """Adds a cookie for the host of a URL; ``attributes`` as in Set-Cookie: "Path=/; Secure".

        ``domain`` and ``path`` say the same as in requests and httpx. With neither a URL nor a domain
        the cookie is sent to every host that a request names.
        """
        refuse(name, value)
        if url is None and not domain:
            self[name] = value
            return
        if path is not None:
            attributes = f"Path={path}"
        if domain:
            host = domain.lstrip(".")
            url = url or f"https://{host}"
            if domain.startswith("."):
                attributes += f"; Domain={host}"
        field = f"{name}={value}; {attributes}"
        check(lib.wherry_client_set_cookie(self._live(), text(url or "", "bad_url"), text(field)))

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

    def clear(
        self, url: Optional[str] = None, *, domain: Optional[str] = None, path: Optional[str] = None
    ) -> None:
        """Removes those that would go to a URL, or those of a domain and path; else all."""
        if domain is not None or path is not None:
            self._remove([cookie for cookie in self if _is_of(cookie, domain, path)])
            return
        sent = None if url is None else text(url, "bad_url")
        if url is None:
            self._own.clear()
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


def _is_of(cookie: Cookie, domain: Optional[str], path: Optional[str]) -> bool:
    """Whether a cookie has that domain and path; None is any."""
    return (domain is None or cookie.domain == domain.lstrip(".").lower()) and path in (None, cookie.path)


def cookie_pairs(cookies: Any, url: str) -> List[Tuple[str, str]]:
    """Names and values of ``cookies=``: a mapping, pairs, or a jar, of which those for a URL count."""
    from urllib.parse import urlsplit

    if is_plain_map(cookies):
        return [(word(name), word(cookies[name])) for name in cookies.keys()]
    found = []
    for each in list(cookies):
        if not hasattr(each, "domain"):
            found.append((word(each[0]), word(each[1])))
            continue
        domain = (each.domain or "").lstrip(".").lower()
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        if domain and not host:
            raise ArgumentError(
                "Could not choose the cookies of a jar: the URL is relative. Give an absolute URL, or "
                "set the cookies on the client", "bad_value",
            )  # fmt: skip
        is_wide = not getattr(each, "host_only", not (each.domain or "").startswith("."))
        is_host = not domain or host == domain or is_wide and host.endswith("." + domain)
        folder = (each.path or "/").rstrip("/")
        is_path = (parts.path or "/") == folder or (parts.path or "/").startswith(folder + "/")
        if is_host and is_path and (not each.secure or parts.scheme == "https"):
            found.append((each.name, each.value or ""))
    return found


def is_plain_map(cookies: Any) -> bool:
    """Whether cookies are names with values. The jar of requests has keys too, and so has ours: their
    cookies belong to domains."""
    return hasattr(cookies, "keys") and not any(hasattr(each, "domain") for each in cookies)


class OwnCookies:
    """The cookies that a program has set by their names alone, for every host."""

    __slots__ = ("values", "_seeded")

    def __init__(self) -> None:
        self.values: Dict[str, str] = {}
        #: The origins whose jar has them.
        self._seeded: Set[str] = set()

    def set(self, name: str, value: str) -> None:
        """Has later requests send it."""
        self.values = {**self.values, name: value}
        self._seeded = set()

    def remove(self, name: str) -> None:
        """Has later requests leave it out."""
        self.values = {known: value for known, value in self.values.items() if known != name}

    def clear(self) -> None:
        """Has later requests leave all of them out."""
        self.values = {}
        self._seeded = set()

    def seed(self, client: int, url: str) -> None:
        """Puts them into the jar for the host of a URL, once: what the server sets later goes first."""
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(url)
        except ValueError:
            return  # The request says what is wrong with its URL.
        origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        if not parts.netloc or origin in self._seeded:
            return
        for name, value in self.values.items():
            field = f"{name}={value}; Path=/"
            if lib.wherry_client_set_cookie(client, text(origin, "bad_url"), text(field)):
                return
        self._seeded = {*self._seeded, origin}


def refuse(name: Any, value: Any) -> None:
    """An error for what no cookie can be."""
    if not isinstance(name, str) or not isinstance(value, str):
        raise TypeError(f"a cookie has a name and a value of str, not {brief(name)} and {type(value).__name__}")
    if not name or any(c in name + value for c in ";\r\n\0") or "=" in name:
        raise ArgumentError(
            "a cookie has no ; and no line in it, and no = in its name, which is not empty", "bad_value"
        )


__all__ = ["Cookie", "Cookies", "OwnCookies"]
