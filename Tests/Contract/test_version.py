#!/usr/bin/env python3
# Wherry: tests of scripts/version
# SPDX-License-Identifier: Apache-2.0
"""Runs scripts/version in a copy of the files that contain the version."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile
import unittest

from contract import ROOT

FOLDERS = (
    "Sources/WherryRequests/Settings",
    "bindings/python/src/wherry",
    "docs/man",
    "Examples/builds",
    "Tests/C/outside",
)
FILES = ("CMakeLists.txt", "include/wherry.h", "docs/abi.md", "scripts/version")
CHANGES = "# Changelog\n\n## Unreleased\n\n* **News**\n\n## 0.0.1 (2026-01-01)\n\n* **Old news**\n"


class VersionTests(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        for name in FOLDERS:
            shutil.copytree(pathlib.Path(ROOT, name), self.root / name)
        for name in FILES:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(pathlib.Path(ROOT, name), self.root / name)
        self.changes = self.root / "CHANGELOG.md"
        self.changes.write_text(CHANGES)

    def run_script(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.root / "scripts/version"), *arguments]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")

    def fails(self, text: str, *arguments: str) -> None:
        done = self.run_script(*arguments)
        self.assertEqual(done.returncode, 1)
        self.assertIn(text, done.stderr)

    def test_a_release_changes_every_place(self) -> None:
        self.assertEqual(self.run_script().returncode, 0)
        done = self.run_script("--release", "123.45.6", "2026-11-30")
        self.assertEqual((done.returncode, done.stdout), (0, "123.45.6\n"))
        self.assertEqual(self.run_script().stdout, "123.45.6\n")
        self.assertIn(
            '"2026-11-30" "Wherry 123.45.6" "User Commands"', (self.root / "docs/man/wherry-get.1").read_text()
        )
        self.assertIn(
            "versionNumber: Int32 = 123045006",
            (self.root / "Sources/WherryRequests/Settings/ClientSettings.swift").read_text(),
        )
        self.assertIn("find_package(wherry 123.45 ", (self.root / "Examples/builds/cmake/CMakeLists.txt").read_text())
        self.assertEqual(
            self.changes.read_text(),
            CHANGES.replace("## Unreleased\n", "## Unreleased\n\n## 123.45.6 (2026-11-30)\n"),
        )

    def test_a_different_version_is_named(self) -> None:
        module = self.root / "bindings/python/src/wherry/__init__.py"
        module.write_text(module.read_text().replace('__version__ = "', '__version__ = "9'))
        self.fails("bindings/python/src/wherry/__init__.py has 9")

    def test_a_place_without_a_version_is_named(self) -> None:
        (self.root / "docs/abi.md").write_text("# Binary compatibility\n")
        self.fails("docs/abi.md has no version. Correct the file, or PLACES in scripts/version.")

    def test_wrong_versions_are_refused(self) -> None:
        for version in ("1.2", "01.2.3", "1.2.3-beta", "1.2.1000", "v1.2.3"):
            self.fails("is not a version", "--release", version, "2026-11-30")
        self.fails("0.0.0 is older than ", "--release", "0.0.0", "2026-11-30")
        self.changes.write_text(CHANGES.replace("0.0.1", "200.0.0"))
        self.fails("200.0.0 is not newer than 200.0.0", "--release", "200.0.0", "2026-11-30")
        self.assertEqual(self.changes.read_text(), CHANGES.replace("0.0.1", "200.0.0"))

    def test_a_release_needs_entries_in_the_changelog(self) -> None:
        for text in (CHANGES.replace("* **News**\n", ""), CHANGES.replace("Unreleased", "Planned")):
            self.changes.write_text(text)
            self.fails("CHANGELOG.md has no entries", "--release", "123.45.6", "2026-11-30")


if __name__ == "__main__":
    unittest.main()
