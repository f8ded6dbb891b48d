# Wherry: sending a `SentRequest`
# SPDX-License-Identifier: Apache-2.0
"""Converts a `SentRequest` to the keywords that send it."""

from __future__ import annotations

from ._core.errors import StateError, shown
from ._options import BODIES, Unset
from ._sent import SentRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Tuple

    from ._base import BaseClient

#: A keyword that marks a complete URL, which already contains the client's parameters.
COMPLETE = "_complete"


def sendable(
    client: BaseClient[Any], request: SentRequest, options: Mapping[str, Any]
) -> Dict[str, Any]:
    """Returns the keywords that send a request unchanged. `options` take precedence over its own."""
    if not isinstance(request, SentRequest):
        raise TypeError(
            f"send() takes a wherry.SentRequest, such as client.build_request(method, url), not {type(request).__name__}"
        )
    fields: List[Tuple[str, Optional[str]]] = list(request.headers.multi_items())
    named = {name.lower() for name, _ in fields}
    # A redirect or an auth flow removed these headers, so the client must not add its own.
    fields += [
        (name, None) for name in request._left_out if name not in named and name in client.headers
    ]
    given: Dict[str, Any] = {"headers": fields, "default_parameters": False}
    if "authorization" in named:
        given["auth"] = None
    elif not isinstance(request._auth, Unset):
        given["auth"] = request._auth
    if not any(options.get(name) is not None for name in BODIES):
        if request._is_streamed:
            raise StateError(
                f"Could not send the {request.method} request to {shown(request.url)}: its body was "
                "streamed and is not kept. Pass the body again, as content= or files=.", "wrong_state",
            )  # fmt: skip
        if request.content is not None:
            given["content"] = request.content
    return {COMPLETE: True, **given, **request._options, **options}
