# Wherry: the blocking client
# SPDX-License-Identifier: Apache-2.0
"""Requests that wait for their answer; any thread may use a client."""

from __future__ import annotations

from time import perf_counter

from . import _codes as codes
from ._base import BaseClient, _match
from ._bridge import Scratch, check, lib, made, scratch
from ._errors import TimeoutError
from ._exchange import SLICE_MS, Channel, Exchange, settle
from ._request import SPARE, plain
from ._response import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Callable, Mapping, Optional, TypeVar, Union

    from typing_extensions import Unpack

    from ._bridge import Record
    from ._download import Download
    from ._options import Compression
    from ._progress import Progress
    from ._request import CommonOptions, Draft, RequestOptions, StreamOptions
    from ._stream import Stream

    Self = TypeVar("Self", bound="Client")
    Target = Union[str, "os.PathLike[str]", None]


class Client(BaseClient):
    """A blocking client. Use it in a ``with`` statement, or call `close`.

    An answer of any status is returned, as in requests: `Response.raise_for_status` raises. What
    goes wrong before an answer is there raises a `WherryError`. Ctrl-C cancels the request.
    """

    def request(
        self, method: Optional[str], url: str, **options: Unpack[RequestOptions]
    ) -> Response:
        """Sends a request and waits; method None is GET without parameters or body, else POST."""
        spare = SPARE.get(method)
        if not options and not self._query and spare is not None:
            request = plain(method, url, spare)
            try:
                return self._perform(request, Response(url=url), False)
            finally:
                spare.append(request)
        draft = self._draft(method, url, options)
        try:
            if draft.needs_events:
                return self._converse(draft)
            answer = Response(url=draft.url, tag=draft.tag)
            return self._perform(draft.handle, answer, False)
        finally:
            draft.free()

    def get(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """GET."""
        return self.request("GET", url, **options)

    def head(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """HEAD."""
        return self.request("HEAD", url, **options)

    def post(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """POST."""
        return self.request("POST", url, **options)

    def put(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """PUT."""
        return self.request("PUT", url, **options)

    def patch(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """PATCH."""
        return self.request("PATCH", url, **options)

    def delete(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """DELETE."""
        return self.request("DELETE", url, **options)

    def options(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """OPTIONS."""
        return self.request("OPTIONS", url, **options)

    def stream(self, method: str, url: str, **options: Unpack[StreamOptions]) -> Stream:
        """``with client.stream("GET", url) as response: for piece in response.iter_bytes()``."""
        from ._stream import Stream

        return Stream(self, method, url, options)

    def upload(
        self,
        url: str,
        pictures: Any,
        *,
        name: str = "image",
        quality: float = 1.0,
        compression: Optional[Compression] = None,
        fields: Optional[Mapping[str, Any]] = None,
        progress: Optional[Callable[[Progress], object]] = None,
        method: str = "POST",
        **options: Unpack[CommonOptions],
    ) -> Response:
        """Sends pictures as one multipart form and waits for the answer.

        ``pictures`` is one or several of: a path, encoded bytes, an array of uint8 of shape (h, w),
        (h, w, 3) or (h, w, 4), a Pillow image; each may be a pair (file name, picture). The parts
        are called name0, name1, ... ``quality`` 1.0 sends the original where it fits.
        """
        from ._images import add_pictures

        draft = self._draft(method, url, options)
        try:
            add_pictures(draft, pictures, name, quality, compression, fields)
            if progress is not None:
                draft.set_progress(progress)
                return self._converse(draft)
            answer = Response(url=draft.url, tag=draft.tag)
            return self._perform(draft.handle, answer, True)
        finally:
            draft.free()

    def start_download(
        self,
        url: str,
        path: Target = None,
        *,
        directory: Target = None,
        resume: bool = True,
        overwrite: bool = False,
        rename: bool = False,
        make_directories: bool = False,
        sha256: Optional[str] = None,
        sha512: Optional[str] = None,
        sha1: Optional[str] = None,
        md5: Optional[str] = None,
        progress: Optional[Callable[[Progress], object]] = None,
        **options: Unpack[CommonOptions],
    ) -> Download:
        """Starts a download into ``path``, or into ``directory`` under the server's name for it.

        The file appears under its name only when it is whole and has the digest that was asked
        for. ``resume`` goes on with what an earlier run has kept. A target that exists is an error
        before anything is sent, unless ``overwrite`` or ``rename`` (a name with a number) is True.
        """
        from ._download import Download, prepare

        draft = self._draft("GET", url, options)
        try:
            target = prepare(
                draft, path, directory, resume, overwrite, rename, make_directories,
                (sha256, sha512, sha1, md5), progress,
            )  # fmt: skip
            return Download(self, draft, target)
        finally:
            draft.free()

    def download(
        self,
        url: str,
        path: Target = None,
        *,
        directory: Target = None,
        resume: bool = True,
        overwrite: bool = False,
        rename: bool = False,
        make_directories: bool = False,
        sha256: Optional[str] = None,
        sha512: Optional[str] = None,
        sha1: Optional[str] = None,
        md5: Optional[str] = None,
        progress: Optional[Callable[[Progress], object]] = None,
        **options: Unpack[CommonOptions],
    ) -> str:
        """Downloads as `start_download` does, waits, and returns the file's path."""
        with self.start_download(
            url, path, directory=directory, resume=resume, overwrite=overwrite, rename=rename,
            make_directories=make_directories, sha256=sha256, sha512=sha512, sha1=sha1, md5=md5,
            progress=progress, **options,
        ) as handle:  # fmt: skip
            return handle.wait()

    def wait(self, *, timeout: Optional[float] = None, **which: Optional[str]) -> None:
        """Waits until all have ended, or those of one url=, tag=, identifier= or path=."""
        self._sliced(lib.wherry_client_wait, timeout, self._live(), *_match(which))

    def drain(self, timeout: Optional[float] = None) -> None:
        """Takes no more requests and waits for what runs; TimeoutError leaves the rest running."""
        self._sliced(lib.wherry_client_drain, timeout, self._live())

    def close(self) -> None:
        """Cancels what is in flight and frees the connections. Twice is fine."""
        self._free()

    def __enter__(self: Self) -> Self:
        self._live()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # How it waits

    def _perform(self, request: int, response: Response, has_images: bool) -> Response:
        """One blocking call in slices, so that signals are seen between them."""
        try:
            place = scratch.pop()
        except IndexError:
            place = Scratch()
        record_address = place.record_address
        running = 0
        started = perf_counter()
        try:
            status = lib.wherry_client_perform_for(
                self._handle, request, SLICE_MS, place.transfer_address, record_address
            )
            if status == codes.E_TIMEOUT:
                running = place.transfer.take()
                while status == codes.E_TIMEOUT:
                    status = lib.wherry_transfer_wait(running, SLICE_MS, record_address)
        except BaseException:  # Ctrl-C: the transfer must not outlive the call.
            running = running or place.transfer.take()
            if running:
                lib.wherry_transfer_cancel(running)
                lib.wherry_transfer_free(running)
            raise
        if running:
            lib.wherry_transfer_free(running)
        if status:
            scratch.append(place)
            raise self._refusal(status)
        record: Record = place.record.first()
        scratch.append(place)
        try:
            response._seconds = perf_counter() - started
            settle(response, record, self._url_depends, has_images)
        finally:
            lib.wherry_event_free(record[1])
        return response

    def _converse(self, draft: Draft) -> Response:
        """A request somebody has to talk to while it runs: a queue of its own."""
        exchange = Exchange(draft, self._url_depends)
        channel = Channel()
        try:
            exchange.transfer = made(
                lib.wherry_client_send, self._handle, draft.handle, channel.queue, 1
            )
            channel.run(exchange)
        finally:
            channel.close()
            exchange.free()
        return exchange.result()

    def _sliced(self, function: Any, timeout: Optional[float], *arguments: Any) -> None:
        deadline = None if timeout is None else perf_counter() + timeout
        while True:
            wait = SLICE_MS
            if deadline is not None:
                wait = max(0, min(SLICE_MS, int((deadline - perf_counter()) * 1000) + 1))
            status = function(*arguments, wait)
            if status != codes.E_TIMEOUT:
                check(status)
                return
            if deadline is not None and perf_counter() >= deadline:
                raise TimeoutError("not everything has ended in time", "wait")
