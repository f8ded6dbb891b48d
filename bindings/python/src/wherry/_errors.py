# Wherry: exceptions
# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package, and functions for their messages."""

from __future__ import annotations

import builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple, Type

    from ._core.request.sent import SentRequest
    from ._core.response.response import Response


def warn_unclosed(thing: object) -> None:
    """Issues a ResourceWarning for an object that was not closed."""
    try:
        import warnings
    except ImportError:  # The interpreter is exiting and imports nothing more.
        return
    warnings.warn(f"unclosed {thing!r}", ResourceWarning, source=thing, stacklevel=3)


def without_query(url: str) -> str:
    """Returns a URL for messages. The query may contain secrets and is replaced by `?...`."""
    head, mark, _ = url.partition("?")
    return head + "?..." if mark else url


def brief(value: object) -> str:
    """Returns the repr of a value for messages, cut to 200 characters."""
    try:
        text = repr(value)
    except Exception:  # An int with too many digits, or a class with a broken __repr__.
        return f"<{type(value).__name__}>"
    return text if len(text) <= 200 else text[:200] + "..."


def check_plain_function(name: str, value: object) -> None:
    """Raises TypeError if an argument is not a function, or is a coroutine function, which nothing would await."""
    if not callable(value):
        raise TypeError(f"{name}= takes a function, not {type(value).__name__}")
    code = getattr(getattr(value, "func", value), "__code__", None)  # of a functools.partial too
    if getattr(code, "co_flags", 0) & 0x80:  # inspect.CO_COROUTINE, without importing inspect
        raise TypeError(f"{name}= takes a plain function, not the coroutine function {brief(value)}")


def check_not_coroutine(name: str, result: object) -> None:
    """Raises TypeError if a function that nothing would await has returned a coroutine, as a lambda can.

    Tasks and futures are accepted, because they run without being awaited.
    """
    if hasattr(result, "cr_await"):
        result.close()  # type: ignore[attr-defined]
        raise TypeError(f"{name}= takes a plain function, not one that returns a coroutine")


def shortened(message: str) -> str:
    """Shortens a message: each word, such as a very long URL, is cut to 200 characters."""
    words = (word if len(word) <= 200 else word[:200] + "..." for word in message.split(" "))
    text = " ".join(words)
    return text if len(text) <= 4000 else text[:4000] + "..."


