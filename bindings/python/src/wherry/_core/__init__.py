# Wherry: the logic that both clients share
# SPDX-License-Identifier: Apache-2.0
"""The logic that blocking and asyncio clients share. It never waits for events."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Generic
else:

    class Generic:
        """Replaces `typing.Generic`: importing typing takes longer than importing this package."""

        def __class_getitem__(cls, _: object) -> type:
            return cls


__all__ = ["Generic"]
