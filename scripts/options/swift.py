# Wherry: writes the Swift declarations and properties of options
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

from .table import REFERENCE, UNLIMITED, Option, Owner, Table, seconds
from .text import wrapped

REQUESTS, CORE, API, ABI = (
    "Sources/WherryRequests",
    "Sources/WherryCore/Client",
    "Sources/WherryAsync",
    "Sources/WherryABI",
)
TRANSPORT = "Sources/WherryTransport"
SCOPES = {"B": "[.build]", "BL": "[.build, .live]", "BLR": "[.build, .live, .request]", "R": "[.request]"}
PLAIN_TYPES = {
    "switch": "Bool",
    "integer": "Int",
    "bytes": "Int64",
    "speed": "Int64",
    "ms": "Duration",
    "text": "String",
    "path": "String",
}


def start(title: str) -> str:
    return (
        f"// Wherry: {title}.\n// SPDX-License-Identifier: Apache-2.0\n"
        "// Written by scripts/make-options from options.toml.\n\n"
    )


def number(value: int) -> str:
    return f"{value:_}" if abs(value) >= 10_000 else str(value)


def bounds(option: Option) -> str:
    lowest, highest = option.range
    return f"{number(lowest)}...{'Int64.max' if highest == UNLIMITED else number(highest)}"


def plain(text: str) -> str:
    """Text in which options have the names of settings files."""
    return REFERENCE.sub(r"`\1`", text)


# Enumerations


def first_sentence(text: str) -> str:
    return re.split(r"(?<=\.) (?=[A-Z])", text, maxsplit=1)[0]


def cases(options: list[Option]) -> list[str]:
    lines = []
    for option in options:
        said = plain(first_sentence(option.docs_help or option.help))
        lines += wrapped(said + " In milliseconds." if option.type == "ms" else said, "    /// ")
        lines.append(f"    case {option.case} = {option.number}")
    return lines


def option_enum(table: Table) -> str:
    options = table.of("option")
    lines = [
        "/// An option with a numeric value. The raw values are those of `wherry_option`.",
        "package enum Option: Int32, CaseIterable, Sendable {",
        *cases(options),
        "}",
        "",
        "extension Option {",
        "    /// The name, scope, default, and valid values.",
        "    package var declaration: Declaration {",
        "        switch self {",
    ]
    for option in options:
        said = [f'"{option.name}"', SCOPES[option.scope], number(option.default), bounds(option)]
        if option.has_gaps:
            said.append(f"only: [{', '.join(str(value.number) for value in option.values)}]")
        if option.accepts_bool or option.type == "switch":
            said.append("acceptsBool: true")
        lines += [f"        case .{option.case}:", *call("Declaration", said, "            ")]
    return start("the options with numeric values") + "\n".join([*lines, "        }", "    }", "}", ""])


def text_enum(table: Table) -> str:
    options = table.of("text")
    lines = [
        "/// An option with a text value. The raw values are those of `wherry_text_option`.",
        "package enum TextOption: Int32, CaseIterable, Sendable {",
        *cases(options),
        "}",
        "",
        "extension TextOption {",
        "    /// The name, scope, and kind of text.",
        "    package var declaration: Declaration {",
        "        switch self {",
    ]
    for option in options:
        said = [f'"{option.name}"', SCOPES[option.scope]]
        if option.type == "path":
            said.append("isPath: true")
        lines += [f"        case .{option.case}:", *call("Declaration", said, "            ")]
    return start("the options with text values") + "\n".join([*lines, "        }", "    }", "}", ""])


def image_enum(table: Table) -> str:
    options = table.of("image")
    lines = ["/// A number of `wherry_image_option`.", "enum ImageOption: UInt32 {"]
    lines += [f"    case {option.case} = {option.number}" for option in options]
    lines += [
        "",
        "    /// The name in errors, as in the other languages.",
        "    var name: String {",
        "        switch self {",
    ]
    lines += [f'        case .{option.case}: "{option.name}"' for option in options]
    lines += [
        "        }",
        "    }",
        "",
        "    /// The valid values.",
        "    var range: ClosedRange<Int64> {",
        "        switch self {",
    ]
    lines += [f"        case .{option.case}: {bounds(option)}" for option in options]
    return start("the options of image compression") + "\n".join([*lines, "        }", "    }", "}", ""])


def call(name: str, arguments: list[str], indent: str) -> list[str]:
    """A call as `swift format` lays it out."""
    line = f"{indent}{name}({', '.join(arguments)})"
    if len(line) < 100:
        return [line]
    inner = f"{indent}    {', '.join(arguments)})"
    if len(inner) < 100:
        return [f"{indent}{name}(", inner]
    raise ValueError(f"too long: {inner}")


# Properties


def link(table: Table, owner: Owner, is_core: bool, name: str) -> str:
    """How the documentation of a property names another option."""
    option = table.named(name)
    other: Owner = "request" if owner == "client" else "client"
    for target in (owner, other):
        # A module cannot link to one above it.
        if option.has_property(target) and "." not in option.swift and (option.is_in_core(target) or not is_core):
            if target == owner:
                return f"``{option.swift}``"
            if target == "request":
                return f"``/WherryRequests/Request/{option.swift}``"
            if not is_core:
                return f"``/WherryCore/Client/Configuration/{option.swift}``"
    return f"`{option.swift}`"


