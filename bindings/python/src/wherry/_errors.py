# Wherry: the one tree of errors
# SPDX-License-Identifier: Apache-2.0
"""Every error Wherry raises; each class stands for one status of the C interface.

::

    WherryError
    |-- ArgumentError   (ValueError)       E_ARGUMENT   a wrong value: nothing was sent
    |-- StateError      (RuntimeError)     E_STATE      not now: closed, or already answered
    |-- TimeoutError    (TimeoutError)     E_TIMEOUT    out of time
    |-- CancelledError                     E_CANCELLED  somebody cancelled it
    |-- NetworkError    (ConnectionError)  E_NETWORK    name lookup, connection, broken stream
    |-- TLSError        (ConnectionError)  E_TLS        the peer could not be trusted
    |-- HTTPStatusError                    E_HTTP       an answer came, and it was a refusal
    |   `-- DecodeError (ValueError)       E_HTTP       its body is not the JSON that was asked for
    |-- FileError       (OSError)          E_FILE       the local file or directory
    |-- ImageError      (ValueError)       E_IMAGE      not a picture, or one we cannot encode
    |-- CacheMissError                     E_CACHE_MISS the cache alone was asked, and has nothing
    |-- LimitError                         E_LIMIT      a size or count limit
    |-- InternalError   (RuntimeError)     E_INTERNAL   a bug in Wherry: please report it
    |-- ForkedError     (RuntimeError)     E_FORKED     used in a forked child
    `-- BusyError                          E_BUSY       held by another transfer or process
"""

from __future__ import annotations

import builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple, Type

    from ._response import Response
    from ._sent import SentRequest


def shown(url: str) -> str:
    """A URL as messages show it: a query may hold secrets, so `?...` stands for it."""
    head, mark, _ = url.partition("?")
    return head + "?..." if mark else url


def brief(value: object) -> str:
    """A value as messages show it: its repr, at most 200 characters of it."""
    try:
        text = repr(value)
    except Exception:  # Of an int with too many digits, or of a class with a broken __repr__.
        return f"<{type(value).__name__}>"
    return text if len(text) <= 200 else text[:200] + "..."


def shortened(message: str) -> str:
    """A message whose values, such as a URL of many megabytes, are cut to 200 characters."""
    words = (word if len(word) <= 200 else word[:200] + "..." for word in message.split(" "))
    text = " ".join(words)
    return text if len(text) <= 4000 else text[:4000] + "..."


