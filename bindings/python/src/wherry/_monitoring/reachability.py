# Wherry: network reachability
# SPDX-License-Identifier: Apache-2.0
"""Reachability monitors of hosts and of the network, for blocking and asyncio programs."""

from __future__ import annotations

from .._core.calls import check, check_freed, copy_text, create, last_error
from .._core.values import milliseconds, text
from .._errors import ArgumentError, StateError, WherryError
from .._native import codes
from .._native.library import lib
from .._native.memory import DETAIL, EVENT, EXPECTED_BYTES, REASON, Records, text_at
from .._waiting.blocking import deadline_after, read_events, slice_until
from .._waiting.queue import Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, List, Optional, TypeVar

    from .._client.base import BaseClient

    Self = TypeVar("Self", bound="_Listener")


#: The reachability statuses, with the numbers of AFNetworking.
UNKNOWN = codes.REACH_UNKNOWN
NOT_REACHABLE = codes.REACH_NONE
REACHABLE_VIA_WWAN = codes.REACH_WWAN
REACHABLE_VIA_WIFI = codes.REACH_WIFI


class ReachabilityChange:
    """A change of reachability. Attributes:

    ``target``     the watched host or address, as given; None for any network
    ``status``     the new status: `UNKNOWN` -1, `NOT_REACHABLE` 0, `REACHABLE_VIA_WWAN` 1, or
                   `REACHABLE_VIA_WIFI` 2, which includes wired networks and tunnels
    ``old``        the previous status
    ``interface``  "wired", "wifi", "wwan", "vpn", "loopback", or "none"
    """

    __slots__ = ("target", "status", "old", "interface")

    def __init__(self, target: Optional[str], status: int, old: int, interface: str) -> None:
        self.target = target
        self.status = status
        self.old = old
        self.interface = interface

    @property
    def is_reachable(self) -> bool:
        """Whether the target is reachable."""
        return self.status > 0

    def __str__(self) -> str:
        """The status and interface in English: "Reachable via Ethernet"."""
        return reach_text(self.status, interface=self.interface)

    def __repr__(self) -> str:
        return f"<ReachabilityChange {self.target or 'any network'}: {self}>"


def _decoded(found: Optional[bytes]) -> Optional[str]:
    """Decodes a text from the library."""
    return None if found is None else found.decode("utf-8", "replace")


class _Listener:
    """A queue of reachability changes, and the monitor that fills it."""

    #: The native monitor; 0 if there is nothing to free.
    _handle = 0
    callback: Optional[Callable[[ReachabilityChange], Any]] = None

    def __init__(self) -> None:
        self._queue = Queue()
        self._records = Records(64)
        #: Changes that were read but not yet returned by ``async for``.
        self._waiting: List[ReachabilityChange] = []
        #: Listeners that receive nothing after this one is closed, so they are closed with it.
        self._dependents: List[_Listener] = []

    def _read(self, wait: int) -> List[ReachabilityChange]:
        """Returns the waiting changes. Waits up to ``wait`` milliseconds for the first one."""
        records, queue = self._records, self._queue.handle
        if not queue:
            return []
        try:
            count = read_events(queue, records, wait)
        except WherryError:
            if self._queue.handle:
                raise
            return []  # Closed by another thread.
        if not count:
            return []
        try:
            found = [records.at(index) for index in range(count)]
            return [
                ReachabilityChange(
                    _decoded(lib.wherry_event_text(record[EVENT])), record[DETAIL],
                    record[EXPECTED_BYTES], text_at(record[REASON]) or "none",
                )
                for record in found
            ]  # fmt: skip
        finally:
            status = lib.wherry_queue_release(queue, records.address, count)
            if self._queue.handle:
                check(status)

    def poll(self, timeout: Optional[float] = 0) -> List[ReachabilityChange]:
        """Returns the changes that have arrived, in order, and calls the callback with each.

        Waits up to ``timeout`` seconds for the first change. None waits until a change arrives or
        the monitor is closed.
        """
        if not self._queue.handle:
            raise StateError("the monitor was closed", "closed")
        return self._poll(timeout)

    def _poll(self, timeout: Optional[float]) -> List[ReachabilityChange]:
        deadline = deadline_after(timeout)
        while True:
            wait = slice_until(deadline)
            new_changes = self._read(wait)
            for change in new_changes:
                self._call_back(change)
            if new_changes or not self._queue.handle or not wait:
                return new_changes

    def _begin(self) -> None:
        """Starts the monitor if necessary."""

    def changes(self, timeout: Optional[float] = None) -> Iterator[ReachabilityChange]:
        """Iterates over changes.

        Ends when the monitor is closed, or after ``timeout`` seconds without a change.
        """
        self._begin()
        while True:
            new_changes = self._poll(timeout)
            if not new_changes:
                return
            yield from new_changes

    def __aiter__(self: Self) -> Self:
        """Iterates over changes until the monitor is closed: ``async for change in reachability``.

        Only one reader can be active at a time.
        """
        self._begin()
        return self

    async def __anext__(self) -> ReachabilityChange:
        while not self._waiting:
            self._waiting = self._read(0)
            if not self._waiting:
                if not self._queue.handle:
                    raise StopAsyncIteration
                await self._queue.readable()
        change = self._waiting.pop(0)
        self._call_back(change)
        return change

    def _call_back(self, change: ReachabilityChange) -> None:
        if self.callback is not None:
            self.callback(change)

    def close(self) -> None:
        """Closes the monitor and ends every wait for changes.

        Any thread can call this method, and may do so more than once.
        """
        handle, self._handle = self._handle, 0
        if handle and lib is not None:
            check_freed(lib.wherry_reachability_free(handle))
        self._queue.close()
        for dependent in list(self._dependents):
            dependent.close()


