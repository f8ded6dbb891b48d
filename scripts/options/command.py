# Wherry: writes the flags of the command that set one option each
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

from .swift import start
from .table import UNLIMITED, Option, Table
from .text import replaced, wrapped

FOLDER = "Sources/wherry-cli/Options"
GROUPS = {"connection": "ConnectionOptions", "proxy": "ProxyOptions", "tls": "TLSOptions"}
BEGIN, END = "// options: begin (scripts/make-options)", "// options: end"
COMPLETIONS = {"file": ".file()", "directory": ".directory"}


def flags(table: Table, group: str) -> list[Option]:
    return [option for option in table.options if option.flag and option.flag_in == group]


def declaration(option: Option) -> list[str]:
    """The property with its wrapper, in the layout of `swift format`."""
    help_text = json.dumps(option.flag_help, ensure_ascii=False)
    name = f'.customLong("{option.flag}")'
    if option.type == "switch":
        return ["    @Flag(", f"        name: {name},", f"        help: {help_text})", f"    var {option.case} = false", ""]
    completion = COMPLETIONS.get(option.flag_value) if option.type == "path" else None
    kind = {"ms": "Seconds?", "integer": "Int?"}.get(option.type, "String?")
    return [
        "    @Option(", f"        name: {name},", "        help: ArgumentHelp(", f"            {help_text},",
        f'            valueName: "{option.flag_value}")' + ("," if completion else ")"),
        *([f"        completion: {completion})"] if completion else []), f"    var {option.case}: {kind}", ""]


def region(table: Table, group: str) -> str:
    lines = [line for option in flags(table, group) for line in declaration(option)]
    return "\n".join(lines)


def setter(option: Option) -> str:
    target = f"configuration.values.{'texts' if option.kind == 'text' else 'options'}[.{option.case}]"
    if option.type == "switch":
        return f"if {option.case} {{ {target} = {0 if option.default else 1} }}"
    value = {"ms": f"{option.case}.duration.settingMilliseconds", "integer": f"Int64({option.case})"}
    return f"if let {option.case} {{ {target} = {value.get(option.type, option.case)} }}"


def check(option: Option) -> list[str]:
    lowest, highest = option.range
    if option.type != "integer" or highest == UNLIMITED:
        return []
    return [f"        if let {option.case}, !({lowest}...{highest}).contains({option.case}) {{",
            "            throw ValidationError(",
            f'                "--{option.flag} takes {lowest} to {highest}, not \\({option.case}).")', "        }"]


def extension(table: Table, group: str) -> list[str]:
    options = flags(table, group)
    lines = [f"extension {GROUPS[group]} {{"]
    lines += wrapped("Sets the options of a client that one flag of this group sets each.", "    /// ")
    lines += ["    func applyFlags(to configuration: inout Client.Configuration) {"]
    for option in options:
        line = f"        {setter(option)}"
        if len(line) < 100:
            lines.append(line)
        else:
            condition, _, action = line.partition(" { ")
            action = f"            {action.removesuffix(' }')}"
            if len(action) >= 100:
                action = action.replace(" = ", " =\n                ", 1)
            lines += [condition + " {", action, "        }"]
    lines += ["    }"]
    checks = [line for option in options for line in check(option)]
    if checks:
        lines += ["", "    /// Checks the numbers of these flags.", "    func validateFlags() throws {", *checks, "    }"]
    return [*lines, "}", ""]


def functions(table: Table) -> str:
    lines = [line for group in GROUPS for line in extension(table, group)]
    return start("what the flags that are one option each do") + "import ArgumentParser\nimport Wherry\n\n" + "\n".join(lines)


def path(group: str) -> str:
    return f"{FOLDER}/{GROUPS[group]}.swift"


def write(texts: dict[str, str], table: Table) -> dict[str, str]:
    """The files of the groups with the declarations of their flags, and the file of the functions."""
    files = {path(group): replaced(texts[path(group)], BEGIN, END, region(table, group), path(group)) for group in GROUPS}
    return {**files, f"{FOLDER}/OptionFlags.swift": functions(table)}
