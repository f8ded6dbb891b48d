# Wherry: connection limits per host for all workers of a bulk job
# SPDX-License-Identifier: Apache-2.0
"""`HostLimiter` divides the connections of each host among the workers; `HostGate` spends a worker's share.

There is one limiter per job. Each worker calls `HostLimiter.exchange` every second with the number of connections that
it could use for each host, and receives its shares. On a cluster, a worker that dies loses its shares after `LEASE`
seconds.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import AsyncIterator, Awaitable, Callable, Deque, Dict, Mapping, Set, Tuple

#: Seconds between two exchanges of a worker.
SLICE = 1.0
#: Seconds after which the shares of a silent worker go to the others.
LEASE = 30.0
#: The maximum time in seconds for which a server can pause its host with Retry-After.
LONGEST_PAUSE = 600.0

#: A shard fails the other items of a host after this many pauses without a successful response in between.
REFUSALS = 3

#: For each host: the worker's share of the connections, and the remaining seconds of a pause (0 if not paused).
Shares = Dict[str, Tuple[int, float]]
#: The connections that a worker could use for each host, and how many of them are open.
Wanted = Dict[str, Tuple[int, int]]
#: (worker, wanted connections, pauses in seconds by host) -> shares
AskShares = Callable[[str, Wanted, Dict[str, float]], Awaitable[Shares]]


class HostRefused(Exception):
    """A host answered again and again with Retry-After."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} refused requests with Retry-After {REFUSALS} times in a row")


@dataclass
class _Claim:
    wanted: int
    expires: float
    granted: int = 0  # the share, or the open connections if these are more
    served: int = 0  # slices with at least one connection, for fairness


@dataclass
class _Host:
    claims: Dict[str, _Claim] = field(default_factory=dict)
    paused_until: float = 0.0

    def expire(self, now: float) -> None:
        """Drops the claims of silent workers."""
        for worker in [worker for worker, claim in self.claims.items() if claim.expires <= now]:
            del self.claims[worker]


