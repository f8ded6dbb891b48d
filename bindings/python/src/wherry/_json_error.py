# Wherry: the error for a body that is not JSON
# SPDX-License-Identifier: Apache-2.0
"""`JSONDecodeError`, raised by `Response.json`.

A separate module, so that json is imported only when the error occurs.
"""

from __future__ import annotations

import json

from ._core.errors import DecodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class JSONDecodeError(DecodeError, json.JSONDecodeError):
    """A `DecodeError` that is also a `json.JSONDecodeError`, as in requests and httpx.

    ``doc`` is the body text; ``pos``, ``lineno``, and ``colno`` locate the syntax error.
    """

    def __init__(self, message: str = "", reason: str = "", **details: Any) -> None:
        DecodeError.__init__(self, message, reason, **details)
        self.msg = message
        self.doc = ""
        self.pos, self.lineno, self.colno = 0, 1, 1

    def locate(self, cause: BaseException, text: str) -> JSONDecodeError:
        """Copies the position of the syntax error from the parser's error."""
        if isinstance(cause, json.JSONDecodeError):
            self.msg, self.doc, self.pos = cause.msg, cause.doc, cause.pos
            self.lineno, self.colno = cause.lineno, cause.colno
        else:
            self.doc = text
        return self
