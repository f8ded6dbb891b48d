#!/usr/bin/env python3
# Wherry: header, exports, and Python prototypes must be the same list
# SPDX-License-Identifier: Apache-2.0
"""Compares include/wherry.h with the exports of the libraries and the declarations of the Python
binding.

Tests/Contract/contract.py --cmake build/libwherry.so --swiftpm .build/debug/libwherry-c.so

Every difference is one line; without differences the exit code is 0. A compiled C program prints
the values of the enumerations and the layout of the structs, which are compared with the binding's
numbers.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Set, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADER = os.path.join(ROOT, "include", "wherry.h")
SONAME = "libwherry.so.0"
BINDING = os.path.join(ROOT, "bindings", "python", "src")

#: Libraries that libwherry.so may need at run time: C and C++ runtimes and three C libraries, no
#: Swift.
NEEDED = re.compile(r"^(libc|libm|libstdc\+\+|libgcc_s|libcurl|libjpeg|libpng16|libz|ld-linux-[\w-]+)\.so(\.|$)")
#: Layouts of the binding that omit some fields of a struct.
PARTS = {"PLAIN_RECORD": "RECORD"}
FUNCTION = "T"  # nm's letter; the library exports no data


def output(*words: str, text: str = "") -> str:
    """The output of a program, which must succeed."""
    done = subprocess.run(words, input=text, stdout=subprocess.PIPE, check=True, encoding="utf-8")
    return done.stdout


class Header:
    """The declarations of wherry.h, parsed after the preprocessor."""

    def __init__(self, path: str) -> None:
        lines = output("cc", "-E", path).splitlines()
        ours, kept = False, []
        for line in lines:
            mark = re.match(r'# \d+ "([^"]*)"', line)
            if mark:
                ours = os.path.basename(mark.group(1)) == os.path.basename(path)
            elif ours and not line.startswith("#"):
                kept.append(line)
        text = re.sub(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)", "", "\n".join(kept))
        #: the declarations, without comments and attributes
        self.text = text
        #: enumeration -> its constants; struct -> its fields
        self.enums: Dict[str, List[str]] = {}
        self.structs: Dict[str, List[str]] = {}
        text = re.sub(r"typedef enum \w+ \{(.*?)\} (\w+);", self._enum, text, flags=re.S)
        text = re.sub(r"typedef struct \w+ \{(.*?)\} (\w+);", self._typedef, text, flags=re.S)
        text = re.sub(r"struct (\w+) \{(.*?)\};", self._struct, text, flags=re.S)
        #: function -> its declaration with single spaces
        self.functions: Dict[str, str] = {}
        for statement in text.split(";"):
            found = re.search(r"\b(wherry_\w+)\s*\(", statement)
            if found:
                words = " ".join(statement.split()).replace("_Bool", "bool")
                self.functions[found.group(1)] = words.replace(" )", ")")

    def _enum(self, found: re.Match[str]) -> str:
        self.enums[found.group(2)] = re.findall(r"(WHERRY_\w+)\s*=", found.group(1))
        return ""

    def _typedef(self, found: re.Match[str]) -> str:
        return self._fields(found.group(2), found.group(1))

    def _struct(self, found: re.Match[str]) -> str:
        return self._fields(found.group(1), found.group(2))

    def _fields(self, name: str, body: str) -> str:
        fields: List[str] = []
        for line in filter(None, (line.strip() for line in body.split(";"))):
            fields += re.findall(r"\b(\w+)\s*(?:\[\d+\]\s*)?(?:,|$)", line)
        self.structs[name] = fields
        return ""


def probe(header: Header) -> Tuple[Dict[str, int], Dict[str, Dict[str, Tuple[int, int]]]]:
    """The values of the constants, and the offset and size of each struct field ("" is the complete
    struct).
    """
    lines = ["#include <stdio.h>", "#include <stddef.h>", '#include "wherry.h"', "int main(void) {"]
    for constant in (name for names in header.enums.values() for name in names):
        lines.append(f'  printf("%s %lld\\n", "{constant}", (long long){constant});')
    for name, fields in header.structs.items():
        lines.append(f'  printf("{name}. 0 %zu\\n", sizeof({name}));')
        for field in fields:
            place = f"offsetof({name}, {field}), sizeof((({name} *)0)->{field})"
            lines.append(f'  printf("{name}.{field} %zu %zu\\n", {place});')
    lines += ["  return 0;", "}"]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "probe")
        include = "-I" + os.path.dirname(HEADER)
        output("cc", "-std=c99", "-x", "c", include, "-o", program, "-", text="\n".join(lines))
        told = output(program)
    constants: Dict[str, int] = {}
    structs: Dict[str, Dict[str, Tuple[int, int]]] = {name: {} for name in header.structs}
    for line in told.splitlines():
        words = line.split()
        if "." in words[0]:
            name, field = words[0].split(".")
            structs[name][field] = (int(words[1]), int(words[2]))
        else:
            constants[words[0]] = int(words[1])
    return constants, structs


def exports(library: str, only_ours: bool) -> Set[str]:
    """The names that a library exports, with their kind unless it is a function."""
    names = set()
    for line in output("nm", "-D", "--defined-only", library).splitlines():
        _, kind, name = line.split()[-3:]
        name = name.split("@")[0]
        if name.startswith("wherry_") or not only_ours:
            names.add(name if kind == FUNCTION else f"{name} ({kind})")
    return names


class Contract:
    """Collects the differences."""

    def __init__(self) -> None:
        self.faults: List[str] = []
        self.compared = 0

    def equal(self, what: str, one: Any, other: Any) -> None:
        self.compared += 1
        if one != other:
            self.faults.append(f"{what}: {one} and {other}")

    def same_names(self, one_title: str, one: Set[str], other_title: str, other: Set[str]) -> None:
        self.compared += len(one | other)
        for name in sorted(one - other):
            self.faults.append(f"{name} is in {one_title}, not in {other_title}")
        for name in sorted(other - one):
            self.faults.append(f"{name} is in {other_title}, not in {one_title}")

    def library(self, path: str) -> None:
        """The library needs only standard libraries, has its soname, and stays loaded."""
        text = output("readelf", "-d", "-W", path)
        for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
            self.compared += 1
            if not NEEDED.match(needed):
                self.faults.append(f"{path} needs {needed}")
        self.equal("soname", re.findall(r"\(SONAME\).*\[(.*)\]", text), [SONAME])
        self.equal("nodelete", "NODELETE" in text, True)
        self.equal("run path", re.findall(r"\((?:RPATH|RUNPATH)\)", text), [])

    def python(self, header: Header) -> None:
        """The binding's declarations, numbers, and struct layouts."""
        sys.path.insert(0, BINDING)
        library = importlib.import_module("wherry._native.library")
        prototypes = importlib.import_module("wherry._native.prototypes")
        codes = importlib.import_module("wherry._native.codes")
        memory = importlib.import_module("wherry._native.memory")
        constants, structs = probe(header)

        declared = re.sub(r"//.*", "", prototypes.DECLARATIONS)
        ours = {name: library.declaration(name) for name in re.findall(r"(\w+)\(", declared)}
        self.same_names("the header", set(header.functions), "the Python prototypes", set(ours))
        for name in sorted(set(ours) & set(header.functions)):
            self.equal(name, header.functions[name], ours[name])

        for name, value in vars(codes).items():
            if re.fullmatch(r"[A-Z][A-Z0-9_]*", name) and isinstance(value, int):
                self.equal(f"codes.{name}", constants.get(f"WHERRY_{name}"), value)
        for table, prefix in (
            (codes.STATES, "WHERRY_STATE_"),
            (codes.KINDS, "WHERRY_TRANSFER_"),
            (codes.LOG_EVENTS, "WHERRY_LOG_EVENT_"),
        ):
            known = {n[len(prefix) :].lower(): v for n, v in constants.items() if n.startswith(prefix)}
            self.equal(prefix, known, {word: number for number, word in table.items()})

        for name, layout in vars(memory).items():
            if isinstance(layout, struct.Struct):
                self._layout(name, layout, structs)

    def reasons(self) -> None:
        """The reasons that the binding raises itself are in the table of docs/errors.md."""
        with open(os.path.join(ROOT, "docs", "errors.md"), encoding="utf-8") as file:
            table = set(re.findall(r"^\| `(\w+)` \|", file.read(), flags=re.M))
        package = os.path.join(BINDING, "wherry")
        found: Dict[str, str] = {}
        for path in sorted(pathlib.Path(package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for reason, line in given_reasons(tree):
                found[reason] = f"{path.relative_to(package)}:{line}"
        self.equal("reasons of the binding", len(found) > 0, True)
        self.compared += len(found)
        for reason, place in found.items():
            if reason not in table:
                self.faults.append(f"the reason {reason} of {place} is not in docs/errors.md")

    def _layout(self, name: str, layout: struct.Struct, structs: Dict[str, Any]) -> None:
        fields = dict(structs.get("wherry_" + PARTS.get(name, name).lower(), {}))
        whole = fields.pop("", None)
        self.equal(f"size of {name}", whole and whole[1], layout.size)
        offset, places = 0, []
        order = layout.format[0]
        for count, letter in re.findall(r"(\d*)([a-zA-Z])", layout.format):
            # "32s" is one field: an array of 32 characters.
            unit = count + letter if letter == "s" else letter
            for _ in range(1 if letter == "s" else int(count or 1)):
                size = struct.calcsize(order + unit)
                if letter != "x":
                    places.append((offset, size))
                offset += size
        known = [place for place in fields.values() if name not in PARTS or place in places]
        self.equal(f"fields of {name}", known, places)


def given_reasons(tree: ast.AST) -> List[Tuple[str, int]]:
    """The words passed as reasons to errors and `text`, with their lines."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id == "ItemError" or not node.func.id.endswith("Error") and node.func.id not in ("text", "kind"):
            continue
        said = node.args[1:2] + [word.value for word in node.keywords if word.arg == "reason"]
        for given in said:
            for part in ast.walk(given):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value:
                    found.append((part.value, part.lineno))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="header = exports = Python prototypes")
    parser.add_argument("--cmake", required=True, metavar="LIBWHERRY", help="built by CMake")
    parser.add_argument("--swiftpm", metavar="LIBWHERRY", help="built by SwiftPM")
    options = parser.parse_args()

    contract = Contract()
    header = Header(HEADER)
    functions = set(header.functions)
    contract.equal("functions in the header", len(functions) > 0, True)
    contract.same_names("the header", functions, "the CMake library", exports(options.cmake, False))
    contract.library(options.cmake)
    if options.swiftpm:
        names = exports(options.swiftpm, True)
        contract.same_names("the header", functions, "the SwiftPM library", names)
    if os.path.exists(os.path.join(BINDING, "wherry", "_native")):
        contract.python(header)
        contract.reasons()
    for fault in contract.faults:
        print(fault)
    print(f"{len(functions)} functions, {contract.compared} comparisons, {len(contract.faults)} faults")
    return 1 if contract.faults else 0


if __name__ == "__main__":
    sys.exit(main())