class HostLimiter:
    """Divides ``limit`` connections per host among the workers that want some. Shares expire after ``lease`` seconds.

    Not thread-safe. The caller passes times as seconds of any steady clock.
    """

    def __init__(self, limit: int, lease: float = LEASE) -> None:
        self.limit = limit
        self._lease = lease
        self._hosts: Dict[str, _Host] = {}
        self._claimed: Dict[str, Set[str]] = {}  # the hosts of each worker
        self._next_sweep = 0.0

    def exchange(self, now: float, worker: str, wanted: Wanted, pauses: Mapping[str, float]) -> Shares:
        """Returns the shares of a worker for the hosts of ``wanted``, and releases its shares of other hosts.

        All workers together never exceed the limit of a host. The only exception is a worker that continues after a
        silence longer than its lease.
        """
        for name, seconds in pauses.items():
            host = self._hosts.setdefault(name, _Host())
            host.paused_until = max(host.paused_until, now + min(max(seconds, 0.0), LONGEST_PAUSE))
        if now >= self._next_sweep:
            self._sweep(now)
        for name in self._claimed.pop(worker, set()) - wanted.keys():
            if name in self._hosts:
                self._hosts[name].claims.pop(worker, None)
        if wanted:
            self._claimed[worker] = set(wanted)
        return {name: self._share(now, worker, name, *counts) for name, counts in wanted.items()}

    def _sweep(self, now: float) -> None:
        """Forgets the hosts that no worker wants."""
        self._next_sweep = now + SLICE
        for name, host in list(self._hosts.items()):
            host.expire(now)
            if not host.claims and host.paused_until <= now:
                del self._hosts[name]
        alive = {worker for host in self._hosts.values() for worker in host.claims}
        for worker in self._claimed.keys() - alive:
            del self._claimed[worker]

    def _share(self, now: float, worker: str, name: str, wanted: int, used: int) -> Tuple[int, float]:
        host = self._hosts.setdefault(name, _Host())
        host.expire(now)
        known = host.claims.setdefault(worker, _Claim(wanted, now + self._lease, served=_least(host.claims)))
        known.wanted, known.expires = wanted, now + self._lease
        if host.paused_until > now:
            known.granted = used
            return 0, host.paused_until - now
        fair = self._fair(host.claims)[worker]
        free = self.limit - sum(claim.granted for other, claim in host.claims.items() if other != worker)
        share = max(0, min(fair, free))
        known.granted = max(share, used)
        known.served += 1 if share else 0
        return share, 0.0

    def _fair(self, claims: Mapping[str, _Claim]) -> Dict[str, int]:
        """Divides the limit evenly. The least served workers get the connections that remain."""
        order = sorted(claims, key=lambda name: (claims[name].served, name))
        shares = dict.fromkeys(order, 0)
        left = self.limit
        while left > 0:
            hungry = [name for name in order if shares[name] < claims[name].wanted]
            if not hungry:
                break
            for name in hungry[:left]:
                more = max(1, left // len(hungry))
                shares[name] = min(claims[name].wanted, shares[name] + more)
            left = self.limit - sum(shares.values())
        return shares


def _least(claims: Mapping[str, _Claim]) -> int:
    """Returns the initial ``served`` of a new claim: the minimum of all other claims."""
    return min((claim.served for claim in claims.values()), default=0)


@dataclass
class _Waiting:
    share: int = 0
    used: int = 0
    turns: Deque[asyncio.Future[None]] = field(default_factory=deque)


class HostGate:
    """Spends the shares of one worker. Wrap each request in ``async with gate.turn(host)``.

    ``run`` must run as a task while the gate is in use.
    """

    def __init__(self, worker: str, exchange: AskShares) -> None:
        self._worker = worker
        self._exchange = exchange
        self._hosts: Dict[str, _Waiting] = {}
        self._pauses: Dict[str, float] = {}
        self._refusals: Dict[str, int] = {}
        self._news = asyncio.Event()

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Waits for a free connection of the worker's share of a host, and holds it.

        Raises HostRefused after ``REFUSALS`` pauses of the host without a successful response in between.
        """
        if self._refusals.get(name, 0) >= REFUSALS:
            raise HostRefused(name)
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Waiting()
            self._news.set()
        if host.used < host.share and not host.turns:
            host.used += 1
        else:
            turn = asyncio.get_running_loop().create_future()
            host.turns.append(turn)
            try:
                await turn
            except HostRefused:
                self._forget(name, host)
                raise
            except asyncio.CancelledError:
                granted_meanwhile = turn.done() and not turn.cancelled() and turn.exception() is None
                if granted_meanwhile:
                    self._leave(name, host)
                elif turn in host.turns:
                    host.turns.remove(turn)
                    self._forget(name, host)
                raise
        try:
            yield
        finally:
            self._leave(name, host)

    def pause(self, name: str, seconds: float) -> None:
        """Pauses a host for all workers, because its server sent Retry-After."""
        self._pauses[name] = max(seconds, self._pauses.get(name, 0.0))
        host = self._hosts.get(name)
        if host is not None:
            if host.share > 0:  # otherwise it is paused already, and this response belongs to the same pause
                self._refusals[name] = self._refusals.get(name, 0) + 1
            host.share = 0
            if self._refusals.get(name, 0) >= REFUSALS:
                for turn in host.turns:
                    if not turn.done():
                        turn.set_exception(HostRefused(name))
                host.turns.clear()
        self._news.set()

    def succeeded(self, name: str) -> None:
        """Notes that a host sent a response without Retry-After."""
        self._refusals.pop(name, None)

    def _leave(self, name: str, host: _Waiting) -> None:
        host.used -= 1
        self._admit(host)
        self._forget(name, host)

    def _forget(self, name: str, host: _Waiting) -> None:
        """Drops a host without requests, so that the worker no longer claims a share of it."""
        if host.used == 0 and not host.turns and self._hosts.get(name) is host:
            del self._hosts[name]

    def _admit(self, host: _Waiting) -> None:
        while host.turns and host.used < host.share:
            turn = host.turns.popleft()
            if not turn.done():
                host.used += 1
                turn.set_result(None)

    async def run(self) -> None:
        """Calls the limiter every second, and as soon as a request needs a new host.

        Raises an error if the limiter is lost.
        """
        while True:
            self._news.clear()
            pauses, self._pauses = self._pauses, {}
            wanted = {}
            for name, host in self._hosts.items():
                wanted[name] = (host.used + len(host.turns), host.used)
                host.share = min(host.share, host.used)  # No new connections until the limiter has replied.
            shares = await self._exchange(self._worker, wanted, pauses)
            for name, (share, _) in shares.items():
                known = self._hosts.get(name)
                if known is not None and name not in self._pauses:  # otherwise paused in the meantime
                    known.share = share
                    self._admit(known)
            pause = min((seconds for _, seconds in shares.values() if seconds > 0), default=SLICE)
            await asyncio.sleep(0.02)  # collects the hosts of several items
            try:
                await asyncio.wait_for(self._news.wait(), min(SLICE, max(pause, 0.01)))
            except asyncio.TimeoutError:
                pass
