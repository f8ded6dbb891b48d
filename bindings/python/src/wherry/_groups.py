# Wherry: requests that belong together
# SPDX-License-Identifier: Apache-2.0
"""`Group` and `AsyncGroup`: several requests that end as one; `Run` reads what they tell."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Set, Tuple, Union, cast

from . import _codes as codes
from ._bridge import check, error_at, last_error, lib, made, progress_of
from ._errors import CancelledError, StateError, WherryError
from ._exchange import Channel, Exchange
from ._progress import Progress
from ._request import Draft
from ._response import Response

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._bridge import Record
    from ._chains import BaseChain
    from ._keywords import RequestOptions

    #: What a member brought: an answer, an error, or the list of a group.
    Result = Union[Response, WherryError, List[Any]]

#: What the library tells members and groups apart by; asyncio's own numbers never come so far.
_keys = itertools.count(1 << 48)


class BaseGroup:
    """What both kinds share: the members, and what the last run says of them."""

    _is_chain = False

    def __init__(
        self, client: Any, policy: int = codes.GROUP_FAIL_FAST,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> None:  # fmt: skip
        self._client = client
        self._policy = policy
        self._progress = progress
        self._members: List[Union[Draft, BaseGroup]] = []
        self._drafts: List[Draft] = []
        self._run: Optional[Run] = None
        self._finalizer = weakref.finalize(self, _free, self._drafts)
        #: The place of the member that failed first, in the order of adding; None if none did.
        self.failed: Optional[int] = None
        #: Whether all answers came from a cache, without asking a server.
        self.from_cache = False

    def request(
        self, method: Optional[str], url: str, **options: Unpack[RequestOptions]
    ) -> int:
        """Adds a request; the keywords are those of `RequestOptions`. Returns its place.

        StateError `already_started` once the group has run.
        """
        self._check()
        draft = self._client._draft(method, url, options)
        self._drafts.append(draft)
        return self._joined(draft)

    def get(self, url: str, **options: Unpack[RequestOptions]) -> int:
        """Adds a GET."""
        return self.request("GET", url, **options)

    def post(self, url: str, **options: Unpack[RequestOptions]) -> int:
        """Adds a POST."""
        return self.request("POST", url, **options)

    def put(self, url: str, **options: Unpack[RequestOptions]) -> int:
        """Adds a PUT."""
        return self.request("PUT", url, **options)

    def patch(self, url: str, **options: Unpack[RequestOptions]) -> int:
        """Adds a PATCH."""
        return self.request("PATCH", url, **options)

    def delete(self, url: str, **options: Unpack[RequestOptions]) -> int:
        """Adds a DELETE."""
        return self.request("DELETE", url, **options)

    def add(self, group: BaseGroup) -> int:
        """Adds another group of this client, which counts as one member. Returns its place."""
        self._check()
        return self._joined(group)

    def cancel(self) -> None:
        """Cancels all that are on their way; from any thread."""
        run = self._run
        if run is not None:
            run.cancel()

    def __len__(self) -> int:
        return len(self._members)

    def _check(self) -> None:
        if self._run is not None:
            raise StateError("the group was started before: make another one", "already_started")

    def _joined(self, member: Union[Draft, BaseGroup]) -> int:
        self._members.append(member)
        return len(self._members) - 1

    def _native(self, run: Run, path: Tuple[int, ...] = ()) -> int:
        """A native group with the members, under numbers of their own."""
        handle = made(lib.wherry_group_new, self._policy)
        try:
            # The steps of a chain are told as it goes.
            for index, member in enumerate([] if self._is_chain else self._members):
                key = run.entered(member, path + (index,))
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
        """Starts it, once."""
        BaseGroup._check(self)
        if self._is_chain and cast("BaseChain", self)._steps:
            raise StateError("a chain runs once: make another one", "already_started")
        run = Run(self)
        handle = self._native(run)
        try:
            run.transfer = self._client._begin(
                lib.wherry_client_send_group, handle, queue, run.key
            )
        finally:
            lib.wherry_group_free(handle)  # What was sent goes on.
        self._run = run
        return run

    def _result(self, run: Run) -> List[Any]:
        self.failed = run.failed
        self.from_cache = run.from_cache
        return run.result()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._members)}>"


class Run:
    """One group on its way: reads the events of all its members."""

    def __init__(self, group: BaseGroup) -> None:
        self.group = group
        self.key = next(_keys)
        self.transfer = 0
        #: The members by the number that their events have.
        self.exchanges: Dict[int, Exchange] = {}
        #: The numbers by place: (2, 0) is the first member of the group that is the third one.
        self.keys: Dict[Tuple[int, ...], int] = {}
        self.done = False
        self._is_cancelled = False
        self.error: Optional[BaseException] = None
        self.failed: Optional[int] = None
        self.from_cache = False
        #: How groups among the members ended, by number.
        self._ends: Dict[int, Optional[WherryError]] = {}
        #: Chains by number, and their places.
        self._chains: Dict[int, Tuple[BaseChain, Tuple[int, ...]]] = {}
        #: Called with the number of a member that comes on the way.
        self.on_entered: Callable[[int], object] = lambda key: None
        #: What functions of chains among the members have raised, by number.
        self._thrown: Dict[int, BaseException] = {}
        #: Takes the coroutine of a chain's function, and what is done with its end or its error.
        self.start: Optional[Callable[..., None]] = None
        if group._is_chain:
            self._chains[self.key] = cast("BaseChain", group), ()

    def entered(self, member: Union[Draft, BaseGroup], path: Tuple[int, ...]) -> int:
        """Gives a member the number that its events have."""
        key = self.keys[path] = next(_keys)
        if isinstance(member, Draft):
            self.exchanges[key] = Exchange(member)
        elif member._is_chain:
            chain = cast("BaseChain", member)
            if chain._steps or any(chain is known for known, _ in self._chains.values()):
                raise StateError("a chain runs once: make another one", "already_started")
            self._chains[key] = chain, path
        self.on_entered(key)
        return key

    def decide(self, record: Record) -> bool:
        """Answers what follows in a chain. True where that comes later, and the event is kept."""
        key, event = record[2], record[1]
        found = self._chains.get(key)
        if found is None or self.error is not None:
            return False
        chain, path = found
        sent = chain._steps

        def answered(_: Any) -> None:
            self._answer(event, chain, path)

        def failed(error: BaseException) -> None:
            lib.wherry_event_answer_refuse(event, b"the function of a chain failed")
            # It ends its chain, which is one of several members or all there is.
            if key == self.key:
                self.fail(error)
            else:
                self._thrown[key] = error

        try:
            previous = None if sent == 0 else self._brought(chain, path, sent - 1)
            following = chain._next(previous, self.start is not None)
            if following is None or self.start is None:
                answered(None)
                return False
            self.start(event, following, answered, failed)
            return True
        except Exception as error:
            failed(error)
            return False

    def _answer(self, event: int, chain: BaseChain, path: Tuple[int, ...]) -> None:
        """Sends the next step that the function has added, or ends the chain."""
        index = chain._steps
        if index >= len(chain._members):
            status = lib.wherry_event_answer_stop(event)
        else:
            chain._steps = index + 1
            member = chain._members[index]
            number = self.entered(member, path + (index,))
            if isinstance(member, Draft):
                status = lib.wherry_event_answer_next(event, member.handle, number)
            else:
                inner = member._native(self, path + (index,))
                status = lib.wherry_event_answer_next_group(event, inner, number)
                lib.wherry_group_free(inner)
        if status:
            error = last_error(status)
            if error.reason != "decision_expired":
                raise error
            # The function took too long, or all of it has ended meanwhile.
            if index < len(chain._members) and not self._is_cancelled:
                self.fail(error)

    def _brought(self, chain: BaseChain, path: Tuple[int, ...], index: int) -> Any:
        """What a step has brought."""
        member, place = chain._members[index], path + (index,)
        if isinstance(member, Draft):
            return self.exchanges[self.keys[place]].result()
        return self._results(member, place)

    def read(self, record: Record) -> None:
        """Takes in one event, which stays the caller's."""
        key, kind = record[2], record[4]
        exchange = self.exchanges.get(key)
        if exchange is not None:
            _open(exchange, record)
            exchange.read(record)
            if exchange.done:
                exchange.free()
            return
        if kind == codes.EVENT_DECISION:
            self.decide(record)
        elif kind == codes.EVENT_PROGRESS and key == self.key:
            self._tell(record)
        elif kind == codes.EVENT_DONE:
            error = error_at(lib.wherry_event_error(record[1])) if record[5] else None
            self._ends[key] = error
            if key == self.key:
                self._finish(record, error)

    def _tell(self, record: Record) -> None:
        function = self.group._progress
        if function is None or self.error is not None:
            return
        try:
            function(Progress(progress_of(lib.wherry_event_progress, record[1])))
        except Exception as error:
            self.fail(error)

    def _finish(self, record: Record, error: Optional[WherryError]) -> None:
        self.done = True
        self.failed = None if record[6] < 0 else record[6]
        self.from_cache = bool(record[8] & codes.RECORD_FROM_CACHE)
        if error is not None and self.error is None:
            self.error = self._raised(error)
        self.free()

    def _raised(self, error: WherryError) -> BaseException:
        """What a function of the caller's has raised, where that is behind it, else the library's
        error with its answer."""
        if self._thrown:
            return next(iter(self._thrown.values()))
        for exchange in self.exchanges.values():
            if exchange.error is not None and not isinstance(exchange.error, WherryError):
                return exchange.error
        if self.failed is not None:
            member = self.exchanges.get(self.keys.get((self.failed,), 0))
            if member is not None and member.response.status_code:
                error.response = member.response
                error.http_status = error.http_status or member.response.status_code
        return error

    def fail(self, error: BaseException) -> None:
        """Cancels all of it; `result` raises this error."""
        if self.error is None:
            self.error = error
        self.cancel()

    def cancel(self) -> None:
        self._is_cancelled = True
        if self.transfer and not self.done:
            lib.wherry_transfer_cancel(self.transfer)

    def result(self) -> List[Any]:
        """What the members brought."""
        if self.error is not None:
            raise self.error
        return self._results(self.group, ())

    def _results(self, group: BaseGroup, path: Tuple[int, ...]) -> List[Any]:
        found: List[Any] = []
        for index, member in enumerate(group._members):
            key = self.keys.get(path + (index,), 0)
            if not key:
                break  # A step that did not come.
            if not isinstance(member, Draft):
                end = self._thrown.get(key, self._ends.get(key))
                found.append(self._results(member, path + (index,)) if end is None else end)
                continue
            exchange = self.exchanges[key]
            if not exchange.done:
                found.append(CancelledError("the request was not sent", "cancelled"))
                continue
            try:
                found.append(exchange.result())
            except Exception as error:
                found.append(error)
        return found

    def free(self) -> None:
        """Lets go of the transfers."""
        transfer, self.transfer = self.transfer, 0
        if transfer:
            lib.wherry_transfer_free(transfer)
        for exchange in self.exchanges.values():
            exchange.free()


