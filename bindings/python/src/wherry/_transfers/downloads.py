# Wherry: downloads
# SPDX-License-Identifier: Apache-2.0
"""`Download` and `AsyncDownload`: handles of running downloads. Also contains functions for partial
files.
"""

from __future__ import annotations

from .._core import option_table
from .._core.calls import check, copy_text, create, partial_rows, read_progress
from .._core.exchange.hooks import refuse_functions
from .._core.exchange.events import Exchange
from .._core.forms import refuse_pairs
from .._core.progress import Partial, Progress
from .._core.settings import DEFAULTS, conversions
from .._core.values import keyword_int, path_text, text
from .._errors import ArgumentError, Keyword, WherryError, brief, warn_unclosed
from .._native import codes
from .._native.library import lib
from .._waiting.blocking import Channel, deadline_after

_KEYWORDS = conversions(option_table.DOWNLOAD)

#: Maximum time to wait for a cancelled download to end, in seconds. The disk may be slow.
END_SECONDS = 10

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Generator, List, Mapping, Optional, Tuple, TypeVar, Union

    from .._background.session import BaseSession
    from .._client.async_client import AsyncClient
    from .._client.base import BaseClient
    from .._client.client import Client
    from .._core.exchange.draft import Draft
    from .._core.keywords import Target
    from .._core.response.response import Response
    from .._native.memory import Record

    Handle = TypeVar("Handle", bound="BaseDownload")


def prepare(
    client: Union[BaseClient[Any], BaseSession], url: str, path: Target, options: Mapping[str, Any]
) -> Tuple[Draft, bytes]:
    """Creates the native request of a download. Returns the draft and the target path."""

    rest = dict(options)
    refuse_functions(rest, "a download")
    refuse_pairs(rest)
    directory = rest.pop("directory", None)
    overwrite, rename = rest.pop("overwrite", False), rest.pop("rename", False)
    flags: List[Tuple[int, Optional[int]]] = [
        (codes.OPTION_TARGET_IS_DIRECTORY, None if directory is None else 1),
        (codes.OPTION_RESUME, None if rest.pop("resume", True) else 0),
        (codes.OPTION_TARGET_EXISTS, 1 if overwrite else 2 if rename else None),
        (codes.OPTION_MAKE_DIRECTORIES, 1 if rest.pop("make_directories", False) else None),
    ]
    digests = []
    for name in codes.DIGESTS:
        if rest.get(name) is not None:
            with Keyword(name):
                digests.append((codes.DIGESTS[name], text(rest[name])))
        rest.pop(name, None)
    progress = rest.pop("progress", None)
    mirrors = rest.pop("mirrors", None) or ()
    if isinstance(mirrors, (str, bytes)):
        raise ArgumentError("mirrors= must be a list of URLs, not a str", "bad_argument")
    if not hasattr(mirrors, "__iter__"):
        raise TypeError(f"mirrors= takes a list of URLs, not {brief(mirrors)}")
    for name, (option, convert) in _KEYWORDS.items():
        setting = rest.pop(name, None)
        if setting is not None:
            flags.append((option, keyword_int(name, convert, setting)))
    if (path is None) == (directory is None):
        raise ArgumentError("a download needs either a path or a directory", "bad_argument")
    wanted_digests: List[Tuple[int, Optional[bytes]]] = [*digests]
    digest_name = rest.pop("digest", None)
    if digest_name is not None:
        if not isinstance(digest_name, str) or digest_name not in codes.DIGESTS:
            raise ArgumentError(
                f"digest= must be one of {', '.join(codes.DIGESTS)}, not {brief(digest_name)}", "bad_value"
            )
        wanted_digests.append((codes.DIGESTS[digest_name], None))
    if len(wanted_digests) > 1:
        raise ArgumentError("a download takes only one digest", "bad_argument")
    # The client's default request options do not apply to downloads.
    rest = {**dict.fromkeys(DEFAULTS), **rest}
    method: Optional[str] = "GET"
    if hasattr(client, "_hooks"):  # Does not apply to background sessions, which run in another process.
        method, url, rest = _authenticated(client, url, {**rest, "hooks": False})
    draft = client._draft(method, url, rest)
    try:
        for option, flag in flags:
            if flag is not None:
                draft.option(option, flag)
        for kind, value in wanted_digests:
            check(lib.wherry_request_set_digest(draft.handle, kind, value))
        with Keyword("mirrors"):
            for mirror in mirrors:
                check(lib.wherry_request_add_mirror(draft.handle, text(mirror)))
        draft.set_progress(progress)
        with Keyword("path" if directory is None else "directory"):
            return draft, path_text(_fspath(path if directory is None else directory))
    except BaseException:
        draft.free()
        raise


