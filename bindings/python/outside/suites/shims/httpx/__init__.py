# Wherry: the names of httpx, for the public tests of httpx
# SPDX-License-Identifier: Apache-2.0
"""Maps the names and keywords of httpx to those of Wherry. It adds no behavior: what Wherry lacks
fails here. See docs/guides/test-suites.md."""

from __future__ import annotations

import wherry

from absent import module

from ._clients import AsyncClient, Client, NetRCAuth
from ._exceptions import *  # noqa: F403
from ._exceptions import renamed
from ._messages import URL, Cookies, Headers, QueryParams, Request, Response, Timeout
from ._transports import (
    ASGITransport, AsyncBaseTransport, BaseTransport, MockTransport, WSGITransport,
)  # fmt: skip

__version__ = wherry.__version__

Auth = wherry.Auth
BasicAuth = wherry.Basic
DigestAuth = wherry.DigestAuth
codes = wherry.codes
SyncByteStream = AsyncByteStream = object


def request(method, url, **options):
    """One request with a client of its own, as in httpx."""
    settings = {name: options.pop(name) for name in ("verify", "trust_env", "proxy") if name in options}
    with Client(**settings) as client:
        return client.request(method, url, **options)


def stream(method, url, **options):
    return Client().stream(method, url, **options)


def get(url, **options):
    return request("GET", url, **options)


def options(url, **options):
    return request("OPTIONS", url, **options)


def head(url, **options):
    return request("HEAD", url, **options)


def post(url, **options):
    return request("POST", url, **options)


def put(url, **options):
    return request("PUT", url, **options)


def patch(url, **options):
    return request("PATCH", url, **options)


def delete(url, **options):
    return request("DELETE", url, **options)


__getattr__ = module(globals(), "httpx")
