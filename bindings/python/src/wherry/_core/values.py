# Wherry: conversion of keyword values
# SPDX-License-Identifier: Apache-2.0
"""Converts the text, paths, times, integers, and named values of keywords for the library."""

from __future__ import annotations

import os

from .._errors import ArgumentError, brief, name_keyword, without_query
from .._native import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, Union

    from .keywords import Which

    Text = Union[str, bytes]


#: The methods that are sent as written, and their bytes.
METHODS: Dict[Optional[str], bytes] = {
    name: name.encode() for name in ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")
}


def text(value: Text, reason: str = "bad_argument") -> bytes:
    """Encodes text for the library. Raises ArgumentError if the text contains a NUL."""
    if isinstance(value, str):
        try:
            value = value.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(f"{_describe(value, reason)} is not Unicode text: {error}", reason) from None
    elif not isinstance(value, bytes):
        kind = type(value).__name__
        if reason == "bad_url" and value is not None:
            raise TypeError(f"url must be str or bytes, not {kind}. Convert a URL object with str().")
        raise TypeError(f"{'url must be' if reason == 'bad_url' else 'expected'} str or bytes, not {kind}")
    if 0 in value:  # b"\0" would be slower: Python first tries it as a number, and drops the error.
        raise ArgumentError(f"{_describe(value, reason)} contains a NUL", reason)
    return value


def file_name_text(name: Text, reason: str = "bad_header") -> bytes:
    """Encodes a file name for the library. The bytes need not be UTF-8."""
    if isinstance(name, str):
        try:
            name = name.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            pass  # Surrogates that represent no bytes: `text` raises the error.
    return text(name, reason)


def _describe(value: Text, reason: str) -> str:
    """Describes an invalid text for an error message, without values that may be secret."""
    if reason in ("bad_header", "bad_parameters"):
        return "a header field" if reason == "bad_header" else "a parameter"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return repr(without_query(value))


def url_text(url: bytes) -> str:
    """Decodes a URL that was passed as bytes."""
    try:
        return url.decode()
    except UnicodeDecodeError as error:
        raise ArgumentError(f"Could not decode the URL: it is not UTF-8: {error}", "bad_url") from None


class NotWhole(ValueError):
    """Raised by `whole`. Callers that know the keyword's name convert it to an ArgumentError."""


def whole(value: Any) -> int:
    """Converts a value to a whole number; True and False are 1 and 0.

    Raises NotWhole for a fraction, because a truncated 0.5 would be 0.
    """
    try:
        number = int(value)
    except (ValueError, OverflowError):
        raise NotWhole from None
    except TypeError:
        raise TypeError(f"expected a whole number, not {brief(value)}") from None
    if not isinstance(value, (str, bytes)) and number != value:
        raise NotWhole
    return max(-(1 << 63), min((1 << 63) - 1, number))  # The library's error names the range of the option.


def keyword_int(name: str, function: Callable[[Any], int], value: Any) -> int:
    """Converts a keyword's value with `function`."""
    try:
        return function(value)
    except (TypeError, ArgumentError) as error:
        name_keyword(name, error)
        raise
    except NotWhole:
        raise ArgumentError(f"{name}= must be a whole number, not {brief(value)}", "bad_value") from None


def path_text(path: Union[str, bytes]) -> bytes:
    """Converts a path to bytes."""
    raw = os.fsencode(path)
    if b"\0" in raw:
        raise ArgumentError(f"{brief(path)} contains a NUL", "bad_argument")
    return raw


def as_names(names: Any) -> Sequence[str]:
    """Returns the names of a keyword that accepts one name or several."""
    found = [names] if isinstance(names, str) or not hasattr(names, "__iter__") else list(names)
    if isinstance(names, bytes) or not all(isinstance(name, str) for name in found):
        raise TypeError(f"expected a name or several names, each a str, not {brief(names)}")
    return found


#: The cache policies. Those from "protocol" on are for the HTTP cache; the others are for the timed
#: cache.
CACHE_POLICIES: Dict[str, int] = {
    "off": codes.CACHE_OFF,
    "use": codes.CACHE_USE,
    "only": codes.CACHE_ONLY,
    "refresh": codes.CACHE_REFRESH,
    "then_network": codes.CACHE_THEN_NETWORK,
    "protocol": codes.CACHE_PROTOCOL,
    "reload": codes.CACHE_RELOAD,
    "any_age": codes.CACHE_ANY_AGE,
    "any_age_only": codes.CACHE_ANY_AGE_ONLY,
}


