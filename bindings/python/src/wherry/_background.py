# Wherry: downloads and uploads that outlive the program
# SPDX-License-Identifier: Apache-2.0
"""Background sessions, blocking and with asyncio: a process of its own carries their jobs out."""

from __future__ import annotations

from time import perf_counter

from . import _codes as codes
from ._bridge import JOB_ROW, Cell, Records, check, freed, lib, made, rows, text, text_at
from ._errors import StateError, TimeoutError, WherryError, brief
from ._exchange import SLICE_MS
from ._forking import Forkable
from ._jobs import Job, News, gone, job_id
from ._managed import match
from ._numbers import named
from ._options import DigestAuth, Timeout, Unset, credentials, pairs
from ._questions import refuse_functions
from ._request import Draft
from ._request_values import path_text
from ._settings import NUMBERS, TEXTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any, AsyncIterator, Callable, Dict, Iterator, List, Mapping, Optional, TypeVar, Union,
    )  # fmt: skip

    from asyncio import Future

    from typing_extensions import Unpack

    from ._jobs import Which
    from ._keywords import Which as Match
    from ._keywords import DownloadOptions, LiveSettings, Target, UploadOptions
    from ._options import AuthLike, TimeoutLike

    Value = TypeVar("Value")
    Session = TypeVar("Session", bound="BaseSession")

#: 32 hexadecimal digits and NUL.
ID_SIZE = 33


class BaseSession(Forkable):
    """What both kinds of sessions can do."""

    def __init__(
        self,
        name: str,
        *,
        state_directory: Target = None,
        agent: Target = None,
        autostart: bool = True,
        agent_idle: Optional[float] = None,
        base_url: str = "",
        headers: Union[Mapping[str, str], None] = None,
        auth: AuthLike = None,
        timeout: Union[TimeoutLike, Unset] = Timeout(),
        verify: Union[bool, str] = True,
        trust_env: bool = True,
        proxy: Optional[str] = None,
        **settings: Unpack[LiveSettings],
    ) -> None:
        """Opens the session of that name, or makes it; that starts nothing.

        Every program of the same user that opens a session of that name has the same jobs.
        ``state_directory`` is an absolute path for their records in place of
        ``$XDG_STATE_HOME/wherry/<name>``, ``agent`` the program that carries them out where it is
        not beside the library. With ``autostart=False`` jobs whose agent died wait for `resume`.
        ``agent_idle`` is how many seconds an agent stays with nothing to do: 5. The others are as
        those of a client and count for the jobs: see help(wherry.Settings).
        """
        import os

        self._opening: Dict[str, Any] = {
            "name": name, "state_directory": state_directory, "agent": agent, "autostart": autostart,
            "agent_idle": agent_idle, "base_url": base_url, "headers": headers, "auth": auth,
            "timeout": timeout, "verify": verify, "trust_env": trust_env, "proxy": proxy, **settings,
        }  # fmt: skip
        config = made(lib.wherry_config_new)
        try:
            for kind, place in (
                (codes.TEXT_STATE_DIRECTORY, state_directory), (codes.TEXT_AGENT_PATH, agent),
            ):  # fmt: skip
                if place is not None:
                    path = path_text(os.path.abspath(os.fsdecode(place)))
                    check(lib.wherry_config_set_text(config, kind, path))
            for kind, word in ((codes.TEXT_BASE_URL, base_url or None), (codes.TEXT_PROXY, proxy)):
                if word is not None:
                    check(lib.wherry_config_set_text(config, kind, text(word)))
            if verify is False:
                check(lib.wherry_config_set_option(config, codes.OPTION_INSECURE, 1))
            elif verify is not True:
                bundle = path_text(os.fspath(verify))
                check(lib.wherry_config_set_text(config, codes.TEXT_CA_FILE, bundle))
            if not trust_env:
                option = codes.OPTION_IGNORE_PROXY_ENVIRONMENT
                check(lib.wherry_config_set_option(config, option, 1))
            if not autostart:
                check(lib.wherry_config_set_option(config, codes.OPTION_AUTOSTART, 0))
            if agent_idle is not None:
                idle = int(agent_idle * 1000)
                check(lib.wherry_config_set_option(config, codes.OPTION_AGENT_IDLE_MS, idle))
            limits = Timeout() if isinstance(timeout, Unset) else Timeout.of(timeout)
            for option, number in limits.options():
                check(lib.wherry_config_set_option(config, option, number))
            for name_, value in dict(settings).items():
                if name_ in NUMBERS:
                    option, convert = NUMBERS[name_]
                    check(lib.wherry_config_set_option(config, option, named(name_, convert, value)))
                elif name_ in TEXTS:
                    said = None if value is None else text(str(value))
                    check(lib.wherry_config_set_text(config, TEXTS[name_], said))
                else:
                    raise TypeError(f"a background session has no setting {brief(name_)}")
            fields = list(pairs(headers or {}, "headers"))
            found = credentials(auth)
            if isinstance(found, DigestAuth):
                raise TypeError("the jobs of a background session keep no password: no DigestAuth")
            if found is not None:
                fields.append(("Authorization", found.field()))
            for field, value in fields:
                said = text(str(value), "bad_header")
                check(lib.wherry_config_set_header(config, text(field, "bad_header"), said))
            self._handle = made(lib.wherry_session_new, config, text(name))
        finally:
            lib.wherry_config_free(config)
        #: What it was opened by.
        self.name = name
        self._survive_forks()

    def _rebuild(self, noted: Any) -> None:
        BaseSession.__init__(self, **self._opening)

    def _live(self) -> int:
        if not self._handle:
            raise StateError("this session is closed", "closed")
        return self._handle

    def _draft(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Draft:
        self._live()
        rest = dict(options)
        refuse_functions(rest, "a background session")
        if rest.pop("follow_redirects", True) is False:
            rest["max_redirects"] = 0
        return Draft(method, url).apply(rest)

    def _download(self, url: str, path: Target, options: Mapping[str, Any]) -> str:
        from ._download import prepare

        draft, target = prepare(self, url, path, options)
        return self._started(lib.wherry_session_download, draft, target)

    def _upload(self, url: str, pictures: Any, options: Mapping[str, Any]) -> str:
        from ._images import prepare

        return self._started(lib.wherry_session_upload, prepare(self, url, pictures, options))

    def _started(self, function: Any, draft: Draft, *arguments: Any) -> str:
        number = Records(1)  # As good a piece of memory as any, and longer than an id.
        try:
            check(function(self._live(), draft.handle, *arguments, number.address))
            return text_at(number.address) or ""
        finally:
            draft.free()

    def _list(self) -> List[Job]:
        listing = made(lib.wherry_session_list, self._live())
        return [Job(row) for row in rows(listing, lib.wherry_list_job, JOB_ROW)]

    def _job(self, which: Which) -> Optional[Job]:
        wanted = job_id(which).decode()
        return next((job for job in self._list() if job.id == wanted), None)

    def _verb(self, function: Any, which: Which) -> None:
        check(function(self._live(), job_id(which)))

    def _verb_all(self, function: Any, which: Mapping[str, Match]) -> int:
        count = Cell()
        check(function(self._live(), *match(which), count.address))
        return count.take()

    def close(self) -> None:
        """Lets go of it; jobs go on. Twice is fine."""
        handle = self._take_handle()
        if handle:
            freed(lib.wherry_session_free(handle))

    def __del__(self) -> None:
        try:
            self.close()
        except (WherryError, TypeError, AttributeError):
            pass  # At the interpreter's end the library may be half gone.

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(self, 'name', '?')}>"


