# Wherry: routes of the test server that ask who is there
# SPDX-License-Identifier: Apache-2.0
"""Basic, Bearer and Digest."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Dict, List

from ..exchange import Exchange


async def auth(exchange: Exchange) -> None:
    """/auth/basic/USER/PASSWORD, /auth/bearer/TOKEN, /auth/digest/USER/PASSWORD[?algorithm=MD5]."""
    segments = exchange.request.segments + ["", "", ""]
    kind, given = segments[0], exchange.request.header("authorization") or ""
    await exchange.body()
    challenge = ""
    if kind == "basic":
        pair = base64.b64encode(f"{segments[1]}:{segments[2]}".encode()).decode()
        good = given == f"Basic {pair}"
        challenge = 'Basic realm="wherry", charset="UTF-8"'
    elif kind == "bearer":
        good = given == f"Bearer {segments[1]}"
        challenge = 'Bearer realm="wherry"'
    elif kind == "digest":
        good = _digest(exchange, segments, given)
        algorithm = exchange.request.q.get("algorithm", "SHA-256")
        nonce = hashlib.sha256(exchange.request.name.encode()).hexdigest()[:32]
        challenge = f'Digest realm="wherry", qop="auth", algorithm={algorithm}, nonce="{nonce}"'
    else:
        await exchange.text("no such scheme\n", 404)
        return
    if good:
        attempt = exchange.entry.attempt
        await exchange.json({"authenticated": True, "scheme": kind, "attempt": attempt})
    else:
        await exchange.json({"authenticated": False}, 401, [("WWW-Authenticate", challenge)])


def _digest(exchange: Exchange, segments: List[str], given: str) -> bool:
    if not given.lower().startswith("digest "):
        return False
    found: Dict[str, str] = {}
    for name, quoted, bare in re.findall(r'(\w+)=(?:"([^"]*)"|([^\s,]+))', given[7:]):
        found[name] = quoted or bare
    name = exchange.request.q.get("algorithm", "SHA-256")
    new = hashlib.md5 if name == "MD5" else hashlib.sha256

    def hexed(text: str) -> str:
        return new(text.encode()).hexdigest()

    first = hexed(f"{segments[1]}:wherry:{segments[2]}")
    second = hexed(f"{exchange.request.method}:{found.get('uri')}")
    middle = ":".join(found.get(n, "") for n in ("nonce", "nc", "cnonce", "qop"))
    right = found.get("uri") == exchange.request.target and found.get("username") == segments[1]
    return right and found.get("response") == hexed(f"{first}:{middle}:{second}")


async def token(exchange: Exchange) -> None:
    """/token?expires=N : the next token "token-K"; /protected accepts the newest one only."""
    store = exchange.server.store
    name = f"token\0{exchange.request.key or ''}"
    await exchange.body()
    store[name] = store.get(name, 0) + 1
    await exchange.json({"access_token": f"token-{store[name]}", "token_type": "Bearer"})


async def protected(exchange: Exchange) -> None:
    """/protected : 200 with the newest token of /token of this key, 401 with any other."""
    name = f"token\0{exchange.request.key or ''}"
    newest = exchange.server.store.get(name, 0)
    body = await exchange.body()
    if newest and exchange.request.header("authorization") == f"Bearer token-{newest}":
        await exchange.json({"ok": True, "bytes": len(body)})
    else:
        headers = [("WWW-Authenticate", 'Bearer realm="wherry", error="invalid_token"')]
        await exchange.json({"ok": False}, 401, headers)


ROUTES = {"auth": auth, "token": token, "protected": protected}
