# Wherry: the errors of requests
# SPDX-License-Identifier: Apache-2.0
"""Each name of requests is a class of Wherry, or one of its reasons (docs/errors.md)."""

from __future__ import annotations

import contextlib

import wherry

from absent import module

RequestException = wherry.WherryError
HTTPError = wherry.HTTPStatusError
ConnectionError = wherry.NetworkError
SSLError = wherry.TLSError
Timeout = wherry.TimeoutError
JSONDecodeError = wherry.DecodeError


class ConnectTimeout(wherry.TimeoutError, wherry.NetworkError):
    """A TimeoutError with the reason connect_timeout."""


class ReadTimeout(wherry.TimeoutError):
    """Any other TimeoutError."""


#: The reasons proxy and connect: the message of Wherry says whether it was the proxy.
ProxyError = wherry.NetworkError


class ChunkedEncodingError(wherry.NetworkError):
    """The reason truncated."""


class ContentDecodingError(wherry.NetworkError):
    """The reason bad_encoding."""


class TooManyRedirects(wherry.HTTPStatusError):
    """The reason too_many_redirects."""


class InvalidURL(wherry.WherryError):
    """The reason bad_url. Wherry has one reason for every URL that it cannot send."""


class BadURL(InvalidURL, wherry.ArgumentError):
    """The reason bad_url."""


class RefusedRedirect(InvalidURL, wherry.HTTPStatusError):
    """The reason redirect_refused: Wherry has one reason for redirects that it does not follow."""


MissingSchema = InvalidSchema = InvalidURL


class InvalidProxyURL(wherry.ArgumentError):
    """The reason bad_url of a proxy."""


class InvalidHeader(wherry.WherryError):
    """The reason bad_header of a request, or protocol of a response."""


class BadHeader(InvalidHeader, wherry.ArgumentError):
    """The reason bad_header."""


class BrokenProtocol(InvalidHeader, wherry.NetworkError):
    """The reason protocol."""


class InvalidJSONError(wherry.ArgumentError):
    """The reason bad_parameters: the value cannot be JSON."""


#: The name of requests for a class and reason of Wherry.
NAMES = [
    (wherry.TimeoutError, "connect_timeout", ConnectTimeout),
    (wherry.TimeoutError, None, ReadTimeout),
    (wherry.NetworkError, "truncated", ChunkedEncodingError),
    (wherry.NetworkError, "bad_encoding", ContentDecodingError),
    (wherry.NetworkError, "protocol", BrokenProtocol),
    (wherry.HTTPStatusError, "redirect_refused", RefusedRedirect),
    (wherry.HTTPStatusError, "too_many_redirects", TooManyRedirects),
    (wherry.ArgumentError, "bad_url", BadURL),
    (wherry.ArgumentError, "bad_proxy", InvalidProxyURL),
    (wherry.ArgumentError, "bad_header", BadHeader),
    (wherry.ArgumentError, "bad_parameters", InvalidJSONError),
]


@contextlib.contextmanager
def renamed():
    """Gives errors of Wherry the class that requests has for their reason."""
    try:
        yield
    except wherry.WherryError as error:
        for kind, reason, name in NAMES:
            if type(error) is kind and reason in (None, error.reason):
                error.__class__ = name
                break
        raise
    except TypeError as error:
        if "headers=" not in str(error):
            raise
        raise BadHeader(str(error), "bad_header") from error


__getattr__ = module(globals(), "requests.exceptions")
