# Wherry: the logic that both clients share
# SPDX-License-Identifier: Apache-2.0
"""The logic that blocking and asyncio clients share. It never waits for events."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Generic
else:

    class Generic:
        """Replaces `typing.Generic`: importing typing takes longer than importing this package."""

        def __class_getitem__(cls, _: object) -> type:
            return cls


class Deferred:
    """A module that is imported when one of its names is first used.

    An import inside a function costs as much as a call of the library, so functions that every request
    calls use this class. ``load`` imports and returns the module.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._load(), name)
        setattr(self, name, value)  # The next use is a plain attribute.
        return value


__all__ = ["Deferred", "Generic"]
