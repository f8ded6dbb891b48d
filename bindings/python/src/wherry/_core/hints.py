# Wherry: names from requests, httpx, and aiohttp that differ here
# SPDX-License-Identifier: Apache-2.0
"""Errors for unknown attributes and keywords, with a hint at the correct name."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

#: The replacement for a name: as an attribute of a client, as a keyword of a new client, and as
#: a keyword of a request. A single string applies to all three. "" means that the name is valid.
_NEW = "pass {}= to a new client"
ELSEWHERE = {
    "adapters": _NEW.format("transport") + ", or mounts=",
    "allow_redirects": ("use client.configure(follow_redirects=...)", "use follow_redirects=", "use follow_redirects="),
    "app": "pass transport=WSGITransport(app), or ASGITransport(app), to a new client",
    "base": ("use client.base_url", "use base_url=", ""),
    "cert": (_NEW.format("cert"), "", _NEW.format("cert")),
    "connector": "use max_connections= and max_per_host= of a client",
    "event_hooks": ("", "", _NEW.format("event_hooks") + ", or use hooks="),
    "extensions": "use the keywords of a request, such as timeout= or priority=",
    "follow_redirects": ("use client.configure(follow_redirects=...)", "", ""),
    "http1": 'use http_version="2"',
    "http2": ('use client.configure(http_version="2")', 'use http_version="2"', 'use http_version="2"'),
    "limits": (
        "use client.configure(max_connections=..., max_per_host=...)",
        "use max_connections= and max_per_host=", "use max_connections= and max_per_host= of a client",
    ),
    "max_redirects": ("use client.configure(max_redirects=...)", "", ""),
    "netrc": (_NEW.format("netrc"), "", _NEW.format("netrc")),
    "mounts": (_NEW.format("mounts"), "", _NEW.format("mounts")),
    "pins": (_NEW.format("pins"), "", _NEW.format("pins")),
    "prefetch": "use client.stream(method, url)",
    "proxies": (_NEW.format("proxies"), "", _NEW.format("proxies") + "; use mounts= to choose by URL"),
    "proxy": (_NEW.format("proxy"), "", _NEW.format("proxy")),
    "raise_for_status": "use response.raise_for_status()",
    "retries": ("use client.configure(max_retries=...)", "use max_retries=", "use max_retries="),
    "ssl": "pass verify= to a new client",
    "stream": "use client.stream(method, url)",
    "transport": (_NEW.format("transport"), "", _NEW.format("transport")),
    "trust_env": (_NEW.format("trust_env"), "", _NEW.format("trust_env")),
    "verify": (_NEW.format("verify"), "", _NEW.format("verify")),
}  # fmt: skip
ATTRIBUTE, SETTING, KEYWORD = range(3)
#: How to change the value of a read-only attribute of a client.
READ_ONLY = {
    "bases": "use client.configure(bases=...)",
    "cache": "use client.configure(cache=...)",
    "is_closed": "use client.close()",
    "storage": _NEW.format("storage_name") + ", or storage_directory=",
}


#: Attributes and methods of clients of requests, httpx, and aiohttp.
CLIENTS = {
    "get_adapter": _NEW.format("transport") + ", or mounts=",
    "merge_environment_settings": "a client reads the environment when it is created",
    "mount": _NEW.format("mounts"),
    "prepare_request": "use client.build_request(method, url)",
    "ws_connect": "WebSockets are not supported",
}
BLOCKING = {**CLIENTS, "aclose": "use client.close()"}
ASYNC = {**CLIENTS, "close": "use await client.aclose()"}
#: Attributes and methods of responses of requests, httpx, aiohttp, and urllib3.
RESPONSES = {
    "aiter_raw": "use aiter_bytes(), which decodes the content coding",
    "apparent_encoding": "set default_encoding= of a client to a function that finds the charset of a body",
    "body": "use content",
    "connection": "a response keeps no connection",
    "data": "use content",
    "extensions": "use http_version, or metrics=True and metrics",
    "is_stream": "use client.stream(method, url) to stream a response",
    "iter_chunked": "use iter_bytes(chunk_size)",
    "iter_events": "use client.stream(method, url)",
    "iter_raw": "use iter_bytes(), which decodes the content coding",
    "num_bytes_downloaded": "use metrics=True and metrics, or progress=",
    "raw": "use client.stream(method, url) and iter_bytes()",
    "status": "use status_code",
    "stream": "use client.stream(method, url)",
}


def missing(owner: object, name: str, hint: Optional[str]) -> AttributeError:
    """Returns the error for an attribute that does not exist."""
    message = f"'{type(owner).__name__}' object has no attribute '{name}'"
    error: Any = AttributeError(f"{message}: {hint}" if hint else message)
    error.name, error.obj = name, owner  # The interpreter uses these to suggest names.
    return error  # type: ignore[no-any-return]


def client_hint(name: str, is_async: bool) -> Optional[str]:
    """Returns the hint for an attribute that a client does not have."""
    from .settings import DEFAULTS, FIXED, NUMBERS, TEXTS

    if name[:1] == "_":
        return None
    hint = (ASYNC if is_async else BLOCKING).get(name) or elsewhere(name, ATTRIBUTE)
    if hint is None and (name in NUMBERS or name in TEXTS or name in DEFAULTS):
        return f"use client.configure({name}=...)"
    if hint is None and name in FIXED:
        return _NEW.format(name)
    return hint


def elsewhere(name: str, place: int) -> Optional[str]:
    """Returns the hint for a name, or None if there is none."""
    hint = ELSEWHERE.get(name)
    return (hint if isinstance(hint, str) or hint is None else hint[place]) or None


def unknown(what: str, name: Any, place: int, known: Any) -> TypeError:
    """Returns the error for an unknown keyword."""
    from .._errors import brief

    hint = elsewhere(name, place) if isinstance(name, str) else None
    if hint is None and isinstance(name, str):
        from difflib import get_close_matches

        near = get_close_matches(name, list(known), 1)
        hint = f"did you mean {near[0]}=?" if near else None
    return TypeError(f"{what} {brief(name)}" + (f": {hint}" if hint else ""))


def refuse(owner: Any, name: str, value: Any) -> None:
    """Raises AttributeError if the class of a client does not have the attribute ``name``.

    Subclasses may define more attributes, but none with the name of a setting. A method can be
    replaced only by another function.
    """
    kind = type(owner)
    if hasattr(kind, name):
        known = getattr(kind, name)
        if isinstance(known, property) and known.fset is None:
            hint = READ_ONLY.get(name) or elsewhere(name, ATTRIBUTE)
            raise AttributeError(f"Could not set client.{name}: it is read-only" + (f"; {hint}" if hint else ""))
        if callable(value) or not callable(known):
            return
        hint = elsewhere(name, ATTRIBUTE) or f"override {name} in a subclass"
        raise AttributeError(f"Could not set client.{name}: it is a method; {hint}")
    hint = client_hint(name, owner._is_async)
    if hint is None:
        if kind.__module__.partition(".")[0] != "wherry":
            return
        from difflib import get_close_matches

        known = [each for each in dir(kind) if each[0] != "_"]
        near = get_close_matches(name, known, 1)
        hint = "store it in a variable or in a subclass"
        if near:
            hint = f"did you mean client.{near[0]}?"
    raise AttributeError(f"Could not set client.{name}: a client has no such attribute; {hint}")