class Reachability(_Listener):
    """Watches whether a host, an address, or any network is reachable, and over which interface.

    ::

        with wherry.Reachability("example.org", callback=print) as reachability:
            reachability.poll(timeout=10)

    The monitor checks the links, addresses, and routes of this machine, for IPv4 and IPv6. Nothing
    is sent unless ``probe`` is set. Only `poll`, `changes`, and ``async for`` call the callback, on
    the thread or in the event loop that uses them.
    """

    def __init__(
        self,
        target: Optional[str] = None,
        callback: Optional[Callable[[ReachabilityChange], Any]] = None,
        *,
        raw: bool = False,
        initial_sync: bool = False,
        probe: Optional[str] = None,
        probe_interval: float = 30,
        probe_timeout: float = 5,
        reported: bool = False,
    ) -> None:
        """Creates a monitor. ``target`` is a host name or an address; None is any network.

        ``raw`` reports every check, even without a change. With ``initial_sync``, the status is
        known when `start` returns. ``probe`` is a server that must also respond for the status to
        be reachable: "tcp://host:port", or a URL that must return 200 to 299. The server is probed
        every ``probe_interval`` seconds. With ``reported``, no network is watched; `report` sets
        the status.
        """
        super().__init__()
        self.target = target
        self.callback = callback
        self._is_started = False
        if reported:
            if target is not None:
                raise ArgumentError("reported= cannot be combined with a target", "bad_argument")
            self._handle = create(lib.wherry_reachability_new_reported)
            return
        name = None if target is None else text(target, "bad_value")
        self._handle = create(lib.wherry_reachability_new, name)
        for option, value, default in (
            (codes.REACH_RAW, int(raw), 0),
            (codes.REACH_INITIAL_SYNC, int(initial_sync), 0),
            (codes.REACH_PROBE_INTERVAL_MS, milliseconds(probe_interval, "probe_interval="), 30_000),
            (codes.REACH_PROBE_TIMEOUT_MS, milliseconds(probe_timeout, "probe_timeout="), 5000),
        ):
            if value != default:
                check(lib.wherry_reachability_set_option(self._handle, option, value))
        if probe is not None:
            check(lib.wherry_reachability_set_probe(self._handle, text(probe, "bad_url")))

    @classmethod
    def _of(cls, client: BaseClient[Any]) -> Reachability:
        """Creates the monitor of a client."""
        monitor = cls.__new__(cls)
        _Listener.__init__(monitor)
        monitor.target = monitor.callback = None
        monitor._is_started = False
        monitor._handle = create(lib.wherry_client_open_reachability, client._live())
        return monitor

    def _live(self) -> int:
        if not self._handle:
            raise StateError("the monitor was closed", "closed")
        return self._handle

    # Status

    @property
    def status(self) -> int:
        """The last known status: `UNKNOWN` before the first start, and unchanged after `stop`."""
        return int(lib.wherry_reachability_status(self._live()))

    @property
    def is_reachable(self) -> bool:
        """Whether the target is reachable; False for `UNKNOWN`."""
        return self.status > 0

    @property
    def is_reachable_via_wwan(self) -> bool:
        """Whether the route uses a mobile network."""
        return self.status == REACHABLE_VIA_WWAN

    @property
    def is_reachable_via_wifi(self) -> bool:
        """Whether the route uses Wi-Fi, a wired network, a tunnel, or only the loopback interface."""
        return self.status == REACHABLE_VIA_WIFI

    @property
    def interface(self) -> str:
        """The first interface of the route: "wired", "wifi", "wwan", "vpn", "loopback", or "none"."""
        return _decoded(lib.wherry_reachability_interface(self._live())) or "none"

    @property
    def interface_name(self) -> str:
        """The name of the interface, such as "eth0"; "" without a route."""
        return copy_text(lib.wherry_reachability_copy_name, self._live())

    # Running

    def start(self) -> None:
        """Starts the monitor. The current status is reported soon after the start, even if it is the same as
        before.

        A monitor that is already running starts over.
        """
        check(lib.wherry_reachability_start(self._live(), self._queue.handle, 0))
        self._is_started = True

    def stop(self) -> None:
        """Stops the monitor. The status is kept, and unread changes are dropped."""
        check(lib.wherry_reachability_stop(self._live()))
        self._is_started = False

    def report(self, status: int) -> None:
        """Sets the status of a monitor created with ``reported=True``."""
        check(lib.wherry_reachability_report(self._live(), status))

    def wait_until_reachable(self, timeout: Optional[float] = None) -> bool:
        """Blocks until the target is reachable. Returns False after ``timeout`` seconds.

        The monitor does not have to be started.
        """
        deadline = deadline_after(timeout)
        # Keep the monitor running between slices, so that each one starts with the last known
        # status.
        starts = not self._is_started
        if starts:
            check(lib.wherry_reachability_start(self._live(), 0, 0))
        try:
            while True:
                wait = slice_until(deadline)
                status = lib.wherry_reachability_wait(self._live(), wait)
                if not status:
                    return True
                if status != codes.E_TIMEOUT:
                    raise last_error(status)
                if not wait:
                    return False
        finally:
            if starts:
                check(lib.wherry_reachability_stop(self._live()))

    async def wait_until_reachable_async(self, timeout: Optional[float] = None) -> bool:
        """Like `wait_until_reachable`, for asyncio. Raises StateError if the monitor is closed."""
        wait = -1 if timeout is None else milliseconds(timeout, "timeout=")
        listener = _Listener()
        self._dependents.append(listener)
        try:
            check(lib.wherry_reachability_notify(self._live(), wait, listener._queue.handle, 0))
            change = await listener.__anext__()
            return change.is_reachable
        except StopAsyncIteration:
            raise StateError("the monitor was closed", "closed") from None
        finally:
            self._dependents.remove(listener)
            listener.close()

    def _begin(self) -> None:
        if not self._is_started:
            self.start()

    def __enter__(self) -> Reachability:
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __repr__(self) -> str:
        state = reach_text(self.status, interface=self.interface) if self._handle else "closed"
        return f"<Reachability {self.target or 'any network'}: {state}>"


