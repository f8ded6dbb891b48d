# Wherry: the request behind a response or an error
# SPDX-License-Identifier: Apache-2.0
"""`SentRequest` is `Response.request`, `WherryError.request`, and `Response.next_request`."""

from __future__ import annotations

from ._errors import shown
from ._headers import Headers
from ._options import Basic, Bearer, credentials, flat, is_form, json_bytes, pairs, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, List, Mapping, Optional, Tuple

    Field = Tuple[str, str]

#: Statuses that redirect, as far as there is a Location.
REDIRECTS = frozenset((301, 302, 303, 307, 308))


class SentRequest:
    """A request that was sent, or that `Client.send` can send. Attributes:

    ``method``   such as "GET"
    ``url``      absolute, with the whole query
    ``headers``  the fields that the program gave, for the client or the request; the library adds others
    ``content``  the body as bytes, None if there is none or it was streamed
    """

    __slots__ = ("method", "url", "headers", "content")

    def __init__(
        self, method: str, url: str, headers: Iterable[Field] = (), content: Optional[bytes] = None
    ) -> None:
        self.method = method
        self.url = url
        self.headers = Headers(list(headers))
        self.content = content

    @property
    def body(self) -> Optional[bytes]:
        """The same as `content`, as requests calls it."""
        return self.content

    def redirected(self, status: int, url: str) -> SentRequest:
        """The request that follows a redirect with this status to that URL."""
        method, content = self.method, self.content
        if method == "POST" and status in (301, 302) or method != "HEAD" and status == 303:
            method, content = "GET", None
        secret = ("authorization", "cookie") if origin(url) != origin(self.url) else ()
        lost = ("content-type",) if method != self.method else ()
        kept = [f for f in self.headers.multi_items() if f[0].lower() not in (*secret, *lost)]
        return SentRequest(method, url, kept, content)

    def __repr__(self) -> str:
        return f"<SentRequest {self.method} {shown(self.url)}>"


class Asked:
    """The arguments of a request. A `SentRequest` is made of them on demand."""

    __slots__ = ("_method", "url", "_options", "_fields", "_settings", "_first")

    def __init__(
        self, method: Optional[str], url: str, options: Mapping[str, Any], fields: List[Field],
        settings: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self._method = method
        #: As it was given.
        self.url = url
        self._options = options
        self._fields = fields
        self._settings = {"auth": settings.get("auth"), "parameters": settings.get("parameters")}
        self._first: Optional[SentRequest] = None

    def at(self, url: str) -> SentRequest:
        """The first request, which went to that URL."""
        first = self._first
        if first is None:
            content, kind = self._body()
            method = (self._method or ("GET" if kind is None else "POST")).upper()
            first = self._first = SentRequest(method, url, self._headers(kind), content)
        return SentRequest(first.method, url, first.headers.multi_items(), first.content)

    def _body(self) -> Tuple[Optional[bytes], Optional[str]]:
        """The body, as far as it is known, and its type; "" for an unknown type."""
        options = self._options
        data = options.get("content")
        data = options.get("data") if data is None else data
        if options.get("files"):
            return None, ""
        if options.get("json") is not None:
            return json_bytes(options["json"]), "application/json"
        if data is not None:
            if is_form(data):
                from urllib.parse import quote, urlencode

                form = urlencode(list(flat(data)), quote_via=quote)
                return form.encode(), "application/x-www-form-urlencoded"
            if isinstance(data, str):
                return data.encode(), ""
            return (bytes(data) if isinstance(data, (bytes, bytearray)) else None), ""
        parameters = options.get("parameters")
        if self._method in ("GET", "HEAD", "DELETE") or not parameters:
            return None, None
        known = {**(self._settings["parameters"] or {}), **dict(pairs(parameters))}
        return json_bytes(known), "application/json"

    def _headers(self, kind: Optional[str]) -> List[Field]:
        own = pairs(self._options.get("headers") or {})
        named = {word(name).lower() for name, _ in own}
        fields = [field for field in self._fields if field[0].lower() not in named]
        fields += [(word(name), word(value)) for name, value in own if value is not None]
        named |= {name.lower() for name, _ in fields}
        if kind and "content-type" not in named:
            fields.append(("Content-Type", kind))
        auth = credentials(self._options.get("auth", self._settings["auth"]))
        if "auth" in self._options and not isinstance(auth, (Basic, Bearer)):
            given = {word(name).lower() for name, _ in own}
            fields = [f for f in fields if f[0].lower() != "authorization" or "authorization" in given]
        elif isinstance(auth, (Basic, Bearer)) and "authorization" not in named:
            fields.append(("Authorization", auth.field()))
        return fields

    def __reduce__(self) -> Tuple[Any, ...]:
        first = self.at(self.url)
        return _again, (first.method, self.url, first.headers.multi_items(), first.content)


def _again(
    method: str, url: str, fields: List[Field], content: Optional[bytes]
) -> Asked:
    asked = Asked(method, url, {}, [], {})
    asked._first = SentRequest(method, url, fields, content)
    return asked


def origin(url: str) -> Tuple[str, str]:
    """Scheme and authority of an absolute URL."""
    scheme, _, rest = url.partition("://")
    for end in "/?#":
        rest = rest.partition(end)[0]
    return scheme.lower(), rest.rpartition("@")[2].lower()


__all__ = ["Asked", "REDIRECTS", "SentRequest"]
