# Wherry: the logic that both clients share
# SPDX-License-Identifier: Apache-2.0
"""The logic that blocking and asyncio clients share. It never waits for events."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FunctionType
    from typing import Any, Generic
else:

    class Generic:
        """Replaces `typing.Generic`: importing typing takes longer than importing this package."""

        def __class_getitem__(cls, _: object) -> type:
            return cls


class Deferred:
    """A module that is imported when one of its names is first used.

    An import inside a function costs as much as a call of the library, so functions that every request
    calls use this class. ``load`` is a function at the top of a module that imports and returns the
    deferred module. The first use replaces the function's name in its module, so that later uses cost
    nothing.
    """

    def __init__(self, load: FunctionType) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        load = self._load
        module = load.__globals__[load.__name__] = load()
        return getattr(module, name)


__all__ = ["Deferred", "Generic"]
