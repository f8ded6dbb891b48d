# Wherry: the request behind a response or an error
# SPDX-License-Identifier: Apache-2.0
"""`SentRequest`, the type of `Response.request`, `WherryError.request`, and `Response.next_request`."""

from __future__ import annotations

from ..._errors import StateError, without_query
from ..forms import BODIES, pairs
from ..headers import EditableHeaders
from ..options import UNSET, Unset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

    from ..._client.requests import ClientRequests

    Field = Tuple[str, str]

#: Statuses that redirect if the response has a Location header.
REDIRECTS = frozenset((301, 302, 303, 307, 308))

#: The headers that are kept on a redirect to another origin.
SAFE = frozenset(
    ("accept", "accept-language", "accept-encoding", "user-agent", "content-type", "content-encoding",
     "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
     "cache-control", "expect")
)  # fmt: skip


class SentRequest:
    """A request that was sent, or that `Client.send` can send. Attributes:

    ``method``   such as "GET"
    ``url``      absolute, with the complete query
    ``headers``  the headers that the program set for the client or the request; the library adds
                 others. Edits have no effect on a request that was already sent
    ``content``  the body as bytes, None if there is none or it was streamed
    """

    __slots__ = ("method", "url", "headers", "content", "_is_streamed", "_auth", "_left_out", "_options")

    def __init__(
        self, method: str, url: str,
        headers: Union[Mapping[str, str], Iterable[Field], None] = None,
        content: Optional[bytes] = None,
    ) -> None:  # fmt: skip
        self.method = method
        self.url = url
        self.headers = EditableHeaders(list(pairs(headers or (), "headers")))
        self.content = content
        #: Whether the request has a body that `content` does not contain.
        self._is_streamed = False
        #: The ``auth=`` of the request, unless it is sent as a header. UNSET means the client's
        #: ``auth=``.
        self._auth: Any = UNSET
        #: The headers, in lower case, that a redirect removed. The client must not add its own
        #: values for them.
        self._left_out: Tuple[str, ...] = ()
        #: Other keywords of `build_request`, which `send` uses, such as ``timeout=``.
        self._options: Mapping[str, Any] = {}

    @property
    def body(self) -> Optional[bytes]:
        """Alias of `content`, named as in requests."""
        return self.content

    @body.setter
    def body(self, value: Optional[bytes]) -> None:
        self.content = value

    def read(self) -> bytes:
        """Returns the body as bytes, b"" if there is none."""
        return self.content or b""

    @property
    def text(self) -> str:
        """The body as text."""
        return self.read().decode("utf-8", "replace")

    def json(self, **options: Any) -> Any:
        """Parses the body as JSON. The keywords are those of `json.loads`."""
        import json

        return json.loads(self.read(), **options)

    def redirected(self, status: int, url: str) -> SentRequest:
        """Returns the request that follows a redirect with this status to this URL."""
        method, removed = self.method, set(self._left_out)
        if method == "POST" and status in (301, 302) or method != "HEAD" and status == 303:
            method = "GET"
        auth = self._auth
        if origin(url) != origin(self.url):
            removed |= {"authorization", "cookie"}
            removed |= {name.lower() for name in self.headers} - SAFE
            auth = None
        if method != self.method:
            removed |= {"content-type", "content-encoding"}
        fields = [field for field in self.headers.multi_items() if field[0].lower() not in removed]
        has_body = method == self.method
        return self._like(method, url, fields, self.content if has_body else None, {
            "_is_streamed": self._is_streamed and has_body, "_auth": auth,
            "_left_out": tuple(sorted(removed)),
            "_options": self._options,
        })  # fmt: skip

    def at(self, url: str) -> SentRequest:
        """Returns the same request for another URL."""
        rest = {name: getattr(self, name) for name in SentRequest.__slots__[4:]}
        return self._like(self.method, url, self.headers.multi_items(), self.content, rest)

    @staticmethod
    def _like(
        method: str, url: str, fields: List[Field], content: Optional[bytes], rest: Dict[str, Any]
    ) -> SentRequest:
        made = SentRequest(method, url, fields, content)
        for name, value in rest.items():
            setattr(made, name, value)
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.method} {without_query(self.url)}>"


def origin(url: str) -> Tuple[str, str]:
    """Returns the scheme and authority of an absolute URL."""
    scheme, _, rest = url.partition("://")
    for end in "/?#":
        rest = rest.partition(end)[0]
    return scheme.lower(), rest.rpartition("@")[2].lower()


#: A keyword that marks a complete URL, which already contains the client's parameters.
COMPLETE = "_complete"


def keywords_to_send(client: ClientRequests[Any], request: SentRequest, options: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the keywords that send a request unchanged. `options` take precedence over the
    request's own keywords."""
    if not isinstance(request, SentRequest):
        raise TypeError(
            f"send() takes a wherry.SentRequest, such as client.build_request(method, url), not {type(request).__name__}"
        )
    fields: List[Tuple[str, Optional[str]]] = list(request.headers.multi_items())
    names = {name.lower() for name, _ in fields}
    # A redirect or an auth flow removed these headers, so the client must not add its own.
    fields += [(name, None) for name in request._left_out if name not in names and name in client.headers]
    keywords: Dict[str, Any] = {"headers": fields, "default_parameters": False}
    if "authorization" in names:
        keywords["auth"] = None
    elif not isinstance(request._auth, Unset):
        keywords["auth"] = request._auth
    if not any(options.get(name) is not None for name in BODIES):
        if request._is_streamed:
            raise StateError(
                f"Could not send the {request.method} request to {without_query(request.url)}: its body was "
                "streamed and is not kept. Pass the body again, as content= or files=.", "wrong_state",
            )  # fmt: skip
        if request.content is not None:
            keywords["content"] = request.content
    return {COMPLETE: True, **keywords, **request._options, **options}
