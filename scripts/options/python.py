# Wherry: writes the constants, keywords, and tables of options of the Python package
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from .table import REFERENCE, UNLIMITED, Option, Table, TableError, lower_first
from .text import replaced, wrapped

PACKAGE = "bindings/python/src/wherry"
CODES = f"{PACKAGE}/_native/codes.py"
TABLE = f"{PACKAGE}/_core/option_table.py"
KEYWORDS = f"{PACKAGE}/_core/option_keywords.py"
README = "bindings/python/README.md"
BEGIN, END = "# options: begin (scripts/make-options)", "# options: end"
#: The groups of keywords, with the class of their types.
GROUPS = {
    "common": "CommonKeywords",
    "hooks": "HookKeywords",
    "body": "BodyKeywords",
    "collected": "CollectedKeywords",
    "upload": "UploadKeywords",
    "download": "DownloadKeywords",
    "live": "LiveKeywords",
    "session": "SessionKeywords",
    "fixed": "FixedKeywords",
    "changes": "ChangeKeywords",
}
REQUEST_GROUPS = ("common", "hooks", "body", "collected")
TYPES = {"switch": "bool", "ms": "float", "choice": "str", "integer": "int", "bytes": "int", "speed": "int"}


def start(title: str) -> str:
    return (
        f"# Wherry: {title}\n# SPDX-License-Identifier: Apache-2.0\n"
        "# Written by scripts/make-options from options.toml.\n"
    )


def groups(option: Option) -> tuple[str, ...]:
    """The groups of keywords that the option belongs to."""
    if option.python is False or option.kind == "image":
        return ()
    default = {"BLR": ("common", "live"), "BL": ("live",), "R": ("common",), "B": ("fixed",)}
    found = option.python_in or default[option.scope]
    if not set(found) <= set(GROUPS):
        raise TableError(f"{option.name}: python_in is not of {', '.join(GROUPS)}")
    return found


def keyword(option: Option) -> str:
    return option.python if isinstance(option.python, str) else option.seconds_name


def members(table: Table, *names: str) -> list[Option]:
    return [option for option in table.options if set(groups(option)) & set(names)]


def conversion(option: Option) -> str:
    """The name of the function that converts a value of the keyword."""
    return option.python_convert or {"ms": "milliseconds", "choice": "words"}.get(option.type, "whole")


def meaning(option: Option, table: Table) -> str:
    """What the keyword means, in the words of Python, without a final period."""
    text = option.python_help or option.docs_help or option.help
    if not option.python_help:
        if option.limits is not None and option.limits[1] != UNLIMITED:
            lowest, highest = (f"{each / 1000:g}" if option.type == "ms" else f"{each:,}" for each in option.limits)
            text += f" From {lowest} to {highest}."
        if option.kind == "option" and option.values and conversion(option) == "words":
            text += " " + ". ".join(
                f'"{value.word}"' + (f": {lower_first(value.meaning)}" if value.meaning != value.word else "")
                for value in option.values
            )
        elif option.type == "ms":
            text += " In seconds."
    return named(text, table).rstrip(".")


def named(text: str, table: Table) -> str:
    """The text with the keywords of the options that it names."""
    return REFERENCE.sub(lambda found: keyword(table.named(found[1])), text)


def default(option: Option) -> str:
    if option.python_default:
        return option.python_default
    value = option.default_value
    if option.type == "choice" and value is not None:
        return f'"{value.word}"'
    if option.kind == "text" or option.default < 0:
        return option.default_in_words()
    if option.type == "switch":
        return str(bool(option.default))
    if option.type == "ms":
        return f"{option.default / 1000:g}"
    return str(option.default)


def type_of(option: Option) -> str:
    return option.python_type or TYPES.get(option.type, "Optional[str]")


# Modules


def constants(table: Table) -> str:
    """The numbers of the header."""
    lines: list[str] = []
    for kind in ("option", "text", "image"):
        lines += ["", *(f"{each.constant.removeprefix('WHERRY_')} = {each.number}" for each in table.of(kind))]
    return "\n".join(lines[1:]) + "\n"


def code(option: Option) -> str:
    return "codes." + option.constant.removeprefix("WHERRY_")


def numbers(name: str, title: str, options: list[Option]) -> list[str]:
    rows = [
        f'    "{keyword(each)}": ({code(each)}, "{conversion(each)}"),'
        for each in options
        if each.kind == "option" and not each.python_by_hand
    ]
    return [f"#: {title}", f"{name}: Dict[str, Tuple[int, str]] = {{", *rows, "}"]


