# Wherry: the requests and responses of requests
# SPDX-License-Identifier: Apache-2.0
"""A prepared request is what Wherry sends for the arguments, as a `wherry.MockTransport` records it."""

from __future__ import annotations

from urllib.parse import urlencode  # noqa: F401

import wherry

from absent import module

from .exceptions import renamed

Response = wherry.Response


class Request:
    """The arguments of a request."""

    def __init__(
        self, method=None, url=None, headers=None, files=None, data=None, params=None, auth=None,
        cookies=None, hooks=None, json=None,
    ):  # fmt: skip
        self.method, self.url, self.hooks = method, url, hooks
        self.headers, self.files, self.data, self.params = headers, files, data, params
        self.auth, self.cookies, self.json = auth, cookies, json

    def arguments(self):
        """Those that were given, as `PreparedRequest.prepare` takes them."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def prepare(self):
        prepared = PreparedRequest()
        prepared.prepare(**self.arguments())
        return prepared


class PreparedRequest(wherry.SentRequest):
    """What Wherry sends for the arguments of a request."""

    #: Headers that the library writes itself when it sends the request.
    LIBRARY = ("host", "content-length", "transfer-encoding", "connection")

    def __init__(self):
        super().__init__(None, None)
        self.hooks, self.given_headers = {"response": []}, ()

    def prepare(
        self, method=None, url=None, headers=None, files=None, data=None, params=None, auth=None,
        cookies=None, hooks=None, json=None, client=None,
    ):  # fmt: skip
        from .sessions import keywords

        given = keywords(
            headers=headers, files=files, data=data, params=params, auth=auth, cookies=cookies, json=json,
        )  # fmt: skip
        with renamed(), wherry.MockTransport() as transport:
            transport.add(None, "*")
            with wherry.Client(transport=transport, trust_env=False, **(client or {})) as recorder:
                response = recorder.request(method or "GET", url, **given)
            sent = transport.requests[-1]
        super().__init__(sent.method, response.url, sent.headers.multi_items(), sent.content or None)
        is_text = isinstance(data, str) or bool(data) and not files and not isinstance(data, bytes)
        if self.content is not None and is_text:
            self.content = self.content.decode()
        self.hooks = hooks or {"response": []}

    @property
    def path_url(self):
        return "/" + self.url.split("/", 3)[3]

    def sendable(self):
        """The same request for `wherry.Client.send`."""
        fields = [f for f in self.headers.multi_items() if f[0].lower() not in self.LIBRARY]
        content = self.content.encode() if isinstance(self.content, str) else self.content
        return wherry.SentRequest(self.method, self.url, fields, content)


__getattr__ = module(globals(), "requests.models")
