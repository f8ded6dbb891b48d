# Wherry: activity of a client
# SPDX-License-Identifier: Apache-2.0
"""`ActivityReader`: events for showing and hiding an activity indicator."""

from __future__ import annotations

from .._native.memory import DETAIL
import weakref

from .._core.calls import check
from .._errors import ArgumentError
from .._native import codes
from .._native.library import lib
from .._waiting.reader import ClientReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

    from .._client.monitoring import ClientMonitoring


class ActivityReader(ClientReader[int]):
    """Iterator over the number of running transfers: ``for count in client.activity()``.

    Yields the number of running transfers when the program should show an activity indicator, and 0
    when it should hide the indicator. Also works with ``async for``. Ends when the client is closed.
    """

    def __init__(self, client: ClientMonitoring, show_after: float, hide_after: float) -> None:
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

    def _item(self, kind: int, record: Tuple[int, ...]) -> Optional[int]:
        return record[DETAIL] if kind == codes.EVENT_ACTIVITY else None


def _delay(seconds: float) -> int:
    if not 0 <= seconds <= 9e12:
        raise ArgumentError(f"a delay must be 0 to 9e12 seconds, not {seconds}", "bad_value")
    return round(seconds * 1000)
