# Wherry: plans of bulk jobs
# SPDX-License-Identifier: Apache-2.0
"""Reads a plan, a TOML file with the arguments of `run`."""

from __future__ import annotations

import inspect
import os
from typing import Any, Dict, Mapping

from .._errors import ArgumentError, FileError
from ._outputs import OUTPUTS
from ._run import run
from ._steps import STEPS

#: The keys of a plan that are arguments of `run`.
_KEYS = [
    name for name, parameter in inspect.signature(run).parameters.items()
    if name not in ("steps", "output", "progress")
]  # fmt: skip


def read_plan(path: str) -> Dict[str, Any]:
    """Returns the keyword arguments of `run`. Relative paths in the plan are relative to its folder."""
    try:
        import tomllib
    except ImportError:  # before Python 3.11
        try:
            import tomli as tomllib  # type: ignore[no-redef, import-not-found, unused-ignore]
        except ImportError:
            raise ArgumentError("plans need tomli with this version of Python. Run: pip install tomli",
                                "bad_argument") from None  # fmt: skip
    try:
        with open(path, "rb") as file:
            plan = tomllib.load(file)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}. Check the path of the plan.", "no_file") from None
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError(f"{path} is not valid TOML: {error}", "bad_value") from None
    try:
        return _arguments(plan, os.path.dirname(os.path.abspath(path)))
    except (ArgumentError, TypeError) as error:
        raise ArgumentError(f"{path}: {error}", "bad_value") from None


def _arguments(plan: Dict[str, Any], folder: str) -> Dict[str, Any]:
    for name in ("source", "output", "steps"):
        if name not in plan:
            raise ArgumentError(f"the plan has no {name}", "bad_value")
    steps, output = plan.pop("steps"), plan.pop("output")
    unknown = [name for name in plan if name not in _KEYS]
    if unknown:
        raise ArgumentError(
            f"unknown key {unknown[0]!r}; possible: {', '.join((*_KEYS, 'steps', 'output'))}", "bad_value"
        )
    if not isinstance(steps, list) or not isinstance(output, dict):
        raise ArgumentError("write each step as [[steps]], and the output as [output]", "bad_value")
    if not isinstance(plan["source"], str):
        raise ArgumentError("source must be a path", "bad_value")
    plan["source"] = os.path.join(folder, plan["source"])
    made = _made(output, OUTPUTS, "output")
    object.__setattr__(made, "path", os.path.join(folder, made.path))
    return {**plan, "output": made, "steps": [_made(step, STEPS, "step") for step in steps]}


def _made(table: Mapping[str, Any], classes: Mapping[str, Any], what: str) -> Any:
    """Creates a step or an output from its table; `type` is the name of the class."""
    values = dict(table)
    name = values.pop("type", None)
    if name not in classes:
        raise ArgumentError(f"the type of the {what} must be one of {', '.join(classes)}, not {name!r}", "bad_value")
    try:
        return classes[name](
            **{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
        )
    except TypeError as error:
        names = list(inspect.signature(classes[name]).parameters)
        wrong = [key for key in values if key not in names]
        if wrong:
            raise ArgumentError(f"{name} has no key {wrong[0]!r}; possible: {', '.join(names)}", "bad_value") from None
        raise ArgumentError(f"{name}: {error}", "bad_value") from None
