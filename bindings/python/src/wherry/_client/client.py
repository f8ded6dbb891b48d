# Wherry: the blocking client
# SPDX-License-Identifier: Apache-2.0
"""The blocking client. Any thread may use a client."""

from __future__ import annotations

from time import perf_counter

from .._core import Deferred
from .._core.calls import SLICE_MS
from .._core.values import match, text, url_text
from .._errors import TimeoutError, WherryError, brief
from .._native import codes
from .._native.library import integer, lib, pointer, prepared
from .._native.memory import EVENT, PLAIN_RECORD, Cell, Records, bytes_at
from .base import BaseClient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Mapping, Optional, TypeVar

    from typing_extensions import Unpack

    from .._core.exchange import events
    from .._core.exchange.draft import Draft
    from .._core.exchange.event_hooks import Send
    from .._core.keywords import (
        DownloadOptions, PageOptions, StreamOptions, Target, UploadOptions, Which,
    )  # fmt: skip
    from .._core.progress import Progress
    from .._core.response import response as responses
    from .._core.response.response import Response
    from .._models.pages import Pages
    from .._transfers.chains import Chain
    from .._transfers.downloads import Download
    from .._transfers.groups import Group
    from .._transfers.streams import Stream
    from .._waiting import blocking
    from . import cache as caches
    from .cache import Cache
    from .images import ImageLoader

    Self = TypeVar("Self", bound="Client")
else:
    # A new client needs none of these.

    @Deferred
    def events():
        from .._core.exchange import events

        return events

    @Deferred
    def responses():
        from .._core.response import response

        return response

    @Deferred
    def blocking():
        from .._waiting import blocking

        return blocking

    @Deferred
    def caches():
        from . import cache

        return cache


class _Call:
    """The functions, arguments, and memory of one blocking call.

    Most calls reuse one of an earlier call, because creating these objects takes as long as sending a
    request.
    """

    __slots__ = (
        "perform_for", "client", "client_argument", "slice", "transfer", "transfer_argument",
        "record", "record_argument", "event_free", "event_argument", "freed",
    )  # fmt: skip

    def __init__(self) -> None:
        self.perform_for = prepared("wherry_client_perform_for")
        #: The client of the last call, as a handle and as an argument.
        self.client = 0
        self.client_argument = pointer(0)
        self.slice = integer(SLICE_MS)
        self.transfer = Cell()
        self.transfer_argument = pointer(self.transfer.address)
        self.record = Records(1)
        self.record_argument = pointer(self.record.address)
        self.event_free = prepared("wherry_event_free")
        #: The event of the record.
        self.event_argument = self.record.first_event()
        #: The event of the record, if it was freed already.
        self.freed = 0


#: Unused `_Call` objects. Popping from a list is atomic, so threads and signal handlers that interrupt
#: another call each get their own, without a lock.
_calls: List[_Call] = []


