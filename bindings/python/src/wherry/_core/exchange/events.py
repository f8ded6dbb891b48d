# Wherry: handling of the events of one transfer
# SPDX-License-Identifier: Apache-2.0
"""Turns event records into responses, independently of how the caller waits for them."""

from __future__ import annotations

import os
from time import perf_counter

from ..._errors import WherryError, check_not_coroutine
from ..._native import codes
from ..._native.library import lib
from ..._native.memory import (
    BODY, BODY_SIZE, DETAIL, EVENT, FLAGS, HEADERS, HEADERS_SIZE, HTTP_CODE, KIND, METRICS, REASON,
    STATUS, bytes_at, path_at, text_at,
)  # fmt: skip
from ..calls import (
    create, error_at, failed_images, image_results, last_error, read_progress, read_struct,
)  # fmt: skip
from ..progress import Metrics, Progress
from ..response.native import informational, redirects, response_from_native
from ..response.response import VERSION_FLAGS, Response, version
from .hooks import HookCall, run_hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, Tuple

    from ..._errors import ImageResult
    from ..._native.memory import Record
    from ..request.body import Source
    from .draft import Draft


def fill_headers(response: Response, record: Record) -> None:
    """Fills in the status, headers and URL from a HEAD or DONE record."""
    event, flags = record[EVENT], record[FLAGS]
    response.status_code = record[HTTP_CODE]
    if flags & VERSION_FLAGS:
        response._version = version(flags)
    count = record[HEADERS_SIZE]
    if count:
        response._raw_headers = bytes_at(record[HEADERS], count)
    borrowed = lib.wherry_event_response(event)
    found = lib.wherry_response_url(borrowed)
    if response._fragment is None:
        response._fragment = response.url.partition("#")[2]
    if found is not None:
        response.url = found.decode("utf-8", "replace")
    if flags & codes.RECORD_REDIRECTED:
        response.history = redirects(borrowed)
    if response._fragment or any(b"#" in hop._raw_headers for hop in response._hops):
        keep_fragments(response, response._fragment)
    if flags & codes.RECORD_INFORMATIONAL:
        response.informational = informational(borrowed)
    if flags & codes.RECORD_FROM_CACHE:
        response.from_cache = True
        response.is_stale = flags & codes.RECORD_STALE != 0
        response.is_revalidated = flags & codes.RECORD_REVALIDATED != 0
    if flags & codes.RECORD_LENGTH_UNVERIFIED:
        response.is_length_unverified = True
    if flags & codes.RECORD_UNCHANGED:
        response.unchanged = True


def keep_fragments(response: Response, fragment: str) -> None:
    """Adds the fragments that the library omits from URLs (RFC 9110, section 10.2.2).

    The fragment is that of the request URL, or of the last redirect that has one.
    """
    for hop in response._hops:
        if fragment:
            hop.url = f"{hop.url.partition('#')[0]}#{fragment}"
        fragment = hop.headers.get("location", "").partition("#")[2] or fragment
    if fragment:
        response.url = f"{response.url.partition('#')[0]}#{fragment}"


def fill_response(response: Response, record: Record, draft: Optional[Draft]) -> None:
    """Fills in the response from a DONE record."""
    fill_headers(response, record)
    if record[BODY_SIZE]:
        response._body = bytes_at(record[BODY], record[BODY_SIZE])
    if draft is not None and draft.wants_metrics:
        borrowed = lib.wherry_event_response(record[EVENT])
        response.metrics = Metrics(
            read_struct(METRICS, lib.wherry_response_metrics, borrowed),
            lib.wherry_response_remote_address(borrowed),
            lib.wherry_response_suggested_name(borrowed),
        )  # fmt: skip


def finish_response(response: Response, record: Record, draft: Optional[Draft]) -> None:
    """Fills in the response from its DONE record, or raises the error of the transfer.

    An error status alone does not raise an error: the caller checks the status, as in requests.
    """
    status = record[STATUS]
    if status == 0 or (status == codes.E_HTTP and text_at(record[REASON]) == "http_status"):
        fill_response(response, record, draft)
        if status:
            error = lib.wherry_event_error(record[EVENT])
            response._error = error_at(error)
            if draft is not None and draft.images:
                response.failed_images = failed_images(error)
        if draft is not None:
            if draft.images:
                response.images = images_of(record[EVENT])
            if codes.HOOK_HEADERS in draft.functions:
                response.saved_path = path_at(lib.wherry_event_text(record[EVENT]))
        return
    raise failure(record, response, draft)


def failure(record: Record, response: Response, draft: Optional[Draft]) -> WherryError:
    """Returns the error of a DONE record, with the response if there is one."""
    event = record[EVENT]
    handle = lib.wherry_event_error(event)
    error = error_at(handle) if handle else last_error(record[STATUS])
    if draft is not None:
        error.context = draft.context
        if draft.arguments is not None:
            error.request = draft.arguments.at(draft.url)
        if draft.images and handle:
            error.failed_images = failed_images(handle)
            error.images = images_of(event)
    if record[HTTP_CODE]:
        fill_response(response, record, draft)
        error.response = response
        if response._arguments is not None:
            error.request = response.request
        error.http_status = error.http_status or record[HTTP_CODE]
    return error


