# Wherry: an HTTP/1.1 request of the test server.
# SPDX-License-Identifier: Apache-2.0
"""Parses request headers, deliberately leniently, because tests check the bytes that arrive."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple
from urllib.parse import parse_qsl, unquote

Pairs = List[Tuple[str, str]]


class BadRequest(Exception):
    """Invalid request headers."""


class Request:
    """Parsed request headers."""

    __slots__ = (
        "method", "target", "version", "headers", "fields",
        "path", "query", "q", "key", "name", "control", "host",
    )  # fmt: skip

    def __init__(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        first = lines[0].split(" ")
        if len(first) != 3 or not first[2].startswith("HTTP/1."):
            raise BadRequest(f"bad request line {lines[0]!r}")
        self.method, self.target, self.version = first
        self.headers: Pairs = []
        self.fields: Dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise BadRequest(f"bad header line {line!r}")
            value = value.strip(" \t")
            self.headers.append((name, value))
            self.fields.setdefault(name.lower(), value)
        target = self.target
        self.host = self.fields.get("host", "")
        if "://" in target[:8]:
            self.host, slash, rest = target.partition("://")[2].partition("/")
            target = slash + rest or "/"
        path, _, query = target.partition("?")
        self.path = unquote(path)
        self.query: Pairs = parse_qsl(query, keep_blank_values=True) if query else []
        self.q: Dict[str, str] = dict(self.query)
        self.key = self.q.get("key") or self.fields.get("x-test-key")
        if self.path.startswith("/@"):
            self.key, _, rest = self.path[2:].partition("/")
            self.path = "/" + rest
        self.control = self.path.startswith("/_")
        self.name = f"{self.key}\0{self.path}" if self.key is not None else target

    def header(self, name: str) -> Optional[str]:
        """Returns the first header with a name (in lower case)."""
        return self.fields.get(name)

    def values(self, name: str) -> List[str]:
        """Returns all headers with a name (in lower case)."""
        return [value for field, value in self.headers if field.lower() == name]

    def integer(self, name: str, default: int) -> int:
        """Returns an integer from the query."""
        text = self.q.get(name)
        if not text:
            return default
        try:
            return int(text, 0)
        except ValueError:
            raise BadRequest(f"query {name}={text!r} is not a whole number") from None

    def number(self, name: str, default: float) -> float:
        """Returns a number from the query."""
        text = self.q.get(name)
        if not text:
            return default
        try:
            return float(text)
        except ValueError:
            raise BadRequest(f"query {name}={text!r} is not a number") from None

    def flag(self, name: str) -> bool:
        """Returns whether the query has ``name`` with a value other than 0 or empty."""
        return self.q.get(name, "0") not in ("0", "")

    def scoped(self, name: str) -> str:
        """Returns a name from the query, qualified by the request's key."""
        return f"{self.key or ''}\0{self.q.get(name, '')}"

    @property
    def segments(self) -> List[str]:
        """The path segments after the route's name."""
        return self.path.split("/")[2:]

    @property
    def chunked(self) -> bool:
        return "chunked" in self.fields.get("transfer-encoding", "").lower()

    @property
    def length(self) -> int:
        """The Content-Length; 0 if missing."""
        text = self.fields.get("content-length", "0")
        if not text.isdigit():
            raise BadRequest(f"bad Content-Length {text!r}")
        return int(text)

    @property
    def keep_alive(self) -> bool:
        connection = self.fields.get("connection", "").lower()
        if self.version == "HTTP/1.0":
            return "keep-alive" in connection
        return "close" not in connection