class ImageResult:
    """What became of one picture of an upload. Attributes:

    ``index``          its place in the order of adding, from 0
    ``file_name``      the name or path you gave, or else its name in the form
    ``status``         0, or the C status of its failure: its own, or the request's as a whole
    ``reason``, ``message``  why it did not get through; "" where it did
    ``original_bytes``, ``encoded_bytes``  None if it never got so far, or is not known
    ``width``, ``height``    in pixels, as it is sent; 0 if it never got so far
    ``quality``        libjpeg's, 1 to 100; None where nothing was coded anew, and for PNG

    And where it has a request of its own (``separate=``):

    ``sent_bytes``     of that request's body so far; else None
    ``response``       the answer to it, or None
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
        """Whether it got through."""
        return not self.status

    def __repr__(self) -> str:
        return f"<ImageResult {self.index} {self.file_name!r} {self.reason or 'ok'}>"


#: C status -> the class that stands for it.
CLASSES: Dict[int, Type[WherryError]] = {}


class WherryError(Exception):
    """What every error of Wherry is.

    Numbers are 0 and texts None where there is nothing to say. Attributes:

    ``reason``        a stable word of docs/errors.md, for programs
    ``message``       one sentence for people
    ``status``        the C status that the class stands for
    ``http_status``   the status of the answer, where one came
    ``curl_code``     libcurl's code, where libcurl gave up
    ``os_code``       the errno, where the system refused
    ``retryable``     whether trying again may help
    ``retry_after``   seconds the server asked us to wait
    ``partial_path``  the unfinished file that was kept of a download
    ``failed_images`` the pictures of an upload that did not get through
    ``images``        all pictures of the upload, as far as they came
    ``response``      the answer, where one came
    ``request``       the request that failed, as a `SentRequest`; None if there was none
    ``context``       what the caller gave the request as ``context=``
    ``underlying``    the failure beneath this one
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

    #: The C status this class stands for.
    status: int = 0

    def __init_subclass__(cls, status: Optional[int] = None) -> None:
        super().__init_subclass__()
        if status is not None:
            cls.status = status
            CLASSES[status] = cls

    def __init__(self, message: str = "", reason: str = "", **details: Any) -> None:
        if len(message) > 200:
            message = shortened(message)
        Exception.__init__(self, message)  # Other bases have constructors with other arguments.
        self.message = message
        self.reason = reason
        self.http_status: int = details.get("http_status", 0)
        self.curl_code: int = details.get("curl_code", 0)
        self.os_code: int = details.get("os_code", 0)
        #: Whether trying again may help.
        self.retryable: bool = details.get("retryable", False)
        #: Seconds the server asked us to wait, or None.
        self.retry_after: Optional[float] = details.get("retry_after")
        #: The unfinished file that was kept of a download, or None.
        self.partial_path: Optional[str] = details.get("partial_path")
        #: The pictures of an upload that did not get through.
        self.failed_images: Tuple[ImageResult, ...] = details.get("failed_images", ())
        #: All pictures of the upload, as far as they came.
        self.images: Tuple[ImageResult, ...] = details.get("images", ())
        #: The answer, where one came.
        self.response: Optional[Response] = details.get("response")
        #: The request that failed, or None.
        self.request: Optional[SentRequest] = details.get("request")
        #: What the caller gave the request as ``context=``.
        self.context: Any = details.get("context")
        #: The failure beneath this one, or None.
        self.underlying: Optional[WherryError] = details.get("underlying")

    def __str__(self) -> str:
        return f"{self.message} [{self.reason}]" if self.reason else self.message

    def __reduce__(self) -> Tuple[Callable[..., WherryError], Tuple[Any, ...]]:
        return _restore, (type(self), self.message, self.reason, self.__dict__)


def _restore(
    kind: Type[WherryError], message: str, reason: str, state: Dict[str, Any]
) -> WherryError:
    error = kind(message, reason)
    error.__dict__.update(state)
    return error


class ArgumentError(WherryError, ValueError, status=-1):
    """A value was wrong; nothing was sent.

    The reason is ``bad_header`` too for headers that only the library writes (Connection,
    Content-Length, Expect, and Transfer-Encoding), and for a Host that is not a host with an optional
    port.
    """


class StateError(WherryError, RuntimeError, status=-2):
    """Not now: closed, already sent, or already answered."""


class TimeoutError(WherryError, builtins.TimeoutError, status=-3):
    """The wait or the transfer ran out of time."""


class CancelledError(WherryError, status=-4):
    """The transfer was cancelled by somebody else than the waiting task."""


class NetworkError(WherryError, ConnectionError, status=-5):
    """Name lookup, connection or a broken stream."""


class TLSError(WherryError, ConnectionError, status=-6):
    """The peer could not be trusted."""


class HTTPStatusError(WherryError, status=-7):
    """An answer arrived, and it refused the request; see ``response``."""


class FileError(WherryError, OSError, status=-8):
    """The local file or directory."""


class ImageError(WherryError, ValueError, status=-9):
    """Not a picture, or one that cannot be encoded."""


class CacheMissError(WherryError, status=-10):
    """The request was for the cache alone, and nothing usable is stored; ``reason`` says why."""


class LimitError(WherryError, status=-11):
    """A limit on size or count was reached."""


class InternalError(WherryError, RuntimeError, status=-12):
    """A bug in Wherry: please report it."""


class ForkedError(WherryError, RuntimeError, status=-13):
    """A transfer, stream, group, model, or picture of the parent was used in a forked child.

    Clients, mock transports, and background sessions work in a child; make the others there.
    """


class BusyError(WherryError, status=-14):
    """Held by another transfer or process, or full for the moment."""


class DecodeError(HTTPStatusError, ValueError):
    """The body is not what it was asked to be read as; see ``response`` and ``http_status``."""
