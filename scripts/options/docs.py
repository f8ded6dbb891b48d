# Wherry: writes the table of options in docs/configuration.md
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from .table import REFERENCE, UNLIMITED, Option, Table, lower_first
from .text import replaced

PATH = "docs/configuration.md"
BEGIN, END = "<!-- options: begin (scripts/make-options) -->", "<!-- options: end -->"
UNITS = {"ms": "ms", "bytes": "bytes", "speed": "bytes/s"}


def values(option: Option) -> str:
    """What the option accepts, without the meaning of each value."""
    if option.kind == "text":
        return {"path": "path", "list": "text"}.get(option.type, "text")
    if option.type == "switch":
        return "true, false"
    if option.type == "choice":
        return ", ".join(str(value.number) for value in option.values)
    lowest, highest = option.range
    numbers = f"{lowest:,} or more" if highest == UNLIMITED else f"{lowest:,} to {highest:,}"
    unit = UNITS.get(option.type)
    return f"{unit}, {numbers}" if unit else numbers


def default(option: Option) -> str:
    if option.kind == "text":
        return option.default_in_words() if option.default_text else f"`{option.default or ''}`".replace("``", "none")
    if option.type == "switch":
        return "true" if option.default else "false"
    return f"{option.default:,}" if option.default >= 0 else option.default_in_words()


def meaning(option: Option) -> str:
    text = option.docs_help or option.help
    for value in option.values if option.kind == "option" else ():
        word = "" if value.word == value.meaning else f" ({value.word})"
        text += f" {value.number}{word}: {lower_first(value.meaning)}."
    return text


def row(option: Option) -> str:
    said = [
        f"`{option.name}`",
        option.scope,
        values(option),
        default(option),
        meaning(option),
        f"[{option.feature}](features.md)",
    ]
    return "| " + " | ".join(REFERENCE.sub(r"`\1`", text).replace("|", "\\|") for text in said) + " |"


def write(text: str, table: Table) -> str:
    """The page with the table of the options."""
    rows = sorted(table.of("option") + table.of("text"), key=lambda option: option.name)
    head = ["", "| name | set in | values | default | meaning | feature |", "|---|---|---|---|---|---|"]
    return replaced(text, BEGIN, END, "\n".join([*head, *map(row, rows), "", ""]), PATH)
