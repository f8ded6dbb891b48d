# Wherry: parsing of JSON bodies
# SPDX-License-Identifier: Apache-2.0
"""The hook and the error of `Response.json`.

A separate module, so that json is imported only when it is needed.
"""

from __future__ import annotations

import json

from .._errors import DecodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict


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


def without_nulls(options: Dict[str, Any]) -> Any:
    """Returns a hook for `json.loads` that omits nulls, and then calls the caller's hook if there is one."""
    make = options.pop("object_pairs_hook", None)
    if make is None:
        hook = options.pop("object_hook", None)
        make = dict if hook is None else lambda members: hook(dict(members))
    return lambda members: make([(name, value) for name, value in members if value is not None])
