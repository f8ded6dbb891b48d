# Wherry: the cookie jar of requests
# SPDX-License-Identifier: Apache-2.0
"""A jar is the `cookies` of a client: Wherry has none without one."""

from __future__ import annotations

import wherry

from absent import module


class RequestsCookieJar:
    """The cookies of a client of its own."""

    def __new__(cls):
        return wherry.Client(trust_env=False).cookies


def cookiejar_from_dict(values, cookiejar=None):
    import http.cookiejar

    if cookiejar is None:
        cookiejar = wherry.Client(trust_env=False).cookies
    if not isinstance(cookiejar, http.cookiejar.CookieJar):
        cookiejar.update(values)
        return cookiejar
    for name, value in values.items():
        cookiejar.set_cookie(
            http.cookiejar.Cookie(
                0, name, value, None, False, "", False, False, "/", True, False, None, True, None, None, {}
            )
        )
    return cookiejar


__getattr__ = module(globals(), "requests.cookies")
