# Wherry: a running group of requests
# SPDX-License-Identifier: Apache-2.0
"""`Run`: handles the events of a group's members, and calls the functions of chains."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Union, cast

from .._core.calls import create, error_at, last_error, read_progress
from .._core.exchange.draft import Draft
from .._core.exchange.events import Exchange
from .._core.progress import Progress
from .._errors import CancelledError, StateError, WherryError, check_not_coroutine
from .._native import codes
from .._native.library import lib
from .._native.memory import DETAIL, EVENT, FLAGS, KEY, KIND, STATUS

if TYPE_CHECKING:
    from .._native.memory import Record
    from .chains import BaseChain
    from .groups import BaseGroup

#: The event keys of members and groups. They start above any key that asyncio requests use.
_keys = itertools.count(1 << 48)


class Run:
    """A running group. Handles the events of all its members."""

    def __init__(self, group: BaseGroup) -> None:
        self.group = group
        self.key = next(_keys)
        self.transfer = 0
        #: The members by event key.
        self.exchanges: Dict[int, Exchange] = {}
        #: The event keys by position: (2, 0) is the first member of the group at index 2.
        self.keys: Dict[Tuple[int, ...], int] = {}
        self.done = False
        self._is_cancelled = False
        self.error: Optional[BaseException] = None
        self.failed: Optional[int] = None
        self.from_cache = False
        #: The errors of nested groups that have ended, by event key. None means success.
        self._ends: Dict[int, Optional[WherryError]] = {}
        #: The chains and their positions, by event key.
        self._chains: Dict[int, Tuple[BaseChain, Tuple[int, ...]]] = {}
        #: Called with the event key of each new member.
        self.on_member_added: Callable[[int], object] = lambda key: None
        #: The exceptions raised by functions of nested chains, by event key.
        self._function_errors: Dict[int, BaseException] = {}
        #: Runs the coroutine of a chain's function: (event, coroutine, on_success, on_error).
        self.start: Optional[Callable[..., None]] = None
        if group._is_chain:
            self._chains[self.key] = cast("BaseChain", group), ()

    def add_member(self, member: Union[Draft, BaseGroup], path: Tuple[int, ...]) -> int:
        """Assigns an event key to a member and returns the key."""
        key = self.keys[path] = next(_keys)
        if isinstance(member, Draft):
            self.exchanges[key] = Exchange(member)
        elif member._is_chain:
            chain = cast("BaseChain", member)
            if chain._steps or any(chain is known for known, _ in self._chains.values()):
                raise StateError("the chain was already started. Create another chain.", "already_started")
            self._chains[key] = chain, path
        self.on_member_added(key)
        return key

    def run_hook(self, record: Record) -> bool:
        """Runs the function of a chain. Returns True to keep the event and resolve it later."""
        key, event = record[KEY], record[EVENT]
        found = self._chains.get(key)
        if found is None or self.error is not None:
            return False
        chain, path = found
        sent = chain._steps

        def on_success(_: Any) -> None:
            self._send_next(event, chain, path)

        def failed(error: BaseException) -> None:
            lib.wherry_event_resolve_refuse(event, b"the function of a chain failed")
            # The error ends this chain, which is either nested or the whole run.
            if key == self.key:
                self.fail(error)
            else:
                self._function_errors[key] = error

        try:
            previous = None if sent == 0 else self._step_result(chain, path, sent - 1)
            following = chain._next(previous, self.start is not None)
            if following is None or self.start is None:
                on_success(None)
                return False
            self.start(event, following, on_success, failed)
            return True
        except Exception as error:
            failed(error)
            return False

    def _send_next(self, event: int, chain: BaseChain, path: Tuple[int, ...]) -> None:
        """Sends the next step of the chain, or ends the chain if there is none."""
        index = chain._steps
        if index >= len(chain._members):
            status = lib.wherry_event_resolve_stop(event)
        else:
            chain._steps = index + 1
            member = chain._members[index]
            number = self.add_member(member, path + (index,))
            if isinstance(member, Draft):
                status = lib.wherry_event_resolve_next(event, member.handle, number)
            else:
                inner = member._native(self, path + (index,))
                status = lib.wherry_event_resolve_next_group(event, inner, number)
                lib.wherry_group_free(inner)
        if status:
            error = last_error(status)
            if error.reason != "hook_expired":
                raise error
            # The function took too long, or the run has ended in the meantime.
            if index < len(chain._members) and not self._is_cancelled:
                self.fail(error)

    def _step_result(self, chain: BaseChain, path: Tuple[int, ...], index: int) -> Any:
        """Returns the result of a step."""
        member, place = chain._members[index], path + (index,)
        if isinstance(member, Draft):
            return self.exchanges[self.keys[place]].result()
        raised = self._callback_error(member, place)
        if raised is not None:
            raise raised[1]
        return self._results(member, place)

    def read(self, record: Record) -> None:
        """Handles one event. The caller still owns the event."""
        key, kind = record[KEY], record[KIND]
        exchange = self.exchanges.get(key)
        if exchange is not None:
            open_member(exchange, record)
            exchange.read(record)
            if exchange.done:
                exchange.free()
                # The library does not know about an exception raised after the member succeeded.
                if exchange.raised is not None and not record[STATUS]:
                    if self._callback_error(self.group, ()):
                        self.cancel()
            return
        if kind == codes.EVENT_HOOK:
            self.run_hook(record)
        elif kind == codes.EVENT_PROGRESS and key == self.key:
            self._report_progress(record)
        elif kind == codes.EVENT_DONE:
            error = error_at(lib.wherry_event_error(record[EVENT])) if record[STATUS] else None
            self._ends[key] = error
            if key == self.key:
                self._finish(record, error)

    def _report_progress(self, record: Record) -> None:
        function = self.group._progress
        if function is None or self.error is not None:
            return
        try:
            found = function(Progress(read_progress(lib.wherry_event_progress, record[EVENT])))
            check_not_coroutine("progress", found)
        except Exception as error:
            self.fail(error)

    def _finish(self, record: Record, error: Optional[WherryError]) -> None:
        self.done = True
        self.failed = None if record[DETAIL] < 0 else record[DETAIL]
        self.from_cache = bool(record[FLAGS] & codes.RECORD_FROM_CACHE)
        if self.error is None:
            raised = self._callback_error(self.group, ())
            if raised is not None:
                self.failed, self.error = raised
            elif error is not None:
                self.error = self._with_response(error)
        self.free()

    def _callback_error(self, group: BaseGroup, path: Tuple[int, ...]) -> Optional[Tuple[int, BaseException]]:
        """Returns the exception of a callback that ends this group, with the index of the member.

        None if there is none. With ``all_settled`` the exception is one of the results instead.
        """
        if group._policy == codes.GROUP_ALL_SETTLED:
            return None
        for index, member in enumerate(group._members):
            place = path + (index,)
            key = self.keys.get(place, 0)
            if not key:
                break  # A step that was not sent.
            error = self._member_error(member, place, key)
            if error is not None:
                return index, error
        return None

    def _member_error(
        self, member: Union[Draft, BaseGroup], place: Tuple[int, ...], key: int
    ) -> Optional[BaseException]:
        """Returns the exception of a member's callbacks, or None.

        For a chain, an exception of the chain's function takes precedence over those of its steps.
        """
        if isinstance(member, Draft):
            return self.exchanges[key].raised
        error = self._function_errors.get(key)
        if error is not None:
            return error
        raised = self._callback_error(member, place)
        return None if raised is None else raised[1]

    def _with_response(self, error: WherryError) -> WherryError:
        """Adds the response of the failed member to an error of the library."""
        if self.failed is not None:
            member = self.exchanges.get(self.keys.get((self.failed,), 0))
            if member is not None and member.response.status_code:
                error.response = member.response
                error.http_status = error.http_status or member.response.status_code
        return error

    def fail(self, error: BaseException) -> None:
        """Cancels the whole run. `result` then raises ``error``."""
        if self.error is None:
            self.error = error
        self.cancel()

    def cancel(self) -> None:
        self._is_cancelled = True
        if self.transfer and not self.done:
            lib.wherry_transfer_cancel(self.transfer)

    def result(self) -> List[Any]:
        """Returns the results of the members, or raises the error of the run."""
        if self.error is not None:
            raise self.error
        return self._results(self.group, ())

    def _results(self, group: BaseGroup, path: Tuple[int, ...]) -> List[Any]:
        found: List[Any] = []
        for index, member in enumerate(group._members):
            key = self.keys.get(path + (index,), 0)
            if not key:
                break  # A step that was not sent.
            if not isinstance(member, Draft):
                end = self._member_error(member, path + (index,), key)
                end = self._ends.get(key) if end is None else end
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
        """Frees the transfer handles."""
        transfer, self.transfer = self.transfer, 0
        if transfer:
            lib.wherry_transfer_free(transfer)
        for exchange in self.exchanges.values():
            exchange.free()


def open_member(exchange: Exchange, record: Record) -> None:
    """Opens the transfer handle of a member at its first event."""
    if record[KIND] != codes.EVENT_DONE and not exchange.transfer:
        exchange.transfer = create(lib.wherry_event_open_transfer, record[EVENT])
