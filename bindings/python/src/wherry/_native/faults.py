# Wherry: why the shared library cannot be loaded
# SPDX-License-Identifier: Apache-2.0
"""Explains in one sentence what is wrong with a library file, and what to do."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

#: The Debian packages of the libraries that Wherry needs.
_PACKAGES = {
    "libcurl.so.4": "libcurl4",
    "libjpeg.so.62": "libjpeg62-turbo",
    "libpng16.so.16": "libpng16-16",
    "libz.so.1": "zlib1g",
    "libgcc_s.so.1": "libgcc-s1",
    "libstdc++.so.6": "libstdc++6",
}
_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}


def missing(error: OSError) -> Optional[str]:
    """Returns the name of the library that the system's loader could not find."""
    found = re.match(r"([^:/]+\.so[^:]*): cannot open shared object file", str(error))
    return None if found is None else found[1]


def file_fault(path: str) -> Optional[str]:
    """Returns why the file cannot be loaded, or None. The system's loader reports a file for another
    machine as missing."""
    try:
        with open("/proc/self/exe", "rb") as own, open(path, "rb") as file:
            head, expected = file.read(64), own.read(64)
    except OSError as error:
        return error.strerror
    if head[:4] != b"\x7fELF":
        return "it is not a shared library" if head else "it is empty"
    if head[4:6] + head[18:20] == expected[4:6] + expected[18:20]:
        return None
    machines = [_MACHINES.get(_number(start, 18, 2), "another machine") for start in (head, expected)]
    if machines[0] == machines[1]:
        return "it is for another word size or byte order"
    return f"it is for {machines[0]}, and this Python is for {machines[1]}"


def _number(head: bytes, offset: int, count: int) -> int:
    return int.from_bytes(head[offset : offset + count], "little")


def loading_fault(error: OSError, remedy: str) -> str:
    """Returns the reason and the remedy for an error of the system's loader."""
    text, name = str(error), missing(error)
    if name is not None:
        command = f", for example with: apt install {_PACKAGES[name]}" if name in _PACKAGES else "."
        return f"{name} is missing. Install it{command}"
    if "undefined symbol: curl_" in text or "CURL_" in text:
        return "its libcurl is too old. Install version 7.88 or newer, or check LD_LIBRARY_PATH."
    needed = re.search(r"version `GLIBC_([\d.]+)' not found", text)
    if needed is not None:
        return f"it needs glibc {needed[1]} or newer. Use a newer system, such as Debian 12."
    return f"{text}. {remedy}"