def cut_milliseconds(seconds: float) -> int:
    """Converts seconds to whole milliseconds, limited to the supported range."""
    if seconds != seconds:
        raise ArgumentError("a number of seconds must not be NaN", "bad_value")
    try:
        return int(max(-9e15, min(9e15, seconds)) * 1000)
    except TypeError:
        raise TypeError(f"expected a number of seconds, not {brief(seconds)}") from None


def http_version(value: Any) -> int:
    """Returns the number of an HTTP version."""
    versions = {None: 0, "1.1": 11, 11: 11, 1.1: 11, "2": 20, 2: 20, 20: 20}
    if not isinstance(value, (str, int, float, type(None))) or value not in versions:
        raise ArgumentError(f"http_version= must be '1.1' or '2', not {brief(value)}", "bad_value")
    return versions[value]


def milliseconds(seconds: Any, name: str = "seconds", *, none: str = "") -> int:
    """Converts seconds to milliseconds. Values other than 0 become at least 1, because 0 means "none".

    ``name`` is for the messages of errors. ``none`` says what None means for a value that must not be 0.
    """
    try:
        is_possible = 0 <= seconds <= 9e12 and not (none and seconds == 0)
    except TypeError:
        raise TypeError(f"{name} must be a number of seconds, not {brief(seconds)}") from None
    if isinstance(seconds, bool):
        raise TypeError(f"{name} must be a number of seconds, not {seconds}")
    if not is_possible:
        limits = f"more than 0 and at most 9e12 seconds, or None for {none}" if none else "0 to 9e12 seconds"
        raise ArgumentError(f"{name} must be {limits}, not {brief(seconds)}", "bad_value")
    return max(1, round(seconds * 1000)) if seconds else 0


def segments(count: Any) -> int:
    """Converts ``segments=``, which is "auto" or 1 to 16. "auto" gives 0."""
    if count == "auto":
        return 0
    if isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= 16:
        return count
    raise ArgumentError(f'segments= must be "auto" or 1 to 16, not {brief(count)}', "bad_value")


def status_range(value: Union[range, Tuple[int, int]]) -> range:
    """Converts (lowest, highest), or a `range`, to the lowest and highest status."""
    is_pair = isinstance(value, (tuple, list)) and len(value) == 2
    if is_pair and all(isinstance(each, int) for each in value):
        value = range(value[0], value[1] + 1)
    if not isinstance(value, range) or value.step != 1:
        raise TypeError(f"accept_status_range= takes (lowest, highest) or a range, not {brief(value)}")
    if not value:
        raise ArgumentError(f"accept_status_range= must contain at least one status, not {brief(value)}", "bad_value")
    return value


def choice(words: Mapping[str, int], name: str, value: Optional[str]) -> Optional[int]:
    """Returns the number of a named value; None for None."""
    if value is None:
        return None
    if not isinstance(value, str) or value not in words:
        raise ArgumentError(f"{name}= must be one of {', '.join(words)}, not {brief(value)}", "bad_value")
    return words[value]


def word_number(keyword: str, value: Any) -> int:
    """Returns the number of a named value that a keyword accepts."""
    from .option_table import WORDS

    words = WORDS[keyword]
    if not isinstance(value, str) or value not in words:
        raise ArgumentError(f"{keyword}= must be one of {', '.join(words)}, not {brief(value)}", "bad_value")
    return words[value]


def match(which: Mapping[str, Which]) -> Tuple[int, Optional[bytes]]:
    """Returns the native match and key for ``url=``, ``tag=``, ``identifier=``, ``path=``, or nothing."""
    matches = {
        "url": codes.MATCH_URL,
        "tag": codes.MATCH_TAG,
        "identifier": codes.MATCH_IDENTIFIER,
        "path": codes.MATCH_PATH,
    }
    for name in which:
        if name not in matches:
            raise TypeError(f"transfers are selected by {', '.join(matches)}, not by {brief(name)}")
    if not which:
        return codes.MATCH_ALL, None
    if len(which) > 1:
        raise ArgumentError("only one of url=, tag=, identifier= and path= can be used at a time", "bad_argument")
    ((name, key),) = which.items()
    if key is None:
        raise ArgumentError(f"{name}=None selects no transfer. To select all transfers, omit {name}=.", "bad_argument")
    match = matches[name]
    if match == codes.MATCH_PATH:
        return match, path_text(key if isinstance(key, bytes) else str(key))
    if isinstance(key, (str, bytes)):
        return match, text(key)
    if match != codes.MATCH_URL:
        raise ArgumentError(f"{name}= takes a single value, not {type(key).__name__}", "bad_argument")
    return codes.MATCH_URLS, text("\n".join(one for one in key if "\n" not in one))
