# Wherry: the test server's control routes and the CONNECT tunnel.
# SPDX-License-Identifier: Apache-2.0
"""Routes that begin with an underscore control the server. Their requests are not logged."""

from __future__ import annotations

import asyncio
from typing import List

from ..exchange import Exchange
from ..record import Entry
from ..request import BadRequest


def _selected(exchange: Exchange) -> List[Entry]:
    q = exchange.request.q
    return exchange.server.record.select(exchange.request.key, q.get("path"), q.get("method"))


async def log(exchange: Exchange) -> None:
    """/_log?key=&path=&method= : the requests so far, and the counts of /_stats."""
    entries = _selected(exchange)
    stats = exchange.server.record.stats(entries)
    await exchange.json({"requests": [e.json() for e in entries], "stats": stats})


async def stats(exchange: Exchange) -> None:
    """/_stats?key=&path=&method= : counts and maximums."""
    await exchange.json(exchange.server.record.stats(_selected(exchange)))


async def reset(exchange: Exchange) -> None:
    """/_reset?key= : clears the log and the attempts of a key, or everything without a key."""
    key = exchange.request.key
    exchange.server.record.forget(key)
    if key is None:
        exchange.server.gates.opened.clear()
        exchange.server.scripts.clear()
        exchange.server.uses.clear()
        exchange.server.buckets.clear()
        exchange.server.store.clear()
    await exchange.json({})


async def wait(exchange: Exchange) -> None:
    """/_wait?requests=N&ended=N&... : responds when all counts of /_stats reach these values.

    ``active_most=N`` and ``open_most=N`` wait until counts have fallen. 408 after ``timeout=`` (600 s).
    """
    request = exchange.request
    record = exchange.server.record
    names = ("requests", "ended", "active", "received", "sent", "connections", "open", "accepted")
    least = {n: request.integer(n, 0) for n in names if n in request.q}
    falling = ("active", "open", "accepted_open")
    most = {n: request.integer(n + "_most", 0) for n in falling if n + "_most" in request.q}
    if not least and not most:
        raise BadRequest("/_wait needs a count to wait for")
    deadline = exchange.wire.loop.time() + request.number("timeout", 600)
    while True:
        now = record.stats(_selected(exchange))
        if all(now[n] >= v for n, v in least.items()) and all(now[n] <= v for n, v in most.items()):
            await exchange.json(now)
            return
        left = deadline - exchange.wire.loop.time()
        if left <= 0 or exchange.wire.eof:
            await exchange.json(now, 408)
            return
        try:
            await asyncio.wait_for(record.change(), left)
        except asyncio.TimeoutError:
            continue
        await asyncio.sleep(0.001)


async def signal(exchange: Exchange) -> None:
    """/_signal?gate=NAME : opens a gate for all present and later waiters."""
    waiting = exchange.server.gates.open(exchange.request.scoped("gate"))
    await exchange.json({"waiting": waiting})


async def drop(exchange: Exchange) -> None:
    """/_drop?key= : drops the open connections with requests of a key, or all without a key."""
    own = exchange.entry.connection
    numbers = {e.connection for e in _selected(exchange)}
    cut = [n for n in numbers if n != own and n in exchange.server.wires]
    for number in cut:
        exchange.server.wires[number].transport.abort()
    await exchange.json({"dropped": len(cut)})


async def tunnel(exchange: Exchange) -> None:
    """CONNECT host:port : a proxy tunnel, only to loopback addresses."""
    host, _, port = exchange.request.target.rpartition(":")
    if host.strip("[]") not in ("127.0.0.1", "localhost", "::1") or not port.isdigit():
        await exchange.text("loopback only\n", 403)
        return
    try:
        reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except OSError as error:
        await exchange.text(f"{error}\n", 502)
        return
    exchange.keep_alive = False
    exchange.entry.status = 200
    await exchange.wire.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

    async def back() -> None:
        while True:
            data = await reader.read(65536)
            if not data:
                break
            await exchange.wire.write(data)
            exchange.entry.sent += len(data)
        await exchange.wire.fin()

    other = asyncio.ensure_future(back())
    try:
        while True:
            writer.write(await exchange.wire.some(65536))
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        other.cancel()
        writer.close()


ROUTES = {
    "_log": log,
    "_stats": stats,
    "_reset": reset,
    "_wait": wait,
    "_signal": signal,
    "_drop": drop,
}
