# Wherry: the cookies of a client
# SPDX-License-Identifier: Apache-2.0
"""`Cookies`: the cookie jar of a client."""

from __future__ import annotations

import struct
from _collections_abc import Iterator

from .._errors import ArgumentError, brief
from .._native.library import lib
from .._native.memory import text_at
from .calls import check, create, rows
from .forms import LISTS, as_text, pairs
from .values import path_text, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

    class Cookie(NamedTuple):
        """One cookie."""

        name: str
        value: str
        #: The domain, without a leading dot.
        domain: str
        path: str
        #: The expiry time in seconds since 1970; None for a session cookie.
        expires: Optional[int]
        #: Whether the cookie is sent to ``domain`` only, and not to its subdomains.
        host_only: bool
        #: Whether the cookie is sent over https only.
        secure: bool
        http_only: bool

else:
    from collections import namedtuple

    Cookie = namedtuple("Cookie", "name value domain path expires host_only secure http_only")
    Cookie.__doc__ = "One cookie."

#: wherry_cookie_row.
ROW = struct.Struct("=Q4Qq3i4x")


class Cookies:
    """The cookie jar of a client (RFC 6265).

    It stores cookies from responses and sends them with requests.

    Iterating yields `Cookie` objects. Names are the keys: ``client.cookies["session"] = "..."``. A
    cookie that is set by name only is sent to the host of every request URL, but not to another host
    after a redirect.

    The jar is kept in memory until the client is closed. `save` and `load` use the file format of curl,
    wget and ``http.cookiejar``. A client or a request with ``cookies=False`` does not use the jar.
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
        listing = create(lib.wherry_client_list_cookies, self._live())
        found = []
        for name, value, domain, path, expires, host, secure, http in rows(listing, lib.wherry_list_cookie, ROW):
            end = None if expires < 0 else expires
            found.append(
                Cookie(
                    text_at(name) or "",
                    text_at(value) or "",
                    text_at(domain) or "",
                    text_at(path) or "",
                    end,
                    host == 1,
                    secure == 1,
                    http == 1,
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
        """Returns the value of the first cookie with that name.

        Raises KeyError if there is none.
        """
        for cookie in self:
            if cookie.name == name:
                return cookie.value
        raise KeyError(name)

    def __setitem__(self, name: str, value: str) -> None:
        """Sets a cookie that is sent to the host of every request URL."""
        refuse(name, value)
        self._own.set(name, value)

    def __delitem__(self, name: str) -> None:
        """Removes all cookies with that name. Raises KeyError if there is none."""
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
        """Returns the value of the first matching cookie, or ``default`` if there is none."""
        for cookie in self:
            if cookie.name == name and _is_of(cookie, domain, path):
                return cookie.value
        return default

    def delete(self, name: str, domain: Optional[str] = None, path: Optional[str] = None) -> None:
        """Removes the cookies with that name, domain, and path.

        Raises KeyError if there is none.
        """
        found = [cookie for cookie in self if cookie.name == name and _is_of(cookie, domain, path)]
        if not found:
            raise KeyError(name)
        self._remove(found)
        if domain is None:
            self._own.remove(name)

    def pop(self, name: str, *default: Any) -> Any:
        """Removes all cookies with that name, and returns the value of the first.

        If there is no such cookie, returns the default, or raises KeyError if no default is given.
        """
        if default and name not in self:
            return default[0]
        value = self[name]
        del self[name]
        return value

    def set_cookie(self, cookie: Any) -> None:
        """Adds a cookie object of `http.cookiejar`, requests, or this package."""
        self.update([cookie])

    def _remove(self, cookies: List[Cookie]) -> None:
        for cookie in cookies:
            if cookie.domain:
                self._restore(cookie._replace(expires=0))
            else:
                self._own.remove(cookie.name)

    def keys(self) -> List[str]:
        """Returns the names, without duplicates."""
        return list(dict.fromkeys(cookie.name for cookie in self))

    def values(self) -> List[str]:
        """Returns one value for each name."""
        return list(self.get_dict().values())

    def items(self) -> List[Tuple[str, str]]:
        """Returns (name, value) pairs, one for each name."""
        return list(self.get_dict().items())

    def get_dict(self) -> Dict[str, str]:
        """Returns a dictionary with the value of the first cookie of each name."""
        found: Dict[str, str] = {}
        for cookie in self:
            found.setdefault(cookie.name, cookie.value)
        return found

    def update(self, cookies: Any) -> None:
        """Sets several cookies.

        Cookies from a mapping or from pairs are sent to the host of every request's URL. Cookies from a jar
        keep their domain.
        """
        for each in checked(cookies):
            if hasattr(each, "domain"):  # From `http.cookiejar` or another client.
                url = f"https://{each.domain.lstrip('.')}" if each.domain else None
                self.set(each.name, each.value or "", url, f"Path={each.path or '/'}")
            else:
                self[each[0]] = each[1]

    def set(
        self, name: str, value: str, url: Optional[str] = None, attributes: str = "Path=/",
        *, domain: Optional[str] = None, path: Optional[str] = None,
    ) -> None:  # fmt: skip
        """Sets a cookie for the host of a URL.

        ``attributes`` contains Set-Cookie attributes, such as "Path=/; Secure". ``domain`` and
        ``path`` have the same meaning as in requests and httpx. If neither a URL nor a domain is
        given, the cookie is sent to the host of every request URL.
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
        """Adds a cookie from another jar with all its attributes."""
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

    def clear(self, url: Optional[str] = None, *, domain: Optional[str] = None, path: Optional[str] = None) -> None:
        """Removes all cookies, or selected ones.

        With ``url``, removes the cookies that would be sent to the URL. With ``domain``, ``path``, or both,
        removes only the cookies that match.
        """
        if domain is not None or path is not None:
            self._remove([cookie for cookie in self if _is_of(cookie, domain, path)])
            return
        sent = None if url is None else text(url, "bad_url")
        if url is None:
            self._own.clear()
        check(lib.wherry_client_clear_cookies(self._live(), sent))

    def save(self, path: Union[str, os.PathLike[str]], *, sessions: bool = True) -> None:
        """Saves the cookies to a file that only its owner can read.

        ``sessions=False`` omits session cookies, which have no expiry time.
        """
        import os

        name = path_text(os.fspath(path))
        check(lib.wherry_client_save_cookies(self._live(), name, sessions))

    def load(self, path: Union[str, os.PathLike[str]]) -> None:
        """Loads cookies from a file. Invalid lines are ignored."""
        import os

        check(lib.wherry_client_load_cookies(self._live(), path_text(os.fspath(path))))

    def __repr__(self) -> str:
        return f"<Cookies {len(self)}>"


