#!/usr/bin/env python3
# Wherry: programs built for the last release must run with this library
# SPDX-License-Identifier: Apache-2.0
"""Compares the C interface with that of the last release, as docs/abi.md describes.

Tests/Contract/abi.py --library build/libwherry.so    compares, and runs a program built for the release
Tests/Contract/abi.py --header                        compares only the headers and the symbol versions, without a library
Tests/Contract/abi.py --record                        at a release: saves the current interface

The folder `released/0` contains the header and the symbol versions of the last release with the soname
libwherry.so.0. abidiff needs debug information of C, which a library written in Swift does not have. So it compares two
libraries whose functions are empty: one is compiled from the saved header, the other from the current one.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Dict, List, Set, Tuple

from contract import HEADER, ROOT, SONAME, Header

MAP = os.path.join(ROOT, "bindings", "c", "wherry.map")
RELEASED = os.path.join(ROOT, "Tests", "Contract", "released")
PROGRAM = os.path.join(ROOT, "Tests", "Contract", "program.c")
#: The prefix of functions that only the empty libraries have.
USES = "wherry_stub_uses_"
#: Bits of abidiff's exit status.
ABIDIFF_ERROR = 1 | 2


@dataclass
class Interface:
    """The C interface of a release or of the working tree."""

    header: str
    map: str
    soname: str = SONAME

    def parsed(self) -> Header:
        return Header(self.header)

    @property
    def version(self) -> Tuple[int, int, int]:
        text = pathlib.Path(self.header).read_text(encoding="utf-8")
        major, minor, patch = (
            int(number) for number in re.findall(r"^#define WHERRY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text, re.M)
        )
        return major, minor, patch

    def names(self) -> Set[str]:
        """Everything that a program can name: functions, types, constants, and the fields of structs."""
        header = self.parsed()
        constants = [name for names in header.enums.values() for name in names]
        fields = [f"{name}.{field}" for name, fields in header.structs.items() for field in fields]
        return {*header.functions, *header.enums, *header.structs, *constants, *fields}

    def build(self, folder: str, structs: Dict[str, List[str]]) -> str:
        """Compiles a library that has the interface, but whose functions do nothing. Its structs have no more fields than
        the given ones, because fields may be added at the end of a struct, whose first field is its size.
        """
        header = self.parsed()
        lines = ["#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>"]
        lines.append(
            re.sub(r"(?<=struct )(\w+) \{(.*?)\}", lambda found: shortened(found, structs), header.text, flags=re.S)
        )
        for declaration in header.functions.values():
            lines.append(f"{declaration} {{ __builtin_trap(); }}")
        # Many enumerations are the values of integers, so no function refers to them.
        for name in sorted({*header.enums, *header.structs}):
            lines.append(f"void {USES}{name}({name} *value) {{ (void)value; }}")
        os.makedirs(folder, exist_ok=True)
        library = os.path.join(folder, self.soname)
        command = ["cc", "-std=c11", "-g", "-O0", "-fPIC", "-shared", "-x", "c", "-", "-o", library]
        command += [f"-Wl,-soname,{self.soname}", f"-Wl,--version-script={self.map}"]
        subprocess.run(command, input="\n".join(lines), check=True, encoding="utf-8")
        return library


def shortened(found: re.Match[str], structs: Dict[str, List[str]]) -> str:
    """The definition of a struct without the fields after those in `structs`."""
    name, body = found.groups()
    kept: List[str] = []
    count = 0
    for field in body.split(";")[:-1]:
        if name not in structs or count < len(structs[name]):
            kept.append(field + ";")
        count += field.count(",") + 1
    return f"{name} {{{''.join(kept)}\n}}"


def versions(library: str) -> Dict[str, str]:
    """The functions that a library exports, with their symbol versions."""
    done = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, check=True, encoding="utf-8")
    found = {}
    for line in done.stdout.splitlines():
        name, _, version = line.split()[-1].partition("@")
        if line.split()[-2] != "A" and not name.startswith(USES):
            found[name] = version.lstrip("@")
    return found


def compare(old: Interface, new: Interface) -> List[str]:
    """Returns what would break programs that were built for the old interface, and additions in the wrong release."""
    if old.soname != new.soname:
        return []
    released = old.parsed()
    with tempfile.TemporaryDirectory() as folder:
        before = old.build(os.path.join(folder, "before"), released.structs)
        after = new.build(os.path.join(folder, "after"), released.structs)
        done = subprocess.run(["abidiff", before, after], stdout=subprocess.PIPE, encoding="utf-8")
        nodes_before, nodes = versions(before), versions(after)
    if done.returncode & ABIDIFF_ERROR:
        raise SystemExit(f"abi: abidiff failed:\n{done.stdout}")
    breaks = []
    summary = re.search(r"Functions changes summary: (\d+) Removed, (\d+) Changed", done.stdout)
    if done.returncode != 0 and (summary is None or summary.groups() != ("0", "0")):
        breaks.append(section(done.stdout) or done.stdout)
    # abidiff accepts new names for fields.
    gone = sorted(name for name in old.names() - new.names() if not re.search(r"\.reserved\d*$", name))
    breaks += [f"not in the header any more: {', '.join(gone)}"] if gone else []
    unreleased = ""
    if new.version == old.version:
        unreleased = f" If {text(old.version)} is not released yet, run Tests/Contract/abi.py --record."
    faults = []
    if breaks:
        faults.append(
            "\n".join(breaks)
            + f"\nPrograms written for {text(old.version)} would break. Undo the change, or change the "
            f"soname {old.soname} as docs/abi.md describes.{unreleased}"
        )
    added = sorted(new.names() - old.names())
    if added and new.version[:2] <= old.version[:2]:
        faults.append(
            f"{', '.join(added)}: new since {text(old.version)}. A patch release adds nothing: increase the minor "
            f"version.{unreleased}"
        )
    node = "WHERRY_{}.{}".format(*new.version)
    for name in sorted(nodes.keys() - nodes_before.keys()):
        if nodes[name] != node:
            faults.append(
                f"{name} is new since {text(old.version)}, but has the symbol version {nodes[name]}. "
                f"List it in {node} of bindings/c/wherry.map."
            )
    return faults


def section(report: str) -> str:
    """The part of abidiff's report about removed and changed functions."""
    parts = re.split(r"\n(?=\d+ (?:Removed|Added|function))", report)
    return "\n".join(part.rstrip() for part in parts[1:] if not re.match(r"\d+ Added", part))


