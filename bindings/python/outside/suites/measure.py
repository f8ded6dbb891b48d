# Wherry: counts how many tests of another library Wherry passes
# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin of scripts/test-suites.

A table (tests/requests.txt, tests/httpx.txt) lists the tests that do not apply, each with a reason
from reasons.txt, and the tests that apply but fail, each with the difference that a user sees. A line
is ``REASON | TEST``, where TEST is a file, a test with all of its parameters, or one test. ``*[X]``
stands for every test with the parameter X.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any, Dict, List, Tuple

FOLDER = os.path.dirname(os.path.abspath(__file__))
#: The least share of applicable tests that must pass.
GOAL = 0.9


def read_table(suite: str) -> List[Tuple[str, str]]:
    """The lines of a suite's table: reason and test."""
    lines = []
    with open(os.path.join(FOLDER, "tests", f"{suite}.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                reason, _, test = line.rstrip("\n").partition(" | ")
                lines.append((reason.strip(), test))
    return lines


def read_reasons() -> Dict[str, str]:
    """What each reason means."""
    with open(os.path.join(FOLDER, "reasons.txt"), encoding="utf-8") as file:
        pairs = (line.rstrip("\n").split(" | ", 1) for line in file if " | " in line)
        return {name.strip(): meaning for name, meaning in pairs}


def covers(pattern: str, test: str) -> bool:
    """Whether a line of a table stands for a test."""
    if pattern.startswith("*["):
        words = test.rpartition("[")[2].rstrip("]").split("-") if "[" in test else []
        return pattern[2:-1] in words
    return test == pattern or test.startswith((pattern + "[", pattern + "::"))


class Measure:
    """Leaves out what does not apply, and counts the rest."""

    def __init__(self, suite: str) -> None:
        self.suite = suite
        self.table = read_table(suite)
        reasons = read_reasons()
        self.excluded = [line for line in self.table if line[0] in reasons]
        self.different = [line for line in self.table if line[0] not in reasons]
        self.counts: Counter[str] = Counter()
        #: How many tests each line of the table covers.
        self.covered: Counter[str] = Counter()
        self.failed: List[str] = []

    def pytest_collection_modifyitems(self, config: Any, items: List[Any]) -> None:
        kept, left_out = [], []
        for item in items:
            line = next((line for line in self.excluded if covers(line[1], item.nodeid)), None)
            if line is None:
                kept.append(item)
            else:
                self.covered[line[1]] += 1
                left_out.append(item)
        items[:] = kept
        self.counts["excluded"] = len(left_out)
        config.hook.pytest_deselected(items=left_out)
        if os.environ.get("WHERRY_SUITES_PART"):
            return
        stale = [line[1] for line in self.excluded if not self.covered[line[1]]]
        if stale:
            import pytest

            raise pytest.UsageError(f"tests/{self.suite}.txt names unknown tests: {', '.join(stale)}")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            if report.nodeid not in self.failed:
                self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.counts["passed"] += 1
        elif report.skipped:
            self.counts["skipped"] += 1

    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        applicable = self.counts["passed"] + len(self.failed)
        if exitstatus in (0, 1):
            enough = applicable and self.counts["passed"] >= GOAL * applicable
            session.exitstatus = 0 if enough else 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write = terminalreporter.write_line
        for test in self.failed:
            line = next((line for line in self.different if covers(line[1], test)), None)
            write(f"FAILED {test}: {'unexpected' if line is None else line[0]}")
        for _, test in self.different:
            if not any(covers(test, failed) for failed in self.failed):
                write(f"tests/{self.suite}.txt says that {test} fails, but it passes")
        passed = self.counts["passed"]
        applicable = passed + len(self.failed)
        share = 100 * passed / applicable if applicable else 0
        write(
            f"{self.suite}: applicable {applicable}, passed {passed} ({share:.1f} %), "
            f"not applicable {self.counts['excluded']}, skipped {self.counts['skipped']}"
        )


def pytest_configure(config: Any) -> None:
    config.pluginmanager.register(Measure(os.environ["WHERRY_SUITE"]))


def page() -> str:
    """The page docs/guides/test-suites.md."""
    reasons = read_reasons()
    with open(os.path.join(FOLDER, "page.md"), encoding="utf-8") as file:
        parts = [file.read().rstrip("\n")]
    for suite in ("requests", "httpx"):
        table = read_table(suite)
        parts.append(f"## {suite}: tests that do not apply")
        for reason, meaning in reasons.items():
            tests = [test for name, test in table if name == reason]
            if tests:
                parts.append(f"**{reason}**: {meaning}\n")
                parts[-1] += "".join(f"\n* `{test}`" for test in tests)
        parts.append(f"## {suite}: tests that apply and fail")
        rows = ["| test | difference |", "|---|---|"]
        for name, test in table:
            if name not in reasons:
                escaped = test.replace("|", "\\|")
                rows.append(f"| `{escaped}` | {name} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
