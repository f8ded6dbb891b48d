# Wherry: the errors of httpx
# SPDX-License-Identifier: Apache-2.0
"""Each name of httpx is a class of Wherry, or one of its reasons (docs/errors.md)."""

from __future__ import annotations

import contextlib

import wherry

HTTPError = RequestError = TransportError = wherry.WherryError
HTTPStatusError = wherry.HTTPStatusError
TimeoutException = wherry.TimeoutError
NetworkError = ConnectError = ReadError = WriteError = CloseError = wherry.NetworkError
StreamError = RequestNotRead = ResponseNotRead = StreamConsumed = StreamClosed = wherry.StateError


class ConnectTimeout(wherry.TimeoutError):
    """The reason connect_timeout."""


class ReadTimeout(wherry.TimeoutError):
    """Any other TimeoutError. Wherry has one timeout for silence in both directions."""


WriteTimeout = PoolTimeout = ReadTimeout


class ProxyError(wherry.NetworkError):
    """The reason proxy."""


class DecodingError(wherry.NetworkError):
    """The reason bad_encoding."""


class TooManyRedirects(wherry.HTTPStatusError):
    """The reason too_many_redirects."""


class ProtocolError(wherry.WherryError):
    """The reason protocol, and redirects that cannot be followed."""


RemoteProtocolError = ProtocolError


class BrokenProtocol(ProtocolError, wherry.NetworkError):
    """The reason protocol."""


class InvalidURL(wherry.WherryError):
    """The reason bad_url. Wherry has one reason for every URL that it cannot send."""


UnsupportedProtocol = LocalProtocolError = InvalidURL


class BadURL(InvalidURL, wherry.ArgumentError):
    """The reason bad_url."""


class RefusedRedirect(ProtocolError, InvalidURL, wherry.HTTPStatusError):
    """The reason redirect_refused: Wherry has one reason for redirects that it does not follow."""


#: The name of httpx for a class and reason of Wherry.
NAMES = [
    (wherry.TimeoutError, "connect_timeout", ConnectTimeout),
    (wherry.TimeoutError, None, ReadTimeout),
    (wherry.NetworkError, "proxy", ProxyError),
    (wherry.NetworkError, "bad_encoding", DecodingError),
    (wherry.NetworkError, "protocol", BrokenProtocol),
    (wherry.HTTPStatusError, "too_many_redirects", TooManyRedirects),
    (wherry.HTTPStatusError, "redirect_refused", RefusedRedirect),
    (wherry.ArgumentError, "bad_url", BadURL),
]


@contextlib.contextmanager
def renamed():
    """Gives errors of Wherry the class that httpx has for their reason."""
    try:
        yield
    except wherry.WherryError as error:
        for kind, reason, name in NAMES:
            if type(error) is kind and reason in (None, error.reason):
                error.__class__ = name
                break
        raise


__all__ = [name for name in dir() if name[0].isupper()]
