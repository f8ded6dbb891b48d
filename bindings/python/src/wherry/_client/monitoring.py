# Wherry: the log, the counters, and the curl commands of a client
# SPDX-License-Identifier: Apache-2.0
"""The part of a client that reports what happens: log, activity, counters, and curl commands."""

from __future__ import annotations

import os

from .._core.calls import check, copy_text, read_struct
from .._core.values import path_text, text
from .._native.library import lib
from .._native.memory import COUNTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    import weakref
    from typing import Any, Dict, Mapping, Optional, Union

    from typing_extensions import Unpack

    from .._core.exchange.draft import Draft
    from .._core.keywords import RequestOptions
    from .._core.request.sent import SentRequest
    from .._monitoring.activity import ActivityReader
    from .._monitoring.logs import Counters, LogBridge, LogReader


class ClientMonitoring:
    """See `BaseClient`."""

    #: The current reader of the log.
    _log: Optional[weakref.ref[LogReader]] = None
    #: The current reader of the activity events.
    _activity: Optional[weakref.ref[ActivityReader]] = None
    #: The arguments of the last `set_log_file` call; None if it had no path.
    _log_file: Optional[Mapping[str, Any]] = None
    #: The bridge that forwards the log to `logging`.
    _bridged: Optional[weakref.ref[LogBridge]] = None

    _settings: Dict[str, Any]

    if TYPE_CHECKING:

        def _live(self) -> int:
            """See `BaseClient`."""

        def _draft(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Draft:
            """See `ClientRequests`."""

    def log(self, level: str = "info") -> LogReader:
        """Returns an iterator over new log records of all transfers.

        ``level`` is "error", "warning", "info", or "debug". A client has one log at a time: a new
        log ends the previous one.
        """
        from .._monitoring.logs import LogReader, level_of

        return LogReader(self, level_of(level))

    def activity(self, show_after: float = 1.0, hide_after: float = 0.17) -> ActivityReader:
        """Returns an iterator that signals when to show and hide an activity indicator.

        ``show_after`` seconds after the first transfer began, the iterator yields the number of
        running transfers, if any. ``hide_after`` seconds after the last transfer ended or was
        paused, it yields 0. A client has one such iterator at a time: a new one ends the previous
        one.
        """
        from .._monitoring.activity import ActivityReader

        return ActivityReader(self, show_after, hide_after)

    def log_to(self, logger: Union[logging.Logger, str] = "wherry", level: Optional[str] = None) -> LogBridge:
        """Forwards the log to `logging` until the returned bridge or the client is closed.

        ``level`` defaults to the current level of the logger. The `logging` records are emitted on
        a separate thread. Each contains the Wherry record as ``record.wherry``.
        """
        import logging

        from .._monitoring.logs import LogBridge

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
        """Appends the log to a file with mode 0600. If the path is None, writes the remaining
        records and stops.

        With ``json``, each line is a JSON object. At ``max_bytes`` (0: no limit), the file is
        renamed to PATH.1.
        """
        from .._monitoring.logs import level_of

        sent = None if path is None else path_text(os.fspath(path))
        check(lib.wherry_client_set_log_file(self._live(), level_of(level), sent, json, max_bytes))
        self._log_file = None if path is None else {
            "path": os.path.abspath(os.fsdecode(path)), "level": level, "json": json, "max_bytes": max_bytes,
        }  # fmt: skip

    def add_secret_name(self, name: str) -> None:
        """Adds the name of a header, parameter, or JSON member whose value is omitted from logs."""
        check(lib.wherry_client_add_secret_name(self._live(), text(name)))
        self._settings["secret_names"] = (*self._settings.get("secret_names", ()), name)

    def counters(self, host: Optional[str] = None) -> Counters:
        """Returns the client's counters since its creation, for all hosts or for one host on any port."""
        from .._monitoring.logs import Counters

        host_text = None if host is None else text(host)
        return Counters(read_struct(COUNTERS, lib.wherry_client_counters, self._live(), host_text))

    def build_request(self, method: Optional[str], url: str, **options: Unpack[RequestOptions]) -> SentRequest:
        """Builds a request that can be edited and passed to `send`.

        The request has the final URL, the client's headers, and the body, unless the body is
        streamed. It keeps the other keywords, such as ``timeout=``, for `send`.
        """
        from .._core.hints import KEYWORD, unknown
        from .._core.request.auth_flow import FlowRequest
        from .._core.exchange.draft import KEYWORDS

        for name in options:
            if name not in KEYWORDS and name not in ("follow_redirects", "hooks"):
                raise unknown("a request has no keyword", name, KEYWORD, KEYWORDS)
        return FlowRequest(self, method, url, options).for_send(options)  # type: ignore[arg-type]

    def curl_command(
        self,
        method: Optional[str],
        url: str,
        *,
        secrets: bool = False,
        **options: Unpack[RequestOptions],
    ) -> str:
        """Returns the curl command line for a request.

        Secrets are *** unless ``secrets`` is True.
        """
        draft = self._draft(method, url, options)
        try:
            return copy_text(lib.wherry_client_copy_curl_command, self._live(), draft.handle, secrets)
        finally:
            draft.free()

    def _log_bridge(self) -> Optional[LogBridge]:
        """The bridge that forwards the log to `logging`; None if it is closed."""
        bridge = None if self._bridged is None else self._bridged()
        return None if bridge is None or bridge.is_closed else bridge

    def _end_readers(self) -> None:
        """Ends the log and the activity iterators, because the client is closed."""
        self._end_log()
        self._end_activity()

    def _end_activity(self) -> None:
        """Ends the activity iterator."""
        reader = None if self._activity is None else self._activity()
        self._activity = None
        if reader is not None:
            reader.end()

    def _end_log(self) -> None:
        """Ends the log iterator."""
        reader = None if self._log is None else self._log()
        self._log = None
        if reader is not None:
            reader.end()