class Group(BaseGroup):
    """Requests that are sent at once, and end as one; made by `Client.group`.

    ::

        group = client.group()
        for number in numbers:
            group.get(f"items/{number}")
        items = group.run()

    The first that fails, a refusal too, cancels the others, and `run` raises its error, which names
    it. With ``all_settled`` each goes to its end, and `run` returns errors among the answers.
    """

    def run(self) -> List[Any]:
        """Sends all, waits, and returns what they brought in the order of adding: answers, errors,
        and lists of groups. Once: then StateError `already_started`."""
        channel = Channel()
        try:
            run = self._begin(channel.queue)
            try:
                while not run.done:
                    record = channel.next()
                    try:
                        run.read(record)
                    finally:
                        lib.wherry_event_free(record[1])
            finally:
                run.free()
        finally:
            channel.close()  # Ctrl-C: what is bound to it must not outlive the call.
        return self._result(run)


class AsyncGroup(BaseGroup):
    """As `Group`, with coroutines; made by `AsyncClient.group`."""

    async def run(self) -> List[Any]:
        """As `Group.run`. Cancelling the task that waits cancels all of them."""
        import asyncio

        loop = asyncio.get_running_loop()
        pump = self._client._pump(loop)
        run = self._begin(pump.queue)
        end = loop.create_future()

        def read(record: Record) -> bool:
            if record[4] == codes.EVENT_DECISION and record[2] not in run.exchanges:
                return run.decide(record)
            run.read(record)
            if run.done and not end.done():
                end.set_result(None)
            return False

        def gone(record: Record) -> bool:
            if record[1]:
                return read(record)
            run.done = True  # The queue has gone before its end.
            if not end.done():
                end.set_result(None)
            return False

        keeper = _Keeper(run)
        running: Set[asyncio.Future[Any]] = set()

        def enter(key: int) -> None:
            exchange = run.exchanges.get(key)
            if exchange is None:
                pump.sinks[key] = gone, keeper
            else:
                sink = pump.reading(exchange, exchange._draft, read)
                pump.sinks[key] = _opening(exchange, sink), exchange

        def start(
            event: int, following: Any, answered: Callable[[Any], None],
            failed: Callable[[BaseException], None],
        ) -> None:  # fmt: skip
            task = asyncio.ensure_future(following)
            running.add(task)

            def over(task: asyncio.Future[Any]) -> None:
                running.discard(task)
                try:
                    answered(task.result())
                except asyncio.CancelledError:
                    lib.wherry_event_answer_refuse(event, b"the function of a chain was cancelled")
                except BaseException as error:
                    failed(error)
                finally:
                    lib.wherry_event_free(event)

            task.add_done_callback(over)

        run.on_entered, run.start = enter, start
        for key in (*run.keys.values(), run.key):
            enter(key)
        try:
            await end
        except asyncio.CancelledError:
            run.fail(CancelledError("the task that waited was cancelled", "cancelled"))
            raise
        finally:
            for task in list(running):
                task.cancel()
            if run.done:
                run.free()
        return self._result(run)


class _Keeper(Exchange):
    """Stands for a whole group where the queue tells of its own end."""

    __slots__ = ("_run",)

    def __init__(self, run: Run) -> None:
        self._run = run
        self.transfer = 0
        self.done = False
        self.error = None

    def fail(self, error: BaseException) -> None:
        self._run.fail(error)


def _open(exchange: Exchange, record: Record) -> None:
    """Gives a member the handle that it is steered by, with its first event."""
    if record[4] != codes.EVENT_DONE and not exchange.transfer:
        exchange.transfer = made(lib.wherry_event_open_transfer, record[1])


def _opening(exchange: Exchange, sink: Callable[[Record], bool]) -> Callable[[Record], bool]:
    def read(record: Record) -> bool:
        if not record[1]:  # The queue has gone before its end.
            exchange.done = True
            return False
        _open(exchange, record)
        return sink(record)

    return read


def _free(drafts: List[Draft]) -> None:
    for draft in drafts:
        draft.free()


__all__ = ["AsyncGroup", "Group"]
