# Wherry: jobs of background sessions
# SPDX-License-Identifier: Apache-2.0
"""`Job`: the state of a background job."""

from __future__ import annotations

import os

from .._core.calls import check, error_at, last_error
from .._core.progress import fraction_of
from .._core.values import text
from .._errors import CLASSES, WherryError
from .._native import codes
from .._native.library import lib
from .._native.memory import (
    DETAIL, DONE_BYTES, EVENT, EXPECTED_BYTES, HTTP_CODE, KIND, REASON, STATUS, Records, path_at,
    text_at,
)  # fmt: skip
from .._waiting.blocking import read_events
from .._waiting.queue import Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional, Tuple, Type, Union

    from .._native.memory import Record
    from .session import BaseSession

    #: A job, or the id of one.
    Which = Union["Job", str]

#: The maximum number of events per read.
BATCH = 16


class Job:
    """A snapshot of a background job."""

    __slots__ = (
        "id", "kind", "state", "url", "path", "tag", "reason", "done_bytes", "total_bytes",
        "started_at", "retry_at", "status_code", "error",
    )  # fmt: skip

    def __init__(self, row: Tuple[Any, ...]) -> None:
        (
            number, url, path, tag, reason, message, done, total, started, retry, kind, state,
            status, code,
        ) = row  # fmt: skip
        #: The job id: 32 hexadecimal digits. Starting the same download twice creates only one job.
        self.id: str = text_at(number) or ""
        #: "download" or "upload".
        self.kind: str = codes.KINDS.get(kind, "")
        #: The state: queued, running, waiting, paused, interrupted (its process died), verifying,
        #: done, failed or cancelled.
        self.state: str = codes.STATES.get(state, "none")
        #: The URL. Its query is replaced by "?...".
        self.url: str = text_at(url) or ""
        #: The target path of a download.
        self.path: Optional[str] = path_at(path)
        self.tag: Optional[str] = text_at(tag)
        #: Why the job failed, was restarted, or is waiting: a reason from docs/errors.md, or "".
        self.reason: str = text_at(reason) or ""
        self.done_bytes: int = done
        self.total_bytes: Optional[int] = None if total < 0 else total
        #: The start time, in seconds since 1970.
        self.started_at: float = started / 1000
        #: The time of the next retry, in seconds since 1970; None unless the job waits for a retry.
        self.retry_at: Optional[float] = None if retry < 0 else retry / 1000
        #: The status code of the final response; 0 if there was none.
        self.status_code: int = code
        #: The error of a failed or cancelled job.
        self.error: Optional[WherryError] = None
        if status:
            kind_of_error = CLASSES.get(status, WherryError)
            self.error = kind_of_error(text_at(message) or self.reason, self.reason, http_status=code)

    @property
    def is_over(self) -> bool:
        """Whether the job is done, failed, or cancelled."""
        return self.state in ("done", "failed", "cancelled")

    @property
    def fraction(self) -> Optional[float]:
        """The progress from 0.0 to 1.0; None while the total size is unknown."""
        return fraction_of(self.done_bytes, self.total_bytes)

    def describe(self, full: bool = True) -> str:
        """Returns a description of the job in several lines, without secrets.

        ``full=False`` gives a short form: "<Download job: 3f2a91c07d5e>".
        """
        short = f"<{self.kind.capitalize()} job: {self.id[:12]}>"
        if not full:
            return short
        total = "unknown" if self.total_bytes is None else self.total_bytes
        rows = [("type", f"background {self.kind}"), ("url", self.url), ("target path", self.path),
                ("tag", self.tag), ("state", self.state)]  # fmt: skip
        if self.error is None and self.reason:
            rows.append(("reason", self.reason))
        rows.append(("progress", f"{self.done_bytes} of {total} bytes"))
        if self.error is not None:
            rows.append(("error", f"{self.error.reason}: {self.error}"))
        rows.append(("job", self.id))
        lines = [f"   {name + ':':18}{value}\n" for name, value in rows if value is not None]
        return f"{{\n   {short}\n{''.join(lines)}}}"

    def _updated(self, record: Record) -> Job:
        """Returns a copy that is updated from an event."""
        job = Job.__new__(Job)
        for name in Job.__slots__:
            setattr(job, name, getattr(self, name))
        kind, status, detail = record[KIND], record[STATUS], record[DETAIL]
        reason = text_at(record[REASON])
        if kind == codes.EVENT_PROGRESS:
            job.done_bytes = record[DONE_BYTES]
            job.total_bytes = None if record[EXPECTED_BYTES] < 0 else record[EXPECTED_BYTES]
        elif kind == codes.EVENT_STATE:
            job.state = codes.STATES.get(detail, "none")
            job.reason = reason or ""
        elif kind == codes.EVENT_DONE:
            job.status_code = record[HTTP_CODE]
            job.reason = reason or ""
            job.state = "done"
            if status:
                job.state = "cancelled" if status == codes.E_CANCELLED else "failed"
                handle = lib.wherry_event_error(record[EVENT])
                job.error = error_at(handle) if handle else last_error(status)
            elif job.kind == "download":
                place = lib.wherry_event_text(record[EVENT])
                job.path = job.path if place is None else os.fsdecode(place)
                if job.total_bytes is not None:
                    job.done_bytes = job.total_bytes
        return job

    def __repr__(self) -> str:
        return f"<Job {self.id[:8]} {self.state} {self.path or self.url}>"


def job_id(which: Which) -> bytes:
    """Returns the job id, encoded for the library."""
    return text(which.id if isinstance(which, Job) else which)


class JobEvents:
    """A reader of job events with its own queue."""

    def __init__(self, session: BaseSession, which: Optional[Which]) -> None:
        self._known = {job.id: job for job in session._list()}
        self._session = session
        #: The id of the followed job; None for all jobs.
        self.id = None if which is None else job_id(which).decode()
        self._records = Records(BATCH)
        self.queue = Queue()
        try:
            check(
                lib.wherry_session_follow(
                    session._live(), None if which is None else job_id(which), self.queue.handle, None
                )
            )
        except BaseException:
            self.close()
            raise
        self.is_over = False

    def read(self, milliseconds: int) -> List[Job]:
        """Returns the updated jobs. Waits up to ``milliseconds`` for the first event."""
        records = self._records
        count = read_events(self.queue.handle, records, milliseconds)
        if not count:
            return []
        try:
            found = [self._job(records.at(index)) for index in range(count)]
        finally:
            check(lib.wherry_queue_release(self.queue.handle, records.address, count))
        return [job for job in found if job is not None]

    def _job(self, record: Record) -> Optional[Job]:
        number = (lib.wherry_event_job_id(record[EVENT]) or b"").decode()
        if number not in self._known:
            # The job was started after this reader was created.
            self._known.update((job.id, job) for job in self._session._list())
        known = self._known.get(number)
        if known is None:
            if self.id is not None:
                self.is_over = True
            return None
        self._known[number] = job = known._updated(record)
        if job.is_over and self.id is not None:
            self.is_over = True
        return job

    def close(self) -> None:
        """Closes the queue."""
        self.queue.close()


def job_gone(which: Which) -> WherryError:
    """Returns the error for a job that no longer exists."""
    kind: Type[WherryError] = CLASSES[codes.E_ARGUMENT]
    number = job_id(which).decode()
    return kind(f"the job {number} finished, and another program acknowledged it", "not_found")
