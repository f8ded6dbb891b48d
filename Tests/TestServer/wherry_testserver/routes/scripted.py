# Wherry: scripted scenarios of the test server.
# SPDX-License-Identifier: Apache-2.0
"""``POST /_script`` stores steps under a name; each request to ``/s/name`` plays the next step.

A step is an object: either a plain response (``status``, ``headers``, ``body`` | ``body_base64`` |
``json`` | ``bytes``: [n, seed, from], ``framing``: length|chunked|close, ``delay_ms``, ``gate``) or
``raw``, a list of actions on the connection: ["send", text], ["send_base64", text], ["bytes", n,
seed, from], ["pause_ms", n], ["read_body"], ["gate", name], ["stall", seconds], ["fin"], ["rst"],
["drop"]. The last step is repeated after the end of the script.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Dict, List

from .. import pattern
from ..exchange import Exchange, Hangup
from ..request import BadRequest


async def store(exchange: Exchange) -> None:
    """POST /_script?key= : {"name": [step, ...], ...}; with a key, the names belong to that key."""
    try:
        scripts = json.loads(await exchange.body())
    except ValueError as error:
        raise BadRequest(str(error)) from None
    well_formed = isinstance(scripts, dict) and all(isinstance(steps, list) and steps for steps in scripts.values())
    if not well_formed:
        raise BadRequest("a script is {name: [step, ...]}")
    key = exchange.request.key or ""
    for name, steps in scripts.items():
        exchange.server.scripts[f"{key}\0{name}"] = steps
    await exchange.json({"scripts": sorted(scripts)})


async def play(exchange: Exchange) -> None:
    """/s/name : plays the step of this attempt."""
    await _play(exchange, "/".join(exchange.request.segments))


async def robots(exchange: Exchange) -> None:
    """/robots.txt : plays the script of this name; the header X-Test-Key has the key."""
    await _play(exchange, "robots.txt")


async def _play(exchange: Exchange, name: str) -> None:
    request = exchange.request
    steps = exchange.server.scripts.get(f"{request.key or ''}\0{name}")
    if steps is None:
        await exchange.text(f"no script {name}\n", 404)
        return
    step = steps[min(exchange.entry.attempt, len(steps)) - 1]
    if not isinstance(step, dict):
        raise BadRequest(f"step {step!r} is not an object")
    if "raw" in step:
        await _raw(exchange, step["raw"])
    else:
        await _plain(exchange, step)


async def _plain(exchange: Exchange, step: Dict[str, Any]) -> None:
    await exchange.body()
    await exchange.wire.sleep(float(step.get("delay_ms", 0)) / 1000)
    if "gate" in step:
        exchange.request.q["gate"] = step["gate"]
        await exchange.gate()
    headers = [(str(name), str(value)) for name, value in step.get("headers", [])]
    body: Any = str(step.get("body", "")).encode()
    length = None
    if "body_base64" in step:
        body = base64.b64decode(step["body_base64"])
    elif "json" in step:
        body = json.dumps(step["json"]).encode()
        headers.append(("Content-Type", "application/json"))
    elif "bytes" in step:
        size, seed, start = (list(step["bytes"]) + [1, 0])[:3]
        body, length = pattern.stream(seed, start, start + size), size
    await exchange.respond(int(step.get("status", 200)), headers, body, length, step.get("framing"))


async def _raw(exchange: Exchange, actions: List[List[Any]]) -> None:
    wire = exchange.wire
    exchange.answered = True
    exchange.keep_alive = False
    for action in actions:
        what, rest = action[0], action[1:]
        if what == "send":
            await wire.write(str(rest[0]).encode("utf-8", "surrogateescape"))
        elif what == "send_base64":
            await wire.write(base64.b64decode(rest[0]))
        elif what == "bytes":
            size, seed, start = (rest + [1, 0])[:3]
            for piece in pattern.stream(seed, start, start + size):
                await wire.write(piece)
                exchange.entry.sent += len(piece)
        elif what == "pause_ms":
            await wire.sleep(float(rest[0]) / 1000)
        elif what == "read_body":
            await exchange.body()
        elif what == "gate":
            exchange.request.q["gate"] = str(rest[0])
            await exchange.gate()
        elif what == "stall":
            await wire.sleep(float(rest[0]) if rest else 60)
        elif what == "keep":
            exchange.keep_alive = True
        elif what in ("fin", "rst", "drop"):
            raise Hangup(what)
        else:
            raise BadRequest(f"unknown action {what!r}")


ROUTES = {"_script": store, "s": play, "robots.txt": robots}
