# Wherry: response attributes with the names of requests and httpx
# SPDX-License-Identifier: Apache-2.0
"""The part of `Response` that is compatible with requests and httpx."""

from __future__ import annotations

from ..._errors import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple, TypeVar

    from ..headers import Headers
    from ..request.arguments import RequestArguments
    from ..request.sent import SentRequest
    from .cookies import ResponseCookies
    from .response import Response

    Self = TypeVar("Self", bound="ResponseCompatibility")

#: The HTTP versions by the library's numbers.
VERSIONS = {10: "HTTP/1.0", 11: "HTTP/1.1", 20: "HTTP/2"}


#: Patterns for one link of a Link header, and for one parameter of a link (RFC 8288).
LINK = r'<([^>]*)>((?:\s*;\s*[^\s=;,]+\s*(?:=\s*(?:"(?:[^"\\]|\\.)*"|[^",;]*))?)*)'
LINK_PARAMETER = r';\s*([^\s=;,]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^",;]*)))?'


def parsed_links(field: str) -> Dict[str, Dict[str, str]]:
    """Parses a Link header.

    The key of a link is its relation, or its URL if it has no relation, as in requests and httpx.
    """
    import re

    found: Dict[str, Dict[str, str]] = {}
    for url, parameters in re.findall(LINK, field):
        link = {"url": url}
        for name, quoted, plain in re.findall(LINK_PARAMETER, parameters):
            link.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain.strip(" '"))
        found[link.get("rel") or url] = link
    return found


class ResponseCompatibility:
    """See `Response`."""

    status_code: int
    url: str
    _version: int = 11
    _arguments: Optional[RequestArguments] = None
    _hops: Tuple[Response, ...] = ()
    #: The earlier responses of the auth flow.
    _before: Tuple[Response, ...] = ()

    if TYPE_CHECKING:

        @property
        def headers(self) -> Headers:
            """See `Response.headers`."""

        @property
        def ok(self) -> bool:
            """See `Response.ok`."""

        encoding: str

        def iter_bytes(self, chunk_size: Optional[int] = None) -> Iterator[bytes]:
            """See `Response.iter_bytes`."""

        def close(self) -> None:
            """See `Response.close`."""

    @property
    def history(self) -> List[Response]:
        """The redirect responses that led to this response, oldest first.

        They have headers but no body.

        Earlier responses of an auth flow come first.
        """
        for place, hop in enumerate(self._hops):
            if hop._arguments is None:
                hop._arguments, hop._hops = self._arguments, self._hops[:place]
                hop._before = self._before
        return [*self._before, *self._hops]

    @history.setter
    def history(self, hops: Iterable[Response]) -> None:
        self._hops = tuple(hops)

    @property
    def request(self) -> SentRequest:
        """The request that led to this response; after redirects, the last one.

        It contains the values that the program passed. Raises StateError if the response has no
        request, for example if a program created the response itself.
        """
        arguments, hops = self._arguments, self._hops
        if arguments is None:
            raise StateError("this response has no request: it was not received", "wrong_state")
        urls = [hop.url for hop in hops] + [self.url]
        request = arguments.at(urls[0])
        for hop, url in zip(hops, urls[1:]):
            request = arguments.after_redirect(request, hop.status_code, url)
        return request

    @request.setter
    def request(self, request: SentRequest) -> None:
        from ..request.arguments import RequestArguments

        self._arguments, self._hops = RequestArguments.of(request), ()
        self.url = self.url or request.url

    @property
    def is_redirect(self) -> bool:
        """Whether this is a redirect that was not followed."""
        from ..request.sent import REDIRECTS

        return self.status_code in REDIRECTS and "location" in self.headers

    @property
    def has_redirect_location(self) -> bool:
        """Alias of `is_redirect`, named as in httpx."""
        return self.is_redirect

    @property
    def is_permanent_redirect(self) -> bool:
        """Whether this is a redirect with status 301 or 308."""
        return self.is_redirect and self.status_code in (301, 308)

    @property
    def is_informational(self) -> bool:
        """Whether the status is 100 to 199."""
        return 100 <= self.status_code <= 199

    @property
    def is_client_error(self) -> bool:
        """Whether the status is 400 to 499."""
        return 400 <= self.status_code <= 499

    @property
    def is_server_error(self) -> bool:
        """Whether the status is 500 to 599."""
        return 500 <= self.status_code <= 599

    @property
    def is_error(self) -> bool:
        """Whether the status is 400 to 599."""
        return 400 <= self.status_code <= 599

    @property
    def next_request(self) -> Optional[SentRequest]:
        """The request that follows this redirect, for `Client.send`.

        None if this is not a redirect.
        """
        if not self.is_redirect:
            return None
        from urllib.parse import urljoin

        request = self.request
        return request.redirected(self.status_code, urljoin(self.url, self.headers["location"]))

    @property
    def next(self) -> Optional[SentRequest]:
        """Alias of `next_request`, named as in requests."""
        return self.next_request

    @property
    def cookies(self) -> ResponseCookies:
        """The cookies that this response sets. `Client.cookies` has the stored cookies."""
        from .cookies import ResponseCookies

        return ResponseCookies(self.headers.get_list("set-cookie"))

    @property
    def links(self) -> Dict[str, Dict[str, str]]:
        """The links of the Link header by relation: ``response.links["next"]["url"]``."""
        return parsed_links(self.headers.get("link", ""))

    @property
    def http_version(self) -> str:
        """The HTTP version of the response: "HTTP/1.0", "HTTP/1.1", or "HTTP/2"."""
        return VERSIONS.get(self._version, "HTTP/1.1")

    @property
    def reason_phrase(self) -> str:
        """The standard reason phrase of the status code; "" for an unknown code."""
        from .statuses import codes

        return codes.get_reason_phrase(self.status_code)

    @property
    def reason(self) -> str:
        """Alias of `reason_phrase`, named as in requests."""
        return self.reason_phrase

    def iter_content(self, chunk_size: Optional[int] = 1, decode_unicode: bool = False) -> Iterator[Any]:
        """Iterates over the body in chunks of ``chunk_size`` bytes, as in requests.

        None yields chunks as they arrive. With ``decode_unicode`` the chunks are str.
        """
        if not decode_unicode:
            yield from self.iter_bytes(chunk_size)
            return
        import codecs

        decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        for piece in self.iter_bytes(chunk_size):
            yield from filter(None, (decoder.decode(piece),))
        yield from filter(None, (decoder.decode(b"", True),))

    if not TYPE_CHECKING:  # Otherwise, type checkers would accept any name.

        def __getattr__(self, name: str) -> Any:
            from ..hints import RESPONSES, missing

            if hasattr(type(self), name):  # A property raised this error: show the error itself.
                return object.__getattribute__(self, name)
            raise missing(self, name, RESPONSES.get(name))

    def __bool__(self) -> bool:
        """Whether the response is `ok`, as in requests.

        To test for a missing response, compare with None.
        """
        return self.ok

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
