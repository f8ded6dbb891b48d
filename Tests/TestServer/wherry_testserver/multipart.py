# Wherry: a strict parser for multipart/form-data.
# SPDX-License-Identifier: Apache-2.0
"""Parses multipart bodies strictly by RFC 2046 and RFC 7578."""

from __future__ import annotations

import email.message
import email.utils
import hashlib
from typing import Any, Dict, List, Optional, Tuple

from .request import BadRequest


class Part:
    """One part of a multipart body."""

    def __init__(self, head: bytes, data: bytes) -> None:
        self.headers: List[Tuple[str, str]] = []
        self.data = data
        for line in head.decode("utf-8", "replace").split("\r\n"):
            if line:
                name, colon, value = line.partition(":")
                if not colon:
                    raise BadRequest(f"bad part header {line!r}")
                self.headers.append((name, value.strip()))
        fields = {name.lower(): value for name, value in self.headers}
        self.type: Optional[str] = fields.get("content-type")
        self.disposition = fields.get("content-disposition", "")
        self.name = parameter(self.disposition, "name")
        self.filename = parameter(self.disposition, "filename")

    def json(self) -> Dict[str, Any]:
        """Returns the part as `/echo` reports it. Includes short text."""
        text: Optional[str] = None
        if self.filename is None and len(self.data) <= 65536:
            text = self.data.decode("utf-8", "replace")
        return {
            "name": self.name,
            "filename": self.filename,
            "type": self.type,
            "headers": self.headers,
            "size": len(self.data),
            "sha256": hashlib.sha256(self.data).hexdigest(),
            "text": text,
        }


def parameter(value: str, name: str) -> Optional[str]:
    """Returns a parameter of Content-Disposition: quoted (HTML's %22 %0D %0A), bare or RFC 5987."""
    message = email.message.Message()
    extended = _raw(value, name + "*")
    if extended is not None:
        message["x"] = f"x; {name}*={extended}"
        found = message.get_param(name, header="x")
        if isinstance(found, tuple):
            return str(email.utils.collapse_rfc2231_value(found))
    return _raw(value, name)


def _raw(value: str, name: str) -> Optional[str]:
    rest = value.partition(";")[2]
    while rest:
        rest = rest.lstrip("; \t")
        field, equals, rest = rest.partition("=")
        if not equals:
            return None
        if rest.startswith('"'):
            text, end = "", 1
            while end < len(rest) and rest[end] != '"':
                if rest[end] == "\\" and rest[end + 1 : end + 2] in ('"', "\\"):
                    end += 1
                text += rest[end]
                end += 1
            rest = rest[end + 1 :]
            for code, char in (("%22", '"'), ("%0D", "\r"), ("%0A", "\n")):
                text = text.replace(code, char)
        else:
            text, _, rest = rest.partition(";")
            text = text.strip()
        if field.strip().lower() == name:
            return text
    return None


def parse(content_type: str, body: bytes) -> List[Part]:
    """Returns the parts. Rejects any violation of the format."""
    boundary = _raw("x;" + content_type.partition(";")[2], "boundary")
    if not boundary:
        raise BadRequest(f"no boundary in {content_type!r}")
    mark = b"--" + boundary.encode("latin-1", "replace")
    if not body.startswith(mark):
        start = body.find(b"\r\n" + mark)
        if start < 0:
            raise BadRequest("no first boundary")
        body = body[start + 2 :]
    pieces = body[len(mark) :].split(b"\r\n" + mark)
    if not pieces[-1].startswith(b"--"):
        raise BadRequest("no closing boundary")
    parts = []
    for piece in pieces[:-1]:
        if not piece.startswith(b"\r\n"):
            raise BadRequest("a boundary does not end its line")
        head, blank, data = piece[2:].partition(b"\r\n\r\n")
        if not blank:
            raise BadRequest("a part has no empty line after its head")
        parts.append(Part(head, data))
    return parts
