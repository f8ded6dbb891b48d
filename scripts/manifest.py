# Wherry: reads the targets of Package.swift
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[1]
TEXT = (ROOT / "Package.swift").read_text()
START = "    targets: [\n"


@dataclass
class Target:
    """A target: its entry in Package.swift, without the comma, and the targets that it depends on."""

    entry: str
    dependencies: set[str]


def targets() -> dict[str, Target]:
    """The targets of the package by name, including tests."""
    text = re.sub(r"^ *//.*$", "", TEXT.split(START, 1)[1], flags=re.MULTILINE)
    found = {}
    for start in re.finditer(r"^        \.\w+\(", text, re.MULTILINE):
        depth, end = 1, start.end()
        while depth > 0:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        entry = text[start.start() : end]
        name = re.search(r'name: "([\w-]+)"', entry)
        listed = re.search(r"dependencies: \[(.*?)\]", re.sub(r"\.product\([^)]*\)", "", entry), re.DOTALL)
        if name:
            found[name[1]] = Target(entry, set(re.findall(r'"([\w-]+)"', listed[1])) if listed else set())
    return found
