# Wherry: reads and checks the table of options
# SPDX-License-Identifier: Apache-2.0
"""The options of Sources/WherryRequests/Options/options.toml, which describes its keys."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import tomllib
from typing import Any, Literal

PATH = "Sources/WherryRequests/Options/options.toml"
KINDS = ("option", "text", "image")
NUMBERS = ("switch", "integer", "bytes", "speed", "ms", "choice", "mask")
TEXTS = ("text", "path", "list")
#: The groups of flags of the command: of those that set options of a client, and of a request.
CLIENT_GROUPS = ("connection", "proxy", "tls")
FLAG_GROUPS = (*CLIENT_GROUPS, "request", "body", "download", "upload")
PREFIXES = {"option": "WHERRY_OPTION_", "text": "WHERRY_TEXT_", "image": "WHERRY_IMAGE_"}
#: The largest value, Int64.max.
UNLIMITED = (1 << 63) - 1
REFERENCE = re.compile(r"\{([a-z0-9_]+)\}")

Owner = Literal["client", "request"]


class TableError(Exception):
    """A mistake in the table."""


@dataclasses.dataclass(frozen=True)
class Value:
    number: int
    word: str
    meaning: str = ""


@dataclasses.dataclass(frozen=True)
class Flag:
    """A flag of the command that sets only one option."""

    name: str
    group: str
    help: str
    short: str = ""
    also: str = ""
    value: str = ""
    discussion: str = ""
    range: tuple[int, int] | None = None
    type: str = ""


@dataclasses.dataclass(frozen=True)
class Option:
    """One entry of the table."""

    kind: str
    name: str
    number: int
    type: str = "integer"
    scope: str = ""
    default: Any = None
    range: tuple[int, int] = (0, UNLIMITED)
    values: tuple[Value, ...] = ()
    accepts_bool: bool = False
    default_text: str = ""
    help: str = ""
    more: str = ""
    docs_help: str = ""
    header: str | None = None
    feature: str = ""
    case: str = ""
    swift: str = ""
    swift_type: str = ""
    core: str = ""
    by_hand: str = ""
    without: str = ""
    optional: bool = False
    transport: bool = False
    flags: tuple[Flag, ...] = ()
    python: str | bool = True
    python_in: tuple[str, ...] = ()
    python_by_hand: bool = False
    python_type: str = ""
    python_default: str = ""
    python_help: str = ""
    python_convert: str = ""

    @property
    def constant(self) -> str:
        """The name in wherry.h."""
        return PREFIXES[self.kind] + self.name.upper()

    @property
    def seconds_name(self) -> str:
        """The name without the unit of a time."""
        return self.name.removesuffix("_ms")

    @property
    def has_gaps(self) -> bool:
        """Whether some numbers between the lowest and the highest are not valid."""
        if self.type != "choice":
            return False
        lowest, highest = self.range
        return len(self.values) != highest - lowest + 1

    @property
    def default_value(self) -> Value | None:
        """The default of a choice."""
        return next((value for value in self.values if value.number == self.default), None)

    @property
    def limits(self) -> tuple[int, int] | None:
        """The range of a number whose range is limited. -1 does not count if it only stands for the default."""
        lowest, highest = self.range
        if self.default == -1 == lowest:
            lowest = 0
        is_limited = (lowest, highest) != (0, UNLIMITED) and self.type in ("integer", "bytes", "speed", "ms")
        return (lowest, highest) if is_limited else None

    def is_for(self, owner: Owner) -> bool:
        return ("R" if owner == "request" else "B") in self.scope

    def has_property(self, owner: Owner) -> bool:
        """Whether the configuration or request has a Swift property for the option."""
        return self.is_for(owner) and self.without not in (owner, "both")

    def is_property_generated(self, owner: Owner) -> bool:
        return self.has_property(owner) and self.by_hand not in (owner, "both")

    def is_in_core(self, owner: Owner) -> bool:
        return self.core in (owner, "both")

    def default_in_words(self) -> str:
        """The default for people, without a final period."""
        if self.default_text:
            return self.default_text
        if self.kind == "text":
            return f'"{self.default}"' if self.default is not None else "none"
        if self.type == "switch":
            return "true" if self.default else "false"
        value = self.default_value
        if value is not None:
            return lower_first(value.meaning or value.word)
        if self.type == "ms":
            return seconds(self.default)
        if self.type == "bytes":
            for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
                if self.default >= 2 * factor and self.default % factor == 0:
                    return f"{self.default // factor} {unit}"
        return f"{self.default:,}"


@dataclasses.dataclass(frozen=True)
class Table:
    options: tuple[Option, ...]

    def of(self, kind: str) -> list[Option]:
        return [option for option in self.options if option.kind == kind]

    def named(self, name: str) -> Option:
        """The option of a client or request with this name."""
        for option in self.options:
            if option.kind != "image" and option.name == name:
                return option
        raise TableError(f"there is no option {name}")


def seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:g} s"


def lower_first(text: str) -> str:
    """The text with a small first letter, unless its first word is an abbreviation or a name."""
    word = text.split(" ", 1)[0]
    return text[0].lower() + text[1:] if word[1:].islower() or len(word) == 1 else text


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def load(root: pathlib.Path) -> Table:
    """Reads the table and checks every entry."""
    rows = tomllib.loads((root / PATH).read_text())
    unknown = set(rows) - set(KINDS)
    if unknown:
        raise TableError(f"there is no kind of options {', '.join(sorted(unknown))}")
    table = Table(tuple(_option(kind, row) for kind in KINDS for row in rows.get(kind, [])))
    features = set(re.findall(r"^\| (\w+) \|", (root / "docs/features.md").read_text(), re.MULTILINE))
    for option in table.options:
        _check(option, table, features)
    for kind in KINDS:
        for key in ("name", "number", "case"):
            seen: set[Any] = set()
            for option in table.of(kind):
                value = getattr(option, key)
                if value in seen:
                    raise TableError(f"two of [[{kind}]] have the {key} {value}")
                seen.add(value)
    return table


def _option(kind: str, row: dict[str, Any]) -> Option:
    name = row.get("name", "without a name")
    keys = {field.name for field in dataclasses.fields(Option)}
    unknown = set(row) - keys
    if unknown:
        raise TableError(f"{name} has an unknown key {', '.join(sorted(unknown))}")
    required = {"name", "number"} | ({"default", "header"} if kind == "image" else {"type", "scope", "help", "feature"})
    missing = required - set(row)
    if missing:
        raise TableError(f"{name} has no {', '.join(sorted(missing))}")
    row = {key: " ".join(value.split()) if isinstance(value, str) else value for key, value in row.items()}
    row["values"] = tuple(
        Value(0, value) if isinstance(value, str) else Value(*value) for value in row.get("values", [])
    )
    numbers = [value.number for value in row["values"]]
    bounds = row.get("range") or ([min(numbers), max(numbers)] if numbers else [0])
    if row.get("type") == "switch":
        bounds = [0, 1]
    row["python_in"] = tuple(row.get("python_in", []))
    row["flags"] = tuple(_flag(name, flag) for flag in row.get("flags", []))
    row["range"] = (bounds[0], bounds[1] if len(bounds) > 1 else UNLIMITED)
    for key in ("case", "swift"):
        row.setdefault(key, camel_case(name.removesuffix("_ms")))
    if kind == "image" and row["values"]:
        row["type"] = "choice"
    return Option(kind=kind, **row)


def _flag(option: str, row: dict[str, Any]) -> Flag:
    row = {
        "group" if key == "in" else key: " ".join(value.split()) if isinstance(value, str) else value
        for key, value in row.items()
    }
    unknown = set(row) - {field.name for field in dataclasses.fields(Flag)}
    missing = {"name", "group", "help"} - set(row)
    if unknown or missing:
        raise TableError(f"a flag of {option} has wrong keys: {', '.join(sorted(unknown | missing))}")
    if "range" in row:
        row["range"] = tuple(row["range"])
    return Flag(**row)


def _check(option: Option, table: Table, features: set[str]) -> None:
    def require(is_right: bool, what: str) -> None:
        if not is_right:
            raise TableError(f"{option.name}: {what}")

    require(re.fullmatch(r"[a-z][a-z0-9_]*", option.name) is not None, "the name is not in lower case")
    if option.kind == "image":
        require(option.range[0] <= option.default <= option.range[1], "the default is not in the range")
        return
    types = NUMBERS if option.kind == "option" else TEXTS
    require(option.type in types, f"the type is not one of {', '.join(types)}")
    require(option.scope in ("B", "BL", "BLR", "R"), "the scope is not B, BL, BLR, or R")
    require(option.feature in features, f"docs/features.md has no row {option.feature}")
    require(option.help.endswith("."), "the help does not end with a period")
    for text in (option.help, option.more, option.docs_help, option.default_text):
        for name in REFERENCE.findall(text):
            table.named(name)
    if option.transport:
        require(option.type in ("switch", "integer", "bytes", "speed"), f"the transport cannot read a {option.type}")
        require("R" in option.scope, "the transport reads options of requests only")
    for key in ("core", "by_hand", "without"):
        require(getattr(option, key) in ("", "client", "request", "both"), f"{key} is not client, request, or both")
    if option.type in ("bytes", "speed"):
        require("bytes" in option.help, "the help does not mention bytes")
    if option.kind == "option":
        require(isinstance(option.default, int), "there is no default")
        require(option.range[0] <= option.default <= option.range[1], "the default is not in the range")
    for flag in option.flags:
        require(flag.group in FLAG_GROUPS, f"--{flag.name} is in none of the groups {', '.join(FLAG_GROUPS)}")
        readable = ("switch", "integer", "bytes", "ms", "speed", "text", "path")
        require(
            option.type in readable or bool(flag.type),
            f"--{flag.name} needs the key type: a Swift type of the command that reads a {option.type}",
        )
        require(bool(flag.value) == (option.type != "switch"), f"--{flag.name}: a value is named if there is one")
        scope = "B" if flag.group in CLIENT_GROUPS else "R"
        require(scope in option.scope, f"--{flag.name} is in the group {flag.group}, but the option is not for it")
    if option.type == "choice":
        require(option.default_value is not None, "the default is not one of the values")
        is_generated = option.is_property_generated("client") or option.is_property_generated("request")
        require(bool(option.swift_type) or not is_generated, "there is no swift_type")
