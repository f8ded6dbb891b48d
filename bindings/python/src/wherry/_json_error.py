# Wherry: the error of a body that is not JSON
# SPDX-License-Identifier: Apache-2.0
"""`Response.json` raises this class. A module of its own, so that only such an error imports json."""

from __future__ import annotations

import json

from ._errors import DecodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class JSONDecodeError(DecodeError, json.JSONDecodeError):
    """A `DecodeError` that is a `json.JSONDecodeError` too, as in requests and httpx.

    ``doc`` is the text, and ``pos``, ``lineno``, and ``colno`` are the place of the mistake.
    """

    def __init__(self, message: str = "", reason: str = "", **details: Any) -> None:
        DecodeError.__init__(self, message, reason, **details)
        self.msg = message
        self.doc = ""
        self.pos, self.lineno, self.colno = 0, 1, 1

    def locate(self, cause: BaseException, text: str) -> JSONDecodeError:
        """Takes the place of a mistake from the parser's error."""
        if isinstance(cause, json.JSONDecodeError):
            self.msg, self.doc, self.pos = cause.msg, cause.doc, cause.pos
            self.lineno, self.colno = cause.lineno, cause.colno
        else:
            self.doc = text
        return self


__all__ = ["JSONDecodeError"]
