# Wherry: the draft of a client's request
# SPDX-License-Identifier: Apache-2.0
"""Combines the keywords of a request with the settings of its client."""

from __future__ import annotations

from ..._native import codes
from ..credentials import is_flow
from ..forms import as_text, pairs, query_pairs
from ..request.sent import COMPLETE
from .draft import Draft
from .hooks import refreshing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

    from ..._client.requests import ClientRequests


def draft_of(client: ClientRequests[Any], method: Optional[str], url: str, options: Mapping[str, Any]) -> Draft:
    """Creates the draft of a request from its arguments and the settings of the client."""
    query = client._query
    if COMPLETE in options:
        query = []
        options = {name: value for name, value in options.items() if name != COMPLETE}
    if client._own_cookies is not None:
        client._add_own_cookies(url, options)
    if client._defaults:
        options = {**client._defaults, **options}
    if "refresh_token" in options and client in refreshing.get():
        # The refresh_token= function itself sends this request and would wait for itself.
        options = {**options, "refresh_token": None}
    fields = options.get("headers")
    if fields is not None and not isinstance(fields, list):
        # The value may be an iterator, but is read twice.
        options = {**options, "headers": pairs(fields, "headers")}
    if hasattr(options.get("cookies"), "__next__"):
        options = {**options, "cookies": list(options["cookies"])}  # The cookies are read twice, too.
    own = options.get("params")
    if query and own is not None:
        own = query_pairs(own)  # The value may be an iterator, but is read twice.
        options = {**options, "params": own}
        names = {name for name, _ in own}
        query = [(name, value) for name, value in query if as_text(name) not in names]
    if "follow_redirects" in options:
        options = client._redirects(options)
    if client._hooks is not None or "hooks" in options:
        options = client._with_hooks(options)
    if "auth" in options and is_flow(options["auth"]):
        options = {**options, "auth": None}  # `Middleware` handles the flow.
    draft = Draft(method, url)
    draft.arguments = client._arguments(method, url, options)
    if query:
        draft.apply({"params": query})
    if options:
        draft.uses_jar = client._settings.get("cookies") in (None, True)
        draft.apply(options)
        if codes.HOOK_TOKEN in draft.functions:
            draft.client = client
    if client._router is not None:
        draft.functions[codes.HOOK_RESPOND] = client._router.respond
    return draft
