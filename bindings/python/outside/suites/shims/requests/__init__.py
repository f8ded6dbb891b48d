# Wherry: the names of requests, for the public tests of requests
# SPDX-License-Identifier: Apache-2.0
"""Maps the names and keywords of requests to those of Wherry. It adds no behavior: what Wherry lacks
fails here. See docs/guides/test-suites.md."""

from __future__ import annotations

import sys
import types

import wherry

sys.modules[__name__ + ".packages"] = types.ModuleType(__name__ + ".packages")

from . import adapters, auth, compat, cookies, exceptions, hooks, models, sessions, structures, utils
from .exceptions import (
    ConnectionError, ConnectTimeout, HTTPError, JSONDecodeError, ReadTimeout, RequestException, Timeout,
    TooManyRedirects,
)  # fmt: skip
from .models import PreparedRequest, Request, Response
from .sessions import Session

codes = wherry.codes


def session() -> Session:
    """The old name of `Session`."""
    return Session()


def request(method, url, **options):
    """One request with a client of its own, which a stream keeps open."""
    once = Session()
    try:
        return once.request(method, url, **options)
    finally:
        if not options.get("stream"):
            once.close()


def get(url, params=None, **options):
    return request("GET", url, params=params, **options)


def options(url, **options):
    return request("OPTIONS", url, **options)


def head(url, **options):
    options.setdefault("allow_redirects", False)
    return request("HEAD", url, **options)


def post(url, data=None, json=None, **options):
    return request("POST", url, data=data, json=json, **options)


def put(url, data=None, **options):
    return request("PUT", url, data=data, **options)


def patch(url, data=None, **options):
    return request("PATCH", url, data=data, **options)


def delete(url, **options):
    return request("DELETE", url, **options)