def images_of(event: int) -> Tuple[ImageResult, ...]:
    """Returns the current image results of an event's transfer."""
    transfer = create(lib.wherry_event_open_transfer, event)
    try:
        listing = create(lib.wherry_transfer_list_images, transfer)
        return image_results(listing, response_from_native)
    finally:
        lib.wherry_transfer_free(transfer)


def digests(event: int) -> Tuple[Tuple[str, str], ...]:
    """Returns the digests of a finished download, by name."""
    found = ((name, lib.wherry_event_digest(event, kind)) for name, kind in codes.DIGESTS.items())
    return tuple((name, value.decode()) for name, value in found if value is not None)


class Exchange:
    """A transfer with events to handle: progress, hooks, streamed bodies, downloads."""

    __slots__ = (
        "response", "transfer", "done", "error", "raised", "path", "digests", "has_headers",
        "on_progress", "_source", "_draft", "_is_download", "_started", "_retries",
    )  # fmt: skip

    def __init__(self, draft: Draft, is_download: bool = False) -> None:
        self.response = draft.new_response()
        self.transfer = 0
        self.done = False
        self.has_headers = False
        self.error: Optional[BaseException] = None
        #: The error, if a hook or the caller raised it instead of the transfer.
        self.raised: Optional[BaseException] = None
        #: The path of the finished download.
        self.path: Optional[str] = None
        #: The computed digests of the download, in hexadecimal.
        self.digests: Tuple[Tuple[str, str], ...] = ()
        self.on_progress: Optional[Callable[[Progress], object]] = draft.progress
        self._source: Optional[Source] = draft.source
        self._draft = draft
        self._is_download = is_download
        self._started = perf_counter()
        #: The number of failures passed to the ``on_retry=`` hook.
        self._retries = 0

    def read(self, record: Record) -> bool:
        """Handles one event. Returns whether it was the last one. The caller still owns the event.

        An exception from a hook or from the body's iterator cancels the transfer and becomes the
        error of the transfer.
        """
        kind = record[KIND]
        try:
            if kind == codes.EVENT_PROGRESS:
                self._progress(record)
            elif kind == codes.EVENT_WANT_BODY:
                self.want_body()
            elif kind == codes.EVENT_CACHED:
                self._pass_cached(record)
            elif kind == codes.EVENT_HOOK:
                run_hook(self, record)
            elif kind == codes.EVENT_HEADERS:
                fill_headers(self.response, record)
                self.has_headers = True
            elif kind == codes.EVENT_DONE:
                self._finish(record)
        except Exception as error:
            self.fail(error)
        return self.done

    def want_body(self) -> None:
        """Writes body data for a WANT_BODY event."""
        if self._source is not None and self.error is None:
            self._source.write(self.transfer)

    def _pass_cached(self, record: Record) -> None:
        if self._draft.on_cached is not None and self.error is None:
            response = self._draft.new_response()
            fill_response(response, record, None)
            check_not_coroutine("on_cached", self._draft.on_cached(response))

    def hook_call(self, record: Record) -> Optional[HookCall]:
        """Returns the call of a HOOK event, or None if the request has no such hook."""
        if self.error is not None or record[DETAIL] not in self._draft.functions:
            return None
        call = HookCall(self._draft, record, self._retries)
        self._retries += record[DETAIL] == codes.HOOK_RETRY
        return None if call.is_success else call

    def _progress(self, record: Record) -> None:
        if self.on_progress is not None and self.error is None:
            progress = Progress(read_progress(lib.wherry_event_progress, record[EVENT]))
            if self._draft.is_separate:
                progress.images = images_of(record[EVENT])
            check_not_coroutine("progress", self.on_progress(progress))

    def fail(self, error: BaseException) -> None:
        """Cancels the transfer. `result` then raises ``error``."""
        if self.error is None:
            self.error = self.raised = error
        if self.transfer and not self.done:
            lib.wherry_transfer_cancel(self.transfer)

    def _finish(self, record: Record) -> None:
        self.done = True
        self.response._seconds = perf_counter() - self._started
        if self.error is not None:
            return
        if self._is_download:
            if record[STATUS]:
                self.error = self._raised_by_transport(failure(record, self.response, self._draft))
                return
            found = lib.wherry_event_text(record[EVENT])
            self.path = None if found is None else os.fsdecode(found)
            self.digests = digests(record[EVENT])
        try:
            finish_response(self.response, record, self._draft)
        except Exception as error:
            self.error = self._raised_by_transport(error)

    def _raised_by_transport(self, error: Exception) -> BaseException:
        """Returns the transport's exception if it caused ``error``; otherwise ``error``."""
        raised = self._draft.transport_error
        if not isinstance(raised, WherryError) or getattr(error, "reason", None) != raised.reason:
            return error
        raised.request = raised.request or getattr(error, "request", None)
        return raised

    def result(self) -> Response:
        """Returns the response of the finished transfer, or raises its error."""
        if self.error is not None:
            raise self.error
        return self.response

    def free(self) -> None:
        """Frees the transfer handle."""
        transfer, self.transfer = self.transfer, 0
        if transfer:
            lib.wherry_transfer_free(transfer)
