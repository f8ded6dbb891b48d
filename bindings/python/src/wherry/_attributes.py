# Wherry: attributes that a client does not have
# SPDX-License-Identifier: Apache-2.0
"""Setting an attribute that means nothing is refused with the name of the right way."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What users of requests and httpx set, and what they set here.
ELSEWHERE = {
    "verify": "give verify= to a new client",
    "cert": "give cert= to a new client",
    "pins": "give pins= to a new client",
    "trust_env": "give trust_env= to a new client",
    "proxies": "give proxies= to a new client",
    "netrc": "give netrc= to a new client",
    "proxy": "give proxy= to a new client",
    "transport": "give transport= to a new client",
    "stream": "use client.stream(method, url)",
    "hooks": "use on_head=, on_redirect=, or adapt=",
    "adapters": "give transport= to a new client",
    "max_redirects": "use client.configure(max_redirects=...)",
    "follow_redirects": "use client.configure(follow_redirects=...)",
    "allow_redirects": "use client.configure(follow_redirects=...)",
    "limits": "use client.configure(max_connections=..., max_per_host=...)",
    "http2": 'use client.configure(http_version="2")',
    "retries": "use client.configure(max_retries=...)",
}


def refuse(owner: Any, name: str) -> None:
    """An AttributeError for a name that the class of a client does not have.

    A subclass may have further attributes, but none with the name of a setting.
    """
    kind = type(owner)
    if hasattr(kind, name):
        return
    from ._settings import DEFAULTS, FIXED, NUMBERS, TEXTS

    way = ELSEWHERE.get(name)
    if way is None and (name in NUMBERS or name in TEXTS or name in DEFAULTS):
        way = f"use client.configure({name}=...)"
    elif way is None and name in FIXED:
        way = f"give {name}= to a new client"
    if way is None:
        if kind.__module__.partition(".")[0] != "wherry":
            return
        from difflib import get_close_matches

        known = [each for each in dir(kind) if each[0] != "_"]
        near = get_close_matches(name, known, 1)
        way = f"did you mean client.{near[0]}?" if near else "keep it in a variable or a subclass"
    raise AttributeError(f"Could not set client.{name}: a client has no such attribute; {way}")


__all__ = ["refuse"]
