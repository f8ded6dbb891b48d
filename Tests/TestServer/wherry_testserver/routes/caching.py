# Wherry: routes of the test server for HTTP caching and resumable uploads.
# SPDX-License-Identifier: Apache-2.0
"""Responses with selected cache headers, and a small tus 1.0 server."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from typing import List, Tuple

from ..exchange import Exchange, Hangup, http_date
from ..request import BadRequest


async def cache(exchange: Exchange) -> None:
    """/cache?control=&expires=&age=&vary=&etag=&lastmod=&body= : JSON with the number of the hit.

    Matching conditional requests get a 304 with the same headers. ``etag_next`` replaces the ETag
    from attempt ``change_at`` (2) on. ``lastmod`` and ``expires`` are seconds from now.
    """
    request = exchange.request
    q = request.q
    await exchange.body()
    later = exchange.entry.attempt >= request.integer("change_at", 2)
    etag = q["etag_next"] if later and "etag_next" in q else q.get("etag")
    headers: List[Tuple[str, str]] = []
    now = time.time()
    for name, field in (("control", "Cache-Control"), ("age", "Age"), ("vary", "Vary")):
        if name in q:
            headers.append((field, q[name]))
    if "expires" in q:
        text = q["expires"]
        shift = text.lstrip("-").isdigit()
        headers.append(("Expires", http_date(now + int(text)) if shift else text))
    if "lastmod" in q:
        headers.append(("Last-Modified", http_date(now + request.integer("lastmod", -3600))))
    if etag is not None:
        etag = etag if '"' in etag else f'"{etag}"'
        headers.append(("ETag", etag))
        tags = [t.strip() for t in (request.header("if-none-match") or "").split(",")]
        if etag in tags or "*" in tags:
            await exchange.respond(304, headers)
            return
    elif "lastmod" in q and request.header("if-modified-since") is not None:
        await exchange.respond(304, headers)
        return
    headers.append(("Content-Type", q.get("type", "application/json")))
    language = request.header("accept-language") or ""
    hit = json.dumps({"hit": exchange.entry.attempt, "language": language})
    body = q.get("body", hit).encode()
    await exchange.respond(request.integer("status", 200), headers, body)


async def tus(exchange: Exchange) -> None:
    """/tus : POST creates, HEAD returns the offset, PATCH appends, GET returns length and digest."""
    request = exchange.request
    store = exchange.server.store
    headers = [("Tus-Resumable", "1.0.0"), ("Cache-Control", "no-store")]
    if request.method == "OPTIONS":
        headers += [("Tus-Version", "1.0.0"), ("Tus-Extension", "creation,termination,checksum")]
        headers.append(("Tus-Checksum-Algorithm", "sha1,sha256"))
        await exchange.respond(204, headers)
        return
    if request.method == "POST":
        number = sum(1 for n in store if n.startswith("tus\0")) + 1
        total = request.header("upload-length") or ""
        if not total.isdigit():
            raise BadRequest("no Upload-Length")
        store[f"tus\0{number}"] = (int(total), bytearray())
        key = f"?key={request.key}" if request.key else ""
        headers.append(("Location", f"/tus/{number}{key}"))
        await exchange.respond(201, headers)
        return
    name = "tus\0" + "".join(request.segments[:1])
    if name not in store:
        await exchange.respond(404, headers)
        return
    total, data = store[name]
    if request.method == "DELETE":
        del store[name]
        await exchange.respond(204, headers)
    elif request.method == "PATCH":
        await _append(exchange, total, data, headers)
    elif request.method == "HEAD":
        headers += [("Upload-Offset", str(len(data))), ("Upload-Length", str(total))]
        await exchange.respond(200, headers)
    else:
        digest = hashlib.sha256(data).hexdigest()
        await exchange.json({"offset": len(data), "length": total, "sha256": digest})


async def _append(exchange: Exchange, total: int, data: bytearray, headers: List[Tuple[str, str]]) -> None:
    request = exchange.request
    if request.header("content-type") != "application/offset+octet-stream":
        await exchange.respond(415, headers)
        return
    if request.header("upload-offset") != str(len(data)):
        await exchange.respond(409, headers)
        return
    checksum = request.header("upload-checksum")
    before = len(data)
    stop = request.integer("cut_body", 1 << 62)
    if exchange.entry.attempt > request.integer("times", 1 << 62):
        stop = 1 << 62
    async for piece in exchange.pieces(request.number("rate", 0)):
        data += piece[: total - len(data)]
        if exchange.entry.received >= stop:
            raise Hangup("rst")
    if checksum is not None:
        algorithm, _, value = checksum.partition(" ")
        if base64.b64encode(hashlib.new(algorithm, data[before:]).digest()).decode() != value:
            del data[before:]
            await exchange.respond(460, headers)
            return
    headers.append(("Upload-Offset", str(len(data))))
    await exchange.respond(204, headers)


ROUTES = {"cache": cache, "tus": tus}