def _authenticated(client: Any, url: str, options: Dict[str, Any]) -> Tuple[Any, str, Dict[str, Any]]:
    """Returns the method, URL and options after the first step of the auth flow."""
    if not client._extras and "auth" not in options:
        return "GET", url, options
    from .._core.request.auth_flow import first_step

    method, place, known = first_step(client, "GET", url, options)
    return method, place, {**known, "hooks": False}


class BaseDownload:
    """The common base of `Download` and `AsyncDownload`."""

    def __init__(self, draft: Draft) -> None:
        self._exchange = Exchange(draft, is_download=True)
        self._id = 0

    @property
    def id(self) -> int:
        """The id of the transfer, as in `Client.transfers`."""
        return self._id

    @property
    def state(self) -> str:
        """The state of the download.

        One of queued, running, waiting, paused, restarted, verifying, done, failed and cancelled.
        """
        return codes.STATES.get(lib.wherry_transfer_state(self._exchange.transfer), "none")

    @property
    def progress(self) -> Progress:
        """The current progress."""
        return Progress(read_progress(lib.wherry_transfer_progress, self._exchange.transfer))

    @property
    def is_done(self) -> bool:
        """Whether `wait` has seen the end of the download."""
        return self._exchange.done

    @property
    def context(self) -> Any:
        """The value of the ``context=`` keyword."""
        return self._exchange.response.context

    @property
    def response(self) -> Optional[Response]:
        """The response, with status and headers, or None until the download is done."""
        return self._exchange.response if self._exchange.done else None

    @property
    def digests(self) -> Mapping[str, str]:
        """The digests of the complete file by name, once the download is done.

        These are the digest that you requested and a digest that the server announced, if any.
        """
        return dict(self._exchange.digests)

    def resume(self) -> None:
        """Resumes the download after a pause."""
        check(lib.wherry_transfer_resume(self._exchange.transfer))

    def limit(self, bytes_per_second: int) -> None:
        """Changes the receive rate limit, in bytes per second. 0 means no limit."""
        check(lib.wherry_transfer_set_max_bytes_per_second(self._exchange.transfer, bytes_per_second))

    @property
    def place(self) -> Optional[int]:
        """The position in the queue of waiting downloads; 0 is next.

        Paused downloads keep their position. None while the download runs and after its end.
        """
        place = int(lib.wherry_transfer_place(self._exchange.transfer))
        return None if place < 0 else place

    def move(self, place: int) -> None:
        """Moves the download in the queue: 0 is next, and a number past the end is last.

        Its priority changes to fit the new position. Has no effect on a running download.
        """
        if place < 0:
            raise ArgumentError(f"a place in the queue must be 0 or more, not {place}", "bad_value")
        check(lib.wherry_transfer_move(self._exchange.transfer, place))

    def prioritize(self, priority: int) -> None:
        """Sets the priority, -100 to 100, of a waiting download.

        The download queues behind others with that priority. Has no effect on a running download.
        """
        check(lib.wherry_transfer_set_priority(self._exchange.transfer, priority))

    def cancel(self) -> None:
        """Cancels the download. The partial file is kept if it can be resumed.

        `wait` raises CancelledError.
        """
        check(lib.wherry_transfer_cancel(self._exchange.transfer))

    def discard(self) -> None:
        """Cancels the download and deletes its partial file."""
        check(lib.wherry_transfer_discard(self._exchange.transfer))

    def describe(self, full: bool = True) -> str:
        """Describes the download on several lines, without secrets.

        ``full=False`` gives "<Download: 12>".
        """
        return copy_text(lib.wherry_transfer_copy_description, self._exchange.transfer, full)

    def _start(self, transfer: int) -> None:
        self._exchange.transfer = transfer
        self._id = lib.wherry_transfer_id(transfer)

    def _path(self) -> str:
        self._exchange.result()
        return self._exchange.path or ""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._id} {self.state}>"


