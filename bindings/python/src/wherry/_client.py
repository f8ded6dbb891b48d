# Wherry: the blocking client
# SPDX-License-Identifier: Apache-2.0
"""Requests that wait for their answer; any thread may use a client."""

from __future__ import annotations

from time import perf_counter

from . import _codes as codes
from ._base import BaseClient
from ._bridge import ANSWER, Scratch, bytes_at, lib, scratch, text, url_text
from ._errors import TimeoutError, WherryError
from ._exchange import SLICE_MS, VERSION_FLAGS, Channel, Exchange, settle, version
from ._managed import match
from ._request import PLAIN, plain
from ._response import Response, received

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping, Optional, TypeVar

    from typing_extensions import Unpack

    from ._cache import Cache
    from ._download import Download
    from ._chains import Chain
    from ._groups import Group
    from ._layers import Send
    from ._keywords import (
        DownloadOptions, PageOptions, StreamOptions, Target, UploadOptions, Which,
    )  # fmt: skip
    from ._pages import Pages
    from ._progress import Progress
    from ._request import Draft
    from ._stream import Stream

    Self = TypeVar("Self", bound="Client")


class Client(BaseClient["Response"]):
    """A blocking client. Use it in a ``with`` statement, or call `close`.

    An answer of any status is returned, as in requests: `Response.raise_for_status` raises. What
    goes wrong before an answer is there raises a `WherryError`. Ctrl-C cancels the request.
    """

    def _request(
        self, method: Optional[str], url: str, options: Mapping[str, Any]
    ) -> Response:
        if isinstance(url, bytes):
            url = url_text(url)
        try:
            if not options and not self._query and not self._defaults and not self._extras:
                request = PLAIN.get(method) or plain(method)
                if request:
                    if self._own_cookies is not None:
                        self._seed_cookies(url, options)
                    response = self._perform(request, text(url, "bad_url"), url)
                    response._asked = self._plain_asked.get(method) or self._plain(method, url)
                    return response
            if self._extras or "auth" in options or "hooks" in options:
                return self._layered(self._drafted, method, url, options)
            return self._sent(self._draft(method, url, options))
        except WherryError as error:
            self._blamed(error, method, url, options)
            raise

    def _layered(
        self, send: Send, method: Optional[str], url: str, options: Mapping[str, Any]
    ) -> Response:
        """The response after the auth flow and the hooks, if there are some."""
        from ._layers import layers

        found = layers(self, options)
        return send(method, url, options) if found is None else found.run(send, method, url, options)

    def _drafted(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Response:
        return self._sent(self._draft(method, url, options))

    def _sent(self, draft: Draft) -> Response:
        """The answer to a request, which is freed."""
        try:
            if draft.needs_events:
                return self._converse(draft)
            return self._perform(draft.handle, None, draft.url, draft)
        finally:
            draft.free()

    @property
    def cache(self) -> Cache:
        """What is stored for later."""
        from ._cache import Cache

        return Cache(self)

    def stream(self, method: str, url: str, **options: Unpack[StreamOptions]) -> Stream:
        """``with client.stream("GET", url) as response: for piece in response.iter_bytes()``."""
        from ._stream import Stream

        return Stream(self, method, url, options)

    def pages(
        self, url: str, *, method: Optional[str] = None, **options: Unpack[PageOptions]
    ) -> Pages[Any]:
        """A list that a server hands out in pages: ``for item in client.pages("books")``.

        Nothing is sent before the first page is asked for. The keywords are those of `PageOptions`,
        see help(wherry.PageOptions); without a method and parameters it is GET.
        """
        from ._pages import Pages

        return Pages(self, method, url, options)

    def group(
        self, *, all_settled: bool = False,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> Group:  # fmt: skip
        """Requests that are sent at once and end as one: ``group.get(...)``, then ``group.run()``.

        The first that fails cancels the others, unless ``all_settled``. ``progress`` is called as
        each ends; see `Group`.
        """
        from ._groups import Group

        policy = codes.GROUP_ALL_SETTLED if all_settled else codes.GROUP_FAIL_FAST
        return Group(self, policy, progress)

    def chain(
        self, function: Callable[[Chain, Any], object], *,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> Chain:  # fmt: skip
        """Requests of which each begins when the one before is done, as ``function(chain, previous)``
        adds them; see `Chain`. ``progress`` is called as each ends."""
        from ._chains import Chain

        return Chain(self, function, progress)

    def upload(self, url: str, pictures: Any, **options: Unpack[UploadOptions]) -> Response:
        """Sends pictures as one multipart form and waits for the answer.

        ``pictures`` is one or several of: a path, encoded bytes, an array of uint8 of shape (h, w),
        (h, w, 3) or (h, w, 4), a Pillow image; each may be a pair (file name, picture). The
        keywords are those of `UploadOptions`: ``name``, ``quality``, ``compression``, ``fields``,
        ``progress``, ``method``, and those of every request.
        """
        from ._images import prepare, several

        pictures = several(pictures)

        def send(method: Optional[str], url: str, options: Mapping[str, Any]) -> Response:
            return self._sent(prepare(self, url, pictures, {**options, "method": method}))

        return self._layered(send, options.get("method", "POST"), url, options)

    def start_download(
        self, url: str, path: Target = None, **options: Unpack[DownloadOptions]
    ) -> Download:
        """Starts a download into ``path``, or into ``directory`` under the server's name for it.

        The file appears under its name only when it is whole and has the digest that was asked
        for. ``resume`` goes on with what an earlier run has kept. A target that exists is an error
        before anything is sent, unless ``overwrite`` or ``rename`` (a name with a number) is True.
        The keywords are those of `DownloadOptions`: also ``make_directories``, ``sha256``,
        ``sha512``, ``sha1``, ``md5``, ``digest``, ``progress``, and those of every request.
        """
        from ._download import Download, prepare

        draft, target = prepare(self, url, path, options)
        try:
            return Download(self, draft, target)
        finally:
            draft.free()

    def download(
        self, url: str, path: Target = None, **options: Unpack[DownloadOptions]
    ) -> str:
        """Downloads as `start_download` does, waits, and returns the file's path."""
        with self.start_download(url, path, **options) as handle:
            return handle.wait()

    def wait(self, *, timeout: Optional[float] = None, **which: Which) -> None:
        """Waits until all have ended, or those of one url=, tag=, identifier= or path=."""
        self._sliced(lib.wherry_client_wait, timeout, self._live(), *match(which))

    def drain(self, timeout: Optional[float] = None) -> None:
        """Takes no more requests and waits for what runs; TimeoutError leaves the rest running."""
        self._sliced(lib.wherry_client_drain, timeout, self._live())

    def close(self) -> None:
        """Cancels what is in flight and frees the connections. Twice is fine."""
        router = self._router if self._has_handle else None
        self._free()
        if router is not None:
            router.close()

    def __enter__(self: Self) -> Self:
        self._live()
        if self._router is not None:
            self._router.enter()
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
        answer: Any = ()
        started = perf_counter()
        try:
            status = lib.wherry_client_perform_for(
                self._handle, request, address, SLICE_MS, place.transfer_address, record_address
            )
            if status == codes.E_TIMEOUT:
                running = place.transfer.take()
                while status == codes.E_TIMEOUT:
                    status = lib.wherry_transfer_wait(running, SLICE_MS, record_address)
            if running:
                lib.wherry_transfer_free(running)
            if not status:
                answer = ANSWER.unpack_from(place.record.view)
        except BaseException:  # Ctrl-C: the transfer must not outlive the call, nor its answer.
            running = running or place.transfer.take()
            if running:
                lib.wherry_transfer_cancel(running)
                lib.wherry_transfer_free(running)
            event = place.record.at()[1]
            if event != place.freed:
                lib.wherry_event_free(event)
            raise
        if status:
            scratch.append(place)
            raise self._refusal(status)
        event, _, _, status, code, flags, body, size, head, length = answer
        try:
            if draft is not None:
                response = draft.answer()
                settle(response, place.record.at(), draft)
            elif status or flags & ~VERSION_FLAGS or self._url_depends or not (
                url == self._clean_url or self._is_clean(url)
            ):
                response = received(url=url)
                settle(response, place.record.at(), None)
            else:  # What `settle` does with a plain success.
                response = received(code, bytes_at(head, length), bytes_at(body, size), url)
                if flags:
                    response._version = version(flags)
            response._seconds = perf_counter() - started
        finally:
            lib.wherry_event_free(event)
            place.freed = event
            scratch.append(place)
        return response

    def _converse(self, draft: Draft) -> Response:
        """A request somebody has to talk to while it runs: a queue of its own."""
        exchange = Exchange(draft)
        channel = Channel()
        try:
            exchange.transfer = self._begin(
                lib.wherry_client_send, draft.handle, channel.queue, 1
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
                if status:
                    raise self._refusal(status)
                return
            if deadline is not None and perf_counter() >= deadline:
                raise TimeoutError("not everything has ended in time", "timeout")


#: The name that requests has for a client.
Session = Client
