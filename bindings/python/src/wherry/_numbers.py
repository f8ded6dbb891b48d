# Wherry: keywords that are whole numbers
# SPDX-License-Identifier: Apache-2.0
"""Converts keywords to whole numbers. Fractions are rejected, not truncated."""

from __future__ import annotations

from ._errors import ArgumentError, brief, name_keyword

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class NotWhole(ValueError):
    """Converted to an ArgumentError by callers that know the keyword's name."""


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
    return max(-(1 << 63), min((1 << 63) - 1, number))  # The library names the range of the option.


def named(name: str, function: Callable[[Any], int], value: Any) -> int:
    """Converts a keyword's value with `function`."""
    try:
        return function(value)
    except (TypeError, ArgumentError) as error:
        name_keyword(name, error)
        raise
    except NotWhole:
        raise ArgumentError(f"{name}= must be a whole number, not {brief(value)}", "bad_value") from None
