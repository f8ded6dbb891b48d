# Wherry: downloads and uploads that continue after the program exits
# SPDX-License-Identifier: Apache-2.0
"""Blocking and asyncio background sessions. A separate agent process runs their jobs."""

from __future__ import annotations

from .._core.calls import check, check_freed, create, rows
from .._core.credentials import DigestAuth, credentials
from .._core.exchange.hooks import refuse_functions
from .._core.exchange.draft import Draft
from .._core.forms import pairs
from .._core.network import apply_network
from .._core.options import Timeout, Unset
from .._core.option_table import SESSION_TEXTS
from .._core.settings import NUMBERS, TEXTS
from .._core.trust import apply_trust
from .._core.values import keyword_int, match, path_text, text
from .._errors import StateError, TimeoutError, WherryError, brief
from .._native import codes
from .._native.forking import Forkable
from .._native.library import lib
from .._native.memory import JOB_ROW, Cell, Records, text_at
from .._waiting.blocking import deadline_after, slice_until
from .._waiting.running import in_thread
from .jobs import Job, JobEvents, job_gone, job_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any, AsyncIterator, Dict, Iterator, List, Mapping, Optional, TypeVar, Union,
    )  # fmt: skip

    from asyncio import Future

    from typing_extensions import Unpack

    from .._core.credentials import AuthLike
    from .._core.keywords import (
        DownloadOptions, SessionSettings, Target, UploadOptions, Which as Match,
    )  # fmt: skip
    from .._core.options import TimeoutLike
    from .jobs import Which

    Value = TypeVar("Value")
    Session = TypeVar("Session", bound="BaseSession")

#: The size of a job id: 32 hexadecimal digits and a NUL.
ID_SIZE = 33


class BaseSession(Forkable):
    """The common base of `BackgroundSession` and `AsyncBackgroundSession`."""

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
        timeout: Union[TimeoutLike, Unset] = Timeout(),  # noqa: B008, a value
        verify: Union[bool, str] = True,
        trust_env: bool = True,
        **settings: Unpack[SessionSettings],
    ) -> None:
        """Opens or creates the session ``name``. This starts no new job.

        All programs that one user runs share the jobs of a session with the same name.

        :param name: The name of the session.
        :param state_directory: Absolute path of the directory for job records (default:
            ``$XDG_STATE_HOME/wherry/<name>``).
        :param agent: Path of the agent program (default: next to the library).
        :param autostart: Whether the next agent resumes the jobs of an agent that died. If False, they
        wait for `resume`.
        :param agent_idle: How long an idle agent keeps running, in seconds (default: 5).

        The other keywords are client settings that apply to the jobs: see help(wherry.Settings).
        Jobs do not store passwords or pins, so ``proxy_auth``, ``netrc``, and pins are rejected.
        """
        import os

        self._opening: Dict[str, Any] = {
            "name": name, "state_directory": state_directory, "agent": agent, "autostart": autostart,
            "agent_idle": agent_idle, "base_url": base_url, "headers": headers, "auth": auth,
            "timeout": timeout, "verify": verify, "trust_env": trust_env, **settings,
        }  # fmt: skip
        others: Dict[str, Any] = dict(settings)
        config = create(lib.wherry_config_new)
        try:
            for kind, place in (
                (codes.TEXT_STATE_DIRECTORY, state_directory), (codes.TEXT_AGENT_PATH, agent),
            ):  # fmt: skip
                if place is not None:
                    path = path_text(os.path.abspath(os.fsdecode(place)))
                    check(lib.wherry_config_set_text(config, kind, path))
            if base_url:
                check(lib.wherry_config_set_text(config, codes.TEXT_BASE_URL, text(base_url)))
            apply_network(config, others)
            for name_, option in SESSION_TEXTS.items():
                setting = others.pop(name_, None)
                if setting is not None:
                    check(lib.wherry_config_set_text(config, option, text(setting)))
            apply_trust(config, verify, None, None, base_url, others)
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
            for name_, value in others.items():
                if name_ in NUMBERS:
                    option, convert = NUMBERS[name_]
                    number = keyword_int(name_, convert, value)
                    check(lib.wherry_config_set_option(config, option, number))
                elif name_ in TEXTS:
                    value_text = None if value is None else text(str(value))
                    check(lib.wherry_config_set_text(config, TEXTS[name_], value_text))
                else:
                    raise TypeError(f"a background session has no setting {brief(name_)}")
            fields = list(pairs(headers or {}, "headers"))
            found = credentials(auth)
            if isinstance(found, DigestAuth):
                raise TypeError("background sessions do not support DigestAuth, because they store no passwords")
            if found is not None:
                fields.append(("Authorization", found.field()))
            for field, value in fields:
                value_text = text(str(value), "bad_header")
                check(lib.wherry_config_set_header(config, text(field, "bad_header"), value_text))
            self._handle = create(lib.wherry_session_new, config, text(name))
        finally:
            lib.wherry_config_free(config)
        #: The name of the session.
        self.name = name
        self._survive_forks()

    def _rebuild(self, saved: Any) -> None:
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
        from .._transfers.downloads import prepare

        draft, target = prepare(self, url, path, options)
        return self._started(lib.wherry_session_download, draft, target)

    def _upload(self, url: str, images: Any, options: Mapping[str, Any]) -> str:
        from .._transfers.uploads import prepare

        return self._started(lib.wherry_session_upload, prepare(self, url, images, options))

    def _started(self, function: Any, draft: Draft, *arguments: Any) -> str:
        number = Records(1)  # Used as a buffer; longer than an id.
        try:
            check(function(self._live(), draft.handle, *arguments, number.address))
            return text_at(number.address) or ""
        finally:
            draft.free()

    def _list(self) -> List[Job]:
        listing = create(lib.wherry_session_list, self._live())
        return [Job(row) for row in rows(listing, lib.wherry_list_job, JOB_ROW)]

    def _job(self, which: Which) -> Optional[Job]:
        wanted = job_id(which).decode()
        return next((job for job in self._list() if job.id == wanted), None)

    def _call(self, function: Any, which: Which) -> None:
        check(function(self._live(), job_id(which)))

    def _call_matching(self, function: Any, which: Mapping[str, Match]) -> int:
        count = Cell()
        check(function(self._live(), *match(which), count.address))
        return count.take()

    def close(self) -> None:
        """Closes the session. Its jobs continue. You may call it more than once."""
        handle = self._take_handle()
        if handle:
            check_freed(lib.wherry_session_free(handle))

    def __del__(self) -> None:
        try:
            self.close()
        except (WherryError, TypeError, AttributeError):
            pass  # The library may be partly unloaded when the interpreter exits.

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(self, 'name', '?')}>"


