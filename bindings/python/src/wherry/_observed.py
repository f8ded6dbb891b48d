# Wherry: what can be seen of a client from outside
# SPDX-License-Identifier: Apache-2.0
"""The part of a client that tells what happens: log, counters, and curl's command line."""

from __future__ import annotations

import os

from ._bridge import COUNTERS, check, copy_text, filled, lib, text
from ._request_values import path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    import weakref
    from typing import Any, Dict, Mapping, Optional, Union

    from typing_extensions import Unpack

    from ._activity import ActivityReader
    from ._keywords import RequestOptions
    from ._logging import Counters, LogBridge, LogReader
    from ._request import Draft
    from ._sent import SentRequest


class Observed:
    """See `BaseClient`."""

    #: Who reads its log.
    _log: Optional[weakref.ref[LogReader]] = None
    #: Who shows whether it is at work.
    _activity: Optional[weakref.ref[ActivityReader]] = None
    #: The arguments of the last `set_log_file`, if it has a path.
    _log_file: Optional[Mapping[str, Any]] = None
    #: Who hands the log to `logging`.
    _bridged: Optional[weakref.ref[LogBridge]] = None

    _settings: Dict[str, Any]

    def _live(self) -> int:
        raise NotImplementedError

    def _draft(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Draft:
        raise NotImplementedError

    def log(self, level: str = "info") -> LogReader:
        """What happens to all its transfers from now on, as records to iterate over.

        ``level`` is "error", "warning", "info" or "debug". A client has one log at a time: a new one
        ends the one before.
        """
        from ._logging import LogReader, level_of

        return LogReader(self, level_of(level))

    def activity(self, show_after: float = 1.0, hide_after: float = 0.17) -> ActivityReader:
        """When an indicator of its activity is to be shown and hidden, to iterate over.

        Gives how many transfers are under way, ``show_after`` seconds after the first began and if
        there are some then; and 0, ``hide_after`` seconds after the last ended or was paused. A
        client has one such reader at a time: a new one ends the one before.
        """
        from ._activity import ActivityReader

        return ActivityReader(self, show_after, hide_after)

    def log_to(
        self, logger: Union[logging.Logger, str] = "wherry", level: Optional[str] = None
    ) -> LogBridge:
        """Hands the log to `logging` until the answer or the client is closed.

        ``level`` is by default what the logger takes now. The records come on a thread of their own
        and have ours as ``record.wherry``.
        """
        import logging

        from ._logging import LogBridge

        found = logging.getLogger(logger) if isinstance(logger, str) else logger
        return LogBridge(self, found, level)

    def set_log_file(
        self,
        path: Union[str, os.PathLike[str], None],
        level: str = "debug",
        *,
        json: bool = False,
        max_bytes: int = 10 << 20,
    ) -> None:
        """Appends what happens to a file, 0600; None ends it, and then all is written.

        With ``json`` a line is an object. At ``max_bytes`` (0: never) the file becomes PATH.1.
        """
        from ._logging import level_of

        sent = None if path is None else path_text(os.fspath(path))
        check(
            lib.wherry_client_set_log_file(self._live(), level_of(level), sent, json, max_bytes)
        )
        self._log_file = None if path is None else {
            "path": os.path.abspath(os.fsdecode(path)), "level": level, "json": json, "max_bytes": max_bytes,
        }  # fmt: skip

    def add_secret_name(self, name: str) -> None:
        """One more header field, parameter or JSON member whose value logs leave out."""
        check(lib.wherry_client_add_secret_name(self._live(), text(name)))
        self._settings["secret_names"] = (*self._settings.get("secret_names", ()), name)

    def counters(self, host: Optional[str] = None) -> Counters:
        """What it has done since it was made, with all hosts or with one, whatever its port."""
        from ._logging import Counters

        named = None if host is None else text(host)
        return Counters(filled(COUNTERS, lib.wherry_client_counters, self._live(), named))

    def build_request(
        self, method: Optional[str], url: str, **options: Unpack[RequestOptions]
    ) -> SentRequest:
        """The request that these arguments mean, to be edited, and sent by `send`.

        It has the final URL, the headers of the client, and the body, unless that is streamed.
        """
        from ._flows import Built

        return Built(self, method, url, options).request  # type: ignore[arg-type]

    def curl_command(
        self,
        method: Optional[str],
        url: str,
        *,
        secrets: bool = False,
        **options: Unpack[RequestOptions],
    ) -> str:
        """The command line of curl that sends such a request; secrets are *** unless asked for."""
        draft = self._draft(method, url, options)
        try:
            return copy_text(
                lib.wherry_client_copy_curl_command, self._live(), draft.handle, secrets
            )
        finally:
            draft.free()

    def _log_bridge(self) -> Optional[LogBridge]:
        """Who hands the log to `logging`, until that is closed."""
        bridge = None if self._bridged is None else self._bridged()
        return None if bridge is None or bridge.is_closed else bridge

    def _end_readers(self) -> None:
        """The client is closed: lets all who read what it tells come to the end."""
        self._end_log()
        self._end_activity()

    def _end_activity(self) -> None:
        """Lets whoever shows its activity come to the end."""
        reader = None if self._activity is None else self._activity()
        self._activity = None
        if reader is not None:
            reader.end()

    def _end_log(self) -> None:
        """Lets whoever reads the log come to its end."""
        reader = None if self._log is None else self._log()
        self._log = None
        if reader is not None:
            reader.end()
