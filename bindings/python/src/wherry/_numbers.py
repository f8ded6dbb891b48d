# Wherry: keywords that are whole numbers
# SPDX-License-Identifier: Apache-2.0
"""What is no whole number is refused, and not cut off."""

from __future__ import annotations

from ._errors import ArgumentError, brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class NotWhole(ValueError):
    """Becomes an ArgumentError where the keyword's name is known."""


def whole(value: Any) -> int:
    """A whole number, or a switch. What is left of a fraction would be another number, of 0.5 none."""
    try:
        number = int(value)
    except (ValueError, OverflowError):
        raise NotWhole from None
    if not isinstance(value, (str, bytes)) and number != value:
        raise NotWhole
    return number


def named(name: str, function: Callable[[Any], int], value: Any) -> int:
    """What `function` makes of a keyword's value."""
    try:
        return function(value)
    except NotWhole:
        raise ArgumentError(f"{name}= is a whole number, not {brief(value)}", "bad_value") from None
