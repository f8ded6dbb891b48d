# Wherry: the /bytes route, with download faults.
# SPDX-License-Identifier: Apache-2.0
"""A deterministic file of any size, with validators, ranges and their known faults."""

from __future__ import annotations

import base64
import hashlib
import zlib
from email.utils import parsedate_to_datetime
from typing import Iterator, List, Optional, Tuple

from .. import pattern
from ..exchange import Exchange, http_date
from ..request import BadRequest, Request

DEFAULT_DATE = 1_704_067_200  # 2024-01-01, older than the Date of any response.


class Version:
    """The representation for one attempt."""

    def __init__(self, request: Request, attempt: int, size: int) -> None:
        q = request.q
        later = attempt >= request.integer("change_at", 2)

        def pick(name: str, default: Optional[str] = None) -> Optional[str]:
            return q[name + "_next"] if later and name + "_next" in q else q.get(name, default)

        self.seed = int(pick("seed", "1") or "1", 0) & pattern.MASK
        self.size = int(pick("size", str(size)) or "0")
        self.flip = request.integer("flip", -1)
        if attempt > request.integer("times", 1 << 62):
            self.flip = -1
        tag = pick("etag", f"{self.size}-{self.seed}")
        date = pick("lastmod", str(DEFAULT_DATE))
        if request.flag("no_validator"):
            tag = date = "none"
        self.etag: Optional[str] = None
        self.date: Optional[str] = None
        if tag and tag != "none":
            self.etag = tag if '"' in tag else f'"{tag}"'
            if request.flag("weak"):
                self.etag = "W/" + self.etag
        if date and date != "none":
            self.date = http_date() if date == "now" else date
            if date.lstrip("-").isdigit():
                self.date = http_date(int(date))

    def stream(self, start: int, end: int) -> Iterator[bytes]:
        """Yields the bytes [start, end), with one byte inverted on request."""
        position = start
        for piece in pattern.stream(self.seed, start, end):
            offset = self.flip - position
            if 0 <= offset < len(piece):
                piece = piece[:offset] + bytes([piece[offset] ^ 0xFF]) + piece[offset + 1 :]
            position += len(piece)
            yield piece

    def matches(self, condition: str, strong: bool) -> bool:
        """Returns whether an entity tag or a list of tags matches this version."""
        if self.etag is None:
            return False
        if condition.strip() == "*":
            return True
        for tag in condition.split(","):
            tag = tag.strip()
            if strong and (tag.startswith("W/") or self.etag.startswith("W/")):
                continue
            if tag.replace("W/", "", 1) == self.etag.replace("W/", "", 1):
                return True
        return False

    def validators(self) -> List[Tuple[str, str]]:
        fields = []
        if self.etag is not None:
            fields.append(("ETag", self.etag))
        if self.date is not None:
            fields.append(("Last-Modified", self.date))
        return fields


async def bytes_route(exchange: Exchange) -> None:
    """/bytes/N : see the table in README.md."""
    request = exchange.request
    q = request.q
    try:
        size = int(request.segments[0])
    except (IndexError, ValueError):
        raise BadRequest("/bytes/N needs a whole number") from None
    await exchange.body()
    version = Version(request, exchange.entry.attempt, size)
    ranges = q.get("ranges") != "0"
    headers = [("Content-Type", q.get("type", "application/octet-stream"))]
    headers += version.validators()
    headers.append(("Accept-Ranges", q.get("accept_ranges", "bytes" if ranges else "none")))
    if "disposition" in q:
        headers.append(("Content-Disposition", q["disposition"]))
    if "cache" in q:
        headers.append(("Cache-Control", q["cache"]))
    headers += _digests(request, version)

    refusal = _precondition(request, version)
    if refusal:
        await exchange.respond(refusal, version.validators(), b"")
        return
    span = _range(request, version) if ranges else None
    if span is None:
        await _whole(exchange, version, headers)
        return
    start, end = span
    if start >= version.size or start >= end:
        fields = [("Content-Range", f"bytes */{version.size}"), *version.validators()]
        await exchange.respond(416, fields, b"range not satisfiable\n")
        return
    await _part(exchange, version, headers, start, end)


def _precondition(request: Request, version: Version) -> int:
    if request.flag("ignore_if_range"):
        return 0
    match = request.header("if-match")
    if match is not None and not version.matches(match, True):
        return 412
    since = request.header("if-unmodified-since")
    if since is not None and version.date is not None and _later(version.date, since):
        return 412
    match = request.header("if-none-match")
    if match is not None:
        return 304 if version.matches(match, False) else 0
    since = request.header("if-modified-since")
    if since is not None and version.date is not None and not _later(version.date, since):
        return 304
    return 0


def _later(a: str, b: str) -> bool:
    try:
        return parsedate_to_datetime(a) > parsedate_to_datetime(b)
    except (TypeError, ValueError):
        return True


