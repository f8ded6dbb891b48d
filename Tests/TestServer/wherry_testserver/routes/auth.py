# Wherry: routes of the test server that require authentication.
# SPDX-License-Identifier: Apache-2.0
"""Basic, Bearer and Digest authentication."""

from __future__ import annotations

import base64
import hashlib
import re
import urllib.parse
from typing import Dict, List, Tuple

from ..exchange import Exchange


async def auth(exchange: Exchange) -> None:
    """/auth/basic/USER/PASSWORD, /auth/bearer/TOKEN, /auth/digest/USER/PASSWORD[?algorithm=MD5].

    Digest also accepts ?qop= (auth-int covers the body; none: RFC 2069), ?opaque=, ?userhash=1,
    ?charset=UTF-8, ?uses=N (a nonce becomes stale after N uses), ?next=1 (nextnonce with each
    success), ?also=Basic (a second challenge), ?weaker=MD5 (another Digest challenge, which the
    client must ignore), and ?echo=1 (the body's SHA-256 and size in the response).
    """
    segments = exchange.request.segments + ["", "", ""]
    kind, given = segments[0], exchange.request.header("authorization") or ""
    body = await exchange.body()
    challenge = ""
    if kind == "basic":
        pair = base64.b64encode(f"{segments[1]}:{segments[2]}".encode()).decode()
        good = given == f"Basic {pair}"
        challenge = 'Basic realm="wherry", charset="UTF-8"'
    elif kind == "bearer":
        good = given == f"Bearer {segments[1]}"
        challenge = 'Bearer realm="wherry"'
    elif kind == "digest":
        good, challenge = _digest(exchange, segments, given, body)
    else:
        await exchange.text("no such scheme\n", 404)
        return
    if good:
        attempt = exchange.entry.attempt
        answer = {"authenticated": True, "scheme": kind, "attempt": attempt, "size": len(body)}
        await exchange.json({**answer, "sha256": hashlib.sha256(body).hexdigest()})
    else:
        fields = [("WWW-Authenticate", challenge)]
        if "also" in exchange.request.q:
            fields.insert(0, ("WWW-Authenticate", f'{exchange.request.q["also"]} realm="other"'))
        if "weaker" in exchange.request.q:
            name = exchange.request.q["weaker"]
            fields.insert(0, ("WWW-Authenticate", f'Digest realm="weak", nonce="weak", algorithm={name}, qop="auth"'))
        await exchange.json({"authenticated": False}, 401, fields)


def _digest(exchange: Exchange, segments: List[str], given: str, body: bytes) -> Tuple[bool, str]:
    """Returns whether the header is valid, and the challenge to send otherwise."""
    q = exchange.request.q
    name = q.get("algorithm", "SHA-256")
    hashes = {"MD5": "md5", "SHA-256": "sha256", "SHA-512-256": "sha512_256"}
    kind = hashes[name.replace("-sess", "")]
    store = exchange.server.store
    place = f"digest\0{exchange.request.key or ''}\0{'/'.join(segments)}"
    # The number of the nonce, and the nonce counts used with it.
    number, used = store.get(place, (1, []))

    def hexed(text: str) -> str:
        return hashlib.new(kind, text.encode()).hexdigest()

    def nonce() -> str:
        return hashlib.sha256(f"{place}{number}".encode()).hexdigest()[:32]

    def challenge(stale: bool) -> str:
        said = f'Digest realm="wherry", algorithm={name}, nonce="{nonce()}"'
        for word in ("qop", "opaque"):
            text = q.get(word, "auth" if word == "qop" else "none")
            if text != "none":
                said += f', {word}="{text}"'
        if "charset" in q:
            said += f", charset={q['charset']}"
        return said + (", userhash=true" if "userhash" in q else "") + (", stale=true" if stale else "")

    if not given.lower().startswith("digest "):
        return False, challenge(False)
    found: Dict[str, str] = {}
    for key, quoted, bare in re.findall(r'(\w+\*?)=(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))', given[7:]):
        found[key] = re.sub(r"\\(.)", r"\1", quoted) or bare
    first = hexed(f"{segments[1]}:wherry:{segments[2]}")
    if name.endswith("-sess"):
        first = hexed(f"{first}:{found.get('nonce')}:{found.get('cnonce')}")
    covered = f"{exchange.request.method}:{found.get('uri')}"
    if found.get("qop") == "auth-int":
        covered += ":" + hashlib.new(kind, body).hexdigest()
    second = hexed(covered)
    middle = ":".join(found[n] for n in ("nonce", "nc", "cnonce", "qop") if n in found)
    user = hexed(f"{segments[1]}:wherry") if "userhash" in q else segments[1]
    sent = found.get("username")
    if sent is None and found.get("username*", "").startswith("UTF-8''"):
        sent = urllib.parse.unquote(found["username*"][7:])
    right = (
        found.get("uri") == exchange.request.target and sent == user
        and found.get("qop", "none") in q.get("qop", "auth").split(",")
        and found.get("opaque", "none") == q.get("opaque", "none")
        and found.get("response") == hexed(f"{first}:{middle}:{second}")
    )  # fmt: skip
    if not right:
        return False, challenge(False)
    count = found.get("nc", "none")
    if found.get("nonce") != nonce():
        return False, challenge(True)
    if count != "none" and count in used:
        number += 1
        store[place] = (number, [])
        return False, challenge(True)
    if "uses" in q and len(used) + 1 >= int(q["uses"]) or "next" in q:
        number, used = number + 1, []
    else:
        used = [*used, count]
    store[place] = (number, used)
    if "next" in q:
        exchange.extra.append(("Authentication-Info", f'nextnonce="{nonce()}"'))
    return True, challenge(False)


async def token(exchange: Exchange) -> None:
    """/token?expires=N : returns the next token, "token-K"; /protected accepts only the newest."""
    store = exchange.server.store
    name = f"token\0{exchange.request.key or ''}"
    await exchange.body()
    store[name] = store.get(name, 0) + 1
    await exchange.json({"access_token": f"token-{store[name]}", "token_type": "Bearer"})


async def protected(exchange: Exchange) -> None:
    """/protected : 200 with the newest token from /token for this key, otherwise 401."""
    name = f"token\0{exchange.request.key or ''}"
    newest = exchange.server.store.get(name, 0)
    body = await exchange.body()
    if newest and exchange.request.header("authorization") == f"Bearer token-{newest}":
        await exchange.json({"ok": True, "bytes": len(body)})
    else:
        headers = [("WWW-Authenticate", 'Bearer realm="wherry", error="invalid_token"')]
        await exchange.json({"ok": False}, 401, headers)


ROUTES = {"auth": auth, "token": token, "protected": protected}
