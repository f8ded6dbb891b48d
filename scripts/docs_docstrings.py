# Wherry: reads the docstrings of the Python package for the documentation site
# SPDX-License-Identifier: Apache-2.0
"""An extension of griffe that turns indented code after `::` into Markdown."""
from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

CODE = re.compile(r"(?P<text>[^\n]*)::\n\n(?P<code>(?:(?: {4}[^\n]*)?\n)* {4}[^\n]*)")


def markdown(found: re.Match[str]) -> str:
    text = f"{found['text']}:\n\n" if found["text"] else ""
    return f"{text}```python\n{textwrap.dedent(found['code'])}\n```"


class CodeBlocks(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = CODE.sub(markdown, obj.docstring.value)