class BackgroundSession(BaseSession):
    """A blocking session for downloads and uploads that continue after this program exits.

    A separate agent process runs the jobs. Programs started later find the jobs by opening the same
    session. Each call may block briefly while it waits for the disk or the agent.
    """

    def download(self, url: str, path: Target = None, **options: Unpack[DownloadOptions]) -> str:
        """Starts a background download and returns the job id.

        Takes the same keyword arguments as `Client.download`. The job is on disk when this method
        returns, so it survives a crash of this program. A second call with the same URL and path
        returns the same job. If that job is paused, interrupted, failed, or cancelled, the call starts it
        again.
        """
        return self._download(url, path, options)

    def upload(self, url: str, images: Any, **options: Unpack[UploadOptions]) -> str:
        """Starts a background upload and returns the job id.

        Takes the same arguments as `Client.upload`. Images are encoded and files are read before
        this method returns. The agent retries an interrupted upload. Each attempt sends the header
        ``Idempotency-Key: "<job id>"`` unless ``headers`` sets it. A value of None omits it.

        An upload that received a 2xx response is never retried. If the agent dies between a 2xx status and
        the end of the response, the job's state is "done", with the reason ``interrupted``. If the stored
        body has changed, the job fails with `damaged_job` and nothing is sent.
        """
        return self._upload(url, images, options)

    def jobs(self) -> List[Job]:
        """Returns all jobs, oldest first, including finished jobs that are not acknowledged yet.

        A job whose record cannot be read is listed as failed with `damaged_job`. `acknowledge`
        deletes the record.
        """
        return self._list()

    def job(self, which: Which) -> Optional[Job]:
        """Returns a job by id, or None if it does not exist or was acknowledged."""
        return self._job(which)

    def pause(self, which: Which) -> None:
        """Pauses a job until any program resumes it. The received data is on disk when this method returns."""
        self._call(lib.wherry_session_pause, which)

    def resume(self, which: Which) -> None:
        """Resumes a paused or interrupted job."""
        self._call(lib.wherry_session_resume, which)

    def cancel(self, which: Which) -> None:
        """Cancels a job and deletes its partial file."""
        self._call(lib.wherry_session_cancel, which)

    def acknowledge(self, which: Which) -> None:
        """Acknowledges a finished job and removes it from the list.

        Exactly one caller across all programs succeeds, so call this method before you act on the
        result. All others get ArgumentError `not_found`.
        """
        self._call(lib.wherry_session_acknowledge, which)

    def pause_all(self, **which: Match) -> int:
        """Pauses all jobs, or those that match ``url=``, ``tag=`` or ``path=``.

        ``url=`` ignores the query and may be a list of URLs. If pausing one job fails, the other jobs
        are still paused. Returns the number of matching jobs that were not finished.
        """
        return self._call_matching(lib.wherry_session_pause_all, which)

    def resume_all(self, **which: Match) -> int:
        """Resumes jobs, selected as in `pause_all`.

        Returns the number of matching jobs that were not finished.
        """
        return self._call_matching(lib.wherry_session_resume_all, which)

    def cancel_all(self, **which: Match) -> int:
        """Cancels jobs, selected as in `pause_all`, and deletes their partial files.

        Returns the number of matching jobs that were not finished.
        """
        return self._call_matching(lib.wherry_session_cancel_all, which)

    def acknowledge_all(self, **which: Match) -> int:
        """Acknowledges finished jobs, selected as in `pause_all`.

        Returns the number of jobs that this call acknowledged.
        """
        return self._call_matching(lib.wherry_session_acknowledge_all, which)

    def follow(self, which: Optional[Which] = None, timeout: Optional[float] = None) -> Iterator[Job]:
        """Yields the current state of a job, then each change until the job finishes.

        With ``which=None`` it follows all jobs and never ends. A slow reader may miss intermediate
        progress, but never the end of a job. Raises TimeoutError after ``timeout`` seconds; the
        jobs continue.
        """
        deadline = deadline_after(timeout)
        events = JobEvents(self, which)
        try:
            while not events.is_over:
                wait = slice_until(deadline)
                if not wait:
                    raise TimeoutError("the wait timed out, but the job is still running", "timeout")
                yield from events.read(wait)
        finally:
            events.close()

    def wait(self, which: Which, timeout: Optional[float] = None) -> Job:
        """Waits until a job finishes and returns the finished job, without acknowledging it."""
        for job in self.follow(which, timeout):
            if job.is_over:
                return job
        raise job_gone(which)

    def __enter__(self: Session) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncBackgroundSession(BaseSession):
    """Like `BackgroundSession`, with coroutines. Blocking calls run on another thread."""

    async def download(self, url: str, path: Target = None, **options: Unpack[DownloadOptions]) -> str:
        """See `BackgroundSession.download`."""
        return await in_thread(lambda: self._download(url, path, options))

    async def upload(self, url: str, images: Any, **options: Unpack[UploadOptions]) -> str:
        """See `BackgroundSession.upload`."""
        return await in_thread(lambda: self._upload(url, images, options))

    async def jobs(self) -> List[Job]:
        """See `BackgroundSession.jobs`."""
        return await in_thread(self._list)

    async def job(self, which: Which) -> Optional[Job]:
        """See `BackgroundSession.job`."""
        return await in_thread(lambda: self._job(which))

    async def pause(self, which: Which) -> None:
        """See `BackgroundSession.pause`."""
        await in_thread(lambda: self._call(lib.wherry_session_pause, which))

    async def resume(self, which: Which) -> None:
        """See `BackgroundSession.resume`."""
        await in_thread(lambda: self._call(lib.wherry_session_resume, which))

    async def cancel(self, which: Which) -> None:
        """See `BackgroundSession.cancel`."""
        await in_thread(lambda: self._call(lib.wherry_session_cancel, which))

    async def acknowledge(self, which: Which) -> None:
        """See `BackgroundSession.acknowledge`."""
        await in_thread(lambda: self._call(lib.wherry_session_acknowledge, which))

    async def pause_all(self, **which: Match) -> int:
        """See `BackgroundSession.pause_all`."""
        return await in_thread(lambda: self._call_matching(lib.wherry_session_pause_all, which))

    async def resume_all(self, **which: Match) -> int:
        """See `BackgroundSession.resume_all`."""
        return await in_thread(lambda: self._call_matching(lib.wherry_session_resume_all, which))

    async def cancel_all(self, **which: Match) -> int:
        """See `BackgroundSession.cancel_all`."""
        return await in_thread(lambda: self._call_matching(lib.wherry_session_cancel_all, which))

    async def acknowledge_all(self, **which: Match) -> int:
        """See `BackgroundSession.acknowledge_all`."""
        function = lib.wherry_session_acknowledge_all
        return await in_thread(lambda: self._call_matching(function, which))

    async def follow(self, which: Optional[Which] = None) -> AsyncIterator[Job]:
        """See `BackgroundSession.follow`. To set a timeout, use `asyncio.wait_for`."""
        import asyncio

        loop = asyncio.get_running_loop()
        making = loop.run_in_executor(None, JobEvents, self, which)
        try:
            events = await asyncio.shield(making)
        except asyncio.CancelledError:
            # The thread continues: close the reader that it creates.
            making.add_done_callback(_drop)
            raise
        try:
            while not events.is_over:
                found = events.read(0)
                for job in found:
                    yield job
                if not found and not events.is_over:
                    await events.queue.readable()
        finally:
            events.close()

    async def wait(self, which: Which) -> Job:
        """See `BackgroundSession.wait`."""
        async for job in self.follow(which):
            if job.is_over:
                return job
        raise job_gone(which)

    async def __aenter__(self: Session) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        await in_thread(self.close)


def _drop(making: Future[JobEvents]) -> None:
    if not making.cancelled() and making.exception() is None:
        making.result().close()
