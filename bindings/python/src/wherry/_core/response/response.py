# Wherry: the response to a request
# SPDX-License-Identifier: Apache-2.0
"""`Response`, which blocking and asyncio clients share."""

from __future__ import annotations

from ..._errors import ArgumentError, HTTPStatusError, brief, without_query
from ..._native import codes
from .. import Deferred
from .body import ResponseBody
from .compatibility import ResponseCompatibility

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import timedelta
    from typing import (
        Any, Callable, FrozenSet, Iterable, List, Mapping, Optional, Tuple, TypeVar, Union,
    )  # fmt: skip

    from ..._errors import ImageResult, WherryError
    from .. import headers as fields
    from ..headers import Headers
    from ..images import Image
    from ..progress import Metrics
    from ..request.sent import SentRequest

    Value = TypeVar("Value")
else:

    @Deferred
    def fields():
        from .. import headers

        return headers


#: The flags of a record that name the HTTP version.
VERSION_FLAGS = codes.RECORD_HTTP_2 | codes.RECORD_HTTP_1_0


class Response(ResponseBody, ResponseCompatibility):
    """A response with its complete, decoded body. Attributes:

    ``status_code``   the HTTP status
    ``url``           the URL of the response, after redirects
    ``tag``           the request's ``tag=``
    ``from_cache``    whether the response comes from a cache
    ``is_stale``      whether a cached response is stale
    ``is_revalidated`` whether the server just confirmed a cached response with a 304
    ``is_length_unverified`` whether the body may be truncated
    ``unchanged``     whether the body equals the cached body that ``on_cached=`` received
    ``informational`` the informational responses (1xx) before this one, such as 103
    ``history``       the redirects that led to this response, oldest first
    ``failed_images`` the images that could not be uploaded
    ``images``        all images of the upload, including skipped ones, in order
    ``saved_path``    the file that ``on_headers=`` saved the body to
    ``context``       the object that the caller passed as ``context=``
    ``metrics``       times and byte counts, if the request had ``metrics=True``
    """

    status_code: int
    url: str
    tag: Optional[str]
    # Rare attributes have their default on the class, so that most responses do not store them.

    #: Whether the response comes from a cache.
    from_cache: bool = False
    #: Whether a cached response is stale. The server failed, or the policy, request, or response
    #: allows a stale response.
    is_stale: bool = False
    #: Whether the server just confirmed a cached response with a 304. The body was not sent again.
    is_revalidated: bool = False
    #: Whether the body may be truncated: it was received over TLS, has no length, and ended without
    #: close_notify. An error with ``require_verified_length=True``.
    is_length_unverified: bool = False
    #: Whether the body equals that of the cached response that ``on_cached=`` received.
    unchanged: bool = False
    #: The informational responses (1xx) before this one, such as 103 Early Hints, in order of
    #: arrival. Those before a redirect or an earlier attempt are not included.
    informational: Tuple[Response, ...] = ()
    #: The images of an upload that failed.
    failed_images: Tuple[ImageResult, ...] = ()
    #: All images of the upload, including skipped ones, in order.
    images: Tuple[ImageResult, ...] = ()
    #: The absolute path of the file that ``on_headers=`` saved the body to. The response then has no
    #: body.
    saved_path: Optional[str] = None
    #: The object that the caller passed as ``context=``.
    context: Any = None
    #: Times and byte counts, if the request had ``metrics=True``.
    metrics: Optional[Metrics] = None
    _accepted: FrozenSet[int] = frozenset()
    _accepted_range: Optional[range] = None
    _error: Optional[WherryError] = None
    _headers: Optional[Headers] = None
    _encoding: Optional[str] = None
    #: The charset of a text that declares none, or a function that finds the charset of a body.
    _default_encoding: Any = "utf-8"
    _seconds: float = 0.0
    #: The fragment of the requested URL; None until it is known.
    _fragment: Optional[str] = None

    def __init__(
        self,
        status_code: int = 200,
        *,
        headers: Union[Mapping[str, str], Iterable[Tuple[str, str]], None] = None,
        content: Any = None,
        text: Optional[str] = None,
        html: Optional[str] = None,
        json: Any = None,
        stream: Any = None,
        request: Optional[SentRequest] = None,
        url: str = "",
        tag: Optional[str] = None,
        default_encoding: Any = None,
    ) -> None:
        """Creates a response for a `MockTransport`, a transport, or a test, as in httpx.

        The body is one of ``content`` (bytes, str, or pieces of them), ``text``, ``html``,
        ``json``, or ``stream`` (pieces). Pieces are an iterable, or for `AsyncClient` also an
        asynchronous iterable. Content-Type and Content-Length follow from the body unless
        ``headers`` contains them.
        """
        from ..request.arguments import RequestArguments
        from ..values import keyword_int, whole

        items = _items(headers)
        body, kind, pieces = new_body(content, text, html, json, stream)
        names = {name.lower() for name, _ in items}
        if kind and "content-type" not in names:
            items.append(("Content-Type", kind))
        if body is not None and not names & {"content-length", "transfer-encoding"}:
            items.append(("Content-Length", str(len(body))))
        if request is not None and not hasattr(request, "url"):
            raise TypeError(f"request= takes a SentRequest, not {type(request).__name__}")
        #: The HTTP status.
        self.status_code = keyword_int("status_code", whole, status_code)
        self.url = url if url or request is None else request.url
        #: The name of the request's group, as given with ``tag=``.
        self.tag = tag
        self._body = body or b""
        self._raw_headers = b""
        self._headers = fields.Headers(items)
        if pieces is not None:
            self._pieces = pieces
        if request is not None:
            self._arguments = RequestArguments.of(request)
        if default_encoding is not None:
            self._default_encoding = checked_encoding(default_encoding)

    @property
    def headers(self) -> Headers:
        """The response headers."""
        if self._headers is None:
            self._headers = fields.Headers.parse(self._raw_headers)
        return self._headers

    @property
    def encoding(self) -> str:
        """The charset of `text`: the charset that you set, the charset of Content-Type, or ``default_encoding``."""
        if self._encoding is None:
            self._encoding = charset(self.headers.get("content-type", "")) or self._find_encoding()
        return self._encoding

    @encoding.setter
    def encoding(self, name: Optional[str]) -> None:
        # None: as if no charset had been set.
        self._encoding = None if name is None else checked_charset(name)

    def _find_encoding(self) -> str:
        default = self._default_encoding
        if not callable(default):
            return str(default)
        return default(self.content) or "utf-8" if self.is_closed else "utf-8"

    @property
    def charset_encoding(self) -> Optional[str]:
        """The charset of Content-Type, if Python supports it."""
        return charset(self.headers.get("content-type", ""))

    @property
    def text(self) -> str:
        """The body as text. Bytes that are invalid in the charset become U+FFFD."""
        return self.content.decode(self.encoding, "replace")

    def json(self, *, drop_nulls: bool = False, **options: Any) -> Any:
        """Parses the body as JSON. An empty body, or a single space, is None.

        ``drop_nulls`` omits object members whose value is null, at every depth. The other keywords
        are those of `json.loads`. Raises a `DecodeError`, which is also a `json.JSONDecodeError`,
        if the body is not JSON.
        """
        import json

        body = self.content
        if not body or body == b" ":
            return None
        if drop_nulls:
            from ..json import without_nulls

            options["object_pairs_hook"] = without_nulls(options)
        try:
            return json.loads(body, **options)
        except (ValueError, RecursionError) as error:
            from ..json import JSONDecodeError

            raise JSONDecodeError(
                f"the body is not JSON: {error}", "bad_json_body", response=self,
                http_status=self.status_code, context=self.context,
                request=None if self._arguments is None else self.request,
            ).locate(error, self.text) from error  # fmt: skip

    def image(self, name: Optional[str] = None) -> Image:
        """Returns the body as an image: ``response.image().pixels()`` is its array; see `Image`.

        The body is not checked here. If it is not an image that can be read, a method of `Image` raises
        ImageError. ``name`` is the file name in uploads.
        """
        from ..images import Image

        return Image(self.content, name)

    def first_of(self, way: Callable[[Response], Value], *others: Callable[[Response], Value]) -> Value:
        """Returns the result of the first function that succeeds with this response.

        The functions are tried in order: ``response.first_of(Response.json, Response.image, lambda
        response: response.text)``.

        Raises the error of the last function if all fail.
        """
        functions = (way, *others)
        for each in functions[:-1]:
            try:
                return each(self)
            except Exception:
                continue
        return functions[-1](self)

    @property
    def is_success(self) -> bool:
        """Whether the status is 200 to 299."""
        return 200 <= self.status_code <= 299

    @property
    def ok(self) -> bool:
        """Whether `raise_for_status` returns without an error.

        The status is within ``accept_status_range=`` (default: below 400), or is one of ``accept_status=``.
        """
        status, statuses = self.status_code, self._accepted_range
        if status < 400 if statuses is None else status in statuses:
            return True
        return status in self._accepted

    @property
    def elapsed(self) -> timedelta:
        """The time from sending the request to the end of the response."""
        from datetime import timedelta

        return timedelta(seconds=self._seconds)

    def raise_for_status(self) -> Response:
        """Raises HTTPStatusError unless the response is `ok`. Otherwise returns the response."""
        if self.ok:
            return self
        cause = self._error
        message = f"{self.status_code} {self.reason_phrase}".strip()
        if self.url:
            message += f" for {without_query(self.url)}"
        raise HTTPStatusError(
            message,
            cause.reason if cause is not None and cause.reason else "http_status",
            http_status=self.status_code,
            response=self,
            request=None if self._arguments is None else self.request,
            failed_images=self.failed_images,
            images=self.images,
            retryable=cause is not None and cause.retryable,
            retry_after=None if cause is None else cause.retry_after,
            underlying=None if cause is None else cause.underlying,
            context=self.context,
        )

    def __repr__(self) -> str:
        return f"<Response [{self.status_code}]>"


