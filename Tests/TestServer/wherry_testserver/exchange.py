# Wherry: a request and its response on the test server, including faults.
# SPDX-License-Identifier: Apache-2.0
"""Reads the request body, and writes the response with the requested faults."""

from __future__ import annotations

import http
import json
import time
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterable, List, Optional, Tuple, Union

from .record import Entry
from .request import BadRequest, Request
from .wire import Gone, Wire

if TYPE_CHECKING:
    from .server import Server

PIECE = 256 * 1024
Pairs = Iterable[Tuple[str, str]]
NO_BODY = frozenset((204, 304))


class Hangup(Exception):
    """Ends the connection now. ``how`` is ``fin``, ``rst`` or ``drop``."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


class Faults:
    """The faults of a response body. Offsets count body bytes.

    ``base`` is the absolute offset of the first byte. It allows ``cut_at=`` and similar parameters
    to use positions in the complete representation.
    """

    __slots__ = ("points", "rate", "shared", "drip", "interval", "hold")

    def __init__(self, request: Request, attempt: int, base: int) -> None:
        self.points: List[Tuple[int, str]] = []
        self.rate = request.number("rate", 0)
        self.shared = request.number("shared_rate", 0)
        self.drip = request.integer("drip", 0)
        self.interval = request.number("interval_ms", 1000) / 1000
        self.hold = request.number("seconds", 60)
        if attempt > request.integer("times", 1 << 62):
            return
        how = "drop" if request.flag("unclean") else "fin"
        for name, kind in (("cut", how), ("reset", "rst"), ("stall", "stall"), ("hold", "hold")):
            if name in request.q:
                self.points.append((request.integer(name, 0), kind))
            if name + "_at" in request.q:
                self.points.append((max(0, request.integer(name + "_at", 0) - base), kind))
        self.points.sort()

    def __bool__(self) -> bool:
        return bool(self.points or self.rate or self.shared or self.drip)


class Exchange:
    """A request that is being processed."""

    def __init__(self, server: Server, wire: Wire, request: Request, entry: Entry) -> None:
        self.server = server
        self.wire = wire
        self.request = request
        self.entry = entry
        self.extra: List[Tuple[str, str]] = []
        self.base = 0
        self.keep_alive = request.keep_alive
        self.answered = False
        self._body_left: Optional[int] = None if request.chunked else request.length
        self._continue = request.fields.get("expect", "").lower() == "100-continue"
        if self._body_left == 0:
            entry.body_complete = True

    # The request body

    async def pieces(self, rate: float = 0) -> AsyncIterator[bytes]:
        """Yields the body as it arrives, limited to ``rate`` bytes per second if given."""
        if self._continue and not self.request.flag("no_continue"):
            self._continue = False
            await self.wire.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        most = PIECE if not rate else max(1, min(PIECE, int(rate / 50)))
        begun = self.wire.loop.time()
        taken = 0
        while True:
            if self._body_left is None:
                size = int((await self.wire.line()).split(b";")[0], 16)
                if size == 0:
                    while await self.wire.line():
                        pass
                    self._body_left = 0
                    break
            elif self._body_left == 0:
                break
            else:
                size = self._body_left
            while size:
                piece = await self.wire.some(min(size, most))
                size -= len(piece)
                if self._body_left is not None:
                    self._body_left -= len(piece)
                self._took(len(piece))
                yield piece
                taken += len(piece)
                if rate:
                    self.wire.hold()
                    await self.wire.sleep(begun + taken / rate - self.wire.loop.time())
                    self.wire.unhold()
            if self._body_left is None:
                await self.wire.line()
        self.entry.body_complete = True
        self.server.record.changed()

    def _took(self, count: int) -> None:
        self.entry.received += count
        self.server.record.changed()

    async def body(self) -> bytes:
        """Returns the complete body."""
        return b"".join([piece async for piece in self.pieces()])

    async def finish(self) -> bool:
        """Prepares the connection for the next request. Returns False if it must close."""
        if not self.keep_alive:
            return False
        if not self.entry.body_complete:
            if self._continue:
                return False
            async for _ in self.pieces():
                if self.entry.received > 64 * 1024 * 1024:
                    return False
        return True

    async def gate(self) -> None:
        """Waits until ``/_signal`` opens the gate named in the query."""
        await self.server.gates.wait(self.request.scoped("gate"), self.wire)

    @property
    def is_gate_open(self) -> bool:
        """Whether the query names a gate that is open."""
        return "gate" in self.request.q and self.request.scoped("gate") in self.server.gates.opened

    # The response

    async def informational(self, status: int, headers: Pairs = ()) -> None:
        """Sends a 1xx response before the final one."""
        await self.wire.write(_head(status, list(headers)))

    async def json(self, value: Any, status: int = 200, headers: Pairs = ()) -> None:
        """Responds with JSON."""
        body = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape")
        await self.respond(status, [("Content-Type", "application/json"), *headers], body)

    async def text(self, text: str, status: int = 200, headers: Pairs = ()) -> None:
        """Responds with plain text."""
        fields = [("Content-Type", "text/plain; charset=utf-8"), *headers]
        await self.respond(status, fields, text.encode())

    async def respond(
        self,
        status: int,
        headers: Pairs,
        body: Union[bytes, Iterable[bytes], AsyncIterator[bytes]] = b"",
        length: Optional[int] = None,
        framing: Optional[str] = None,
    ) -> None:
        """Writes a response.

        ``framing`` is ``length`` (the default for a known length), ``chunked`` or ``close``; the
        query's ``chunked=1`` and ``no_length=1`` override it. The query's faults are applied.
        """
        request = self.request
        q = request.q
        self.answered = True
        self.entry.status = status
        if isinstance(body, bytes):
            length = len(body)
        fields = [("Date", self.server.date()), *headers, *self.extra]
        bare = status in NO_BODY or status < 200
        if q:
            if "chunked" in q or "chunked_cut" in q:
                framing = "chunked"
            elif "no_length" in q:
                framing = "close"
            fields += [_pair(v) for n, v in request.query if n == "header"]
        if framing is None:
            framing = "length" if length is not None else "chunked"
        if framing == "chunked" and request.version == "HTTP/1.0":
            framing = "close"
        if bare:
            framing = "none"
        elif framing == "length":
            fields += self._lengths(length or 0)
        elif framing == "chunked":
            fields.append(("Transfer-Encoding", "chunked"))
        else:
            self.keep_alive = False
        if request.flag("close") or not self.keep_alive:
            self.keep_alive = False
            fields.append(("Connection", "close"))
        elif request.version == "HTTP/1.0":
            fields.append(("Connection", "keep-alive"))
        head = _head(status, fields)
        if request.method == "HEAD" or bare:
            await self.wire.write(head)
            return
        faults = Faults(request, self.entry.attempt, self.base)
        if isinstance(body, bytes) and framing == "length" and not faults and "more" not in q:
            self.entry.sent += len(body)
            await self.wire.write(head + body)
            return
        await self.wire.write(head)
        await self._body(body, framing, faults)

    def _lengths(self, length: int) -> List[Tuple[str, str]]:
        """Returns Content-Length headers, wrong or duplicated if the query requests it."""
        q = self.request.q
        fields = [("Content-Length", q.get("length") or str(length))]
        if "two_lengths" in q:
            fields.append(("Content-Length", q["two_lengths"]))
        if "cl_te" in q:
            fields.append(("Transfer-Encoding", "chunked"))
        if "length" in q:
            self.keep_alive = False
        return fields

    async def _body(
        self,
        body: Union[bytes, Iterable[bytes], AsyncIterator[bytes]],
        framing: str,
        faults: Faults,
    ) -> None:
        chunk = self.request.integer("chunk", PIECE) or PIECE
        pacer = Pacer(self, faults)
        async for piece in _pieces(body):
            view = memoryview(piece)
            while view:
                size = min(len(view), chunk if framing == "chunked" else PIECE, pacer.allowed())
                if size:
                    await pacer.wait(size)
                    data = bytes(view[:size])
                    view = view[size:]
                    if framing == "chunked":
                        data = b"%x\r\n%s\r\n" % (size, data)
                    await self.wire.write(data)
                    self.entry.sent += size
                    self.server.record.changed()
                    pacer.done += size
                await pacer.point()
        await pacer.point()
        if framing == "chunked":
            if "chunked_cut" in self.request.q:
                raise Hangup("fin")
            trailers = [_pair(v) for n, v in self.request.query if n == "trailer"]
            lines = "".join(f"{name}: {value}\r\n" for name, value in trailers)
            await self.wire.write(b"0\r\n" + lines.encode("latin-1", "replace") + b"\r\n")
        more = self.request.integer("more", 0)
        if more:
            self.keep_alive = False
            await self.wire.write(b"+" * more)


class Pacer:
    """Schedules the next bytes of a body and the faults at their offsets."""

    def __init__(self, exchange: Exchange, faults: Faults) -> None:
        self.exchange = exchange
        self.wire = exchange.wire
        self.faults = faults
        self.begun = self.wire.loop.time()
        self.done = 0

    def allowed(self) -> int:
        """Returns how many bytes may be sent now; 0 at the offset of a fault."""
        most = PIECE
        if self.faults.drip:
            most = min(most, self.faults.drip)
        for rate in (self.faults.rate, self.faults.shared):
            if rate:
                most = min(most, max(1, int(rate / 50)))
        if self.faults.points:
            most = min(most, self.faults.points[0][0] - self.done)
        return max(0, most)

    async def wait(self, size: int) -> None:
        """Waits until ``size`` bytes may be sent. The rates are never exceeded."""
        now = self.wire.loop.time()
        if self.faults.drip and self.done:
            await self.wire.sleep(self.faults.interval)
        if self.faults.rate and not self.exchange.is_gate_open:
            await self.wire.sleep(self.begun + (self.done + size) / self.faults.rate - now)
        if self.faults.shared:
            name = self.exchange.request.name
            free = max(self.exchange.server.buckets.get(name, 0.0), now)
            free += size / self.faults.shared
            self.exchange.server.buckets[name] = free
            await self.wire.sleep(free - now)

    async def point(self) -> None:
        """Applies the faults at the current offset."""
        while self.faults.points and self.faults.points[0][0] <= self.done:
            _, kind = self.faults.points.pop(0)
            if kind == "stall":
                await self.wire.sleep(self.faults.hold)
            elif kind == "hold":
                await self.exchange.gate()
            else:
                raise Hangup(kind)


async def _pieces(
    body: Union[bytes, Iterable[bytes], AsyncIterator[bytes]],
) -> AsyncIterator[bytes]:
    if isinstance(body, bytes):
        yield body
    elif isinstance(body, AsyncIterator):
        async for piece in body:
            yield piece
    else:
        for piece in body:
            yield piece


def _pair(text: str) -> Tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise BadRequest(f"not Name:Value: {text!r}")
    return name, value.strip()


def _head(status: int, headers: List[Tuple[str, str]]) -> bytes:
    try:
        reason = http.HTTPStatus(status).phrase
    except ValueError:
        reason = "Status"
    lines = [f"HTTP/1.1 {status} {reason}"]
    lines += [f"{name}: {value}" for name, value in headers]
    text = "\r\n".join(lines) + "\r\n\r\n"
    return text.encode("utf-8", "surrogateescape")


def http_date(seconds: Optional[float] = None) -> str:
    """Returns an IMF-fixdate, by default of the current time."""
    return formatdate(time.time() if seconds is None else seconds, usegmt=True)


__all__ = ["Exchange", "Faults", "Gone", "Hangup", "http_date"]
