# Wherry: the clients of httpx
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import wherry

from ._exceptions import renamed
from ._messages import URL, Request

#: Marks an argument that was not given.
UNSET = object()


def settings(given):
    """The keywords of Wherry's clients for those of httpx."""
    made = dict(given)
    if isinstance(made.get("auth"), NetRCAuth):
        made["netrc"] = made.pop("auth").file or True
    if "http2" in made:
        made["http_version"] = "2" if made.pop("http2") else "1.1"
    made.pop("http1", None)
    if "limits" in made:
        made.pop("limits")  # Wherry queues requests, and never refuses one.
    if "base_url" in made:
        made["base_url"] = str(made["base_url"])
    made.setdefault("follow_redirects", False)
    made.setdefault("max_redirects", 20)
    follows = made.pop("follow_redirects")
    return {name: value for name, value in made.items() if value is not None}, follows


def keywords(given, follows):
    """The keywords of Wherry's requests for those of httpx."""
    made = dict(given)
    made.setdefault("follow_redirects", follows)
    made.pop("extensions", None)
    return made


class NetRCAuth:
    """The file that ``netrc=`` of a client takes."""

    def __init__(self, file=None):
        self.file = file


class Names:
    """What `Client` and `AsyncClient` share."""

    def __init__(self, **given):
        own, self.__dict__["_follows"] = settings(given)
        with renamed():
            super().__init__(**own)

    def build_request(self, method, url, **given):
        own = {"headers": self.headers.multi_items(), "base_url": self.base_url, "auth": self.auth}
        if len(self.cookies):
            own["cookies"] = self.cookies.get_dict()
        if self.params:
            own["params"] = dict(self.params)
        return Request(method, url, client=own, **given)

    def _sendable(self, request):
        if not isinstance(request, Request):
            return request
        library = ("host", "content-length", "transfer-encoding", "connection", "accept-encoding")
        fields = [f for f in request.headers.multi_items() if f[0].lower() not in library]
        return wherry.SentRequest(request.method, str(request.url), fields, request.content or None)


class Client(Names, wherry.Client):
    """A `wherry.Client` that takes the keywords of httpx."""

    def _request(self, method, url, options):
        with renamed():
            return super()._request(method, str(url), keywords(options, self._follows))

    def send(self, request, **options):
        with renamed():
            return super().send(self._sendable(request), **options)

    def stream(self, method, url, **options):
        return super().stream(method, str(url), **keywords(options, self._follows))


class AsyncClient(Names, wherry.AsyncClient):
    """A `wherry.AsyncClient` that takes the keywords of httpx."""

    async def _request(self, method, url, options, draft=None):
        with renamed():
            return await super()._request(method, str(url), keywords(options, self._follows), draft)

    async def send(self, request, **options):
        with renamed():
            return await super().send(self._sendable(request), **options)

    def stream(self, method, url, **options):
        return super().stream(method, str(url), **keywords(options, self._follows))