def documentation(option: Option, table: Table, owner: Owner) -> list[str]:
    is_core = option.is_in_core(owner)

    def linked(text: str) -> str:
        return REFERENCE.sub(lambda found: link(table, owner, is_core, found[1]), text)

    said = option.help
    if option.type in ("integer", "bytes", "ms") and option.range[1] != UNLIMITED:
        lowest, highest = (seconds(bound) if option.type == "ms" else f"{bound:,}" for bound in option.range)
        said += f" Range: {lowest} to {highest}."
    if owner == "request" and "B" in option.scope:
        said += " `nil` uses the client's setting."
    elif option.optional:
        said += f" Default: `nil`, {option.default_in_words()}." if option.default_text else " `nil` is 0."
    else:
        said += f" Default: {option.default_in_words().rstrip('.')}."
    lines = wrapped(linked(said), "    /// ")
    return lines + (["    ///", *wrapped(linked(option.more), "    /// ")] if option.more else [])


def client_property(option: Option) -> list[str]:
    case = f".{option.case}"
    if option.kind == "text":
        if option.default is None:
            return ["String?", f"values.texts[{case}]", f"values.texts[{case}] = newValue"]
        return ["String", f'values.texts[{case}] ?? "{option.default}"', f"values.texts[{case}] = newValue"]
    value = f"values.options[{case}]"
    forms = {
        "switch": [f"{value} == 1", f"{value} = newValue ? 1 : 0"],
        "integer": [f"Int({value})", f"{value} = Int64(newValue)"],
        "ms": [f".milliseconds({value})", f"{value} = newValue.settingMilliseconds"],
        "choice": [f"values.options.choice({case})", f"{value} = newValue.rawValue"],
    }
    scoped = option.swift_type
    if scoped in ("ExistingFile", "CodedBody"):
        scoped = f"Request.{scoped}"
    return [scoped or PLAIN_TYPES[option.type], *forms.get(option.type, [value, f"{value} = newValue"])]


def request_property(option: Option) -> list[str]:
    case = f".{option.case}"
    value = f"value(of: {case})"
    if option.type == "switch" and option.scope == "R":
        if option.default:
            return ["Bool", f"{value} != 0", f"set({case}, newValue ? nil : 0)"]
        return ["Bool", f"{value} == 1", f"set({case}, newValue ? 1 : nil)"]
    kind = option.swift_type or PLAIN_TYPES[option.type]
    forms = {
        "switch": [f"{value}.map {{ $0 == 1 }}", f"set({case}, newValue.map {{ $0 ? 1 : 0 }})"],
        "integer": [f"{value}.map {{ Int($0) }}", f"set({case}, newValue.map {{ Int64($0) }})"],
        "ms": [f"{value}.map {{ .milliseconds($0) }}", f"set({case}, newValue?.settingMilliseconds)"],
        "choice": [f"{value}.flatMap {{ {kind}(rawValue: $0) }}", f"set({case}, newValue?.rawValue)"],
    }
    return [f"{kind}?", *forms.get(option.type, [value, f"set({case}, newValue)"])]


def properties(table: Table, owner: Owner, is_core: bool) -> str:
    lines = ["extension Client.Configuration {" if owner == "client" else "extension Request {"]
    for option in table.options:
        if option.kind == "image" or not option.is_property_generated(owner) or option.is_in_core(owner) != is_core:
            continue
        if option.kind == "text" and owner == "request":
            continue
        make = client_property if owner == "client" else request_property
        kind, getter, setter = make(option)
        lines += [
            *documentation(option, table, owner),
            f"    public var {option.swift}: {kind} {{",
            f"        get {{ {getter} }}",
            f"        set {{ {setter} }}",
            "    }",
        ]
    modules = (
        ["WherryCore", "WherryHTTP", "WherryRequests"]
        if not is_core
        else ["WherryRequests"]
        if owner == "client"
        else []
    )
    imports = "".join(f"import {module}\n" for module in modules) + ("\n" if modules else "")
    what = "the settings of a client" if owner == "client" else "the settings of a request"
    return start(f"{what} that are one option each") + imports + "\n".join([*lines, "}", ""])


# The transport, which is below the table


def transport_struct(table: Table) -> str:
    lines = [
        "/// The options of a request that the transport reads.",
        "package struct TransportOptions: Sendable {",
    ]
    for option in filter(lambda option: option.transport, table.of("option")):
        lines += wrapped(plain(first_sentence(option.docs_help or option.help)), "    /// ")
        value = str(option.default == 1).lower() if option.type == "switch" else number(option.default)
        kind = "" if option.type == "switch" else ": Int64"
        lines.append(f"    package var {option.case}{kind} = {value}")
    return start("the options that the transport reads") + "\n".join([*lines, "", "    package init() {}", "}", ""])


def transport_reading(table: Table) -> str:
    lines = [
        "import WherryTransport",
        "",
        "extension TransportOptions {",
        "    /// Reads the table of options.",
        "    package init(_ options: OptionTable) {",
        "        self.init()",
    ]
    for option in filter(lambda option: option.transport, table.of("option")):
        is_on = " == 1" if option.type == "switch" else ""
        lines.append(f"        {option.case} = options[.{option.case}]{is_on}")
    return start("the options that the transport reads, from the table") + "\n".join([*lines, "    }", "}", ""])


def files(table: Table) -> dict[str, str]:
    """The generated files by their paths."""
    return {
        f"{REQUESTS}/Options/Option.swift": option_enum(table),
        f"{REQUESTS}/Options/TextOption.swift": text_enum(table),
        f"{REQUESTS}/Options/TransportOptions+Table.swift": transport_reading(table),
        f"{TRANSPORT}/TransportOptions.swift": transport_struct(table),
        f"{CORE}/Configuration+Options.swift": properties(table, "client", True),
        f"{REQUESTS}/Request/Request+Options.swift": properties(table, "request", True),
        f"{API}/Configuration+Options.swift": properties(table, "client", False),
        f"{API}/Request+Options.swift": properties(table, "request", False),
        f"{ABI}/ImageOption.swift": image_enum(table),
    }
