# Wherry: activity of a client
# SPDX-License-Identifier: Apache-2.0
"""`ActivityReader`: events for showing and hiding an activity indicator."""

from __future__ import annotations

import weakref

from .._core.calls import check
from .._core.values import milliseconds
from .._native import codes
from .._native.library import lib
from .._native.memory import DETAIL
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
                    client._live(),
                    self._queue.handle,
                    milliseconds(show_after, "show_after="),
                    milliseconds(hide_after, "hide_after="),
                    None,
                )
            )
        except BaseException:
            self.close()
            raise
        client._end_activity()
        client._activity = weakref.ref(self)

    def _item(self, kind: int, record: Tuple[int, ...]) -> Optional[int]:
        return record[DETAIL] if kind == codes.EVENT_ACTIVITY else None
