# Wherry: writes the enumerations of options in wherry.h
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from .table import REFERENCE, UNLIMITED, Option, Table, lower_first
from .text import replaced, wrapped

PATH = "include/wherry.h"
#: The columns at which a comment in the line of a constant begins.
COLUMNS = {"option": 44, "text": 34, "image": 37}
ENUMS = {"option": "wherry_option", "text": "wherry_text_option", "image": "wherry_image_option"}


def comment(option: Option, table: Table) -> str:
    """The comment of a constant: scope, default, and the rest."""
    if option.kind == "image":
        return option.header or ""
    start = f"{option.scope} {option.default}{limits(option)}" if option.kind == "option" else option.scope
    if option.header is not None:
        return start + (option.header if option.header[:1] in ";:,.( " or not option.header else f" {option.header}")
    text = REFERENCE.sub(lambda found: table.named(found[1]).name.upper(), lower_first(option.help)).rstrip(".")
    for value in option.values if option.kind == "option" else ():
        text += f". {value.number}: {lower_first(value.meaning or value.word)}"
    return f"{start}; {text}"


def limits(option: Option) -> str:
    """The range of a number, if it is limited."""
    if option.limits is None:
        return ""
    lowest, highest = option.limits
    return f" ({lowest} or more)" if highest == UNLIMITED else f" ({lowest} to {highest})"


def enum(kind: str, table: Table) -> str:
    """The constants of one enumeration with their comments."""
    lines = []
    options = table.of(kind)
    for option in options:
        comma = "" if option is options[-1] else ","
        constant = f"  {option.constant} = {option.number}{comma}"
        said = comment(option, table)
        beside = f"{constant:<{COLUMNS[kind]}}" if len(constant) < COLUMNS[kind] else constant + " "
        beside += f"/* {said} */"
        if len(beside) <= 100:
            lines.append(beside)
            continue
        above = wrapped(f"{said}\u00a0*/", "   * ")
        lines += ["  /* " + above[0].removeprefix("   * "), *above[1:], constant]
    return "\n".join(lines) + "\n"


def write(text: str, table: Table) -> str:
    """The header with the enumerations of the table."""
    for kind, name in ENUMS.items():
        begin = f"/* options: begin {name}"
        text = replaced(text, begin, "/* options: end */", enum(kind, table), PATH)
    return text
