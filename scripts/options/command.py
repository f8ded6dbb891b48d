# Wherry: writes the flags of the command that set one option each
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

from .swift import start
from .table import CLIENT_GROUPS, UNLIMITED, Flag, Option, Table
from .text import replaced, wrapped

FOLDER = "Sources/WherryCLI"
#: The types that declare the flags of each group, in files of their name.
GROUPS = {
    "connection": "Options/ConnectionOptions",
    "proxy": "Options/ProxyOptions",
    "tls": "Options/TLSOptions",
    "request": "Options/RequestOptions",
    "body": "Options/BodyOptions",
    "download": "Commands/DownloadCommand",
    "upload": "Commands/UploadCommand",
}
BEGIN, END = "// options: begin (scripts/make-options)", "// options: end"
COMPLETIONS = {"file": ".file()", "directory": ".directory"}
TYPES = {"ms": "Seconds", "integer": "Int", "speed": "ByteRate", "bytes": "ByteCount"}


def flags(table: Table, group: str) -> list[tuple[Option, Flag]]:
    return [(option, flag) for option in table.options for flag in option.flags if flag.group == group]


def declaration(option: Option, flag: Flag) -> list[str]:
    """The property with its wrapper, in the layout of `swift format`."""
    help_text = json.dumps(flag.help, ensure_ascii=False)
    names = [f'.customShort("{flag.short}")'] if flag.short else []
    names += [f'.customLong("{name}")' for name in (flag.name, flag.also) if name]
    name = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
    if option.type == "switch":
        said = [f"        help: {help_text})"]
        if len(said[0]) > 100:
            said = ["        help:", f"            {help_text}", "    )"]
        return ["    @Flag(", f"        name: {name},", *said, f"    var {option.case} = false", ""]
    completion = COMPLETIONS.get(flag.value) if option.type == "path" else None
    kind = flag.type or TYPES.get(option.type, "String")
    discussion = json.dumps(flag.discussion, ensure_ascii=False)
    return [
        "    @Option(",
        f"        name: {name},",
        "        help: ArgumentHelp(",
        f"            {help_text},",
        *([f"            discussion: {discussion},"] if flag.discussion else []),
        f'            valueName: "{flag.value}")' + ("," if completion else ")"),
        *([f"        completion: {completion})"] if completion else []),
        f"    var {option.case}: {kind}?",
        "",
    ]


def region(table: Table, group: str) -> str:
    return "\n".join(line for option, flag in flags(table, group) for line in declaration(option, flag))


def value(option: Option, flag: Flag) -> str:
    """The expression for the number or text of the option."""
    if flag.type or option.type in ("speed", "bytes"):
        return f"{option.case}.number"
    return {"ms": f"{option.case}.duration.settingMilliseconds", "integer": f"Int64({option.case})"}.get(
        option.type, option.case
    )


def setter(option: Option, flag: Flag) -> str:
    is_switch = option.type == "switch"
    new = str(0 if option.default else 1) if is_switch else value(option, flag)
    if flag.group in CLIENT_GROUPS:
        action = f"configuration.values.{'texts' if option.kind == 'text' else 'options'}[.{option.case}] = {new}"
    else:
        action = f"request.set(.{option.case}, {new})"
    return f"if {'' if is_switch else 'let '}{option.case} {{ {action} }}"


def check(option: Option, flag: Flag) -> list[str]:
    lowest, highest = flag.range or option.range
    if option.type != "integer" or highest == UNLIMITED or flag.type:
        return []
    return [
        f"        if let {option.case}, !({lowest}...{highest}).contains({option.case}) {{",
        "            throw ValidationError(",
        f'                "--{flag.name} takes {lowest} to {highest}, not \\({option.case}).")',
        "        }",
    ]


def extension(table: Table, group: str) -> list[str]:
    of_client = group in CLIENT_GROUPS
    said = f"Sets the options of a {'client' if of_client else 'request'} that one flag of this group sets each."
    target = "configuration: inout Client.Configuration" if of_client else "request: inout Request"
    lines = [
        f"extension {GROUPS[group].rpartition('/')[2]} {{",
        *wrapped(said, "    /// "),
        f"    func applyFlags(to {target}) {{",
    ]
    for option, flag in flags(table, group):
        line = f"        {setter(option, flag)}"
        if len(line) < 100:
            lines.append(line)
        else:
            condition, _, action = line.partition(" { ")
            action = f"            {action.removesuffix(' }')}"
            if len(action) >= 100:
                action = action.replace(" = ", " =\n                ", 1)
            lines += [condition + " {", action, "        }"]
    lines += ["    }"]
    checks = [line for option, flag in flags(table, group) for line in check(option, flag)]
    if checks:
        lines += [
            "",
            "    /// Checks the numbers of these flags.",
            "    func validateFlags() throws {",
            *checks,
            "    }",
        ]
    return [*lines, "}", ""]


def functions(table: Table) -> str:
    lines = [line for group in GROUPS for line in extension(table, group)]
    return (
        start("what the flags that are one option each do")
        + "import ArgumentParser\nimport WherryAsync\n\n"
        + "\n".join(lines)
    )


def path(group: str) -> str:
    return f"{FOLDER}/{GROUPS[group]}.swift"


def write(texts: dict[str, str], table: Table) -> dict[str, str]:
    """The files of the groups with the declarations of their flags, and the file of the functions."""
    files = {
        path(group): replaced(texts[path(group)], BEGIN, END, region(table, group), path(group)) for group in GROUPS
    }
    return {**files, f"{FOLDER}/Options/OptionFlags.swift": functions(table)}
