# Wherry: an answer
# SPDX-License-Identifier: Apache-2.0
"""What a request came back with; the same class for blocking and asyncio clients."""

from __future__ import annotations

from ._errors import ArgumentError, HTTPStatusError, brief, shown
from ._habits import Habits
from ._headers import Headers, raw_field
from ._options import json_bytes, pairs
from ._reading import Reading
from ._sent import Asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import timedelta
    from typing import (
        Any, Callable, Dict, FrozenSet, Iterable, Iterator, List, Mapping, Optional, Tuple, TypeVar,
        Union,
    )  # fmt: skip

    from ._errors import ImageResult, WherryError
    from ._image import Image
    from ._metrics import Metrics
    from ._sent import SentRequest

    Value = TypeVar("Value")


class Response(Reading, Habits):
    """An answer with its whole body, decoded. Attributes:

    ``status_code``   the HTTP status
    ``url``           where the answer came from, after redirects
    ``tag``           the name of the request's group, as given with ``tag=``
    ``from_cache``    whether the answer was stored and not fetched
    ``is_stale``      whether a stored answer is older than it should be
    ``is_revalidated`` whether the server has just confirmed a stored answer, by 304
    ``is_length_unverified`` whether the body may have been cut on the network
    ``unchanged``     whether the body is that which ``on_cached=`` was given before
    ``informational`` the informational responses (1xx) before this one, such as 103
    ``history``       the redirects that led here, oldest first
    ``failed_images`` the pictures of an upload that did not get through
    ``images``        all pictures of the upload, also those that were skipped, in order
    ``saved_path``    where ``on_head=`` has had the body saved
    ``context``       what the caller gave the request as ``context=``
    ``metrics``       times, bytes and the like, where the request had ``metrics=True``
    """

    status_code: int
    url: str
    tag: Optional[str]
    # What few answers have stands here once, and not in each of them.

    #: Whether the answer was stored and not fetched.
    from_cache: bool = False
    #: Whether a stored answer is older than it should be: the server failed, or policy, request or
    #: answer allow it.
    is_stale: bool = False
    #: Whether the server has just confirmed a stored answer, by 304: the body was not sent again.
    is_revalidated: bool = False
    #: Whether the body may have been cut: over TLS, it has no length, and its connection ended without
    #: close_notify. An error with ``require_verified_length=True``.
    is_length_unverified: bool = False
    #: Whether the body is that of the stored answer which ``on_cached=`` was given before.
    unchanged: bool = False
    #: The informational responses (1xx) before this one, such as 103 Early Hints, in the order of
    #: arrival. Those before a redirect or an earlier attempt are not included.
    informational: Tuple[Response, ...] = ()
    #: The pictures of an upload that did not get through.
    failed_images: Tuple[ImageResult, ...] = ()
    #: All pictures of the upload, also those that were skipped, in order.
    images: Tuple[ImageResult, ...] = ()
    #: The absolute path of the file where ``on_head=`` has had the body saved; the answer has none then.
    saved_path: Optional[str] = None
    #: What the caller gave the request as ``context=``.
    context: Any = None
    #: Times, bytes and the like, where the request had ``metrics=True``.
    metrics: Optional[Metrics] = None
    _accepted: FrozenSet[int] = frozenset()
    _accepted_range: Optional[range] = None
    _error: Optional[WherryError] = None
    _headers: Optional[Headers] = None
    _encoding: Optional[str] = None
    #: The charset of a text without one, or the function that finds it in the body.
    _default_encoding: Any = "utf-8"
    _seconds: float = 0.0
    #: The fragment of the URL that was asked for; None until it is known.
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
        """Makes a response for a `MockTransport`, a transport, or a test, as in httpx.

        The body is one of ``content`` (bytes, str, or pieces of them), ``text``, ``html``, ``json``, or
        ``stream`` (pieces). Pieces are an iterable, for `AsyncClient` also an asynchronous one.
        Content-Type and Content-Length follow from the body unless ``headers`` has them.
        """
        fields = _fields(headers)
        body, kind, pieces = made_body(content, text, html, json, stream)
        named = {name.lower() for name, _ in fields}
        if kind and "content-type" not in named:
            fields.append(("Content-Type", kind))
        if body is not None and not named & {"content-length", "transfer-encoding"}:
            fields.append(("Content-Length", str(len(body))))
        #: The HTTP status.
        self.status_code = int(status_code)
        self.url = url if url or request is None else request.url
        #: The name of the request's group, as given.
        self.tag = tag
        self._body = body or b""
        self._head = b""
        self._headers = Headers(fields)
        if pieces is not None:
            self._pieces = pieces
        if request is not None:
            self._asked = Asked.of(request)
        if default_encoding is not None:
            self._default_encoding = known_encoding(default_encoding)

    @property
    def headers(self) -> Headers:
        """The fields of the answer."""
        if self._headers is None:
            self._headers = Headers.parse(self._head)
        return self._headers

    @property
    def encoding(self) -> str:
        """The charset of `text`: as set, else from Content-Type, else ``default_encoding``."""
        if self._encoding is None:
            self._encoding = charset(self.headers.get("content-type", "")) or self._usual_encoding()
        return self._encoding

    @encoding.setter
    def encoding(self, name: str) -> None:
        self._encoding = name

    def _usual_encoding(self) -> str:
        usual = self._default_encoding
        if not callable(usual):
            return str(usual)
        return usual(self.content) or "utf-8" if self.is_closed else "utf-8"

    @property
    def charset_encoding(self) -> Optional[str]:
        """The charset of Content-Type, if Python knows it."""
        return charset(self.headers.get("content-type", ""))

    @property
    def text(self) -> str:
        """The body as text; what its charset does not know becomes U+FFFD."""
        return self.content.decode(self.encoding, "replace")

    def json(self, *, drop_nulls: bool = False, **options: Any) -> Any:
        """The body as JSON. Nothing or one space is None; a body that is not JSON raises a
        `DecodeError`, which is a `json.JSONDecodeError` too.

        ``drop_nulls`` leaves out the members of objects that are null, at every depth. The others
        are those of `json.loads`.
        """
        import json

        body = self.content
        if not body or body == b" ":
            return None
        if drop_nulls:
            options["object_pairs_hook"] = without_nulls(options)
        try:
            return json.loads(body, **options)
        except (ValueError, RecursionError) as error:
            from ._json_error import JSONDecodeError

            raise JSONDecodeError(
                f"the body is not JSON: {error}", "bad_json_body", response=self,
                http_status=self.status_code, context=self.context,
                request=None if self._asked is None else self.request,
            ).locate(error, self.text) from error  # fmt: skip

    def image(self, name: Optional[str] = None) -> Image:
        """The body as a picture: ``response.image().pixels()`` is its array, see `Image`.

        Nothing is looked at yet; what is no JPEG or PNG is an ImageError there. ``name`` is its
        file name in uploads.
        """
        from ._image import Image

        return Image(self.content, name)

    def first_of(
        self, way: Callable[[Response], Value], *others: Callable[[Response], Value]
    ) -> Value:
        """What the first of several ways that succeeds makes of this answer, tried in order:
        ``response.first_of(Response.json, Response.image, lambda answer: answer.text)``.

        Raises what the last one raises.
        """
        ways = (way, *others)
        for each in ways[:-1]:
            try:
                return each(self)
            except Exception:
                continue
        return ways[-1](self)

    @property
    def is_success(self) -> bool:
        """Whether the status is 200 to 299."""
        return 200 <= self.status_code <= 299

    @property
    def ok(self) -> bool:
        """Whether `raise_for_status` would raise nothing: a status below 400, or in the
        ``accept_status_range=`` where one was given, or one of the request's ``accept_status=``."""
        status, statuses = self.status_code, self._accepted_range
        if status < 400 if statuses is None else status in statuses:
            return True
        return status in self._accepted

    @property
    def elapsed(self) -> timedelta:
        """The time from sending to the end of the answer."""
        from datetime import timedelta

        return timedelta(seconds=self._seconds)

    def raise_for_status(self) -> Response:
        """Raises HTTPStatusError unless the answer is `ok`; returns itself otherwise."""
        if self.ok:
            return self
        cause = self._error
        message = f"{self.status_code} {self.reason_phrase}".strip() + f" for {shown(self.url)}"
        raise HTTPStatusError(
            message,
            cause.reason if cause is not None and cause.reason else "http_status",
            http_status=self.status_code,
            response=self,
            request=None if self._asked is None else self.request,
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
    """A response that the library has received; ``head`` is its "name: value\\n" lines."""
    response = _new(Response)
    response.status_code = status_code
    response.url = url
    response.tag = tag
    response._body = body
    response._head = head
    return response


_new = Response.__new__


def _fields(headers: Any) -> List[Tuple[str, str]]:
    """The fields of a response that a program makes."""
    items = headers.multi_items() if hasattr(headers, "multi_items") else pairs(headers or {}, "headers")
    fields = [(raw_field(name), raw_field(value)) for name, value in items]
    for name, value in fields:
        if not name or any(c in name + value for c in "\r\n\0") or ":" in name:
            raise ArgumentError(
                f"Could not make the response: {brief(name)} is not a valid header, or its value has a line break. "
                "Correct headers=", "bad_header",
            )  # fmt: skip
    return fields


def made_body(
    content: Any, text: Optional[str], html: Optional[str], json: Any, stream: Any
) -> Tuple[Optional[bytes], str, Any]:
    """The body of a response that a program makes: its bytes, its type, or its pieces."""
    given = {"content": content, "text": text, "html": html, "json": json, "stream": stream}
    said = [name for name, value in given.items() if value is not None]
    if len(said) > 1:
        words = " and ".join(f"{name}=" for name in said)
        raise ArgumentError(f"{words} exclude each other", "bad_argument")
    if text is not None:
        return text.encode(), "text/plain; charset=utf-8", None
    if html is not None:
        return html.encode(), "text/html; charset=utf-8", None
    if json is not None:
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
        raise TypeError(f"content= takes bytes, str, or pieces of them, not {type(content).__name__}")
    return None, "", content


#: What Python calls an encoding of text, and no server means: bytes are undone in other ways there.
NO_CHARSETS = frozenset(
    ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem")
)


#: A parameter of a Content-Type: its name, and its value with quotes or without. `email.message` reads
#: the same, in ten times the time, and takes 20 ms to import.
PARAMETER = r';\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]*))'


def charset(content_type: str) -> Optional[str]:
    """The charset of a Content-Type, if Python knows it."""
    import codecs
    import re

    for name, quoted, plain in re.findall(PARAMETER, content_type):
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


def known_encoding(encoding: Any) -> Any:
    """A charset that Python knows, or a function that finds one."""
    import codecs

    if not callable(encoding):
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise ArgumentError(f"default_encoding= is no charset: {brief(encoding)}", "bad_value") from None
    return encoding


def without_nulls(options: Dict[str, Any]) -> Any:
    """A hook of `json.loads` that makes objects without nulls, by the caller's own hook if any."""
    make = options.pop("object_pairs_hook", None)
    if make is None:
        hook = options.pop("object_hook", None)
        make = dict if hook is None else lambda members: hook(dict(members))
    return lambda members: make([(name, value) for name, value in members if value is not None])


class Pieces:
    """Cuts a stream into pieces of one size."""

    __slots__ = ("_size", "_rest")

    def __init__(self, size: Optional[int]) -> None:
        self._size = size
        self._rest = b""

    def feed(self, data: bytes) -> List[bytes]:
        """The pieces that are now whole."""
        if self._size is None:
            return [data] if data else []
        data = self._rest + data
        whole = len(data) - len(data) % self._size
        self._rest = data[whole:]
        return [data[at : at + self._size] for at in range(0, whole, self._size)]

    def end(self) -> List[bytes]:
        """What is left."""
        rest, self._rest = self._rest, b""
        return [rest] if rest else []


class Lines:
    """Cuts a stream into lines; LF, CRLF and CR end one, characters may be cut anywhere."""

    __slots__ = ("_decoder", "_rest", "_after_cr")

    def __init__(self, encoding: str) -> None:
        import codecs

        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._rest: List[str] = []
        self._after_cr = False

    def feed(self, data: bytes) -> List[str]:
        """The lines that are now whole."""
        return self._split(self._decoder.decode(data))

    def end(self) -> List[str]:
        """The last line, if it was not ended."""
        lines = self._split(self._decoder.decode(b"", True))
        if self._rest:
            lines.append("".join(self._rest))
            self._rest = []
        return lines

    def _split(self, text: str) -> List[str]:
        if self._after_cr and text:
            self._after_cr = False
            if text[0] == "\n":
                text = text[1:]
        if not text:
            return []
        self._after_cr = text[-1] == "\r"
        found = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if len(found) == 1:
            self._rest.append(text)
            return []
        found[0] = "".join(self._rest) + found[0]
        last = found.pop()
        self._rest = [last] if last else []
        return found
