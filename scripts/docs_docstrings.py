# Wherry: reads the docstrings of the Python package for the documentation site
# SPDX-License-Identifier: Apache-2.0
"""An extension of griffe that turns indented code after `::` into Markdown, and reads `#:` comments of attributes."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

CODE = re.compile(r"(?P<text>[^\n]*)::\n\n(?P<code>(?:(?: {4}[^\n]*)?\n)* {4}[^\n]*)")


def markdown(found: re.Match[str]) -> str:
    text = f"{found['text']}:\n\n" if found["text"] else ""
    return f"{text}```python\n{textwrap.dedent(found['code'])}\n```"


def comment(attribute: griffe.Object) -> str:
    """The lines with `#:` above an attribute."""
    lines: list[str] = []
    above = attribute.lines_collection[attribute.filepath][: (attribute.lineno or 1) - 1]  # type: ignore[index]
    for line in map(str.strip, reversed(above)):
        if not line.startswith("#:"):
            break
        lines.insert(0, line[2:].strip())
    return "\n".join(lines)


class Docstrings(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.is_attribute and not obj.docstring and (text := comment(obj)):
            obj.docstring = griffe.Docstring(text, parent=obj)
        if obj.docstring:
            obj.docstring.value = CODE.sub(markdown, obj.docstring.value)