class Keyword:
    """Adds a keyword to the errors about its value, in a ``with`` statement; see `name_keyword`."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: Any, error: Any, trace: Any) -> None:
        if error is not None:
            name_keyword(self._name, error)


def name_keyword(name: str, error: BaseException) -> None:
    """Raises a TypeError that names a keyword, or adds the keyword to an ArgumentError.

    Does nothing for other errors, or if the message already contains the name.
    """
    if f"{name}=" in str(error) or repr(name) in str(error):
        return
    import re

    if isinstance(error, WherryError) and re.search(rf"\b{name}\b", error.message):
        return
    if isinstance(error, ArgumentError):
        error.message = f"{name}=: {error.message}"
        error.args = (error.message,)
    elif isinstance(error, TypeError):
        raise TypeError(f"{name}=: {error}") from error


class ImageResult:
    """The result of one image of an upload. Attributes:

    ``index``          position in the upload, from 0
    ``file_name``      the name or path that you passed, otherwise the name in the form
    ``status``         0, or the C status of the failure of this image or of the whole request
    ``reason``         why the image failed; "" if it succeeded
    ``message``        a sentence about the failure; "" if it succeeded
    ``original_bytes`` size in bytes; None if it is unknown
    ``encoded_bytes``  size in bytes as sent; None if the image was not processed
    ``width``          width in pixels as sent; 0 if the image was not processed
    ``height``         height in pixels as sent; 0 if the image was not processed
    ``quality``        JPEG quality, 1 to 100; None for PNG, and if the image was not re-encoded

    If each image has a separate request (``separate=``):

    ``sent_bytes``     bytes of the request body sent so far; otherwise None
    ``response``       the response to the request, or None
    """

    __slots__ = (
        "index", "file_name", "status", "reason", "message", "original_bytes", "encoded_bytes",
        "width", "height", "quality", "sent_bytes", "response",
    )  # fmt: skip

    def __init__(
        self,
        index: int,
        file_name: str,
        status: int = 0,
        reason: str = "",
        message: str = "",
        original_bytes: Optional[int] = None,
        encoded_bytes: Optional[int] = None,
        width: int = 0,
        height: int = 0,
        quality: Optional[int] = None,
        sent_bytes: Optional[int] = None,
        response: Optional[Response] = None,
    ) -> None:
        self.index = index
        self.file_name = file_name
        self.status = status
        self.reason = reason
        self.message = message
        self.original_bytes = original_bytes
        self.encoded_bytes = encoded_bytes
        self.width = width
        self.height = height
        self.quality = quality
        self.sent_bytes = sent_bytes
        self.response = response

    @property
    def ok(self) -> bool:
        """Whether the image was uploaded."""
        return not self.status

    def __repr__(self) -> str:
        return f"<ImageResult {self.index} {self.file_name!r} {self.reason or 'ok'}>"


#: The exception class of each C status.
CLASSES: Dict[int, Type[WherryError]] = {}


class WherryError(Exception):
    """The base class of all exceptions of Wherry.

    Unknown numbers are 0, and other unknown values are None. Attributes:

    ``reason``        a stable identifier for programs; see docs/errors.md
    ``message``       a human-readable message
    ``status``        the C status that belongs to the class, such as -5 for `NetworkError`
    ``http_status``   the status code of the response, if there is one
    ``curl_code``     the libcurl error code, if libcurl failed
    ``os_code``       the errno, if a system call failed
    ``retryable``     whether a retry may succeed
    ``retry_after``   seconds that the server asked the client to wait
    ``partial_path``  the path of the partial file of a download
    ``failed_images`` the images that could not be uploaded
    ``images``        the results of all images of the upload
    ``response``      the response, if there is one
    ``request``       the request that failed, as a `SentRequest`; None if there was none
    ``context``       the value of the ``context=`` keyword
    ``underlying``    the error that caused this one
    """

    message: str
    reason: str
    http_status: int
    curl_code: int
    os_code: int
    retryable: bool
    retry_after: Optional[float]
    partial_path: Optional[str]
    failed_images: Tuple[ImageResult, ...]
    images: Tuple[ImageResult, ...]
    response: Optional[Response]
    request: Optional[SentRequest]
    context: Any
    underlying: Optional[WherryError]

    #: The C status of the class.
    status: int = 0

    def __init_subclass__(cls, status: Optional[int] = None) -> None:
        super().__init_subclass__()
        if status is not None:
            cls.status = status
            CLASSES[status] = cls

    def __init__(self, message: str = "", reason: str = "", **details: Any) -> None:
        message = str(message)  # A program may pass another error as the message.
        if len(message) > 200:
            message = shortened(message)
        Exception.__init__(self, message)  # Other base classes have constructors with other arguments.
        self.message = message
        self.reason = reason
        self.http_status: int = details.get("http_status", 0)
        self.curl_code: int = details.get("curl_code", 0)
        self.os_code: int = details.get("os_code", 0)
        #: Whether a retry may succeed.
        self.retryable: bool = details.get("retryable", False)
        #: Seconds that the server asked the client to wait, or None.
        self.retry_after: Optional[float] = details.get("retry_after")
        #: The path of the partial file of a download, or None.
        self.partial_path: Optional[str] = details.get("partial_path")
        #: The images of an upload that failed.
        self.failed_images: Tuple[ImageResult, ...] = details.get("failed_images", ())
        #: The results of all images of the upload.
        self.images: Tuple[ImageResult, ...] = details.get("images", ())
        #: The response, or None.
        self.response: Optional[Response] = details.get("response")
        #: The request that failed, or None.
        self.request: Optional[SentRequest] = details.get("request")
        #: The value of the ``context=`` keyword.
        self.context: Any = details.get("context")
        #: The error that caused this one, or None.
        self.underlying: Optional[WherryError] = details.get("underlying")

    def __str__(self) -> str:
        return f"{self.message} [{self.reason}]" if self.reason else self.message

    def __reduce__(self) -> Tuple[Callable[..., WherryError], Tuple[Any, ...]]:
        return _restore, (type(self), self.message, self.reason, self.__dict__)


def _restore(kind: Type[WherryError], message: str, reason: str, state: Dict[str, Any]) -> WherryError:
    error = kind(message, reason)
    error.__dict__.update(state)
    return error


class ArgumentError(WherryError, ValueError, status=-1):
    """An argument is invalid. No request was sent.

    The reason ``bad_header`` also applies to headers that only the library may set (Connection,
    Content-Length, Expect, and Transfer-Encoding), and to a Host that is not a host with an optional
    port.
    """


class StateError(WherryError, RuntimeError, status=-2):
    """The call is invalid in the current state, for example because the object is closed."""


class TimeoutError(WherryError, builtins.TimeoutError, status=-3):
    """A timeout of the transfer or of the wait expired."""


class CancelledError(WherryError, status=-4):
    """The transfer was cancelled, but not by cancelling the waiting task."""


class NetworkError(WherryError, ConnectionError, status=-5):
    """The name lookup, the connection, or the data transfer failed."""


class TLSError(WherryError, ConnectionError, status=-6):
    """The TLS handshake or the verification of the certificate failed."""


class HTTPStatusError(WherryError, status=-7):
    """The response has an error status, or is not what was requested. See ``response``."""


class FileError(WherryError, OSError, status=-8):
    """An operation on a local file or directory failed."""


class ImageError(WherryError, ValueError, status=-9):
    """The data is not an image, or the image cannot be encoded."""


class CacheMissError(WherryError, status=-10):
    """The cache has no usable entry for a cache-only request. See ``reason``."""


class LimitError(WherryError, status=-11):
    """A size or count limit was reached."""


class InternalError(WherryError, RuntimeError, status=-12):
    """A bug in Wherry: please report it."""


class ForkedError(WherryError, RuntimeError, status=-13):
    """A forked child used a transfer, stream, group, model, or image of its parent.

    Clients, mock transports, and background sessions work in a child. Re-create all other objects
    in the child.
    """


class BusyError(WherryError, status=-14):
    """The resource is in use by another transfer or process, or is temporarily full."""


class DecodeError(HTTPStatusError, ValueError):
    """The body is not in the expected format. See ``response`` and ``http_status``."""