class Download(BaseDownload):
    """A download of a blocking client. It runs in the background; call `wait` to get the result."""

    def __init__(self, client: Client, draft: Draft, target: bytes) -> None:
        super().__init__(draft)
        self._channel = Channel()
        try:
            self._start(client._begin(lib.wherry_client_download, draft.handle, target, self._channel.queue, 1))
        except BaseException:
            self._channel.close()
            raise

    def wait(self, timeout: Optional[float] = None) -> str:
        """Waits for the end of the download and returns the path of the file.

        Calls the ``progress=`` callback while it waits. Raises TimeoutError with the reason "timeout"
        after ``timeout`` seconds (default: no timeout). The download then continues.
        """
        self._channel.run(self._exchange, deadline_after(timeout))
        return self._path()

    def pause(self) -> None:
        """Pauses the download. Returns when the received data is safely on disk."""
        _pause(self._exchange.transfer)

    def close(self) -> None:
        """Closes the handle.

        Cancels the download if it is still running, and waits until it has ended.
        """
        exchange = self._exchange
        if self._channel.queue and not exchange.done:
            # Stop the callbacks, but wait for the end, so that a new download can start.
            exchange.on_progress = None
            try:
                self.cancel()
                self._channel.run(exchange, deadline_after(END_SECONDS))
            except WherryError:
                pass  # The download ends on its own.
        self._release()

    def _release(self) -> None:
        self._channel.close()
        self._exchange.free()

    def __enter__(self: Handle) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        channel = getattr(self, "_channel", None)
        if channel is None or not channel.queue:
            return
        if not self._exchange.done:
            warn_unclosed(self)
        self._release()


class AsyncDownload(BaseDownload):
    """A download of an AsyncClient. Await the handle, or call `wait`."""

    def __init__(self, client: AsyncClient, draft: Draft, target: bytes) -> None:
        import asyncio

        from .._waiting.pump import Completion

        super().__init__(draft)
        loop = asyncio.get_running_loop()
        self._completion = Completion(self._exchange, loop)
        pump = client._pump(loop)
        self._start(pump.download(client, draft, target, self._exchange, self._read))

    def _read(self, record: Record) -> bool:
        # A method, so that the pump keeps a running download alive even if the program does not.
        return self._completion.read(record)

    async def wait(self) -> str:
        """Waits for the end of the download and returns the path of the file.

        Cancelling the waiting task cancels the download.
        """
        import asyncio

        try:
            if not self._exchange.done:
                await asyncio.shield(self._completion.future)
        except asyncio.CancelledError:
            self.cancel()
            # Wait for the end, so that a new download of the file can start at once.
            await asyncio.wait((self._completion.future,), timeout=END_SECONDS)
            raise
        return self._path()

    def __await__(self) -> Generator[Any, None, str]:
        return self.wait().__await__()

    async def pause(self) -> None:
        """Pauses the download. Returns when the received data is safely on disk."""
        import asyncio

        loop = asyncio.get_running_loop()
        # Pausing may wait for a slow disk, which would block the event loop.
        await loop.run_in_executor(None, _pause, self._exchange.transfer)

    def __del__(self) -> None:
        exchange = getattr(self, "_exchange", None)
        if exchange is not None:
            exchange.free()


def _pause(transfer: int) -> None:
    check(lib.wherry_transfer_pause(transfer))


def partials(directory: Any) -> List[Partial]:
    """Returns the partial files in a directory, including those of earlier runs.

    Starts no download.
    """
    listing = create(lib.wherry_partial_list, path_text(_fspath(directory)))
    return [Partial(row) for row in partial_rows(listing)]


def partial_ratio(path: Any) -> float:
    """Returns the fraction of a target file that has been downloaded: 0.0 to 1.0."""
    return float(lib.wherry_partial_ratio(path_text(_fspath(path))))


def discard_partial(path: Any) -> None:
    """Deletes the partial file of a target. Raises BusyError while the download is running."""
    check(lib.wherry_partial_discard(path_text(_fspath(path))))


def _fspath(path: Any) -> str:
    import os

    name = os.fsdecode(path)
    if not name:
        return ""  # abspath() would return the working directory.
    # abspath() removes the final slash, and "folder/" would become a file.
    return os.path.join(os.path.abspath(name), "") if name.endswith("/") else os.path.abspath(name)
