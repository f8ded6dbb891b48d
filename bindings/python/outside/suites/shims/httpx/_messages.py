# Wherry: URLs, requests, and responses of httpx
# SPDX-License-Identifier: Apache-2.0
"""A request is what Wherry sends for the arguments, as a `wherry.MockTransport` records it."""

from __future__ import annotations

from urllib.parse import parse_qsl, urljoin, urlsplit

import wherry

from ._exceptions import renamed

_Editable = type(wherry.SentRequest("GET", "/").headers)


class _HeadersKind(type):
    def __instancecheck__(cls, thing):
        return hasattr(thing, "multi_items")


class Headers(metaclass=_HeadersKind):
    """The headers of a request that a program edits."""

    def __new__(cls, headers=None):
        return _Editable(headers)


class Response(wherry.Response):
    """A coded body is received from a server on the loopback: Wherry decodes while it receives."""

    def __new__(cls, status_code=200, *, headers=None, content=None, request=None, **given):
        fields = wherry.Headers(headers)
        if "content-encoding" not in fields or hasattr(content, "__aiter__"):
            return super().__new__(cls)
        if isinstance(content, str):
            content = content.encode()
        elif hasattr(content, "read"):
            content = content.read()
        from ._server import received

        with renamed():
            return received(status_code, fields.multi_items(), content or b"")


class _QueryKind(type):
    def __instancecheck__(cls, thing):
        return hasattr(thing, "keys")


class QueryParams(metaclass=_QueryKind):
    """The query of a URL as a dict, for the tests' servers."""

    def __new__(cls, query=b""):
        return dict(parse_qsl(query.decode() if isinstance(query, bytes) else query, True))


class URL(str):
    """A str, as URLs of Wherry are, with the parts that `urllib.parse` finds, for the tests' servers."""

    @property
    def _parts(self):
        return urlsplit(self)

    scheme = property(lambda self: self._parts.scheme)
    host = property(lambda self: self._parts.hostname or "")
    port = property(lambda self: self._parts.port)
    path = property(lambda self: self._parts.path or "/")
    query = property(lambda self: self._parts.query.encode())
    netloc = property(lambda self: self._parts.netloc.encode())

    @property
    def params(self):
        return dict(parse_qsl(self._parts.query, keep_blank_values=True))

    def copy_with(self, *, path=None, port=None):
        parts = self._parts
        if path is not None:
            parts = parts._replace(path=path)
        if port is not None:
            parts = parts._replace(netloc=f"{parts.hostname}:{port}")
        return URL(parts.geturl())

    def join(self, other):
        return URL(urljoin(self, other))


class _CookiesKind(type):
    def __instancecheck__(cls, thing):
        return isinstance(thing, wherry.Cookies)


class Cookies(metaclass=_CookiesKind):
    """The cookies of a client of its own: Wherry has none without one."""

    def __new__(cls, cookies=None):
        made = wherry.Client(trust_env=False).cookies
        if cookies is not None:
            made.update(cookies)
        return made


def Timeout(timeout=..., *, connect=..., read=..., write=..., pool=...):
    """read= and write= are Wherry's idle=; Wherry has no pool=."""
    read = write if read is ... else read
    given = {"connect": connect, "idle": read, "first_byte": read}
    if timeout is not ...:
        given = {name: timeout if value is ... else value for name, value in given.items()}
    return wherry.Timeout(**{name: value for name, value in given.items() if value is not ...})


class Request(wherry.SentRequest):
    """What Wherry sends for the arguments of a request; without the defaults of a client."""

    #: Headers that a client adds to every request.
    DEFAULTS = ("user-agent", "accept", "accept-encoding")

    def __init__(self, method, url, *, client=None, transport=None, **given):
        for name in ("extensions", "stream"):
            given.pop(name, None)
        own = {
            name.lower() if isinstance(name, str) else name.decode().lower()
            for name, _ in _pairs(given.get("headers") or ())
        }
        with renamed(), wherry.MockTransport() as recorder:
            recorder.add(None, "*")
            settings = {"trust_env": False, **(client or {}), "transport": recorder}
            with wherry.Client(**settings) as sender:
                sender.request(method, str(url), **given)
            sent = recorder.requests[-1]
        self.method, self.url, self.content = sent.method, URL(sent.url), sent.content
        fields = [
            field
            for field in sent.headers.multi_items()
            if client is not None or field[0].lower() in own or field[0].lower() not in self.DEFAULTS
        ]
        super().__init__(self.method, self.url, fields, self.content)

    stream = property(lambda self: Content(self.content))

    async def aread(self):
        return self.content


def _pairs(values):
    return values.items() if hasattr(values, "items") else values


class Content:
    """The body of a request as the tests look at it."""

    def __init__(self, content):
        self._content = content

    def __iter__(self):
        yield self._content

    async def __aiter__(self):
        yield self._content


def renamed_request(request):
    """A request with the parts of `httpx.URL`, and header names in lower case as httpx prints them."""
    request.url = URL(request.url)
    request.headers = type(request.headers)([(n.lower(), v) for n, v in request.headers.multi_items()])
    return request
