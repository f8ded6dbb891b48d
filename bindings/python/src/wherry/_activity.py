# Wherry: whether a client is at work
# SPDX-License-Identifier: Apache-2.0
"""When an indicator of a client's activity is to be shown and hidden."""

from __future__ import annotations

import weakref

from . import _codes as codes
from ._bridge import check, lib
from ._errors import ArgumentError
from ._reader import ClientReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

    from ._observed import Observed


class ActivityReader(ClientReader[int]):
    """``for count in client.activity()``: how many transfers are under way when an indicator is to
    be shown, and 0 when it is to be hidden. Also for ``async for``; ends with the client.
    """

    def __init__(self, client: Observed, show_after: float, hide_after: float) -> None:
        super().__init__()
        try:
            check(
                lib.wherry_client_set_activity(
                    client._live(), self._queue.handle, _delay(show_after), _delay(hide_after), None
                )
            )
        except BaseException:
            self.close()
            raise
        client._end_activity()
        client._activity = weakref.ref(self)

    def _told(self, kind: int, record: Tuple[int, ...]) -> Optional[int]:
        return record[6] if kind == codes.EVENT_ACTIVITY else None


def _delay(seconds: float) -> int:
    if not 0 <= seconds <= 9e12:
        raise ArgumentError(f"a delay of {seconds} s is not possible", "bad_value")
    return round(seconds * 1000)