def received(
    status_code: int = 0, head: bytes = b"", body: bytes = b"", url: str = "",
    tag: Optional[str] = None,
) -> Response:  # fmt: skip
    """Creates a response that the library received; ``head`` is its "name: value\\n" lines."""
    response = _new(Response)
    response.status_code = status_code
    response.url = url
    response.tag = tag
    response._body = body
    response._raw_headers = head
    return response


_new = Response.__new__


def version(flags: int) -> int:
    """Returns the library's number for the HTTP version in ``flags``."""
    return 20 if flags & codes.RECORD_HTTP_2 else 10


def _items(headers: Any) -> List[Tuple[str, str]]:
    """Returns the headers of a response that a program creates."""
    from ..forms import pairs

    given = headers.multi_items() if hasattr(headers, "multi_items") else pairs(headers or {}, "headers")
    items = [(fields.raw_field(name), fields.raw_field(value)) for name, value in given]
    for name, value in items:
        if not name or any(c in name + value for c in "\r\n\0") or ":" in name:
            raise ArgumentError(
                f"Could not make the response: {brief(name)} is not a valid header, or its value has a line break. "
                "Correct headers=.", "bad_header",
            )  # fmt: skip
    return items


def new_body(
    content: Any, text: Optional[str], html: Optional[str], json: Any, stream: Any
) -> Tuple[Optional[bytes], str, Any]:
    """Returns the body of a response that a program creates: bytes, content type, and pieces."""
    values = {"content": content, "text": text, "html": html, "json": json, "stream": stream}
    names = [name for name, value in values.items() if value is not None]
    if len(names) > 1:
        words = " and ".join(f"{name}=" for name in names)
        raise ArgumentError(f"{words} cannot be combined", "bad_argument")
    for name in ("text", "html"):
        if values[name] is not None and not isinstance(values[name], str):
            raise TypeError(f"{name}= takes str, not {type(values[name]).__name__}. Use content= for bytes.")
    if text is not None:
        return text.encode(), "text/plain; charset=utf-8", None
    if html is not None:
        return html.encode(), "text/html; charset=utf-8", None
    if json is not None:
        from ..forms import json_bytes

        return json_bytes(json), "application/json", None
    if content is None:
        content = stream
    if content is None:
        return None, "", None
    if isinstance(content, str):
        return content.encode(), "", None
    try:
        return bytes(memoryview(content)), "", None
    except TypeError:
        pass
    if hasattr(content, "read"):
        reader = content
        return None, "", iter(lambda: reader.read(65536) or None, None)
    if isinstance(content, dict) or not (hasattr(content, "__iter__") or hasattr(content, "__aiter__")):
        raise TypeError(f"content= takes bytes, str, or chunks of them, not {type(content).__name__}")
    return None, "", content


