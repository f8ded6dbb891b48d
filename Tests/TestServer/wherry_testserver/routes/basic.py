# Wherry: small responses of the test server: echo, statuses, headers, redirects, cookies.
# SPDX-License-Identifier: Apache-2.0
"""Routes with small responses."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Any, Dict, List, Tuple
from urllib.parse import parse_qsl

from .. import payloads
from ..exchange import Exchange, Hangup
from ..multipart import parse as parse_multipart
from ..request import BadRequest


async def index(exchange: Exchange) -> None:
    await exchange.text("wherry test server\n")


async def echo(exchange: Exchange) -> None:
    """/echo : all properties of the request, as JSON."""
    request = exchange.request
    body = await exchange.body()
    kind = request.header("content-type") or ""
    answer: Dict[str, Any] = {
        "method": request.method,
        "target": request.target,
        "path": request.path,
        "query": request.query,
        "version": request.version,
        "headers": request.headers,
        "key": request.key,
        "attempt": exchange.entry.attempt,
        "connection": exchange.entry.connection,
        "index": exchange.entry.index,
        "chunked": request.chunked,
        "size": len(body),
        "body": base64.b64encode(body).decode(),
        "json": None,
        "form": None,
        "parts": None,
    }
    coding = (request.header("content-encoding") or "").lower()
    if coding in ("gzip", "deflate"):
        body = gzip.decompress(body) if coding == "gzip" else zlib.decompress(body)
        answer["decoded"] = base64.b64encode(body).decode()
    if body:
        try:
            answer["json"] = json.loads(body)
        except ValueError:
            pass
    if kind.startswith("application/x-www-form-urlencoded"):
        answer["form"] = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
    if kind.startswith("multipart/"):
        answer["parts"] = [part.json() for part in parse_multipart(kind, body)]
    await exchange.json(answer)


async def status(exchange: Exchange) -> None:
    """/status/N?body=&type= : that status; a 1xx precedes a final 200."""
    request = exchange.request
    code = _whole(request.segments, 0, 200)
    headers: List[Tuple[str, str]] = []
    body = request.q.get("body", "").encode()
    if body or "type" in request.q:
        headers.append(("Content-Type", request.q.get("type", "text/plain; charset=utf-8")))
    if "retry_after" in request.q:
        headers.append(("Retry-After", request.q["retry_after"]))
    if code in (301, 302, 303, 307, 308) and "location" in request.q:
        headers.append(("Location", request.q["location"]))
    if code < 200 and code != 101:
        await exchange.informational(code)
        code = request.integer("then", 200)
    await exchange.respond(code, headers, body)


async def many_headers(exchange: Exchange) -> None:
    """/headers?count=&size= : ``count`` headers with values of ``size`` bytes."""
    request = exchange.request
    value = "v" * request.integer("size", 16)
    fields = [(f"X-Field-{i}", value) for i in range(request.integer("count", 10))]
    await exchange.respond(200, fields, b"ok")


async def json_route(exchange: Exchange) -> None:
    """/json : a fixed object, or the text of ?value= sent as JSON."""
    text = exchange.request.q.get("value")
    if text is None:
        text = json.dumps({"code": 0, "data": {"id": 7, "name": "wherry", "list": [1, 2, 3]}})
    kind = exchange.request.q.get("type", "application/json")
    await exchange.respond(200, [("Content-Type", kind)], text.encode("utf-8", "surrogateescape"))


async def text_route(exchange: Exchange) -> None:
    """/text/... : the rest of the path; ?charset= selects its encoding."""
    charset = exchange.request.q.get("charset", "utf-8")
    try:
        body = "/".join(exchange.request.segments).encode(charset)
    except (LookupError, UnicodeError) as error:
        raise BadRequest(str(error)) from None
    await exchange.respond(200, [("Content-Type", f"text/plain; charset={charset}")], body)


async def empty(exchange: Exchange) -> None:
    await exchange.respond(200, [("Content-Type", "application/json")], b"")


async def space(exchange: Exchange) -> None:
    await exchange.respond(200, [("Content-Type", "application/json")], b" ")


async def redirect(exchange: Exchange) -> None:
    """/redirect/N : N redirects in total, then /echo; ?status= ?host= ?absolute=1."""
    request = exchange.request
    left = _whole(request.segments, 0, 1)
    await exchange.body()
    query = request.target.partition("?")[2]
    path = f"/redirect/{left - 1}" if left > 1 else request.q.get("to", "/echo")
    location = path + ("?" + query if query and "?" not in path else "")
    if "host" in request.q or request.flag("absolute"):
        port = request.host.rpartition(":")[2]
        location = f"http://{request.q.get('host', '127.0.0.1')}:{port}{location}"
    await _redirect(exchange, location)


async def redirect_to(exchange: Exchange) -> None:
    """/redirect-to?url=&status=&cookie= ; url_next= applies from attempt change_at= on. {n} becomes
    the attempt number.
    """
    request = exchange.request
    await exchange.body()
    url = request.q.get("url", "/echo")
    if "url_next" in request.q and exchange.entry.attempt >= request.integer("change_at", 2):
        url = request.q["url_next"]
    if "cookie" in request.q:
        exchange.extra.append(("Set-Cookie", request.q["cookie"]))
    await _redirect(exchange, url.replace("{n}", str(exchange.entry.attempt)))


async def loop(exchange: Exchange) -> None:
    """/loop : redirects to itself."""
    await exchange.body()
    await _redirect(exchange, exchange.request.target)


async def _redirect(exchange: Exchange, location: str) -> None:
    code = exchange.request.integer("status", 302)
    headers = [("Location", location), ("Content-Type", "text/plain")]
    await exchange.respond(code, headers, b"elsewhere\n")


async def cookies(exchange: Exchange) -> None:
    """/cookies : the received cookies, as JSON. /cookies/set?a=1&b=2&attributes=Path=/ sets
    cookies.
    """
    request = exchange.request
    if request.segments[:1] == ["set"]:
        tail = "; " + request.q.get("attributes", "Path=/")
        skip = ("attributes", "key")
        pairs = [(n, v) for n, v in request.query if n not in skip]
        exchange.extra += [("Set-Cookie", f"{n}={v}{tail}") for n, v in pairs]
        await exchange.respond(200, [], b"")
        return
    found = [c.partition("=") for v in request.values("cookie") for c in v.split("; ")]
    await exchange.json({"cookies": [[name, value] for name, _, value in found]})


async def coded(exchange: Exchange) -> None:
    """/gzip /deflate /br /zstd : JSON in that encoding; ?size=N&seed=S compresses that many bytes
    with gzip.
    """
    request = exchange.request
    coding = request.path.split("/")[1]
    headers = [("Content-Type", "application/json"), ("Content-Encoding", coding)]
    if coding == "br":
        body = payloads.BROTLI
    elif coding == "zstd":
        body = payloads.ZSTD
    else:
        plain = payloads.PLAIN
        if "zeros" in request.q:
            plain = bytes(request.integer("zeros", 0))
        if coding == "gzip":
            body = gzip.compress(plain, 6, mtime=0)
        elif request.flag("raw"):
            packer = zlib.compressobj(6, zlib.DEFLATED, -15)
            body = packer.compress(plain) + packer.flush()
        else:
            body = zlib.compress(plain, 6)
    await exchange.respond(200, headers, body)


async def silent(exchange: Exchange) -> None:
    """/silent : never responds; closes the connection after ?seconds= (600)."""
    await exchange.wire.sleep(exchange.request.number("seconds", 600))
    raise Hangup("fin")


async def slow_head(exchange: Exchange) -> None:
    """/slow-head?drip=K&interval_ms=M : sends the response headers K bytes at a time."""
    request = exchange.request
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
    size = max(1, request.integer("drip", 1))
    for start in range(0, len(head), size):
        await exchange.wire.write(head[start : start + size])
        await exchange.wire.sleep(request.number("interval_ms", 10) / 1000)
    exchange.entry.status = 200
    exchange.answered = True


async def drip(exchange: Exchange) -> None:
    """/drip?bytes=N&interval_ms=M : one byte per interval, with Content-Length N."""
    request = exchange.request
    count = request.integer("bytes", 10)
    default = request.number("seconds", 1) * 1000 / max(1, count)
    interval = request.number("interval_ms", default) / 1000

    async def bodies() -> Any:
        for _ in range(count):
            yield b"*"
            await exchange.wire.sleep(interval)

    await exchange.respond(200, [("Content-Type", "text/plain")], bodies(), count)


async def events(exchange: Exchange) -> None:
    """/sse?count=N&interval_ms=M : server-sent events with chunked encoding."""
    request = exchange.request
    count = request.integer("count", 10)
    interval = request.number("interval_ms", 0) / 1000
    newline = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}.get(request.q.get("newline", "lf"), "\n")

    async def bodies() -> Any:
        for i in range(count):
            lines = [f"id: {i}", "event: tick", f'data: {{"n":{i}}}', "data: größer", "", ""]
            yield newline.join(lines).encode()
            if interval:
                await exchange.wire.sleep(interval)

    headers = [("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache")]
    await exchange.respond(200, headers, bodies())


async def sleep_route(exchange: Exchange) -> None:
    """/delay/MS : responds after MS milliseconds."""
    await exchange.wire.sleep(_whole(exchange.request.segments, 0, 0) / 1000)
    await exchange.text("late\n")


def _whole(segments: List[str], position: int, default: int) -> int:
    try:
        return int(segments[position]) if len(segments) > position else default
    except ValueError:
        raise BadRequest(f"{segments[position]!r} is not a whole number") from None


ROUTES = {
    "": index,
    "echo": echo,
    "faulty-echo": echo,
    "status": status,
    "headers": many_headers,
    "json": json_route,
    "text": text_route,
    "empty": empty,
    "space": space,
    "redirect": redirect,
    "redirect-to": redirect_to,
    "loop": loop,
    "cookies": cookies,
    "gzip": coded,
    "deflate": coded,
    "br": coded,
    "zstd": coded,
    "silent": silent,
    "slow-head": slow_head,
    "drip": drip,
    "sse": events,
    "delay": sleep_route,
}
