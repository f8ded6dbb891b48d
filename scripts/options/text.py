# Wherry: regions and comments of generated files
# SPDX-License-Identifier: Apache-2.0
"""Wraps text, and replaces the part of a file between its markers."""

from __future__ import annotations

import re
import textwrap

from .table import TableError


def wrapped(text: str, prefix: str, width: int = 100) -> list[str]:
    """Lines of at most this width, each with the prefix. A number stays with the word after it."""
    joined = re.sub(r"(?<![\w.])(-?\d+:?) (?=[\w`])", "\\1\u00a0", text)
    lines = textwrap.wrap(
        joined, width, initial_indent=prefix, subsequent_indent=prefix, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\u00a0", " ") for line in lines]


def replaced(text: str, begin: str, end: str, content: str, path: str) -> str:
    """The text with new content between two lines that contain the markers."""
    lines = text.splitlines(keepends=True)
    places = [index for index, line in enumerate(lines) if begin in line]
    ends = [index for index, line in enumerate(lines) if end in line]
    if len(places) != 1:
        raise TableError(f"{path} must have one line with {begin}")
    after = [index for index in ends if index > places[0]]
    if not after:
        raise TableError(f"{path} has no line with {end}")
    return "".join([*lines[: places[0] + 1], content, *lines[after[0] :]])