def texts(name: str, title: str, options: list[Option]) -> list[str]:
    rows = [
        f'    "{keyword(each)}": {code(each)},' for each in options if each.kind == "text" and not each.python_by_hand
    ]
    return [f"#: {title}", f"{name}: Dict[str, int] = {{", *rows, "}"]


def module(table: Table) -> str:
    lines = [
        start("the options behind keywords").rstrip(),
        '"""For each keyword: the number of its option, and the function of `values` that converts its value."""',
        "",
        "from __future__ import annotations",
        "",
        "from .._native import codes",
        "",
        "TYPE_CHECKING = False",
        "if TYPE_CHECKING:",
        "    from typing import Dict, Tuple",
        "",
        "#: The numbers of named values, by keyword.",
        "WORDS: Dict[str, Dict[str, int]] = {",
    ]
    for option in table.of("option"):
        if option.values and groups(option) and (option.type == "mask" or conversion(option) == "words"):
            words = ", ".join(f'"{value.word}": {value.number}' for value in option.values)
            lines.append(f'    "{keyword(option)}": {{{words}}},')
    request = members(table, *REQUEST_GROUPS)
    upload = [option for option in members(table, "upload") if option not in request]
    live, new = members(table, "live", "changes"), members(table, "fixed", "session")
    lines += [
        "}",
        *numbers("REQUEST", "Keywords of requests.", request),
        *numbers("UPLOAD", "Further keywords of uploads.", upload),
        *numbers("DOWNLOAD", "Keywords of downloads.", members(table, "download")),
        *numbers("CLIENT", "Numeric settings of a client.", live),
        *texts("CLIENT_TEXTS", "String settings of a client.", live),
        *numbers("NEW_CLIENT", "Numeric settings of a new client.", new),
        *texts("NEW_CLIENT_TEXTS", "String settings of a new client.", new),
        *texts("SESSION_TEXTS", "Those that background sessions have as well.", members(table, "session")),
    ]
    return "\n".join(lines) + "\n"


def types(table: Table) -> str:
    lines = [
        start("the keywords that each set one option").rstrip(),
        '"""The types and descriptions of the keywords that each set one option.',
        "",
        "Type checkers and `help` read them; calls do not use them.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Tuple, TypedDict, Union",
        "",
        "if TYPE_CHECKING:",
        "    from .keywords import Target",
    ]
    for name, kind in GROUPS.items():
        lines += ["", "", f"class {kind}(TypedDict, total=False):", f'    """Options of the group "{name}"."""', ""]
        for option in members(table, name):
            said = meaning(option, table) + "."
            if option.more and "``" not in option.more:  # Links to Swift declarations.
                said += " " + named(option.more, table)
            lines += [*wrapped(said, "    #: ", 110), f"    {keyword(option)}: {type_of(option)}"]
    rows = [row(option, table) for option in members(table, *GROUPS)]
    return "\n".join(
        [
            *lines,
            "",
            "",
            "#: A line for each keyword: keyword | default | description",
            'ROWS = """\\',
            *rows,
            '"""',
            "",
            "",
            "def rows(kind: Any) -> str:",
            '    """Returns the lines of the keywords of a class."""',
            '    known = {row.partition(" | ")[0]: row for row in ROWS.splitlines()}',
            '    return "\\n".join(known[name] for name in kind.__annotations__)',
            "",
        ]
    )


def row(option: Option, table: Table) -> str:
    return f"{keyword(option)} | {default(option)} | {meaning(option, table)}"


def readme(text: str, table: Table) -> str:
    """The page with a table of the options of each group."""
    for place in ("client", *GROUPS):
        begin = f"<!-- options: begin {place} (scripts/make-options) -->"
        if begin not in text:
            continue
        options = members(table, *(("changes", "live", "session", "fixed") if place == "client" else (place,)))
        rows = [f"| `{keyword(each)}` | {default(each)} | {meaning(each, table)} |" for each in options]
        content = "\n".join(["", "| keyword | default | meaning |", "|---|---|---|", *rows, "", ""])
        text = replaced(text, begin, "<!-- options: end -->", content, README)
    return text


def write(read: dict[str, str], table: Table) -> dict[str, str]:
    """The files of the Python package."""
    return {
        CODES: replaced(read[CODES], BEGIN, END, constants(table), CODES),
        README: readme(read[README], table),
        TABLE: module(table),
        KEYWORDS: types(table),
    }
