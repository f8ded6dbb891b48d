# Wherry: groups of requests
# SPDX-License-Identifier: Apache-2.0
"""`Group` and `AsyncGroup`: concurrent requests with one common result."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Set, Tuple, Union, cast

from .._core.calls import check, create
from .._core.exchange.draft import Draft
from .._core.exchange.events import Exchange
from .._core.response.response import Response
from .._errors import ArgumentError, StateError, WherryError, check_plain_function
from .._native import codes
from .._native.library import lib
from .._native.memory import EVENT, KEY, KIND
from .._waiting.blocking import Channel
from .group_run import Run, open_member

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._core.keywords import RequestOptions
    from .._core.progress import Progress
    from .._native.memory import Record
    from .chains import BaseChain

    #: The result of a member: a response, an error, or the list of results of a group.
    Result = Union[Response, WherryError, List[Any]]


class BaseGroup:
    """The common base of `Group` and `AsyncGroup`: the members and the results of the last run."""

    _is_chain = False

    def __init__(
        self, client: Any, policy: int = codes.GROUP_FAIL_FAST,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> None:  # fmt: skip
        if progress is not None:
            check_plain_function("progress", progress)
        self._client = client
        self._policy = policy
        self._progress = progress
        self._members: List[Union[Draft, BaseGroup]] = []
        self._drafts: List[Draft] = []
        self._run: Optional[Run] = None
        self._finalizer = weakref.finalize(self, _free, self._drafts)
        #: The index, in the order of adding, of the member that failed first; None if none failed.
        self.failed: Optional[int] = None
        #: Whether all responses came from a cache, without a request to a server.
        self.from_cache = False

    def request(self, method: Optional[str], url: str, **options: Unpack[RequestOptions]) -> int:
        """Adds a request and returns its index. See `RequestOptions` for the keyword arguments.

        Raises StateError `already_started` if the group has run.
        """
        self._check()
        from .._core.request.auth_flow import first_step, refuse_hooks

        refuse_hooks(options, "a member of a group")
        draft = self._client._draft(*first_step(self._client, method, url, options))
        self._drafts.append(draft)
        return self._append(draft)

    def get(self, url: str, **options: Unpack[RequestOptions]) -> int:
        """Adds a GET request and returns its index."""
        return self.request("GET", url, **options)

    def post(self, url: str, **options: Unpack[RequestOptions]) -> int:
        """Adds a POST request and returns its index."""
        return self.request("POST", url, **options)

    def put(self, url: str, **options: Unpack[RequestOptions]) -> int:
        """Adds a PUT request and returns its index."""
        return self.request("PUT", url, **options)

    def patch(self, url: str, **options: Unpack[RequestOptions]) -> int:
        """Adds a PATCH request and returns its index."""
        return self.request("PATCH", url, **options)

    def delete(self, url: str, **options: Unpack[RequestOptions]) -> int:
        """Adds a DELETE request and returns its index."""
        return self.request("DELETE", url, **options)

    def add(self, group: BaseGroup) -> int:
        """Adds another group of the same client as one member. Returns its index."""
        self._check()
        if group._holds(self):
            raise ArgumentError("a group cannot be a member of itself", "bad_argument")
        return self._append(group)

    def _holds(self, group: BaseGroup) -> bool:
        members = (one for one in self._members if isinstance(one, BaseGroup))
        return self is group or any(one._holds(group) for one in members)

    def cancel(self) -> None:
        """Cancels all running requests. You may call it from any thread."""
        run = self._run
        if run is not None:
            run.cancel()

    def __len__(self) -> int:
        return len(self._members)

    def _check(self) -> None:
        if self._run is not None:
            raise StateError("the group was already started. Create another group.", "already_started")

    def _append(self, member: Union[Draft, BaseGroup]) -> int:
        self._members.append(member)
        return len(self._members) - 1

    def _native(self, run: Run, path: Tuple[int, ...] = ()) -> int:
        """Creates a native group with all members and assigns their event keys."""
        handle = create(lib.wherry_group_new, self._policy)
        try:
            # The steps of a chain are added while it runs.
            for index, member in enumerate([] if self._is_chain else self._members):
                key = run.add_member(member, path + (index,))
                if isinstance(member, Draft):
                    check(lib.wherry_group_add(handle, member.handle, key))
                    continue
                inner = member._native(run, path + (index,))
                try:
                    check(lib.wherry_group_add_group(handle, inner, key))
                finally:
                    lib.wherry_group_free(inner)
        except BaseException:
            lib.wherry_group_free(handle)
            raise
        return handle

    def _begin(self, queue: int) -> Run:
        """Starts the group. A group can start only once."""
        BaseGroup._check(self)
        if self._is_chain and cast("BaseChain", self)._steps:
            raise StateError("the chain was already started. Create another chain.", "already_started")
        run = Run(self)
        handle = self._native(run)
        try:
            run.transfer = self._client._begin(lib.wherry_client_send_group, handle, queue, run.key)
        finally:
            lib.wherry_group_free(handle)  # The transfers continue.
        self._run = run
        return run

    def _result(self, run: Run) -> List[Any]:
        self.failed = run.failed
        self.from_cache = run.from_cache
        return run.result()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._members)}>"


class Group(BaseGroup):
    """Concurrent requests with one common result. See `Client.group`.

    ::

        group = client.group()
        for number in numbers:
            group.get(f"items/{number}")
        items = group.run()

    The first failure, including an error status, cancels the other requests. `run` then raises its
    error, which names the request. With ``all_settled`` every request runs to its end, and `run` returns
    errors among the results.
    """

    def run(self) -> List[Any]:
        """Sends all requests, waits, and returns the results in the order in which the requests were added.

        A result is a response, an error, or the list of results of a nested group. A second call raises
        StateError `already_started`.
        """
        channel = Channel()
        try:
            run = self._begin(channel.queue)
            try:
                while not run.done:
                    channel.pass_next(run.read)
            finally:
                run.free()
        finally:
            channel.close()  # Ctrl-C: cancel the remaining transfers.
        return self._result(run)


class AsyncGroup(BaseGroup):
    """Like `Group`, with coroutines. See `AsyncClient.group`."""

    async def run(self) -> List[Any]:
        """Like `Group.run`. Cancelling the waiting task cancels all requests."""
        import asyncio

        from .._waiting.pump import Completion

        loop = asyncio.get_running_loop()
        pump = self._client._pump(loop)
        run = self._begin(pump.queue)
        completion = Completion(run, loop)

        def read(record: Record) -> bool:
            if record[KIND] == codes.EVENT_HOOK and record[KEY] not in run.exchanges:
                return run.run_hook(record)
            return completion.read(record)

        def read_or_end(record: Record) -> bool:
            if record[EVENT]:
                return read(record)
            run.done = True  # The queue was closed before the run ended.
            completion.finish()
            return False

        keeper = _GroupExchange(run)
        running: Set[asyncio.Future[Any]] = set()

        def add_sink(key: int) -> None:
            exchange = run.exchanges.get(key)
            if exchange is None:
                pump.sinks[key] = read_or_end, keeper
            else:
                sink = pump.wrap_sink(exchange, exchange._draft, read)
                pump.sinks[key] = _opens_transfer(exchange, sink), exchange

        def start(
            event: int, following: Any, on_success: Callable[[Any], None],
            failed: Callable[[BaseException], None],
        ) -> None:  # fmt: skip
            task = asyncio.ensure_future(following)
            running.add(task)

            def on_done(task: asyncio.Future[Any]) -> None:
                running.discard(task)
                try:
                    on_success(task.result())
                except asyncio.CancelledError:
                    lib.wherry_event_resolve_refuse(event, b"the function of a chain was cancelled")
                except BaseException as error:
                    failed(error)
                finally:
                    lib.wherry_event_free(event)

            task.add_done_callback(on_done)

        run.on_member_added, run.start = add_sink, start
        for key in (*run.keys.values(), run.key):
            add_sink(key)
        try:
            await completion.wait()
        finally:
            for task in list(running):
                task.cancel()
            if run.done:
                run.free()
        return self._result(run)


class _GroupExchange(Exchange):
    """Represents the whole group in the pump, so that closing the pump ends the group."""

    __slots__ = ("_run",)

    def __init__(self, run: Run) -> None:
        self._run = run
        self.transfer = 0
        self.done = False
        self.error = self.raised = None

    def fail(self, error: BaseException) -> None:
        self._run.fail(error)


def _opens_transfer(exchange: Exchange, sink: Callable[[Record], bool]) -> Callable[[Record], bool]:
    def read(record: Record) -> bool:
        if not record[EVENT]:  # The queue was closed before the transfer ended.
            exchange.done = True
            return False
        open_member(exchange, record)
        return sink(record)

    return read


def _free(drafts: List[Draft]) -> None:
    for draft in drafts:
        draft.free()