class Client(BaseClient["Response"]):
    """A blocking client. Use it in a ``with`` statement, or call `close`.

    Responses of any status are returned without an error, as in the requests library. Call
    `Response.raise_for_status` to raise an error for an error status. Failures without a response
    raise a `WherryError`. Ctrl-C cancels the request.
    """

    def _request(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Response:
        if isinstance(url, bytes):
            url = url_text(url)
        try:
            request = self._plain_request(method, options)
            if request:
                if self._own_cookies is not None:
                    self._add_own_cookies(url, options)
                response = self._perform(request, text(url, "bad_url"), url)
                known = self._plain_arguments.get(method)
                response._arguments = known or self._new_plain_arguments(method)
                return response
            if self._needs_middleware(options):
                return self._with_middleware(self._draft_and_send, method, url, options)
            return self._send_draft(self._draft(method, url, options))
        except WherryError as error:
            self._add_request(error, method, url, options)
            raise

    def _with_middleware(self, send: Send, method: Optional[str], url: str, options: Mapping[str, Any]) -> Response:
        """Sends a request with its auth flow and hooks, if any."""
        from .._waiting.running import run

        return run(self._middleware(send, method, url, options))

    def _draft_and_send(self, method: Optional[str], url: str, options: Mapping[str, Any]) -> Response:
        return self._send_draft(self._draft(method, url, options))

    def _send_draft(self, draft: Draft) -> Response:
        """Sends a request and frees its draft."""
        try:
            if draft.needs_events:
                return self._send_with_events(draft)
            return self._perform(pointer(draft.handle), None, draft.url, draft)
        finally:
            draft.free()

    @property
    def cache(self) -> Cache:
        """The cached responses of this client."""
        return caches.Cache(self)

    @property
    def images(self) -> ImageLoader:
        """Loads images from URLs, and keeps them decoded in memory. See `ImageLoader`."""
        from .images import ImageLoader

        return ImageLoader(self)

    def stream(self, method: str, url: str, **options: Unpack[StreamOptions]) -> Stream:
        """Streams a response::

        with client.stream("GET", url) as r:
            for piece in r.iter_bytes():
                ...
        """
        from .._transfers.streams import Stream

        return Stream(self, method, url, options)

    def pages(self, url: str, *, method: Optional[str] = None, **options: Unpack[PageOptions]) -> Pages[Any]:
        """Returns a paginated list: ``for item in client.pages("books")``.

        No request is sent until the first page is needed. If neither a method nor parameters are
        given, the method is GET. See `PageOptions` for the keyword arguments:
        help(wherry.PageOptions).
        """
        from .._models.pages import Pages

        return Pages(self, method, url, options)

    def group(
        self, *, all_settled: bool = False,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> Group:  # fmt: skip
        """Creates a group of concurrent requests: ``group.get(...)``, then ``group.run()``.

        The first failure cancels the other requests, unless ``all_settled`` is True. ``progress`` is
        called when a request ends. See `Group`.
        """
        from .._transfers.groups import Group

        policy = codes.GROUP_ALL_SETTLED if all_settled else codes.GROUP_FAIL_FAST
        return Group(self, policy, progress)

    def chain(
        self, function: Callable[[Chain, Any], object], *,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> Chain:  # fmt: skip
        """Creates a chain of sequential requests.

        ``function(chain, previous)`` adds the next step. ``progress`` is called when a step ends. See
        `Chain`.
        """
        from .._transfers.chains import Chain

        return Chain(self, function, progress)

    def upload(self, url: str, images: Any, **options: Unpack[UploadOptions]) -> Response:
        """Uploads images as one multipart form and returns the response.

        ``images`` is one image or several. Each is a path, encoded bytes, a Pillow image, or a uint8
        array of shape (h, w), (h, w, 3) or (h, w, 4). Each may also be a pair (file name, image).

        `UploadOptions` lists the keyword arguments: ``name``, ``quality``, ``compression``,
        ``fields``, ``progress``, ``method``, and the keywords of every request.
        """
        from .._waiting.running import run

        return run(self._upload(url, images, options))

    def start_download(self, url: str, path: Target = None, **options: Unpack[DownloadOptions]) -> Download:
        """Starts a download to ``path``, or to ``directory`` with the name that the server suggests.

        The file appears under its final name only when it is complete and its digest, if given,
        matches. ``resume`` continues a partial file of an earlier run (default: True). If the target
        exists, the download fails before a request is sent, unless ``overwrite`` or ``rename`` is True.
        ``rename`` adds a number to the name.

        `DownloadOptions` lists all keyword arguments, including ``make_directories``, ``sha256``,
        ``sha512``, ``sha1``, ``md5``, ``digest``, ``progress``, and the keywords of every request.
        """
        from .._transfers.downloads import Download, prepare

        draft, target = prepare(self, url, path, options)
        try:
            return Download(self, draft, target)
        finally:
            draft.free()

    def download(self, url: str, path: Target = None, **options: Unpack[DownloadOptions]) -> str:
        """Downloads a file and returns its path. Takes the same arguments as `start_download`."""
        with self.start_download(url, path, **options) as handle:
            return handle.wait()

    def wait(self, *, timeout: Optional[float] = None, **which: Which) -> None:
        """Waits until all transfers, or the selected ones, have ended.

        Select transfers with one of url=, tag=, identifier= or path=.

        Raises TimeoutError after ``timeout`` seconds (default: no timeout).
        """
        self._sliced(lib.wherry_client_wait, timeout, self._live(), *match(which))

    def drain(self, timeout: Optional[float] = None) -> None:
        """Accepts no more requests, and waits until all running transfers have ended.

        Raises TimeoutError after ``timeout`` seconds (default: no timeout). The remaining transfers
        continue.
        """
        self._sliced(lib.wherry_client_drain, timeout, self._live())

    def close(self) -> None:
        """Cancels running requests and closes the connections. You may call it more than once."""
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

    # Waiting

    def _perform(
        self,
        request: Any,
        address: Optional[bytes],
        url: str,
        draft: Optional[Draft] = None,
    ) -> Response:
        """Sends a request and waits in short slices, so that signals are handled in between."""
        try:
            call = _calls.pop()
        except IndexError:
            call = _Call()
        client = self._handle
        if client != call.client:
            call.client, call.client_argument = client, pointer(client)
        running = 0
        record: Any = ()
        started = perf_counter()
        try:
            status = call.perform_for(
                call.client_argument, request, address, call.slice, call.transfer_argument, call.record_argument
            )
            if status == codes.E_TIMEOUT:
                running = call.transfer.take()
                while status == codes.E_TIMEOUT:
                    status = lib.wherry_transfer_wait(running, SLICE_MS, call.record.address)
            if running:
                lib.wherry_transfer_free(running)
            if not status:
                record = PLAIN_RECORD.unpack_from(call.record.view)
        except BaseException:  # Ctrl-C: free the transfer and its event.
            running = running or call.transfer.take()
            if running:
                lib.wherry_transfer_cancel(running)
                lib.wherry_transfer_free(running)
            event = call.record.at()[EVENT]
            if event != call.freed:
                lib.wherry_event_free(event)
            raise
        if status:
            _calls.append(call)
            raise self._start_error(status)
        event, _, _, status, code, flags, body, size, headers, length = record
        try:
            if draft is not None:
                response = draft.new_response()
                events.finish_response(response, call.record.at(), draft)
            elif (
                status
                or flags & ~responses.VERSION_FLAGS
                or self._url_depends
                or not (url == self._clean_url or self._is_clean(url))
            ):
                response = responses.received(url=url)
                events.finish_response(response, call.record.at(), None)
            else:  # Equivalent to `finish_response` for a plain success.
                response = responses.received(code, bytes_at(headers, length), bytes_at(body, size), url)
                if flags:
                    response._version = responses.version(flags)
            response._seconds = perf_counter() - started
        finally:
            call.event_free(call.event_argument)
            call.freed = event
            _calls.append(call)
        return response

    def _send_with_events(self, draft: Draft) -> Response:
        """Sends a request that needs hooks or a streamed body, with a separate queue."""
        exchange = events.Exchange(draft)
        channel = blocking.Channel()
        try:
            exchange.transfer = self._begin(lib.wherry_client_send, draft.handle, channel.queue, 1)
            channel.run(exchange)
        finally:
            channel.close()
            exchange.free()
        return exchange.result()

    def _sliced(self, function: Any, timeout: Optional[float], *arguments: Any) -> None:
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
            raise TypeError(f"timeout= takes a number of seconds or None, not {brief(timeout)}")
        deadline = blocking.deadline_after(timeout)
        while True:
            wait = blocking.slice_until(deadline)
            status = function(*arguments, wait)
            if status != codes.E_TIMEOUT:
                if status:
                    raise self._start_error(status)
                return
            if not wait:
                raise TimeoutError("the wait timed out before all transfers finished", "timeout")


#: An alias with the name that requests uses.
Session = Client