#: Text encodings of Python that are not charsets of HTTP. A server that names one of them does not
#: mean the Python codec.
NO_CHARSETS = frozenset(("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"))


#: A parameter of a Content-Type: its name, and its quoted or plain value. `email.message` parses
#: the same, but takes ten times as long, and 20 ms to import.
PARAMETER = r';\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]*))'


def _parameters(content_type: str) -> Iterable[Tuple[str, str, str]]:
    """Returns the parameters of a Content-Type: the name, and the quoted or plain value of each."""
    if '"' in content_type:
        import re

        return re.findall(PARAMETER, content_type)
    # Without quotes, this is equivalent, and saves the import of `re`.
    split = [part.partition("=") for part in content_type.split(";")[1:]]
    return [(name.strip(), "", value) for name, mark, value in split if mark and len(name.split()) == 1]


def charset(content_type: str) -> Optional[str]:
    """Returns the charset of a Content-Type, if Python supports it."""
    import codecs

    for name, quoted, plain in _parameters(content_type):
        if name.lower() != "charset":
            continue
        found = str(quoted or plain.strip().strip("'"))
        try:
            info = codecs.lookup(found)
        except (LookupError, ValueError):
            return None
        # Codecs such as hex or zlib are not charsets.
        is_text = getattr(info, "_is_text_encoding", True)
        return found if is_text and info.name.replace("-", "_") not in NO_CHARSETS else None
    return None


def checked_charset(name: Any) -> str:
    """Checks the name of a charset that a program sets."""
    if not isinstance(name, str):
        raise TypeError(f"encoding takes the name of a charset or None, not {brief(name)}")
    import codecs

    try:
        if getattr(codecs.lookup(name), "_is_text_encoding", True):
            return name
    except (LookupError, ValueError):
        pass
    raise ArgumentError(f"encoding is not a known charset: {brief(name)}", "bad_value")


def checked_encoding(encoding: Any) -> Any:
    """Checks that ``default_encoding=`` is a charset that Python supports, or a function."""
    import codecs

    if not callable(encoding):
        try:
            codecs.lookup(encoding)
        except TypeError:
            raise TypeError(
                f"default_encoding= takes the name of a charset or a function, not {brief(encoding)}"
            ) from None
        except LookupError:
            raise ArgumentError(f"default_encoding= is not a known charset: {brief(encoding)}", "bad_value") from None
    return encoding
