# Wherry: conversion of keyword values
# SPDX-License-Identifier: Apache-2.0
"""Converts paths, times, and words of keywords for the library."""

from __future__ import annotations

from . import _codes as codes
from ._errors import ArgumentError, brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Sequence, Tuple, Union


def path_text(path: Union[str, bytes]) -> bytes:
    """Converts a path to bytes."""
    import os

    raw = os.fsencode(path)
    if b"\0" in raw:
        raise ArgumentError(f"{brief(path)} contains a NUL", "bad_argument")
    return raw


def several(names: Any) -> Sequence[str]:
    """Returns the names of a keyword that accepts one name or several."""
    found = [names] if isinstance(names, str) or not hasattr(names, "__iter__") else list(names)
    if isinstance(names, bytes) or not all(isinstance(name, str) for name in found):
        raise TypeError(f"expected a name or several names, each a str, not {brief(names)}")
    return found


#: The cache policies: those of the timed cache, and from "protocol" on those of the HTTP cache.
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


def content_digest(value: str) -> int:
    """Returns the number of a digest that is sent with a body."""
    kinds = {"none": 0, "md5": codes.DIGEST_MD5, "sha256": codes.DIGEST_SHA256,
             "sha512": codes.DIGEST_SHA512}  # fmt: skip
    if not isinstance(value, str) or value not in kinds:
        raise ArgumentError(f"the digest of a body must be one of {', '.join(kinds)}, not {brief(value)}", "bad_value")
    return kinds[value]


def unreadable_images(value: str) -> int:
    """Returns the number of an ``unreadable=`` word."""
    kinds = {"fail": 0, "skip": 1, "send": 2}
    if not isinstance(value, str) or value not in kinds:
        raise ArgumentError(f"unreadable= must be one of {', '.join(kinds)}, not {value!r}", "bad_value")
    return kinds[value]


def http_version(value: Any) -> int:
    """Returns the number of an HTTP version."""
    versions = {None: 0, "1.1": 11, 11: 11, 1.1: 11, "2": 20, 2: 20, 20: 20}
    if not isinstance(value, (str, int, float, type(None))) or value not in versions:
        raise ArgumentError(f"http_version= must be '1.1' or '2', not {brief(value)}", "bad_value")
    return versions[value]


def milliseconds(seconds: Any) -> int:
    """Converts seconds to milliseconds. Only 0 gives 0, which means none."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise ArgumentError(f"seconds must be a number, not {brief(seconds)}", "bad_value")
    if not 0 <= seconds < 1e15:
        raise ArgumentError(f"seconds must be 0 or more and below 1e15, not {brief(seconds)}", "bad_value")
    return max(1, round(seconds * 1000)) if seconds else 0


def segments(count: Any) -> int:
    """Converts ``segments=``, which is "auto" or 1 to 16. "auto" gives 0."""
    if count == "auto":
        return 0
    if isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= 16:
        return count
    raise ArgumentError(f'segments= must be "auto" or 1 to 16, not {brief(count)}', "bad_value")


def status_range(value: Union[range, Tuple[int, int]]) -> range:
    """Converts (lowest, highest), or a `range`, to a range."""
    is_pair = isinstance(value, (tuple, list)) and len(value) == 2
    if is_pair and all(isinstance(each, int) for each in value):
        value = range(value[0], value[1] + 1)
    if not isinstance(value, range) or value.step != 1:
        raise TypeError(f"accept_status_range= takes (lowest, highest) or a range, not {brief(value)}")
    if not value:
        raise ArgumentError(f"accept_status_range= must contain at least one status, not {brief(value)}", "bad_value")
    return value
