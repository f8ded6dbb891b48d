# Wherry: the blocking client
# SPDX-License-Identifier: Apache-2.0
"""Requests that wait for their answer; any thread may use a client."""

from __future__ import annotations

from time import perf_counter

from . import _codes as codes
from ._base import BaseClient, _match
from ._bridge import ANSWER, Scratch, bytes_at, check, lib, made, scratch, text
from ._errors import TimeoutError
from ._exchange import SLICE_MS, Channel, Exchange, settle
from ._request import PLAIN, plain
from ._response import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Callable, Mapping, Optional, TypeVar, Union

    from typing_extensions import Unpack

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
        return self._request(method, url, options)

    def _request(
        self, method: Optional[str], url: str, options: Mapping[str, Any]
    ) -> Response:
        if not options and not self._query:
            request = PLAIN.get(method) or plain(method)
            if request:
                return self._perform(request, text(url, "bad_url"), url)
        draft = self._draft(method, url, options)
        try:
            return self._converse(draft) if draft.needs_events else self._sent(draft)
        finally:
            draft.free()

    def _sent(self, draft: Draft) -> Response:
        """The answer to a request that only has to be waited for."""
        return self._perform(draft.handle, None, draft.url, draft)

    def get(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """GET."""
        return self._request("GET", url, options)

    def head(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """HEAD."""
        return self._request("HEAD", url, options)

    def post(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """POST."""
        return self._request("POST", url, options)

    def put(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """PUT."""
        return self._request("PUT", url, options)

    def patch(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """PATCH."""
        return self._request("PATCH", url, options)

    def delete(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """DELETE."""
        return self._request("DELETE", url, options)

    def options(self, url: str, **options: Unpack[RequestOptions]) -> Response:
        """OPTIONS."""
        return self._request("OPTIONS", url, options)

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
            draft.set_progress(progress)
            return self._converse(draft) if draft.needs_events else self._sent(draft)
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

    def _perform(
        self,
        request: int,
        address: Optional[bytes],
        url: str,
        draft: Optional[Draft] = None,
    ) -> Response:
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
                self._handle, request, address, SLICE_MS, place.transfer_address, record_address
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
        event, _, _, status, code, flags, body, size, head, length = ANSWER.unpack_from(
            place.record.view
        )
        try:
            if draft is not None:
                response = Response(url=url, tag=draft.tag)
                settle(response, place.record.at(), draft.has_images)
            elif status or flags or self._url_depends:
                response = Response(url=url)
                settle(response, place.record.at(), False)
            else:  # What `settle` does with a plain success.
                response = Response(code, bytes_at(head, length), bytes_at(body, size), url)
            response._seconds = perf_counter() - started
        finally:
            lib.wherry_event_free(event)
            scratch.append(place)
        return response

    def _converse(self, draft: Draft) -> Response:
        """A request somebody has to talk to while it runs: a queue of its own."""
        exchange = Exchange(draft)
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