def _is_of(cookie: Cookie, domain: Optional[str], path: Optional[str]) -> bool:
    """Whether a cookie has that domain and path. None matches any."""
    return (domain is None or cookie.domain == domain.lstrip(".").lower()) and path in (None, cookie.path)


def cookie_pairs(cookies: Any, url: str) -> List[Tuple[str, str]]:
    """Returns the names and values of ``cookies=``, which is a mapping, pairs, or a jar.

    From a jar, only the cookies that match the URL are returned.
    """
    from urllib.parse import urlsplit

    found = []
    for each in checked(cookies):
        if not hasattr(each, "domain"):
            found.append((_text(each[0]), _text(each[1])))
            continue
        domain = (each.domain or "").lstrip(".").lower()
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        if domain and not host:
            raise ArgumentError(
                "Could not choose the cookies of a jar: the URL is relative. Give an absolute URL, or "
                "set the cookies on the client.", "bad_value",
            )  # fmt: skip
        is_wide = not getattr(each, "host_only", not (each.domain or "").startswith("."))
        is_host = not domain or host == domain or is_wide and host.endswith("." + domain)
        folder = (each.path or "/").rstrip("/")
        is_path = (parts.path or "/") == folder or (parts.path or "/").startswith(folder + "/")
        if is_host and is_path and (not each.secure or parts.scheme == "https"):
            found.append((each.name, each.value or ""))
    return found


def _text(value: Any) -> str:
    """Converts the name or value of a cookie to text."""
    try:
        if not isinstance(value, LISTS):
            return as_text(value)
    except TypeError:
        pass
    raise TypeError(
        f"cookies= takes text for the name and the value of a cookie, not {type(value).__name__}. Use json= for "
        "nested values."
    )


def checked(cookies: Any) -> List[Any]:
    """Returns the cookies of a mapping, pairs, or a jar, as (name, value) pairs or as objects with a domain."""
    if isinstance(cookies, (str, bytes)):
        raise TypeError(
            f"cookies= takes a mapping, pairs, or a jar, not {type(cookies).__name__}. Use headers={{'Cookie': ...}} "
            "for a text."
        )
    if is_plain_map(cookies):
        return pairs(cookies, "cookies")
    if not hasattr(cookies, "__iter__"):
        raise TypeError(f"cookies= takes a mapping, pairs, or a jar, not {type(cookies).__name__}")
    found: List[Any] = []
    for each in list(cookies):
        found += [each] if hasattr(each, "domain") else pairs((each,), "cookies")
    return found


def is_plain_map(cookies: Any) -> bool:
    """Whether ``cookies`` is a plain mapping of names to values.

    The jars of requests and of this package have keys too, but their cookies belong to domains.
    """
    return hasattr(cookies, "keys") and not any(hasattr(each, "domain") for each in cookies)


class OwnCookies:
    """The cookies that a program sets by name only. They are sent to the host of every request's URL."""

    __slots__ = ("values", "_changes", "_added")

    def __init__(self) -> None:
        self.values: Dict[str, str] = {}
        #: The names in the order of their last change.
        self._changes: List[str] = []
        #: The number of changes already applied to the jar, by origin.
        self._added: Dict[str, int] = {}

    def set(self, name: str, value: str) -> None:
        """Sends the cookie with later requests."""
        self.values = {**self.values, name: value}
        self._changes = [*self._changes, name]

    def remove(self, name: str) -> None:
        """Omits the cookie from later requests."""
        self.values = {known: value for known, value in self.values.items() if known != name}

    def clear(self) -> None:
        """Omits all of these cookies from later requests."""
        self.values = {}
        self._changes = []
        self._added = {}

    def add_to_jar(self, client: int, url: str) -> None:
        """Adds each cookie to the jar for the host of a URL, unless it was added for that host before.

        If the server sets or deletes a cookie of that name later, the server's change takes precedence.
        """
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(url)
        except ValueError:
            return  # The request will raise the error for its URL.
        origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        changes = self._changes
        done = self._added.get(origin, 0)
        if not parts.netloc or done == len(changes):
            return
        for name in dict.fromkeys(changes[done:]):
            if name in self.values:
                field = f"{name}={self.values[name]}; Path=/"
                if lib.wherry_client_set_cookie(client, text(origin, "bad_url"), text(field)):
                    return
        self._added = {**self._added, origin: len(changes)}


def refuse(name: Any, value: Any) -> None:
    """Raises an error if a cookie has an invalid name or value."""
    if not isinstance(name, str) or not isinstance(value, str):
        raise TypeError(f"the name and the value of a cookie must be str, not {brief(name)} and {type(value).__name__}")
    if not name or any(c in name + value for c in ";\r\n\0") or "=" in name:
        raise ArgumentError(
            "a cookie must not contain a semicolon or a line break, and its name must not be empty or contain =",
            "bad_value",
        )