def text(version: Tuple[int, int, int]) -> str:
    return ".".join(str(number) for number in version)


def current() -> Interface:
    return Interface(HEADER, MAP)


def release(soname: str = SONAME) -> Interface:
    """The last release with this soname."""
    folder = os.path.join(RELEASED, soname.rpartition(".")[2])
    return Interface(os.path.join(folder, "wherry.h"), os.path.join(folder, "wherry.map"), soname)


def record(new: Interface) -> None:
    """Saves an interface as that of the last release, without comments."""
    saved = release(new.soname)
    os.makedirs(os.path.dirname(saved.header), exist_ok=True)
    source = pathlib.Path(new.header).read_text(encoding="utf-8")
    lines = re.sub(r"/\*.*?\*/", "", source, flags=re.S).splitlines()
    title = f"/* Wherry: wherry.h of {text(new.version)} without comments, written by Tests/Contract/abi.py */"
    kept = [title, "/* SPDX-License-Identifier: Apache-2.0 */", *(line.rstrip() for line in lines if line.strip())]
    pathlib.Path(saved.header).write_text("\n".join(kept) + "\n", encoding="utf-8")
    shutil.copy(new.map, saved.map)


def run(old: Interface, library: str) -> List[str]:
    """Runs a program that was built for the old interface."""
    with tempfile.TemporaryDirectory() as folder:
        stub = old.build(os.path.join(folder, "build"), old.parsed().structs)
        program = os.path.join(folder, "program")
        include = "-I" + os.path.dirname(old.header)
        subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", include, PROGRAM, stub, "-o", program], check=True)
        os.makedirs(os.path.join(folder, "run"))
        os.symlink(os.path.realpath(library), os.path.join(folder, "run", old.soname))
        environment = {**os.environ, "LD_LIBRARY_PATH": os.path.join(folder, "run"), "HOME": folder}
        done = subprocess.run([program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0 and done.stdout == "":
        return []
    return [f"{done.stdout}A program built for {text(old.version)} ends with status {done.returncode}."]


def tested(old: Interface, new: Interface, library: str) -> List[str]:
    """Returns the faults of a library: a program built for the old interface fails, or the symbol versions are wrong."""
    faults = run(old, library) if os.path.exists(old.header) else []
    with tempfile.TemporaryDirectory() as folder:
        expected = versions(new.build(folder, {}))
    found = versions(library)
    wrong = sorted(name for name in expected.keys() & found.keys() if expected[name] != found[name])
    if wrong:
        faults.append(
            f"{library} was not linked with bindings/c/wherry.map: {wrong[0]} has the symbol version "
            f"{found[wrong[0]] or 'none'}, not {expected[wrong[0]]}, and so on for {len(wrong)} functions."
        )
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description="the C interface of the last release still works")
    parser.add_argument("--library", metavar="LIBWHERRY", help="built by CMake")
    parser.add_argument("--header", action="store_true", help="compare without a library")
    parser.add_argument("--record", action="store_true", help="save the current interface as that of the last release")
    options = parser.parse_args()
    if options.record + options.header + bool(options.library) != 1:
        parser.error("give one of --library, --header, and --record")
    new = current()
    if options.record:
        record(new)
        return 0
    old = release()
    faults: List[str] = []
    if not os.path.exists(old.header):
        print(f"{new.soname} is new: there is no release to compare with")
    else:
        faults = compare(old, new)
    if options.library:
        faults += tested(old, new, options.library)
    for fault in faults:
        print(fault)
    if os.path.exists(old.header):
        print(f"compared with {text(old.version)}: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
