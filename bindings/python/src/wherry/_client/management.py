# Wherry: management of a client's transfers
# SPDX-License-Identifier: Apache-2.0
"""The part of a client that lists, counts, pauses, and cancels its transfers."""

from __future__ import annotations

from .._core.calls import check, create, read_progress, transfer_rows
from .._core.values import match
from .._errors import ArgumentError, brief, without_query
from .._native.library import lib
from .._native.memory import Cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Mapping, Optional

    from .._core.exchange.draft import Draft
    from .._core.keywords import Which
    from .._core.progress import Progress, TransferInfo


class TransferManagement:
    """See `BaseClient`."""

    if TYPE_CHECKING:

        def _live(self) -> int:
            """See `BaseClient`."""

        def _draft(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Draft:
            """See `ClientRequests`."""

    def identifier(self, method: Optional[str], url: str, **options: Any) -> str:
        """Returns the identifier of a request, for `cancel`, `count`, and similar methods."""
        draft = self._draft(method, url, options)
        try:
            name = lib.wherry_request_identifier(draft.handle, self._live())
            if name is None:
                raise ArgumentError(f"{brief(without_query(url))} has no identifier", "bad_url")
            return str(name.decode())
        finally:
            draft.free()

    def transfers(self, **which: Which) -> List[TransferInfo]:
        """Returns the running transfers: all, or those that match one keyword.

        The keywords are ``url=``, ``tag=``, ``identifier=``, and ``path=``. ``url=`` may be a list.
        """
        from .._core.progress import TransferInfo

        listing = create(lib.wherry_client_list, self._live(), *match(which))
        return [TransferInfo(row) for row in transfer_rows(listing)]

    def count(self, **which: Which) -> int:
        """Returns the number of matching transfers. Takes the same keywords as `transfers`."""
        return int(lib.wherry_client_count(self._live(), *match(which)))

    def cancel(self, **which: Which) -> int:
        """Cancels matching transfers, and returns their number.

        Downloads keep their partial files.
        """
        return self._call_matching(lib.wherry_client_cancel, which)

    def pause(self, **which: Which) -> int:
        """Pauses matching transfers, and returns their number."""
        return self._call_matching(lib.wherry_client_pause, which)

    def resume(self, **which: Which) -> int:
        """Resumes matching paused transfers, and returns their number."""
        return self._call_matching(lib.wherry_client_resume, which)

    def discard(self, **which: Which) -> int:
        """Cancels matching transfers, and returns their number.

        Also deletes the partial files of downloads, including those of earlier runs.
        """
        return self._call_matching(lib.wherry_client_discard, which)

    def progress(self, **which: Which) -> Progress:
        """Returns the combined progress of matching transfers."""
        from .._core.progress import Progress

        found = match(which)
        return Progress(read_progress(lib.wherry_client_progress, self._live(), *found))

    def _call_matching(self, function: Any, which: Mapping[str, Which]) -> int:
        count = Cell()
        check(function(self._live(), *match(which), count.address))
        return count.take()
