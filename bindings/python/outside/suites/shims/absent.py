# Wherry: names of the other library that stand for nothing in Wherry
# SPDX-License-Identifier: Apache-2.0
"""The test files import names that Wherry has no counterpart for. Such a name is a class that can be
imported, subclassed, and created while pytest collects tests. A test that uses it fails."""

from __future__ import annotations

import os
from typing import Any


class NotInWherry(BaseException):
    """A test used a name that Wherry has no counterpart for."""


class Meta(type):
    """Lets a missing class have attributes while pytest collects."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.__name__}.{name}")


def absent(name: str) -> Any:
    """A class that stands for a name that Wherry has no counterpart for."""

    def __init__(self: Any, *_: Any, **__: Any) -> None:
        if "PYTEST_CURRENT_TEST" in os.environ:
            raise NotInWherry(name)

    def __getattr__(self: Any, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise NotInWherry(f"{name}.{attribute}")

    return Meta(name, (), {"__init__": __init__, "__getattr__": __getattr__})


def module(known: dict[str, Any], library: str) -> Any:
    """A module's ``__getattr__``: names that the shim does not map are absent."""

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = known[name] = absent(f"{library}.{name}")
        return found

    return find