def _range(request: Request, version: Version) -> Optional[Tuple[int, int]]:
    """Returns the requested range as [start, end), or None for the complete file."""
    text = request.header("range")
    if text is None or not text.startswith("bytes=") or "," in text:
        return None
    condition = request.header("if-range")
    if condition is not None and request.flag("no_if_range"):
        return None
    if condition is not None and not request.flag("ignore_if_range"):
        if '"' in condition:
            if not version.matches(condition, True):
                return None
        elif condition != version.date:
            return None
    first, _, last = text[6:].strip().partition("-")
    try:
        if not first:
            return max(0, version.size - int(last)), version.size
        end = int(last) + 1 if last else version.size
        return int(first), min(end, version.size)
    except ValueError:
        return None


async def _whole(exchange: Exchange, version: Version, headers: List[Tuple[str, str]]) -> None:
    if exchange.request.flag("gzip"):
        headers.append(("Content-Encoding", "gzip"))
        packed: Iterator[bytes] = _gzip(version.stream(0, version.size))
        if version.size <= 16 * 1024 * 1024 and "chunked" not in exchange.request.q:
            await exchange.respond(200, headers, b"".join(packed))
        else:
            await exchange.respond(200, headers, packed)
        return
    await exchange.respond(200, headers, version.stream(0, version.size), version.size)


async def _part(exchange: Exchange, version: Version, headers: List[Tuple[str, str]], start: int, end: int) -> None:
    request = exchange.request
    total = str(version.size)
    bad = request.q.get("bad_range", "")
    name = request.name + "\0range"
    if bad and exchange.server.record.count(name) > request.integer("bad_times", 1 << 62):
        bad = ""
    if bad == "gap":
        start = min(start + request.integer("shift", 1000), end - 1)
    elif bad == "early":
        start = max(0, start - request.integer("shift", 65536))
    elif bad == "zero":
        start, end = 0, version.size
    elif bad == "short":
        end = max(start + 1, end - request.integer("shift", 1000))
    elif bad == "missing":
        exchange.base = 0
        await exchange.respond(206, headers, version.stream(0, version.size), version.size)
        return
    elif bad == "total":
        total = str(version.size + request.integer("shift", 4096))
    elif bad == "unknown":
        total = "*"
    elif bad == "encoding":
        headers.append(("Content-Encoding", "gzip"))
    elif bad == "multipart":
        await _multipart(exchange, version, headers, start, end)
        return
    elif bad == "garbage":
        headers.append(("Content-Range", "bytes from here to there"))
    if bad != "garbage":
        headers.append(("Content-Range", f"bytes {start}-{end - 1}/{total}"))
    exchange.base = start
    pieces = version.stream(start, end)
    if bad == "encoding":
        await exchange.respond(206, headers, b"".join(_gzip(pieces)))
    else:
        await exchange.respond(206, headers, pieces, end - start)


async def _multipart(
    exchange: Exchange, version: Version, headers: List[Tuple[str, str]], start: int, end: int
) -> None:
    head = (
        "--wherry-range\r\nContent-Type: application/octet-stream\r\n"
        f"Content-Range: bytes {start}-{end - 1}/{version.size}\r\n\r\n"
    ).encode()
    body = head + b"".join(version.stream(start, end)) + b"\r\n--wherry-range--\r\n"
    kept = [f for f in headers if f[0] != "Content-Type"]
    kept.append(("Content-Type", "multipart/byteranges; boundary=wherry-range"))
    await exchange.respond(206, kept, body)


def _gzip(pieces: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    for piece in pieces:
        data = packer.compress(piece)
        if data:
            yield data
    yield packer.flush()


def _digests(request: Request, version: Version) -> List[Tuple[str, str]]:
    """Returns Repr-Digest, Digest and Content-MD5: ``right``, ``wrong``, or the given text."""
    fields = []
    for query, field, algorithm, shape in (
        ("repr_digest", "Repr-Digest", "sha256", "sha-256=:{}:"),
        ("repr_digest_512", "Repr-Digest", "sha512", "sha-512=:{}:"),
        ("digest", "Digest", "sha256", "SHA-256={}"),
        ("content_md5", "Content-MD5", "md5", "{}"),
    ):
        value = request.q.get(query)
        if value in ("right", "1"):
            raw = pattern.digest(version.seed, version.size, algorithm)
            value = shape.format(base64.b64encode(raw).decode())
        elif value == "wrong":
            raw = hashlib.new(algorithm, b"something else").digest()
            value = shape.format(base64.b64encode(raw).decode())
        if value:
            fields.append((field, value))
    return fields


async def digest_route(exchange: Exchange) -> None:
    """/digest/N?seed=S&algorithm=sha256 : the digest of /bytes/N?seed=S in hexadecimal."""
    request = exchange.request
    try:
        size = int(request.segments[0])
        seed = request.integer("seed", 1) & pattern.MASK
        text = pattern.digest(seed, size, request.q.get("algorithm", "sha256")).hex()
    except (IndexError, ValueError) as error:
        raise BadRequest(str(error)) from None
    await exchange.respond(200, [("Content-Type", "text/plain")], text.encode())


ROUTES = {"bytes": bytes_route, "digest": digest_route}
