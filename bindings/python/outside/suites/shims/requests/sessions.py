# Wherry: the session of requests
# SPDX-License-Identifier: Apache-2.0
"""`Session` is a `wherry.Client`; settings that a client of Wherry has from its start make another one."""

from __future__ import annotations

from urllib.parse import urljoin

import wherry

from absent import module

from .exceptions import renamed
from .models import PreparedRequest


def keywords(**given):
    """The keywords of Wherry for those of requests."""
    options = {name: value for name, value in given.items() if value is not None}
    if "allow_redirects" in options:
        options["follow_redirects"] = options.pop("allow_redirects")
    return options


class Streamed:
    """What requests calls content is read() of a stream in Wherry."""

    content = property(lambda self: self.read())


class Session:
    """Names of requests for a `wherry.Client`."""

    def __init__(self):
        self.verify, self.cert, self.proxies, self.trust_env = True, None, {}, True
        self.stream, self.hooks, self.max_redirects = False, {"response": []}, 30
        self._client = wherry.Client(max_redirects=30)
        self._others = {}

    def _of(self, verify, cert, proxies, url):
        """The client with these settings."""
        verify = self.verify if verify is None else verify
        cert, proxies = cert or self.cert, proxies or self.proxies
        if cert is not None:
            cert = (urljoin(url, "/"), cert)
        found = self._client_of(verify, cert, proxies)
        found.configure(max_redirects=self.max_redirects)
        return found

    def _client_of(self, verify, cert, proxies):
        key = (verify, cert, self.trust_env, tuple(sorted(proxies.items())))
        if key == (True, None, True, ()):
            return self._client
        found = self._others.get(key)
        if found is None:
            found = self._others[key] = wherry.Client(
                verify=verify, cert=dict([cert]) if cert else None, proxies=proxies or None,
                trust_env=self.trust_env,
                headers=self._client.headers.multi_items(), auth=self._client.auth,
                cookies=self._client.cookies.get_dict(), params=dict(self._client.params),
            )  # fmt: skip
        return found

    def request(
        self, method, url, params=None, data=None, headers=None, cookies=None, files=None, auth=None,
        timeout=None, allow_redirects=True, proxies=None, hooks=None, stream=None, verify=None,
        cert=None, json=None,
    ):  # fmt: skip
        with renamed():
            options = keywords(
                params=params, data=data, headers=headers, cookies=cookies, files=files, auth=auth,
                timeout=timeout, allow_redirects=allow_redirects, json=json, hooks=hooks,
            )  # fmt: skip
            client = self._of(verify, cert, proxies, url)
            if stream or stream is None and self.stream:
                response = client.stream(method, url, **options).__enter__()
                response.__class__ = type("Response", (Streamed, type(response)), {})
                return response
            return client.request(method, url, **options)

    def get(self, url, **options):
        return self.request("GET", url, **options)

    def options(self, url, **options):
        return self.request("OPTIONS", url, **options)

    def head(self, url, **options):
        options.setdefault("allow_redirects", False)
        return self.request("HEAD", url, **options)

    def post(self, url, data=None, json=None, **options):
        return self.request("POST", url, data=data, json=json, **options)

    def put(self, url, data=None, **options):
        return self.request("PUT", url, data=data, **options)

    def patch(self, url, data=None, **options):
        return self.request("PATCH", url, data=data, **options)

    def delete(self, url, **options):
        return self.request("DELETE", url, **options)

    def prepare_request(self, request):
        settings = {
            "headers": self._client.headers.multi_items(), "auth": self._client.auth,
            "cookies": self._client.cookies.get_dict(), "params": dict(self._client.params),
        }  # fmt: skip
        prepared = PreparedRequest()
        prepared.prepare(**request.arguments(), client=settings)
        return prepared

    def send(
        self, request, stream=None, verify=None, cert=None, proxies=None, timeout=None,
        allow_redirects=True,
    ):  # fmt: skip
        if not isinstance(request, (PreparedRequest, wherry.SentRequest)):
            raise ValueError("You can only send PreparedRequests.")
        with renamed():
            options = keywords(timeout=timeout, allow_redirects=allow_redirects)
            if isinstance(request, PreparedRequest):
                options["hooks"] = request.hooks
                request = request.sendable()
            return self._of(verify, cert, proxies, request.url).send(request, **options)

    @property
    def headers(self):
        return self._client.headers

    @headers.setter
    def headers(self, values):
        self._client.headers.clear()
        self._client.headers.update(values)

    @property
    def cookies(self):
        return self._client.cookies

    @cookies.setter
    def cookies(self, values):
        self._client.cookies = values

    @property
    def params(self):
        return self._client.params

    @params.setter
    def params(self, values):
        self._client.params = values

    @property
    def auth(self):
        return self._client.auth

    @auth.setter
    def auth(self, value):
        self._client.auth = value

    def close(self):
        for client in (self._client, *self._others.values()):
            client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __getstate__(self):
        return {
            "client": self._client,
            "settings": {name: value for name, value in vars(self).items() if name[0] != "_"},
        }

    def __setstate__(self, state):
        vars(self).update(state["settings"])
        self._client, self._others = state["client"], {}


__getattr__ = module(globals(), "requests.sessions")