class BackgroundSession(BaseSession):
    """Hands downloads and uploads over to a process that goes on when this one is gone, and finds
    them again from any later one. Each call waits a moment for the disk and that process."""

    def download(self, url: str, path: Target = None, **options: Unpack[DownloadOptions]) -> str:
        """Hands a download over and returns the job's id; the keywords are those of a client's.

        The job is on disk when this returns, whatever becomes of this program. The same URL and
        path again is the same job; one that is paused, interrupted or over begins again.
        """
        return self._download(url, path, options)

    def upload(self, url: str, pictures: Any, **options: Unpack[UploadOptions]) -> str:
        """Hands an upload over, as `Client.upload` takes it, and returns the job's id.

        Pictures are encoded and files read before this returns. The agent retries an interrupted
        upload, each time with ``Idempotency-Key: "<job id>"`` unless ``headers`` has that field (None
        sends none). An upload that the server has answered with 2xx is never retried: if the agent
        died before it had the whole response, the job is done with the reason ``interrupted``. If the
        stored body has changed, the job fails with `damaged_job` and nothing is sent.
        """
        return self._upload(url, pictures, options)

    def jobs(self) -> List[Job]:
        """Every job, oldest first; those too that are over and that nobody acknowledged. One whose
        record cannot be read is failed with `damaged_job`; `acknowledge` deletes the record."""
        return self._list()

    def job(self, which: Which) -> Optional[Job]:
        """One job; None if there is none of that id, or it was acknowledged."""
        return self._job(which)

    def pause(self, which: Which) -> None:
        """Stops a job until it is resumed, by whatever program; what it has is safe on disk."""
        self._verb(lib.wherry_session_pause, which)

    def resume(self, which: Which) -> None:
        """Lets a paused or interrupted job go on."""
        self._verb(lib.wherry_session_resume, which)

    def cancel(self, which: Which) -> None:
        """Ends a job and deletes what it had brought."""
        self._verb(lib.wherry_session_cancel, which)

    def acknowledge(self, which: Which) -> None:
        """Claims a job that is over, and takes it off the list: succeeds for exactly one caller in
        all programs, so act on an end after this. ArgumentError `not_found` for all others."""
        self._verb(lib.wherry_session_acknowledge, which)

    def pause_all(self, **which: Match) -> int:
        """Pauses every job, or those of one of ``url=`` (any query; may be a list), ``tag=`` or
        ``path=``. Returns how many were not over. A failure leaves no other job out."""
        return self._verb_all(lib.wherry_session_pause_all, which)

    def resume_all(self, **which: Match) -> int:
        """Resumes jobs chosen as for `pause_all`, and returns how many were not over."""
        return self._verb_all(lib.wherry_session_resume_all, which)

    def cancel_all(self, **which: Match) -> int:
        """Cancels jobs chosen as for `pause_all`, deletes their partial files, and returns how many
        were not over."""
        return self._verb_all(lib.wherry_session_cancel_all, which)

    def acknowledge_all(self, **which: Match) -> int:
        """Claims the jobs that are over, chosen as for `pause_all`, and returns how many this call
        has claimed."""
        return self._verb_all(lib.wherry_session_acknowledge_all, which)

    def follow(
        self, which: Optional[Which] = None, timeout: Optional[float] = None
    ) -> Iterator[Job]:
        """How a job stands, now and after each change, up to its end; None: all jobs, without end.

        Whoever reads slowly gets the newest figures, and every end. TimeoutError after so many
        seconds in all leaves the jobs alone.
        """
        deadline = None if timeout is None else perf_counter() + timeout
        news = News(self, which)
        try:
            while not news.is_over:
                wait = SLICE_MS
                if deadline is not None:
                    wait = min(wait, int((deadline - perf_counter()) * 1000) + 1)
                    if wait <= 0:
                        raise TimeoutError("the wait is over; the job goes on", "timeout")
                yield from news.read(wait)
        finally:
            news.close()

    def wait(self, which: Which, timeout: Optional[float] = None) -> Job:
        """Waits for the end of a job and returns how it ended; acknowledges nothing."""
        for job in self.follow(which, timeout):
            if job.is_over:
                return job
        raise gone(which)

    def __enter__(self: Session) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncBackgroundSession(BaseSession):
    """The same with asyncio; the disk and the agent are waited for on another thread."""

    async def download(
        self, url: str, path: Target = None, **options: Unpack[DownloadOptions]
    ) -> str:
        """See `BackgroundSession.download`."""
        return await _aside(lambda: self._download(url, path, options))

    async def upload(self, url: str, pictures: Any, **options: Unpack[UploadOptions]) -> str:
        """See `BackgroundSession.upload`."""
        return await _aside(lambda: self._upload(url, pictures, options))

    async def jobs(self) -> List[Job]:
        """See `BackgroundSession.jobs`."""
        return await _aside(self._list)

    async def job(self, which: Which) -> Optional[Job]:
        """See `BackgroundSession.job`."""
        return await _aside(lambda: self._job(which))

    async def pause(self, which: Which) -> None:
        """See `BackgroundSession.pause`."""
        await _aside(lambda: self._verb(lib.wherry_session_pause, which))

    async def resume(self, which: Which) -> None:
        """See `BackgroundSession.resume`."""
        await _aside(lambda: self._verb(lib.wherry_session_resume, which))

    async def cancel(self, which: Which) -> None:
        """See `BackgroundSession.cancel`."""
        await _aside(lambda: self._verb(lib.wherry_session_cancel, which))

    async def acknowledge(self, which: Which) -> None:
        """See `BackgroundSession.acknowledge`."""
        await _aside(lambda: self._verb(lib.wherry_session_acknowledge, which))

    async def pause_all(self, **which: Match) -> int:
        """See `BackgroundSession.pause_all`."""
        return await _aside(lambda: self._verb_all(lib.wherry_session_pause_all, which))

    async def resume_all(self, **which: Match) -> int:
        """See `BackgroundSession.resume_all`."""
        return await _aside(lambda: self._verb_all(lib.wherry_session_resume_all, which))

    async def cancel_all(self, **which: Match) -> int:
        """See `BackgroundSession.cancel_all`."""
        return await _aside(lambda: self._verb_all(lib.wherry_session_cancel_all, which))

    async def acknowledge_all(self, **which: Match) -> int:
        """See `BackgroundSession.acknowledge_all`."""
        return await _aside(lambda: self._verb_all(lib.wherry_session_acknowledge_all, which))

    async def follow(self, which: Optional[Which] = None) -> AsyncIterator[Job]:
        """See `BackgroundSession.follow`; its time is limited by `asyncio.wait_for`."""
        import asyncio

        loop = asyncio.get_running_loop()
        making = loop.run_in_executor(None, News, self, which)
        try:
            news = await asyncio.shield(making)
        except asyncio.CancelledError:
            # The thread goes on: what it makes is nobody's.
            making.add_done_callback(_drop)
            raise
        try:
            while not news.is_over:
                found = news.read(0)
                for job in found:
                    yield job
                if not found and not news.is_over:
                    await news.queue.readable()
        finally:
            news.close()

    async def wait(self, which: Which) -> Job:
        """See `BackgroundSession.wait`."""
        async for job in self.follow(which):
            if job.is_over:
                return job
        raise gone(which)

    async def __aenter__(self: Session) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        await _aside(self.close)


async def _aside(work: Callable[[], Value]) -> Value:
    """Waits for the disk on a thread of the loop's."""
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(None, work)


def _drop(making: Future[News]) -> None:
    if not making.cancelled() and making.exception() is None:
        making.result().close()
