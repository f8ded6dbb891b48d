# Wherry: the settings of a client
# SPDX-License-Identifier: Apache-2.0
"""The names of a client's settings, and their options in wherry.h."""

from __future__ import annotations

from .._errors import ArgumentError, brief
from . import option_table
from .values import http_version, milliseconds, segments, whole, word_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping, Tuple

#: The default limit of redirects.
MAX_REDIRECTS = 10


def cookie_handling(value: Any) -> int:
    """Converts ``cookies=`` of a client, a bool or "isolated", to the number of the option."""
    if value == "isolated":
        return 3
    if isinstance(value, str) or value not in (False, True):
        raise ArgumentError(f'cookies= takes True, False, "isolated", or a mapping, not {brief(value)}', "bad_value")
    return whole(value)


_CONVERSIONS: Dict[str, Callable[[Any], int]] = {
    "whole": whole,
    "segments": segments,
    "http_version": http_version,
    "cookie_handling": cookie_handling,
}


def _conversion(keyword: str, name: str) -> Callable[[Any], int]:
    if name == "words":
        return lambda value: word_number(keyword, value)
    if name == "milliseconds":
        return lambda value: milliseconds(value, f"{keyword}=")
    return _CONVERSIONS[name]


def conversions(options: Mapping[str, Tuple[int, str]]) -> Dict[str, Tuple[int, Callable[[Any], int]]]:
    """Returns the option of each keyword, and the function that converts its value."""
    return {keyword: (option, _conversion(keyword, name)) for keyword, (option, name) in options.items()}


#: Numeric settings.
NUMBERS = conversions(option_table.CLIENT)
#: String settings.
TEXTS = option_table.CLIENT_TEXTS
#: String and numeric settings that only a new client accepts.
FIXED = option_table.NEW_CLIENT_TEXTS
FIXED_NUMBERS = conversions(option_table.NEW_CLIENT)
#: Keywords for which None is a value: no timeout, any version, no credentials.
NONE_IS_A_VALUE = frozenset(("timeout", "http_version", "auth"))
#: Settings that are the defaults of request keywords.
DEFAULTS = frozenset(("adapt", "on_retry", "refresh_token", "on_headers", "on_redirect", "accept_status_range"))
#: The settings that can be changed.
CHANGEABLE = (*NUMBERS, *TEXTS, *DEFAULTS, "bases", "secret_names", "timeout", "auth", "default_encoding")