def of_client(client: BaseClient[Any]) -> Reachability:
    """Returns the monitor of a client, created on first use."""
    known: Optional[Reachability] = client.__dict__.get("_monitor")
    if known is None:
        known = client.__dict__["_monitor"] = Reachability._of(client)
    return known


class ReachabilityObserver(_Listener):
    """Receives the changes of all monitors in this process, in the order in which they happened.

    Each change arrives after the monitor itself received it. ``callback`` is called by `poll`,
    `changes`, and ``async for``, as with `Reachability`.
    """

    def __init__(self, callback: Optional[Callable[[ReachabilityChange], Any]] = None) -> None:
        super().__init__()
        self.callback = callback
        self._handle = create(lib.wherry_reachability_observe, self._queue.handle, 0)

    def __enter__(self) -> ReachabilityObserver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def reach_text(status: int, language: str = "en", interface: Optional[str] = None) -> str:
    """Returns the localized text of a status, such as "Reachable via WiFi".

    Args:
        language: "en", "zh" (simplified Chinese), or "zh-Hant" (traditional); any other value
            gives English.
        interface: the kind of interface, as in `ReachabilityChange.interface`. "wired" gives
            "Reachable via Ethernet". Without it, every route except a mobile one is "WiFi".
    """
    kind = None if interface is None else text(interface)
    return _decoded(lib.wherry_reach_interface_text(status, kind, text(language))) or ""


def set_reach_text(status: int, language: str, words: Optional[str]) -> None:
    """Overrides the text of a status in this process; None restores the default."""
    kind_text = None if words is None else text(words)
    check(lib.wherry_reach_set_text(status, text(language), kind_text))


def set_interface(pattern: str, kind: Optional[str]) -> None:
    """Sets the kind of interfaces by name: ``set_interface("usb*", "wwan")``; None restores the
    default.
    """
    kind_text = None if kind is None else text(kind, "bad_value")
    check(lib.wherry_reach_set_interface(text(pattern, "bad_value"), kind_text))
