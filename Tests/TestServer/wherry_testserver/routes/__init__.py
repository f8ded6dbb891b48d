# Wherry: the test server's routing table.
# SPDX-License-Identifier: Apache-2.0
"""Finds the route by the first path segment, after handling parameters common to all routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Awaitable, Callable, Dict

from . import auth, basic, bodies, caching, control, files, scripted

if TYPE_CHECKING:
    from ..exchange import Exchange

Route = Callable[["Exchange"], Awaitable[None]]

ROUTES: Dict[str, Route] = {
    **auth.ROUTES,
    **basic.ROUTES,
    **bodies.ROUTES,
    **caching.ROUTES,
    **control.ROUTES,
    **files.ROUTES,
    **scripted.ROUTES,
}


async def dispatch(exchange: Exchange) -> None:
    """Responds to the exchange."""
    request = exchange.request
    name = request.path.split("/", 2)[1] if "/" in request.path else ""
    route = ROUTES.get(name)
    if name == "echo":
        request.q = {}  # Ignore the parameters, so that tests can echo any query.
    if request.method == "CONNECT":
        await control.tunnel(exchange)
        return
    if request.q and not request.control and await _knobs(exchange):
        return
    if route is None:
        await exchange.text(f"no route {request.path}\n", 404)
    else:
        await route(exchange)


async def _knobs(exchange: Exchange) -> bool:
    """Applies the query parameters that all routes support. Returns True if one has responded."""
    request = exchange.request
    q = request.q
    attempt = exchange.entry.attempt
    if "informational" in q:
        for code in q["informational"].split(","):
            await exchange.informational(int(code), [("Link", "</style.css>; rel=preload")])
    if "delay_ms" in q:
        await exchange.wire.sleep(request.number("delay_ms", 0) / 1000)
    if "gate" in q and "hold" not in q and "hold_at" not in q:
        if attempt <= request.integer("gate_times", 1 << 62):
            await exchange.gate()
    status = 0
    if "status_first" in q and attempt <= request.integer("status_times", request.integer("times", 1)):
        status = request.integer("status_first", 503)
    elif "status_next" in q and attempt >= request.integer("change_at", 2):
        status = request.integer("status_next", 403)
    elif "max_parallel" in q:
        if exchange.server.record.active.get(request.name, 0) > request.integer("max_parallel", 1):
            status = request.integer("parallel_status", 503)
    if "once" in q and not status:
        uses = exchange.server.uses
        token = request.scoped("once")
        uses[token] = uses.get(token, 0) + 1
        if uses[token] > request.integer("uses", 1):
            status = 403
    if not status:
        return False
    headers = []
    if "retry_after" in q:
        headers.append(("Retry-After", q["retry_after"]))
    exchange.request.q = {k: v for k, v in q.items() if k in ("key", "close")}
    await exchange.text(f"status {status} as asked\n", status, headers)
    return True
