# Wherry: the arguments of a request
# SPDX-License-Identifier: Apache-2.0
"""The arguments of a request, which are converted to a `SentRequest` on demand."""

from __future__ import annotations

from .. import Deferred

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Set, Tuple, Union

    from .. import credentials, forms
    from . import sent
    from .editable import Request
    from .sent import Field, SentRequest
else:
    # The first request of a client needs none of these.

    @Deferred
    def credentials():
        from .. import credentials

        return credentials

    @Deferred
    def forms():
        from .. import forms

        return forms

    @Deferred
    def sent():
        from . import sent

        return sent


class RequestArguments:
    """The arguments of a request, which are converted to a `SentRequest` on demand.

    Values that the caller may change later are copied or encoded when the request is made. `Draft`
    records the body when it passes the body to the library.
    """

    __slots__ = (
        "_method", "url", "_own_headers", "_client_headers", "_auth", "_has_own_auth",
        "_parameters", "content", "kind", "is_streamed", "_first", "_edited", "_first_url",
    )  # fmt: skip

    def __init__(
        self, method: Optional[str], url: str, options: Mapping[str, Any], fields: List[Field],
        settings: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self._method = method
        #: The URL as given.
        self.url = url
        headers = options.get("headers")
        #: The headers of the request itself. A value of None removes the client's header.
        self._own_headers: List[Tuple[Any, Any]] = forms.pairs(headers, "headers") if headers else []
        cookies = options.get("cookies")
        has_own = any(forms.as_text(name).lower() == "cookie" for name, _ in self._own_headers)
        if cookies and not isinstance(cookies, bool) and not has_own:
            from ..cookies import cookie_pairs

            sent = "; ".join(f"{name}={value}" for name, value in cookie_pairs(cookies, url))
            if sent:
                self._own_headers = [*self._own_headers, ("Cookie", sent)]
        self._client_headers = fields
        self._has_own_auth = "auth" in options
        self._auth = options.get("auth", settings.get("auth"))
        self._parameters = settings.get("parameters")
        #: The body, if it is known: bytes, or the fields of a form.
        self.content: Union[bytes, List[Tuple[Any, Any]], None] = None
        #: The content type; "" if it is unknown, None without a body.
        self.kind: Optional[str] = None
        #: Whether the request has a body that is not kept.
        self.is_streamed = False
        self._first: Optional[SentRequest] = None
        #: The requests as edited by ``adapt=``, by their URL before the edits; the key "" is the
        #: first request.
        self._edited: Dict[str, SentRequest] = {}
        #: The URL of the first request as ``adapt=`` received it: absolute, with the complete
        #: query.
        self._first_url = ""

    @classmethod
    def of(cls, request: SentRequest) -> RequestArguments:
        """Creates the arguments for a request that a program made."""
        arguments = cls(request.method, request.url, {}, [], {})
        arguments._first = request
        return arguments

    def record_body(self, kind: str, content: Union[bytes, List[Tuple[Any, Any]], None]) -> None:
        """Records the body; None for a streamed body."""
        self.kind, self.content, self.is_streamed = kind, content, content is None

    def record_options(self, options: Mapping[str, Any]) -> None:
        """Records the body of a request that could not be created."""
        data = options.get("content")
        data = options.get("data") if data is None else data
        if options.get("files"):
            self.record_body("", None)
        elif options.get("json") is not None:
            self.record_body("application/json", forms.json_bytes(options["json"]))
        elif data is not None and forms.is_form(data):
            self.record_body("application/x-www-form-urlencoded", list(forms.flat(data, "data")))
        elif data is not None:
            text = data.encode() if isinstance(data, str) else data
            self.record_body("", bytes(text) if isinstance(text, (bytes, bytearray)) else None)
        elif options.get("parameters"):
            self.record_parameters(dict(forms.pairs(options["parameters"], "parameters")))

    def record_parameters(self, parameters: Dict[str, Any]) -> None:
        """Records parameters, which are the body unless the method sends them in the query."""
        if self._method not in ("GET", "HEAD", "DELETE") and self.kind is None and parameters:
            known = {name: forms.as_text(value) for name, value in (self._parameters or {}).items()}
            self.record_body("application/json", forms.json_bytes({**known, **parameters}))

    def at(self, url: str) -> SentRequest:
        """Returns the first request, with the URL that it was sent to."""
        edited = self._edited.get("")
        return self._plain(url) if edited is None else edited.at(url)

    def after_redirect(self, before: SentRequest, status: int, url: str) -> SentRequest:
        """Returns the request after a redirect with this status to this URL."""
        plain = before.redirected(status, url)
        edited = self._edited.get(url.partition("#")[0]) if self._edited else None
        if edited is None:
            return plain
        if "authorization" in plain._left_out:  # Another origin receives only safe headers.
            edited = edited.at(edited.url)
            for name in [name for name in edited.headers if name.lower() not in sent.SAFE]:
                edited.headers[name] = None
        return edited

    def record_edits(self, url: str, request: Request) -> None:
        """Records a request after an ``adapt=`` hook edited it.

        `url` is the URL before the edits.
        """
        if not self._edited:
            self._first_url = url
        key = "" if url == self._first_url else url
        before = self._plain(url) if not key else self._edited[""].at(url)
        own = request._all_fields()
        names = {name.lower() for name, _ in own}
        if key and request.method != before.method:
            names |= {"content-type", "content-encoding"}  # The body is dropped.
        fields = [field for field in before.headers.multi_items() if field[0].lower() not in names]
        fields += [(name, value) for name, value in own if value is not None]
        method, content = request.method, request.content
        after = sent.SentRequest(method, request.url, fields, before.content if content is None else content)
        if key and method != before.method:
            after.content = content
        after._is_streamed = before._is_streamed and content is None
        after._auth = before._auth
        self._edited = {**self._edited, key: after}

    def _plain(self, url: str) -> SentRequest:
        first = self._first
        if first is None:
            method = (self._method or ("GET" if self.kind is None else "POST")).upper()
            content = forms.form_bytes(self.content) if isinstance(self.content, list) else self.content
            first = self._first = sent.SentRequest(method, url, self._headers(), content)
            first._is_streamed = self.is_streamed
            if isinstance(self._auth, credentials.DigestAuth):
                first._auth = self._auth
            elif self._has_own_auth and self._auth is None:
                first._auth = None
        return first.at(url)

    def _headers(self) -> List[Field]:
        own = self._own_headers
        names: Set[str] = {forms.as_text(name).lower() for name, _ in own}
        fields = [field for field in self._client_headers if field[0].lower() not in names]
        fields += [(forms.as_text(name), forms.as_text(value)) for name, value in own if value is not None]
        own_names = set(names)
        names |= {name.lower() for name, _ in fields}
        if self.kind and "content-type" not in names:
            fields.append(("Content-Type", self.kind))
        auth = None if credentials.is_flow(self._auth) else credentials.credentials(self._auth)
        if self._has_own_auth and not isinstance(auth, (credentials.Basic, credentials.Bearer)):
            if "authorization" not in own_names:
                fields = [field for field in fields if field[0].lower() != "authorization"]
        elif isinstance(auth, (credentials.Basic, credentials.Bearer)) and "authorization" not in names:
            fields.append(("Authorization", auth.field()))
        return fields

    def __reduce__(self) -> Tuple[Any, ...]:
        state = {name: getattr(self.at(self.url), name) for name in sent.SentRequest.__slots__}
        state["headers"] = state["headers"].multi_items()
        after = {url: one for url, one in self._edited.items() if url}
        return _restore, (self.url, state, after)


def _restore(url: str, state: Dict[str, Any], after: Dict[str, SentRequest]) -> RequestArguments:
    arguments = RequestArguments(state["method"], url, {}, [], {})
    arguments._first = sent.SentRequest._like(
        state["method"], url, state["headers"], state["content"],
        {name: state[name] for name in sent.SentRequest.__slots__[4:]},
    )  # fmt: skip
    arguments._edited = after
    return arguments
