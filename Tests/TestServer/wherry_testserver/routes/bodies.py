# Wherry: routes of the test server that accept bodies.
# SPDX-License-Identifier: Apache-2.0
"""Sinks and uploads."""

from __future__ import annotations

import hashlib
import os
import zlib
from typing import Any, Dict

from ..exchange import Exchange, Hangup
from ..multipart import parse as parse_multipart
from ..request import BadRequest


async def sink(exchange: Exchange) -> None:
    """/sink : discards the body; see rate=, stall=, early=, cut_body= and reset_body=."""
    request = exchange.request
    if "early" in request.q:
        await _early(exchange, request.integer("early", 413))
        return
    if "stall" in request.q:
        exchange.wire.hold()
        if "gate" in request.q:
            await exchange.gate()
        else:
            await exchange.wire.sleep(request.number("seconds", 60))
        exchange.wire.unhold()
    rate = request.number("rate", 0)
    for name in ("stall", "rate"):
        request.q.pop(name, None)  # These parameters apply to the request body only.
    digest = hashlib.sha256()
    inflater = zlib.decompressobj(47) if request.header("content-encoding") else None
    inflated = hashlib.sha256()
    plain = 0
    limits = {"fin": "cut_body", "rst": "reset_body"}
    stops = [(request.integer(q, 0), how) for how, q in limits.items() if q in request.q]
    if exchange.entry.attempt > request.integer("times", 1 << 62):
        stops = []
    if stops and stops[0][0] == 0:
        raise Hangup(stops[0][1])
    async for piece in exchange.pieces(rate):
        digest.update(piece)
        if inflater is not None:
            more = inflater.decompress(piece)
            plain += len(more)
            inflated.update(more)
        if stops and exchange.entry.received >= stops[0][0]:
            raise Hangup(stops[0][1])
    answer: Dict[str, Any] = {
        "method": request.method,
        "bytes": exchange.entry.received,
        "sha256": digest.hexdigest(),
    }
    if inflater is not None:
        answer["inflated"] = plain
        answer["whole"] = inflater.eof and not inflater.unused_data
        answer["inflated_sha256"] = inflated.hexdigest()
    await exchange.json(answer, request.integer("status", 200))


async def _early(exchange: Exchange, status: int) -> None:
    """Responds before the body is read, then discards input for a while."""
    exchange.keep_alive = False
    await exchange.text("not wanted\n", status)
    if exchange.request.flag("rude"):
        raise Hangup("rst")
    await exchange.wire.half_close(exchange.request.number("linger", 5))


async def upload_photo(exchange: Exchange) -> None:
    """/upload-photo : saves the files of a form in --save-dir and returns names and sizes."""
    request = exchange.request
    kind = request.header("content-type") or ""
    if not kind.startswith("multipart/form-data"):
        raise BadRequest(f"not a form: {kind!r}")
    stored = []
    fields = {}
    body = await exchange.body()
    for number, part in enumerate(parse_multipart(kind, body)):
        if part.filename is None:
            fields[part.name or ""] = part.data.decode("utf-8", "replace")
            continue
        name = os.path.basename(part.filename.replace("\\", "/")).lstrip(".") or f"photo{number}"
        entry = {
            "field": part.name,
            "name": name,
            "type": part.type,
            "size": len(part.data),
            "sha256": hashlib.sha256(part.data).hexdigest(),
        }
        if exchange.server.save_dir:
            path = os.path.join(exchange.server.save_dir, name)
            with open(path, "wb") as file:
                file.write(part.data)
            entry["saved"] = path
        stored.append(entry)
    await exchange.json({"code": 0, "files": stored, "fields": fields})


ROUTES = {"sink": sink, "upload-photo": upload_photo}
